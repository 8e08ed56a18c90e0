"""What a tool measured as the driver's events, so that everything behind the store knows one kind of record. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loadstone.model.figures import NO_CONNECTIONS, NO_SESSIONS, NO_TALLY
from loadstone.model.records.events import (
    EVENT_SCHEMA,
    CpuShare,
    End,
    Event,
    Interval,
    Ledger,
    LedgerEntry,
    OperationCounts,
    OperationRecord,
    PartNames,
    PauseCounts,
    Slowest,
    Start,
    Totals,
)
from loadstone.model.workload.operation import TimeLimit
from loadstone.store.figures import STEADY_PHASE
from loadstone.store.histograms import EMPTY_HISTOGRAM, encode_times
from loadstone.tools.kind import Amount, ToolFigures, ToolInterval, ToolKind, ToolTask, sum_amounts

ERROR_KIND = "tool"
"""Kind of the errors that a tool counted."""


@dataclass(frozen=True)
class ToolOperation:
    """An operation that a tool performs."""

    name: str
    path: str
    limit: TimeLimit


@dataclass(frozen=True)
class ToolJob:
    """A tool with what it is asked to do, and the workload whose operations it performs."""

    kind: ToolKind
    task: ToolTask
    part: str
    """Label of the workload."""
    operations: tuple[ToolOperation, ...]
    """One, but for a tool that plays a mix."""


def build_start(job: ToolJob, start_unix_s: float) -> Start:
    """Returns the event of a tool that starts now, in seconds since 1970."""
    parts = (PartNames(job.part, tuple(operation.name for operation in job.operations)),)
    return Start("start", EVENT_SCHEMA, job.kind.name, job.task.threads, 1, parts, start_unix_s, 0.0, 0.0)


def build_events(job: ToolJob, figures: ToolFigures) -> Iterator[Event]:
    """Returns what a tool measured as a driver's events: its intervals, the totals, the end."""
    lead_s = compute_lead_s(job, figures)
    yield from (_interval(job, interval, lead_s) for interval in _by_second(figures.intervals))
    yield _totals(job, figures)
    yield from _ledgers(job, figures)
    yield End("end", lead_s + figures.steady_s, "completed")


def compute_lead_s(job: ToolJob, figures: ToolFigures) -> float:
    """Seconds from the start of the tool to the steady state."""
    return job.task.lead_s if figures.begin_s is None else figures.begin_s


def _by_second(intervals: Sequence[ToolInterval]) -> Iterator[ToolInterval]:
    """Joins intervals that are shorter than a second."""
    joined: list[ToolInterval] = []
    for interval in intervals:
        joined.append(interval)
        if interval.end_s - joined[0].begin_s >= 1 - 1e-3:
            yield _joined(joined)
            joined = []
    if joined:
        yield _joined(joined)


def _joined(intervals: list[ToolInterval]) -> ToolInterval:
    amount = sum_amounts(interval.amount for interval in intervals)
    if intervals[0].by_operation is None:
        return ToolInterval(intervals[0].begin_s, intervals[-1].end_s, amount)
    paths = dict.fromkeys(path for interval in intervals for path in interval.by_operation or ())
    by_operation = {path: sum_amounts(interval.get_amount(path) for interval in intervals) for path in paths}
    return ToolInterval(intervals[0].begin_s, intervals[-1].end_s, amount, by_operation)


def _interval(job: ToolJob, interval: ToolInterval, lead_s: float) -> Interval:
    times = encode_times(interval.amount.times_us, interval.amount.total_s)
    return Interval(
        event="interval",
        part=job.part,
        at_s=lead_s + interval.end_s,
        length_s=interval.end_s - interval.begin_s,
        phase=STEADY_PHASE,
        sessions_active=job.task.clients,
        connections_open=job.task.clients,
        operations=tuple(_counts(interval.get_amount(operation.path), operation.limit) for operation in job.operations),
        response=times,
        service=times,
        lag=EMPTY_HISTOGRAM,
        connections=NO_CONNECTIONS,
        cpu=CpuShare(()),
    )


def _counts(amount: Amount, limit: TimeLimit) -> OperationCounts:
    """Operations by their limits."""
    good = _within(amount, limit.good_s)
    tolerable = _within(amount, limit.tolerable_s) - good
    errors = {ERROR_KIND: amount.errors} if amount.errors else {}
    return OperationCounts(
        requests=amount.count,
        good=good,
        tolerable=tolerable,
        fail=amount.count - good - tolerable,
        bytes=amount.bytes,
        errors=errors,
    )


def _within(amount: Amount, limit_s: float) -> int:
    return sum(number for time_us, number in amount.times_us.items() if time_us <= limit_s * 1e6)


def _totals(job: ToolJob, figures: ToolFigures) -> Totals:
    pauses = figures.pauses
    return Totals(
        event="totals",
        part=job.part,
        steady_s=figures.steady_s,
        cpu=CpuShare(()),
        operations=tuple(_operation(operation, figures.get_total(operation.path)) for operation in job.operations),
        lag=EMPTY_HISTOGRAM,
        sessions=NO_SESSIONS,
        pauses=PauseCounts(pauses.count, pauses.total_s, pauses.total_s),
        pause=encode_times(pauses.times_us, pauses.total_s),
        connections=NO_CONNECTIONS,
    )


def _ledgers(job: ToolJob, figures: ToolFigures) -> Iterator[Ledger]:
    """How operations ended that end well in several ways. Nothing is audited: the sums are 0."""
    for operation in job.operations:
        endings = tuple(
            LedgerEntry(ending.name, ending.count, ending.steady, "0")
            for ending in figures.endings
            if ending.operation == operation.path
        )
        if endings:
            yield Ledger("ledger", job.part, operation.name, endings, 0)


def _operation(operation: ToolOperation, amount: Amount) -> OperationRecord:
    times = encode_times(amount.times_us, amount.total_s)
    return OperationRecord(
        name=operation.name,
        counts=_counts(amount, operation.limit),
        tally=NO_TALLY,
        ended_s=amount.total_s,
        ended_bytes=amount.bytes,
        entered=EMPTY_HISTOGRAM,
        answered=times,
        lost=EMPTY_HISTOGRAM,
        cycles=PauseCounts(0, 0.0, 0.0),
        requests_beside=(),
        line_s=0.0,
        response=times,
        service=times,
        first_byte=EMPTY_HISTOGRAM,
        statuses=(),
        slowest=Slowest(0.0, 0.0),
        files=(),
        words=(),
    )
