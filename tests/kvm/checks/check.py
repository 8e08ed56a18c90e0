"""A check, and the machines that checks start."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from loadstone.platforms.maker import MachineMaker, open_maker
from loadstone.platforms.registry import read_machine
from loadstone.platforms.vm.machine import VirtualMachine

LOGS = Path("/srv/results/logs")
KVM_MACHINE = "platform=vm,accelerator=kvm,memory=256"


@dataclass(frozen=True)
class Check:
    """A check: its function returns the values that it read, and raises where they are not as they must be."""

    name: str
    title: str
    function: Callable[[], Awaitable[str]]


@asynccontextmanager
async def open_machines() -> AsyncIterator[MachineMaker]:
    """Opens a maker of machines, whose consoles stay among the results."""
    LOGS.mkdir(parents=True, exist_ok=True)
    async with open_maker(LOGS) as maker:
        yield maker


@asynccontextmanager
async def open_machine(settings: str, name: str = "machine") -> AsyncIterator[VirtualMachine]:
    """Starts a machine by KVM with further settings, on a public network."""
    async with open_machines() as maker:
        yield await start_machine(maker, settings, name)


async def start_machine(maker: MachineMaker, settings: str, name: str) -> VirtualMachine:
    """Starts a machine by KVM with further settings."""
    spec = read_machine(f"{KVM_MACHINE},cold=true{',' if settings else ''}{settings}")
    machine = await maker.machine(name, spec, ["public"], "127.0.0.1")
    assert isinstance(machine, VirtualMachine)
    assert machine.facts["accelerator"] == "kvm", machine.facts
    return machine


def read_argv(pid: int) -> list[str]:
    """Returns the command line of a process."""
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]


def read_allowed_cores(task: Path) -> str:
    """Returns the cores that a task may use, as its kernel lists them."""
    found = re.search(r"^Cpus_allowed_list:\s*(\S+)$", (task / "status").read_text(), re.MULTILINE)
    assert found, task
    return found[1]


async def run_command(*argv: str, timeout_s: float = 600.0) -> tuple[int, str]:
    """Runs a command of the product; returns its code and all that it printed, which also goes to the console."""
    process = await asyncio.create_subprocess_exec(
        "python3", "-m", "loadstone", *argv, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await asyncio.wait_for(process.communicate(), timeout_s)
    text = output.decode(errors="replace")
    print(f"$ loadstone {' '.join(argv)}\n{text}")
    assert process.returncode is not None
    return process.returncode, text
