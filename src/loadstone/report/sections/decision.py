"""What follows from the run, in a sentence for a decision."""

from collections.abc import Iterator

from loadstone.page.blocks import Block, Paragraph
from loadstone.report.section import ReportContext, ReportSection
from loadstone.study.decision import decide_result


def render_blocks(context: ReportContext) -> Iterator[Block]:
    """Yields a paragraph for each sentence."""
    for sentence in decide_result(context.result):
        yield Paragraph(sentence)


SECTION = ReportSection(rank=26, of_result=render_blocks)
