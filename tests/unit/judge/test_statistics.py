"""Intervals, drift, outliers and differences, against what they promise."""

import math
import random
from collections.abc import Sequence
from itertools import pairwise

import pytest
import scipy

from loadstone.judge.statistics import (
    compute_drift_p,
    compute_least_for_drift,
    correct_by_holm,
    estimate_difference,
    estimate_pairs_needed,
    find_outlier,
    summarize,
)


def gauss(count: int, mean: float, sd: float, seed: int) -> list[float]:
    chance = random.Random(seed)
    return [chance.gauss(mean, sd) for _ in range(count)]


def test_the_interval_of_a_mean_holds_the_truth_as_often_as_it_says() -> None:
    hits = 0
    for seed in range(400):
        found = summarize(gauss(5, 10, 1, seed))
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= 10 <= found.high
    assert 0.92 <= hits / 400 <= 0.98


def test_a_single_value_has_no_interval() -> None:
    found = summarize([3.0])
    assert (found.mean, found.sd, found.low) == (3.0, None, None)


def test_a_series_that_climbs_drifts_and_one_that_does_not_does_not() -> None:
    climbing = [10 + 0.5 * number for number in range(8)]
    p = compute_drift_p(climbing)
    assert p is not None
    assert p < 0.001
    false = [seed for seed in range(100) if (compute_drift_p(gauss(8, 10, 1, seed)) or 1) <= 0.05]
    assert len(false) <= 10
    assert compute_drift_p([1, 2, 3]) is None
    assert compute_drift_p([2.0] * 6) is None


def test_an_outlier_is_named_by_its_place() -> None:
    far, near = find_outlier([10, 10.1, 9.9, 10.05, 14, 9.95]), find_outlier([10, 10.1, 9.9, 10.05, 10.2, 9.95])
    assert far is not None and far[0] == 4 and far[1] < 0.001
    assert near is not None and near[1] > 0.2
    assert find_outlier([5, 5, 5, 5, 9]) == (4, 0.0)
    assert find_outlier([5, 5, 9]) is None
    assert find_outlier([5.0] * 6) is None


def test_of_clean_series_one_in_twenty_has_an_outlier() -> None:
    found = [find_outlier(gauss(5, 10, 1, seed)) for seed in range(1000)]
    assert 25 <= sum(one is not None and one[1] <= 0.05 for one in found) <= 75


def test_grubbs_own_example() -> None:
    # NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.5.17.1: G = 2.4688 of eight, critical value 2.032 at 5 %.
    found = find_outlier([199.31, 199.53, 200.19, 200.82, 201.92, 201.95, 202.18, 245.57])
    assert found is not None and found[0] == 7 and found[1] < 1e-6


@pytest.mark.parametrize(("tests", "least"), [(1, 5), (14, 6), (20, 7)])
def test_a_trend_takes_enough_values(tests: int, least: int) -> None:
    # Of n values one order in n! rises all the time, one falls: 2 / 4! = 8.3 %, 2 / 5! = 1.7 %.
    assert compute_least_for_drift(tests) == least


def pairs(change: float, noise: float, seed: int, count: int = 6) -> list[tuple[float, float]]:
    a, b = gauss(count, 1, noise, seed), gauss(count, 1 + change, noise, 1000 + seed)
    return list(zip(a, b, strict=True))


def test_a_thing_compared_with_itself_differs_as_rarely_as_it_should() -> None:
    found = [estimate_difference(pairs(0, 0.02, seed)) for seed in range(300)]
    assert sum(one.is_found for one in found if one) / 300 <= 0.05


def test_a_difference_well_above_the_noise_is_found_and_its_interval_holds_it() -> None:
    found = [one for seed in range(100) if (one := estimate_difference(pairs(0.05, 0.012, seed)))]
    assert sum(one.is_found for one in found) >= 95
    held = [one for one in found if one.low is not None and one.high is not None and one.low <= 1.05 <= one.high]
    assert len(held) >= 90


def test_few_pairs_find_nothing_and_say_nothing() -> None:
    found = estimate_difference([(1.0, 2.0)] * 5)
    assert found is not None
    assert not found.is_found
    assert found.low is None
    assert found.excluded_pct is None


