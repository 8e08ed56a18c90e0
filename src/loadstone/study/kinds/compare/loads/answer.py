"""What a comparison at loads answers: each figure on both sides, its difference, which side fails more. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import scipy

from loadstone.study.answers import AnswerChange
from loadstone.study.difference import ComparedMetric
from loadstone.study.failures import FailureComparison
from loadstone.study.metrics import METRICS, Better
from loadstone.study.question import Answer
from loadstone.study.settings import StoredSettings
from loadstone.study.summary import RunSummary


@dataclass(frozen=True)
class Passing:
    """How often each side passed, and whether that is more than chance."""

    a: int
    b: int
    pairs: int
    p: float
    """Sign test of the pairs in which one side passed and the other did not; one-sided where B passed less often."""
    broken: tuple[str, ...]
    """Rules that B broke, the most frequent first."""


@dataclass(frozen=True)
class ComparedLoad:
    """Both sides at one load."""

    load: StoredSettings
    verdicts: Mapping[str, Mapping[str, int]]
    """How the runs of each side came out."""
    metrics: Mapping[str, ComparedMetric]
    left_out: int = 0
    """Pairs that do not count, since a run of them was invalid."""
    passing: Passing | None = None
    is_duet: bool = False
    """Whether both runs of a pair were made at the same time."""
    failures: FailureComparison | None = None
    """Errors, good operations and verdicts of both sides; None in older answers, and without a valid pair."""
    changed_answers: tuple[AnswerChange, ...] = ()
    """Operations whose answers differ between both sides."""

    @property
    def no_better(self) -> str:
        """Why nothing of B may be called better; empty where nothing forbids it."""
        failures = self.failures
        if failures is not None and failures.is_worse:
            return "B fails more"
        if failures is not None and failures.has_fewer_good:
            return "B has fewer good operations"
        if failures is not None and failures.is_suspect:
            return "B may fail more"
        is_less = any(change.is_less for change in self.changed_answers)
        return "B answers with less or something else" if is_less else ""


@dataclass(frozen=True, kw_only=True)
class CompareAnswer(Answer):
    """The difference at each load, and in words."""

    settings: StoredSettings
    a: StoredSettings
    b: StoredSettings
    metric: str
    """The one the question is about."""
    pairs: int
    loads: tuple[ComparedLoad, ...]
    is_worse: bool

    @property
    def is_negative(self) -> bool:
        """Whether B is worse."""
        return self.is_worse


def compare_passing(
    pairs: Sequence[tuple[RunSummary, RunSummary]], failures: FailureComparison | None
) -> Passing | None:
    """How often each side passed in valid pairs; None without any."""
    if not pairs or failures is None:
        return None
    a, b = sum(pair[0].passed for pair in pairs), sum(pair[1].passed for pair in pairs)
    only = [pair[0].passed for pair in pairs if pair[0].passed != pair[1].passed]
    p = float(scipy.stats.binomtest(sum(only), len(only)).pvalue) if only else 1.0
    p = failures.passing_p if b < a else p
    broken = Counter(check.rule for _, run in pairs for check in run.list_broken())
    return Passing(a, b, len(pairs), p, tuple(rule for rule, _ in broken.most_common()))


def is_load_worse(load: ComparedLoad, metric: str) -> bool:
    """Whether B was found worse, corrected for all loads that were asked about: it fails more, or is slower."""
    if load.failures is not None and load.failures.is_worse:
        return True
    compared = load.metrics.get(metric)
    main = compared and compared.difference
    if not main or not main.is_found:
        return False
    return {Better.LOWER: main.ratio > 1, Better.HIGHER: main.ratio < 1}.get(METRICS[metric].better, False)
