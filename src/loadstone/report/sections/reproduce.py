"""How to make the same run again, and what stands beside the report."""

from collections.abc import Iterator

from loadstone.page.blocks import Block, Heading, Paragraph, Tone, Verbatim
from loadstone.report.disclosure import format_command
from loadstone.report.section import ReportContext, ReportSection

NOTE = (
    "The folder of this report contains the plan of every iteration (runs/*/plan.json) and the driver's events with "
    "all histograms (events.jsonl). It also has the monitors' samples (monitor.jsonl) and all checksums (seal.json). "
    "Use loadstone report --rejudge to judge the stored figures again."
)
PRINTED_FIGURES_NOTE = (
    "The folder of this report contains the imported figures (manifest.json, runs/*/figures.json) and all checksums "
    "(seal.json). Use loadstone report --rejudge to judge them again."
)


def render_blocks(context: ReportContext) -> Iterator[Block]:
    """Yields the command that repeats the run."""
    yield Heading("How to reproduce", 2, "reproduce")
    yield Verbatim(format_command(context.result.manifest.command))
    yield Paragraph(NOTE if context.result.manifest.imported is None else PRINTED_FIGURES_NOTE, Tone.QUIET)


SECTION = ReportSection(rank=80, of_result=render_blocks)
