"""Of an iteration: in which of their ways operations ended, and how often."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loadstone.model.numbers import format_number
from loadstone.model.records.events import Ledger
from loadstone.page.blocks import Block, Column, ColumnKind, Heading, Row, Table
from loadstone.report.section import IterationContext, ReportSection


@dataclass(frozen=True)
class EndingRow:
    """One of the ways in which an operation ends well, and how often it did."""

    operation: str
    ending: str
    steady: int
    """Started and ended in the steady state."""
    whole: int
    """Over all phases."""


def list_ending_rows(ledger: Sequence[Ledger]) -> list[EndingRow]:
    """Endings by operation, all driver threads together."""
    counts: dict[tuple[str, str], tuple[int, int]] = {}
    for line in ledger:
        for ending in line.endings:
            key = (line.operation, ending.name)
            steady, total = counts.get(key, (0, 0))
            counts[key] = (steady + ending.steady, total + ending.count)
    return [EndingRow(operation, ending, *both) for (operation, ending), both in counts.items()]


def render_blocks(context: IterationContext) -> Iterator[Block]:
    """The table, of operations that may end well in several ways."""
    rows = list_ending_rows(context.iteration.records.ledger)
    if not rows:
        return
    yield Heading("How operations ended")
    columns = [Column("operation"), Column("ending", ColumnKind.TEXT), Column("steady state"), Column("all phases")]
    lines = [
        [row.operation, row.ending.replace("_", " "), format_number(row.steady), format_number(row.whole)]
        for row in rows
    ]
    yield Table(columns, [Row(line) for line in lines])


SECTION = ReportSection(rank=30, of_iteration=render_blocks)
