"""Writing a result folder: what was measured goes in as it comes, so that a crash loses nothing; then it is sealed.

Records are lines of JSON: a run of half an hour is a few megabytes, and a crash costs at most one line.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

from pydantic import TypeAdapter
from pydantic_core import to_json

from loadstone.host import locks
from loadstone.model.errors import StoreError
from loadstone.model.records.manifest import Manifest
from loadstone.model.records.status import Status
from loadstone.model.records.verdict import ResultVerdict
from loadstone.store.documents import open_regular, read_raw, write_atomic, write_document
from loadstone.store.layout import LOGS, MANIFEST, RUNS, SEAL, VERDICT

RESERVE = ".reserve"
"""Room on the disk that is kept while records are written: how a run ended can be said when the disk is full."""
RESERVED_BYTES = 256 << 10
SEAL_SCHEMA = 1

MANIFESTS: TypeAdapter[Manifest] = TypeAdapter(Manifest)
VERDICTS: TypeAdapter[ResultVerdict] = TypeAdapter(ResultVerdict)


@dataclass
class RunFolder:
    """One iteration of one workload inside a result."""

    path: Path

    def write(self, name: str, content: Mapping[str, Any]) -> None:
        """Writes a JSON document. Raises StoreError."""
        write_atomic(self.path / name, to_json(content, indent=1) + b"\n")

    def open_lines(self, name: str) -> IO[str]:
        """Opens a file of JSON lines for appending; every line is handed to the system at once."""
        return (self.path / name).open("a", encoding="utf-8", buffering=1)


@dataclass
class ResultFolder:
    """A result being made."""

    path: Path
    manifest: Manifest
    lock: int | None = field(default=None, repr=False)
    """Held until it is sealed, so that readers can tell a run under way from one whose maker was killed."""

    @classmethod
    def create(cls, results: Path, manifest: Manifest) -> "ResultFolder":
        """Makes `results/<time>-<name>/`; raises StoreError when that is not possible."""
        path = create_unused(results, manifest.name, manifest.started)
        try:
            (path / RUNS).mkdir()
            (path / LOGS).mkdir()
            _reserve(path / RESERVE)
        except OSError as error:
            raise StoreError(f"{path} cannot be filled: {error.strerror}.") from None
        folder = cls(path, manifest, locks.take(path))
        folder.mark(Status.RUNNING)
        return folder

    def change(self, **changes: Any) -> None:
        """Changes fields of the manifest; `mark` writes it."""
        self.manifest = replace(self.manifest, **changes)

    def mark(self, status: Status, reason: str = "", ended: datetime | None = None) -> None:
        """Says how far the result got, and why. Raises StoreError."""
        if status is not Status.RUNNING:
            (self.path / RESERVE).unlink(missing_ok=True)
        self.change(status=status, reason=reason, ended=ended.isoformat() if ended else None)
        write_document(self.path / MANIFEST, MANIFESTS, self.manifest)

    def run(self, label: str, iteration: int) -> RunFolder:
        """Makes the folder of one iteration of a workload. Raises StoreError."""
        folder = self.locate_run(label, iteration)
        try:
            folder.path.mkdir()
        except OSError as error:
            raise StoreError(f"{folder.path} cannot be created: {error.strerror}.") from None
        return folder

    def locate_run(self, label: str, iteration: int) -> RunFolder:
        """The folder of one iteration of a workload."""
        return RunFolder(self.path / RUNS / f"{label}-{iteration}")

    def seal(self) -> None:
        """Writes the check sums of everything measured and of its verdict; what is made later stands beside."""
        below = [file for folder in (RUNS, LOGS) for file in sorted((self.path / folder).rglob("*"))]
        measured = [self.path / MANIFEST, self.path / VERDICT, *below]
        sums = {str(file.relative_to(self.path)): _sha256(file) for file in measured if file.is_file()}
        write_atomic(self.path / SEAL, to_json({"schema": SEAL_SCHEMA, "sha256": sums}, indent=1) + b"\n")
        self.release()

    def release(self) -> None:
        """Gives the folder free."""
        if self.lock is not None:
            locks.release(self.lock)
            self.lock = None


class SealState(StrEnum):
    """Whether what a result holds is what was measured."""

    INTACT = "intact"
    BROKEN = "broken"
    ABSENT = "absent"
    """Never sealed: its maker was killed."""


@dataclass(frozen=True)
class Seal:
    """A result's seal, compared with what is there."""

    state: SealState
    changed: tuple[str, ...] = ()
    """Sealed files that are missing or not what they were."""
    covers_verdict: bool = False
    """Whether the verdict beside the figures was sealed with them."""


def seal_of(path: Path) -> Seal:
    """Compares a result with its seal; raises StoreError for a seal that is none."""
    if not (path / SEAL).is_file():
        return Seal(SealState.ABSENT)
    sums = read_raw(path / SEAL).get("sha256")
    if not isinstance(sums, dict):
        raise StoreError(f"{path / SEAL} contains no checksums.")
    changed = tuple(name for name, held in sums.items() if not _is_inside(name) or _sum_of(path / name) != held)
    covers_verdict = VERDICT in sums and VERDICT not in changed
    return Seal(SealState.BROKEN if changed else SealState.INTACT, changed, covers_verdict)


def _is_inside(name: str) -> bool:
    return not Path(name).is_absolute() and ".." not in Path(name).parts


def _sum_of(path: Path) -> str | None:
    try:
        return _sha256(path)
    except StoreError:
        return None


def _reserve(file: Path) -> None:
    with file.open("xb") as held:
        os.posix_fallocate(held.fileno(), 0, RESERVED_BYTES)


def create_unused(results: Path, name: str, started: str) -> Path:
    """Makes a new folder `results/<time>-<name>`, by a start in ISO 8601; raises StoreError when that fails."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.") or "run"
    try:
        return _numbered(results, f"{datetime.fromisoformat(started):%Y%m%d-%H%M%S}-{plain}"[:200])
    except OSError as error:
        raise StoreError(f"Cannot create a result folder in {results}: {error}. Name another with --results.") from None


def _numbered(results: Path, base: str) -> Path:
    for number in range(1, 1000):
        path = results / (base if number == 1 else f"{base}-{number}")
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        return path
    raise FileExistsError(f"{base} and 999 similar names exist")


def _sha256(path: Path) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def is_folder(path: Path) -> bool:
    """Whether a path is a folder itself, not a link to one."""
    return path.is_dir() and not path.is_symlink()
