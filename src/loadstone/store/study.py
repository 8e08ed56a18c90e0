"""A study's folder: its declaration, its runs as result folders, its answer so far; locked by who works on it."""

import contextlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from loadstone.model.errors import StoreError
from loadstone.store import lock
from loadstone.store.folder import RUNS, Status, unused, with_true_status, write_json
from loadstone.store.read import catalogue

Json = dict[str, Any]

STUDY = "study.json"
ANSWER = "answer.json"
STUDY_SCHEMA = 1
"""Version of both documents."""


@dataclass
class StudyFolder:
    """A study being made."""

    path: Path
    manifest: Json

    @classmethod
    def create(cls, results: Path, name: str, started: datetime, manifest: Json) -> "StudyFolder":
        """Makes `results/<time>-<name>/`; raises StoreError when that is not possible."""
        path = unused(results, name, started)
        (path / RUNS).mkdir()
        folder = cls(path, {"schema": STUDY_SCHEMA, "name": name, "started": started.isoformat(), **manifest})
        folder.mark(Status.RUNNING)
        return folder

    def mark(self, status: Status, reason: str = "", ended: datetime | None = None) -> None:
        """Says how far the study got, and why."""
        self.manifest |= {"status": status, "reason": reason, "ended": ended.isoformat() if ended else None}
        write_json(self.path / STUDY, self.manifest)

    def answer(self, answer: Json) -> None:
        """Keeps what the runs say so far."""
        write_json(self.path / ANSWER, {"schema": STUDY_SCHEMA, **answer})

    @property
    def runs(self) -> Path:
        """Where its result folders are."""
        return self.path / RUNS

    def complete_runs(self) -> dict[str, Path]:
        """Result folders of the runs that were finished, by key."""
        finished = (
            (path, manifest) for path, manifest in catalogue(self.runs) if manifest["status"] == Status.COMPLETE
        )
        return {manifest["key"]: path for path, manifest in finished if manifest.get("key")}

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps others from working on the study; the lock goes with the process. Raises StoreError."""
        held = lock.take(self.path)
        if held is None:
            raise StoreError(f"{self.path} is being worked on by another `loadstone`. Wait for it.")
        try:
            yield
        finally:
            lock.release(held)


def read_study_manifest(path: Path) -> Json:
    """The declaration of a study folder; raises StoreError when it is none."""
    return with_true_status(path, _read(path, STUDY))


def read_answer(path: Path) -> Json:
    """What a study's runs say so far; raises StoreError when there is nothing yet."""
    return _read(path, ANSWER)


def studies(results: Path) -> Iterator[tuple[Path, Json]]:
    """All readable study folders below `results`, newest first, with their declarations."""
    if not results.is_dir():
        return
    for path in sorted(results.iterdir(), reverse=True):
        if (path / STUDY).is_file():
            with contextlib.suppress(StoreError):
                yield path, read_study_manifest(path)


def unfinished(results: Path, identity: str) -> StudyFolder | None:
    """The newest study of this identity that did not come to its end."""
    for path, manifest in studies(results):
        if manifest["identity"] == identity and manifest["status"] != Status.COMPLETE:
            return StudyFolder(path, manifest)
    return None


def _read(path: Path, name: str) -> Json:
    try:
        document: Json = json.loads((path / name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{path / name} cannot be read: {error}. `loadstone results` lists what there is.") from None
    if document.get("schema") != STUDY_SCHEMA:
        raise StoreError(f"{path / name} has schema {document.get('schema')}; this version reads {STUDY_SCHEMA}.")
    return document
