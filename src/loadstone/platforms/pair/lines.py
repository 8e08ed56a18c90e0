"""The two lines to a side on this host: its agent's control socket, and QEMU's monitor. Each takes one keeper."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qemu.qmp import QMPClient, QMPError

from loadstone.model.errors import PlatformError

Json = dict[str, Any]
LINE_TIMEOUT_S = 20.0
"""Longest wait for a program to listen."""
LINE_RETRY_INTERVAL_S = 0.01
LONGEST_REPORT = 1 << 20


@dataclass
class AgentLine:
    """Orders to an agent, and its reports."""

    socket: Path
    _reader: asyncio.StreamReader | None = None
    _writer: asyncio.StreamWriter | None = None

    async def connect(self, is_up: Callable[[], bool]) -> bool:
        """Connects; whether the agent listens before it ends, and in time."""
        until = time.monotonic() + LINE_TIMEOUT_S
        while is_up() and time.monotonic() < until:
            with contextlib.suppress(OSError):
                self._reader, self._writer = await asyncio.open_unix_connection(self.socket, limit=LONGEST_REPORT)
                return True
            await asyncio.sleep(LINE_RETRY_INTERVAL_S)
        return False

    async def read_reports(self) -> AsyncIterator[Json]:
        """Yields what the agent reports, until the connection ends: the last line may be cut."""
        assert self._reader is not None
        with contextlib.suppress(ConnectionError, ValueError):
            async for line in self._reader:
                yield json.loads(line)
        self.close()

    def close(self) -> None:
        """Ends the connection."""
        if self._writer is not None:
            self._writer.close()

    async def order(self, do: str, **details: Any) -> None:
        """Sends an order; an agent that is gone needs none."""
        if self._writer is None or self._writer.is_closing():
            return
        with contextlib.suppress(ConnectionError):
            self._writer.write(json.dumps({"do": do, **details}).encode() + b"\n")
            await self._writer.drain()


async def open_monitor(socket: Path, is_up: Callable[[], bool]) -> QMPClient:
    """A session with QEMU's monitor. Raises PlatformError where QEMU ends, or does not answer in time."""
    until = time.monotonic() + LINE_TIMEOUT_S
    why: Exception | None = None
    while is_up() and time.monotonic() < until:
        try:
            return await asyncio.wait_for(_session(socket), LINE_TIMEOUT_S)
        except (TimeoutError, QMPError, OSError) as error:
            why = error
        await asyncio.sleep(LINE_RETRY_INTERVAL_S)
    waited = f"did not answer within {LINE_TIMEOUT_S:g} s" if is_up() else "ended before it answered"
    raise PlatformError(f"QEMU {waited} at {socket.name} ({why!r}).")


async def _session(socket: Path) -> QMPClient:
    client = QMPClient(socket.stem)
    # A machine that goes on by itself may tell of it before its answer, which only a running session takes well.
    client.negotiate = False
    if not socket.exists():
        raise FileNotFoundError(socket)
    await client.connect(str(socket))
    await client.execute("qmp_capabilities")
    return client
