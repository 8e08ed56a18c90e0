"""Reading a result folder, whole or broken off, into records. A reader gets records or a StoreError."""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter

from loadstone.model.errors import StoreError
from loadstone.model.fault import FaultRecord
from loadstone.model.figures import NOT_MEASURED, Criteria, IterationFigures
from loadstone.model.records.manifest import MANIFEST_SCHEMA, Manifest, StudyManifest
from loadstone.model.records.result import Iteration, IterationRecords, PhaseLengths, Result, WorkloadResult
from loadstone.model.records.status import Status
from loadstone.model.records.verdict import VERDICT_SCHEMA, ResultVerdict
from loadstone.store import migrate
from loadstone.store.documents import check_document, read_migrated, read_raw
from loadstone.store.figures import FIGURES, compute_figures, read_figures
from loadstone.store.folder import MANIFESTS, VERDICTS, is_folder
from loadstone.store.layout import MANIFEST, REJUDGED, RUNS, VERDICT, find_status
from loadstone.store.printed_monitors import build_sample
from loadstone.store.records import read_records

FAULT = "fault.json"
"""Of an iteration: what was done to the system on purpose."""
PLAN = "plan.json"
KEPT_MANIFESTS = 4096
"""Manifests that are kept in memory, by folder and time of writing."""

_FAULT: TypeAdapter[FaultRecord] = TypeAdapter(FaultRecord)
M = TypeVar("M", Manifest, StudyManifest)
_PHASES: TypeAdapter[PhaseLengths] = TypeAdapter(PhaseLengths)


def read_manifest(path: Path) -> Manifest:
    """The manifest of a result folder; raises StoreError when it is none."""
    try:
        state = (path / MANIFEST).lstat()
        manifest = _manifest(path, state.st_mtime_ns, state.st_size)
    except (OSError, StoreError) as error:
        problem = error if isinstance(error, StoreError) else f"{path} contains no {MANIFEST}."
        raise StoreError(
            f"{path} is not a result folder: {problem} `loadstone results --all` lists all results."
        ) from None
    return as_found(path, manifest)


def as_found(path: Path, manifest: M) -> M:
    """A manifest as it stands now: one under way whose maker no longer holds its folder was interrupted."""
    if find_status(path, manifest.status) is manifest.status:
        return manifest
    return replace(manifest, status=Status.INTERRUPTED, reason="its process was killed before it could say so")


@lru_cache(KEPT_MANIFESTS)
def _manifest(path: Path, written_ns: int, size: int) -> Manifest:
    """The manifest as it was written; read once for each time it was written."""
    return read_written_manifest(path)


def read_written_manifest(path: Path) -> Manifest:
    """The manifest of a result folder as it was written. Raises StoreError."""
    return read_migrated(path / MANIFEST, MANIFESTS, MANIFEST_SCHEMA, migrate.migrate_manifest)


def read_verdict(path: Path) -> ResultVerdict | None:
    """The stored verdict, the newest where it was judged anew; None where there is none. Raises StoreError."""
    for name in (REJUDGED, VERDICT):
        file = path / name
        with contextlib.suppress(OSError):
            state = file.lstat()
            return _verdict(file, state.st_mtime_ns, state.st_size)
    return None


@lru_cache(KEPT_MANIFESTS)
def _verdict(file: Path, written_ns: int, size: int) -> ResultVerdict:
    return read_migrated(file, VERDICTS, VERDICT_SCHEMA, migrate.migrate_verdict)


def read_result(path: Path, has_figures: bool = True) -> Result:
    """Reads a result folder; raises StoreError. Without `has_figures`, all figures are computed from the records."""
    manifest = read_manifest(path)
    workloads = tuple(_workload(path, criteria, has_figures) for criteria in manifest.criteria)
    return Result(path, manifest, workloads, read_verdict(path))


def list_results(results: Path, unreadable: list[str] | None = None) -> Iterator[tuple[Path, Manifest]]:
    """All readable result folders below `results`, newest first, with their manifests.

    What looks like a result and cannot be read is told to `unreadable`, and breaks nothing else.
    """
    for path in list_folders(results):
        if not (path / MANIFEST).exists():
            continue
        try:
            yield path, read_manifest(path)
        except StoreError as error:
            if unreadable is not None:
                unreadable.append(str(error))


def list_folders(results: Path) -> list[Path]:
    """Folders below `results`, newest name first; links are none."""
    try:
        return sorted((path for path in results.iterdir() if is_folder(path)), reverse=True)
    except OSError:
        return []


def _workload(path: Path, criteria: Criteria, has_figures: bool) -> WorkloadResult:
    iterations = (
        read_iteration(folder, number, has_figures) for number, folder in locate_iterations(path, criteria.id.label)
    )
    return WorkloadResult(criteria, tuple(iterations))


def locate_iterations(path: Path, label: str) -> list[tuple[int, Path]]:
    """The folders of a workload's iterations with their numbers, in order."""
    name = re.compile(re.escape(label) + r"-(\d{1,9})")
    numbered = [(match, folder) for folder in list_folders(path / RUNS) if (match := name.fullmatch(folder.name))]
    ordered = sorted((int(match.group(1)), folder) for match, folder in numbered)
    # A folder that was made before its plan was written holds nothing yet.
    return [each for each in ordered if (each[1] / PLAN).exists() or (each[1] / FIGURES).exists()]


def read_iteration(folder: Path, number: int, has_figures: bool = True) -> Iteration:
    """Reads the folder of one iteration; raises StoreError.

    Its records are read when they are first needed. Figures are those stored beside them. They are computed from the
    records where none are stored, or where `has_figures` is False because no seal vouches for them.
    """
    is_measured = (folder / PLAN).is_file()
    stored = read_figures(folder / FIGURES) if has_figures or not is_measured else None
    if not is_measured and stored is not None:
        return Iteration(number, stored, read_records=partial(_build_printed_records, stored))
    phases = check_document(folder / PLAN, _PHASES, read_raw(folder / PLAN).get("phases") or {})
    fault = check_document(folder / FAULT, _FAULT, read_raw(folder / FAULT)) if (folder / FAULT).is_file() else None
    iteration = Iteration(number, NOT_MEASURED, phases, fault, partial(read_records, folder, phases))
    return replace(iteration, figures=stored or compute_figures(folder, iteration))


def _build_printed_records(figures: IterationFigures) -> IterationRecords:
    """Returns the records of figures that others printed: a sample of what their monitors saw, where they say it."""
    sample = build_sample(figures.monitors, figures.steady_s)
    return IterationRecords(monitor=() if sample is None else (sample,))
