"""A study that goes on until a figure is sure: it stops when it is, says how far it is when it may not go on, and that
a tail cannot be measured where runs have too few operations.
"""

import random
from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np
import pytest

from loadstone.model.errors import UsageError
from loadstone.study.kinds.repeat.question import Repeat
from loadstone.study.metrics import METRIC_ALIASES
from loadstone.study.summary import RunRequest, RunSummary
from loadstone.study.until import Until, read_until
from tests.made import carry_out, made

P99 = "response_p99"


def scattering(scatter: float, seed: int, **others: float) -> Callable[[RunRequest], RunSummary]:
    chance = random.Random(seed)
    return lambda request: made(request, **{P99: 0.2 * (1 + scatter * NormalDist().inv_cdf(chance.random())), **others})


def test_it_goes_on_until_the_interval_is_narrow_and_no_longer() -> None:
    answer, runs = carry_out(Repeat("page", {}, 5, Until(P99, 5.0)), scattering(0.1, 1))
    assert answer.is_answered
    half = answer.metrics[P99].half_pct
    assert half is not None
    assert half <= 5
    assert len(runs) in (15, 23, 35)  # (1.15 x 2 x 10 % / 5 %)^2 = 21 runs by Student's t
    looks = [10, 15, 23, 35]
    before, _ = carry_out(Repeat("page", {}, looks[looks.index(len(runs)) - 1]), scattering(0.1, 1))
    wider = before.metrics[P99].half_pct
    assert wider is not None
    assert 1.15 * wider > 5
    assert "5 % asked for" in answer.headline[-1]


def test_what_is_sure_at_once_takes_the_least_number_of_runs() -> None:
    answer, runs = carry_out(Repeat("page", {}, 5, Until(P99, 5.0)), scattering(0.001, 1))
    assert answer.is_answered
    assert len(runs) == 5


def test_it_gives_up_and_says_how_many_runs_it_would_take() -> None:
    answer, runs = carry_out(Repeat("page", {}, 5, Until(P99, 1.0), most_runs=10), scattering(0.1, 1))
    assert not answer.is_answered
    assert len(runs) == 10
    needed = int(answer.headline[-1].split("would take about ")[1].split()[0])
    assert 150 < needed < 1600  # (1.15 x 2 x 10 % / 1 %)^2 = 530


def test_a_tail_that_is_not_seen_ends_it() -> None:
    answer, runs = carry_out(Repeat("page", {}, 5, Until(P99, 5.0)), lambda request: made(request, response_mean=0.1))
    assert not answer.is_answered
    assert len(runs) == 5
    assert "cannot be measured" in answer.headline[-1]


def test_intervals_that_ended_a_study_hold_what_they_are_about() -> None:
    assert intervals_that_hold(range(40)) >= 35  # 95 %
    assert intervals_that_hold(range(10), true_value=0.3) == 0


@pytest.mark.parametrize("is_skewed", [False, True])
def test_it_looks_so_rarely_that_what_is_said_holds(is_skewed: bool) -> None:
    """Means of runs that scatter by a quarter, evenly or with a long tail, asked for within a tenth."""
    drawn, held = np.random.default_rng(5), 0
    question = Repeat("page", {}, 5, Until("response_mean", 10.0))
    for _ in range(100):

        def play(request: RunRequest) -> RunSummary:
            value = drawn.lognormal(-0.03125, 0.25) if is_skewed else drawn.normal(1, 0.25)
            return made(request, response_mean=value)

        metric = carry_out(question, play)[0].metrics["response_mean"]
        held += metric.low is not None and metric.high is not None and metric.low <= 1 <= metric.high
    assert held >= 91  # 95 of 95 %; fewer than 91 come by chance once in 40


def intervals_that_hold(seeds: Sequence[int], true_value: float = 0.2) -> int:
    """How many studies that ended once they were sure have an interval that holds a value."""
    question = Repeat("page", {}, 5, Until(P99, 10.0))
    found = [carry_out(question, scattering(0.15, seed))[0].metrics[P99] for seed in seeds]
    return sum(one.low <= true_value <= one.high for one in found if one.low is not None and one.high is not None)


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("p99 +-5%", Until(P99, 5.0)),
        ("mean+-2.5 %", Until("response_mean", 2.5)),
        ("throughput ±1%", Until("throughput", 1.0)),
    ],
)
def test_a_figure_and_its_sureness_are_read(text: str, until: Until) -> None:
    assert read_until(text, METRIC_ALIASES) == until


@pytest.mark.parametrize("text", ["", "p99", "p98 +-5%", "p99 +-0%", "p99 +-5.5.5%", "p99 5%"])
def test_what_names_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"mean \+-5%"):
        read_until(text, METRIC_ALIASES)
