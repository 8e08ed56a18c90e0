"""Executing plans against a testbed that is up, each by a driver of its own: drivers, monitors and store side by side.

A run with one driver is a run of many with one; an iteration is one driver process with a ramp-up and a seed of its
own. Where there are several they are prepared, told one start, watched and collected together. One driver or server
that dies ends the run early for all, and what was measured by then is kept with who it was and when.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import IO, Any

from loadstone.fleet.open import OpenFleet
from loadstone.host.http import find_free_port
from loadstone.host.tasks import end_tasks
from loadstone.measure.machine import Gauge
from loadstone.measure.monitor import Monitor
from loadstone.model.errors import DriverError, StoreError
from loadstone.model.fleet import COORDINATOR_SPARE_S
from loadstone.model.records.events import Event, Ready, Start
from loadstone.model.records.manifest import TroubleRecord
from loadstone.model.records.sample import SAMPLE, Sample
from loadstone.run.driver import Driving, Task, plan_running, plan_simulating, plan_waiting, start_driver
from loadstone.run.faults import Injector
from loadstone.run.spec import Joining, Lead
from loadstone.run.tool import ToolDriving, start_tool
from loadstone.run.tool_events import ToolJob
from loadstone.store.folder import RunFolder
from loadstone.store.read import PLAN
from loadstone.store.records import EVENTS, MONITOR, keep_events
from loadstone.testbed import Testbed

Listener = Callable[[Event], object]

EXECUTOR_POLL_INTERVAL_S = 0.5
"""Time between two looks whether all parts of the system are alive."""
PREPARE_S = 1800.0
"""Longest time for filling mailboxes and the like before the start."""
LEAD_S = 2.0
"""From the word to start to the first start: every driver must have heard it by then."""
ORIGIN_POLL_INTERVAL_S = 0.01


class StartMode(Enum):
    """When a driver starts."""

    AT_ONCE = auto()
    """As soon as it is prepared."""
    TOGETHER = auto()
    """When it is told to, since others start at the same instant."""


@dataclass(frozen=True)
class DriverJob:
    """One driver: its plan, the folders of its workloads, and when it starts."""

    name: str
    """What it plays, for people."""
    plan: Mapping[str, Any]
    folders: Mapping[str, RunFolder]
    """By the label of the workload."""
    role: str = "driver"
    """Its name among the process trees that are watched."""
    start: StartMode = StartMode.AT_ONCE
    after_s: float = 0.0
    """Seconds after the first start."""
    hosts: tuple[str, ...] = ()
    """Hosts of the fleet whose drivers play it; all that make load where none are named."""
    members: frozenset[str] | None = None
    """Parts of the system that belong in its record; None for all of them."""
    tool: ToolJob | None = None
    """The tool that plays it in the driver's place; None for the driver."""

    @property
    def is_told(self) -> bool:
        """Whether it waits for the word to start."""
        return self.start is StartMode.TOGETHER


class RecordWriter:
    """The record files of all workloads of a plan: what is said of one goes into its folder, the rest into each."""

    def __init__(self, folders: Mapping[str, RunFolder], stack: contextlib.ExitStack) -> None:
        self.folders = folders
        self.events = {label: stack.enter_context(_open(folder, EVENTS)) for label, folder in folders.items()}
        self.samples = [stack.enter_context(_open(folder, MONITOR)) for folder in folders.values()]
        self.written: dict[str, list[Event]] = {label: [] for label in folders}
        """Events of each workload, as they are in its file."""

    def write_event(self, line: str, event: Event) -> None:
        """Keeps an event of the driver; raises StoreError when the disk takes no more."""
        part = getattr(event, "part", None)
        for label, file in self.events.items():
            if part in (None, label):
                _write(file.write, line)
                self.written[label].append(event)

    def keep_parsed(self) -> None:
        """Keeps the parsed events for the judge, once their files are closed."""
        for label, folder in self.folders.items():
            keep_events(folder.path, self.written[label])

    def sample(self, sample: Sample) -> None:
        """Keeps what a monitor saw; raises StoreError when the disk takes no more."""
        line = SAMPLE.dump_json(sample).decode() + "\n"
        for file in self.samples:
            _write(file.write, line)


