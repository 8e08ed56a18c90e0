"""Of an iteration: a few errors of each kind in words, as the driver told them."""

from collections.abc import Iterator

from loadstone.page.blocks import Block, Fold, Verbatim
from loadstone.report.section import IterationContext, ReportSection


def render_blocks(context: IterationContext) -> Iterator[Block]:
    """The words, where there are any."""
    samples = context.iteration.figures.samples
    if samples:
        summary = "Errors in words (a few of each kind, all phases)"
        yield Fold(summary, [Verbatim("\n".join(samples))], is_open=True)


SECTION = ReportSection(rank=60, of_iteration=render_blocks)
