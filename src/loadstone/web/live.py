"""The live view: follows the event files of the run that is under way, as the driver's lines come in."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loadstone.model.errors import StoreError
from loadstone.store.folder import RUNS, Status
from loadstone.store.read import read_manifest
from loadstone.store.study import read_answer
from loadstone.web.listing import is_study, running

Json = dict[str, Any]

PERIOD_S = 0.5
"""Time between two looks at the files."""


@dataclass
class Tail:
    """The lines that are added to a run's event files."""

    path: Path
    read: dict[Path, int] = field(default_factory=dict)
    """Bytes of each file that were read."""

    def new(self) -> list[Json]:
        """Events since the last look; a line that is not whole yet waits."""
        found: list[Json] = []
        for file in sorted((self.path / RUNS).glob("*/events.jsonl")):
            with file.open("rb") as lines:
                lines.seek(self.read.get(file, 0))
                for line in lines:
                    if not line.endswith(b"\n"):
                        break
                    self.read[file] = self.read.get(file, 0) + len(line)
                    found.append(json.loads(line))
        return found


async def follow(results: Path) -> AsyncIterator[Json]:
    """What happens, for ever: `run` and `iteration` when another begins, `second` for each interval, `end`, `idle`."""
    tail: Tail | None = None
    told_idle, began = False, None
    while True:
        path = running(results)
        if path is not None and (tail is None or tail.path != path):
            tail, told_idle = Tail(path), False
            yield _begin(path)
        if tail is not None:
            for event in tail.new():
                # Workloads that are played together each have the same start in their file.
                if event["event"] == "start" and event["start_unix_ns"] != began:
                    began = event["start_unix_ns"]
                    yield {"kind": "iteration"}
                if event["event"] == "interval":
                    yield second(event)
            if path is None:
                yield {"kind": "end", "status": _status(tail.path), "run": tail.path.name}
                tail = None
        elif not told_idle:
            told_idle = True
            yield {"kind": "idle"}
        await asyncio.sleep(PERIOD_S)


def second(event: Json) -> Json:
    """An interval record as the page draws it."""
    operations = event["operations"]
    length_s = max(1e-3, event["length_ns"] / 1e9)
    return {
        "kind": "second",
        "part": event["part"],
        "at_s": event["at_ns"] / 1e9,
        "phase": event["phase"].replace("_", " "),
        "per_s": sum(counts["requests"] for counts in operations) / length_s,
        "errors": sum(sum(counts["errors"].values()) for counts in operations),
        "p50_s": event["response"]["p50_ns"] / 1e9,
        "p99_s": event["response"]["p99_ns"] / 1e9,
        "active": event["sessions_active"],
        "driver": 100 * max(event["cpu"]["threads"], default=0.0),
    }


def _begin(path: Path) -> Json:
    manifest = read_manifest(path)
    phases = manifest["profile"]
    total = sum(phases[name] for name in ("ramp_up_s", "warm_up_s", "steady_s", "ramp_down_s"))
    what = ", ".join(f"{terms['workload']}: {terms['load']}" for terms in manifest["terms"])
    return {"kind": "run", "run": path.name, "what": what, "total_s": total, "study": _study(path)}


def _study(path: Path) -> str:
    """Of a study's run, how far the study is."""
    study = path.parent.parent
    if not is_study(study):
        return ""
    try:
        answer = read_answer(study)
    except StoreError:
        return study.name
    return f"{study.name}: {len(answer['runs'])} done, about {answer['left']} left"


def _status(path: Path) -> str:
    try:
        return str(read_manifest(path)["status"])
    except StoreError:
        return Status.FAILED