def test_the_interval_is_that_of_the_test() -> None:
    """Six pairs: it leaves out zero just when all signs agree, which is when the test finds something."""
    agreeing = estimate_difference([(1, 1.01 + 0.01 * number) for number in range(6)])
    mixed = estimate_difference([(1, 1.05), (1, 1.04), (1, 1.06), (1, 1.05), (1, 1.07), (1, 0.999)])
    assert agreeing is not None
    assert mixed is not None
    assert agreeing.is_found
    assert agreeing.low is not None
    assert agreeing.low > 1
    assert not mixed.is_found
    assert mixed.low is not None
    assert mixed.low < 1


def test_many_pairs_are_drawn_instead_of_enumerated() -> None:
    found = estimate_difference(pairs(0.03, 0.02, 5, count=40))
    assert found is not None
    assert found.is_found


def test_figures_that_are_zero_have_no_ratio() -> None:
    assert estimate_difference([(0.0, 1.0), (1.0, 1.0)]) is None
    assert estimate_difference([]) is None


def test_holm_corrects_in_order() -> None:
    assert correct_by_holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    corrected = correct_by_holm([0.2, 0.001, 0.5, 0.9])
    assert all(one <= 1 for one in corrected)
    ordered = [corrected[at] for at in (1, 0, 2, 3)]
    assert all(a <= b for a, b in pairwise(ordered))


@pytest.mark.parametrize("count", [6, 12])
def test_a_study_finds_nine_times_in_ten_what_it_says_that_it_sees(count: int) -> None:
    told = [estimate_difference(pairs(0, 0.035, seed, count)) for seed in range(200)]
    seen = sum(one.seen_pct for one in told if one is not None and one.seen_pct is not None) / 200
    found = [estimate_difference(pairs(seen / 100, 0.035, seed, count)) for seed in range(300)]
    assert 0.85 <= sum(one is not None and one.is_found for one in found) / 300 <= 0.96


def studies_that_find(change: float, seeds: Sequence[int]) -> int:
    """How many studies find a change, each of as many pairs as its pilot asks for to find five per cent."""
    found = 0
    for seed in seeds:
        pilot = estimate_difference(pairs(0, 0.06, seed, 10))
        assert pilot is not None
        assert pilot.seen_pct is not None
        enough = estimate_pairs_needed(pilot.seen_pct, 10, 5.0)
        assert enough is not None
        study = estimate_difference(pairs(change, 0.06, 1000 + seed, enough))
        found += study is not None and study.is_found
    return found


def test_as_many_pairs_as_a_pilot_asks_for_find_what_is_sought_and_nothing_where_nothing_is() -> None:
    assert studies_that_find(0.05, range(20)) >= 17
    assert studies_that_find(0.0, range(10)) <= 1


def test_pairs_are_asked_for_within_reason() -> None:
    assert estimate_pairs_needed(0.1, 6, 5.0) == 6
    assert estimate_pairs_needed(500, 6, 1.0) is None


def test_pairs_needed_follow_from_the_upper_limit_of_the_scatter() -> None:
    # 40 pairs that see 5 %: a pair scatters by 9.28 %, and by 10.33 % at most (chi-square of 39, lower fifth 31.44).
    seen_in_sds = (scipy.stats.t.ppf(0.975, 39) + scipy.stats.t.ppf(0.9, 39)) / math.sqrt(40)
    most = math.log(1.05) / seen_in_sds * math.sqrt(39 / scipy.stats.chi2.ppf(0.2, 39))

    def sees_pct(count: int) -> float:
        quantiles = scipy.stats.t.ppf(0.975, count - 1) + scipy.stats.t.ppf(0.9, count - 1)
        return 100 * math.expm1(quantiles / math.sqrt(count) * most)

    needed = estimate_pairs_needed(5.0, 40, 2.0)
    assert needed is not None
    assert sees_pct(needed) <= 2 < sees_pct(needed - 1)


def test_too_few_pairs_see_nothing() -> None:
    few = estimate_difference(pairs(0, 0.02, 1, 5))
    assert few is not None
    assert few.seen_pct is None
