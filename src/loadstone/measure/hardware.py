"""What a machine is made of and how its kernel is set, as published disclosures list it. Linux: /sys and /proc."""

import contextlib
import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil

from loadstone.host import launch
from loadstone.host.identity import read_boot_id
from loadstone.host.runtime import make_private_folder
from loadstone.measure.masked import read_shown
from loadstone.model.errors import PlatformError

KERNEL_SETTINGS = (
    *("fs/file-max", "kernel/numa_balancing", "kernel/sched_autogroup_enabled", "net/core/netdev_max_backlog"),
    *("net/core/optmem_max", "net/core/rmem_default", "net/core/rmem_max", "net/core/somaxconn"),
    *("net/core/wmem_default", "net/core/wmem_max", "net/ipv4/conf/all/arp_filter", "net/ipv4/ip_forward"),
    *("net/ipv4/ip_local_port_range", "net/ipv4/tcp_congestion_control", "net/ipv4/tcp_fin_timeout"),
    *("net/ipv4/tcp_max_syn_backlog", "net/ipv4/tcp_max_tw_buckets", "net/ipv4/tcp_mem", "net/ipv4/tcp_rmem"),
    *("net/ipv4/tcp_sack", "net/ipv4/tcp_slow_start_after_idle", "net/ipv4/tcp_syncookies"),
    *("net/ipv4/tcp_timestamps", "net/ipv4/tcp_tso_win_divisor", "net/ipv4/tcp_tw_reuse"),
    *("net/ipv4/tcp_window_scaling", "net/ipv4/tcp_wmem"),
    *("vm/dirty_background_ratio", "vm/dirty_ratio", "vm/nr_hugepages", "vm/overcommit_memory", "vm/swappiness"),
)
"""Kernel settings that move figures of servers and drivers."""
PROCESS_LIMITS = {
    "open files": resource.RLIMIT_NOFILE,
    "processes": resource.RLIMIT_NPROC,
    "locked memory, bytes": resource.RLIMIT_MEMLOCK,
    "stack, bytes": resource.RLIMIT_STACK,
}
"""Limits of a process that servers and drivers meet, by `ulimit`."""
BOARD = ("sys_vendor", "product_name", "board_vendor", "board_name", "bios_vendor", "bios_version", "bios_date")
OFFLOADS = {
    "tcp-segmentation-offload": "TSO",
    "generic-segmentation-offload": "GSO",
    "generic-receive-offload": "GRO",
    "large-receive-offload": "LRO",
    "rx-checksumming": "rx checksums",
    "tx-checksumming": "tx checksums",
}
"""What a card may do instead of the kernel, as `ethtool` names it."""
HARDWARE_TOOL_TIMEOUT_S = 5.0
UNSTATED = ("Unknown", "Not Specified", "None")
"""What `dmidecode` prints where the board does not say."""


def read_hardware(root: Path = Path("/")) -> dict[str, dict[str, str]]:
    """Returns facts as texts, by part. Parts of which nothing can be read are left out. `root` is where /sys and /proc
    are.
    """
    parts = {
        "board": dict(_board(root)),
        "processor": dict(_processor(root)),
        "memory modules": dict(list_memory_modules(_dmi_memory())),
        "NUMA nodes": dict(_nodes(root)),
        "network cards": dict(_cards(root)),
        "disks": dict(_disks(root)),
        "file systems": dict(_file_systems()),
        "kernel settings": dict(_settings(root)),
        "limits of a process": dict(_limits()),
    }
    return {name: facts for name, facts in parts.items() if facts}


def _board(root: Path) -> Iterator[tuple[str, str]]:
    for name in BOARD:
        if value := read_text_if_any(root / "sys/class/dmi/id" / name):
            yield name.replace("_", " "), value


