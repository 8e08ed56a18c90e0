"""The last sentence of a search: what a system holds, what limits it, and what to plan with."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from loadstone.study.search.answer import SearchAnswer
from loadstone.study.search.decision import find_load
from loadstone.study.search.question import Search
from loadstone.study.summary import RunRequest, RunSummary
from tests.made import carry_out, made

SEARCH = Search("page", {}, "sessions", start=100, width=0.01)


def cliff(edge: float, full_at: float | None) -> Callable[[RunRequest], RunSummary]:
    """A server of two cores that passes up to `edge`, and whose CPU is full at `full_at`."""

    def play(request: RunRequest) -> RunSummary:
        passes = request.load <= edge
        run = made(request, "pass" if passes else "fail", good=100 if passes else 0)
        if full_at is None:
            return run
        metrics = {**run.metrics, "server_cpu": 2 * min(1.0, request.load / full_at)}
        return replace(run, metrics=metrics, capacity={"server_cores": 2.0})

    return play


def decision_of(search: Search, play: Callable[[RunRequest], RunSummary]) -> tuple[SearchAnswer, str]:
    answer, _ = carry_out(search, play)
    return answer, answer.headline[-1]


def test_a_system_whose_cpu_is_full_is_planned_with_four_fifths_of_it() -> None:
    answer, sentence = decision_of(SEARCH, cliff(1000, full_at=1000))
    assert answer.peak is not None
    assert sentence.startswith(f"Decision: the system holds {answer.peak:g} sessions (a repetition finds ")
    assert "limited by the system's CPU (100 % used); above it, the rule `good operations` breaks first. " in sentence
    assert sentence.endswith("Keep its CPU below 80 %: that is 800 sessions, interpolated.")


def test_a_system_that_the_lab_started_is_named_with_its_platform() -> None:
    play = cliff(1000, full_at=1000)
    _, sentence = decision_of(SEARCH, lambda request: replace(play(request), platform="vm"))
    assert sentence.startswith("Decision: this host holds ") and " sessions of page on vm (" in sentence


def test_a_system_with_idle_cpu_needs_no_smaller_load() -> None:
    _, sentence = decision_of(SEARCH, cliff(1000, full_at=2500))
    assert sentence.endswith("There 40 % of its CPU is used.")


def test_where_no_load_leaves_a_fifth_free_none_is_named() -> None:
    _, sentence = decision_of(replace(SEARCH, start=990), cliff(1000, full_at=700))
    assert sentence.endswith("Keep its CPU below 80 %: all loads that were tried use more.")


def test_a_cpu_that_was_not_watched_is_not_guessed() -> None:
    _, sentence = decision_of(SEARCH, cliff(1000, full_at=None))
    assert sentence.endswith("Its CPU was not watched, so no share of it can be kept free.")


def test_the_most_that_was_allowed_is_a_lower_bound() -> None:
    _, sentence = decision_of(replace(SEARCH, most=800), cliff(1000, full_at=2000))
    assert sentence == "Decision: the system holds at least 800 sessions. There 40 % of its CPU is used."


def test_a_driver_that_was_the_limit_is_named() -> None:
    def play(request: RunRequest) -> RunSummary:
        is_bound = request.load > 500
        return made(request, "invalid" if is_bound else "pass", driver_bound=is_bound)

    _, sentence = decision_of(SEARCH, play)
    assert sentence.startswith("Decision: the system holds at least 5") or "at least 49" in sentence
    assert "; the driver was the limit. " in sentence


def test_without_a_peak_nothing_is_decided() -> None:
    answer, _ = carry_out(SEARCH, lambda request: made(request, "fail", good=10))
    assert not any(sentence.startswith("Decision") for sentence in answer.headline)


@pytest.mark.parametrize(
    ("used", "load"),
    [
        ([(100.0, 0.4), (200.0, 0.8), (300.0, 1.0)], 200.0),
        ([(100.0, 0.6), (200.0, 1.0)], 150.0),
        ([(100.0, 0.9), (200.0, 0.95)], None),
        ([(100.0, 0.1), (200.0, 0.2)], None),
        ([(100.0, 0.7), (200.0, 0.65), (300.0, 0.95)], 250.0),
        ([(100.0, 0.7)], None),
    ],
)
def test_the_load_of_a_share_lies_between_measured_loads(used: list[tuple[float, float]], load: float | None) -> None:
    assert find_load(used, 0.8) == (None if load is None else pytest.approx(load))
