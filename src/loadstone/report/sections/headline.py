"""What is asked for first: how much, how fast, and what failed."""

from collections.abc import Iterator

from loadstone.judge.verdict import headline_of
from loadstone.model.records.result import WorkloadResult
from loadstone.page.blocks import Block, Numbers
from loadstone.page.numbers import milliseconds, number
from loadstone.report.section import ReportContext, Section

NOT_DISCLOSED = "not disclosed"
"""Of figures that were published elsewhere, which is not the same as none."""


def blocks(context: ReportContext) -> Iterator[Block]:
    """Of each workload's last iteration; of tiles the scores say it."""
    result = context.result
    if result.manifest.is_of_tiles:
        return
    for workload in result.workloads:
        items = list(_items(workload))
        if items:
            name = [("workload", workload.id.label)] if len(result.workloads) > 1 else []
            yield Numbers([*name, *items])


def _items(workload: WorkloadResult) -> Iterator[tuple[str, str]]:
    figures = workload.iterations[-1].figures if workload.iterations else None
    headline = headline_of(figures) if figures else None
    if figures is None or headline is None:
        return
    yield "operations/s", number(headline.per_s, 1)
    if headline.errors_pct is None:
        mean_s = figures.response.mean_s
        yield "average", "" if mean_s is None else milliseconds(mean_s)
        yield "percentiles", NOT_DISCLOSED
        yield "errors", NOT_DISCLOSED
        return
    for name, time_s in (("p50", headline.p50_s), ("p95", headline.p95_s), ("p99", headline.p99_s)):
        yield name, "too few samples" if time_s is None else milliseconds(time_s)
    yield "errors", f"{number(headline.errors_pct, 2)} %"
    if headline.resent:
        yield "sent again", number(headline.resent)
    if headline.reconnects:
        yield "reconnects", number(headline.reconnects)


SECTION = Section(rank=25, of_result=blocks)
