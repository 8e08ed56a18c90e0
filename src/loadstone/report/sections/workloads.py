"""Every workload, iteration by iteration: the sections about iterations, one after the other."""

from collections.abc import Iterator

from loadstone.model.records.result import WorkloadResult
from loadstone.model.records.verdict import Verdict
from loadstone.page.blocks import Block, Fold, Heading, Paragraph, Tone
from loadstone.report.section import (
    MOST_PICTURED,
    IterationContext,
    ReportContext,
    ReportSection,
    list_shipped_sections,
    render_iteration_blocks,
)


def render_blocks(context: ReportContext) -> Iterator[Block]:
    """Those of tiles are folded, but for the ones that do not pass."""
    result = context.result
    if not result.manifest.is_of_tiles:
        for workload in result.workloads:
            yield from _workload(context, workload)
        return
    yield Heading("Each workload", 2, "workloads")
    if len(result.workloads) > MOST_PICTURED:
        text = "With this many workloads there are tables only; the heat map above shows them over time."
        yield Paragraph(text, Tone.QUIET)
    for workload in result.workloads:
        verdict = context.find_verdict(workload)
        outcome = verdict.verdict if verdict else "not judged"
        summary = f"{workload.criteria.title}: {outcome}"
        yield Fold(summary, list(_workload(context, workload)), is_open=outcome != Verdict.PASS)


def _workload(context: ReportContext, workload: WorkloadResult) -> Iterator[Block]:
    criteria, label = workload.criteria, workload.id.label
    yield Heading(criteria.title, 2, label, f"{label}, {criteria.load_in_words}")
    verdict = context.find_verdict(workload)
    judged = list(verdict.iterations) if verdict else []
    for index, iteration in enumerate(workload.iterations):
        record = judged[index] if index < len(judged) else None
        outcome, tone = (record.verdict, Tone(record.verdict.value)) if record else ("not judged", Tone.INVALID)
        yield Heading(f"Iteration {iteration.number}: {outcome}", 3, tone=tone)
        if iteration.figures.trouble:
            yield Paragraph(iteration.figures.trouble, Tone.INVALID)
        yield from render_iteration_blocks(
            IterationContext(context, workload, iteration, record), list_shipped_sections()
        )
    if not workload.iterations:
        yield Paragraph("Not begun.", Tone.QUIET)


SECTION = ReportSection(rank=60, of_result=render_blocks)
