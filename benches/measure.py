"""Running a command on one core and saying what it cost: CPU seconds, peak memory, output."""

import json
import os
import platform
import resource
import signal
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

GENERATOR_CORE, SERVER_CORE = 0, 1
"""Generator and server are kept apart, so that neither's work is counted as the other's."""


@dataclass(frozen=True)
class Cost:
    """What one execution cost."""

    cpu_s: float
    """User and system time of the process and its children."""
    wall_s: float
    peak_bytes: int
    output: str
    errors: str


def execute(command: Sequence[str], core: int = GENERATOR_CORE, given: bytes = b"") -> Cost:
    """Runs a command to its end on one core; raises RuntimeError with what it said when it fails."""
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        source.write(given)
        source.seek(0)
        started = time.monotonic()
        process = subprocess.Popen(
            ["taskset", "-c", str(core), *command],
            stdin=source,
            stdout=out,
            stderr=errors,
            preexec_fn=_many_files,
        )
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except KeyboardInterrupt:
            process.send_signal(signal.SIGKILL)
            process.wait()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.monotonic() - started
        out.seek(0)
        errors.seek(0)
        text, said = (file.read().decode(errors="replace") for file in (out, errors))
    if process.returncode not in (0, 99):  # 99: k6, a threshold was crossed
        raise RuntimeError(f"{command[0]} ended with {process.returncode}: {(said or text).strip()[-400:]}")
    return Cost(usage.ru_utime + usage.ru_stime, wall_s, usage.ru_maxrss * 1024, text, said)


def _many_files() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def stop_for(pid: int, after_s: float, seconds: float) -> threading.Thread:
    """Stops a process for some seconds, some seconds from now."""

    def work() -> None:
        time.sleep(after_s)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


@dataclass
class Series:
    """Repeated figures of one thing, in the order they were taken."""

    values: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.values)

    def as_json(self) -> dict[str, object]:
        """Median, spread and all values."""
        return {
            "median": self.median,
            "min": min(self.values),
            "max": max(self.values),
            "values": self.values,
        }


def machine() -> dict[str, object]:
    """What the figures were taken on."""
    cpu = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.machine(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {"cpu": cpu, "cores": os.cpu_count(), "memory_gib": round(memory), "kernel": platform.release()}


def save(path: Path, content: object) -> None:
    """Writes a result."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


REGRESSION = 1.1
"""A figure that is so many times the one before, on the same processor, is a regression."""


def regressions(before: dict[str, Any], after: dict[str, Any], tool: str) -> list[str]:
    """What a tool's medians of a case lost against an earlier taking on the same processor, as sentences.

    A case of `tools` has one cost. Costs that the earlier one does not have, and those of another processor, are left
    out.
    """
    if before.get("machine", {}).get("cpu") != after["machine"]["cpu"]:
        return []
    costs = (case.get("tools", {}).get(tool) for case in (before, after))
    earlier, later = (cost["median"] if isinstance(cost, dict) else cost for cost in costs)
    if earlier is None or later is None or later < REGRESSION * earlier:
        return []
    percent, on = 100 * (later / earlier - 1), before["taken"][:10]
    return [
        f"{after['case']}: {later:.3g} {after.get('unit', '')} instead of {earlier:.3g} on {on} (+{percent:.0f} %)."
    ]
