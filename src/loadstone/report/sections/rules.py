"""Of an iteration: every rule with its figure, its limit, its outcome and its source; the broken ones first."""

from collections.abc import Iterator

from loadstone.model.records.check import Outcome
from loadstone.page.blocks import Block, Fold
from loadstone.report.rules_table import build_rules_table
from loadstone.report.section import IterationContext, ReportSection


def render_blocks(context: IterationContext) -> Iterator[Block]:
    """Those that were broken; all of them behind a line."""
    if context.verdict is None:
        return
    checks = context.verdict.checks
    broken = [check for check in checks if check.outcome is Outcome.BROKEN]
    if broken:
        yield build_rules_table(broken)
    counts = [(outcome, sum(check.outcome is outcome for check in checks)) for outcome in Outcome]
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in counts if count)
    yield Fold(f"All rules with figure, limit and source ({outcomes})", [build_rules_table(checks)])


SECTION = ReportSection(rank=10, of_iteration=render_blocks)
