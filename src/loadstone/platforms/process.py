"""The plain place: a child process of its own session, whose end takes everything it started along."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from loadstone.model.errors import PlatformError, ServiceError

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


@asynccontextmanager
async def child(command: list[str], log: Path, cores: int | None = None) -> AsyncIterator[Child]:
    """Starts a command, waits for its first line, stops it and all its children at the end.

    `cores` keeps it on the first so many cores of this machine. Standard error goes to `log`. Raises ServiceError when
    it ends or stays silent instead of getting ready.
    """
    if cores is not None:
        command = ["taskset", "--cpu-list", first_cores(cores), *command]
    with log.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
    try:
        yield Child(process, await _first_line(process, command, log), log)
    finally:
        await stop(process)


def first_cores(count: int) -> str:
    """The first so many of the cores this process may use, as a list for taskset; raises PlatformError."""
    there = sorted(os.sched_getaffinity(0))
    if not 1 <= count <= len(there):
        raise PlatformError(f"There are {len(there)} cores here, not {count}. Ask for 1 to {len(there)}.")
    return ",".join(map(str, there[:count]))


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
