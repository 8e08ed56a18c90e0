"""What experiments on pairs measured, and what follows from it: the log of a timer, and a secondary that is slowed.
Pure.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median_high
from typing import Any

from loadstone.model.errors import PlatformError

BITS_PER_MBIT = 1e6
PUBLISHED_TICK_BYTES = {82: 229, 250: 340, 1000: 179}
"""Bytes of log per timer tick of idle guests, by ticks per second: from 0.15, 0.68, 1.43 Mbit/s (VMware 2009, "VMware
vSphere 4 Fault Tolerance: Architecture and Performance", table of idle guests)."""


@dataclass(frozen=True)
class TickReading:
    """Counters at one instant: bytes of the log before compression, and wake-ups of the timer in the machine."""

    unix_s: float
    log_bytes: int
    ticks_unix_s: float
    ticks: int


@dataclass(frozen=True)
class TickCost:
    """The log of an idle machine with a timer."""

    wanted_per_s: int
    """Wake-ups per second that the program asks for; 0 without a timer."""
    ticks_per_s: float
    """Wake-ups that it had."""
    log_mbit_per_s: float
    bytes_per_tick: float | None
    """Beyond the log of the same machine without a timer; None without one."""
    published_bytes_per_tick: int | None
    """Of the published guest with this timer; None where none was published."""

    @property
    def as_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)


def compute_tick_costs(readings: Sequence[tuple[int, TickReading, TickReading]]) -> list[TickCost]:
    """Returns the cost of each rate of wake-ups, from counters before and after; the first rate is 0. Raises
    PlatformError where a timer did not run.
    """
    costs: list[TickCost] = []
    idle_bytes_per_s = 0.0
    for wanted_per_s, before, after in readings:
        bytes_per_s = (after.log_bytes - before.log_bytes) / (after.unix_s - before.unix_s)
        ticks_per_s = (after.ticks - before.ticks) / (after.ticks_unix_s - before.ticks_unix_s)
        if not wanted_per_s:
            idle_bytes_per_s = bytes_per_s
        elif not ticks_per_s:
            raise PlatformError(f"The timer of {wanted_per_s} wake-ups per second did not run. Use a longer --seconds.")
        costs.append(
            TickCost(
                wanted_per_s=wanted_per_s,
                ticks_per_s=ticks_per_s,
                log_mbit_per_s=8 * bytes_per_s / BITS_PER_MBIT,
                bytes_per_tick=(bytes_per_s - idle_bytes_per_s) / ticks_per_s if wanted_per_s else None,
                published_bytes_per_tick=PUBLISHED_TICK_BYTES.get(wanted_per_s),
            )
        )
    return costs


@dataclass(frozen=True)
class SharePhase:
    """A pair under one client while its secondary's machine may run for a share of the time."""

    title: str
    share: float
    answers_per_s: float
    median_ms: float
    """Of the client's response times."""
    lag_ms: float
    """Largest of the reports of one second."""
    slowed_pct: float
    """Mean of them: share of its time for which the primary waits for its secondary."""

    @property
    def as_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)


def summarize_phase(
    title: str, share: float, seconds: float, latencies_s: Sequence[float], metrics: Sequence[dict[str, Any]]
) -> SharePhase:
    """Returns the figures of one phase from the client's response times and the agent's reports. Raises PlatformError
    where there is no answer or no report.
    """
    if not latencies_s or not metrics:
        raise PlatformError(f"`{title}` has no answers or no reports of the pair. Use a longer --seconds.")
    return SharePhase(
        title=title,
        share=share,
        answers_per_s=len(latencies_s) / seconds,
        median_ms=1e3 * median_high(latencies_s),
        lag_ms=max(float(report["lag_ms"]) for report in metrics),
        slowed_pct=fmean(float(report["slowed_pct"]) for report in metrics),
    )