@contextlib.contextmanager
def _open(folder: RunFolder, name: str) -> Iterator[IO[str]]:
    """A file of records; what a full disk did not take was told when it was written, and closing brings nothing new."""
    file = folder.open_lines(name)
    try:
        yield file
    finally:
        with contextlib.suppress(OSError):
            file.close()


def _write(write: Callable[[str], object], line: str) -> None:
    try:
        write(line)
    except OSError as error:
        raise StoreError(f"Records can no longer be written: {error.strerror}.") from None


@dataclass
class Executor:
    """Runs jobs against a testbed; `interrupt` ends those under way early and keeps what they measured."""

    testbed: Testbed
    listener: Listener
    joining: Joining | None = None
    fleet: OpenFleet | None = None
    """Has the hosts that make the load, where it is not made here."""
    cores: str = ""
    """Of the drivers alone; empty where they share the machine's."""
    interrupted: bool = False
    troubles: list[TroubleRecord] = field(default_factory=list)
    injector: Injector | None = None
    """Does something to the system while it is measured."""
    _drivers: dict[str, Driving | ToolDriving] = field(default_factory=dict)
    _ready: dict[str, asyncio.Event] = field(default_factory=dict)
    _over: asyncio.Event = field(default_factory=asyncio.Event)
    _origin_s: float | None = None

    async def execute(self, jobs: Sequence[DriverJob]) -> None:
        """Runs all jobs at once into their folders, every event kept before anyone hears of it.

        What ends a run early is noted in `troubles`, not raised. Raises StoreError.
        """
        self._origin_s = None
        writers: dict[str, RecordWriter] = {}
        async with contextlib.AsyncExitStack() as stack:
            files = stack.enter_context(contextlib.ExitStack())
            for job in jobs:
                for folder in job.folders.values():
                    folder.write(PLAN, job.plan)
                writers[job.name] = RecordWriter(job.folders, files)
                joining = self._joining(job)
                self._drivers[job.name] = await stack.enter_async_context(self._driving(job, joining))
                if self.fleet is not None and joining is not None:
                    await stack.enter_async_context(
                        self.fleet.start_drivers(job.role, joining.address, self._hosts(job))
                    )
                self._ready[job.name] = asyncio.Event()
            if self.interrupted:  # while they were started
                self._end_early()
            await self._collect(jobs, writers)
        for writer in writers.values():
            writer.keep_parsed()

    @property
    def origin_unix_s(self) -> float | None:
        """Wall-clock time of the first start; None before it is known."""
        return None if self._origin_s is None else time.time() - time.monotonic() + self._origin_s

    @property
    def is_complete(self) -> bool:
        """Whether nobody died and nobody ended it."""
        return not self.troubles and not self.interrupted

    def interrupt(self) -> None:
        """Ends what is under way early; what comes after it is not begun."""
        self.interrupted = True
        self._end_early()

    def _hosts(self, job: DriverJob) -> tuple[str, ...]:
        return job.hosts or (self.fleet.driver_hosts if self.fleet is not None else ())

    def _joining(self, job: DriverJob) -> Joining | None:
        """Who plays a job beside the driver here, or in its place."""
        hosts = self._hosts(job)
        if self.fleet is None or not hosts:
            return self.joining
        silence_s = self.fleet.spec.silence_s + COORDINATOR_SPARE_S
        return Joining(len(hosts), f"{self.fleet.own_address}:{find_free_port()}", Lead.MERGES, silence_s)

    def _driving(self, job: DriverJob, joining: Joining | None) -> AbstractAsyncContextManager[Driving | ToolDriving]:
        log = next(iter(job.folders.values())).path / "driver.log"
        if job.tool is not None:
            return start_tool(job.tool, log, job.role, self.cores)
        return start_driver(self._task(job, joining), log, job.role, self.cores)

    def _task(self, job: DriverJob, joining: Joining | None) -> Task:
        if self.testbed.simulated is not None:
            return plan_simulating(job.plan, self.testbed.simulated)
        return (plan_waiting if job.is_told else plan_running)(job.plan, joining)

    async def _collect(self, jobs: Sequence[DriverJob], writers: Mapping[str, RecordWriter]) -> None:
        following = [asyncio.create_task(self._follow(job, writers[job.name])) for job in jobs]
        watching = asyncio.create_task(self._watch(jobs, writers))
        injecting = asyncio.create_task(self._inject())
        try:
            if any(job.is_told for job in jobs):
                await self._start(jobs)
            await asyncio.gather(*following)
            # A server that dies at the very end is seen by the driver first.
            self._note_dead()
        finally:
            tasks = (watching, injecting, *following)
            for task in tasks:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
            self._drivers.clear()
            self._ready.clear()
        for end in ends:
            if isinstance(end, Exception):
                raise end

    async def _start(self, jobs: Sequence[DriverJob]) -> None:
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
        for job in jobs:
            origin_ns = round((self._origin_s + job.after_s) * 1e9)
            await self._drivers[job.name].send({"origin_ns": origin_ns})

    async def _follow(self, job: DriverJob, writer: RecordWriter) -> None:
        try:
            async for line, event in self._drivers[job.name].read_events():
                if isinstance(event, Ready):
                    self._ready[job.name].set()
                    continue
                if isinstance(event, Start) and self._origin_s is None:
                    self._origin_s = time.monotonic()
                writer.write_event(line, event)
                self.listener(event)
        except StoreError as error:
            self._note("the store", str(error))
        except DriverError as error:
            if not self._over.is_set():
                why = str(error) if self.fleet is None else self.fleet.name_hosts_in(str(error))
                self._note(f"the driver of {job.name}", why)

    async def _watch(self, jobs: Sequence[DriverJob], writers: Mapping[str, RecordWriter]) -> None:
        """Samples, and ends the run when a part of the system has died: what comes after says nothing of it."""
        if self.testbed.simulated is not None:
            return

        def write(sample: Sample) -> None:
            for job in jobs:
                writers[job.name].sample(_of_members(sample, job.members))

        testbed = self.testbed
        seen: dict[str, Gauge] = {**testbed.machines, **testbed.hosts}
        monitor = Monitor(
            self._roles,
            write,
            testbed.meters,
            seen,
            testbed.status,
            knows_all=not testbed.is_unseen,
            ports=testbed.unseen_ports,
        )
        sampling = asyncio.create_task(monitor.run())
        try:
            while not sampling.done():
                await asyncio.sleep(EXECUTOR_POLL_INTERVAL_S)
                self._note_dead()
            if error := sampling.exception():
                self._note("the monitor", str(error))
        finally:
            await end_tasks([sampling])

    async def _inject(self) -> None:
        if self.injector is None:
            return
        while self._origin_s is None:
            await asyncio.sleep(ORIGIN_POLL_INTERVAL_S)
        await self.injector.run(self._origin_s)

    def _note_dead(self) -> None:
        if self.injector is not None and self.injector.record is not None:
            return  # what is dead now may be meant to be
        dead = self.testbed.dead()
        if dead and not self._over.is_set():
            self._note(dead, "it died during the run")

    def _note(self, who: str, trouble: str) -> None:
        at_s = None if self._origin_s is None else time.monotonic() - self._origin_s
        self.troubles.append(TroubleRecord(who, trouble, at_s))
        self._end_early()

    def _end_early(self) -> None:
        self._over.set()
        for driver in self._drivers.values():
            driver.end_early()

    def _roles(self) -> dict[str, int]:
        drivers = {driver.role: driver.pid for driver in self._drivers.values()}
        return {**self.testbed.processes(), **drivers}


def _of_members(sample: Sample, members: frozenset[str] | None) -> Sample:
    """A sample with some parts of the system alone."""
    if members is None:
        return sample
    return replace(
        sample,
        trees={name: tree for name, tree in sample.trees.items() if name in members},
        machines={name: views for name, views in sample.machines.items() if name in members},
        stations={name: busy for name, busy in sample.stations.items() if name in members},
    )
