"""Of an iteration: throughput, response times and errors over time, the distribution, line and server."""

from collections.abc import Iterator, Sequence
from typing import Any

from loadstone.model.figures import Distribution
from loadstone.model.records.events import Interval
from loadstone.model.records.result import Iteration
from loadstone.page.blocks import Block, Figure, Gallery
from loadstone.page.plot import BarPlot, CrowdPlot, PercentilePlot, TimePlot
from loadstone.report.section import IterationContext, ReportSection
from loadstone.report.sections.operations import OperationRow, list_operation_rows
from loadstone.store.histograms import count_crowd

PHASES = {"ramp_up": "ramp-up", "warm_up": "warm-up", "steady": "steady state", "ramp_down": "ramp-down"}
SHADED = "Shaded: outside the steady state."
SHORTEST_S = 0.2
"""Shorter intervals, at the end of a run, say nothing of a rate."""
MOST_SERIES = 6
"""Operations that have a line each, at most."""
MOST_COLUMNS = 120
"""Columns of the picture of times over time, at most."""
PlotRows = Iterator[dict[str, Any]]


def render_blocks(context: IterationContext) -> Iterator[Block]:
    """Pictures, where the form shows any and seconds were recorded."""
    if context.report.pictures_each and context.iteration.records.intervals:
        yield Gallery(draw_figures(context))


def draw_figures(context: IterationContext) -> list[Figure]:
    """The pictures of an iteration."""
    iteration, bands = context.iteration, list_phase_bands(context.iteration.records.intervals)
    figures = iteration.figures
    rows = list_operation_rows(context.workload.criteria, figures) if figures.operations else []
    times = f"Each second's median and 99th percentile, from the intended start. {SHADED}"
    pictures = [
        Figure("Throughput", SHADED, TimePlot("operations per second", list(_throughput(iteration)), bands)),
        Figure("Response time", times, TimePlot("seconds", list(_percentiles(iteration)), bands)),
    ]
    names = [operation.name for operation in figures.operations]
    if 1 < len(names) <= MOST_SERIES:
        each = TimePlot("operations per second", list(_throughput_each(iteration, names)), bands)
        pictures.append(Figure("Throughput of each operation", SHADED, each))
    crowds = list(_crowds(iteration))
    if crowds:
        caption = f"Response-time heat map (darker: more operations). {SHADED}"
        pictures.append(Figure("Response times over time", caption, CrowdPlot(crowds, bands)))
    if figures.response.count:
        caption = "A gap between the curves shows operations that waited before they could be sent."
        both = (("response time (intended start)", figures.response), ("service time (actual send)", figures.service))
        plot = PercentilePlot([row for name, times in both for row in _curve(name, times)])
        pictures.append(Figure("Distribution", caption, plot))
    if rows and rows[-1].line_s:
        caption = "Mean page time: the part of the user's access link, and the rest for server and network."
        pictures.append(Figure("Line and server", caption, BarPlot("seconds", list(_parts(rows)))))
    if any(interval.error_count for interval in iteration.records.intervals):
        pictures.append(Figure("Errors", SHADED, TimePlot("errors per second", list(_errors(iteration)), bands)))
    return pictures


def list_phase_bands(intervals: Sequence[Interval]) -> list[dict[str, Any]]:
    """Returns the time span of each phase, from the driver's interval records."""
    bands: list[dict[str, Any]] = []
    for interval in intervals:
        phase = PHASES.get(interval.phase, interval.phase)
        start, end = interval.at_s - interval.length_s, interval.at_s
        if bands and bands[-1]["phase"] == phase:
            bands[-1]["to"] = end
        else:
            bands.append({"from": start, "to": end, "phase": phase})
    return bands


def _throughput(iteration: Iteration) -> PlotRows:
    for interval in iteration.records.intervals:
        if interval.length_s > SHORTEST_S:
            yield {"second": interval.middle_s, "value": interval.answered_per_s, "series": "operations"}


def _throughput_each(iteration: Iteration, names: Sequence[str]) -> PlotRows:
    for interval in iteration.records.intervals:
        if interval.length_s > SHORTEST_S:
            for name, counts in zip(names, interval.operations, strict=False):
                rate = counts.answered / interval.divisor_s
                yield {"second": interval.middle_s, "value": rate, "series": name}


def _crowds(iteration: Iteration) -> PlotRows:
    """Of many seconds several together."""
    together = -(-len(iteration.records.intervals) // MOST_COLUMNS)
    for start in range(0, len(iteration.records.intervals), max(1, together)):
        some = iteration.records.intervals[start : start + together]
        since_s, until_s = some[0].middle_s - some[0].length_s / 2, some[-1].middle_s + some[-1].length_s / 2
        for low_s, high_s, count in count_crowd([interval.response for interval in some]):
            yield {"from": since_s, "to": until_s, "low": 1e3 * low_s, "high": 1e3 * high_s, "value": count}


def _percentiles(iteration: Iteration) -> PlotRows:
    for interval in iteration.records.intervals:
        if interval.response.count:
            for name, value_s in (("p50", interval.response.p50_s), ("p99", interval.response.p99_s)):
                yield {"second": interval.middle_s, "value": value_s, "series": name}


def _errors(iteration: Iteration) -> PlotRows:
    for interval in iteration.records.intervals:
        rate = interval.error_count / interval.divisor_s
        yield {"second": interval.middle_s, "value": rate, "series": "errors"}


def _curve(name: str, times: Distribution) -> PlotRows:
    for value_s, share in times.curve:
        if value_s > 0:
            yield {"beyond": max(1 - share, 0.5 / times.count), "value": value_s, "series": name}


def _parts(rows: Sequence[OperationRow]) -> PlotRows:
    for row in rows:
        if row.line_s is not None and row.server_delay_s is not None:
            yield {"name": row.name, "value": row.line_s, "series": "line", "rank": 0}
            delay = max(0.0, row.server_delay_s)
            yield {"name": row.name, "value": delay, "series": "server and network", "rank": 1}


SECTION = ReportSection(rank=40, of_iteration=render_blocks)
