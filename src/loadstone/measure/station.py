"""How busy a service says it is itself: worker time, asked for by a small HTTP request that it does not queue."""

import contextlib
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from loadstone.host.http import get
from loadstone.model.target import Endpoint

Json = dict[str, Any]

STATION_TIMEOUT_S = 0.5
"""Longest wait for an answer; the sample is left out then."""


class _Busy(TypedDict):
    workers: int
    at_ns: int
    busy_ns: int


_BUSY = TypeAdapter(_Busy)


@dataclass(frozen=True)
class Meter:
    """Where a service says how busy it is."""

    endpoint: Endpoint
    path: str

    async def read(self) -> Json | None:
        """`{workers, at_ns, busy_ns}`, or None when it does not answer in time, or with something else."""
        with contextlib.suppress(OSError, ValueError):  # pydantic's errors are ValueErrors
            return dict(_BUSY.validate_json(await get(self.endpoint, self.path, STATION_TIMEOUT_S)))
        return None


def compute_station_usage(before: Json | None, after: Json | None) -> Json | None:
    """Busy workers between two readings, of how many; None when one is missing."""
    if before is None or after is None or after["at_ns"] <= before["at_ns"]:
        return None
    busy = (after["busy_ns"] - before["busy_ns"]) / (after["at_ns"] - before["at_ns"])
    return {"workers": after["workers"], "busy_workers": busy}
