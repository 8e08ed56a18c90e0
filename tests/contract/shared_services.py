"""Services that several configurations of a module ask, each started once and kept up until the module ends."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from loadstone.measure.status import ServiceStatus, StatusMeter
from loadstone.model.machine import PUBLIC, MachineSpec
from loadstone.model.service import EMBEDDED
from loadstone.platforms import journal
from loadstone.services.registry import get_service_kind
from loadstone.testbed.context import TestbedContext, open_testbed
from loadstone.testbed.running import Running
from loadstone.testbed.start import StartedService, build_site_on, start_service

WAIT_S = 60.0
HELD: set[str] = set()
"""Names of the journals of testbeds that fixtures of a module keep up."""


@asynccontextmanager
async def held_testbed(logs: Path) -> AsyncIterator[TestbedContext]:
    """Opens a testbed that a fixture of a module keeps up: nothing on it counts as left by a test."""
    async with open_testbed(logs) as base:
        name = base.local.journal.name
        HELD.add(name)
        try:
            yield base
        finally:
            HELD.remove(name)


def held_processes() -> set[str]:
    """Returns the ids of all processes that were started for testbeds which are held."""
    journals = [journal.find_runtime_folder() / name / journal.JOURNAL for name in HELD]
    notes = [json.loads(line) for path in journals for line in path.read_text().splitlines()]
    return {str(note["pid"]) for note in notes if note["kind"] == "process"}


async def first_reading(meter: StatusMeter) -> tuple[float, ServiceStatus]:
    """Returns what a service says of itself. On a busy machine it may not answer in time at once."""
    async with asyncio.timeout(WAIT_S):
        while (reading := await meter.read()) is None:
            await asyncio.sleep(0.1)
    return reading


@dataclass
class SharedServices:
    """Starts each service when it is first asked for, on a machine of its own."""

    running: Running
    services: dict[tuple[str, str], StartedService] = field(default_factory=dict)

    async def of(self, role: str, name: str = EMBEDDED) -> StartedService:
        """Returns a role's service of this name, up."""
        if (role, name) not in self.services:
            machine = await self.running.base.start_machine(f"{role}-{name}", MachineSpec(), (PUBLIC,))
            started = await start_service(self.running, machine, get_service_kind(role, name), build_site_on(machine))
            self.services[role, name] = started
        return self.services[role, name]


def shared_services(runner: asyncio.Runner, logs: Path) -> Iterator[SharedServices]:
    """Yields services that end when the generator does."""
    stack = AsyncExitStack()
    yield SharedServices(Running(runner.run(stack.enter_async_context(held_testbed(logs)))))
    runner.run(stack.aclose())
