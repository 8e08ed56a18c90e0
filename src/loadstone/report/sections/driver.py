"""Of an iteration: sessions, connections, and how well the driver itself kept up."""

from collections.abc import Iterator

from loadstone.judge.check import UNDISCLOSED
from loadstone.model.numbers import format_number
from loadstone.page.blocks import Block, Facts, Fold
from loadstone.report.section import IterationContext, ReportSection


def render_blocks(context: IterationContext) -> Iterator[Block]:
    """A folded list."""
    tool = context.workload.criteria.tool
    if tool:
        yield Fold("Tool", [Facts(_tool_facts(context, tool))])
        return
    yield Fold("Sessions, connections and driver", [Facts(list(_facts(context)))])


def _tool_facts(context: IterationContext, tool: str) -> list[tuple[str, str]]:
    folder = f"runs/{context.workload.id.label}-{context.iteration.number}"
    return [("tool", tool), ("its output", f"{folder}/tool-output.txt")]


def _facts(context: IterationContext) -> Iterator[tuple[str, str]]:
    figures, records = context.iteration.figures, context.iteration.records
    if records.totals is not None:
        for key, count in records.select_counts(figures.sessions).items():
            yield f"sessions: {key.replace('_', ' ')}", format_number(count)
        for key, count in records.select_counts(figures.connections).items():
            yield key.replace("_", " "), format_number(count)
    if not figures.is_disclosed:
        yield "driver threads", UNDISCLOSED
        yield "driver lag", UNDISCLOSED
        return
    yield "driver threads", ", ".join(f"{format_number(100 * share, 1)} % of a core" for share in figures.driver_cpu)
    yield "driver lag", _lag(context)
    start = records.start
    if start is not None:
        yield "cost of a time stamp", f"{format_number(1e9 * start.clock_cost_s)} ns"
        yield "timer slack when idle", f"{format_number(1e6 * start.timer_slack_s)} us"
        if start.clock_bound_s is not None:
            yield "starts of its drivers apart, at most", f"{format_number(1e6 * start.clock_bound_s)} us"


def _lag(context: IterationContext) -> str:
    lag = context.iteration.figures.lag
    if not lag.count:
        return "no sample"
    p50, p99, largest = (format_number(1000 * (lag.get_value_at(percent) or 0.0), 3) for percent in (50.0, 99.0, 100.0))
    return f"p50 {p50} ms, p99 {p99} ms, largest {largest} ms, of {format_number(lag.count)} scheduled acts"


SECTION = ReportSection(rank=90, of_iteration=render_blocks)
