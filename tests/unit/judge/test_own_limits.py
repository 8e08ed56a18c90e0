"""Limits of a user's own: errors allowed, percentiles, throughput."""

from dataclasses import replace

import pytest

from loadstone.judge.rules import checks
from loadstone.model.figures import Distribution, OwnLimits, PercentileLimit
from loadstone.model.records.check import Check, CheckId, Outcome, Weight
from tests.records import iteration, operation, small_criteria

OURS = (CheckId.ERRORS, CheckId.PERCENTILE, CheckId.THROUGHPUT, CheckId.VALIDATION_ERRORS, CheckId.UNANSWERED)


def held(own: OwnLimits, *, requests: int = 1000, **changes: object) -> dict[str, Check]:
    page = replace(operation("page", requests, 0.1), **changes)  # type: ignore[arg-type]
    found = checks(small_criteria(own=own), iteration((page,), 100.0))
    return {check.rule: check for check in found if check.id in OURS}


def test_errors_are_forbidden_unless_some_are_allowed() -> None:
    wrong = {"errors": {"title": 3, "reset": 2}}
    assert held(OwnLimits(), **wrong)["validation errors"].outcome is Outcome.BROKEN
    allowed = held(OwnLimits(errors_pct=0.5), **wrong)
    assert "validation errors" not in allowed
    check = allowed["operations that ended in an error"]
    assert (check.figure, check.outcome, check.detail) == (pytest.approx(0.5), Outcome.KEPT, "reset, title")
    assert held(OwnLimits(errors_pct=0.4), **wrong)[check.rule].outcome is Outcome.BROKEN
    assert held(OwnLimits(errors_pct=0.5), **wrong, overdue=1)[check.rule].outcome is Outcome.BROKEN


@pytest.mark.parametrize(
    ("count", "p99_s", "outcome", "weight"),
    [
        (1000, 0.5, Outcome.KEPT, Weight.FAIL),
        (1000, 0.7, Outcome.BROKEN, Weight.FAIL),
        (50, 0.5, Outcome.BROKEN, Weight.INVALID),
        (0, 0.5, Outcome.BROKEN, Weight.INVALID),
    ],
)
def test_a_percentile_breaks_its_limit_only_where_it_is_known(
    count: int, p99_s: float, outcome: Outcome, weight: Weight
) -> None:
    times = Distribution(count, 0.1, {99.0: p99_s, 100.0: 0.9} if count else {})
    check = held(OwnLimits(percentiles=(PercentileLimit("page", 99.0, 0.6),)), response=times)["p99 of page"]
    assert (check.outcome, check.weight) == (outcome, weight)


def test_few_times_that_all_keep_a_limit_are_enough() -> None:
    times = Distribution(50, 0.1, {99.0: 0.2, 100.0: 0.5})
    check = held(OwnLimits(percentiles=(PercentileLimit("page", 99.0, 0.6),)), response=times)["p99 of page"]
    assert check.outcome is Outcome.KEPT


def test_throughput_is_what_was_answered_a_second() -> None:
    def rate(least: float, **changes: object) -> Outcome:
        return held(OwnLimits(throughput_per_s=least), **changes)["operations a second"].outcome

    assert [rate(10.0), rate(10.1)] == [Outcome.KEPT, Outcome.BROKEN]
    assert rate(10.0, errors={"title": 1}) is Outcome.BROKEN
