"""Cores and memory of a machine, compared with the kernel's account of QEMU's process."""

import re
from collections import Counter
from pathlib import Path

from loadstone.platforms.vm.machine import VirtualMachine
from tests.kvm.checks.check import Check, open_machine, open_machines, read_allowed_cores, start_machine

HUGE_PAGES = Path("/proc/sys/vm/nr_hugepages")


def _read_meminfo(name: str) -> int:
    found = re.search(rf"^{name}:\s*(\d+)", Path("/proc/meminfo").read_text(), re.MULTILINE)
    assert found
    return int(found[1])


def _largest_mapping(pid: int) -> tuple[str, Counter[str]]:
    """Returns the line of a process's largest mapping, which is its machine's memory, and its pages by node."""
    best, most = "", Counter[str]()
    for line in Path(f"/proc/{pid}/numa_maps").read_text().splitlines():
        pages = Counter({node: int(count) for node, count in re.findall(r" (N\d+)=(\d+)", line)})
        size = int(match[1]) if (match := re.search(r"kernelpagesize_kB=(\d+)", line)) else 4
        if pages.total() * size > most.total() * (4 if "kernelpagesize_kB" not in best else _page_kib(best)):
            best, most = line, pages
    return best, most


def _page_kib(line: str) -> int:
    match = re.search(r"kernelpagesize_kB=(\d+)", line)
    return int(match[1]) if match else 4


async def _huge_pages() -> str:
    HUGE_PAGES.write_text("160")
    try:
        free = _read_meminfo("HugePages_Free")
        assert free >= 128, f"the kernel gave {free} huge pages"
        async with open_machine("pages=huge") as machine:
            line, pages = _largest_mapping(machine.pid)
            assert " huge" in line, line
            return f"{pages.total()} pages of {_page_kib(line)} KiB in use, of {free} that were free"
    finally:
        HUGE_PAGES.write_text("0")


def _thread_cores(machine: VirtualMachine) -> set[str]:
    return {read_allowed_cores(task) for task in Path(f"/proc/{machine.pid}/task").iterdir()}


async def _pin() -> str:
    async with open_machine("pin=1") as machine:
        cores = _thread_cores(machine)
        assert cores == {"1"}, cores
        return f"{len(list(Path(f'/proc/{machine.pid}/task').iterdir()))} threads on core 1"


async def _two_machines() -> str:
    async with open_machines() as maker:
        first = await start_machine(maker, "pin=0-1", "first")
        second = await start_machine(maker, "pin=2-3", "second")
        assert _thread_cores(first) == {"0-1"}
        assert _thread_cores(second) == {"2-3"}
        assert first.address != second.address
        assert first.facts["boot_id"] != second.facts["boot_id"]
        return f"{first.address} and {second.address}, booted in {first.facts['boot_s']} and {second.facts['boot_s']} s"


CHECKS = (
    Check("huge-pages", "pages=huge: the machine's memory is huge pages", _huge_pages),
    Check("pin", "pin: every thread of QEMU keeps to the core", _pin),
    Check("two-machines", "two machines run at once, on cores of their own", _two_machines),
)
