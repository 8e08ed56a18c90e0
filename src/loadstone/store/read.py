"""Reading a result folder, whole or broken off, into records. A reader gets records or a StoreError."""

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from loadstone.host import locks
from loadstone.model.errors import StoreError
from loadstone.model.fault import FaultRecord
from loadstone.model.figures import (
    Audit,
    Criteria,
    FileFigures,
    IterationFigures,
    OperationFigures,
    Second,
    SlowestOperation,
)
from loadstone.model.records import events as records
from loadstone.model.records.events import (
    EVENT,
    End,
    Event,
    Interval,
    Ledger,
    Operations,
    OperationTotals,
    Start,
    StationUse,
    Totals,
    Trouble,
)
from loadstone.model.records.manifest import MANIFEST_SCHEMA, Manifest, Status, StudyManifest
from loadstone.model.records.result import Iteration, PhaseLengths, Result, WorkloadResult
from loadstone.model.records.sample import SAMPLE, Sample
from loadstone.model.records.verdict import VERDICT_SCHEMA, ResultVerdict
from loadstone.store import migrate
from loadstone.store.documents import checked, first_problem, lines, migrated, read_raw, refuse_immense
from loadstone.store.folder import MANIFEST, MANIFESTS, REJUDGED, RUNS, VERDICT, VERDICTS, is_folder
from loadstone.store.histograms import distribution, lasting, merged
from loadstone.store.published import FIGURES, from_document

AUDIT = "audit.json"
"""Of an iteration: what the server said that it holds."""
FAULT = "fault.json"
"""Of an iteration: what was done to the system on purpose."""
PLAN = "plan.json"
EVENTS = "events.jsonl"
MONITOR = "monitor.jsonl"
STEADY = "steady"
"""Phase of the intervals that are measured."""
SHORTEST_SECOND_S = 0.5
"""Shorter intervals are cut by the edges of a phase."""
HASHES = 1 << 64
"""Sums of hashes begin anew here."""
KEPT_MANIFESTS = 4096
"""Manifests that are kept in memory, by folder and time of writing."""

_FAULT: TypeAdapter[FaultRecord] = TypeAdapter(FaultRecord)
M = TypeVar("M", Manifest, StudyManifest)
_PHASES: TypeAdapter[PhaseLengths] = TypeAdapter(PhaseLengths)
MANY_DIGITS = re.compile(rb"[0-9]{20}")
"""In a line that may hold an immense number."""


def read_manifest(path: Path) -> Manifest:
    """The manifest of a result folder; raises StoreError when it is none."""
    try:
        state = (path / MANIFEST).lstat()
        manifest = _manifest(path, state.st_mtime_ns, state.st_size)
    except (OSError, StoreError) as error:
        problem = error if isinstance(error, StoreError) else f"{path} contains no {MANIFEST}."
        raise StoreError(f"{path} is not a result folder: {problem} `loadstone results` lists all results.") from None
    return as_found(path, manifest)


def as_found(path: Path, manifest: M) -> M:
    """A manifest as it stands now: one under way whose maker no longer holds its folder was interrupted."""
    if manifest.status is not Status.RUNNING or locks.is_held(path):
        return manifest
    return replace(manifest, status=Status.INTERRUPTED, reason="its process was killed before it could say so")


@lru_cache(KEPT_MANIFESTS)
def _manifest(path: Path, written_ns: int, size: int) -> Manifest:
    """The manifest as it was written; read once for each time it was written."""
    return migrated(path / MANIFEST, MANIFESTS, MANIFEST_SCHEMA, migrate.manifest)


def read_verdict(path: Path) -> ResultVerdict | None:
    """The kept verdict, the newest where it was judged anew; None where there is none. Raises StoreError."""
    for name in (REJUDGED, VERDICT):
        file = path / name
        with contextlib.suppress(OSError):
            state = file.lstat()
            return _verdict(file, state.st_mtime_ns, state.st_size)
    return None


@lru_cache(KEPT_MANIFESTS)
def _verdict(file: Path, written_ns: int, size: int) -> ResultVerdict:
    return migrated(file, VERDICTS, VERDICT_SCHEMA, migrate.verdict)


def read_result(path: Path) -> Result:
    """Reads a result folder; raises StoreError."""
    manifest = read_manifest(path)
    workloads = tuple(_workload(path, criteria) for criteria in manifest.criteria)
    return Result(path, manifest, workloads, read_verdict(path))


