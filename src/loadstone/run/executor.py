"""Executing one plan against a testbed that is up: driver, monitors and store side by side."""

import asyncio
import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from loadstone.measure.monitor import Monitor
from loadstone.model.errors import DriverError
from loadstone.run.driver import Driving, driving
from loadstone.store.folder import RunFolder
from loadstone.testbed import Testbed

Json = dict[str, Any]
Listener = Callable[[Json], object]


@dataclass
class Executor:
    """Runs plans one after the other; `interrupt` ends the one under way and keeps what it measured."""

    testbed: Testbed
    listener: Listener
    interrupted: bool = False
    _driving: Driving | None = field(default=None, repr=False)

    async def execute(self, plan: Json, folder: RunFolder) -> None:
        """Runs a plan; every event is in the folder before anyone hears of it. Raises DriverError."""
        folder.write("plan.json", plan)
        with folder.lines("events.jsonl") as events, folder.lines("monitor.jsonl") as samples:
            async with driving(plan, folder.path / "driver.log") as self._driving:
                if self.interrupted:  # while it was started
                    self._driving.end_early()
                monitor = Monitor(self._roles, lambda sample: samples.write(json.dumps(sample) + "\n"))
                watching = asyncio.create_task(monitor.run())
                try:
                    async for line, event in self._driving.events():
                        events.write(line)
                        self.listener(event)
                finally:
                    watching.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await watching
                    self._driving = None
        dead = self.testbed.dead()
        if dead:
            raise DriverError(f"The system under test died during the run: {dead}")

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
