"""Studies of a queue that theory knows: they find its capacity, a slowdown of it, and predict what it does."""

from collections.abc import Sequence
from statistics import fmean

import pytest

from loadstone.study import service_model
from loadstone.study.kinds.compare.loads.answer import CompareAnswer
from loadstone.study.kinds.compare.loads.question import Compare
from loadstone.study.kinds.predict.question import Predict
from loadstone.study.search.answer import SearchAnswer
from loadstone.study.search.question import Search
from loadstone.study.service_model import ModelLimits
from tests.made import carry_out
from tests.queues import CENTRE, GOOD_S, SERVICE_S, TOLERABLE_S, closed_capacity, open_capacity, queue

CAPACITIES = {"rate": open_capacity(), "sessions": closed_capacity()}
STARTS = {"rate": 100, "sessions": 20}
SEEDS = (1, 2, 3)


def search(kind: str, seed: int) -> SearchAnswer:
    """The answer of a search for the largest load of a kind."""
    question = Search("page", {}, kind, start=STARTS[kind], width=0.01)
    answer, _ = carry_out(question, queue(seed, 100))
    return answer


def repetitions_inside(kind: str, seeds: Sequence[int]) -> list[bool]:
    """For each search's interval and each other search's peak: whether the interval holds it. All peaks are within
    three per cent of the capacity.
    """
    answers = [search(kind, seed) for seed in seeds]
    peaks = [answer.peak for answer in answers]
    assert all(peak and abs(peak / CAPACITIES[kind] - 1) <= 0.03 for peak in peaks), (CAPACITIES[kind], peaks)
    spans = [answer.interval for answer in answers]
    assert all(spans)
    pairs = [(span, peak) for of, span in enumerate(spans) for at, peak in enumerate(peaks) if of != at]
    return [span[0] <= peak <= span[1] for span, peak in pairs if span and peak]


@pytest.mark.parametrize("kind", CAPACITIES)
def test_three_searches_find_the_capacity_of_theory_and_each_other(kind: str) -> None:
    inside = repetitions_inside(kind, SEEDS)
    assert len(inside) == 6
    assert fmean(inside) >= 0.8


def compare(slower: float, seed: int) -> CompareAnswer:
    """The answer of a comparison with a queue whose service takes so many times as long."""
    settings = {"station.service": SERVICE_S * slower}
    answer, _ = carry_out(Compare("page", {"rate": 400}, {}, settings, ({},)), queue(seed, 40))
    return answer


def differences_found(slower: float, seeds: Sequence[int]) -> int:
    """In how many comparisons a difference of the mean response time is found, and then called worse."""
    answers = [compare(slower, seed) for seed in seeds]
    differences = [answer.loads[0].metrics["response_mean"].difference for answer in answers]
    found = [difference is not None and difference.is_found for difference in differences]
    if slower > 1:
        assert [answer.is_worse for answer in answers] == found
    return sum(found)


@pytest.mark.parametrize(("slower", "count"), [(1.0, 0), (1.05, len(SEEDS))])
def test_three_comparisons_find_a_slowdown_where_there_is_one(slower: float, count: int) -> None:
    assert differences_found(slower, SEEDS) == count


def predicts_four_fifths(kind: str, seed: int, within_pct: float = 5) -> None:
    """Raises AssertionError unless loads up to half of the capacity predict four fifths of it, and the peak."""
    at, check = ((200, 350, 500), 800) if kind == "rate" else ((20, 35, 52), 84)
    question = Predict("page", {}, kind, at, (check,), ModelLimits(GOOD_S, TOLERABLE_S), rounds=2)
    answer, _ = carry_out(question, queue(seed, 150))
    assert answer.model is not None and answer.peak is not None
    assert answer.model.capacity == pytest.approx(CENTRE.capacity, rel=0.01)
    assert len(answer.checks) == 2
    for checked in answer.checks:
        assert checked.throughput is not None and abs(checked.throughput.off_pct) <= within_pct
        assert checked.response_mean is not None and abs(checked.response_mean.off_pct) <= within_pct
    assert answer.peak.load == pytest.approx(CAPACITIES[kind], rel=within_pct / 100)


@pytest.mark.parametrize(("kind", "seed"), [*(("rate", seed) for seed in SEEDS), ("sessions", 1)])
def test_loads_up_to_half_of_the_capacity_of_a_queue_predict_four_fifths_of_it(
    kind: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_model, "RESAMPLES", 10)  # intervals are not the subject, and take seconds
    predicts_four_fifths(kind, seed)
