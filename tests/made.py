"""Runs made up for tests of studies: a server whose figures follow a formula, with noise from a seed."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from loadstone.study.question import Question
from loadstone.study.summary import Rule, RunRequest, RunSummary

Json = dict[str, Any]


def made(
    wanted: RunRequest, verdict: str = "pass", driver_bound: bool = False, good: float = 100.0, **figures: float
) -> RunSummary:
    """A run with one rule: at least 95 % good operations."""
    rule = Rule("good operations", good, 95.0, "at least", "%", "fail", "kept" if good >= 95 else "broken")
    return RunSummary(wanted, wanted.key, verdict, (), driver_bound, {"good": good, **figures}, (rule,))


def noisy_edge(capacity: float, noise: float, seed: int) -> Callable[[RunRequest], RunSummary]:
    """A server whose share of missed operations is 5 % at its capacity and doubles with each tenth above it."""
    chance = random.Random(seed)

    def play(wanted: RunRequest) -> RunSummary:
        missed = 5 * 2 ** (10 * (wanted.load * (1 + chance.gauss(0, noise)) / capacity - 1))
        good = max(0.0, 100 - missed)
        return made(wanted, "pass" if good >= 95 else "fail", good=good)

    return play


def carry_out(
    question: Question, play: Callable[[RunRequest], RunSummary], most: int = 200
) -> tuple[Json, Sequence[RunSummary]]:
    """Asks a question until it has its answer."""
    runs: list[RunSummary] = []
    while len(runs) < most and (wanted := question.next(runs)) is not None:
        runs.append(play(wanted))
    return question.answer(runs), runs
