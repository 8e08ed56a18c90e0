"""Which side of a comparison fails more: errors, good operations and verdicts, tested before any speed. Pure.

Errors are compared as figures, not as a ratio, so that a side without any is compared too. All tests are one-sided.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import scipy

from loadstone.judge.statistics import (
    CONFIDENCE_LEVEL,
    compute_fewer_passes_p,
    compute_paired_rise_p,
    compute_unpaired_rise_p,
)
from loadstone.model.numbers import format_chance, format_three_digits
from loadstone.study.summary import RunSummary

FEWER_POINTS = 0.5
"""Percentage points of good operations that B must lack at least, beyond chance, to count as worse by them alone."""


@dataclass(frozen=True)
class Failures:
    """How runs of one side failed: shares in percent of their operations, run by run."""

    runs: int
    passed: int
    errors: tuple[float, ...] = ()
    good: tuple[float, ...] = ()

    @classmethod
    def count(cls, runs: Sequence[RunSummary]) -> "Failures":
        """The failures of valid runs; a run that ended nothing has no shares."""
        shares = {name: tuple(run.metrics[name] for run in runs if name in run.metrics) for name in ("errors", "good")}
        return cls(len(runs), sum(run.passed for run in runs), **shares)


@dataclass(frozen=True)
class FailureComparison:
    """B against A; means in percent of operations, p-values of B failing no more."""

    runs_a: int
    runs_b: int
    passed_a: int
    passed_b: int
    errors_a: float | None
    errors_b: float | None
    good_a: float | None
    good_b: float | None
    errors_p: float
    good_p: float
    passing_p: float

    def correct(self, tests: int) -> "FailureComparison":
        """The same with p-values corrected for asking so often (Bonferroni)."""
        errors_p, good_p, passing_p = (min(1.0, p * tests) for p in (self.errors_p, self.good_p, self.passing_p))
        return replace(self, errors_p=errors_p, good_p=good_p, passing_p=passing_p)

    @property
    def has_more_errors(self) -> bool:
        """Whether more operations of B end in an error, beyond chance."""
        return self.errors_p <= 1 - CONFIDENCE_LEVEL

    @property
    def has_fewer_good(self) -> bool:
        """Whether fewer operations of B are good, beyond chance or by `FEWER_POINTS`."""
        if self.good_a is None or self.good_b is None:
            return False
        return self.good_p <= 1 - CONFIDENCE_LEVEL or self.good_b < self.good_a - FEWER_POINTS

    @property
    def passes_less(self) -> bool:
        """Whether B passes less often, beyond chance."""
        return self.passed_b * self.runs_a < self.passed_a * self.runs_b and self.passing_p <= 1 - CONFIDENCE_LEVEL

    @property
    def lacks_good(self) -> bool:
        """Whether fewer operations of B are good, both beyond chance and by `FEWER_POINTS`."""
        if self.good_a is None or self.good_b is None:
            return False
        return self.good_p <= 1 - CONFIDENCE_LEVEL and self.good_b < self.good_a - FEWER_POINTS

    @property
    def is_worse(self) -> bool:
        """Whether B fails more than A, beyond chance."""
        return self.has_more_errors or self.passes_less or self.lacks_good

    @property
    def is_suspect(self) -> bool:
        """Whether B has more errors and passes less, while too few runs can tell that from chance."""
        has_more = (self.errors_b or 0.0) > (self.errors_a or 0.0)
        return not self.is_worse and has_more and self.passed_b * self.runs_a < self.passed_a * self.runs_b

    @property
    def is_no_better(self) -> bool:
        """Whether nothing of B may be called better."""
        return self.is_worse or self.has_fewer_good

    def describe(self, a: str = "A", b: str = "B") -> list[str]:
        """The sentences of what fails more, with figures and chances; empty where nothing does."""
        lines = []
        if self.has_more_errors:
            figures = (
                f"{_percent(self.errors_b)} of {b}'s operations end in an error, {_percent(self.errors_a)} of {a}'s"
            )
            lines.append(f"{figures} ({format_chance(self.errors_p)}): {b} is worse.")
        elif self.is_suspect:
            figures = (
                f"{_percent(self.errors_b)} of {b}'s operations end in an error, {_percent(self.errors_a)} of {a}'s"
            )
            lines.append(f"{figures} ({format_chance(self.errors_p)}): more runs show whether that is chance.")
        if self.has_fewer_good:
            figures = f"{_percent(self.good_b)} of {b}'s operations are good, {_percent(self.good_a)} of {a}'s"
            lines.append(f"{figures} ({format_chance(self.good_p)}).")
        return lines


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{format_three_digits(share)} %"


def compare_paired(pairs: Sequence[tuple[RunSummary, RunSummary]]) -> FailureComparison | None:
    """Compares the failures of valid runs that were made in pairs (a, b); None without a pair."""
    if not pairs:
        return None
    a, b = (Failures.count([pair[side] for pair in pairs]) for side in (0, 1))
    only = [first.passed for first, second in pairs if first.passed != second.passed]
    passing = float(scipy.stats.binomtest(sum(only), len(only), alternative="greater").pvalue) if only else 1.0
    return _comparison(a, b, _rise(a.errors, b.errors), _rise(b.good, a.good), passing)


def _rise(a: Sequence[float], b: Sequence[float]) -> float:
    """p-value of b not being above a, by pairs where every run has the figure."""
    return compute_paired_rise_p(list(zip(a, b, strict=True))) if len(a) == len(b) else compute_unpaired_rise_p(a, b)


def compare_groups(a: Failures, b: Failures) -> FailureComparison:
    """Compares the failures of two series of valid runs that were not made in pairs."""
    passing = compute_fewer_passes_p(a.passed, a.runs, b.passed, b.runs)
    return _comparison(
        a, b, compute_unpaired_rise_p(a.errors, b.errors), compute_unpaired_rise_p(b.good, a.good), passing
    )


def _comparison(a: Failures, b: Failures, errors_p: float, good_p: float, passing_p: float) -> FailureComparison:
    means = (_mean(a.errors), _mean(b.errors), _mean(a.good), _mean(b.good))
    return FailureComparison(a.runs, b.runs, a.passed, b.passed, *means, errors_p, good_p, passing_p)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
