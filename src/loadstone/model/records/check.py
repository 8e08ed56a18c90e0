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


class Bound(StrEnum):
    """On which side of its limit a figure must stay."""

    AT_LEAST = "at least"
    AT_MOST = "at most"


class CheckId(StrEnum):
    """What a check is about: known by this, never by its title, which may be reworded."""

    STEADY_STATE = "steady_state"
    GOOD_SHARE = "good_share"
    TOLERABLE_SHARE = "tolerable_share"
    GOOD_SHARE_EACH = "good_share_each"
    ENOUGH = "enough"
    LOST_SESSIONS = "lost_sessions"
    AUDIT_MADE = "audit_made"
    AUDIT_HELD = "audit_held"
    AUDIT_BEYOND = "audit_beyond"
    AUDIT_HASHES = "audit_hashes"
    DATABASE_RULES = "database_rules"
    VALIDATION_ERRORS = "validation_errors"
    UNANSWERED = "unanswered"
    DRIVER_ERRORS = "driver_errors"
    ARRIVALS_DUE = "arrivals_due"
    ARRIVALS_BEGUN = "arrivals_begun"
    MIX_DEVIATION = "mix_deviation"
    NET_DEVIATION = "net_deviation"
    SHARES = "shares"
    UNSAMPLED = "unsampled"
    LEAD = "lead"
    PAUSE_DEVIATION = "pause_deviation"
    MEAN_THINK_TIME = "mean_think_time"
    THINK_TIMES = "think_times"
    CYCLE_TIME = "cycle_time"
    MIX_POINTS = "mix_points"
    SESSION_CYCLE = "session_cycle"
    COUNT = "count"
    ERRORS = "errors"
    PERCENTILE = "percentile"
    MEAN = "mean"
    THROUGHPUT = "throughput"
    WEIGHTED_PERCENTILE = "weighted_percentile"
    DRIVER_LAG = "driver_lag"
    DRIVER_LAG_TAIL = "driver_lag_tail"
    DRIVER_LAG_MAX = "driver_lag_max"
    DRIVER_GAP = "driver_gap"
    DRIVER_CPU = "driver_cpu"
    DRIVER_CLOCKS = "driver_clocks"
    GUEST_CLOCK = "guest_clock"
    FOREIGN_CPU = "foreign_cpu"
    FOREIGN_CPU_SAID = "foreign_cpu_said"
    TCP_MEMORY = "tcp_memory"
    STEADY = "steady"
    STEADY_SAID = "steady_said"
    CONDITIONAL_ASKED = "conditional_asked"
    CONDITIONAL_HONOURED = "conditional_honoured"
    ACCEPTED_LATE = "accepted_late"
    RESENT = "resent"
    TRAILING = "trailing"
    FURTHER_SOURCES = "further_sources"
    SYSTEM_CPU = "system_cpu"
    PARTS_DIED = "parts_died"
    POWER_SAMPLES = "power_samples"
    WINDOWS_APART = "windows_apart"
    HOST_BUSY = "host_busy"
    QUALITY_UNSAMPLED = "quality_unsampled"
    NOT_AT_FULL_LOAD = "not_at_full_load"
    UNPLACED = "unplaced"
    PRINTED_FIGURES = "printed_figures"
    PRINTED_TIMES = "printed_times"
    PRINTED_MONITORS = "printed_monitors"
    UNKNOWN = "unknown"
    """Of a stored verdict whose rule this version does not know."""


NOTED_CHECKS = frozenset(
    {
        CheckId.STEADY_SAID,
        CheckId.FOREIGN_CPU_SAID,
        CheckId.FOREIGN_CPU,
        CheckId.GUEST_CLOCK,
        CheckId.PRINTED_MONITORS,
    }
)
"""Notes, and rules that were not judged, that stand with their reason beside the verdict wherever it is told."""
DRIVER_CHECKS = frozenset(
    {
        CheckId.DRIVER_ERRORS,
        CheckId.DRIVER_LAG,
        CheckId.DRIVER_LAG_TAIL,
        CheckId.DRIVER_LAG_MAX,
        CheckId.DRIVER_GAP,
        CheckId.DRIVER_CPU,
        CheckId.DRIVER_CLOCKS,
        CheckId.ARRIVALS_DUE,
        CheckId.ARRIVALS_BEGUN,
        CheckId.TCP_MEMORY,
    }
)
"""Rules whose breach says that the driver, or its machine, was the limit."""


@dataclass(frozen=True)
class Check:
    """A rule's figure against its limit."""

    id: CheckId
    rule: str
    """Title of the rule."""
    figure: float
    limit: float
    bound: Bound
    unit: str
    weight: Weight
    outcome: Outcome
    source: str = ""
    detail: str = ""

    @property
    def is_broken(self) -> bool:
        """Whether it was broken, with an effect on the verdict."""
        return self.outcome is Outcome.BROKEN and self.weight is not Weight.NOTE

    def __str__(self) -> str:
        figure = f"{self.figure:.4g} {self.unit}".rstrip()
        text = f"{self.rule}: {figure}, {self.bound} {self.limit:.4g}"
        return f"{text} ({self.detail})" if self.detail else text
