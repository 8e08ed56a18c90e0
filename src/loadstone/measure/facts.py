"""Facts of the machine a run was made on, for the disclosure."""

import os
import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

import psutil

from loadstone import __version__
from loadstone.host import launch
from loadstone.measure.hardware import read_hardware, read_text_if_any
from loadstone.measure.masked import read_shown
from loadstone.model.records.manifest import HostFacts


def read_host_facts() -> HostFacts:
    """Returns the facts of this machine that a reader of results needs. Values that cannot be read are None."""
    memory = read_shown(psutil.virtual_memory)
    return HostFacts(
        cpu_model=_cpu_model(),
        cores=read_shown(psutil.cpu_count),
        cores_usable=len(os.sched_getaffinity(0)),
        memory_bytes=memory.total if memory else None,
        kernel=platform.release(),
        distribution=_distribution(),
        architecture=platform.machine(),
        governor=_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        clock_source=_text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        mitigations=_mitigations(),
        cgroup_limits=_cgroup_limits(),
        virtualization=_virtualization(),
        load_average=tuple(read_shown(os.getloadavg) or ()),
        hardware=read_hardware(),
    )


@cache
def read_versions() -> dict[str, str | None]:
    """Versions of the program and of what it is made of."""
    libraries = ("hdrhistogram", "numpy", "psutil", "pydantic", "scipy", "vl-convert-python")
    return {
        "loadstone": __version__,
        "python": platform.python_version(),
        "commit": _commit(),
        **{name: metadata.version(name) for name in libraries},
    }


def _text(path: str) -> str | None:
    return read_text_if_any(Path(path)) or None


def _cpu_model() -> str | None:
    for line in (_text("/proc/cpuinfo") or "").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return None


def _distribution() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None


def _mitigations() -> dict[str, str]:
    folder = Path("/sys/devices/system/cpu/vulnerabilities")
    files = sorted(folder.glob("*")) if folder.is_dir() else []
    return {file.name: _text(str(file)) or "" for file in files}


def _cgroup_limits() -> dict[str, str]:
    """Limits of this process's own control group, version 2 or 1."""
    sizes: dict[str, str] = {}
    for line in (_text("/proc/self/cgroup") or "").splitlines():
        if line.count(":") < 2:
            continue
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(",") if controllers else ["unified"]:
            for name in ("cpu.max", "memory.max", "cpu.cfs_quota_us", "memory.limit_in_bytes", "cpuset.cpus"):
                for base in (f"/sys/fs/cgroup/{controller}{path}", f"/sys/fs/cgroup{path}"):
                    if value := _text(f"{base}/{name}"):
                        sizes.setdefault(f"{controller}/{name}", value)
    return sizes


def _virtualization() -> str | None:
    if "hypervisor" in (_text("/proc/cpuinfo") or ""):
        return _text("/sys/class/dmi/id/product_name") or "a hypervisor"
    return None


def _commit() -> str | None:
    """The commit of the source the program runs from, marked when it was changed since."""
    folder = Path(__file__).parent

    def git(*arguments: str) -> str | None:
        command = ["git", "-C", str(folder), *arguments]
        try:
            done = launch.run(command, timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit = git("rev-parse", "HEAD")
    return f"{commit} (changed)" if commit and git("status", "--porcelain") else commit
