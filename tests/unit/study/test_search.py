"""Searching a peak among noisy runs."""

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest

from loadstone.study.search.answer import LimitedBy, LoadStanding, SearchAnswer
from loadstone.study.search.edge import MarginFit
from loadstone.study.search.question import Search
from loadstone.study.search.state import MOST_SEARCH_RUNS
from loadstone.study.summary import Purpose, RunRequest, RunSummary
from tests.made import carry_out, made, noisy_edge

SEARCH = Search("page", {}, "sessions", start=100, width=0.01)


def test_without_noise_the_peak_is_the_capacity_within_the_width() -> None:
    answer, runs = carry_out(SEARCH, noisy_edge(1234, 0, 1))
    assert 0.99 * 1234 <= answer.peak <= 1234
    assert answer.limit is LimitedBy.RULE
    assert answer.broke_first[0].rule == "good operations"
    assert len(runs) < 25


Noisy = Sequence[tuple[SearchAnswer, Sequence[RunSummary]]]


@pytest.fixture(scope="module")
def noisy() -> Noisy:
    """Three searches, whose answers take half a second each."""
    return [carry_out(SEARCH, noisy_edge(1000, 0.02, seed)) for seed in range(3)]


def test_a_reported_peak_passed_every_fresh_run_and_what_is_above_failed_twice(noisy: Noisy) -> None:
    for answer, runs in noisy:
        holds_what_it_says(answer, runs)


def holds_what_it_says(answer: SearchAnswer, runs: Sequence[RunSummary]) -> None:
    """Raises AssertionError unless the peak passed all its proofs and the least load above it failed twice."""
    peak = answer.peak
    proofs = [one for one in runs if one.request.load == peak and one.request.purpose is Purpose.VERIFY]
    assert len(proofs) == SEARCH.verify
    assert all(one.passed for one in proofs)
    above = min(at.at for at in answer.loads if at.standing is LoadStanding.FAILS)
    assert peak is not None and above > peak
    assert above - peak <= 0.01 * above + 1
    assert len([one for one in runs if one.request.load == above]) >= 2


def test_repetitions_lie_within_each_others_intervals() -> None:
    assert fmean(repetitions_inside(range(3))) >= 0.8


def repetitions_inside(seeds: Sequence[int]) -> list[bool]:
    """For each search's interval and each search's peak: whether the interval holds it. All peaks are near the true."""
    answers = [carry_out(SEARCH, noisy_edge(1000, 0.01, seed))[0] for seed in seeds]
    peaks = [answer.peak for answer in answers]
    assert all(abs(peak / 1000 - 1) <= 0.03 for peak in peaks), peaks
    return [low <= peak <= high for low, high in (answer.interval for answer in answers) for peak in peaks]


def test_where_the_driver_is_the_limit_the_answer_says_so() -> None:
    def play(request: RunRequest) -> RunSummary:
        bound = request.load > 500
        return made(request, "invalid" if bound else "pass", driver_bound=bound)

    answer, _ = carry_out(SEARCH, play)
    assert answer.limit is LimitedBy.DRIVER
    assert 495 <= answer.peak <= 500
    assert "The driver was the limit" in answer.headline[0]
    assert "at least" in answer.headline[0]


def test_when_nothing_passes_there_is_no_peak() -> None:
    answer, runs = carry_out(SEARCH, lambda request: made(request, "fail", good=10))
    assert answer.peak is None
    assert answer.is_answered
    assert answer.headline[0].startswith("No load passes")
    assert len([one for one in runs if one.request.load == 1]) >= 1


def test_the_most_that_is_allowed_is_not_passed() -> None:
    answer, runs = carry_out(replace(SEARCH, most=800), lambda request: made(request))
    assert answer.peak == 800
    assert answer.limit is LimitedBy.MOST
    assert max(one.request.load for one in runs) == 800


def test_a_server_that_answers_by_lot_is_given_up_in_time() -> None:
    verdicts = iter(["pass", "fail"] * MOST_SEARCH_RUNS)
    answer, runs = carry_out(SEARCH, lambda request: made(request, next(verdicts)))
    assert len(runs) == MOST_SEARCH_RUNS
    assert (answer.peak, answer.is_answered) == (None, False)
    assert f"No peak within {MOST_SEARCH_RUNS} runs" in answer.headline[0]


def test_the_same_runs_lead_to_the_same_next_one() -> None:
    _, runs = carry_out(SEARCH, noisy_edge(1000, 0.02, 3))
    for count, run in enumerate(runs):
        assert SEARCH.plan_next(runs[:count]) == run.request


def test_rates_are_searched_as_well_as_sessions() -> None:
    answer, _ = carry_out(replace(SEARCH, load="rate", start=1), noisy_edge(7.7, 0, 1))
    assert 0.99 * 7.7 <= answer.peak <= 7.7


def test_the_edge_lies_where_half_of_all_runs_pass_and_its_interval_holds_it(noisy: Noisy) -> None:
    edges = [answer.edge for answer, _ in noisy if answer.edge is not None]
    assert len(edges) == len(noisy)
    assert fmean(edge.load for edge in edges) == pytest.approx(1000, rel=0.02)
    assert sum(edge.low <= 1000 <= edge.high for edge in edges) >= len(edges) - 1


@pytest.mark.parametrize("seed", range(2))
def test_without_an_edge_the_bracket_counts_only_where_chance_was_nowhere_seen(seed: int) -> None:
    chance = random.Random(seed)

    def cliff(request: RunRequest) -> RunSummary:
        return made(request, "pass", good=100) if request.load <= 1234 else made(request, "fail", good=0)

    def scattered(request: RunRequest) -> RunSummary:
        passes = chance.random() < 1 / (1 + (request.load / 1000) ** 20)
        return replace(made(request, "pass" if passes else "fail"), checks=())

    sharp, _ = carry_out(SEARCH, cliff)
    assert sharp.interval is not None
    assert sharp.interval[0] <= 1234 <= sharp.interval[1]
    vague, _ = carry_out(SEARCH, scattered)
    assert vague.peak is not None
    assert vague.interval is None
    assert "by chance" in vague.headline[0]


def test_margins_without_any_noise_are_fitted_too() -> None:
    loads = np.log([90.0, 95.0, 100.0, 100.0, 105.0, 110.0])
    fit = MarginFit.fit_points(loads, 7 * (loads - math.log(100)))
    assert fit is not None
    assert math.exp(fit.edge) == pytest.approx(100)
    assert fit.error > 0
    assert MarginFit.fit_points(loads, -loads) is None
