"""A study's folder: its declaration, its runs as result folders, its answer so far; locked by who works on it."""

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter

from loadstone.host import locks
from loadstone.model.errors import StoreError
from loadstone.model.records.manifest import ANSWER_SCHEMA, STUDY_SCHEMA, StudyManifest
from loadstone.model.records.status import Status
from loadstone.store import migrate
from loadstone.store.documents import read_migrated, write_document
from loadstone.store.folder import create_unused
from loadstone.store.layout import ANSWER, RUNS, STUDY
from loadstone.store.read import KEPT_MANIFESTS, as_found, list_folders, list_results

A = TypeVar("A")

STUDIES: TypeAdapter[StudyManifest] = TypeAdapter(StudyManifest)


@dataclass
class StudyFolder:
    """A study being made."""

    path: Path
    manifest: StudyManifest

    @classmethod
    def create(cls, results: Path, manifest: StudyManifest) -> "StudyFolder":
        """Makes `results/<time>-<name>/`; raises StoreError when that is not possible."""
        path = create_unused(results, manifest.name, manifest.started)
        try:
            (path / RUNS).mkdir()
        except OSError as error:
            raise StoreError(f"{path} cannot be filled: {error.strerror}.") from None
        folder = cls(path, manifest)
        folder.mark(Status.RUNNING)
        return folder

    def mark(self, status: Status, reason: str = "", ended: datetime | None = None) -> None:
        """Says how far the study got, and why. Raises StoreError."""
        self.manifest = replace(self.manifest, status=status, reason=reason, ended=ended.isoformat() if ended else None)
        write_document(self.path / STUDY, STUDIES, self.manifest)

    def write_answer(self, kind: TypeAdapter[A], answer: A) -> None:
        """Keeps what the runs say so far. Raises StoreError."""
        write_document(self.path / ANSWER, kind, answer)

    @property
    def runs(self) -> Path:
        """Where its result folders are."""
        return self.path / RUNS

    def complete_runs(self) -> dict[str, Path]:
        """Result folders of the runs that were finished, by key."""
        finished = ((path, run) for path, run in list_results(self.runs) if run.status is Status.COMPLETE)
        return {run.key: path for path, run in finished if run.key}

    @contextmanager
    def hold_lock(self) -> Iterator[None]:
        """Keeps others from working on the study; the lock goes with the process. Raises StoreError."""
        lock = locks.take(self.path)
        if lock is None:
            raise StoreError(f"{self.path} is in use by another `loadstone` process. Wait for it.")
        try:
            yield
        finally:
            locks.release(lock)


def is_study(path: Path) -> bool:
    """Whether a folder is a study's."""
    return (path / STUDY).exists()


def read_study_manifest(path: Path) -> StudyManifest:
    """The declaration of a study folder; raises StoreError when it is none."""
    try:
        state = (path / STUDY).lstat()
    except OSError:
        raise StoreError(f"{path} is not a study: it contains no {STUDY}.") from None
    manifest = _manifest(path, state.st_mtime_ns, state.st_size)
    return as_found(path, manifest)


@lru_cache(KEPT_MANIFESTS)
def _manifest(path: Path, written_ns: int, size: int) -> StudyManifest:
    return read_written_study(path)


def read_written_study(path: Path) -> StudyManifest:
    """The declaration of a study folder as it was written. Raises StoreError."""
    return read_migrated(path / STUDY, STUDIES, STUDY_SCHEMA, migrate.migrate_study)


def read_answer(path: Path, kind: TypeAdapter[A]) -> A:
    """Returns the answer of a study's runs so far, as its kind's type. Raises StoreError when there is none yet."""
    return read_migrated(path / ANSWER, kind, ANSWER_SCHEMA, migrate.answer)


def list_studies(results: Path, unreadable: list[str] | None = None) -> Iterator[tuple[Path, StudyManifest]]:
    """All readable study folders below `results`, newest first, with their declarations; others are told of."""
    for path in list_folders(results):
        if not is_study(path):
            continue
        try:
            yield path, read_study_manifest(path)
        except StoreError as error:
            if unreadable is not None:
                unreadable.append(str(error))


def find_unfinished(results: Path, identity: str) -> StudyFolder | None:
    """The newest study of this identity that did not come to its end."""
    for path, manifest in list_studies(results):
        if manifest.identity == identity and manifest.status is not Status.COMPLETE:
            return StudyFolder(path, manifest)
    return None


def find_study(path: Path) -> Path | None:
    """The study that a run belongs to; None for one of its own."""
    above = path.parent.parent
    with contextlib.suppress(OSError):
        return above if path.parent.name == RUNS and is_study(above) else None
    return None
