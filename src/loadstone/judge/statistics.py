"""What may be said of repeated figures: intervals, drift, outliers, and differences by permutation. Pure.

A comparison permutes within pairs and takes its interval from the same test, not from a t-test beside it: the two can
never disagree.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.special import stdtrit
from scipy.stats import permutation_test  # type: ignore[attr-defined]

LEVEL = 0.95
"""Confidence of all intervals; tests are made at one less this."""
OUTLIER_SCORE = 3.5
"""Modified z-score above which a value is named an outlier (Iglewicz and Hoaglin 1993)."""
MOST_EXACT_PAIRS = 14
"""Up to so many pairs all sign patterns are gone through; beyond, that many are drawn."""


@dataclass(frozen=True)
class Summary:
    """A repeated figure; `low` to `high` is the interval of its mean (Student's t), None for a single value."""

    count: int
    mean: float
    sd: float | None
    low: float | None
    high: float | None

    @property
    def spread_pct(self) -> float | None:
        """Standard deviation as a percentage of the mean."""
        return 100 * self.sd / abs(self.mean) if self.sd is not None and self.mean else None


def summary(values: Sequence[float]) -> Summary:
    """Mean, spread and interval; at least one value."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Summary(len(values), mean, None, None, None)
    sd = float(np.std(values, ddof=1))
    half = sd / math.sqrt(len(values)) * t_quantile(len(values) - 1)
    return Summary(len(values), mean, sd, mean - half, mean + half)


def t_quantile(freedom: float) -> float:
    """The factor of a two-sided interval."""
    return float(stdtrit(freedom, (1 + LEVEL) / 2))


def drift(values: Sequence[float]) -> float | None:
    """p-value of no trend over the series (Kendall's tau, exact for short series); None below four values."""
    if len(values) < 4 or len(set(values)) < 2:
        return None
    return float(stats.kendalltau(range(len(values)), values).pvalue)


def outliers(values: Sequence[float]) -> list[int]:
    """Places of values far from the median, by the modified z-score. They are to be named, never dropped."""
    if len(values) < 4:
        return []
    off = np.abs(np.asarray(values) - np.median(values))
    # 0.6745 and 0.7979 make the two scales those of a normal distribution's standard deviation.
    scale = float(np.median(off)) / 0.6745 or float(np.mean(off)) / 0.7979
    return [at for at, one in enumerate(off) if scale and one / scale > OUTLIER_SCORE]


@dataclass(frozen=True)
class Difference:
    """B against A as a ratio of means; `low` to `high` by inversion of the same test, None with too few pairs."""

    pairs: int
    ratio: float
    low: float | None
    high: float | None
    p: float
    effect: float | None
    """Mean difference by the standard deviation of a pair's difference."""

    @property
    def is_found(self) -> bool:
        """Whether chance is an unlikely reason."""
        return self.p <= 1 - LEVEL

    @property
    def excluded_pct(self) -> float | None:
        """The smallest difference that the interval excludes, in percent of A; None where nothing is."""
        if self.low is None or self.high is None:
            return None
        return 100 * max(abs(self.low - 1), abs(self.high - 1))


def difference(pairs: Sequence[tuple[float, float]]) -> Difference | None:
    """Compares figures measured in pairs (a, b) by their logarithms; None where a figure is not above 0.

    The test permutes A and B within each pair: were they the same, each pair's sign would be a toss of a coin. Its
    interval holds the ratios that the same test does not refuse (Hartigan's typical values).
    """
    if not pairs or any(a <= 0 or b <= 0 for a, b in pairs):
        return None
    logs = np.log([b / a for a, b in pairs])
    n, mean = len(logs), float(np.mean(logs))
    signs = _signs(n)
    means = signs @ logs / n
    p = float(np.mean(np.abs(means) >= abs(mean) - 1e-15))
    low, high = _typical(logs)
    sd = float(np.std(logs, ddof=1)) if n > 1 else 0.0
    return Difference(
        pairs=n,
        ratio=math.exp(mean),
        low=None if low is None else math.exp(low),
        high=None if high is None else math.exp(high),
        p=p,
        effect=mean / sd if sd else None,
    )


def _signs(n: int) -> np.ndarray:
    """All patterns of n signs, or a fixed draw of them that holds the observed one."""
    if n <= MOST_EXACT_PAIRS:
        bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    else:
        bits = np.random.default_rng(1).integers(0, 2, (2**MOST_EXACT_PAIRS, n))
        bits[0] = 1
    return 2.0 * bits - 1.0


def _typical(logs: np.ndarray) -> tuple[float | None, float | None]:
    """The interval between order statistics of the means of all non-empty subsets."""
    n = len(logs)
    subsets = (_signs(n) + 1) / 2
    subsets = subsets[subsets.sum(axis=1) > 0]
    means = np.sort(subsets @ logs / subsets.sum(axis=1))
    # Between the k-th from either end lies the centre with probability 1 - 2 k / (number of subsets + 1).
    k = math.floor((1 - LEVEL) / 2 * (len(means) + 1))
    return (float(means[k - 1]), float(means[-k])) if k >= 1 else (None, None)


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values of several tests made together, corrected so that any false finding is rare (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    corrected, worst = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(order):
        worst = max(worst, min(1.0, (len(p_values) - rank) * p_values[at]))
        corrected[at] = worst
    return corrected


def unpaired(a: Sequence[float], b: Sequence[float]) -> float:
    """p-value of equal means by permuting all values over the two groups: all ways up to a limit, else that many drawn.

    Both groups need a value.
    """

    def apart(first: np.ndarray, second: np.ndarray, axis: int) -> np.ndarray:
        return np.asarray(np.mean(first, axis=axis) - np.mean(second, axis=axis))

    result = permutation_test(
        (np.asarray(a, float), np.asarray(b, float)),
        apart,
        permutation_type="independent",
        vectorized=True,
        n_resamples=2**MOST_EXACT_PAIRS,
        rng=np.random.default_rng(1),
    )
    return float(result.pvalue)
