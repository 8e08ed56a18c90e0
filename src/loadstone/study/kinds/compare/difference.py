"""The difference between both sides as a ratio, as it is kept. Pure."""

from dataclasses import asdict, dataclass

from loadstone.judge.statistics import Difference, pairs_needed

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
        return None if self.seen_pct is None else pairs_needed(self.seen_pct, self.pairs, SOUGHT_PCT)

    @classmethod
    def from_difference(cls, difference: Difference) -> "FoundDifference":
        """As it is kept."""
        return cls(**asdict(difference), is_found=difference.is_found, excluded_pct=difference.excluded_pct)
