"""Verdicts: pass, fail or invalid, for an iteration, a workload and a whole result; each with its reasons."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from loadstone.judge.check import Check, Outcome, Weight
from loadstone.judge.rules import checks
from loadstone.model.figures import IterationFigures, Terms
from loadstone.model.profile import Rigor


class Verdict(StrEnum):
    """What a run amounts to. Invalid says nothing about the system under test."""

    PASS = "pass"
    FAIL = "fail"
    INVALID = "invalid"


@dataclass(frozen=True)
class IterationVerdict:
    """One iteration judged."""

    verdict: Verdict
    checks: tuple[Check, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """The broken rules in words, those that make it invalid first."""
        return reasons_of(self.checks)

    @property
    def not_judged(self) -> tuple[str, ...]:
        """Names of the rules that the run's length could not support."""
        return tuple(check.rule for check in self.checks if check.outcome is Outcome.NOT_JUDGED)


@dataclass(frozen=True)
class WorkloadVerdict:
    """All iterations of a workload judged together: each must pass."""

    workload: str
    verdict: Verdict
    compliant: bool
    """True only for a pass of an unchanged workload of ours under the full profile."""
    iterations: tuple[IterationVerdict, ...]
    reasons: tuple[str, ...]
    not_judged: tuple[str, ...]


def judge_iteration(terms: Terms, figures: IterationFigures) -> IterationVerdict:
    """Applies all rules to an iteration."""
    made = checks(terms, figures)
    return IterationVerdict(verdict_on(made), made)


def verdict_on(made: Sequence[Check]) -> Verdict:
    """What checks amount to: those that make a run invalid come before those that make it fail."""
    broken = {check.weight for check in made if check.outcome is Outcome.BROKEN}
    if Weight.INVALID in broken:
        return Verdict.INVALID
    return Verdict.FAIL if Weight.FAIL in broken else Verdict.PASS


def reasons_of(made: Sequence[Check]) -> tuple[str, ...]:
    """The broken rules in words, those that make it invalid first."""
    broken = [check for check in made if check.outcome is Outcome.BROKEN]
    return tuple(str(check) for weight in (Weight.INVALID, Weight.FAIL) for check in broken if check.weight is weight)


def judge_workload(terms: Terms, figures: Sequence[IterationFigures]) -> WorkloadVerdict:
    """Judges all iterations of a workload; missing ones make it invalid."""
    iterations = tuple(judge_iteration(terms, one) for one in figures)
    reasons = [
        f"iteration {number}: {reason}"
        for number, iteration in enumerate(iterations, start=1)
        for reason in iteration.reasons
    ]
    if len(iterations) < terms.iterations:
        reasons.insert(0, f"{len(iterations)} of {terms.iterations} iterations were made")
        verdict = Verdict.INVALID
    else:
        verdict = worst([iteration.verdict for iteration in iterations])
    skipped = tuple(dict.fromkeys(rule for iteration in iterations for rule in iteration.not_judged))
    compliant = verdict is Verdict.PASS and terms.rigor == Rigor.FULL and terms.shipped
    return WorkloadVerdict(terms.workload, verdict, compliant, iterations, tuple(reasons), skipped)


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The gravest of several verdicts; none at all is invalid."""
    for grave in (Verdict.INVALID, Verdict.FAIL):
        if grave in verdicts or not verdicts:
            return grave
    return Verdict.PASS
