"""Executing many plans at once, each by a driver of its own: all are prepared, told one start, watched and collected.

One driver or server that dies ends the run early for all; what was measured by then is kept, with who it was and when.
"""

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadstone.measure.monitor import Monitor
from loadstone.model.errors import DriverError
from loadstone.run.driver import Driving, driving, waiting
from loadstone.run.executor import LOOK_S, Listener, Scribes
from loadstone.store.folder import RunFolder
from loadstone.testbed import Testbed

Json = dict[str, Any]

PREPARE_S = 1800.0
"""Longest time for filling mailboxes and the like before the start."""
LEAD_S = 1.0
"""From the word to start to the first start."""


@dataclass(frozen=True)
class Crew:
    """One driver: its plan, the folders of its workloads, and when it starts after the first."""

    name: str
    group: str
    """What its names begin with: only the parts of the system that do are in its record."""
    plan: Json
    folders: Mapping[str, RunFolder]
    after_s: float = 0.0


@dataclass(frozen=True)
class Trouble:
    """What ended a run early, and when: seconds after the first start, negative before it."""

    who: str
    what: str
    at_s: float | None

    def __str__(self) -> str:
        when = "before the start" if self.at_s is None or self.at_s < 0 else f"{self.at_s:.0f} s after the first start"
        return f"{self.who}, {when}: {self.what}"


@dataclass
class Ensemble:
    """Plays crews together; `interrupt` ends them early and keeps what they measured."""

    testbed: Testbed
    listener: Listener
    interrupted: bool = False
    troubles: list[Trouble] = field(default_factory=list)
    _drivers: dict[str, Driving] = field(default_factory=dict)
    _ready: dict[str, asyncio.Event] = field(default_factory=dict)
    _over: asyncio.Event = field(default_factory=asyncio.Event)
    _origin_s: float | None = None

    async def execute(self, crews: Sequence[Crew]) -> None:
        """Runs all crews into their folders; troubles are noted, not raised."""
        async with contextlib.AsyncExitStack() as stack:
            files = stack.enter_context(contextlib.ExitStack())
            scribes = {}
            for crew in crews:
                for folder in crew.folders.values():
                    folder.write("plan.json", crew.plan)
                log = next(iter(crew.folders.values())).path / "driver.log"
                scribes[crew.name] = Scribes(crew.folders, files)
                self._drivers[crew.name] = await stack.enter_async_context(driving(waiting(crew.plan), log))
                self._ready[crew.name] = asyncio.Event()
            if self.interrupted:
                return
            following = [asyncio.create_task(self._follow(crew, scribes[crew.name])) for crew in crews]
            watching = asyncio.create_task(self._watch(crews, scribes))
            try:
                await self._start(crews)
                await asyncio.gather(*following)
            finally:
                for task in (watching, *following):
                    task.cancel()
                await asyncio.gather(watching, *following, return_exceptions=True)
                self._drivers.clear()

    @property
    def origin_unix_s(self) -> float | None:
        """Wall-clock time of the first start; None before it is known."""
        return None if self._origin_s is None else time.time() - time.monotonic() + self._origin_s

    @property
    def is_complete(self) -> bool:
        """Whether nobody died and nobody ended it."""
        return not self.troubles and not self.interrupted

    def interrupt(self) -> None:
        """Ends the run early."""
        self.interrupted = True
        self._end_early()

    async def _start(self, crews: Sequence[Crew]) -> None:
        """Tells all drivers one start, once every one of them is prepared."""
        ready = asyncio.gather(*(event.wait() for event in self._ready.values()))
        over = asyncio.ensure_future(self._over.wait())
        done, _ = await asyncio.wait((ready, over), timeout=PREPARE_S, return_when=asyncio.FIRST_COMPLETED)
        over.cancel()
        if ready not in done:
            ready.cancel()
            if not self._over.is_set():
                waited = [name for name, event in self._ready.items() if not event.is_set()]
                self._note(waited[0], f"was not prepared within {PREPARE_S:g} s")
            return
        self._origin_s = time.monotonic() + LEAD_S
        for crew in crews:
            origin_ns = round((self._origin_s + crew.after_s) * 1e9)
            await self._drivers[crew.name].tell({"origin_ns": origin_ns})

    async def _follow(self, crew: Crew, scribes: Scribes) -> None:
        try:
            async for line, event in self._drivers[crew.name].events():
                if event["event"] == "ready":
                    self._ready[crew.name].set()
                    continue
                scribes.event(line, event)
                self.listener(event)
        except DriverError as error:
            if not self._over.is_set():
                self._note(f"the driver of {crew.name}", str(error))

    async def _watch(self, crews: Sequence[Crew], scribes: Mapping[str, Scribes]) -> None:
        """Samples, and ends the run when a part of the system has died."""

        def write(sample: Json) -> None:
            for crew in crews:
                scribes[crew.name].sample(_of_group(sample, crew.group))

        sampling = asyncio.create_task(Monitor(self._roles, write, self.testbed.meters, self.testbed.places).run())
        try:
            while True:
                await asyncio.sleep(LOOK_S)
                dead = self.testbed.dead()
                if dead and not self._over.is_set():
                    self._note(dead, "it died during the run")
        finally:
            sampling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await sampling

    def _note(self, who: str, what: str) -> None:
        at_s = None if self._origin_s is None else time.monotonic() - self._origin_s
        self.troubles.append(Trouble(who, what, at_s))
        self._end_early()

    def _end_early(self) -> None:
        self._over.set()
        for driver in self._drivers.values():
            driver.end_early()

    def _roles(self) -> dict[str, int]:
        drivers = {f"{name}-driver": driver.pid for name, driver in self._drivers.items()}
        return {**self.testbed.pids, **drivers}


def _of_group(sample: Json, group: str) -> Json:
    """A sample with the parts of one group alone."""
    parts = {
        key: {name: value for name, value in sample[key].items() if name.startswith(f"{group}-")}
        for key in ("trees", "machines", "stations")
    }
    return {**sample, **parts}
