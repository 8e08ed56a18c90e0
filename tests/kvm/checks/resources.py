"""Cores and memory of a machine, compared with the kernel's account of QEMU's process."""

import re
from dataclasses import dataclass
from pathlib import Path

from tests.kvm.checks.check import COLD, Check, Machines, read_status, thread_cores

HUGE_PAGES = Path("/proc/sys/vm/nr_hugepages")
HUGE_PAGES_NEEDED = 160
"""A machine of 256 MiB takes 128 of 2 MiB."""
SHARED = f"{COLD},cpus=2,pin=2-3,bind_memory=true,cpu_weight=300,nice=5"


@dataclass(frozen=True)
class Mapping:
    """A mapping of a process, as in its numa_maps."""

    line: str
    page_kib: int
    pages: dict[str, int]
    """Pages by node."""

    @property
    def kib(self) -> int:
        """Memory in use."""
        return self.page_kib * sum(self.pages.values())


def _read_mapping(line: str) -> Mapping:
    pages = {node: int(count) for node, count in re.findall(r" (N\d+)=(\d+)", line)}
    size = re.search(r"kernelpagesize_kB=(\d+)", line)
    return Mapping(line, int(size[1]) if size else 4, pages)


def _machine_memory(pid: int) -> Mapping:
    """Returns the largest mapping of QEMU's process."""
    lines = Path(f"/proc/{pid}/numa_maps").read_text().splitlines()
    return max(map(_read_mapping, lines), key=lambda mapping: mapping.kib)


def _free_huge_pages() -> int:
    """Returns the huge pages that no process has or has reserved."""
    numbers = dict(re.findall(r"^HugePages_(\w+):\s*(\d+)", Path("/proc/meminfo").read_text(), re.MULTILINE))
    return int(numbers["Free"]) - int(numbers["Rsvd"])


async def _huge_pages(machines: Machines) -> str:
    await machines.close()
    HUGE_PAGES.write_text(str(HUGE_PAGES_NEEDED))
    free = _free_huge_pages()
    assert free == HUGE_PAGES_NEEDED, f"the kernel gave {free} huge pages"
    try:
        (machine,) = await machines.start(f"{COLD},pages=huge")
        memory = _machine_memory(machine.pid)
        assert " huge" in memory.line, memory
        assert free - _free_huge_pages() == 128, _free_huge_pages()
        return f"{memory.kib >> 10} MiB in pages of {memory.page_kib} KiB; 128 of {free} huge pages taken"
    finally:
        await machines.close()
        HUGE_PAGES.write_text("0")


async def _pin(machines: Machines) -> str:
    (machine,) = await machines.start(SHARED)
    assert thread_cores(machine) == {"2-3"}, thread_cores(machine)
    return f"{len([*Path(f'/proc/{machine.pid}/task').iterdir()])} threads on cores 2-3"


async def _bound_memory(machines: Machines) -> str:
    (machine,) = await machines.start(SHARED)
    memory = _machine_memory(machine.pid)
    assert memory.pages.keys() == {"N1"}, memory
    assert "bind:1" in memory.line, memory
    assert memory.kib == 256 << 10, memory
    return f"{memory.kib >> 10} MiB on {[*memory.pages]}, policy bind:1; disclosed: {machine.facts['host_share']}"


async def _weights(machines: Machines) -> str:
    (machine,) = await machines.start(SHARED)
    group = Path("/sys/fs/cgroup") / Path(f"/proc/{machine.pid}/cgroup").read_text().strip().rpartition(":/")[2]
    weight = (group / "cpu.weight").read_text().strip()
    nice = Path(f"/proc/{machine.pid}/stat").read_text().rpartition(")")[2].split()[16]
    assert (weight, nice) == ("300", "5"), (weight, nice)
    assert read_status(Path(f"/proc/{machine.pid}"), "Uid").split()[0] != "0"
    return f"{group.name}: cpu.weight 300, nice 5, user {read_status(Path(f'/proc/{machine.pid}'), 'Uid').split()[0]}"


async def _two_machines(machines: Machines) -> str:
    first, second = await machines.start(f"{COLD},pin=0-1", f"{COLD},pin=2-3")
    assert (thread_cores(first), thread_cores(second)) == ({"0-1"}, {"2-3"})
    assert first.address != second.address
    assert first.facts["boot_id"] != second.facts["boot_id"]
    return f"{first.address} and {second.address}, booted in {first.facts['boot_s']} and {second.facts['boot_s']} s"


CHECKS = (
    Check("huge-pages", "pages=huge: the machine's memory is huge pages", _huge_pages),
    Check("pin", "pin: every thread of QEMU keeps to the cores", _pin),
    Check("bound-memory", "bind_memory: all memory is on the node of the cores", _bound_memory),
    Check("weights", "cpu_weight and nice: the control group and the process have them", _weights),
    Check("two-machines", "two machines run at once, on cores of their own", _two_machines),
)
