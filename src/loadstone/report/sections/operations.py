"""Of an iteration: a line for each operation, as published disclosures print it, and what they do not say."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loadstone.model.figures import NOTHING, Criteria, Distribution, IterationFigures, OperationFigures, sum_counts
from loadstone.model.numbers import format_number, format_seconds, format_three_digits
from loadstone.model.records.events import OperationTally
from loadstone.page.blocks import Block, Cell, Column, Heading, Paragraph, Row, Table, Tone
from loadstone.report.section import IterationContext, ReportSection

NOTE = (
    "Tolerable means tolerable but not good. Average and percentiles are estimated from all correct operations in "
    "progress in the steady state, including those cut by its edges. Percentiles with too few samples are omitted. "
    "Line is the time that the user's access link needs for the bytes; server delay is the rest. The weighted byte "
    "rate of an operation is its bytes divided by the response time of all operations."
)
PLAIN_NOTE = (
    "Tolerable means tolerable but not good. Times are in milliseconds, estimated from all correct operations in "
    "progress in the steady state. Percentiles with too few samples are omitted. Overdue operations were in progress "
    "when it ended, and beyond their tolerable time."
)
PLAIN_TITLES: tuple[str, ...] = (
    *("operation", "operations", "per second", "good", "tolerable", "fail", "errors", "average,\nms"),
    *("p50", "p90", "p95", "p99", "p99.9", "max", "first byte\np50", "average\nbytes", "overdue\nat the end"),
)
"""Of workloads whose users have no line of their own: nothing is said of what a line does."""
OPERATION_TITLES: tuple[str, ...] = (
    *("operation", "operations", "good", "tolerable", "fail", "errors", "weighted\nbyte rate, B/s", "average,\ns"),
    *("p50", "p90", "p99", "p99.9", "max", "service\np99.9", "first byte\np50", "line,\ns", "server\ndelay, s"),
    *("average\nbytes", "published\nbytes", "bytes", "cut at\nstart / end", "overdue\nat the end"),
)
PUBLISHED_NOTE = (
    "Figures as they were published. Tolerable means tolerable but not good. Errors, percentiles and other "
    "missing figures were not disclosed. The weighted byte rate of an operation is its bytes divided by the response "
    "time of all operations."
)
PUBLISHED_TITLES: tuple[str, ...] = (
    *("operation", "operations", "good", "tolerable", "fail", "weighted\nbyte rate, B/s", "average,\ns"),
    *("average\nbytes", "published\nbytes", "bytes"),
)
"""Of iterations that were imported: what others disclose."""


@dataclass(frozen=True, kw_only=True)
class OperationRow(OperationTally):
    """A line of the per-iteration table, as published disclosures print it, and what they do not say."""

    name: str
    requests: int
    per_s: float | None
    good: int
    tolerable: int
    """Tolerable but not good."""
    fail: int
    errors: int
    weighted_rate: float
    """Bytes of this operation by the response time of all, B/s; the rows sum to the total's rate."""
    mean_s: float | None
    p50_s: float | None
    p90_s: float | None
    p95_s: float | None
    p99_s: float | None
    p999_s: float | None
    max_s: float | None
    lost: int
    """Operations of which it is only known that they lasted for so long at least."""
    service_p999_s: float | None
    first_byte_p50_s: float | None
    line_s: float | None
    server_delay_s: float | None
    """Mean response time less what the user's line alone needs."""
    mean_bytes: float | None
    published_bytes: float | None
    bytes: int


def list_operation_rows(criteria: Criteria, figures: IterationFigures) -> list[OperationRow]:
    """A row for each operation and one for the total."""
    total_s = sum((op.inside.mean_s or 0) * op.inside.count for op in figures.operations)
    operations = [(op, criteria.published_bytes.get(op.name)) for op in figures.operations]
    return [_row(op, total_s, figures.steady_s, published) for op, published in (*operations, (total(figures), None))]


def _row(operation: OperationFigures, total_s: float, steady_s: float, published: float | None) -> OperationRow:
    response, mean_s = operation.response, operation.response.mean_s
    line_s = operation.line_mean_s if operation.inside.count else None
    return OperationRow(
        **vars(sum_counts(OperationTally, [operation])),
        name=operation.name,
        requests=operation.requests,
        per_s=operation.answered / steady_s if steady_s else None,
        good=operation.good,
        tolerable=operation.tolerable,
        fail=operation.fail,
        errors=operation.error_count,
        weighted_rate=operation.bytes / total_s if total_s else 0.0,
        mean_s=mean_s,
        p50_s=response.get_value_at(50.0),
        p90_s=response.get_value_at(90.0),
        p95_s=response.get_value_at(95.0),
        p99_s=response.get_value_at(99.0),
        p999_s=response.get_value_at(99.9),
        max_s=response.get_value_at(100.0),
        lost=response.lost,
        service_p999_s=operation.service.get_value_at(99.9),
        first_byte_p50_s=operation.first_byte.get_value_at(50.0),
        line_s=line_s,
        server_delay_s=None if operation.inside.mean_s is None or line_s is None else operation.inside.mean_s - line_s,
        mean_bytes=operation.bytes / operation.requests if operation.requests else None,
        published_bytes=published,
        bytes=operation.bytes,
    )


