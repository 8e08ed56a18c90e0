"""What a virtual machine costs its host: CPU time by kind of thread, disks and lines as the hypervisor counts them."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qemu.qmp import QMPClient, QMPError

from loadstone.platforms.fabric import NetworkInterface
from loadstone.platforms.interfaces import read_line_counters

Json = dict[str, Any]

VM_USAGE_TIMEOUT_S = 0.7
"""Longest wait for a machine's own counters. It is shorter than the monitor's wait for both views, so that a slow
machine costs its own view alone.
"""
TICKS = os.sysconf("SC_CLK_TCK")
VHOST = "vhost"
"""Kind of the kernel's threads that move packets of a machine."""
KVM_STATISTICS = Path("/sys/kernel/debug/kvm")


async def read_outside(
    pid: int, qmp: QMPClient, threads: Mapping[int, str], nics: Mapping[str, NetworkInterface]
) -> Json | None:
    """Counters that only grow; None when the machine is gone."""
    try:
        cpu = read_thread_seconds(pid, threads)
        return {"cpu": cpu, "disk": await _disks(qmp), "network": read_line_counters(pid, nics), "exits": _exits(pid)}
    except (OSError, QMPError, EOFError):
        return None


def read_thread_seconds(pid: int, threads: Mapping[int, str]) -> dict[str, float]:
    """Returns the CPU seconds of a process by kind of thread; those without a kind are `device` (proc(5), fields 14 and
    15). Threads of the kernel that work for the process count too.
    """
    seconds = {"vcpu": 0.0, "io": 0.0, "device": 0.0}
    tasks = {int(task.name): task for task in Path(f"/proc/{pid}/task").iterdir()}
    for thread, kind in threads.items():
        if kind == VHOST:
            seconds.setdefault(VHOST, 0.0)
            tasks.setdefault(thread, Path(f"/proc/{thread}"))
    for thread, task in tasks.items():
        with contextlib.suppress(OSError):  # ended meanwhile
            fields = (task / "stat").read_text().rpartition(")")[2].split()
            seconds[threads.get(thread, "device")] += (int(fields[11]) + int(fields[12])) / TICKS
    return seconds


async def _disks(qmp: QMPClient) -> Json:
    total = dict.fromkeys(("read_count", "write_count", "read_bytes", "write_bytes", "read_time", "write_time"), 0.0)
    devices: Any = await qmp.execute("query-blockstats")
    for device in devices:
        stats = device["stats"]
        for kind, short in (("read", "rd"), ("write", "wr")):
            total[f"{kind}_count"] += stats[f"{short}_operations"]
            total[f"{kind}_bytes"] += stats[f"{short}_bytes"]
            total[f"{kind}_time"] += stats[f"{short}_total_time_ns"] / 1e6
    return total if devices else {}


def _exits(pid: int) -> int | None:
    """How often the machine left its own code, where the kernel tells (KVM's debugfs)."""
    with contextlib.suppress(OSError, ValueError, StopIteration):
        return int((next(KVM_STATISTICS.glob(f"{pid}-*")) / "exits").read_text())
    return None
