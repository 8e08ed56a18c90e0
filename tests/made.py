"""Runs made up for tests of studies: a server whose metrics follow a formula, with noise from a seed."""

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from loadstone.model.load import Load
from loadstone.model.profile import Profile
from loadstone.model.records.check import Bound, Check, CheckId, Outcome, Weight
from loadstone.model.records.verdict import Verdict
from loadstone.model.workload import Workload
from loadstone.study.kind import StudySection
from loadstone.study.question import Answer, Question, QuestionSet
from loadstone.study.registry import list_study_kinds
from loadstone.study.spec import build_questions
from loadstone.study.summary import RunRequest, RunSummary

A = TypeVar("A", bound=Answer)


def made(
    request: RunRequest, verdict: str = "pass", driver_bound: bool = False, good: float = 100.0, **metrics: float
) -> RunSummary:
    """A run with one rule: at least 95 % good operations."""
    outcome = Outcome.KEPT if good >= 95 else Outcome.BROKEN
    check = Check(
        CheckId.GOOD_SHARE, "good operations", good, 95.0, Bound.AT_LEAST, "%", Weight.FAIL, outcome, "a test"
    )
    return RunSummary(
        request=request,
        folder=request.key,
        verdict=Verdict(verdict),
        is_driver_bound=driver_bound,
        metrics={"good": good, **metrics},
        checks=(check,),
    )


def noisy_edge(capacity: float, noise: float, seed: int) -> Callable[[RunRequest], RunSummary]:
    """A server whose share of missed operations is 5 % at its capacity and doubles with each tenth above it."""
    chance = random.Random(seed)

    def play(request: RunRequest) -> RunSummary:
        missed = 5 * 2 ** (10 * (request.load * (1 + chance.gauss(0, noise)) / capacity - 1))
        good = max(0.0, 100 - missed)
        return made(request, "pass" if good >= 95 else "fail", good=good)

    return play


def carry_out(
    question: Question[A], play: Callable[[RunRequest], RunSummary], most: int = 200
) -> tuple[A, Sequence[RunSummary]]:
    """Asks a question until it has its answer."""
    runs: list[RunSummary] = []
    while len(runs) < most and (request := question.plan_next(runs)) is not None:
        runs.append(play(request))
    return question.answer(runs), runs


def ask(
    section: StudySection, workloads: Sequence[Workload], profile: Profile, load: Load | None = None
) -> QuestionSet[Any]:
    """The questions of a section, of the kind that it belongs to."""
    kind = next(one for one in list_study_kinds().values() if type(section) is one.section)
    return build_questions(kind, section, workloads, profile, load)
