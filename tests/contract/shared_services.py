"""Services that several configurations of a module ask, each started once and kept up until the module ends."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from loadstone.measure.status import Look, StatusMeter
from loadstone.model.machine import PUBLIC, MachineSpec
from loadstone.platforms import journal
from loadstone.platforms.contract import Machine
from loadstone.testbed import roles
from loadstone.testbed.context import TestbedContext, open_testbed
from loadstone.testbed.running import Running

WAIT_S = 60.0
Start = Callable[[Running, Machine], Awaitable[int]]
Place = tuple[Machine, int]
"""A machine and the port of the service on it."""


HELD: set[str] = set()
"""Names of the journals of testbeds that fixtures of a module keep up."""


@asynccontextmanager
async def held_testbed(logs: Path) -> AsyncIterator[TestbedContext]:
    """Opens a testbed that a fixture of a module keeps up: nothing on it counts as left by a test."""
    async with open_testbed(logs) as base:
        name = base.here.journal.name
        HELD.add(name)
        try:
            yield base
        finally:
            HELD.remove(name)


def held_processes() -> set[str]:
    """Returns the ids of all processes that were started for testbeds which are held."""
    journals = [journal.runtime_folder() / name / journal.JOURNAL for name in HELD]
    notes = [json.loads(line) for path in journals for line in path.read_text().splitlines()]
    return {str(note["pid"]) for note in notes if note["kind"] == "process"}


async def first_reading(meter: StatusMeter) -> tuple[float, Look]:
    """Returns what a service says of itself. On a busy machine it may not answer in time at once."""
    async with asyncio.timeout(WAIT_S):
        while (reading := await meter.read()) is None:
            await asyncio.sleep(0.1)
    return reading


@dataclass
class SharedServices:
    """Starts each service when it is first asked for, on a machine of its own."""

    running: Running
    places: dict[str, Place] = field(default_factory=dict)

    async def place(self, name: str, start: Start) -> Place:
        """Returns where a service runs, which has this name among those of the module."""
        if name not in self.places:
            machine = await self.running.base.machine(name, MachineSpec(), (PUBLIC,))
            self.places[name] = machine, await start(self.running, machine)
        return self.places[name]

    async def database(self, name: str) -> Place:
        """Returns where the database of this kind runs."""
        return await self.place(f"database-{name}", partial(roles.database, name=name, threads=1))

    async def cache(self, name: str) -> Place:
        """Returns where the cache of this kind runs."""
        return await self.place(f"cache-{name}", partial(roles.cache, name=name, threads=1))


def shared_services(runner: asyncio.Runner, logs: Path) -> Iterator[SharedServices]:
    """Yields services that end when the generator does."""
    stack = AsyncExitStack()
    yield SharedServices(Running(runner.run(stack.enter_async_context(held_testbed(logs)))))
    runner.run(stack.aclose())
