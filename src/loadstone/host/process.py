"""Child processes of this one, each with its own session, whose end takes all it started along."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from loadstone.host import launch
from loadstone.model.errors import ServiceError

CHILD_START_TIMEOUT_S = 20.0
"""Longest time a service may take to say that it is ready."""
GRACE_S = 15.0
"""Time between the request to stop and the kill."""


class Readiness(Enum):
    """How a program says that it is ready."""

    LINE = auto()
    """By a line on its standard output."""
    NONE = auto()
    """Not at all; whoever starts it asks it until it answers."""


class Stoppable(Protocol):
    """Something that runs and can be ended."""

    async def stop(self) -> None:
        """Asks it to end, then ends it."""


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
        if code in KILLED:
            how += ", killed, perhaps because it exceeded its memory limit"
        last_lines = self.log.read_text(errors="replace").strip().splitlines()[-1:]
        return " ".join([how, *(line[-200:] for line in last_lines)])

    async def stop(self) -> None:
        """Ends it and everything it started."""
        await stop(self.process)


KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)
"""How a program ends that is killed, or whose guardian tells so (the second as shells do)."""


async def stop_all(services: Mapping[str, Stoppable]) -> None:
    """Stops services, the last one first."""
    for service in reversed(list(services.values())):
        await service.stop()


async def begin(
    argv: list[str],
    log: Path,
    command: list[str],
    readiness: Readiness = Readiness.LINE,
    secrets: Mapping[str, str] = MappingProxyType({}),
) -> Child:
    """Starts a program and waits for its first line; standard error goes to `log`, errors speak of `command`.
    Beside the variables that all programs see it is told those that are given.

    Raises ServiceError when it ends or stays silent instead of getting ready.
    """
    try:
        with log.open("wb") as errors:
            process = await launch.start(
                *argv,
                extra=secrets,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
    except OSError as error:
        raise ServiceError(f"`{command[0]}` cannot be started: {error}") from None
    if readiness is Readiness.NONE:
        return Child(process, "", log)
    try:
        return Child(process, await _first_line(process, command, log), log)
    except BaseException:
        await stop(process)
        raise


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
        line = await asyncio.wait_for(process.stdout.readline(), CHILD_START_TIMEOUT_S)
        if line:
            return line.decode(errors="replace")
    output = log.read_text(errors="replace").strip()[-500:]
    state = "ended" if process.returncode is not None or output else "stayed silent"
    raise ServiceError(f"`{' '.join(command[:2])}` {state} instead of getting ready: {output or 'it wrote nothing'}")


def _signal_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
