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
from loadstone.model.records.listed import ListedResult
from loadstone.store.documents import read_bytes, write_atomic
from loadstone.store.layout import MANIFEST, REJUDGED, STUDY, VERDICT, find_status

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
        # It loads all records, which a list that is up to date does not need.
        from loadstone.store.listed import read_listed

        listed = read_listed(path)
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
