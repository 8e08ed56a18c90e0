"""How a pair is, as VMware's status page tells it: protected or not, its secondary's place and use, lag, log."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import psutil

from loadstone.platforms.pair.machine import PairMachine
from loadstone.platforms.pair.side import PairSide

Json = dict[str, Any]
MIB = 1 << 20


@dataclass
class StatusWatch:
    """Looks at a pair again and again; what is counted becomes a rate between two looks."""

    machine: PairMachine
    _seen: tuple[float, int] = (0.0, 0)
    _processes: dict[int, psutil.Process] = field(default_factory=dict)

    def look(self) -> Json:
        """The status now; rates since the look before."""
        serving = self.machine.serving
        follower = self.machine.follower
        return {
            "name": self.machine.name,
            "status": status_of(self.machine),
            "serving": self._side(serving),
            "secondary": None if follower is None else self._side(follower),
            "log_mbit_per_s": self._log_rate(serving.metrics),
            **told({} if follower is None else serving.metrics),
            "failures": list(self.machine.failures),
        }

    def _side(self, side: PairSide) -> Json:
        found = {"name": side.files.name, "place": "this host", "pid": side.pid, "tap": side.tap}
        try:
            process = self._processes.setdefault(side.pid, psutil.Process(side.pid))
            return found | {"cpu_pct": process.cpu_percent(), "memory_mib": round(process.memory_info().rss / MIB)}
        except psutil.Error:
            return found

    def _log_rate(self, metrics: Mapping[str, Any]) -> float | None:
        """Megabits of log a second; none before a second look."""
        (before_s, before), now_s, now = self._seen, time.monotonic(), int(metrics.get("log_bytes", 0))
        self._seen = (now_s, now)
        return None if not before_s or now < before else 8e-6 * (now - before) / (now_s - before_s)


def status_of(machine: PairMachine) -> str:
    """In a word."""
    if machine.end():
        return "gone"
    if machine.is_protected:
        return "protected"
    return "starting a secondary" if machine.follower is not None else "not protected"


def told(metrics: Mapping[str, Any]) -> Json:
    """Of what the agent of the side that serves measured, what people ask for."""
    names = ("lag_ms", "slowed_pct", "held_ms", "recorded", "received", "executed", "frames", "waiting")
    return {name: metrics.get(name) for name in names}


def events_of(machine: PairMachine) -> list[Json]:
    """What its agents said, in order of time, each with its side."""
    said = [event | {"side": side.files.name} for side in machine.sides for event in side.events]
    return sorted(said, key=lambda event: event["heard_unix_s"])
