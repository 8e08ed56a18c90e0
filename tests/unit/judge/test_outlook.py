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


def test_enough_load_is_not_remarked() -> None:
    assert not list(list_warnings(small_criteria(**{**POPULATION, "sessions": 100})))
    unpaced = small_criteria(**{**POPULATION, "mean_pause_s": 0.0})
    assert compute_most_operations(unpaced) is None and not list(list_warnings(unpaced))


def test_arrivals_bring_what_is_due() -> None:
    few = small_criteria(**POPULATION, due=12.0, operations_per_session=2.0, tolerable_share_pct=99.0)
    assert compute_most_operations(few) == pytest.approx(24.0)
    (said,) = list_warnings(few)
    assert "sessions or" not in said and "200 s of steady state" in said


def test_pauses_that_nobody_makes_are_named() -> None:
    said = list(list_warnings(small_criteria(**{**POPULATION, "sessions": 1000, "paused_share": 0.0})))
    assert any("its pauses of 10 s are never made" in text for text in said)
