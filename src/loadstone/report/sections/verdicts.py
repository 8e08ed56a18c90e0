"""The verdict on every workload, the web index, and what the words mean."""

from collections.abc import Iterator, Sequence

from loadstone.judge.compliance import describe_obstacles
from loadstone.judge.score import DISCLAIMER, WEB_INDEX_NAME
from loadstone.model.figures import IterationFigures
from loadstone.model.numbers import format_number
from loadstone.model.records.result import WorkloadResult
from loadstone.page.blocks import Block, Card, Cards, Cell, Paragraph, Tone
from loadstone.report.section import ReportContext, ReportSection

LEGEND = (
    "Response time counts from the intended start to the last byte of the last part. Shares are of operations that "
    "start and end in the steady state; times are estimated from all in progress in it. Pass: all limits were met. "
    "Fail: the system under test exceeded a limit. Invalid: the run cannot be judged."
)


def render_blocks(context: ReportContext) -> Iterator[Block]:
    """A card for each workload; tiles have cards of their own."""
    result = context.result
    if not result.manifest.is_of_tiles:
        yield Cards([_card(context, workload) for workload in result.workloads])
    index = result.verdict.index if result.verdict else None
    if index is not None:
        claim = "" if index.compliant else " (from a run that is not compliant)"
        yield Paragraph(f"{format_number(index.value, 1)}{claim}. {DISCLAIMER}", strong=f"{WEB_INDEX_NAME}:")
    yield Paragraph(LEGEND, Tone.QUIET)


def _card(context: ReportContext, workload: WorkloadResult) -> Card:
    verdict, criteria = context.find_verdict(workload), workload.criteria
    load = criteria.load_in_words + _rates([iteration.figures for iteration in workload.iterations])
    if verdict is None:
        return Card(Tone.INVALID, "not judged", workload.id.label, [load])
    lines: list[str | Cell] = [load, Cell(_claim(context, workload), Tone.QUIET), *verdict.reasons]
    notes = dict.fromkeys(note for iteration in verdict.iterations for note in iteration.notes)
    lines += [Cell(f"Note: {note}.", Tone.QUIET) for note in notes]
    if verdict.not_judged:
        lines.append(Cell(f"Not judged: {', '.join(verdict.not_judged)}.", Tone.QUIET))
    return Card(Tone(verdict.verdict.value), verdict.verdict, workload.id.label, lines)


def _rates(iterations: Sequence[IterationFigures]) -> str:
    """Operations/s of each iteration."""
    rates = [iteration.throughput_per_s for iteration in iterations if iteration.operations]
    known = [format_number(rate, 1) for rate in rates if rate is not None]
    each = f" in iterations 1 to {len(known)}" if len(known) > 1 else ""
    return f", {', '.join(known)} operations/s{each}" if known else ""


def _claim(context: ReportContext, workload: WorkloadResult) -> str:
    """Whether a pass may be called compliant, and if not why."""
    verdict, criteria = context.find_verdict(workload), workload.criteria
    if verdict is not None and verdict.compliant:
        return "compliant"
    if context.result.manifest.imported is not None:
        return "not compliant: not measured here"
    if verdict is None:
        return "not compliant: it was not judged"
    why = describe_obstacles(criteria, verdict.verdict, verdict.not_judged, context.result.manifest.is_simulated)
    return f"not compliant: {why or 'its seal is not intact'}"


SECTION = ReportSection(rank=20, of_result=render_blocks)
