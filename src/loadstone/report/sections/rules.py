"""Of an iteration: every rule with its figure, its limit, its outcome and its source."""

from collections.abc import Iterator

from loadstone.page.blocks import Block
from loadstone.report.rules_table import rules_table
from loadstone.report.section import IterationContext, Section


def blocks(context: IterationContext) -> Iterator[Block]:
    """The table, of what was judged."""
    if context.verdict is not None:
        yield rules_table(context.verdict.checks)


SECTION = Section(rank=10, of_iteration=blocks)
