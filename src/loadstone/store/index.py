"""Index of a results folder: what lists show of each result and study, read again only where its documents changed.

Commands keep it in the user's cache, never in the results folder: a folder that comes from a stranger cannot bring one.
"""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from loadstone import __version__
from loadstone.host.cache import compute_digest, find_cache_folder
from loadstone.model.errors import PlatformError, StoreError
from loadstone.model.records.manifest import Manifest, Status, StudyManifest
from loadstone.model.records.verdict import Headline, ResultVerdict, Verdict
from loadstone.store.documents import read_bytes, write_atomic
from loadstone.store.folder import MANIFEST, REJUDGED, VERDICT
from loadstone.store.read import find_status, read_verdict, read_written_manifest
from loadstone.store.study import STUDY, read_written_study

INDEX_SCHEMA = 1
INDEX_PREFIX = "results-"
"""Begins the names of all indexes in the cache."""
MOST_INDEXES = 20
"""Results folders whose indexes are kept."""
DOCUMENTS = (MANIFEST, STUDY, REJUDGED, VERDICT)
"""Documents of a folder that its entry is read from."""
SETTLED_NS = 2_000_000_000
"""Age from which a document's times tell it from a later one: two that are written at one tick of the clock may have
the same.
"""
Stamp = tuple[int, ...]
"""Inode, size, and times of writing and of change of a folder's documents; zeros for those that are not there."""


@dataclass(frozen=True)
class ListedLoad:
    """A workload of a result and its load."""

    workload: str
    """Its label."""
    sessions: int
    """0 for an open load."""
    load: str
    """The load in words."""


@dataclass(frozen=True)
class ListedVerdict:
    """The verdict on a workload, with the main figures of its last iteration."""

    workload: str
    verdict: Verdict
    headline: Headline | None = None


@dataclass(frozen=True)
class ListedResult:
    """A result or a study as lists show it."""

    started: str
    status: Status
    profile: str
    study: str = ""
    """Kind of study; empty for a run."""
    target: str = ""
    """Where the load of a run went."""
    notes: Mapping[str, str] = field(default_factory=dict)
    workloads: tuple[str, ...] = ()
    """Labels."""
    loads: tuple[ListedLoad, ...] = ()
    """Of a run."""
    verdicts: tuple[ListedVerdict, ...] = ()
    """Of a run that was judged."""
    tiles: str = ""
    """A run of tiles in a line."""
    problem: str = ""
    """Why the verdict cannot be read; empty where it can, or where there is none."""

    @property
    def is_study(self) -> bool:
        """Whether it is a study."""
        return bool(self.study)


@dataclass(frozen=True)
class IndexEntry:
    """A folder's line in the index, valid as long as its documents have this stamp."""

    stamp: Stamp
    listed: ListedResult


@dataclass(frozen=True)
class StoredIndex:
    """The index as it is kept; one of another version is not read."""

    entries: Mapping[str, IndexEntry]
    version: str = __version__
    schema: int = INDEX_SCHEMA


_STORED: TypeAdapter[StoredIndex] = TypeAdapter(StoredIndex)


@dataclass
class ResultIndex:
    """The results and studies of a folder."""

    results: Path
    entries: dict[str, IndexEntry] = field(default_factory=dict)
    has_changed: bool = False

    @classmethod
    def load(cls, results: Path) -> "ResultIndex":
        """The index as it was kept last; an empty one where there is none that can be read."""
        with contextlib.suppress(StoreError, PlatformError, ValidationError):
            stored = _STORED.validate_json(read_bytes(_kept_in(results)))
            if (stored.version, stored.schema) == (__version__, INDEX_SCHEMA):
                return cls(results, dict(stored.entries))
        return cls(results)

    def save(self) -> None:
        """Keeps the index for the next command, as far as the cache can be written to."""
        if not self.has_changed:
            return
        present = set(_names(self.results))
        entries = {name: entry for name, entry in self.entries.items() if name in present}
        with contextlib.suppress(OSError, StoreError, PlatformError):
            file = _kept_in(self.results)
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(file, _STORED.dump_json(StoredIndex(entries)))
            _forget_oldest(file.parent)

    def sort_newest_first(self, unreadable: list[str] | None = None) -> Iterator[tuple[Path, ListedResult]]:
        """All readable results and studies, each read when it is asked for. Those that cannot be read are added to
        `unreadable`, and hide no other.
        """
        for name in _names(self.results):
            path = self.results / name
            stamp = _stamp(str(path))
            if not any(stamp[:8]):
                continue  # it holds neither manifest
            try:
                listed = self._listed(path, stamp)
            except StoreError as error:
                problem = str(error)
            else:
                problem = listed.problem
                yield path, replace(listed, status=find_status(path, listed.status))
            if problem and unreadable is not None:
                unreadable.append(problem)

    def find_newest(self, count: int | None, unreadable: list[str] | None = None) -> list[tuple[Path, ListedResult]]:
        """The newest of them; all without a number."""
        return list(islice(self.sort_newest_first(unreadable), count))

    def _listed(self, path: Path, stamp: Stamp) -> ListedResult:
        """Raises StoreError where the folder's manifest cannot be read."""
        entry = self.entries.get(path.name)
        if entry is not None and entry.stamp == stamp:
            return entry.listed
        listed = _read_listed(path)
        if _is_settled(stamp) and _stamp(str(path)) == stamp:
            self.entries[path.name] = IndexEntry(stamp, listed)
            self.has_changed = True
        return listed


