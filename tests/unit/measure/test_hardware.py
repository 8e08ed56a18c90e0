"""What a machine says of itself, from a tree of /sys and /proc."""

import resource
import subprocess
from pathlib import Path

import pytest

from loadstone.host import launch
from loadstone.measure.hardware import list_memory_modules, read_hardware

OF_THIS_PROCESS = {"file systems", "memory modules", "limits of a process"}
"""Parts that are not read from the tree."""


def test_parts_are_read_from_where_the_kernel_shows_them(tmp_path: Path) -> None:
    files = {
        "sys/class/dmi/id/board_name": "X11",
        **{f"sys/devices/system/cpu/cpu{n}/topology/physical_package_id": str(n // 4) for n in range(8)},
        **{f"sys/devices/system/cpu/cpu{n}/topology/thread_siblings_list": f"{n // 2}" for n in range(8)},
        "sys/devices/system/cpu/cpu0/cache/index3/level": "3",
        "sys/devices/system/cpu/cpu0/cache/index3/type": "Unified",
        "sys/devices/system/cpu/cpu0/cache/index3/size": "32768K",
        "sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list": "0-3",
        "sys/devices/system/node/node1/cpulist": "4-7",
        "sys/devices/system/node/node1/meminfo": "Node 1 MemTotal:       1024 kB\nNode 1 MemFree: 1 kB",
        "sys/class/net/eth7/mtu": "9000",
        "sys/class/net/eth7/speed": "10000",
        "sys/block/sdx/size": "2097152",
        "sys/block/sdx/queue/rotational": "1",
        "sys/block/sdx/queue/scheduler": "none [mq-deadline] kyber",
        "sys/block/loop0/size": "8",
        "proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    parts = {name: facts for name, facts in read_hardware(tmp_path).items() if name not in OF_THIS_PROCESS}
    assert parts == {
        "board": {"board name": "X11"},
        "processor": {"sockets": "2", "threads a core": "2", "L3 unified cache": "32768K, shared by cores 0-3"},
        "NUMA nodes": {"node1": "cores 4-7, 1024 kB"},
        "network cards": {"eth7": "MTU 9000, 10000 Mbit/s"},
        "disks": {"sdx": "1.0 GiB, rotating, scheduler mq-deadline"},
        "kernel settings": {"net.ipv4.tcp_rmem": "4096 131072 6291456", "transparent huge pages": "madvise"},
    }


def test_what_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    assert set(read_hardware(tmp_path)) <= OF_THIS_PROCESS


def test_limits_of_a_process_are_those_that_its_servers_get() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    shown = read_hardware()["limits of a process"]["open files"]
    assert shown == (str(soft) if soft == hard else f"{soft}, at most {hard}")


def test_memory_modules_are_listed_by_slot_and_empty_slots_are_not() -> None:
    text = """Memory Device
\tSize: 16 GB
\tLocator: DIMM_A1
\tBank Locator: P0_Node0
\tType: DDR4
\tSpeed: 3200 MT/s
\tManufacturer: Unknown
\tPart Number: M393

Memory Device
\tSize: No Module Installed
\tLocator: DIMM_A2
\tType: Unknown
"""
    assert dict(list_memory_modules(text)) == {"DIMM_A1": "16 GB, DDR4, 3200 MT/s, M393"}
    assert dict(list_memory_modules("")) == {}


def test_memory_modules_are_asked_for_once_in_a_boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def answer(argv: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(argv)
        return subprocess.CompletedProcess(argv, 0, "Memory Device\n\tSize: 8 GB\n\tLocator: A1\n", "")

    monkeypatch.setenv("LOADSTONE_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setattr(launch, "run", answer)
    shown = [read_hardware(tmp_path)["memory modules"] for _ in range(2)]
    assert shown == [{"A1": "8 GB"}] * 2
    assert [argv[0] for argv in asked] == ["dmidecode"]
