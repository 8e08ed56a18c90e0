"""What a search answers: the peak, how sure it is, and every load on the way. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from loadstone.model.records.check import Check
from loadstone.model.records.verdict import Verdict
from loadstone.study.question import Answer
from loadstone.study.search.edge import EdgeEstimate
from loadstone.study.settings import StoredSettings
from loadstone.study.summary import Purpose


class LimitedBy(StrEnum):
    """What ended a search upwards."""

    RULE = "rule"
    DRIVER = "driver"
    MOST = "most"
    """The most that was allowed."""
    UNFIT = "unfit"
    """Runs that were not fit to be judged."""
    NOTHING = "none"
    """Nothing yet."""


class LoadStanding(StrEnum):
    """What is known of a load."""

    PASSES = "passes"
    VERIFIED = "verified"
    FAILS = "fails"
    OPEN = "open"
    """As many runs passed as did not."""


@dataclass(frozen=True)
class BrokenRule:
    """A rule that was broken, in how many of the runs at that load."""

    rule: str
    runs: int
    of: int


@dataclass(frozen=True)
class Spread:
    """A metric over the runs at one load."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class SearchedRun:
    """A run at a load."""

    purpose: Purpose
    verdict: Verdict
    folder: str


@dataclass(frozen=True)
class SearchedLoad:
    """A load on the way: its runs, its metrics and its rules."""

    at: float
    standing: LoadStanding
    runs: tuple[SearchedRun, ...]
    metrics: Mapping[str, Spread]
    rules: tuple[Check, ...]
    broken: tuple[str, ...]
    """Titles of the rules that were broken."""


@dataclass(frozen=True, kw_only=True)
class SearchAnswer(Answer):
    """The peak, how sure it is, what broke first, and how each metric moved on the way."""

    settings: StoredSettings
    load: str
    """`sessions` or `rate`."""
    width: float
    verify: int
    peak: float | None
    interval: tuple[float, float] | None
    """Where a repetition of the search would find its peak."""
    limit: LimitedBy
    edge: EdgeEstimate | None = None
    """The load at which half of all runs would pass: a peak, which several runs in a row must pass, lies below it."""
    unseen: tuple[str, ...] = ()
    """Kinds of operation that no run at the peak had a sample of."""
    broke_first: tuple[BrokenRule, ...] = ()
    bottleneck: str = ""
    """What was full where it broke first, in words; empty where nothing was watched."""
    loads: tuple[SearchedLoad, ...] = ()
    runs: int = 0

    @property
    def is_negative(self) -> bool:
        """Whether no load passes."""
        return self.peak is None

    @property
    def is_unreached(self) -> bool:
        """Whether the driver was the limit everywhere."""
        return self.peak is None and self.limit is LimitedBy.DRIVER
