"""Whether this host can have a pair, and a secondary of one: what must be, and what had better be."""

import os
import resource
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from loadstone.platforms.pair.build import explain_unfit_qemu

FITNESS_MIB = 1 << 20
BESIDE_MIB = 450
"""What a side needs besides its machine's memory: QEMU itself, translated code, both rings of the log, its agent. Sides
of 192 and of 512 MiB took 260 to 400 MiB more, the most after failovers.
"""
MOST_PAIRS_A_CORE = 4
"""Pairs on a host beyond which VMware's best practices warn (docs/fault-tolerance.md)."""
LEAST_LINK_MBIT_PER_S = 1000
"""Speed of the link between both sides that VMware's best practices advise."""
MOST_MHZ = 400
"""Difference of clocks beyond which they warn too."""
LOCKING = 14
"""Number of CAP_IPC_LOCK (capabilities(7))."""
CLOCK_SAMPLE_INTERVAL_S = 0.5


@dataclass(frozen=True)
class FitnessFinding:
    """One thing that was looked at."""

    matter: str
    detail: str
    is_fit: bool = True
    is_needed: bool = True
    """Whether there is no pair without it."""


def examine_host(memory_mib: int, sides: int) -> list[FitnessFinding]:
    """Returns what this host offers to so many sides of a pair with so much memory."""
    unfit = explain_unfit_qemu()
    others = sum(
        " agent --name " in " ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])
    )
    return [
        FitnessFinding("QEMU", unfit or "its record and replay are known", not unfit),
        FitnessFinding("rights", "root" if os.geteuid() == 0 else "its own networks require root", os.geteuid() == 0),
        examine_memory(memory_mib, sides),
        FitnessFinding(
            "memory lock",
            "may be locked" if may_lock_memory() else "may be swapped out: root may lock it",
            may_lock_memory(),
            False,
        ),
        examine_processors(sides, read_free_cores()),
        FitnessFinding(
            "other pairs",
            f"{others // 2} here; more than {MOST_PAIRS_A_CORE} on a host disturb each other",
            others // 2 < MOST_PAIRS_A_CORE,
            False,
        ),
        *find_unlike(read_processor_models(), read_clocks_mhz()),
    ]


def examine_memory(memory_mib: int, sides: int) -> FitnessFinding:
    """Compares free memory of this host with that of so many sides."""
    return compare_memory(psutil.virtual_memory().available // FITNESS_MIB, memory_mib, sides)


def compare_memory(free_mib: int, memory_mib: int, sides: int) -> FitnessFinding:
    """Compares free memory of a host with that of so many sides."""
    wanted_mib = sides * (memory_mib + BESIDE_MIB)
    return FitnessFinding("memory", f"{free_mib} MiB free, {wanted_mib} needed", free_mib >= wanted_mib)


def read_free_cores() -> float:
    """Measures for half a second how many cores no process uses."""
    return len(os.sched_getaffinity(0)) * (1 - psutil.cpu_percent(CLOCK_SAMPLE_INTERVAL_S) / 100)


def examine_processors(sides: int, free_cores: float) -> FitnessFinding:
    """Compares free cores with those of so many sides."""
    detail = f"{free_cores:.1f} of {len(os.sched_getaffinity(0))} cores free, {sides} wanted"
    return FitnessFinding("processors", detail, free_cores >= sides, False)


def explain_refusal(checks: list[FitnessFinding]) -> str:
    """Why there can be none; empty where there can."""
    return "; ".join(f"{check.matter}: {check.detail}" for check in checks if check.is_needed and not check.is_fit)


def may_lock_memory() -> bool:
    """Whether machines' memory may be kept from being swapped out: a machine that waits for a disk falls behind."""
    status = Path("/proc/self/status").read_text()
    capable = next((int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff:")), 0)
    unlimited = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] == resource.RLIM_INFINITY
    return unlimited or bool(capable >> LOCKING & 1)


def read_clocks_mhz() -> list[float]:
    """Highest clock of each processor; none where that is not known."""
    return [clock.max for clock in psutil.cpu_freq(percpu=True) or () if clock.max]


def read_link_speed(address: str) -> int:
    """Speed of the interface with this address, in Mbit/s; 0 where that is not known, as of virtual ones."""
    speeds = psutil.net_if_stats()
    for name, addresses in psutil.net_if_addrs().items():
        if name in speeds and any(entry.address == address for entry in addresses):
            return speeds[name].speed
    return 0


def find_slow_links(mbit_per_s: Mapping[str, int]) -> list[FitnessFinding]:
    """Links between sides, by host, that are slower than advised."""
    slow = [f"{host} {speed} Mbit/s" for host, speed in mbit_per_s.items() if 0 < speed < LEAST_LINK_MBIT_PER_S]
    text = f"{', '.join(slow)}: less than {LEAST_LINK_MBIT_PER_S} Mbit/s, so the log may fill it"
    return [FitnessFinding("links", text, False, False)] if slow else []


def read_processor_models() -> list[str]:
    """Model of each processor, as the kernel names it."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]


def find_unlike(names: Sequence[str], clocks_mhz: Sequence[float]) -> list[FitnessFinding]:
    """Returns what differs between hosts although it should be the same wherever sides may run."""
    differences = []
    if len(set(names)) > 1:
        differences.append(FitnessFinding("processor models", f"differ: {', '.join(sorted(set(names)))}", False, False))
    if clocks_mhz and max(clocks_mhz) - min(clocks_mhz) > MOST_MHZ:
        text = f"{min(clocks_mhz):.0f} to {max(clocks_mhz):.0f} MHz, more than {MOST_MHZ} apart: the slower side lags"
        differences.append(FitnessFinding("clocks", text, False, False))
    return differences
