"""Times from a window shorter than they are: what its edges cut off is made up for."""

import math

import numpy as np
import pytest

from loadstone.model.errors import StoreError
from loadstone.store.histograms import estimate_lasting
from loadstone.store.product_limit import LifeTable, estimate
from tests.records import encoded, operation_record

SIGMA = math.sqrt(math.log(1 + 1.5**2))
"""Of a log-normal time of mean 5 s and a variation of 1.5."""
MU = math.log(5) - SIGMA**2 / 2


def seen(window_s: float, per_s: float = 400.0, begin_s: float = -2000.0) -> tuple[LifeTable, list[float]]:
    """Operations of 5 s on the mean that begin all the time, as a window sees them; and those that lie inside."""
    chance = np.random.default_rng(7)
    starts = chance.uniform(begin_s, window_s, int(per_s * (window_s - begin_s)))
    ends = starts + chance.lognormal(MU, SIGMA, len(starts))
    under_way = ends > 0
    starts, ends = starts[under_way], ends[under_way]

    def counts(ages: np.ndarray) -> list[tuple[int, int]]:
        distinct, number = np.unique(np.ceil(ages * 1e6).astype(int), return_counts=True)
        return list(zip(distinct.tolist(), number.tolist(), strict=True))

    is_answered = ends <= window_s
    table = LifeTable(
        entered=counts(-starts[starts < 0]),
        answered=counts((ends - starts)[is_answered]),
        lost=counts(window_s - starts[~is_answered]),
    )
    return table, (ends - starts)[is_answered & (starts >= 0)].tolist()


@pytest.mark.parametrize("window_s", [9.0, 35.0])
def test_a_window_of_nine_seconds_sees_what_lasts_longer(window_s: float) -> None:
    table, inside = seen(window_s)
    assert np.mean(inside) < 4.2  # what the window alone would say, of 5
    found = estimate(table)
    assert found is not None and found.mean_us is not None
    assert found.mean_us / 1e6 == pytest.approx(5.0, rel=0.05)
    for percentile, normal in ((50.0, 0.0), (90.0, 1.2816), (99.0, 2.3263)):
        time_us = found.get_value_at(percentile)
        assert time_us is not None
        assert time_us / 1e6 == pytest.approx(math.exp(MU + normal * SIGMA), rel=0.1), percentile


def test_without_edges_it_is_the_plain_distribution() -> None:
    found = estimate(LifeTable([], [(1, 1), (2, 2), (4, 1)], []))
    assert found is not None
    assert [found.get_value_at(at) for at in (25.0, 26.0, 75.0, 76.0, 100.0)] == [1, 2, 2, 4, 4]
    assert found.mean_us == pytest.approx(2.25)


def test_kaplan_and_meiers_own_example() -> None:
    # Kaplan and Meier 1958: deaths at 0.8, 3.1, 5.4, 9.2; losses at 1.0, 2.7, 7.0, 12.1.
    table = LifeTable([], [(8, 1), (31, 1), (54, 1), (92, 1)], [(10, 1), (27, 1), (70, 1), (121, 1)])
    found = estimate(table)
    assert found is not None
    assert (1 - found.shares).tolist() == pytest.approx([7 / 8, 7 / 8 * 4 / 5, 7 / 8 * 4 / 5 * 3 / 4, 0.2625])
    assert found.mean_us is None  # a quarter lasts longer than all that was seen
    assert found.get_value_at(99.0) is None


def test_nothing_answered_is_nothing_known() -> None:
    assert estimate(LifeTable([], [], [(5, 3)])) is None


def test_an_early_age_at_which_all_were_answered_says_nothing_of_older_ones() -> None:
    found = estimate(LifeTable([(50, 10)], [(10, 1), (60, 10)], []))
    assert found is not None
    assert found.get_value_at(100.0) == 60


def test_times_beyond_the_histogram_are_known_to_be_that_long() -> None:
    clamped = encoded(*[600_000_000] * 60, *[1_000_000] * 40)
    clamped = type(clamped)(**{**clamped.__dict__, "clamped": 60, "mean_s": 2000.0})
    found = estimate_lasting([operation_record(answered=clamped)])
    assert (found.count, found.mean_s, found.get_value_at(50.0)) == (100, None, None)
    assert found.percentiles_s[100.0] == 600.0


@pytest.mark.parametrize(
    "wrong", [{"clamped": 1, "hdr": ""}, {"clamped": 41}, {"clamped": -1}, {"count": 99}, {"hdr": ""}, {"count": 0}]
)
def test_counts_that_contradict_each_other_are_refused(wrong: dict[str, object]) -> None:
    right = encoded(*[600_000_000] * 40, *[1_000_000] * 60)
    with pytest.raises(StoreError, match="An operation has"):
        estimate_lasting([operation_record(answered=type(right)(**{**right.__dict__, **wrong}))])


def test_few_times_have_no_high_percentile() -> None:
    few, many = (
        estimate_lasting([operation_record(answered=encoded(*range(1000, 1000 + count)))]) for count in (99, 100)
    )
    assert few.get_value_at(99.0) is None and few.get_at_most(99.0) == few.get_value_at(100.0)
    assert many.get_value_at(99.0) is not None and many.get_value_at(99.9) is None
