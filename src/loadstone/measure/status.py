"""Asking services of ours what they say of themselves, second by second."""

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from loadstone.host.http import get
from loadstone.model.records.sample import ServiceSample
from loadstone.model.target import Endpoint

STATUS_TIMEOUT_S = 0.5
"""Longest wait for an answer; the sample is left out then."""


class ServiceStatus(Protocol):
    """What one look says."""

    @property
    def now(self) -> Mapping[str, float]:
        """What is."""

    @property
    def grown(self) -> Mapping[str, float]:
        """What only grows."""


class StatusReader(Protocol):
    """Something whose status is read each second."""

    async def read(self) -> tuple[float, ServiceStatus] | None:
        """Returns when it was read, in seconds, and what it says; None where it says nothing."""


@dataclass(frozen=True)
class StatusMeter:
    """Where a service says what, and how that is read."""

    endpoint: Endpoint
    path: str
    reads: Callable[[str], ServiceStatus]

    async def read(self) -> tuple[float, ServiceStatus] | None:
        """When it was asked, in seconds, and what it says; None when it does not answer in time, or with something
        else.
        """
        with contextlib.suppress(OSError, ValueError):
            read_s = time.monotonic()
            return read_s, self.reads((await get(self.endpoint, self.path, STATUS_TIMEOUT_S)).decode(errors="replace"))
        return None


def compute_status_figures(
    before: tuple[float, ServiceStatus] | None, after: tuple[float, ServiceStatus] | None
) -> ServiceSample:
    """Returns the current values and the growth of counters per second, nothing if a reading is missing."""
    if after is None:
        return ServiceSample({}, {})
    read_s, status = after
    began, last = (before[0], before[1].grown) if before is not None else (read_s, {})
    grown = {name: (value - last[name]) / (read_s - began) for name, value in status.grown.items() if name in last}
    return ServiceSample(dict(status.now), grown)
