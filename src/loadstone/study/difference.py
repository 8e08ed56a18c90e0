"""The difference between both sides as a ratio, as it is kept. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from loadstone.judge.statistics import (
    Difference,
    Summary,
    compute_paired_p,
    estimate_difference,
    estimate_pairs_needed,
    summarize,
)
from loadstone.study.summary import ComparedSide, RunSummary

LEAST_PAIRS = 6
"""Fewest pairs with which the test can find anything: 2 of 2^6 sign patterns are 3 %."""
SOUGHT_PCT = 5.0
"""The difference for which an answer says how many pairs find it."""


@dataclass(frozen=True)
class FoundDifference:
    """B against A as a ratio of means, as it is kept; `p_corrected` over all loads that were asked about."""

    pairs: int
    ratio: float
    low: float | None
    high: float | None
    p: float
    effect: float | None
    is_found: bool
    """Whether chance is an unlikely reason."""
    excluded_pct: float | None
    """The smallest difference that the interval excludes, in percent of A."""
    p_corrected: float | None = None
    seen_pct: float | None = None
    """The difference that so many pairs of such scatter find nine times in ten, in percent of A."""

    @property
    def enough_pairs(self) -> int | None:
        """Pairs of such scatter that find a difference of `SOUGHT_PCT`; None where that is not known."""
        return None if self.seen_pct is None else estimate_pairs_needed(self.seen_pct, self.pairs, SOUGHT_PCT)

    @classmethod
    def convert(cls, difference: Difference) -> "FoundDifference":
        """Returns a difference as it is kept."""
        return cls(**asdict(difference), is_found=difference.is_found, excluded_pct=difference.excluded_pct)


@dataclass(frozen=True)
class SideValues:
    """A metric on one side: its values in order of time, and their summary."""

    values: tuple[float, ...]
    count: int
    mean: float
    sd: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class ComparedMetric:
    """A metric on both sides; no difference where a value is 0."""

    a: SideValues
    b: SideValues
    difference: FoundDifference | None
    apart_p: float | None = None
    """Where a value is 0: chance of such a difference of the means themselves."""


def compare_metric(name: str, sides: Mapping[ComparedSide, Sequence[RunSummary]]) -> ComparedMetric | None:
    """A metric of valid pairs on both sides; None where a run does not have it."""
    values = {side: [run.metrics[name] for run in runs if name in run.metrics] for side, runs in sides.items()}
    if any(not series or len(series) < len(sides[side]) for side, series in values.items()):
        return None
    pairs = list(zip(values[ComparedSide.A], values[ComparedSide.B], strict=False))
    compared = estimate_difference(pairs)
    a, b = (_side_values(values[side], summarize(values[side])) for side in (ComparedSide.A, ComparedSide.B))
    if compared is None:
        return ComparedMetric(a, b, None, compute_paired_p(pairs))
    return ComparedMetric(a, b, FoundDifference.convert(compared))


def _side_values(values: Sequence[float], summed: Summary) -> SideValues:
    return SideValues(tuple(values), **asdict(summed))
