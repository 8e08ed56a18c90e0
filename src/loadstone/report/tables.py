"""The figures of the tables, as records; used by every form of the report."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.judge.rules import expected
from loadstone.model.figures import NOTHING, IterationFigures, OperationFigures, Terms

Json = dict[str, Any]


@dataclass(frozen=True)
class OperationRow:
    """A line of the per-iteration table, as published disclosures print it, and what they do not say."""

    name: str
    requests: int
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
    p99_s: float | None
    p999_s: float | None
    max_s: float | None
    service_p999_s: float | None
    first_byte_p50_s: float | None
    line_s: float | None
    server_delay_s: float | None
    """Mean response time less what the user's line alone needs."""
    mean_bytes: float | None
    published_bytes: float | None
    bytes: int
    cut_at_start: int
    cut_at_end: int
    overdue: int
    """Under way at the end of the steady state and beyond their tolerable time."""


@dataclass(frozen=True)
class MixRow:
    """How often an operation ended in the steady state, against what was expected."""

    name: str
    ended: int
    share_pct: float
    expected_pct: float
    deviation_pct: float | None


@dataclass(frozen=True)
class EndingRow:
    """One of the ways in which an operation ends well, and how often it did."""

    operation: str
    ending: str
    steady: int
    """Started and ended in the steady state."""
    whole: int
    """Over all phases."""


def ending_rows(ledger: Sequence[Json]) -> list[EndingRow]:
    """Endings by operation, all driver threads together."""
    counts: dict[tuple[str, str], tuple[int, int]] = {}
    for line in ledger:
        for one in line["endings"]:
            key = (line["operation"], one["name"])
            steady, whole = counts.get(key, (0, 0))
            counts[key] = (steady + one["steady"], whole + one["count"])
    return [EndingRow(operation, ending, *both) for (operation, ending), both in counts.items()]


def operation_rows(terms: Terms, figures: IterationFigures) -> list[OperationRow]:
    """A row for each operation and one for the total."""
    total_s = sum((op.response.mean_s or 0) * op.response.count for op in figures.operations)
    rows = [_row(op, total_s, terms.published_bytes.get(op.name)) for op in figures.operations]
    return [*rows, _row(_total(figures), total_s, None)]


def mix_rows(terms: Terms, figures: IterationFigures) -> Iterator[MixRow]:
    """A row for each operation; deviations as the judge computes them."""
    found = expected(terms, figures)
    deviations: Mapping[str, float] = found.operations_pct if found else {}
    for operation in figures.operations:
        share = 100 * operation.ended / max(1, figures.ended)
        wanted = 100 * terms.expected_shares.get(operation.name, 0.0)
        yield MixRow(operation.name, operation.ended, share, wanted, deviations.get(operation.name))


def _row(operation: OperationFigures, total_s: float, published: float | None) -> OperationRow:
    response, mean_s = operation.response, operation.response.mean_s
    line_s = operation.line_mean_s if mean_s is not None else None
    return OperationRow(
        name=operation.name,
        requests=operation.requests,
        good=operation.good,
        tolerable=operation.tolerable,
        fail=operation.fail,
        errors=sum(operation.errors.values()),
        weighted_rate=operation.bytes / total_s if total_s else 0.0,
        mean_s=mean_s,
        p50_s=response.at(50.0),
        p90_s=response.at(90.0),
        p99_s=response.at(99.0),
        p999_s=response.at(99.9),
        max_s=response.at(100.0),
        service_p999_s=operation.service.at(99.9),
        first_byte_p50_s=operation.first_byte.at(50.0),
        line_s=line_s,
        server_delay_s=None if mean_s is None or line_s is None else mean_s - line_s,
        mean_bytes=operation.bytes / operation.requests if operation.requests else None,
        published_bytes=published,
        bytes=operation.bytes,
        cut_at_start=operation.cut_at_start,
        cut_at_end=operation.cut_at_end,
        overdue=operation.overdue,
    )


def _total(figures: IterationFigures) -> OperationFigures:
    """All operations as if they were one."""
    operations = figures.operations
    timed = figures.response.count
    lines = [(op.line_mean_s, op.response.count) for op in operations if op.response.count]
    known = [(line_s, count) for line_s, count in lines if line_s is not None]
    line_s = sum(line_s * count for line_s, count in known) / timed if timed and len(known) == len(lines) else None
    return OperationFigures(
        name="Total",
        requests=figures.requests,
        good=sum(op.good for op in operations),
        tolerable=sum(op.tolerable for op in operations),
        fail=sum(op.fail for op in operations),
        bytes=sum(op.bytes for op in operations),
        errors={"all": sum(sum(op.errors.values()) for op in operations)},
        cut_at_start=sum(op.cut_at_start for op in operations),
        cut_at_end=sum(op.cut_at_end for op in operations),
        cycles=sum(op.cycles for op in operations),
        cycle_drawn_s=sum(op.cycle_drawn_s for op in operations),
        cycle_actual_s=sum(op.cycle_actual_s for op in operations),
        ended_s=sum(op.ended_s for op in operations),
        overdue=sum(op.overdue for op in operations),
        embedded=sum(op.embedded for op in operations),
        conditional=sum(op.conditional for op in operations),
        not_modified=sum(op.not_modified for op in operations),
        redirects=sum(op.redirects for op in operations),
        line_mean_s=line_s,
        response=figures.response,
        service=figures.service,
        first_byte=NOTHING,
    )
