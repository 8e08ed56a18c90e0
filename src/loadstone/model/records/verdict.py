"""The verdict on a result, as it is kept: every workload with its checks, scores, and of tiles the run as a whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from loadstone.model.records.check import NOTED_CHECKS, Check, Outcome, Weight

VERDICT_SCHEMA = 2


class Verdict(StrEnum):
    """What a run amounts to. Invalid says nothing about the system under test."""

    PASS = "pass"
    FAIL = "fail"
    INVALID = "invalid"


def conclude_verdict(checks: Sequence[Check]) -> Verdict:
    """Returns the verdict that follows from checks. Checks that make a run invalid come before those
    that make it fail.
    """
    broken = {check.weight for check in checks if check.outcome is Outcome.BROKEN}
    if Weight.INVALID in broken:
        return Verdict.INVALID
    return Verdict.FAIL if Weight.FAIL in broken else Verdict.PASS


def list_reasons(checks: Sequence[Check]) -> tuple[str, ...]:
    """The broken rules in words, those that make it invalid first."""
    broken = [check for check in checks if check.outcome is Outcome.BROKEN]
    return tuple(str(check) for weight in (Weight.INVALID, Weight.FAIL) for check in broken if check.weight is weight)


def choose_worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The gravest of several verdicts; none at all is invalid."""
    for grave in (Verdict.INVALID, Verdict.FAIL):
        if grave in verdicts or not verdicts:
            return grave
    return Verdict.PASS


@dataclass(frozen=True)
class Headline:
    """The main figures of an iteration; times in seconds, None with too few samples."""

    operations: int
    per_s: float
    p50_s: float | None
    p95_s: float | None
    p99_s: float | None
    errors_pct: float | None
    """None where they were not disclosed."""
    reconnects: int = 0
    """Connections opened again because the server had closed an idle one."""
    resent: int = 0
    """Requests sent again because the server had accepted them and closed the connection without an answer."""


@dataclass(frozen=True)
class IterationVerdict:
    """One iteration judged."""

    verdict: Verdict
    checks: tuple[Check, ...]
    headline: Headline | None = None
    """None if nothing was measured, and in verdicts of earlier versions."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """The broken rules in words, those that make it invalid first."""
        return list_reasons(self.checks)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is told beside the verdict, without an effect on it, in words."""
        noted = [check for check in self.checks if check.id in NOTED_CHECKS]
        broken = [str(check) for check in noted if check.weight is Weight.NOTE and check.outcome is Outcome.BROKEN]
        open_ones = [check for check in noted if check.outcome is Outcome.NOT_JUDGED]
        return (*broken, *(f"{check.rule} not judged: {check.detail.rpartition('; ')[2]}" for check in open_ones))

    @property
    def not_judged(self) -> tuple[str, ...]:
        """Titles of the rules that the run's length could not support."""
        return tuple(check.rule for check in self.checks if check.outcome is Outcome.NOT_JUDGED)


@dataclass(frozen=True)
class WorkloadVerdict:
    """All iterations of a workload judged together: each must pass."""

    workload: str
    """Its label."""
    verdict: Verdict
    compliant: bool
    """True only for a pass of an unchanged shipped workload under the full profile."""
    iterations: tuple[IterationVerdict, ...]
    reasons: tuple[str, ...]
    not_judged: tuple[str, ...]


@dataclass(frozen=True)
class Index:
    """A web index and whether it may be called compliant."""

    value: float
    compliant: bool


@dataclass(frozen=True)
class RateMaxima:
    """Rates per second of a full tile if answers take no time."""

    app: float
    web: float
    mail: float


@dataclass(frozen=True)
class TileRecord:
    """One tile's rates per second, shares of good operations from 0 to 1, score and quality."""

    number: int
    pct_load: float
    groups: Mapping[str, str]
    app: float
    web: float
    mail: float
    qos_app: float
    qos_web: float
    qos_mail: float
    qos_idle: float
    score: float
    qos: float


@dataclass(frozen=True)
class ComparedFigure:
    """A figure of a tile, and its better direction."""

    name: str
    unit: str
    more_is_better: bool = True


@dataclass(frozen=True)
class GroupFinding:
    """One figure of a group of tiles against that of all others; `p` is the probability of it by chance."""

    figure: ComparedFigure
    group: str
    mean: float
    others: float
    p: float
    is_worse: bool


@dataclass(frozen=True)
class GroupingFindings:
    """Findings of a grouping of tiles."""

    by: str
    findings: tuple[GroupFinding, ...]
    reach: str = ""
    """Smallest difference that the tests could have found, in words."""


@dataclass(frozen=True)
class PowerScore:
    """The score in one category of power; None without a meter, or if the phase was not reached."""

    category: str
    loaded_w: float | None
    idle_w: float | None
    score_per_w: float | None
    meter: str


@dataclass(frozen=True, kw_only=True)
class TilesScore:
    """Score and quality of tiles, each and together."""

    maxima: RateMaxima
    score: float
    qos_pct: float
    least_qos_pct: float
    headline: str
    tiles: tuple[TileRecord, ...]


@dataclass(frozen=True, kw_only=True)
class TilesVerdict(TilesScore):
    """A run of tiles as a whole: its score, and the rules that all workloads share."""

    verdict: Verdict
    checks: tuple[Check, ...]
    reasons: tuple[str, ...]
    score_error: float
    """Standard error of the score by chance alone."""
    placement: tuple[GroupingFindings, ...] = ()
    power: tuple[PowerScore, ...] = ()


@dataclass(frozen=True)
class ResultVerdict:
    """The verdict on a whole result."""

    judged_by: str
    """Version of the program that judged."""
    workloads: tuple[WorkloadVerdict, ...] = ()
    index: Index | None = None
    consolidation: TilesVerdict | None = None
    schema: int = VERDICT_SCHEMA

    @property
    def whole(self) -> Verdict:
        """What the whole run amounts to: its workloads, and of tiles the run as a whole."""
        common = [self.consolidation.verdict] if self.consolidation else []
        return choose_worst([*common, *(workload.verdict for workload in self.workloads)])

    def find_workload(self, label: str) -> WorkloadVerdict | None:
        """The verdict on one workload."""
        return next((workload for workload in self.workloads if workload.workload == label), None)
