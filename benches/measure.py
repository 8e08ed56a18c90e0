"""Running a command on one core and saying what it cost: CPU seconds, peak memory, output."""

import json
import os
import platform
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

GENERATOR_CORE, SERVER_CORE = 0, 1
"""Generator and server are kept apart, so that neither's work is counted as the other's."""


SPAWN = Path(__file__).parent / "spawn.py"
"""Starts a command and notes what it cost."""


@dataclass(frozen=True)
class Cost:
    """What one execution cost."""

    cpu_s: float
    """User and system time of the process and its children."""
    wall_s: float
    peak_bytes: int
    output: str
    errors: str


def execute(command: Sequence[str], cores: Sequence[int] = (GENERATOR_CORE,), given: bytes = b"") -> Cost:
    """Runs a command to its end on some cores; raises RuntimeError with what it said when it fails."""
    with tempfile.TemporaryDirectory(prefix="loadstone-bench-") as name, ExitStack() as opened:
        source, out, errors = (opened.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        source.write(given)
        source.seek(0)
        figures = Path(name) / "figures"
        pinned = ["taskset", "-c", ",".join(map(str, cores)), *command]
        started = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(SPAWN), str(figures), *pinned],
            stdin=source,
            stdout=out,
            stderr=errors,
            preexec_fn=_many_files,
            start_new_session=True,
        )
        try:
            process.wait()
        except KeyboardInterrupt:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        wall_s = time.monotonic() - started
        out.seek(0)
        errors.seek(0)
        text, said = (file.read().decode(errors="replace") for file in (out, errors))
        if not figures.exists():
            raise RuntimeError(f"{command[0]} could not be started: {said.strip()[-400:]}")
        code, cpu_s, peak_kib = json.loads(figures.read_text(encoding="utf-8"))
    if code not in (0, 99):  # 99: k6, a threshold was crossed
        raise RuntimeError(f"{command[0]} ended with {code}: {(said or text).strip()[-400:]}")
    return Cost(cpu_s, wall_s, peak_kib * 1024, text, said)


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


def say(text: str) -> None:
    """Tells how far it is."""
    print(text, file=sys.stderr, flush=True)


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
    """What a tool's costs of a case lost against an earlier taking on the same processor, as sentences.

    Costs that the earlier one does not have, and those of another processor, are left out.
    """
    if before.get("machine", {}).get("cpu") != after["machine"]["cpu"]:
        return []
    earlier, on = costs(before, tool), before["taken"][:10]
    found = []
    for name, (later, unit) in costs(after, tool).items():
        if name in earlier and later >= REGRESSION * earlier[name][0]:
            percent = 100 * (later / earlier[name][0] - 1)
            found.append(f"{name}: {later:.3g} {unit} instead of {earlier[name][0]:.3g} on {on} (+{percent:.0f} %).")
    return found


def costs(case: dict[str, Any], tool: str) -> dict[str, tuple[float, str]]:
    """A tool's costs of a case with their units, by what they are the cost of: the less the better.

    A case of `tools` has one. Others have one for each number of sessions, or for each file.
    """
    name, unit = case["case"], case.get("unit", "")
    found: dict[str, tuple[float, str]] = {}
    if (cost := case.get("tools", {}).get(tool)) is not None:
        found[name] = (cost["median"] if isinstance(cost, dict) else cost, unit)
    for count, load in case.get("loads", {}).items():
        found[f"{name}, {count} sessions"] = (load["peak_kib_a_session"], "KiB a session")
        found[f"{name}, {count} sessions, driver"] = (load["driver_core_share"], "of a core")
    for count, virtual in case.get("sessions", {}).items():
        found[f"{name}, {count} sessions"] = (virtual["ns_cpu_an_operation"], "ns CPU an operation")
    for size, file in case.get("sizes", {}).items():
        found[f"{name}, {size}"] = (file["ratio"], "of nginx's cost")
    if name == "two-threads":
        found[name] = (1 / case["ratios"]["two threads"], "of one thread's time")
    return found
