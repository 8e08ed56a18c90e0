"""Every iteration of every workload in one table, as publications print them: how many operations were what."""

from collections.abc import Iterator
from itertools import zip_longest

from loadstone.judge.chance import compute_share_interval
from loadstone.judge.check import UNDISCLOSED
from loadstone.model.figures import IterationFigures
from loadstone.model.numbers import format_number
from loadstone.model.records.result import WorkloadResult
from loadstone.page.blocks import Block, Cell, Column, ColumnKind, Heading, Paragraph, Row, Table, Tone
from loadstone.report.section import ReportContext, ReportSection
from loadstone.report.sections.operations import total

ITERATION_COLUMNS = (
    *(Column("workload", ColumnKind.TEXT), Column("load", ColumnKind.TEXT), Column("iteration")),
    *(Column(title) for title in ("operations", "good", "tolerable", "fail", "errors", "overdue", "good, %")),
    *(Column("95 % interval", ColumnKind.TEXT), Column("verdict", ColumnKind.TEXT)),
)
NOTE = (
    "Tolerable means tolerable but not good. Failed operations include errors and those overdue at the end. "
    "The interval (Wilson 1927) bounds the long-run share if operations succeed independently of each other. "
    "With few operations, a share just above its limit is not a certain pass."
)


def render_blocks(context: ReportContext) -> Iterator[Block]:
    """A line for each iteration; of tiles the scores have tables of their own."""
    if context.result.manifest.is_of_tiles:
        return
    rows = [row for workload in context.result.workloads for row in _rows(context, workload)]
    if rows:
        yield Heading("Iterations", 2, "iterations")
        yield Table(list(ITERATION_COLUMNS), rows)
        yield Paragraph(NOTE, Tone.QUIET)


def _rows(context: ReportContext, workload: WorkloadResult) -> Iterator[Row]:
    verdict = context.find_verdict(workload)
    judged = verdict.iterations if verdict else ()
    for iteration, record in zip_longest(workload.iterations, judged[: len(workload.iterations)]):
        outcome = Cell(record.verdict, Tone(record.verdict.value)) if record else Cell("not judged", Tone.INVALID)
        about = (workload.id.label, workload.criteria.load_in_words, str(iteration.number))
        yield Row([*about, *_counts(iteration.figures), outcome])


def _counts(figures: IterationFigures) -> Iterator[str]:
    """Counts, and the share of good operations with its interval."""
    totals = total(figures)
    attempts = totals.requests + totals.overdue
    yield from (format_number(count, 0) for count in (totals.requests, totals.good, totals.tolerable, totals.fail))
    has_errors = figures.is_disclosed or figures.has_printed_errors
    counts = ((totals.error_count, has_errors), (totals.overdue, figures.is_disclosed))
    yield from (format_number(count, 0) if is_known else UNDISCLOSED for count, is_known in counts)
    ends = compute_share_interval(totals.good, attempts) if attempts else ()
    yield format_number(100 * totals.good / attempts, 3) if attempts else ""
    yield " to ".join(format_number(100 * end, 3) for end in ends)


SECTION = ReportSection(rank=55, of_result=render_blocks)
