"""What on this machine would spoil a measurement, and how to mend it."""

import os
import resource
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

import psutil

from loadstone.measure.masked import NOT_SHOWN
from loadstone.measure.quota import read_cpu_quota

LEAST_FILES = 65_536
"""Open files that thousands of sessions with several connections need."""
LEAST_PORTS = 28_000
"""Source ports; a closed connection holds its own for a minute."""
LEAST_BACKLOG = 4096
LEAST_MEMORY = 2 * 1024**3
LEAST_DISK = 1024**3


class DoctorFinding(StrEnum):
    """How a matter stands."""

    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


@dataclass(frozen=True)
class Advice:
    """One matter: how it stands and how to mend it."""

    matter: str
    finding: DoctorFinding
    figure: str
    remedy: str = ""


def examine(results: Path) -> tuple[Advice, ...]:
    """Looks at everything that spoils measurements; what this system does not show is said not to be known."""
    matters: dict[str, Callable[[], Advice]] = {
        "open files": _files,
        "cores": _cores,
        "CPU quota": _quota,
        "frequency governor": _governor,
        "free memory": _memory,
        "swap": _swap,
        "source ports": _ports,
        "accept queue": _backlog,
        "other load": _load,
        "clock source": _clock,
        "room for results": partial(_disk, results),
    }
    return tuple(_examined(matter, examine_matter) for matter, examine_matter in matters.items())


def _examined(matter: str, examine_matter: Callable[[], Advice]) -> Advice:
    try:
        return examine_matter()
    except NOT_SHOWN as error:
        remedy = f"This system does not show it ({type(error).__name__}), as sandboxes do. Check it manually."
        return Advice(matter, DoctorFinding.WARNING, "not known here", remedy)


def _advice(
    matter: str, good: bool, figure: str, remedy: str, finding: DoctorFinding = DoctorFinding.WARNING
) -> Advice:
    return Advice(matter, DoctorFinding.GOOD, figure) if good else Advice(matter, finding, figure, remedy)


def _files() -> Advice:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = hard == resource.RLIM_INFINITY
    figure = "unlimited" if unlimited else f"{hard} (about {hard // 3} sessions with two connections)"
    remedy = f"Raise the hard limit: `ulimit -Hn {LEAST_FILES}` as root, or nofile in /etc/security/limits.conf."
    return _advice("open files", unlimited or hard >= LEAST_FILES, figure, remedy)


def _cores() -> Advice:
    cores = len(os.sched_getaffinity(0))
    remedy = "Driver and server share the cores here: keep the load low, or run the driver on another machine."
    return _advice("cores", cores >= 4, f"{cores} usable", remedy)


def _quota() -> Advice:
    quota, cores = read_cpu_quota(), len(os.sched_getaffinity(0))
    if quota is None:
        return Advice("CPU quota", DoctorFinding.GOOD, "none")
    figure = f"{quota.cores:.3g} of {cores} usable cores, by the control group {quota.group}"
    remedy = (
        "The driver is paused when the quota is used up. Raise it: "
        "--cpus of a container, limits.cpu of a pod, CPUQuota="
    )
    return _advice("CPU quota", quota.cores >= cores, figure, f"{remedy} of a unit.")


def _governor() -> Advice:
    path = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    governor = path.read_text().strip() if path.is_file() else None
    figure = governor or "not adjustable here"
    remedy = "Fix the frequency: `cpupower frequency-set -g performance`."
    return _advice("frequency governor", governor in (None, "performance"), figure, remedy)


def _memory() -> Advice:
    available = psutil.virtual_memory().available
    remedy = "Close other programs, or lower the number of sessions."
    return _advice("free memory", available >= LEAST_MEMORY, f"{available / 1024**3:.1f} GiB", remedy)


def _swap() -> Advice:
    used = psutil.swap_memory().used
    figure = f"{used / 1024**2:.0f} MiB in use"
    return _advice("swap", used == 0, figure, "Swapped pages cost milliseconds: `swapoff -a`, or free memory first.")


def _ports() -> Advice:
    low, high = (int(bound) for bound in Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    figure = f"{low} to {high}, {high - low + 1} ports"
    remedy = "Widen the range: `sysctl net.ipv4.ip_local_port_range='1024 65535'`."
    return _advice("source ports", high - low + 1 >= LEAST_PORTS, figure, remedy)


def _backlog() -> Advice:
    backlog = int(Path("/proc/sys/net/core/somaxconn").read_text())
    remedy = f"Raise the accept queue: `sysctl net.core.somaxconn={LEAST_BACKLOG}`."
    return _advice("accept queue", backlog >= LEAST_BACKLOG, str(backlog), remedy)


def _load() -> Advice:
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    remedy = "Something else is running; stop it or wait, or the figures are partly its own."
    return _advice("other load", load < 0.3 * cores, f"load average {load:.2f} on {cores} cores", remedy)


def _clock() -> Advice:
    path = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    source = path.read_text().strip() if path.is_file() else "unknown"
    remedy = "Reading this clock is slow; boot with clocksource=tsc if the machine has a stable one."
    return _advice("clock source", source in ("tsc", "kvm-clock", "arch_sys_counter"), source, remedy)


def _disk(results: Path) -> Advice:
    folder = next(path for path in (results, *results.absolute().parents) if path.exists())
    free = psutil.disk_usage(str(folder)).free
    remedy = "Results are written there; free space, or name another folder with --results."
    return _advice(
        "room for results", free >= LEAST_DISK, f"{free / 1024**3:.1f} GiB in {folder}", remedy, DoctorFinding.BAD
    )
