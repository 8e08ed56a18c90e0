"""How busy a service says it is itself: worker time, asked for by a small HTTP request that it does not queue."""

import asyncio
import contextlib
import json
from dataclasses import dataclass
from typing import Any

from loadstone.model.target import Endpoint

Json = dict[str, Any]

PATIENCE_S = 0.5
"""Longest wait for an answer; the sample is left out then."""


@dataclass(frozen=True)
class Meter:
    """Where a service says how busy it is."""

    at: Endpoint
    path: str

    async def read(self) -> Json | None:
        """`{workers, at_ns, busy_ns}`, or None when it does not answer in time."""
        with contextlib.suppress(OSError, ValueError, TimeoutError):
            return await asyncio.wait_for(self._ask(), PATIENCE_S)
        return None

    async def _ask(self) -> Json:
        reader, writer = await asyncio.open_connection(self.at.host, self.at.port)
        try:
            writer.write(f"GET {self.path} HTTP/1.1\r\nhost: {self.at}\r\nconnection: close\r\n\r\n".encode())
            answer = await reader.read()
        finally:
            writer.close()
        said: Json = json.loads(answer.partition(b"\r\n\r\n")[2])
        return said


def usage(before: Json | None, after: Json | None) -> Json | None:
    """Busy workers between two readings, of how many; None when one is missing."""
    if before is None or after is None or after["at_ns"] <= before["at_ns"]:
        return None
    busy = (after["busy_ns"] - before["busy_ns"]) / (after["at_ns"] - before["at_ns"])
    return {"workers": after["workers"], "busy_workers": busy}
