"""The table of rules: figure, limit, outcome, what a breach means, source."""

from collections.abc import Sequence

from loadstone.judge.remedies import REMEDIES
from loadstone.model.numbers import rounded
from loadstone.model.records.check import Check, CheckId, Outcome
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


def build_anchor(rule: CheckId) -> str:
    """Returns the anchor of a rule's cause and remedy in a report."""
    return f"rule-{rule}"


def find_anchor(check: Check) -> str:
    """Returns the anchor of a broken rule's cause and remedy; empty for other rules."""
    return build_anchor(check.id) if check.outcome is Outcome.BROKEN and check.id in REMEDIES else ""


def _row(check: Check) -> Row:
    figure = f"{rounded(check.figure)} {check.unit}"
    limit = f"{check.bound} {rounded(check.limit)}"
    outcome = Cell(check.outcome, TONES.get(check.outcome, Tone.PLAIN))
    rule = Cell(check.rule, anchor=find_anchor(check))
    return Row([rule, figure, limit, outcome, check.weight, check.detail, Cell(check.source, Tone.QUIET)])