def catalogue(results: Path, unreadable: list[str] | None = None) -> Iterator[tuple[Path, Manifest]]:
    """All readable result folders below `results`, newest first, with their manifests.

    What looks like a result and cannot be read is told to `unreadable`, and breaks nothing else.
    """
    for path in folders(results):
        if not (path / MANIFEST).exists():
            continue
        try:
            yield path, read_manifest(path)
        except StoreError as error:
            if unreadable is not None:
                unreadable.append(str(error))


def folders(results: Path) -> list[Path]:
    """Folders below `results`, newest name first; links are none."""
    try:
        return sorted((path for path in results.iterdir() if is_folder(path)), reverse=True)
    except OSError:
        return []


def _workload(path: Path, criteria: Criteria) -> WorkloadResult:
    name = re.compile(re.escape(criteria.id.label) + r"-(\d{1,9})")
    numbered = [(match, folder) for folder in folders(path / RUNS) if (match := name.fullmatch(folder.name))]
    ordered = sorted(numbered, key=lambda pair: int(pair[0].group(1)))
    # A folder that was made before its plan was written holds nothing yet.
    begun = [(match, folder) for match, folder in ordered if (folder / PLAN).exists() or (folder / FIGURES).exists()]
    return WorkloadResult(criteria, tuple(read_iteration(folder, int(match.group(1))) for match, folder in begun))


def read_iteration(folder: Path, number: int) -> Iteration:
    """Reads the folder of one iteration; raises StoreError."""
    if (folder / FIGURES).is_file():
        return Iteration(number, from_document(folder / FIGURES, read_raw(folder / FIGURES)))
    events = list(_events(folder / EVENTS))
    try:
        iteration_figures = figures_of(events)
    except (ArithmeticError, LookupError, ValueError) as error:
        why = f"{type(error).__name__}: {error}"
        raise StoreError(f"{folder / EVENTS}: its counts contradict each other ({why}). It was changed.") from None
    except StoreError as error:
        raise StoreError(f"{folder / EVENTS}: {error}") from None
    plan = read_raw(folder / PLAN)
    phases = checked(folder / PLAN, _PHASES, plan.get("phases") or {})
    iteration = Iteration(
        number=number,
        figures=iteration_figures,
        phases=phases,
        start=next((event for event in events if isinstance(event, Start)), None),
        intervals=tuple(event for event in events if isinstance(event, Interval)),
        monitor=tuple(_samples(folder / MONITOR)),
        stations=tuple(event for event in events if isinstance(event, StationUse) and phases.is_steady(event.at_ns)),
        ledger=tuple(event for event in events if isinstance(event, Ledger)),
        fault=checked(folder / FAULT, _FAULT, read_raw(folder / FAULT)) if (folder / FAULT).is_file() else None,
        operations=tuple(
            operation for event in events if isinstance(event, Operations) for operation in event.operations
        ),
    )
    figures = replace(
        iteration.figures,
        tcp_pressure_s=_tcp_pressure_s(iteration),
        foreign_cpu_pct=_share_of_host(iteration, lambda sample: sample.foreign_cores),
        unattributed_cpu_pct=_share_of_host(iteration, lambda sample: sample.unattributed_cores),
        audit=_audit(folder / AUDIT, iteration.ledger),
    )
    return replace(iteration, figures=figures)


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


def _tcp_pressure_s(iteration: Iteration) -> float | None:
    known = [sample.tcp_pressure_s for sample in iteration.steady_samples if sample.tcp_pressure_s is not None]
    return sum(known) if known else None


def _events(file: Path) -> Iterator[Event]:
    for number, line in lines(file):
        yield read_event(line, f"{file}:{number}")


def read_event(line: bytes, place: str) -> Event:
    """An event from its line, of this or an older driver; raises StoreError that names the place."""
    _refuse_odd_numbers(line, place)
    try:
        return EVENT.validate_json(line)
    except ValidationError as error:
        try:
            return EVENT.validate_python(migrate.event(from_json(line)))
        except (ValueError, AttributeError, KeyError, TypeError):
            raise StoreError(f"{place} is not a valid event: {first_problem(error)}.") from None


def _refuse_odd_numbers(line: bytes, place: str) -> None:
    """Raises StoreError where a figure is NaN, infinite or immense: a verdict on it could be written, but never read
    again, or not be calculated.
    """
    if b"NaN" not in line and b"Infinity" not in line and not MANY_DIGITS.search(line):
        return
    try:
        document = from_json(line, allow_inf_nan=False)
    except ValueError:
        raise StoreError(
            f"{place} contains a figure that is not a number (NaN or Infinity), or is not valid JSON."
        ) from None
    refuse_immense(document, place)