def total(figures: IterationFigures) -> OperationFigures:
    """All operations as if they were one."""
    operations = figures.operations
    timed = sum(op.inside.count for op in operations)
    lines = [(op.line_mean_s, op.inside.count) for op in operations if op.inside.count]
    known = [(line_s, count) for line_s, count in lines if line_s is not None]
    line_s = sum(line_s * count for line_s, count in known) / timed if timed and len(known) == len(lines) else None
    return OperationFigures(
        **vars(sum_counts(OperationTally, operations)),
        name="Total",
        requests=figures.requests,
        good=sum(op.good for op in operations),
        tolerable=sum(op.tolerable for op in operations),
        fail=sum(op.fail for op in operations),
        bytes=sum(op.bytes for op in operations),
        errors={"all": sum(op.error_count for op in operations)},
        cycles=sum(op.cycles for op in operations),
        cycle_drawn_s=sum(op.cycle_drawn_s for op in operations),
        cycle_actual_s=sum(op.cycle_actual_s for op in operations),
        ended_s=sum(op.ended_s for op in operations),
        line_mean_s=line_s,
        response=figures.response,
        service=figures.service,
        first_byte=NOTHING,
        inside=_together([op.inside for op in operations]),
    )


def _together(parts: Sequence[Distribution]) -> Distribution:
    """Count and mean of all; percentiles cannot be added."""
    count = sum(part.count for part in parts)
    total_s = sum((part.mean_s or 0.0) * part.count for part in parts)
    return Distribution(count, total_s / count, {}) if count else NOTHING


def render_blocks(context: IterationContext) -> Iterator[Block]:
    """The table, where operations were measured."""
    figures = context.iteration.figures
    if not figures.operations:
        return
    rows = list_operation_rows(context.workload.criteria, figures)
    has_lines = bool(rows[-1].line_s)
    titles, note, line = (OPERATION_TITLES, NOTE, _table_row) if has_lines else (PLAIN_TITLES, PLAIN_NOTE, _plain_row)
    if not figures.is_disclosed:
        titles, note, line = PUBLISHED_TITLES, PUBLISHED_NOTE, _published_row
    yield Heading("Operations")
    yield Table([Column(title) for title in titles], [line(row, row is rows[-1]) for row in rows])
    yield Paragraph(note, Tone.QUIET)
    if sentence := _compressed(figures.operations):
        yield Paragraph(sentence, Tone.QUIET)


def _compressed(operations: Sequence[OperationFigures]) -> str:
    """What came compressed; empty where nothing did."""
    wire, body = sum(op.bytes for op in operations), sum(op.body_bytes for op in operations)
    if body <= wire:
        return ""
    sent, plain = format_number(wire), format_number(body)
    return f"Responses were compressed: {sent} bytes, headers included, for bodies of {plain} bytes."


def _table_row(row: OperationRow, is_total: bool) -> Row:
    times = (row.mean_s, row.p50_s, row.p90_s, row.p99_s, row.p999_s, row.max_s, row.service_p999_s)
    return Row(
        [
            row.name,
            *map(format_number, (row.requests, row.good, row.tolerable)),
            _alarming(row.fail),
            _alarming(row.errors),
            format_number(row.weighted_rate, 1),
            *map(format_seconds, (*times, row.first_byte_p50_s, row.line_s, row.server_delay_s)),
            *map(format_number, (row.mean_bytes, row.published_bytes, row.bytes)),
            f"{row.cut_at_start} / {row.cut_at_end}",
            _alarming(row.overdue),
        ],
        is_total,
    )


def _published_row(row: OperationRow, is_total: bool) -> Row:
    return Row(
        [
            row.name,
            *map(format_number, (row.requests, row.good, row.tolerable)),
            _alarming(row.fail),
            format_number(row.weighted_rate, 1),
            format_seconds(row.mean_s),
            *map(format_number, (row.mean_bytes, row.published_bytes, row.bytes)),
        ],
        is_total,
    )


def _plain_row(row: OperationRow, is_total: bool) -> Row:
    times = (row.mean_s, row.p50_s, row.p90_s, row.p95_s, row.p99_s, row.p999_s, row.max_s, row.first_byte_p50_s)
    return Row(
        [
            row.name,
            format_number(row.requests),
            format_number(row.per_s, 1),
            *map(format_number, (row.good, row.tolerable)),
            _alarming(row.fail),
            _alarming(row.errors),
            *(format_three_digits(None if time_s is None else 1000 * time_s) for time_s in times),
            format_number(row.mean_bytes),
            _alarming(row.overdue),
        ],
        is_total,
    )


def _alarming(count: int) -> Cell:
    return Cell(format_number(count), Tone.BROKEN if count else Tone.PLAIN)


SECTION = ReportSection(rank=20, of_iteration=render_blocks)
