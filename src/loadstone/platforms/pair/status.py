"""How a pair is, as VMware's status page tells it: protected or not, its secondary's place and use, lag, log."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import psutil

from loadstone.platforms.pair.machine import MOST_CORRECTED_S, PairMachine
from loadstone.platforms.pair.side import Side

Json = dict[str, Any]
STATUS_MIB = 1 << 20
ADVISED_ROUND_TRIP_MS = 1.0
"""Longest round trip between both sides that VMware's paper of 2009 advises."""


@dataclass
class StatusWatch:
    """Looks at a pair again and again; its CPU use is that since the look before."""

    machine: PairMachine
    _processes: dict[int, psutil.Process] = field(default_factory=dict)

    def read(self) -> Json:
        """The status now."""
        serving = self.machine.serving
        follower = self.machine.follower
        return {
            "name": self.machine.name,
            "status": describe_state(self.machine),
            "serving": self._side(serving),
            "secondary": None if follower is None else self._side(follower),
            "log_mbit_per_s": serving.metrics.get("log_mbit_per_s"),
            "log_mbit_per_s_by_kind": serving.metrics.get("log_mbit_per_s_by_kind"),
            "clock_ahead_s": self.machine.clock_ahead_s,
            **select_figures({} if follower is None else serving.metrics),
            "failures": list(self.machine.failures),
        }

    def _side(self, side: Side) -> Json:
        pid = side.pid
        facts = {"name": side.files.name, "place": side.place, "pid": pid, "tap": side.tap}
        try:
            process = self._processes.setdefault(pid, psutil.Process(pid))
            return facts | {
                "cpu_pct": process.cpu_percent(),
                "memory_mib": round(process.memory_info().rss / STATUS_MIB),
            }
        except psutil.Error:
            return facts


def describe_state(machine: PairMachine) -> str:
    """Returns the state of a pair in one word."""
    if machine.end():
        return "gone"
    if machine.is_gone:
        return "restarting"
    if machine.is_protected:
        return "protected"
    if machine.is_failing_over:
        return "failing over"
    return "starting a secondary" if machine.follower is not None else "not protected"


def select_figures(metrics: Mapping[str, Any]) -> Json:
    """Returns the most requested figures from the measurements of the active side's agent."""
    names = ("lag_ms", "round_trip_ms", "slowed_pct", "held_ms", "recorded", "received", "executed", "frames")
    return {name: metrics.get(name) for name in (*names, "waiting", "lost_frames")}


def list_status_rows(looked: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A status as people read it: what, and what is said of it."""
    rows = [("status", looked["status"])]
    for role in ("serving", "secondary"):
        side = looked[role]
        if side is not None:
            rows.append((role, f"{side['name']} on {side['place']}{_describe_use(side)}"))
    rows.append(("lag", _with_unit(looked["lag_ms"], "ms")))
    by_kind = (looked.get("log_mbit_per_s_by_kind") or {}).items()
    kinds = ", ".join(f"{kind} {rate:.4f}" for kind, rate in by_kind if rate)
    rows.append(("log", _with_unit(looked["log_mbit_per_s"], "Mbit/s", 4) + (f": {kinds}" if kinds else "")))
    round_trip_ms = looked.get("round_trip_ms")
    rows.append(("round trip", _with_unit(round_trip_ms, "ms", 2) + _advice(round_trip_ms)))
    rows.append(("guest clock", _clock(looked.get("clock_ahead_s"))))
    rows.append(("slowed by", _with_unit(looked["slowed_pct"], "%", 0)))
    rows.append(("outputs held, median", _with_unit((looked["held_ms"] or {}).get("p50"), "ms", 2)))
    return rows + [("failed", failure) for failure in looked["failures"]]


def _describe_use(side: Mapping[str, Any]) -> str:
    """Process, CPU and memory of a side on this host; nothing of one on another host."""
    if not side["pid"]:
        return ""
    return f", process {side['pid']}; CPU {side.get('cpu_pct', 0):.0f} %, {side.get('memory_mib', 0)} MiB"


def _advice(round_trip_ms: float | None) -> str:
    is_long = round_trip_ms is not None and round_trip_ms > ADVISED_ROUND_TRIP_MS
    return f": above {ADVISED_ROUND_TRIP_MS:g} ms, every output waits for it" if is_long else ""


def _clock(ahead_s: float | None) -> str:
    if ahead_s is None:
        return ""
    is_wrong = abs(ahead_s) > MOST_CORRECTED_S
    return f"{ahead_s:+.3f} s" + (": rates measured in the guest are wrong" if is_wrong else "")


def _with_unit(value: float | None, unit: str, digits: int = 1) -> str:
    return "" if value is None else f"{value:.{digits}f} {unit}"


def list_events(machine: PairMachine) -> list[Json]:
    """Lists the events of its agents in order of time, each with its side."""
    events = [event | {"side": side.files.name} for side in machine.sides for event in side.events]
    return sorted(events, key=lambda event: event["heard_unix_s"])
