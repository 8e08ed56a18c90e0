"""Whether pauses are spread as declared, not only as long on the mean: wrong ones are found, right ones left alone."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from loadstone.judge.chance import MIX_LEVEL
from loadstone.judge.rules import apply_rules
from loadstone.model.drawn_pause import DrawnPause
from loadstone.model.figures import IterationFigures
from loadstone.model.records.check import Check, CheckId, Outcome
from loadstone.store.histograms import CURVE
from tests.records import iteration, operation, small_criteria

DRAWN = {
    "exponential": DrawnPause("exponential", 10.0, 100.0),
    "cut off early": DrawnPause("exponential", 10.0, 12.0),
    "uniform": DrawnPause("uniform", 10.0),
    "fixed": DrawnPause("fixed", 10.0),
}
Draw = Callable[[np.random.Generator, int], np.ndarray]
DRAWS: dict[str, Draw] = {
    "exponential": lambda chance, count: np.minimum(chance.exponential(10.0, count), 100.0),
    "cut off early": lambda chance, count: np.minimum(chance.exponential(10.0, count), 12.0),
    "uniform": lambda chance, count: chance.uniform(0.0, 20.0, count),
    "fixed": lambda _, count: np.full(count, 10.0),
}


def paused(pauses_s: np.ndarray, late_s: float = 0.0) -> IterationFigures:
    """A healthy run with these pauses, each as late as that."""
    operations = (operation("a", 2500, 1.0), operation("b", 2500, 1.0))
    points = zip(np.percentile(pauses_s + late_s, CURVE, method="inverted_cdf"), np.array(CURVE) / 100, strict=True)
    drawn_s = float(pauses_s.sum())
    return replace(
        iteration(operations, 100.0),
        pauses=len(pauses_s),
        pause_drawn_s=drawn_s,
        pause_actual_s=drawn_s + late_s * len(pauses_s),
        pause_curve=tuple((float(seconds), float(share)) for seconds, share in points),
    )


def judged(drawn: str, pauses_s: np.ndarray, late_s: float = 0.0) -> Check:
    """What the rule says of them."""
    criteria = small_criteria(drawn_pause=DRAWN[drawn])
    return next(check for check in apply_rules(criteria, paused(pauses_s, late_s)) if check.id is CheckId.THINK_TIMES)


CELLS = ((2, 0.0), (50, 0.0), (3000, 0.01), (100_000, 0.0))
"""Numbers of pauses, and by how many seconds each is late."""


@pytest.mark.parametrize("drawn", DRAWN)
@pytest.mark.parametrize(("count", "late_s"), CELLS)
def test_pauses_as_declared_are_not_accused(drawn: str, count: int, late_s: float) -> None:
    assert accused(drawn, count, late_s, range(2 if count > 10_000 else 8)) == 0
    assert MIX_LEVEL == 0.001


def accused(drawn: str, count: int, late_s: float, seeds: Sequence[int]) -> int:
    """How many runs are accused whose so many pauses are as declared."""
    seen = [judged(drawn, DRAWS[drawn](np.random.default_rng(seed), count), late_s) for seed in seeds]
    return sum(check.outcome is not Outcome.KEPT for check in seen)


@pytest.mark.parametrize(
    ("drawn", "played"), [("exponential", "uniform"), ("exponential", "fixed"), ("uniform", "exponential")]
)
def test_pauses_of_the_right_mean_and_another_spread_are_found(drawn: str, played: str) -> None:
    check = judged(drawn, DRAWS[played](np.random.default_rng(1), 3000))
    assert check.outcome is Outcome.BROKEN
    assert check.figure > 5


def test_pauses_along_a_load_curve_are_not_judged() -> None:
    figures = paused(DRAWS["uniform"](np.random.default_rng(1), 3000))
    assert not [
        check for check in apply_rules(small_criteria(drawn_pause=None), figures) if check.id is CheckId.THINK_TIMES
    ]
