"""The distribution of a time from all that was under way in a window, also what was cut off by its edges: the
product-limit estimate (Kaplan and Meier 1958), with late entry (Lynden-Bell 1971). Pure.

Only what begins and ends in the window is short by choice: a window of nine seconds sees no operation of ten. What was
under way when the window began counts from the age that it had then; what was under way at its end, or failed, is
known to have lasted for so long at least.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

Counts = Sequence[tuple[int, int]]
"""Ages in microseconds, and how many have each."""

MOST_UNKNOWN = 0.005
"""Share of operations whose time may be unknown where a mean is still said of all."""


@dataclass(frozen=True)
class LifeTable:
    """Ages at which operations came into sight under way, were answered, and left it otherwise."""

    entered: Counts
    answered: Counts
    lost: Counts

    @classmethod
    def join(cls, tables: Iterable["LifeTable"]) -> "LifeTable":
        """Operations of several kinds together."""
        every = list(tables)
        return cls(*([pair for table in every for pair in getattr(table, name)] for name in cls.__dataclass_fields__))


@dataclass(frozen=True)
class Estimate:
    """Shares of operations that last no longer than each time; beyond the last one nothing is known."""

    times_us: np.ndarray
    shares: np.ndarray
    mean_us: float | None
    """None where more operations than `MOST_UNKNOWN` may last longer than all that was seen."""

    def get_value_at(self, percentile: float) -> float | None:
        """The least time in microseconds that so many per cent of operations keep; None where that is not known."""
        place = int(np.searchsorted(self.shares, percentile / 100 - 1e-12))
        return float(self.times_us[place]) if place < len(self.times_us) else None


def estimate(table: LifeTable) -> Estimate | None:
    """The product-limit estimate; None without an answer."""
    times, answered = _summed(table.answered)
    if not len(times):
        return None
    lost_at, lost = _summed(table.lost)
    entered_at, entered = _summed(table.entered)
    fresh = answered.sum() + lost.sum() - entered.sum()
    # Who leaves at an age was still there when others were answered at it.
    gone = _before(times, answered, times) + _before(lost_at, lost, times)
    at_risk = fresh + _before(entered_at, entered, times) - gone
    last = max(times[-1], lost_at[-1] if len(lost_at) else 0)
    # A risk set that is emptied while older ones are still to come says nothing of them (Lai and Ying 1991).
    is_empty_too_soon = (answered >= at_risk) & (times < last)
    surviving = np.where(is_empty_too_soon, 1.0, 1.0 - answered / np.maximum(at_risk, answered))
    left = np.cumprod(surviving)
    steps = np.diff(np.concatenate(([0.0], times)))
    mean_us = float(np.sum(steps * np.concatenate(([1.0], left[:-1]))))
    return Estimate(times, 1.0 - left, mean_us if left[-1] <= MOST_UNKNOWN else None)


def _summed(counts: Counts) -> tuple[np.ndarray, np.ndarray]:
    """Ages in order, each once, and how many have each."""
    ages = np.array([age for age, _ in counts], float)
    numbers = np.array([number for _, number in counts], float)
    distinct, place = np.unique(ages, return_inverse=True)
    return distinct, np.bincount(place, numbers, len(distinct)) if len(distinct) else numbers


def _before(ages: np.ndarray, numbers: np.ndarray, times: np.ndarray) -> np.ndarray:
    """How many have a smaller age than each of the times."""
    sums = np.concatenate(([0.0], np.cumsum(numbers)))
    return np.asarray(sums[np.searchsorted(ages, times, side="left")])
