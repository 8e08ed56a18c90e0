"""What a study is: a question that says which run it wants next, given those that were made, until it has its answer.

Questions are pure: the same runs lead to the same next one. That is what lets an interrupted study go on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from loadstone.judge.score import web_index
from loadstone.study.summary import Made, Wanted

Json = dict[str, Any]


class Question(Protocol):
    """Something that runs can answer."""

    @property
    def kind(self) -> str:
        """Its name: repeat, search, sweep, compare or predict."""

    def wanted(self) -> list[Wanted]:
        """The runs that are sure to be wanted: all of a fixed list, or the first where others follow from it."""

    def next(self, made: Sequence[Made]) -> Wanted | None:
        """The next run, or None when the question is answered, or cannot be."""

    def left(self, made: Sequence[Made]) -> int:
        """About how many runs are still to be made."""

    def answer(self, made: Sequence[Made]) -> Json:
        """What the runs say so far. `headline` is a list of sentences, `is_answered` says whether it is whole."""


@dataclass(frozen=True)
class InTurn:
    """Several questions of one kind, each about a workload of its own."""

    questions: tuple[tuple[str, Question], ...]

    @property
    def kind(self) -> str:
        """The kind of all of them."""
        return self.questions[0][1].kind

    def wanted(self) -> list[Wanted]:
        """The sure runs of all questions."""
        return [wanted for _, question in self.questions for wanted in question.wanted()]

    def next(self, made: Sequence[Made]) -> Wanted | None:
        """The next run of the first question that is not answered."""
        asked = (question.next(_of(made, workload)) for workload, question in self.questions)
        return next((wanted for wanted in asked if wanted is not None), None)

    def left(self, made: Sequence[Made]) -> int:
        """Runs left in all of them."""
        return sum(question.left(_of(made, workload)) for workload, question in self.questions)

    def answer(self, made: Sequence[Made]) -> Json:
        """The answers by workload."""
        answers = [{"workload": name, **question.answer(_of(made, name))} for name, question in self.questions]
        peaks = {one["workload"]: one["peak"] for one in answers if self.kind == "search" and one["load"] == "sessions"}
        found = {"kind": self.kind, "parts": answers, "index": web_index(peaks)}
        return {**found, "indices": _indices(answers)} if self.kind == "platforms" else found


def _indices(answers: Sequence[Json]) -> Json | None:
    """The index of each side, where all workloads that it needs have a peak on both."""
    of = {side: {one["workload"]: one["peaks"][side] for one in answers if one["peaks"][side]} for side in ("a", "b")}
    a, b = (web_index(peaks) for peaks in of.values())
    return None if a is None or b is None else {"a": a, "b": b, "ratio": b / a}


def _of(made: Sequence[Made], workload: str) -> list[Made]:
    return [one for one in made if one.wanted.workload == workload]


def missing(wanted: Sequence[Wanted], made: Sequence[Made]) -> list[Wanted]:
    """Those of a fixed list of runs that are not made yet, in order."""
    done = {one.wanted.key for one in made}
    return [one for one in wanted if one.key not in done]


def planned(wanted: Sequence[Wanted], made: Sequence[Made]) -> Wanted | None:
    """The first of a fixed list of runs that is not made yet."""
    return next(iter(missing(wanted, made)), None)


def key_of(number: int, workload: str, words: str) -> str:
    """A run's key: its number and what it is, fit for the name of a folder."""
    plain = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in words)
    return f"{number:03d}-{workload}-{plain}".rstrip("-")[:80]
