"""Control groups, of version 1 or 2: limits for what runs in one, its use of CPU, and the end of all of it at once."""

import contextlib
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from loadstone.model.errors import PlatformError
from loadstone.platforms.journal import ResourceJournal, remove_group

CGROUP_ROOT = Path("/sys/fs/cgroup")
PERIOD_US = 100_000
"""Of the CPU quota (Linux, `Documentation/admin-guide/cgroup-v2.rst`, cpu.max)."""


@dataclass(frozen=True)
class Group:
    """One group, in each hierarchy that it needs."""

    paths: tuple[Path, ...]
    usage: Path
    """File that tells the CPU time used."""

    @property
    def joining(self) -> str:
        """Shell words by which a process enters it before it becomes what it is to be."""
        return " && ".join(f"echo $$ > {shlex.quote(str(path))}/cgroup.procs" for path in self.paths)

    def read_cpu_seconds(self) -> float:
        """CPU time of all that ran in it."""
        text = self.usage.read_text()
        if self.usage.name == "cpuacct.usage":
            return int(text) / 1e9
        return int(next(line.split()[1] for line in text.splitlines() if line.startswith("usage_usec"))) / 1e6

    def remove(self) -> None:
        """Removes it once its last process is gone."""
        for path in self.paths:
            remove_group(path)


def group(journal: ResourceJournal, name: str, cpus: int, memory_mib: int) -> Group:
    """A group with so many cores and so much memory; raises PlatformError where this user may not make one."""
    try:
        return _unified(journal, name, cpus, memory_mib) if is_unified() else _split(journal, name, cpus, memory_mib)
    except OSError as error:
        raise PlatformError(f"A control group cannot be created: {error}. Containers need root.") from None


def make_weighted_group(journal: ResourceJournal, name: str, cpu_weight: int | None, io_weight: int | None) -> Group:
    """Returns a group with weights for CPU and disks from 1 to 10000, where others have 100. Raises PlatformError where
    this user may not create it, or the kernel has no such weight.
    """
    try:
        make = _weighted_unified if is_unified() else _weighted_split
        return make(journal, name, {"cpu": cpu_weight, "io": io_weight})
    except OSError as error:
        remedy = "Remove `cpu_weight` and `io_weight`, or use a kernel whose control groups have them."
        raise PlatformError(f"A control group with weights cannot be created: {error}. {remedy}") from None


def _weighted_unified(journal: ResourceJournal, name: str, weights: Mapping[str, int | None]) -> Group:
    path = _make_group(journal, CGROUP_ROOT / f"{journal.name}-{name}")
    for controller, weight in weights.items():
        if weight is not None:
            (CGROUP_ROOT / "cgroup.subtree_control").write_text(f"+{controller}")
            (path / f"{controller}.weight").write_text(str(weight))
    return Group((path,), path / "cpu.stat")


SPLIT_WEIGHTS = {"cpu": ("cpu", "cpu.shares", 1024), "io": ("blkio", "blkio.bfq.weight", 100)}
"""By resource: controller of version 1, its file, and the usual weight in it."""


