"""The plain place: child processes of this one, each with its own session, whose end takes all it started along."""

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loadstone.model.errors import PlatformError, ServiceError
from loadstone.model.machine import Machine
from loadstone.platforms.contract import Greeting, Place, Service, Site
from loadstone.platforms.local import LocalPlace
from loadstone.platforms.programs import resolved

Json = dict[str, Any]

START_S = 20.0
"""Longest time a service may take to say that it is ready."""
GRACE_S = 5.0
"""Time between the request to stop and the kill."""


@dataclass(frozen=True)
class Child:
    """A running service: its process and the first line it wrote."""

    process: asyncio.subprocess.Process
    first_line: str
    log: Path

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    def end(self) -> str:
        """How it ended, if it has: its code or signal, and the end of its log."""
        code = self.process.returncode
        if code is None:
            return ""
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"code {code}"
        return f"{how} {self.log.read_text(errors='replace').strip()[-200:]}".strip()

    async def stop(self) -> None:
        """Ends it and everything it started."""
        await stop(self.process)


@dataclass
class ProcessPlace(LocalPlace):
    """This machine itself, or some of its cores."""

    wrapper: list[str] = field(default_factory=list)
    """Words before every command."""

    async def start(self, role: str, command: list[str], greeting: Greeting = Greeting.LINE) -> Service:
        """Starts a child process."""
        claim(self.services, role, self.name)
        words = [*self.wrapper, *resolved(command)]
        started = await begin(words, self.site.logs / f"{role}.log", command, greeting)
        self.services[role] = started
        self.site.lease.note_process(started.pid, role)
        return started


def claim(services: Mapping[str, object], role: str, place: str) -> None:
    """Raises ServiceError when a role runs in a place already."""
    if role in services:
        raise ServiceError(f"`{role}` runs on {place} already. Give the second one another name.")


class ProcessPlatform:
    """Makes processes of this machine."""

    name = "process"

    async def missing(self, machine: Machine) -> str:
        """Nothing, but cores that are not there."""
        try:
            first_cores(machine.cpus or 1)
        except PlatformError as error:
            return str(error)
        return ""

    @asynccontextmanager
    async def place(self, site: Site) -> AsyncIterator[Place]:
        """This machine; its services are gone when the block ends."""
        wrapper = _wrapper(site.machine)
        place = ProcessPlace(site, {"cores": wrapper[2] if wrapper else "all"}, wrapper=wrapper)
        Path(place.files).mkdir()
        async with AsyncExitStack() as stack:
            stack.push_async_callback(stop_all, place.services)
            yield place


def _wrapper(machine: Machine) -> list[str]:
    """Keeps commands on the declared cores: those named, or the first so many."""
    if machine.pin is not None:
        return on_cores(machine.pin)
    return ["taskset", "--cpu-list", first_cores(machine.cpus)] if machine.cpus else []


def on_cores(pin: str) -> list[str]:
    """Words that keep a command on named cores; raises PlatformError for those that are not here."""
    return ["taskset", "--cpu-list", ",".join(map(str, sorted(core_list(pin))))]


async def stop_all(services: Mapping[str, Service]) -> None:
    """Stops services, the last one first."""
    for service in reversed(list(services.values())):
        await service.stop()


async def begin(words: list[str], log: Path, command: list[str], greeting: Greeting = Greeting.LINE) -> Child:
    """Starts a program and waits for its first line; standard error goes to `log`, errors speak of `command`.

    Raises ServiceError when it ends or stays silent instead of getting ready.
    """
    try:
        with log.open("wb") as errors:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
    except OSError as error:
        raise ServiceError(f"`{command[0]}` cannot be started: {error}") from None
    if greeting is Greeting.NONE:
        return Child(process, "", log)
    try:
        return Child(process, await _first_line(process, command, log), log)
    except BaseException:
        await stop(process)
        raise


def first_cores(count: int) -> str:
    """The first so many of the cores this process may use, as a list for taskset; raises PlatformError."""
    there = sorted(os.sched_getaffinity(0))
    if not 1 <= count <= len(there):
        raise PlatformError(f"There are {len(there)} cores here, not {count}. Ask for 1 to {len(there)}.")
    return ",".join(map(str, there[:count]))


def core_list(text: str) -> set[int]:
    """Reads `0-1` or `0+2` as numbers of cores; raises PlatformError for those that are not here."""
    cores: set[int] = set()
    for part in text.split("+"):
        found = re.fullmatch(r"([0-9]{1,5})(?:-([0-9]{1,5}))?", part)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if first > last:
            raise PlatformError(f"`{text}` names no cores. Write them as 0-1 or 0+2.")
        cores |= set(range(first, last + 1))
    there = os.sched_getaffinity(0)
    strange = cores - there
    if strange:
        raise PlatformError(f"There is no core {min(strange)} here. There are {sorted(there)}.")
    return cores


async def stop(process: asyncio.subprocess.Process) -> None:
    """Ends a process and its group: asks first, then kills."""
    _signal_group(process.pid, signal.SIGTERM)
    _signal_group(process.pid, signal.SIGCONT)
    try:
        await asyncio.wait_for(process.wait(), GRACE_S)
    except TimeoutError:
        _signal_group(process.pid, signal.SIGKILL)
        await process.wait()
    _signal_group(process.pid, signal.SIGKILL)


async def _first_line(process: asyncio.subprocess.Process, command: list[str], log: Path) -> str:
    assert process.stdout is not None
    with contextlib.suppress(TimeoutError):
        line = await asyncio.wait_for(process.stdout.readline(), START_S)
        if line:
            return line.decode(errors="replace")
    said = log.read_text(errors="replace").strip()[-500:]
    state = "ended" if process.returncode is not None or said else "stayed silent"
    raise ServiceError(f"`{' '.join(command[:2])}` {state} instead of getting ready: {said or 'it wrote nothing'}")


def _signal_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
