"""The border to the load driver: a plan goes in, events come out, line by line."""

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone.host.process import stop
from loadstone.host.programs import driver
from loadstone.model.errors import DriverError

Json = dict[str, Any]

EVENT_SCHEMA = 5
"""Version of the events' schema; `schemas/events.json` is generated from the driver."""

LONGEST_LINE = 64 * 1024 * 1024
"""Bytes of the longest event (the totals with all histograms)."""


@dataclass(frozen=True)
class Joining:
    """Other drivers that play a share of the plan: how many, and where they join (HOST:PORT)."""

    drivers: int
    address: str

    @property
    def options(self) -> tuple[str, ...]:
        """What the leading driver is told."""
        return ("--listen", self.address, "--joining", str(self.drivers))


@dataclass(frozen=True)
class Driving:
    """A driver at work."""

    process: asyncio.subprocess.Process
    log: Path

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    async def events(self) -> AsyncIterator[tuple[str, Json]]:
        """Its events, each as the line it wrote and what it says; raises DriverError when it fails."""
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            text = line.decode(errors="replace")
            yield text, _read(text)
        code = await self.process.wait()
        if code not in (0, 130):
            said = self.log.read_text(errors="replace").strip()[-500:]
            died = f"was killed by signal {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
            raise DriverError(f"The driver {died}: {said or 'it said nothing'}")

    async def tell(self, word: Json) -> None:
        """Says a word to a driver that waits for it; one that is gone need not hear it."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.process.stdin.write(json.dumps(word).encode() + b"\n")
            await self.process.stdin.drain()

    def end_early(self) -> None:
        """Asks it to end now and write what it has."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGINT)


def _read(text: str) -> Json:
    """An event from its line; raises DriverError for what is none, or of a driver of another version."""
    try:
        event: Json = json.loads(text)
    except ValueError:
        raise DriverError(f"The driver wrote `{text[:80].strip()}`, which is no event.") from None
    if event["event"] == "start" and event["schema"] != EVENT_SCHEMA:
        found = event["schema"]
        raise DriverError(f"The installed driver speaks schema {found}, this is {EVENT_SCHEMA}. Run `make setup`.")
    return event


@dataclass(frozen=True)
class Task:
    """What a driver is told to do: its words and the document it reads."""

    words: tuple[str, ...]
    document: Json
    is_told: bool = False
    """Whether it waits for a word after its document."""


def running(plan: Json, joining: Joining | None = None) -> Task:
    """Play a plan for real."""
    return Task(("run", *(joining.options if joining else ())), plan)


def waiting(plan: Json) -> Task:
    """Prepare for a plan, then wait for the word to start."""
    return Task(("run", "--await-start"), plan, is_told=True)


def rehearsing(plan: Json, station: Json) -> Task:
    """Play a plan in virtual time against a modelled station."""
    return Task(("rehearse",), {"plan": plan, "station": station})


@asynccontextmanager
async def driving(task: Task, log: Path) -> AsyncIterator[Driving]:
    """Starts the driver on a task; it is gone when the block ends, however it ends."""
    with log.open("ab") as errors:
        process = await asyncio.create_subprocess_exec(
            driver(),
            *task.words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
            limit=LONGEST_LINE,
        )
    try:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            process.stdin.write(json.dumps(task.document).encode() + b"\n")
            await process.stdin.drain()
            if not task.is_told:
                process.stdin.close()
        yield Driving(process, log)
    finally:
        if process.returncode is None:
            await stop(process)


async def simulate(simulation: Json) -> Json:
    """Plays a simulation in virtual time; raises DriverError when it fails."""
    process = await asyncio.create_subprocess_exec(
        driver(),
        "simulate",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, errors = await process.communicate(json.dumps(simulation).encode())
    if process.returncode != 0:
        raise DriverError(f"The simulation failed: {errors.decode(errors='replace').strip()}")
    result: Json = json.loads(out)
    return result
