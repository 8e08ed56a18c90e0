"""Executing one plan against a testbed that is up: driver, monitors and store side by side."""

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from loadstone.measure.monitor import Monitor
from loadstone.model.errors import DriverError
from loadstone.run.driver import Driving, Joining, Task, driving, rehearsing, running
from loadstone.services.station import layout
from loadstone.store.folder import RunFolder
from loadstone.testbed import Testbed

Json = dict[str, Any]
Listener = Callable[[Json], object]

LOOK_S = 0.5
"""Time between two looks whether all parts of the system are alive."""


class Scribes:
    """The record files of all workloads of a plan: what is said of one goes into its folder, the rest into each."""

    def __init__(self, folders: Mapping[str, RunFolder], stack: contextlib.ExitStack) -> None:
        self.events = {name: stack.enter_context(folder.lines("events.jsonl")) for name, folder in folders.items()}
        self.samples = [stack.enter_context(folder.lines("monitor.jsonl")) for folder in folders.values()]

    def event(self, line: str, event: Json) -> None:
        """Keeps an event of the driver."""
        part = event.get("part")
        for name, file in self.events.items():
            if part in (None, name):
                file.write(line)

    def sample(self, sample: Json) -> None:
        """Keeps what a monitor saw."""
        for file in self.samples:
            file.write(json.dumps(sample) + "\n")


@dataclass
class Executor:
    """Runs plans one after the other; `interrupt` ends the one under way and keeps what it measured."""

    testbed: Testbed
    listener: Listener
    joining: Joining | None = None
    interrupted: bool = False
    _driving: Driving | None = field(default=None, repr=False)
    _dead: str = ""

    async def execute(self, plan: Json, folders: Mapping[str, RunFolder]) -> None:
        """Runs a plan into the folders of its workloads; every event is there before anyone hears of it.

        Raises DriverError.
        """
        for folder in folders.values():
            folder.write("plan.json", plan)
        log = next(iter(folders.values())).path / "driver.log"
        with contextlib.ExitStack() as stack:
            scribes = Scribes(folders, stack)
            async with driving(self._task(plan), log) as self._driving:
                if self.interrupted:  # while it was started
                    self._driving.end_early()
                monitor = Monitor(self._roles, scribes.sample, self.testbed.meters, self.testbed.places)
                watching = asyncio.create_task(self._watch(monitor))
                try:
                    async for line, event in self._driving.events():
                        scribes.event(line, event)
                        self.listener(event)
                finally:
                    watching.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await watching
                    self._driving = None
        dead = self._dead or self.testbed.dead()
        if dead:
            raise DriverError(f"The system under test died during the run: {dead}")

    async def _watch(self, monitor: Monitor) -> None:
        """Samples, and ends the run when a part of the system has died: what comes after says nothing of it."""
        if self.testbed.rehearsed is not None:
            return
        started = time.monotonic()
        sampling = asyncio.create_task(monitor.run())
        try:
            while not self._dead:
                await asyncio.sleep(LOOK_S)
                dead = self.testbed.dead()
                if dead and self._driving is not None:
                    self._dead = f"{dead}, {time.monotonic() - started:.0f} s after the driver started"
                    self._driving.end_early()
            await sampling
        finally:
            sampling.cancel()

    def _task(self, plan: Json) -> Task:
        if self.testbed.rehearsed is not None:
            return rehearsing(plan, layout(self.testbed.rehearsed))
        return running(plan, self.joining)

    def interrupt(self) -> None:
        """Ends the run under way early; those after it are not begun."""
        self.interrupted = True
        if self._driving is not None:
            self._driving.end_early()

    def _roles(self) -> dict[str, int]:
        roles = dict(self.testbed.pids)
        if self._driving is not None:
            roles["driver"] = self._driving.pid
        return roles
