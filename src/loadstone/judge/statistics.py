"""What may be said of repeated figures: intervals, drift, outliers, and differences by permutation. Pure.

A comparison permutes within pairs and takes its interval from the same test, not from a t-test beside it: the two can
never disagree.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy

CONFIDENCE_LEVEL = 0.95
"""Confidence of all intervals; tests are made at one less this."""
PAIRED_POWER = 0.9
"""Chance to find a difference that a study is said to see."""
UPPER = 0.8
"""How surely the pairs that a study is told to make are enough."""
MOST_PAIRS_NEEDED = 1000
"""More pairs are recommended to nobody."""
MOST_TRIED_PAIRS, TRIED = 10, 2000
"""Up to so many pairs what a test sees is found by trying it so often."""
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


def summarize(values: Sequence[float]) -> Summary:
    """Mean, spread and interval; at least one value."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Summary(len(values), mean, None, None, None)
    sd = float(np.std(values, ddof=1))
    half = sd / math.sqrt(len(values)) * compute_t_quantile(len(values) - 1)
    return Summary(len(values), mean, sd, mean - half, mean + half)


def compute_t_quantile(freedom: float) -> float:
    """The factor of a two-sided interval."""
    return float(scipy.special.stdtrit(freedom, (1 + CONFIDENCE_LEVEL) / 2))


def compute_least_for_drift(tests: int) -> int:
    """Values from which a series that only rises can be told from chance, corrected for asking about so many."""
    count = 4
    while tests * 2 / math.factorial(count) > 1 - CONFIDENCE_LEVEL:
        count += 1
    return count


def compute_drift_p(values: Sequence[float]) -> float | None:
    """p-value of no trend over the series (Kendall's tau, exact for short series); None below four values."""
    if len(values) < 4 or len(set(values)) < 2:
        return None
    return float(scipy.stats.kendalltau(range(len(values)), values).pvalue)


def find_outlier(values: Sequence[float]) -> tuple[int, float] | None:
    """The place of the value farthest from the mean, and the chance of one so far in a normal series (Grubbs 1969).

    None below four values, and where all are the same. An outlier is to be named, never dropped.
    """
    count = len(values)
    if count < 4 or len(set(values)) < 2:
        return None
    off = np.abs(np.asarray(values) - np.mean(values)) / np.std(values, ddof=1)
    place = int(np.argmax(off))
    squared = float(off[place]) ** 2
    # The largest deviation that so many values can have is (n - 1) / sqrt(n).
    left = (count - 1) ** 2 - count * squared
    if left <= 0:
        return place, 0.0
    t = math.sqrt(count * (count - 2) * squared / left)
    return place, min(1.0, 2 * count * float(scipy.special.stdtr(count - 2, -t)))


def find_heavy_outlier(values: Sequence[float]) -> tuple[int, float] | None:
    """The place of the value farthest from the mean, and the chance of one so far in a series with heavy tails, of
    Student's t with `TAIL_FREEDOM` degrees: runs on a shared machine scatter so, and then have far values as a rule.

    None below four values, and where all are the same.
    """
    suspect = find_outlier(values)
    if suspect is None:
        return None
    place = suspect[0]
    off = abs(values[place] - float(np.mean(values))) / float(np.std(values, ddof=1))
    drawn = _farthest_of_heavy(len(values))
    beyond = len(drawn) - int(np.searchsorted(drawn, off - 1e-9))
    return place, (beyond + 1) / (len(drawn) + 1)


TAIL_FREEDOM = 3
MOST_DRAWN = 2_000_000
"""Values that are drawn to know how far the farthest of a series lies."""


