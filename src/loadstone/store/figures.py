"""The figures of an iteration: computed from its records when it is judged, kept beside them, and read from there."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from pydantic import TypeAdapter

from loadstone.model.errors import StoreError
from loadstone.model.figures import (
    FIGURES_SCHEMA,
    Audit,
    Distribution,
    FileFigures,
    IterationFigures,
    OperationFigures,
    Second,
    SlowestOperation,
    StoredFigures,
)
from loadstone.model.records.events import FileRecord, Interval, Ledger, OperationRecord, Slowest
from loadstone.model.records.pair_status import GUEST_LAG_MS
from loadstone.model.records.result import Iteration, IterationRecords
from loadstone.model.records.sample import Sample
from loadstone.store import migrate
from loadstone.store.documents import read_migrated, read_raw, write_atomic
from loadstone.store.histograms import estimate_lasting, merge_histograms, read_distribution
from loadstone.store.records import EVENTS

FIGURES = "figures.json"
"""Of an iteration: what was judged, computed from its records, or imported where there are none."""
AUDIT = "audit.json"
"""Of an iteration: what the server said that it holds."""
TOOL_CLOCK, DRIFT_PCT = "tool-clock.json", "drift_pct"
"""Of an iteration: the drift of a tool's clock, where means took the place of its times for that."""
STEADY_PHASE = "steady"
"""Phase of the intervals that are measured."""
SHORTEST_SECOND_S = 0.5
"""Shorter intervals are cut by the edges of a phase."""
HASHES = 1 << 64
"""Sums of hashes begin anew here."""


_FIGURES: TypeAdapter[StoredFigures] = TypeAdapter(StoredFigures)


def read_figures(file: Path) -> IterationFigures | None:
    """The figures that are kept in a file; None where there are none, or where those of another version do not fit and
    can be computed again from their records. Raises StoreError.
    """
    if not file.is_file():
        return None
    document = {"schema": 1, **read_raw(file)}
    has_records = (file.parent / EVENTS).is_file()
    if document["schema"] != FIGURES_SCHEMA and has_records:
        return None
    try:
        return read_migrated(file, _FIGURES, FIGURES_SCHEMA, migrate.migrate_figures, document).figures
    except StoreError:
        if has_records:
            return None
        raise


def write_figures(folder: Path, figures: IterationFigures) -> None:
    """Keeps the figures of an iteration beside its records. Raises StoreError."""
    write_atomic(folder / FIGURES, _FIGURES.dump_json(StoredFigures(figures)) + b"\n")


def compute_figures(folder: Path, iteration: Iteration) -> IterationFigures:
    """The figures of an iteration that was measured, from its records. Raises StoreError."""
    records = iteration.records
    try:
        figures = derive_figures(records)
    except (ArithmeticError, LookupError, ValueError) as error:
        why = f"{type(error).__name__}: {error}"
        raise StoreError(f"{folder / EVENTS}: its counts contradict each other ({why}). It was changed.") from None
    except StoreError as error:
        raise StoreError(f"{folder / EVENTS}: {error}") from None
    tool_drift_pct = _read_tool_drift_pct(folder / TOOL_CLOCK)
    return replace(
        figures if tool_drift_pct is None else _keep_means(figures),
        tcp_pressure_s=_tcp_pressure_s(iteration),
        foreign_cpu_pct=_share_of_host(iteration, lambda sample: sample.foreign_cores),
        unattributed_cpu_pct=_share_of_host(iteration, lambda sample: sample.unattributed_cores),
        guest_drift_pct=compute_guest_drift_pct(iteration.steady_samples),
        tool_drift_pct=tool_drift_pct,
        audit=_audit(folder / AUDIT, records.ledger),
    )


def derive_figures(records: IterationRecords) -> IterationFigures:
    """The figures of one iteration from the driver's records, whole or broken off. Raises StoreError, and errors of
    arithmetic for counts that contradict each other.
    """
    totals, end = records.totals, records.end
    samples = tuple(map(str, records.troubles))
    steady = [interval for interval in records.intervals if interval.phase == STEADY_PHASE]
    if totals is None:
        return _broken_off(steady, samples)
    return IterationFigures(
        steady_s=totals.steady_s,
        operations=tuple(_operation(record) for record in totals.operations),
        response=estimate_lasting(totals.operations),
        service=merge_histograms([record.service for record in totals.operations]),
        lag=read_distribution(totals.lag),
        longest_gap_s=totals.longest_gap_s,
        clock_bound_s=None if records.start is None else records.start.clock_bound_s,
        driver_cpu=totals.cpu.threads,
        pauses=totals.pauses.count,
        pause_drawn_s=totals.pauses.drawn_s,
        pause_actual_s=totals.pauses.actual_s,
        pause_curve=merge_histograms([totals.pause]).curve,
        sessions=totals.sessions,
        connections=totals.connections,
        completed=end is not None and end.reason == "completed",
        trouble="" if end is not None else "the driver's record has no end",
        samples=samples,
        seconds=tuple(_seconds(steady, totals.operations)),
    )


