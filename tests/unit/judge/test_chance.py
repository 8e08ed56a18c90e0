"""What chance alone may do: false alarms are as rare as said, and what is wrong is found."""

import math

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.judge.chance import (
    MIX_LEVEL,
    compute_count_chance,
    compute_most_by_chance,
    compute_share_chances,
    compute_share_interval,
)
from loadstone.judge.mix import compute_least_sessions
from loadstone.workloads import load
from loadstone.workloads.shares import compute_dispersion, compute_shares
from tests.records import criteria, small_criteria

SHOP = compute_shares(load("shopping"))


def test_a_checkout_that_never_came_is_found_among_613_operations() -> None:
    late = ("login", "shipping", "billing", "confirm", "cart")
    counts = {name: 0 if name in late else round(613 * share) for name, share in SHOP.operations.items()}
    chances = compute_share_chances(counts, SHOP.operations, compute_dispersion(load("shopping")))
    assert all(chances[name] < MIX_LEVEL for name in late)


RUNS = (("shopping", 600), ("banking", 5000), ("support", 300))
"""Workloads, and how many operations are played of each."""


@pytest.mark.parametrize(("name", "operations"), RUNS)
def test_healthy_runs_are_not_accused(name: str, operations: int) -> None:
    assert accused(name, operations, 30, 1) == 0


def accused(name: str, operations: int, runs: int, seed: int) -> int:
    """How many runs break a rule of shares whose visits are played one after the other, as they are declared."""
    workload = load(name)
    mix, bunches, chance = compute_shares(workload), compute_dispersion(workload), np.random.default_rng(seed)
    states, start = workload.list_states(), str(workload.mix.start)
    rows = {name: (list(row), np.cumsum(list(row.values()))) for name, row in workload.mix.from_.items()}
    count = 0
    for _ in range(runs):
        counts = dict.fromkeys(mix.operations, 0)
        state = start
        for uniform in chance.random(operations):
            counts[states[state].operation] += 1
            names, sums = rows[state]
            place = int(np.searchsorted(sums, uniform, side="right"))
            state = names[place] if place < len(names) and names[place] != "end" else start
        count += min(compute_share_chances(counts, mix.operations, bunches).values()) < MIX_LEVEL
    return count


def test_half_of_a_share_is_found_once_enough_were_due() -> None:
    assert compute_count_chance(5, 1000, 0.01) > 0.05
    assert compute_count_chance(50, 10_000, 0.01) < MIX_LEVEL / 10
    assert compute_count_chance(150, 10_000, 0.01) < MIX_LEVEL / 10
    # A twentieth of the share is forgiven, however many were seen.
    assert compute_count_chance(96_000, 10_000_000, 0.01) > 0.5


def test_pages_that_follow_themselves_come_in_bunches() -> None:
    found = compute_dispersion(load("shopping"))
    assert found["search"] > 3  # seven of ten searches are followed by another
    assert compute_dispersion(load("static")) == {}
    assert compute_count_chance(60, 2000, 0.05, 4.0) > compute_count_chance(60, 2000, 0.05)


def test_most_by_chance_is_the_quantile_of_a_poisson_count() -> None:
    # P(more than 5 | 1) = 0.06 %, P(more than 4 | 1) = 0.37 %; P(more than 1 | 0.04) = 0.08 %.
    assert [compute_most_by_chance(expected) for expected in (0.0, 0.04, 1.0)] == [0, 1, 5]


def test_a_share_has_its_interval() -> None:
    # Wilson 1927, 190 of 200: 91.0 to 97.3 %.
    assert compute_share_interval(190, 200) == pytest.approx((0.9104, 0.9726), abs=2e-4)


@given(st.integers(1, 10_000_000).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
@settings(deadline=None)
def test_the_interval_of_a_share_is_the_librarys(counted: tuple[int, int]) -> None:
    interval = scipy.stats.binomtest(*counted).proportion_ci(0.95, method="wilson")
    assert compute_share_interval(*counted) == pytest.approx((interval.low, interval.high), abs=1e-12)


def test_published_limits_are_fair_from_some_number_of_sessions_on() -> None:
    # Net: 1.5 % at 3.29 standard errors takes 48,100 operations; 30 minutes bring each session about 190.
    found = compute_least_sessions(criteria("banking", 100))
    assert found is not None and 230 < found < 400
    # Of half of all operations, in bunches of eight: 2 * (100 * 3.2905)^2 of them keep within one per cent of all.
    bunched = small_criteria(dispersion={"a": 8.0})
    assert compute_least_sessions(bunched) == math.ceil(2 * (100 * 3.290527) ** 2 / 100)
    assert compute_least_sessions(small_criteria(due=100.0)) is None
    assert compute_least_sessions(small_criteria(pacing="cycle")) is None