@cache
def _farthest_of_heavy(count: int) -> np.ndarray:
    """Distances of the farthest value from the mean, in standard deviations, of drawn series of so many; in order."""
    series = max(2000, min(40_000, MOST_DRAWN // count))
    drawn = np.random.default_rng(1).standard_t(TAIL_FREEDOM, (series, count))
    off = np.abs(drawn - drawn.mean(axis=1, keepdims=True)).max(axis=1)
    return np.sort(off / drawn.std(axis=1, ddof=1))


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
    seen_pct: float | None = None
    """The difference, in percent of A, that so many pairs of such scatter find with a chance of `POWER`."""

    @property
    def is_found(self) -> bool:
        """Whether chance is an unlikely reason."""
        return self.p <= 1 - CONFIDENCE_LEVEL

    @property
    def excluded_pct(self) -> float | None:
        """The smallest difference that the interval excludes, in percent of A; None where nothing is."""
        if self.low is None or self.high is None:
            return None
        return 100 * max(abs(self.low - 1), abs(self.high - 1))


def estimate_difference(pairs: Sequence[tuple[float, float]]) -> Difference | None:
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
        seen_pct=_seen_pct(sd, n),
    )


def _seen_pct(sd: float, pairs: int) -> float | None:
    """None with too few pairs for any finding."""
    if 2.0 ** (1 - pairs) > 1 - CONFIDENCE_LEVEL:
        return None
    return 100 * math.expm1(compute_seen_scatters(pairs) * sd)


@cache
def compute_seen_scatters(pairs: int) -> float:
    """The mean difference, in standard deviations of a pair's, that the test of so many pairs finds with a chance of
    `POWER`: of few by trying it on drawn ones, of more by Student's t, which it is then as powerful as.
    """
    if pairs > MOST_TRIED_PAIRS:
        return (compute_t_quantile(pairs - 1) + float(scipy.special.stdtrit(pairs - 1, PAIRED_POWER))) / math.sqrt(
            pairs
        )
    drawn = np.random.default_rng(1).standard_normal((TRIED, pairs))
    signs = _signs(pairs)

    def lacks(shift: float) -> float:
        logs = drawn + shift
        chances = np.mean(np.abs(logs @ signs.T) >= np.abs(logs.sum(axis=1))[:, None] - 1e-12, axis=1)
        return PAIRED_POWER - float(np.mean(chances <= 1 - CONFIDENCE_LEVEL))

    return float(scipy.optimize.brentq(lacks, 0.0, 10.0, xtol=0.01))


def estimate_pairs_needed(seen_pct: float, pairs: int, pct: float) -> int | None:
    """Pairs that find a difference of `pct` percent with a chance of `POWER`, as far as can be said after `pairs` that
    find one of `seen_pct`; None where more than `MOST_PAIRS` are.

    So few pairs may scatter less than others will: reckoned is with the upper 80 % limit of their standard deviation
    (Browne 1995, Statistics in Medicine 14, 1933).
    """
    sd = math.log1p(seen_pct / 100) / compute_seen_scatters(pairs)
    most = sd * math.sqrt((pairs - 1) / float(scipy.special.chdtri(pairs - 1, UPPER)))
    enough = (
        n for n in range(pairs, MOST_PAIRS_NEEDED + 1) if 100 * math.expm1(compute_seen_scatters(n) * most) <= pct
    )
    return next(enough, None)


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
    k = math.floor((1 - CONFIDENCE_LEVEL) / 2 * (len(means) + 1))
    return (float(means[k - 1]), float(means[-k])) if k >= 1 else (None, None)


def correct_by_holm(p_values: Sequence[float]) -> list[float]:
    """p-values of several tests made together, corrected so that any false finding is rare (Holm 1979)."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    corrected, worst = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        worst = max(worst, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = worst
    return corrected


def compute_least_for_unpaired(tests: int) -> int:
    """Values of each side from which two that lie wholly apart can be told from chance, corrected for so many tests."""
    count = 2
    while tests * 2 / math.comb(2 * count, count) > 1 - CONFIDENCE_LEVEL:
        count += 1
    return count


def compute_unpaired_p(a: Sequence[float], b: Sequence[float]) -> float:
    """p-value of equal means by permuting all values over the two groups: all ways up to a limit, else that many drawn.

    Both groups need a value.
    """
    return _permuted(a, b, "two-sided")


def _permuted(a: Sequence[float], b: Sequence[float], alternative: str) -> float:
    def difference(first: np.ndarray, second: np.ndarray, axis: int) -> np.ndarray:
        return np.asarray(np.mean(first, axis=axis) - np.mean(second, axis=axis))

    result = scipy.stats.permutation_test(
        (np.asarray(a, float), np.asarray(b, float)),
        difference,
        permutation_type="independent",
        alternative=alternative,
        vectorized=True,
        n_resamples=2**MOST_EXACT_PAIRS,
        rng=np.random.default_rng(1),
    )
    return float(result.pvalue)


def compute_paired_rise_p(pairs: Sequence[tuple[float, float]]) -> float:
    """p-value of B not being above A, by permuting A and B within each pair (a, b); 1 without a rise. Takes zeros."""
    differences = np.array([b - a for a, b in pairs], float)
    if not len(differences) or float(np.sum(differences)) <= 0:
        return 1.0
    return float(
        np.mean(
            _signs(len(differences)) @ np.abs(differences) >= np.sum(differences) - 1e-12 * np.sum(np.abs(differences))
        )
    )


def compute_paired_p(pairs: Sequence[tuple[float, float]]) -> float | None:
    """p-value of no difference between A and B, by permuting within each pair (a, b); None without any."""
    if not pairs:
        return None
    differences = np.array([b - a for a, b in pairs], float)
    sums = np.abs(_signs(len(differences)) @ differences)
    return float(np.mean(sums >= abs(np.sum(differences)) - 1e-12 * np.sum(np.abs(differences))))


def compute_unpaired_rise_p(a: Sequence[float], b: Sequence[float]) -> float:
    """p-value of B not being above A, by permuting all values over the two groups; 1 without a rise. Takes zeros."""
    if not a or not b or float(np.mean(b)) <= float(np.mean(a)):
        return 1.0
    return _permuted(a, b, "less")


def compute_fewer_passes_p(passed_a: int, runs_a: int, passed_b: int, runs_b: int) -> float:
    """p-value of B not passing a smaller share of its runs than A (Fisher's exact test, one-sided)."""
    table = [[passed_a, runs_a - passed_a], [passed_b, runs_b - passed_b]]
    return float(scipy.stats.fisher_exact(table, alternative="greater").pvalue)


@dataclass(frozen=True)
class GroupRatio:
    """B against A, of series that were not made in pairs, as a ratio of geometric means; `low` to `high` are the ratios
    that the test of `unpaired` does not refuse, None where the values are too few for it to refuse any.
    """

    ratio: float
    low: float | None
    high: float | None


FARTHEST = 1e3
"""Largest ratio that is looked at."""
BISECTION_STEPS = 40
"""Halvings of what lies between; the interval is exact to a billionth of that."""


def estimate_group_ratio(a: Sequence[float], b: Sequence[float], tests: int = 1) -> GroupRatio | None:
    """Compares two series by their logarithms, corrected for asking so often; None where a figure is not above 0."""
    if not a or not b or min(*a, *b) <= 0:
        return None
    first, second = np.log(a), np.log(b)
    shift = float(np.mean(second) - np.mean(first))
    if min(len(a), len(b)) < compute_least_for_unpaired(tests):
        return GroupRatio(math.exp(shift), None, None)

    def is_refused(shift: float) -> bool:
        return compute_unpaired_p([*first], [*(second - shift)]) <= (1 - CONFIDENCE_LEVEL) / tests

    low, high = (_edge(is_refused, shift, way * math.log(FARTHEST)) for way in (-1, 1))
    return GroupRatio(math.exp(shift), math.exp(low), math.exp(high))


def _edge(is_refused: Callable[[float], bool], inside: float, outside: float) -> float:
    """Between what is not refused and what is, by halving; the outer end where even that is not refused."""
    outside += inside
    if not is_refused(outside):
        return outside
    for _ in range(BISECTION_STEPS):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if is_refused(middle) else (middle, outside)
    return outside
