"""What is said of a load before it is played."""

import pytest

from loadstone.judge.outlook import compute_least_operations, compute_most_operations, list_warnings
from tests.records import small_criteria

POPULATION = {"sessions": 10, "steady_s": 40.0, "mean_pause_s": 10.0, "paused_share": 0.8, "pacing": "think"}


def test_a_population_brings_at_most_what_its_pauses_let_it() -> None:
    criteria = small_criteria(**POPULATION)
    assert compute_most_operations(criteria) == pytest.approx(50.0)
    assert compute_least_operations(small_criteria(**POPULATION, good_share_pct=95.0, tolerable_share_pct=99.0)) == 100
    (said,) = list_warnings(small_criteria(**POPULATION, tolerable_share_pct=99.0))
    assert "50 operations are expected at most, and a verdict takes 100" in said
    assert "Give 24 sessions or 96 s of steady state" in said


def test_pauses_of_a_cycle_are_all_made() -> None:
    assert compute_most_operations(small_criteria(**{**POPULATION, "pacing": "cycle"})) == pytest.approx(40.0)
    assert compute_most_operations(small_criteria(**{**POPULATION, "mean_pause_s": 0.5})) == pytest.approx(1000.0)


def test_as_many_operations_as_a_verdict_takes_are_enough() -> None:
    criteria = small_criteria(**{**POPULATION, "sessions": 20}, tolerable_share_pct=99.0)
    assert compute_most_operations(criteria) == compute_least_operations(criteria) == 100
    assert not list(list_warnings(criteria))


def test_enough_load_is_not_remarked() -> None:
    assert not list(list_warnings(small_criteria(**{**POPULATION, "sessions": 100})))
    unpaced = small_criteria(**{**POPULATION, "mean_pause_s": 0.0})
    assert compute_most_operations(unpaced) is None and not list(list_warnings(unpaced))


def test_arrivals_bring_what_is_due() -> None:
    few = small_criteria(**POPULATION, due=12.0, operations_per_session=2.0, tolerable_share_pct=99.0)
    assert compute_most_operations(few) == pytest.approx(24.0)
    (said,) = list_warnings(few)
    assert "sessions or" not in said and "200 s of steady state" in said
    assert compute_most_operations(small_criteria(**POPULATION, due=12.0, operations_per_session=None)) == 12.0


def test_pauses_that_nobody_makes_are_named() -> None:
    said = list(list_warnings(small_criteria(**{**POPULATION, "sessions": 1000, "paused_share": 0.0})))
    (text,) = said
    assert text.endswith(
        "its pauses of 10 s are never made, since each session has one operation and the next begins at once. Give "
        "--rate, or sessions of several operations."
    )
