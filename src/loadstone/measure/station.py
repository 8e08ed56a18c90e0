"""How busy a service says it is itself: worker time, asked for by a small HTTP request that it does not queue."""

import contextlib
from dataclasses import dataclass

from pydantic import TypeAdapter

from loadstone.host.http import get
from loadstone.model.records.sample import StationBusy
from loadstone.model.target import Endpoint

STATION_TIMEOUT_S = 0.5
"""Longest wait for an answer; the sample is left out then."""


@dataclass(frozen=True)
class WorkerTime:
    """Time that all workers of a service have been busy until an instant of its clock."""

    workers: int
    at_ns: int
    busy_ns: int


_WORKER_TIME = TypeAdapter(WorkerTime)


@dataclass(frozen=True)
class Meter:
    """Where a service says how busy it is."""

    endpoint: Endpoint
    path: str

    async def read(self) -> WorkerTime | None:
        """Returns the busy time of its workers; None when it does not answer in time, or with something else."""
        with contextlib.suppress(OSError, ValueError):  # pydantic's errors are ValueErrors
            return _WORKER_TIME.validate_json(await get(self.endpoint, self.path, STATION_TIMEOUT_S))
        return None


def compute_station_usage(before: WorkerTime | None, after: WorkerTime | None) -> StationBusy | None:
    """Returns the busy workers between two readings, of how many; None when one is missing."""
    if before is None or after is None or after.at_ns <= before.at_ns:
        return None
    return StationBusy(after.workers, (after.busy_ns - before.busy_ns) / (after.at_ns - before.at_ns))
