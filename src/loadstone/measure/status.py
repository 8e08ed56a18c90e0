"""Asking services of ours what they say of themselves, second by second."""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from loadstone.host.http import get
from loadstone.model.target import Endpoint

Json = dict[str, Any]

TIMEOUT_S = 0.5
"""Longest wait for an answer; the sample is left out then."""


class Look(Protocol):
    """What one look says."""

    @property
    def now(self) -> Mapping[str, float]:
        """What is."""

    @property
    def grown(self) -> Mapping[str, float]:
        """What only grows."""


@dataclass(frozen=True)
class StatusMeter:
    """Where a service says what, and how that is read."""

    at: Endpoint
    path: str
    reads: Callable[[str], Look]

    async def read(self) -> Look | None:
        """What it says; None when it does not answer in time, or with something else."""
        with contextlib.suppress(OSError, ValueError):
            return self.reads((await get(self.at, self.path, TIMEOUT_S)).decode(errors="replace"))
        return None


def figures(before: Look | None, after: Look | None, seconds: float) -> dict[str, float]:
    """What is, and how what grows grew; empty where it said nothing."""
    if after is None:
        return {}
    last = before.grown if before is not None else {}
    return dict(after.now) | {
        name: (value - last[name]) / seconds for name, value in after.grown.items() if name in last
    }
