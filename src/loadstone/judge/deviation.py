"""How far the performed mix and the total of requests lie from what Little's law expects.

docs/web-workloads.md, Limits and validity: with E = sessions x seconds / (mean response + mean pause x share of paused
operations), an operation deviates by 100 x (E x expected share - actual) / E, and the net deviation is
100 x (E - actual total) / E. Exact to rounding on 60 public and 18 disclosed runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Deviation:
    """Weighted percentage differences."""

    expected: float
    """Operations that Little's law expects."""
    operations_pct: Mapping[str, float]
    net_pct: float

    @property
    def worst(self) -> tuple[str, float]:
        """The operation that deviates most."""
        return max(self.operations_pct.items(), key=lambda item: abs(item[1]), default=("", 0.0))


def compute_deviation(
    sessions: int,
    seconds: float,
    mean_response_s: float,
    pause_per_operation_s: float,
    expected_shares: Mapping[str, float],
    actual: Mapping[str, int],
) -> Deviation | None:
    """The deviations; None when neither answers nor pauses take time, so that the law expects nothing finite.

    `expected_shares` sum to 1; `actual` counts operations that ended in the steady state.
    """
    cycle_s = mean_response_s + pause_per_operation_s
    if cycle_s <= 0 or seconds <= 0:
        return None
    return compute_deviation_from(sessions * seconds / cycle_s, expected_shares, actual)


def compute_deviation_from(
    expected: float, expected_shares: Mapping[str, float], actual: Mapping[str, int]
) -> Deviation | None:
    """The deviations from a known number of operations; None when that is none."""
    if expected <= 0:
        return None
    each = {name: 100 * (expected * share - actual.get(name, 0)) / expected for name, share in expected_shares.items()}
    return Deviation(expected, each, 100 * (expected - sum(actual.values())) / expected)
