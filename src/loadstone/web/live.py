"""The live view: follows the event files of the run that is under way, as the driver's lines come in."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool

from loadstone.model.errors import StoreError
from loadstone.model.records.events import Event, Interval, Start
from loadstone.model.records.status import Status
from loadstone.store.documents import open_regular
from loadstone.store.layout import RUNS
from loadstone.store.read import read_manifest
from loadstone.store.records import EVENTS, read_event
from loadstone.store.study import find_study, read_answer, read_study_manifest
from loadstone.study.registry import get_kind
from loadstone.web.listing import find_running

LiveMessage = dict[str, Any]
"""What a page is told; the script beside this reads it."""

LIVE_UPDATE_INTERVAL_S = 0.5
"""Time between two looks at the files."""
RESULTS_POLL_INTERVAL_S = 1.0
"""Least time between two looks at all folders for a run that is under way, however many pages ask."""


@dataclass
class Tail:
    """The lines that are added to a run's event files."""

    path: Path
    read: dict[Path, int] = field(default_factory=dict)
    """Bytes of each file that were read."""

    def read_new(self) -> list[Event]:
        """Events since the last look; a line that is not whole yet waits, one that is none is passed over."""
        events: list[Event] = []
        for file in sorted((self.path / RUNS).glob(f"*/{EVENTS}")):
            try:
                events += self._added(file)
            except StoreError:
                continue
        return events

    def _added(self, file: Path) -> list[Event]:
        events: list[Event] = []
        with open_regular(file) as lines:
            lines.seek(self.read.get(file, 0))
            for line in lines:
                if not line.endswith(b"\n"):
                    break
                self.read[file] = self.read.get(file, 0) + len(line)
                try:
                    events.append(read_event(line, str(file)))
                except StoreError:
                    continue
        return events


@dataclass
class Lookout:
    """Which run is under way: looked for once for all pages that ask."""

    results: Path
    _seen: Path | None = None
    _at_s: float = 0.0
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def find_running(self) -> Path | None:
        """The run that is under way, as of a moment ago."""
        async with self._lock:
            if time.monotonic() - self._at_s >= RESULTS_POLL_INTERVAL_S:
                self._seen = await run_in_threadpool(find_running, self.results)
                self._at_s = time.monotonic()
        return self._seen


async def follow(lookout: Lookout) -> AsyncIterator[LiveMessage]:
    """Yields messages without end: `run` and `iteration` when another begins, `second` for each interval, `end`,
    `idle`.
    """
    tail: Tail | None = None
    told_idle, began = False, None
    names: dict[str, tuple[str, ...]] = {}
    while True:
        path = await lookout.find_running()
        if path is not None and (tail is None or tail.path != path):
            tail, told_idle = Tail(path), False
            yield _begin(path)
        if tail is not None:
            for event in await run_in_threadpool(tail.read_new):
                # Workloads that are played together each have the same start in their file.
                if isinstance(event, Start):
                    names |= {part.workload: part.operations for part in event.parts}
                if isinstance(event, Start) and event.start_unix_s != began:
                    began = event.start_unix_s
                    yield {"kind": "iteration"}
                if isinstance(event, Interval):
                    yield draw_second(event, names.get(event.part, ()))
            if path is None:
                yield {"kind": "end", "status": _status(tail.path), "run": tail.path.name}
                tail = None
        elif not told_idle:
            told_idle = True
            yield {"kind": "idle"}
        await asyncio.sleep(LIVE_UPDATE_INTERVAL_S)


def draw_second(interval: Interval, names: Sequence[str]) -> LiveMessage:
    """An interval record as the page draws it; `names` are those of its operations."""
    operations = zip(names, interval.operations, strict=False)
    return {
        "kind": "second",
        "part": interval.part,
        "at_s": interval.at_s,
        "phase": interval.phase.replace("_", " "),
        "per_s": interval.answered_per_s,
        "errors": interval.error_count,
        "p50_s": interval.response.p50_s,
        "p99_s": interval.response.p99_s,
        "active": interval.sessions_active,
        "driver": 100 * interval.cpu.busiest,
        "operations": {name: counts.answered / interval.divisor_s for name, counts in operations},
    }


def _begin(path: Path) -> LiveMessage:
    try:
        manifest = read_manifest(path)
    except StoreError:
        return {"kind": "run", "run": path.name, "what": "", "total_s": 1.0, "study": ""}
    loads = ", ".join(f"{criteria.workload}: {criteria.load_in_words}" for criteria in manifest.criteria)
    total_s = manifest.profile.phases.total_s
    return {"kind": "run", "run": path.name, "what": loads, "total_s": total_s, "study": _study(path)}


def _study(path: Path) -> str:
    """Of a study's run, how far the study is."""
    study = find_study(path)
    if study is None:
        return ""
    try:
        answer = read_answer(study, get_kind(read_study_manifest(study).kind).adapter)
    except StoreError:
        return study.name
    return f"{study.name}: {len(answer.runs)} done, about {answer.left} left"


def _status(path: Path) -> str:
    try:
        return read_manifest(path).status
    except StoreError:
        return Status.FAILED
