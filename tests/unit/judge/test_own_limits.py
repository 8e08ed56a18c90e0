"""Limits of a user's own: errors allowed, percentiles, throughput."""

from dataclasses import replace

import pytest

from loadstone.judge.check import DECLARED
from loadstone.judge.rules import apply_rules
from loadstone.judge.verdict import choose_headline
from loadstone.model.figures import NOTHING, Distribution, MeanLimit, OwnLimits, PercentileLimit
from loadstone.model.records.check import Check, CheckId, Outcome, Weight
from loadstone.report.sections.headline import explain_unknown
from tests.records import iteration, operation, small_criteria

OURS = (
    CheckId.ERRORS,
    CheckId.PERCENTILE,
    CheckId.MEAN,
    CheckId.THROUGHPUT,
    CheckId.VALIDATION_ERRORS,
    CheckId.UNANSWERED,
)


def held(own: OwnLimits, *, requests: int = 1000, **changes: object) -> dict[str, Check]:
    page = replace(operation("page", requests, 0.1), **changes)  # type: ignore[arg-type]
    found = apply_rules(small_criteria(own=own), iteration((page,), 100.0))
    return {check.rule: check for check in found if check.id in OURS}


def test_errors_are_forbidden_unless_some_are_allowed() -> None:
    wrong = {"errors": {"title": 3, "reset": 2}}
    assert held(OwnLimits(), **wrong)["validation errors"].outcome is Outcome.BROKEN
    allowed = held(OwnLimits(errors_pct=0.5), **wrong)
    assert "validation errors" not in allowed
    check = allowed["operations that ended in an error"]
    assert (check.figure, check.outcome, check.detail) == (pytest.approx(0.5), Outcome.KEPT, "reset, title")
    assert (check.unit, check.weight, check.source) == ("%", Weight.FAIL, DECLARED)
    assert held(OwnLimits(errors_pct=0.4), **wrong)[check.rule].outcome is Outcome.BROKEN
    assert held(OwnLimits(errors_pct=0.5), **wrong, overdue=1)[check.rule].outcome is Outcome.BROKEN
    # Operations that are overdue are attempts too: 500 of 1,500.
    assert held(OwnLimits(errors_pct=0.5), overdue=500)[check.rule].figure == pytest.approx(100 / 3)
    assert held(OwnLimits(errors_pct=0.5), requests=1, errors={"reset": 1})[check.rule].figure == 100


@pytest.mark.parametrize(
    ("count", "p99_s", "outcome", "weight", "figure", "detail"),
    [
        (1000, 0.5, Outcome.KEPT, Weight.FAIL, 0.5, ""),
        (1000, 0.7, Outcome.BROKEN, Weight.FAIL, 0.7, ""),
        (50, 0.5, Outcome.BROKEN, Weight.INVALID, 0.9, "the largest of 50 times: too few to know the percentile"),
        (0, 0.5, Outcome.BROKEN, Weight.INVALID, 0.0, "no sample"),
    ],
)
def test_a_percentile_breaks_its_limit_only_where_it_is_known(
    count: int, p99_s: float, outcome: Outcome, weight: Weight, figure: float, detail: str
) -> None:
    times = Distribution(count, 0.1, {99.0: p99_s, 100.0: 0.9} if count else {})
    check = held(OwnLimits(percentiles=(PercentileLimit("page", 99.0, 0.6),)), response=times)["p99 of page"]
    assert (check.outcome, check.weight, check.figure, check.detail) == (outcome, weight, figure, detail)
    assert (check.limit, check.unit, check.source) == (0.6, "s", DECLARED)


def test_a_percentile_of_all_operations_is_that_of_the_run() -> None:
    check = held(OwnLimits(percentiles=(PercentileLimit("", 99.0, 0.6),)))["p99 of all operations"]
    whole = iteration((operation("page", 1000, 0.1),), 100.0).response.get_value_at(99.0)
    assert check.figure == whole


def test_few_times_that_all_keep_a_limit_are_enough() -> None:
    times = Distribution(50, 0.1, {99.0: 0.2, 100.0: 0.5})
    check = held(OwnLimits(percentiles=(PercentileLimit("page", 99.0, 0.6),)), response=times)["p99 of page"]
    assert check.outcome is Outcome.KEPT


@pytest.mark.parametrize(
    ("mean_s", "outcome", "weight", "detail"),
    [
        (0.5, Outcome.KEPT, Weight.FAIL, ""),
        (0.51, Outcome.BROKEN, Weight.FAIL, ""),
        (None, Outcome.BROKEN, Weight.INVALID, "no sample"),
    ],
)
def test_a_mean_keeps_its_limit_or_breaks_it(
    mean_s: float | None, outcome: Outcome, weight: Weight, detail: str
) -> None:
    times = Distribution(1000, mean_s, {})
    check = held(OwnLimits(means=(MeanLimit("page", 0.5),)), response=times)["mean of page"]
    assert (check.outcome, check.weight, check.figure, check.detail) == (outcome, weight, mean_s or 0.0, detail)
    assert (check.limit, check.unit, check.source) == (0.5, "s", DECLARED)


def test_throughput_is_what_was_answered_a_second() -> None:
    def rate(least: float, **changes: object) -> Outcome:
        return held(OwnLimits(throughput_per_s=least), **changes)["operations a second"].outcome

    assert [rate(10.0), rate(10.1)] == [Outcome.KEPT, Outcome.BROKEN]
    answered = replace(operation("page", 1000, 0.1).response, count=999)
    assert rate(10.0, errors={"title": 1}, response=answered) is Outcome.BROKEN


def test_long_answers_that_the_window_cuts_count_where_they_end() -> None:
    """Of answers of 3 s in a window of 9 s a third began before it: 25 a second end in it, 17.2 lie inside."""
    ended = replace(operation("page", 155, 3.0).response, count=225)
    page = replace(operation("page", 155, 3.0), response=ended, cut_at_start=70)
    figures = iteration((page,), 9.0)
    assert figures.throughput_per_s == pytest.approx(25.0)
    (check,) = (
        one
        for one in apply_rules(small_criteria(own=OwnLimits(throughput_per_s=22)), figures)
        if one.id is CheckId.THROUGHPUT
    )
    assert (check.figure, check.outcome) == (pytest.approx(25.0), Outcome.KEPT)
    headline = choose_headline(figures)
    assert headline is not None and headline.per_s == pytest.approx(25.0)


def test_refusals_are_no_throughput() -> None:
    """Half of what ended was refused: the headline's rate is that of the right answers."""
    right = replace(operation("page", 1000, 0.1).response, count=500)
    figures = iteration((replace(operation("page", 1000, 0.1), errors={"status": 500}, response=right),), 100.0)
    headline = choose_headline(figures)
    assert headline is not None and (headline.per_s, headline.errors_pct) == (pytest.approx(5.0), pytest.approx(50.0))
    dead = iteration((replace(operation("page", 1000, 0.1), errors={"refused": 1000}, response=NOTHING),), 100.0)
    headline = choose_headline(dead)
    assert headline is not None and (headline.per_s, headline.errors_pct) == (0.0, pytest.approx(100.0))


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (Distribution(1430, 0.1, {50.0: 0.1}, lost=1080), "43 % had no answer"),
        (Distribution(12, 0.1, {50.0: 0.1, 95.0: 0.2}), "too few samples"),
        (Distribution(690_000, 0.1, {}), "not disclosed"),
    ],
)
def test_why_a_percentile_is_not_known_is_said(times: Distribution, said: str) -> None:
    assert explain_unknown(times, 95.0) == said
