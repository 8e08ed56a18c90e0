"""Runs made up for tests of studies: a server whose figures follow a formula, with noise from a seed."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from loadstone.study.question import Question
from loadstone.study.summary import Made, Rule, Wanted

Json = dict[str, Any]


def made(
    wanted: Wanted, verdict: str = "pass", driver_bound: bool = False, good: float = 100.0, **figures: float
) -> Made:
    """A run with one rule: at least 95 % good operations."""
    rule = Rule("good operations", good, 95.0, "at least", "%", "fail", "kept" if good >= 95 else "broken")
    return Made(wanted, wanted.key, verdict, (), driver_bound, {"good": good, **figures}, (rule,))


def noisy_edge(capacity: float, noise: float, seed: int) -> Callable[[Wanted], Made]:
    """A server whose share of missed operations is 5 % at its capacity and doubles with each tenth above it."""
    chance = random.Random(seed)

    def play(wanted: Wanted) -> Made:
        missed = 5 * 2 ** (10 * (wanted.load * (1 + chance.gauss(0, noise)) / capacity - 1))
        good = max(0.0, 100 - missed)
        return made(wanted, "pass" if good >= 95 else "fail", good=good)

    return play


def carry_out(question: Question, play: Callable[[Wanted], Made], most: int = 200) -> tuple[Json, Sequence[Made]]:
    """Asks a question until it has its answer."""
    runs: list[Made] = []
    while len(runs) < most and (wanted := question.next(runs)) is not None:
        runs.append(play(wanted))
    return question.answer(runs), runs