def _seconds(steady: Sequence[Interval], operations: Sequence[OperationRecord]) -> Iterator[Second]:
    """The intervals of the steady state that are not cut; bytes of operations without errors alone."""
    totals = [
        (
            sum(interval.operations[index].bytes for interval in steady),
            sum(interval.operations[index].requests for interval in steady),
        )
        for index in range(min((len(interval.operations) for interval in steady), default=0))
    ]
    counted = [
        index for index, operation in enumerate(operations) if not operation.counts.errors and index < len(totals)
    ]
    for interval in steady:
        if interval.length_s < SHORTEST_SECOND_S:
            continue
        due = sum(
            interval.operations[index].requests * totals[index][0] / max(1, totals[index][1]) for index in counted
        )
        came = sum(interval.operations[index].bytes for index in counted)
        times = interval.response
        mean_s = times.mean_s if times.count else None
        yield Second(interval.length_s, times.count, mean_s, came / due if due else None)


def _broken_off(steady: Sequence[Interval], samples: tuple[str, ...]) -> IterationFigures:
    """What can be said of a run whose driver died: its seconds are kept, its totals are not."""
    return IterationFigures(
        steady_s=sum(interval.length_s for interval in steady),
        operations=(),
        response=merge_histograms([interval.response for interval in steady]),
        service=merge_histograms([interval.service for interval in steady]),
        lag=merge_histograms([interval.lag for interval in steady]),
        completed=False,
        trouble="the driver died; only its second-by-second records are left",
        samples=samples,
    )


def _operation(record: OperationRecord) -> OperationFigures:
    return OperationFigures(
        **vars(record.counts),
        **vars(record.tally),
        name=record.name,
        cycles=record.cycles.count,
        cycle_drawn_s=record.cycles.drawn_s,
        cycle_actual_s=record.cycles.actual_s,
        ended_s=record.ended_s,
        line_mean_s=record.line_s / max(1, record.response.count),
        response=estimate_lasting([record]),
        service=read_distribution(record.service),
        first_byte=read_distribution(record.first_byte),
        inside=read_distribution(record.response),
        ended_bytes=record.ended_bytes,
        requests_beside=record.requests_beside,
        statuses={status.status: status.count for status in record.statuses},
        words=frozenset(record.words),
        slowest=_slowest(record.slowest) if record.slowest.time_s else None,
        files=tuple(_file(file) for file in record.files if file.requests),
    )


def _slowest(record: Slowest) -> SlowestOperation:
    return SlowestOperation(record.time_s, record.at_s)


def _file(record: FileRecord) -> FileFigures:
    counts = record.path, record.requests, record.not_modified, record.bytes
    return FileFigures(*counts, record.sum_s / record.requests, _slowest(record.slowest))


def _read_tool_drift_pct(file: Path) -> float | None:
    if not file.is_file():
        return None
    try:
        return float(read_raw(file)[DRIFT_PCT])
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{file} is not valid: {type(error).__name__} {error}.") from None


def _keep_means(figures: IterationFigures) -> IterationFigures:
    """The figures of a tool of which only mean times are known."""

    def keep(times: Distribution) -> Distribution:
        return replace(times, percentiles_s={}, curve=())

    operations = tuple(
        replace(operation, response=keep(operation.response), service=keep(operation.service))
        for operation in figures.operations
    )
    return replace(figures, operations=operations, response=keep(figures.response), service=keep(figures.service))


def _audit(file: Path, ledger: Sequence[Ledger]) -> Audit | None:
    """What the drivers' ledgers say against what the server said; of endings that leave something there."""
    if not file.is_file():
        return None
    report = read_raw(file)
    try:
        checked = [ending for line in ledger for ending in line.endings if int(ending.sum, 16)]
        return Audit(
            what=str(report["what"]),
            acknowledged=sum(ending.count for ending in checked),
            acknowledged_sum=sum(int(ending.sum, 16) for ending in checked) % HASHES,
            in_doubt=sum(line.in_doubt for line in ledger),
            held=int(report["count"]),
            held_sum=int(report["sum"], 16),
            broken_rules=tuple(map(str, report["broken_rules"])),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{file} is not a valid audit: {type(error).__name__} {error}.") from None


def _share_of_host(iteration: Iteration, used: Callable[[Sample], float | None]) -> float | None:
    """Cores used over the steady state, in percent of the host's; None where no sample knows."""
    samples = [(sample, cores) for sample in iteration.steady_samples if (cores := used(sample)) is not None]
    host = sum(sample.host_cores * sample.seconds for sample, _ in samples)
    return max(0.0, 100 * sum(cores * sample.seconds for sample, cores in samples) / host) if host else None


def compute_guest_drift_pct(samples: Sequence[Sample]) -> float | None:
    """Largest drift of a machine's clock against the host's, in percent of the time; None where none was read twice."""
    names = {name for sample in samples for name in sample.status}
    drifts = [drift for name in names if (drift := _drift_pct(samples, name)) is not None]
    return max(drifts, default=None)


def _drift_pct(samples: Sequence[Sample], name: str) -> float | None:
    """From the first to the last new reading: the one before was made at an unknown time."""
    statuses = [(sample.unix_s, sample.status[name].now) for sample in samples if name in sample.status]
    lags_ms = [(unix_s, now[GUEST_LAG_MS]) for unix_s, now in statuses if GUEST_LAG_MS in now]
    read = [after for before, after in pairwise(lags_ms) if after[1] != before[1]]
    if len(read) < 2:
        return None
    (from_s, from_ms), (to_s, to_ms) = read[0], read[-1]
    return 100 * abs(to_ms - from_ms) / 1000 / (to_s - from_s)


def _tcp_pressure_s(iteration: Iteration) -> float | None:
    known = [sample.tcp_pressure_s for sample in iteration.steady_samples if sample.tcp_pressure_s is not None]
    return sum(known) if known else None
