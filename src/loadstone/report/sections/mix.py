"""Of an iteration: the shares of the operations that ended in the steady state, against the expected ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from loadstone.judge.mix import expect_deviation
from loadstone.model.figures import Criteria, IterationFigures
from loadstone.model.numbers import format_number
from loadstone.page.blocks import Block, Column, Fold, Row, Table
from loadstone.report.section import IterationContext, ReportSection


@dataclass(frozen=True)
class MixRow:
    """How often an operation ended in the steady state, against what was expected."""

    name: str
    ended: int
    share_pct: float
    expected_pct: float | None
    """None where what comes depends on what answers tell."""
    deviation_pct: float | None


def mix_rows(criteria: Criteria, figures: IterationFigures) -> Iterator[MixRow]:
    """A row for each operation; deviations as the judge computes them."""
    shares = expect_deviation(criteria, figures)
    deviations: Mapping[str, float] = shares.operations_pct if shares else {}
    for operation in figures.operations:
        share = 100 * operation.ended / max(1, figures.ended)
        known = criteria.expected_shares
        wanted = 100 * known.get(operation.name, 0.0) if known else None
        yield MixRow(operation.name, operation.ended, share, wanted, deviations.get(operation.name))


def render_blocks(context: IterationContext) -> Iterator[Block]:
    """A folded table, where operations were measured; a tool has no mix."""
    rows = list(mix_rows(context.workload.criteria, context.iteration.figures))
    if not rows or context.workload.criteria.tool:
        return
    titles = ("operation", "ended", "share, %", "expected, %", "deviation, %")
    lines = [
        Row(
            [
                row.name,
                format_number(row.ended),
                format_number(row.share_pct, 3),
                format_number(row.expected_pct, 3),
                format_number(row.deviation_pct, 2),
            ]
        )
        for row in rows
    ]
    summary = "Mix: shares of the operations that ended in the steady state, against the expected ones"
    yield Fold(summary, [Table([Column(title) for title in titles], lines)])


SECTION = ReportSection(rank=50, of_iteration=render_blocks)
