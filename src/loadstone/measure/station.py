"""How busy a service says it is itself: worker time, asked for by a small HTTP request that it does not queue."""

import contextlib
import json
from dataclasses import dataclass
from typing import Any

from loadstone.host.http import get
from loadstone.model.target import Endpoint

Json = dict[str, Any]

TIMEOUT_S = 0.5
"""Longest wait for an answer; the sample is left out then."""


@dataclass(frozen=True)
class Meter:
    """Where a service says how busy it is."""

    at: Endpoint
    path: str

    async def read(self) -> Json | None:
        """`{workers, at_ns, busy_ns}`, or None when it does not answer in time."""
        with contextlib.suppress(OSError, ValueError):
            said: Json = json.loads(await get(self.at, self.path, TIMEOUT_S))
            return said
        return None


def usage(before: Json | None, after: Json | None) -> Json | None:
    """Busy workers between two readings, of how many; None when one is missing."""
    if before is None or after is None or after["at_ns"] <= before["at_ns"]:
        return None
    busy = (after["busy_ns"] - before["busy_ns"]) / (after["at_ns"] - before["at_ns"])
    return {"workers": after["workers"], "busy_workers": busy}
