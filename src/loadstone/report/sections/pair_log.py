"""Of a result: the log of fault-tolerant pairs in the steady state, by what its events are about."""

from collections.abc import Iterator, Mapping

from loadstone.model.numbers import format_three_digits
from loadstone.page.blocks import Block, Column, ColumnKind, Heading, Paragraph, Row, Table, Tone
from loadstone.report.section import ReportContext, ReportSection
from loadstone.study.run_figures import PairLog, compute_log

KINDS_NOTE = (
    "Mbit/s that the primary recorded, before compression: received packets, disk requests that were done, clocks and "
    "timers, interrupts. Wire: what the other side received, compressed."
)


def render_blocks(context: ReportContext) -> Iterator[Block]:
    """A table with a row for each workload whose system had a pair."""
    each = {workload.id.label: compute_log(workload.iterations) for workload in context.result.workloads}
    logs = {name: log for name, log in each.items() if log is not None}
    if logs:
        yield from build_table(logs)


def build_table(logs: Mapping[str, PairLog]) -> Iterator[Block]:
    """Returns the table of logs by workload, with its heading and its note."""
    kinds = list(dict.fromkeys(kind for log in logs.values() for kind in log.mbit_per_s_by_kind))
    columns = [Column(title) for title in ("log\nMbit/s", *(f"{kind}\nMbit/s" for kind in kinds), "wire\nMbit/s")]
    yield Heading("Log of the pair", 2, "pair-log")
    yield Table([Column("workload", ColumnKind.TEXT), *columns], [_row(*item, kinds) for item in logs.items()])
    yield Paragraph(KINDS_NOTE, Tone.QUIET)


def _row(name: str, log: PairLog, kinds: list[str]) -> Row:
    rates = [log.log_mbit_per_s, *(log.mbit_per_s_by_kind.get(kind) for kind in kinds), log.wire_mbit_per_s]
    return Row([name, *map(format_three_digits, rates)])


SECTION = ReportSection(rank=66, of_result=render_blocks)