def _weighted_split(journal: ResourceJournal, name: str, weights: Mapping[str, int | None]) -> Group:
    account = _make_group(journal, CGROUP_ROOT / "cpuacct" / f"{journal.name}-{name}")
    paths = [account]
    for resource, weight in weights.items():
        if weight is not None:
            controller, file, usual = SPLIT_WEIGHTS[resource]
            paths.append(_make_group(journal, CGROUP_ROOT / controller / f"{journal.name}-{name}"))
            (paths[-1] / file).write_text(str(max(2, weight * usual // 100)))
    return Group(tuple(dict.fromkeys(paths)), account / "cpuacct.usage")


def create_account(journal: ResourceJournal, name: str, cores: set[int]) -> Group | None:
    """A group that counts CPU time and keeps what runs in it on some cores, without other limits; None where this user
    may not make one.
    """
    if not may_make_groups():
        return None
    try:
        return _counted_unified(journal, name, cores) if is_unified() else _counted_split(journal, name, cores)
    except OSError:
        return None


def make_memory_group(journal: ResourceJournal, name: str, memory_mib: int) -> Group:
    """Returns a group that limits the memory of what runs in it. Raises PlatformError where this user may not create
    it, or the kernel has no such limit.
    """
    try:
        path = _make_group(
            journal, (CGROUP_ROOT if is_unified() else CGROUP_ROOT / "memory") / f"{journal.name}-{name}"
        )
        if is_unified():
            with contextlib.suppress(OSError):  # it is on already
                (CGROUP_ROOT / "cgroup.subtree_control").write_text("+memory")
        (path / ("memory.max" if is_unified() else "memory.limit_in_bytes")).write_text(str(memory_mib << 20))
    except OSError as error:
        raise PlatformError(f"Memory cannot be limited: {error}. Run as root, or remove `memory_limit`.") from None
    return Group((path,), path / "cpu.stat")


def _counted_unified(journal: ResourceJournal, name: str, cores: set[int]) -> Group:
    path = _make_group(journal, CGROUP_ROOT / f"{journal.name}-{name}")
    if cores:
        with contextlib.suppress(OSError):  # what runs in it is kept there by itself, if not by its group
            (CGROUP_ROOT / "cgroup.subtree_control").write_text("+cpuset")
            (path / "cpuset.cpus").write_text(",".join(map(str, sorted(cores))))
    return Group((path,), path / "cpu.stat")


def _counted_split(journal: ResourceJournal, name: str, cores: set[int]) -> Group:
    path = _make_group(journal, CGROUP_ROOT / "cpuacct" / f"{journal.name}-{name}")
    if not cores:
        return Group((path,), path / "cpuacct.usage")
    group = _make_group(journal, CGROUP_ROOT / "cpuset" / f"{journal.name}-{name}")
    (group / "cpuset.mems").write_text((CGROUP_ROOT / "cpuset" / "cpuset.mems").read_text())
    (group / "cpuset.cpus").write_text(",".join(map(str, sorted(cores))))
    return Group((path, group), path / "cpuacct.usage")


def is_unified() -> bool:
    """Whether this host has version 2 alone."""
    return (CGROUP_ROOT / "cgroup.controllers").is_file()


def is_mixed() -> bool:
    """Whether this host has controllers in both versions."""
    unified = CGROUP_ROOT / "unified" / "cgroup.controllers"
    return not is_unified() and unified.is_file() and bool(unified.read_text().split())


def may_make_groups() -> bool:
    """Whether this user may make groups at the top, where all controllers are."""
    return os.access(CGROUP_ROOT if is_unified() else CGROUP_ROOT / "cpu", os.W_OK)


def _unified(journal: ResourceJournal, name: str, cpus: int, memory_mib: int) -> Group:
    path = _make_group(journal, CGROUP_ROOT / f"{journal.name}-{name}")
    with contextlib.suppress(OSError):  # they are on already, or another process's task
        (CGROUP_ROOT / "cgroup.subtree_control").write_text("+cpu +memory")
    (path / "cpu.max").write_text(f"{cpus * PERIOD_US} {PERIOD_US}")
    (path / "memory.max").write_text(str(memory_mib << 20))
    return Group((path,), path / "cpu.stat")


def _split(journal: ResourceJournal, name: str, cpus: int, memory_mib: int) -> Group:
    cpu, account, memory = (
        _make_group(journal, CGROUP_ROOT / controller / f"{journal.name}-{name}")
        for controller in ("cpu", "cpuacct", "memory")
    )
    (cpu / "cpu.cfs_period_us").write_text(str(PERIOD_US))
    (cpu / "cpu.cfs_quota_us").write_text(str(cpus * PERIOD_US))
    (memory / "memory.limit_in_bytes").write_text(str(memory_mib << 20))
    return Group(tuple(dict.fromkeys((cpu, account, memory))), account / "cpuacct.usage")


def _make_group(journal: ResourceJournal, path: Path) -> Path:
    journal.note("group", path=str(path))
    path.mkdir(exist_ok=True)
    return path
