"""A check: one rule applied to one iteration, with its figure, limit, outcome and source."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How a check came out."""

    KEPT = "kept"
    BROKEN = "broken"
    NOT_JUDGED = "not judged"


class Weight(StrEnum):
    """What a broken rule means."""

    FAIL = "fail"
    """The system under test did not hold its quality of service."""
    INVALID = "invalid"
    """The run is not fit to be judged; this says nothing about the system under test."""
    NOTE = "note"
    """Worth knowing, without effect on the verdict."""


@dataclass(frozen=True)
class Check:
    """A rule's figure against its limit."""

    rule: str
    figure: float
    limit: float
    bound: str
    """`at least` or `at most`."""
    unit: str
    weight: Weight
    outcome: Outcome
    source: str
    detail: str = ""

    def __str__(self) -> str:
        figure = f"{self.figure:.4g} {self.unit}".rstrip()
        text = f"{self.rule}: {figure}, {self.bound} {self.limit:.4g}"
        return f"{text} ({self.detail})" if self.detail else text


def at_least(rule: str, figure: float, limit: float, unit: str, weight: Weight, source: str, detail: str = "") -> Check:
    """A figure that must not be below its limit."""
    outcome = Outcome.KEPT if figure >= limit else Outcome.BROKEN
    return Check(rule, figure, limit, "at least", unit, weight, outcome, source, detail)


def at_most(rule: str, figure: float, limit: float, unit: str, weight: Weight, source: str, detail: str = "") -> Check:
    """A figure that must not be above its limit."""
    outcome = Outcome.KEPT if figure <= limit else Outcome.BROKEN
    return Check(rule, figure, limit, "at most", unit, weight, outcome, source, detail)
