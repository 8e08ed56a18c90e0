"""The table of rules: figure, limit, outcome, what a breach means, source."""

from collections.abc import Sequence

from loadstone.model.numbers import rounded
from loadstone.model.records.check import Check
from loadstone.page.blocks import Cell, Column, ColumnKind, Row, Table, Tone

COLUMNS = (
    Column("rule"),
    Column("figure"),
    Column("limit"),
    Column("outcome", ColumnKind.TEXT),
    Column("if broken", ColumnKind.TEXT),
    Column("detail", ColumnKind.LONG),
    Column("source", ColumnKind.LONG),
)
TONES = {"kept": Tone.KEPT, "broken": Tone.BROKEN}


def rules_table(checks: Sequence[Check]) -> Table:
    """One line a rule."""
    return Table(COLUMNS, [_row(check) for check in checks])


def _row(check: Check) -> Row:
    figure = f"{rounded(check.figure)} {check.unit}"
    limit = f"{check.bound} {rounded(check.limit)}"
    outcome = Cell(check.outcome, TONES.get(check.outcome, Tone.PLAIN))
    return Row([check.rule, figure, limit, outcome, check.weight, check.detail, Cell(check.source, Tone.QUIET)])
