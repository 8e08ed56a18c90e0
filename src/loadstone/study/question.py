"""What a study is: a question that says which run it wants next, given those that were made, until it has its answer.

Questions are pure: the same runs lead to the same next one. That is what lets an interrupted study go on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from loadstone.study.summary import RunRequest, RunSummary


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What runs say of one workload so far; each kind of study adds its own."""

    workload: str
    is_answered: bool
    """Whether it is whole."""
    headline: tuple[str, ...]
    """In sentences."""

    @property
    def is_negative(self) -> bool:
        """Whether the shell is told that it failed: no load passes, B is worse."""
        return False

    @property
    def is_unreached(self) -> bool:
        """Whether nothing can be said of the system, since the driver was the limit."""
        return False


A = TypeVar("A", bound=Answer)
A_co = TypeVar("A_co", bound=Answer, covariant=True)


class Question(Protocol[A_co]):
    """Something that runs can answer, about one workload."""

    @property
    def workload(self) -> str:
        """What it is about."""

    def plan_runs(self) -> list[RunRequest]:
        """The runs that are sure to be wanted: all of a fixed list, or the first where others follow from it."""

    def plan_next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
        """The next run, or None when the question is answered, or cannot be."""

    def estimate_left(self, runs: Sequence[RunSummary]) -> int:
        """About how many runs are still to be made."""

    def answer(self, runs: Sequence[RunSummary]) -> A_co:
        """Returns the answer of the runs so far."""


@dataclass(frozen=True)
class QuestionSet(Generic[A]):
    """Several questions of one kind, each about a workload of its own, answered one after the other."""

    questions: tuple[Question[A], ...]

    def plan_runs(self) -> list[RunRequest]:
        """The sure runs of all questions."""
        return [request for question in self.questions for request in question.plan_runs()]

    def plan_next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
        """The next run of the first question that is not answered."""
        nexts = (question.plan_next(_runs_of(runs, question.workload)) for question in self.questions)
        return next((request for request in nexts if request is not None), None)

    def estimate_left(self, runs: Sequence[RunSummary]) -> int:
        """Runs left in all of them."""
        return sum(question.estimate_left(_runs_of(runs, question.workload)) for question in self.questions)

    def answer_all(self, runs: Sequence[RunSummary]) -> tuple[A, ...]:
        """The answers, workload by workload."""
        return tuple(question.answer(_runs_of(runs, question.workload)) for question in self.questions)


def _runs_of(runs: Sequence[RunSummary], workload: str) -> list[RunSummary]:
    return [run for run in runs if run.request.workload == workload]


def list_missing(requests: Sequence[RunRequest], runs: Sequence[RunSummary]) -> list[RunRequest]:
    """Those of a fixed list of runs that are not made yet, in order."""
    done = {run.request.key for run in runs}
    return [request for request in requests if request.key not in done]


def find_first_missing(requests: Sequence[RunRequest], runs: Sequence[RunSummary]) -> RunRequest | None:
    """The first of a fixed list of runs that is not made yet."""
    return next(iter(list_missing(requests, runs)), None)


def format_key(number: int, workload: str, label: str) -> str:
    """A run's key: its number and what it is, fit for the name of a folder."""
    plain = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in label)
    return f"{number:03d}-{workload}-{plain}".rstrip("-")[:80]


def count_verdicts(runs: Sequence[RunSummary]) -> dict[str, int]:
    """How many runs came out in each way."""
    return {verdict: sum(run.verdict == verdict for run in runs) for verdict in ("pass", "fail", "invalid")}