def _samples(file: Path) -> Iterator[Sample]:
    for number, line in lines(file):
        _refuse_odd_numbers(line, f"{file}:{number}")
        try:
            yield SAMPLE.validate_json(line)
        except ValidationError as error:
            raise StoreError(f"{file}:{number} is not a valid sample: {first_problem(error)}.") from None


def figures_of(events: Sequence[Event]) -> IterationFigures:
    """The figures of one iteration from the driver's events, whole or broken off."""
    intervals = tuple(event for event in events if isinstance(event, Interval))
    totals = next((event for event in events if isinstance(event, Totals)), None)
    end = next((event for event in events if isinstance(event, End)), None)
    samples = tuple(str(event) for event in events if isinstance(event, Trouble))
    if totals is None:
        return _broken_off(intervals, samples)
    start = next((event for event in events if isinstance(event, Start)), None)
    return IterationFigures(
        steady_s=totals.steady_ns / 1e9,
        operations=tuple(_operation(record) for record in totals.operations),
        response=lasting(totals.operations),
        service=merged([record.service for record in totals.operations]),
        lag=distribution(totals.lag),
        longest_gap_s=None if totals.longest_gap_ns is None else totals.longest_gap_ns / 1e9,
        clock_bound_s=None if start is None or start.clock_bound_ns is None else start.clock_bound_ns / 1e9,
        driver_cpu=totals.cpu.threads,
        pauses=totals.pauses.count,
        pause_drawn_s=totals.pauses.drawn_ns / 1e9,
        pause_actual_s=totals.pauses.actual_ns / 1e9,
        pause_curve=merged([totals.pause]).curve if totals.pause is not None else (),
        sessions=totals.sessions,
        connections=totals.wires,
        completed=end is not None and end.reason == "completed",
        trouble="" if end is not None else "the driver's record has no end",
        samples=samples,
        seconds=tuple(_seconds([interval for interval in intervals if interval.phase == STEADY], totals.operations)),
    )


def _seconds(steady: Sequence[Interval], operations: Sequence[OperationTotals]) -> Iterator[Second]:
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
        mean_s = times.mean_ns / 1e9 if times.count else None
        yield Second(interval.length_s, times.count, mean_s, came / due if due else None)


def _broken_off(intervals: Sequence[Interval], samples: tuple[str, ...]) -> IterationFigures:
    """What can be said of a run whose driver died: its seconds are kept, its totals are not."""
    steady = [interval for interval in intervals if interval.phase == STEADY]
    return IterationFigures(
        steady_s=sum(interval.length_ns for interval in steady) / 1e9,
        operations=(),
        response=merged([interval.response for interval in steady]),
        service=merged([interval.service for interval in steady]),
        lag=merged([interval.lag for interval in steady]),
        completed=False,
        trouble="the driver died; only its second-by-second records are left",
        samples=samples,
    )


def _operation(record: OperationTotals) -> OperationFigures:
    counts = record.counts
    return OperationFigures(
        name=record.name,
        requests=counts.requests,
        good=counts.good,
        tolerable=counts.tolerable,
        fail=counts.fail,
        bytes=counts.bytes,
        errors=counts.errors,
        cut_at_start=record.cut_at_start,
        cut_at_end=record.cut_at_end,
        cycles=record.cycles.count,
        cycle_drawn_s=record.cycles.drawn_ns / 1e9,
        cycle_actual_s=record.cycles.actual_ns / 1e9,
        ended_s=record.ended_ns / 1e9,
        overdue=record.overdue,
        embedded=record.embedded,
        conditional=record.conditional,
        not_modified=record.not_modified,
        redirects=record.redirects,
        line_mean_s=record.line_mean_ns / 1e9,
        response=lasting([record]),
        service=distribution(record.service),
        first_byte=distribution(record.first_byte),
        inside=distribution(record.response),
        ended_bytes=record.ended_bytes,
        images_named=record.images_named,
        images_loaded=record.images_loaded,
        image_bytes=record.image_bytes,
        body_bytes=record.body_bytes,
        requests_beside=record.requests_beside,
        statuses={status.status: status.count for status in record.statuses},
        words=frozenset(record.words),
        slowest=_slowest(record.slowest) if record.slowest.time_ns else None,
        files=tuple(map(_file, filter(lambda file: file.requests, record.files))),
    )


def _slowest(record: records.Slowest) -> SlowestOperation:
    return SlowestOperation(record.time_ns / 1e9, record.at_ns / 1e9)


def _file(record: records.FileTotals) -> FileFigures:
    counts = record.path, record.requests, record.not_modified, record.bytes
    return FileFigures(*counts, record.mean_ns / 1e9, _slowest(record.slowest))
