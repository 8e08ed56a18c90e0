"""Tiles: workloads over time, how near the slowest hundredth came to the limit."""

from collections.abc import Iterator
from typing import Any

from loadstone.model.records.result import Iteration, WorkloadResult
from loadstone.page.blocks import Block, Figure, Gallery
from loadstone.page.plot import HeatPlot
from loadstone.report.section import ReportContext, ReportSection

BINS = 60
"""Columns of the heat map at most."""
HEAT_CAPTION = (
    "Each cell: the 99th percentile of the response time as a share of the limit, in its worst second. Red cells reach "
    "or exceed the limit; empty cells have no completed operation. The lines enclose the measured window."
)


def render_blocks(context: ReportContext) -> Iterator[Block]:
    """The heat map, of a run of tiles whose seconds are there."""
    result = context.result
    begun = [
        workload
        for workload in result.workloads
        if workload.iterations and workload.iterations[0].records.start is not None
    ]
    if not (
        context.has_pictures
        and result.manifest.is_of_tiles
        and any(_first(workload).records.intervals for workload in begun)
    ):
        return
    start_s = min(_start_s(_first(workload)) for workload in begun)
    ends = [
        _start_s(_first(workload)) - start_s + _first(workload).records.intervals[-1].at_s
        for workload in begun
        if _first(workload).records.intervals
    ]
    bin_s = max(1.0, max(ends) / BINS)
    rows = [row for workload in begun for row in _cells(workload, _start_s(_first(workload)) - start_s, bin_s)]
    window = _first(begun[0]).window_unix_s or (start_s, start_s)
    names = [workload.id.label for workload in begun if workload.criteria.shortest_limit_s]
    plot = HeatPlot(rows, names, (window[0] - start_s, window[1] - start_s))
    yield Gallery([Figure("Heat map: tiles and workloads over time", HEAT_CAPTION, plot, is_wide=True)])


def _first(workload: WorkloadResult) -> Iteration:
    return workload.iterations[0]


def _start_s(iteration: Iteration) -> float:
    return iteration.records.start.start_unix_s if iteration.records.start else 0.0


def _cells(workload: WorkloadResult, after_s: float, bin_s: float) -> list[dict[str, Any]]:
    worst: dict[int, float] = {}
    for interval in _first(workload).records.intervals:
        if interval.response.count:
            place = int((after_s + interval.middle_s) / bin_s)
            share = interval.response.p99_s / workload.criteria.shortest_limit_s
            worst[place] = max(worst.get(place, 0.0), share)
    label = workload.id.label
    return [
        {"from": place * bin_s, "to": (place + 1) * bin_s, "name": label, "value": share}
        for place, share in worst.items()
    ]


SECTION = ReportSection(rank=40, of_result=render_blocks)