def _kept_in(results: Path) -> Path:
    """The file of a folder's index. Raises PlatformError."""
    return find_cache_folder() / f"{INDEX_PREFIX}{compute_digest(os.fsencode(results.resolve()))}.json"


def _forget_oldest(cache: Path) -> None:
    """Removes the indexes that were not written for longest, beyond as many as are kept."""
    files = sorted(cache.glob(f"{INDEX_PREFIX}*.json"), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files[MOST_INDEXES:]:
        file.unlink(missing_ok=True)


def _names(results: Path) -> list[str]:
    """Names of the folders below `results`, newest first; links are none."""
    try:
        with os.scandir(results) as entries:
            return sorted((entry.name for entry in entries if entry.is_dir(follow_symlinks=False)), reverse=True)
    except OSError:
        return []


def _stamp(folder: str) -> Stamp:
    """The stamp of a folder's documents; zeros alone where it holds none."""
    parts: list[int] = []
    for name in DOCUMENTS:
        try:
            state = os.lstat(f"{folder}/{name}")
        except OSError:
            parts += (0, 0, 0, 0)
        else:
            parts += (state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
    return tuple(parts)


def _is_settled(stamp: Stamp) -> bool:
    return time.time_ns() - max(stamp[3::4]) > SETTLED_NS


def _read_listed(path: Path) -> ListedResult:
    """Reads what lists show of a folder. Raises StoreError where its manifest cannot be read."""
    return _listed_study(path) if (path / STUDY).exists() else _listed_run(path)


def _listed_study(path: Path) -> ListedResult:
    manifest = read_written_study(path)
    workloads = tuple(workload.workload for workload in manifest.workloads)
    return replace(_listed_head(manifest), study=manifest.kind, workloads=workloads)


def _listed_run(path: Path) -> ListedResult:
    manifest = read_written_manifest(path)
    loads = tuple(ListedLoad(each.workload, each.sessions, each.load_in_words) for each in manifest.criteria)
    workloads = tuple(load.workload for load in loads)
    listed = replace(_listed_head(manifest), target=manifest.target, loads=loads, workloads=workloads)
    try:
        verdict = read_verdict(path)
    except StoreError as error:
        return replace(listed, problem=str(error), tiles=_tiles(manifest, None))
    return replace(listed, verdicts=_verdicts(verdict), tiles=_tiles(manifest, verdict))


def _listed_head(manifest: Manifest | StudyManifest) -> ListedResult:
    """What runs and studies have in common, with the status as it was written."""
    return ListedResult(manifest.started, manifest.status, manifest.profile.name, notes=manifest.notes)


def _verdicts(verdict: ResultVerdict | None) -> tuple[ListedVerdict, ...]:
    workloads = verdict.workloads if verdict else ()
    return tuple(
        ListedVerdict(each.workload, each.verdict, each.iterations[-1].headline if each.iterations else None)
        for each in workloads
    )


def _tiles(manifest: Manifest, verdict: ResultVerdict | None) -> str:
    """A run of tiles in a line; empty for other runs."""
    if not manifest.is_of_tiles:
        return ""
    count, name = len(manifest.tiles), manifest.tile.name if manifest.tile else ""
    title = f"{count} {name} tile{'s' * (count != 1)}"
    if verdict is None or verdict.consolidation is None:
        return f"{title}: not judged"
    return f"{title}: {verdict.consolidation.score:g}, {verdict.whole}"
