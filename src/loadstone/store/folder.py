"""Writing a result folder: what was measured goes in as it comes, so that a crash loses nothing; then it is sealed."""

import hashlib
import json
import re
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

from loadstone.model.errors import StoreError
from loadstone.store import SCHEMA, lock

Json = dict[str, Any]

MANIFEST = "manifest.json"
SEAL = "seal.json"
VERDICT = "verdict.json"
RUNS = "runs"
LOGS = "logs"


def with_true_status(path: Path, manifest: Json) -> Json:
    """The manifest, where it says that work goes on and nobody is there any more, with what that means."""
    if manifest.get("status") != Status.RUNNING or lock.is_held(path):
        return manifest
    return {**manifest, "status": Status.INTERRUPTED, "reason": "its process was killed before it could say so"}


class Status(StrEnum):
    """How far a result got."""

    RUNNING = "running"
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass
class RunFolder:
    """One iteration of one workload inside a result."""

    path: Path

    def write(self, name: str, content: Json) -> None:
        """Writes a JSON document."""
        write_json(self.path / name, content)

    def lines(self, name: str) -> IO[str]:
        """Opens a file of JSON lines for appending; every line is handed to the system at once."""
        return (self.path / name).open("a", encoding="utf-8", buffering=1)


@dataclass
class ResultFolder:
    """A result being made."""

    path: Path
    manifest: Json
    lock: int | None = field(default=None, repr=False)
    """Held until it is sealed, so that readers can tell a run under way from one whose maker was killed."""

    @classmethod
    def create(cls, results: Path, name: str, started: datetime, manifest: Json) -> "ResultFolder":
        """Makes `results/<time>-<name>/`; raises StoreError when that is not possible."""
        path = unused(results, name, started)
        (path / RUNS).mkdir()
        (path / LOGS).mkdir()
        folder = cls(path, {"schema": SCHEMA, "name": name, "started": started.isoformat(), **manifest})
        folder.lock = lock.take(path)
        folder.mark(Status.RUNNING)
        return folder

    def mark(self, status: Status, reason: str = "", ended: datetime | None = None) -> None:
        """Says how far the result got, and why."""
        self.manifest |= {"status": status, "reason": reason, "ended": ended.isoformat() if ended else None}
        write_json(self.path / MANIFEST, self.manifest)

    def run(self, workload: str, iteration: int) -> RunFolder:
        """The folder of one iteration."""
        path = self.path / RUNS / f"{workload}-{iteration}"
        path.mkdir()
        return RunFolder(path)

    def seal(self) -> None:
        """Writes the check sums of everything measured. Later judgements and reports are files beside it."""
        below = [file for folder in (RUNS, LOGS) for file in sorted((self.path / folder).rglob("*"))]
        measured = [self.path / MANIFEST, *below]
        sums = {str(file.relative_to(self.path)): _sha256(file) for file in measured if file.is_file()}
        write_json(self.path / SEAL, {"schema": SCHEMA, "sha256": sums})
        if self.lock is not None:
            lock.release(self.lock)
            self.lock = None


def broken_seal(path: Path) -> list[str]:
    """Files of a sealed result that are missing or not what they were; empty when all is well or nothing is sealed."""
    seal = path / SEAL
    if not seal.is_file():
        return []
    sums: dict[str, str] = json.loads(seal.read_text())["sha256"]
    return [name for name, held in sums.items() if not (path / name).is_file() or _sha256(path / name) != held]


def write_json(path: Path, content: object) -> None:
    """Writes a JSON document so that readers see the old or the new one, never a part."""
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    unfinished.replace(path)


def unused(results: Path, name: str, started: datetime) -> Path:
    """Makes a new folder `results/<time>-<name>`; raises StoreError when that is not possible."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.") or "run"
    try:
        return _numbered(results, f"{started:%Y%m%d-%H%M%S}-{plain}")
    except OSError as error:
        raise StoreError(f"No result folder can be made in {results}: {error}. Name another with --results.") from None


def _numbered(results: Path, base: str) -> Path:
    for number in range(1, 1000):
        path = results / (base if number == 1 else f"{base}-{number}")
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        return path
    raise FileExistsError(f"{base} and 999 like it")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
