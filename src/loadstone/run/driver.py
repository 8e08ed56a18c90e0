"""The border to the load driver: a plan goes in, events come out, line by line."""

import asyncio
import contextlib
import json
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from loadstone.host import launch
from loadstone.host.cores import on_cores
from loadstone.host.process import stop
from loadstone.host.programs import find_driver
from loadstone.host.secrets import JOIN_TOKEN, join_token
from loadstone.model.errors import DriverError, StoreError, UsageError
from loadstone.model.records.events import EVENT_SCHEMA, Event, Ready, Start
from loadstone.model.records.simulation import Simulated
from loadstone.model.system import Station
from loadstone.run.spec import Joining
from loadstone.run.withheld import with_secrets
from loadstone.services.station import plan_layout
from loadstone.store.records import parse_event

DRIVER_LONGEST_LINE = 64 * 1024 * 1024
"""Bytes of the longest event (the totals with all histograms)."""

COMPILED_S = 60.0
"""Longest time for compiling a plan."""

DriverDocument = Mapping[str, Any]
"""A document for the driver, as `schemas/` says."""
_SIMULATED: TypeAdapter[Simulated] = TypeAdapter(Simulated)


@dataclass(frozen=True)
class Driving:
    """A driver at work."""

    process: asyncio.subprocess.Process
    log: Path
    role: str

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    async def read_events(self) -> AsyncIterator[tuple[str, Event]]:
        """Yields the driver's events, each with its line. Raises DriverError when the driver fails."""
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            yield line.decode(errors="replace"), _read(line)
        code = await self.process.wait()
        if code not in (0, 130):
            output = self.log.read_text(errors="replace").strip()[-500:]
            died = f"was killed by signal {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
            raise DriverError(f"The driver {died}: {output or 'it reported no reason'}")

    async def send(self, message: DriverDocument) -> None:
        """Says a word to a driver that waits for it; one that is gone need not hear it."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            await self.process.stdin.drain()

    def end_early(self) -> None:
        """Asks it to end now and write what it has."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGINT)


def _read(line: bytes) -> Event:
    """An event from its line; raises DriverError for what is none, or of a driver of another version."""
    try:
        event = parse_event(line, "The line of the driver")
    except StoreError as error:
        raise DriverError(str(error)) from None
    except ValidationError:
        _refuse_version(line)
        text = line.decode(errors="replace")
        raise DriverError(f"The driver wrote `{text[:80].strip()}`, which is not a valid event.") from None
    if isinstance(event, Start | Ready) and event.schema != EVENT_SCHEMA:
        raise _wrong_version(event.schema)
    return event


def _refuse_version(line: bytes) -> None:
    """Raises DriverError for the first event of a driver of another version."""
    with contextlib.suppress(ValueError, AttributeError):
        schema = json.loads(line).get("schema", EVENT_SCHEMA)
        if schema != EVENT_SCHEMA:
            raise _wrong_version(schema)


def _wrong_version(schema: int) -> DriverError:
    return DriverError(f"The installed driver speaks schema {schema}, this is {EVENT_SCHEMA}. Run `make setup`.")


@dataclass(frozen=True)
class Task:
    """What a driver is told to do: its words and the document it reads."""

    argv: tuple[str, ...]
    document: DriverDocument
    is_told: bool = False
    """Whether it waits for a word after its document."""
    is_joined: bool = False
    """Whether others join it, so that it knows their token."""


def check_plan(plan: DriverDocument) -> None:
    """Has the driver compile a plan before anything is started. Raises UsageError for what it cannot play, such as a
    pattern or a selector that is none, and DriverError where it does not answer.
    """
    try:
        done = launch.run([find_driver(), "check"], input=json.dumps(plan), timeout=COMPILED_S)
    except subprocess.TimeoutExpired:
        raise DriverError(f"The driver did not compile the plan within {COMPILED_S:g} s.") from None
    if done.returncode:
        message = done.stderr.strip().removeprefix("loadstone-driver: ")
        raise UsageError(
            f"The workload cannot be played: {message or f'code {done.returncode}'}. Correct its declaration."
        )


def plan_running(plan: DriverDocument, joining: Joining | None = None) -> Task:
    """Play a plan for real."""
    return _playing((), plan, joining)


def plan_waiting(plan: DriverDocument, joining: Joining | None = None) -> Task:
    """Prepare for a plan, then wait for the word to start."""
    return replace(_playing(("--await-start",), plan, joining), is_told=True)


def _playing(options: tuple[str, ...], plan: DriverDocument, joining: Joining | None) -> Task:
    argv = ("run", *options, *(joining.options if joining else ()))
    return Task(argv, plan, is_joined=joining is not None)


def plan_simulating(plan: DriverDocument, station: Station) -> Task:
    """Play a plan in virtual time against a modelled station."""
    return Task(("discrete-events",), {"plan": plan, "station": plan_layout(station)})


@asynccontextmanager
async def start_driver(task: Task, log: Path, role: str = "driver", cores: str = "") -> AsyncIterator[Driving]:
    """Starts the driver on a task, on these cores or all; it is gone when the block ends, however it ends. Raises
    UsageError for a value that the environment lacks.
    """
    document = json.dumps(with_secrets(task.document) if "parts" in task.document else task.document)
    with log.open("ab") as errors:
        process = await launch.start(
            *(on_cores(cores.replace(",", "+")) if cores else ()),
            find_driver(),
            *task.argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
            limit=DRIVER_LONGEST_LINE,
            extra={JOIN_TOKEN: join_token()} if task.is_joined else {},
        )
    try:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            process.stdin.write(document.encode() + b"\n")
            await process.stdin.drain()
            if not task.is_told:
                process.stdin.close()
        yield Driving(process, log, role)
    finally:
        if process.returncode is None:
            await stop(process)


async def simulate(simulation: DriverDocument) -> Simulated:
    """Plays a schedule in virtual time without queues; raises DriverError when it fails."""
    process = await launch.start(
        find_driver(),
        "simulate",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, errors = await process.communicate(json.dumps(simulation).encode())
    if process.returncode != 0:
        raise DriverError(f"The simulation failed: {errors.decode(errors='replace').strip()}")
    return _SIMULATED.validate_json(out)
