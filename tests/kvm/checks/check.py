"""A check, and the machines that checks start."""

import asyncio
import contextlib
import re
import subprocess
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from loadstone.model.machine import PUBLIC, SERVER
from loadstone.model.target import Endpoint
from loadstone.platforms.maker import open_maker
from loadstone.platforms.registry import read_machine
from loadstone.platforms.vm.machine import VirtualMachine

LOGS = Path("/srv/results/logs")
KVM_MACHINE = "platform=vm,accelerator=kvm,memory=256"
COLD = "cold=true"
IDLE_PORT = 9000
COMMAND_TIMEOUT_S = 2400.0
"""Longest time for a command, which may boot two machines one after the other."""


@dataclass
class Machines:
    """Machines by KVM. Checks of the same settings share them; those of other settings end the earlier ones."""

    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    running: dict[str, VirtualMachine] = field(default_factory=dict)

    async def start(self, *settings: str) -> list[VirtualMachine]:
        """Returns a machine for each of these settings, on one public network."""
        if [*self.running] != [*settings]:
            await self.close()
            LOGS.mkdir(parents=True, exist_ok=True)
            maker = await self.stack.enter_async_context(open_maker(LOGS))
            for number, declared in enumerate(settings, 1):
                spec = read_machine(f"{KVM_MACHINE},{declared}")
                machine = await maker.start_machine(f"machine{number}", spec, [PUBLIC], "127.0.0.1")
                assert isinstance(machine, VirtualMachine)
                assert machine.facts["accelerator"] == "kvm", machine.facts
                self.running[declared] = machine
        return list(self.running.values())

    async def close(self) -> None:
        """Ends all machines."""
        self.running.clear()
        await self.stack.aclose()


def load_module() -> None:
    """Loads KVM's module, which brings the device."""
    subprocess.run(["modprobe", "kvm-amd"], check=True)


@dataclass(frozen=True)
class Check:
    """A check: its function returns the values that it read, and raises where they are not as they must be."""

    name: str
    title: str
    function: Callable[[Machines], Awaitable[str]]
    needs_module: bool = True
    """Whether KVM's module is loaded before it."""


async def serve_idle(machine: VirtualMachine) -> Endpoint:
    """Starts the server of heartbeats in a machine; returns where this host reaches it."""
    if "idle" not in machine.services:
        await machine.start("idle", [SERVER, "idle", "--listen", f"0.0.0.0:{IDLE_PORT}"])
    return await machine.find_endpoint(IDLE_PORT)


def read_argv(pid: int) -> list[str]:
    """Returns the command line of a process."""
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]


def read_status(task: Path, name: str) -> str:
    """Returns a line of a task's status, as its kernel writes it."""
    line = re.search(rf"^{name}:\s*(.+)$", (task / "status").read_text(), re.MULTILINE)
    assert line, task
    return line[1]


def thread_cores(machine: VirtualMachine) -> set[str]:
    """Returns the lists of cores that the threads of a machine's process may use, unless they end meanwhile."""
    cores: set[str] = set()
    for task in Path(f"/proc/{machine.pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            cores.add(read_status(task, "Cpus_allowed_list"))
    return cores


async def run_command(*argv: str) -> tuple[int, str]:
    """Runs a command of the product; returns its code and all that it printed, which also goes to the console."""
    process = await asyncio.create_subprocess_exec(
        "python3", "-m", "tests.kvm.patience", *argv, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), COMMAND_TIMEOUT_S)
    except TimeoutError:
        process.terminate()
        await process.wait()
        raise
    text = output.decode(errors="replace")
    print(f"$ loadstone {' '.join(argv)}\n{text}")
    assert process.returncode is not None
    return process.returncode, text
