"""CPU time of a control group: all that ever ran in it, also what ended and that nobody waited for."""

import os
from dataclasses import dataclass
from pathlib import Path

GROUPS_ROOT = Path("/sys/fs/cgroup")
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class CpuGroup:
    """A group that accounts for CPU time, by version 1 or 2."""

    file: Path

    def read_seconds(self) -> tuple[float, float] | None:
        """User and system CPU seconds; None when it is gone."""
        try:
            counters = dict(line.split() for line in self.file.read_text().splitlines())
        except (OSError, ValueError):
            return None
        if self.file.name == "cpu.stat":
            return int(counters["user_usec"]) / 1e6, int(counters["system_usec"]) / 1e6
        return int(counters["user"]) * TICK_S, int(counters["system"]) * TICK_S


def group_of(pid: int) -> CpuGroup | None:
    """The group of a process, where it has one of its own; None where it is in the same as this one, or is gone."""
    path, ours = _path(pid), _path(os.getpid())
    if path is None or path == ours:
        return None
    return next((CpuGroup(file) for name in ("cpu.stat", "cpuacct.stat") if (file := path / name).is_file()), None)


def _path(pid: int) -> Path | None:
    """Of the hierarchy that accounts for CPU."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return None
    entries = [line.split(":", 2) for line in lines]
    for _, controllers, path in entries:
        if "cpuacct" in controllers.split(","):
            return GROUPS_ROOT / "cpuacct" / path.lstrip("/")
    return next((GROUPS_ROOT / path.lstrip("/") for number, _, path in entries if number == "0"), None)