def _processor(root: Path) -> Iterator[tuple[str, str]]:
    """Sockets, threads of a core, and the caches of the first one."""
    topology = list((root / "sys/devices/system/cpu").glob("cpu[0-9]*/topology"))
    sockets = {read_text_if_any(cpu / "physical_package_id") for cpu in topology} - {""}
    if sockets:
        yield "sockets", str(len(sockets))
    siblings = {read_text_if_any(cpu / "thread_siblings_list") for cpu in topology} - {""}
    if siblings:
        yield "threads a core", f"{len(topology) / len(siblings):g}"
    for cache in sorted((root / "sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (read_text_if_any(cache / name) for name in ("level", "type", "size"))
        if size:
            shared = read_text_if_any(cache / "shared_cpu_list")
            yield f"L{level} {kind.lower()} cache", f"{size}, shared by cores {shared}"


def _dmi_memory() -> str:
    """Returns what `dmidecode` says of memory devices. It is asked once in a boot: modules do not change meanwhile."""
    try:
        stored = make_private_folder() / f"memory-modules-{read_boot_id()}.txt"
    except (OSError, PlatformError):
        return _ask_dmi_memory()
    if stored.is_file():
        return read_text_if_any(stored)
    text = _ask_dmi_memory()
    with contextlib.suppress(OSError):
        unfinished = stored.with_suffix(f".{os.getpid()}")
        unfinished.write_text(text)
        unfinished.replace(stored)
    return text


def _ask_dmi_memory() -> str:
    """Returns what `dmidecode` says of memory devices; empty where it is missing or not permitted."""
    try:
        done = launch.run(["dmidecode", "--quiet", "--type", "17"], timeout=HARDWARE_TOOL_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def list_memory_modules(text: str) -> Iterator[tuple[str, str]]:
    """Yields slot and facts of each module that `dmidecode --type 17` lists; empty slots are left out."""
    for device in text.split("Memory Device")[1:]:
        facts = dict(line.strip().split(": ", 1) for line in device.splitlines() if ": " in line)
        size = facts.get("Size", "")
        if size[:1].isdigit():
            details = (size, *(facts.get(name, "") for name in ("Type", "Speed", "Manufacturer", "Part Number")))
            known = (detail for detail in details if detail and detail not in UNSTATED)
            yield facts.get("Locator", "a slot"), ", ".join(known)


def _nodes(root: Path) -> Iterator[tuple[str, str]]:
    for node in sorted((root / "sys/devices/system/node").glob("node[0-9]*")):
        memory = read_text_if_any(node / "meminfo").partition("MemTotal:")[2].partition("\n")[0].strip()
        yield node.name, f"cores {read_text_if_any(node / 'cpulist')}, {memory}"


def _cards(root: Path) -> Iterator[tuple[str, str]]:
    for card in sorted((root / "sys/class/net").glob("*")):
        details = [f"MTU {read_text_if_any(card / 'mtu')}"]
        driver = card / "device/driver"
        details += [driver.resolve().name] if driver.exists() else []
        speed = read_text_if_any(card / "speed")
        details += [f"{speed} Mbit/s"] if speed.isdigit() else []
        details += [f"offloads {offloads}"] if driver.exists() and (offloads := _offloads(card.name)) else []
        yield card.name, ", ".join(details)


def _offloads(card: str) -> str:
    """What of OFFLOADS is on; empty where there is no `ethtool` to say."""
    try:
        argv = ["ethtool", "--show-features", card]
        done = launch.run(argv, timeout=HARDWARE_TOOL_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    features = dict(line.strip().split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    return "+".join(short for name, short in OFFLOADS.items() if features.get(name, "").startswith("on"))


def _disks(root: Path) -> Iterator[tuple[str, str]]:
    for disk in sorted((root / "sys/block").glob("*")):
        sectors = read_text_if_any(disk / "size")
        if not sectors.isdigit() or sectors == "0" or disk.name.startswith(("loop", "ram")):
            continue
        turns = "rotating" if read_text_if_any(disk / "queue/rotational") == "1" else "not rotating"
        chosen = read_text_if_any(disk / "queue/scheduler").partition("[")[2].partition("]")[0]
        model, cache = read_text_if_any(disk / "device/model"), read_text_if_any(disk / "queue/write_cache")
        details = [model, f"{int(sectors) * 512 / 2**30:.1f} GiB", turns, f"scheduler {chosen}" * bool(chosen), cache]
        yield disk.name, ", ".join(filter(None, details))


def _file_systems() -> Iterator[tuple[str, str]]:
    for partition in read_shown(psutil.disk_partitions) or ():
        yield partition.mountpoint, f"{partition.fstype} on {partition.device}, {partition.opts}"


def _settings(root: Path) -> Iterator[tuple[str, str]]:
    for name in KERNEL_SETTINGS:
        if value := read_text_if_any(root / "proc/sys" / name):
            yield name.replace("/", "."), " ".join(value.split())
    pages = read_text_if_any(root / "sys/kernel/mm/transparent_hugepage/enabled")
    if pages:
        yield "transparent huge pages", pages.partition("[")[2].partition("]")[0]


def _limits() -> Iterator[tuple[str, str]]:
    """Yields each limit as soft and hard limit of this process, from which its drivers and servers have theirs."""
    for name, limit in PROCESS_LIMITS.items():
        soft, hard = (
            "unlimited" if value == resource.RLIM_INFINITY else str(value) for value in resource.getrlimit(limit)
        )
        yield name, soft if soft == hard else f"{soft}, at most {hard}"


def read_text_if_any(path: Path) -> str:
    """A file's text, empty where it cannot be read: many a card has no speed."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
