"""The table of rules: figure, limit, outcome, what a breach means, source."""

from collections.abc import Sequence

from loadstone.judge.remedies import REMEDIES
from loadstone.model.numbers import format_rounded
from loadstone.model.records.check import Check, CheckId, Outcome
from loadstone.page.blocks import Cell, Column, ColumnKind, Row, Table, Tone

RULE_COLUMNS = (
    Column("rule"),
    Column("figure"),
    Column("limit"),
    Column("outcome", ColumnKind.TEXT),
    Column("if broken", ColumnKind.TEXT),
    Column("detail", ColumnKind.LONG),
    Column("source", ColumnKind.LONG),
)
TONES = {"kept": Tone.KEPT, "broken": Tone.BROKEN}


def build_rules_table(checks: Sequence[Check]) -> Table:
    """One line a rule."""
    return Table(RULE_COLUMNS, [_row(check) for check in checks])


def build_anchor(rule: CheckId) -> str:
    """Returns the anchor of a rule's cause and remedy in a report."""
    return f"rule-{rule}"


def find_anchor(check: Check) -> str:
    """Returns the anchor of a broken rule's cause and remedy; empty for other rules."""
    return build_anchor(check.id) if check.outcome is Outcome.BROKEN and check.id in REMEDIES else ""


def _row(check: Check) -> Row:
    figure = f"{format_rounded(check.figure)} {check.unit}"
    limit = f"{check.bound} {format_rounded(check.limit)}"
    outcome = Cell(check.outcome, TONES.get(check.outcome, Tone.PLAIN))
    rule = Cell(check.rule, anchor=find_anchor(check))
    return Row([rule, figure, limit, outcome, check.weight, check.detail, Cell(check.source, Tone.QUIET)])
