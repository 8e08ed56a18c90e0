"""What is asked for first: how much, how fast, and what failed."""

from collections.abc import Iterator

from loadstone.judge.check import UNDISCLOSED
from loadstone.judge.verdict import choose_headline
from loadstone.model.figures import Distribution
from loadstone.model.numbers import format_milliseconds, format_number
from loadstone.model.records.result import WorkloadResult
from loadstone.model.records.verdict import Verdict
from loadstone.page.blocks import Block, Numbers, Paragraph, Tone
from loadstone.report.section import ReportContext, ReportSection


def render_blocks(context: ReportContext) -> Iterator[Block]:
    """Yields the headline of each workload's last iteration. Runs of tiles have scores instead."""
    result = context.result
    if result.manifest.is_of_tiles:
        return
    for workload in result.workloads:
        items = list(_items(workload))
        if not items:
            continue
        name = [("workload", workload.id.label)] if len(result.workloads) > 1 else []
        verdict = context.find_verdict(workload)
        if verdict is not None and verdict.verdict is Verdict.INVALID:
            scores = ", ".join(f"{title} {value}" for title, value in (*name, *items))
            yield Paragraph(f"{scores}. The run is invalid, so do not quote these figures.", Tone.QUIET)
        else:
            yield Numbers([*name, *items])


def _items(workload: WorkloadResult) -> Iterator[tuple[str, str]]:
    figures = workload.iterations[-1].figures if workload.iterations else None
    headline = choose_headline(figures) if figures else None
    if figures is None or headline is None:
        return
    if len(workload.iterations) > 1:
        yield "iteration", str(workload.iterations[-1].number)
    yield "operations/s", format_number(headline.per_s, 1)
    if headline.errors_pct is None:
        yield from _means_alone(figures.response, UNDISCLOSED)
        if figures.has_printed_errors:
            yield "validation errors", format_number(sum(operation.error_count for operation in figures.operations))
            yield "other errors", UNDISCLOSED
        else:
            yield "errors", UNDISCLOSED
        return
    if figures.tool_drift_pct is None:
        for percentile, time_s in ((50, headline.p50_s), (95, headline.p95_s), (99, headline.p99_s)):
            why = explain_unknown(figures.response, percentile)
            yield f"p{percentile}", why if time_s is None else format_milliseconds(time_s)
    else:
        yield from _means_alone(figures.response, "unknown, clock drifted")
    yield "errors", f"{format_number(headline.errors_pct, 2)} %"
    if overdue := sum(operation.overdue for operation in figures.operations):
        yield "no answer in time", format_number(overdue)
    if headline.resent:
        yield "sent again", format_number(headline.resent)
    if headline.reconnects:
        yield "reconnects", format_number(headline.reconnects)


def _means_alone(times: Distribution, why: str) -> Iterator[tuple[str, str]]:
    yield "average", "" if times.mean_s is None else format_milliseconds(times.mean_s)
    yield "percentiles", why


def explain_unknown(times: Distribution, percentile: float) -> str:
    """Why a percentile is not known: too few answers, or too many operations that had none."""
    if not times.percentiles_s and times.count:
        return UNDISCLOSED
    lost_pct = 100 * times.lost / max(1, times.count + times.lost)
    return f"{format_number(lost_pct)} % had no answer" if lost_pct > 100 - percentile else "too few samples"


SECTION = ReportSection(rank=25, of_result=render_blocks)
