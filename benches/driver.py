"""Our own driver as a tool among the others, and the plans it is measured with."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit

from benches.measure import GENERATOR_CORE, Cost, execute
from benches.server import FILES, TITLE
from loadstone.host.programs import find_driver
from loadstone.model.load import Load, Population
from loadstone.model.profile import Phases
from loadstone.model.target import Target
from loadstone.run.plan import Timing, WorkloadLoad, make_plan
from loadstone.workloads import load as load_workload
from loadstone.workloads.catalogue import CATALOGUE_FOLDER

Json = dict[str, Any]


MESSAGE_BYTES = 64
"""Length of a message over a WebSocket."""


@dataclass(frozen=True)
class Page:
    """The one-page workload, changed as a case needs it."""

    file: str
    """Which of the server's files."""
    endless: bool = True
    """Sessions that fetch without end, as other tools' connections do."""
    keep_alive: bool = True
    think_s: float = 0.0
    protocol: str = "http1"
    files: int = 0
    """Copies of the file that are embedded in the page."""
    messages: int = 0
    """Messages over a WebSocket, each with its echo, instead of the page."""

    def write(self, folder: Path) -> Path:
        """Writes the workload: title, text and length of every answer are checked, where they can be seen at once."""
        declared = tomlkit.parse((CATALOGUE_FOLDER / "static" / "workload.toml").read_text(encoding="utf-8"))
        operation: Any = declared["operations"]["page"]
        operation["path"] = f"/{self.file}.html"
        if self.messages:
            exchange = ({"send": "x" * MESSAGE_BYTES}, {"expect": "x" * MESSAGE_BYTES})
            operation["websocket"] = [step for _ in range(self.messages) for step in exchange]
        elif self.protocol != "null":
            operation["bytes"] = FILES[self.file]
        if self.files:
            operation["embedded"] = [
                {"path": f"/{self.file}.html?{at}", "bytes": FILES[self.file]} for at in range(self.files)
            ]
        if operation.get("bytes") and FILES[self.file] < 100_000:
            operation["title"] = TITLE
            operation["contains"] = ["<body>"]
        mix: Any = declared["mix"]
        if self.endless:
            del mix["operations_per_session"]
        connections: Any = declared["connections"]
        connections["protocol"] = self.protocol
        if self.files:
            connections["parallel"] = self.files + 1
        if not self.keep_alive:
            connections["requests_each"] = 1
            connections["full_handshakes"] = 1.0
        pacing: Any = declared["pacing"]
        pacing["mean_s"] = self.think_s
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "workload.toml").write_text(tomlkit.dumps(declared), encoding="utf-8")
        return folder


def play(
    workload: Path | str,
    load: Load,
    phases: Phases,
    target: Target | None,
    log_starts: int = 0,
    seed: int = 1,
    threads: int = 1,
    cores: Sequence[int] = (GENERATOR_CORE,),
) -> tuple[Cost, list[Json]]:
    """Runs the driver on the generator's core, or on these; what it cost and its events."""
    targets = () if target is None else (target,)
    timing = Timing(phases, seed, threads)
    plan = make_plan([WorkloadLoad(load_workload(str(workload)), load, targets)], timing, log_starts)
    cost = execute([find_driver(), "run"], cores, given=json.dumps(plan).encode())
    return cost, [json.loads(line) for line in cost.output.splitlines()]


def requests(events: list[Json]) -> int:
    """All operations of a run; raises RuntimeError when one was in error."""
    intervals = [event for event in events if event["event"] == "interval"]
    counts = [one for event in intervals for one in event["operations"]]
    if any(one["errors"] for one in counts):
        raise RuntimeError(f"the driver met errors: {next(one['errors'] for one in counts if one['errors'])}")
    return sum(one["requests"] for one in counts)


def whole(sessions: int, seconds: float) -> tuple[Population, Phases]:
    """A closed load without ramps, as other tools have it."""
    return Population(sessions), Phases(0, 0, seconds, 0)
