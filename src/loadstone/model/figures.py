"""What one iteration measured, as plain records: the judge's and the report's only view of a run. Times in seconds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import TypeVar

from loadstone.model.drawn_pause import DrawnPause
from loadstone.model.printed_monitors import PrintedMonitor
from loadstone.model.profile import Rigor
from loadstone.model.records.events import ConnectionStats, OperationCounts, OperationTally, SessionCounts
from loadstone.model.records.workload_id import WorkloadId


class Blame(StrEnum):
    """Whose matter an error is."""

    VALIDATION = "validation"
    TRANSPORT = "transport"
    DRIVER = "driver"


LAG_SHARE = 0.05
"""Driver lag p99 at most, as a share of the shortest limit; a study may declare another."""
DRIVER_CPU_PCT = 90.0
"""Share of a core the busiest driver thread may use at most; a study may declare another."""

FOREIGN_CPU_PCT = 5.0
"""Share of the host that others may use at most; a study may declare another."""
FOREIGN_SAID_PCT = 2.0
"""Share from which it is said."""
MOST_DRIFT_PCT = 1.0
"""Largest drift of a clock inside the system under test, against the host's, where its times are used."""

BLAME = {
    **dict.fromkeys(
        ("coding", "status", "redirect", "title", "content", "marker", "length", "extract"), Blame.VALIDATION
    ),
    **dict.fromkeys(("no_ports", "no_files", "no_sessions", "driver"), Blame.DRIVER),
}
"""Kinds of error as the driver names them; all others are of the transport."""


def get_blame(kind: str) -> Blame:
    """Returns who is responsible for a kind of error."""
    return BLAME.get(kind, Blame.TRANSPORT)


LEAST_BEYOND = 1.0
"""Samples that are to be expected beyond a percentile that is printed: of p99.9 it takes a thousand."""


@dataclass(frozen=True)
class Distribution:
    """Times of many operations; None where there is no sample, or too few to say."""

    count: int
    mean_s: float | None
    percentiles_s: Mapping[float, float]
    """Time by percentile: 50, 90, 95, 99, 99.9, 100."""
    curve: tuple[tuple[float, float], ...] = ()
    """(seconds, share of operations at or below), for drawing."""
    lost: int = 0
    """Operations of which it is only known that they lasted for so long at least."""

    def get_value_at(self, percentile: float) -> float | None:
        """The time at one of the kept percentiles; None where there are too few samples for it."""
        is_extreme = percentile >= 100
        beyond = self.count * (100 - percentile) / 100
        return self.percentiles_s.get(percentile) if is_extreme or beyond >= LEAST_BEYOND - 1e-9 else None

    def get_at_most(self, percentile: float) -> float | None:
        """The same, or the largest time where there are too few samples: never too small."""
        known = self.get_value_at(percentile)
        return self.percentiles_s.get(100.0) if known is None else known


NOTHING = Distribution(0, None, {})


@dataclass(frozen=True)
class SlowestOperation:
    """The longest time of its kind."""

    time_s: float
    at_s: float
    """When it began, from the beginning of the run."""


@dataclass(frozen=True)
class FileFigures:
    """One embedded file of an operation in the steady state; its time is from the request to the last byte."""

    path: str
    requests: int
    not_modified: int
    bytes: int
    mean_s: float
    slowest: SlowestOperation


@dataclass(frozen=True)
class Second:
    """About a second of the steady state, of all operations that ended in it."""

    length_s: float
    answered: int
    """Right answers."""
    mean_s: float | None
    """Their mean response time; None where there is none."""
    bytes_share: float | None
    """Their bytes, by those of as many of each operation over the whole window; None where there is none."""


Counters = TypeVar("Counters", OperationTally, SessionCounts, ConnectionStats)
"""Records whose fields are all counts."""


def sum_counts(kind: type[Counters], parts: Iterable[Counters] = ()) -> Counters:
    """The counts of all parts, field by field; nothing counted where there are no parts."""
    counted = list(parts)
    return kind(*(sum(getattr(part, counter.name) for part in counted) for counter in fields(kind)))


@dataclass(frozen=True, kw_only=True)
class OperationFigures(OperationCounts, OperationTally):
    """One operation in the steady state: the counts of its records as they are, and what follows from the others."""

    name: str
    cycles: int
    cycle_drawn_s: float
    cycle_actual_s: float
    """From starts of it to the starts of what came next, where starts are paced: sums as drawn and as kept."""
    ended_s: float
    """Sum of the times of all operations that ended in the steady state, errors included."""
    line_mean_s: float | None
    """Mean time that the users' access links alone need; None where that is not known."""
    response: Distribution
    """Times of all operations in flight in the steady state, including those cut by its edges."""
    service: Distribution
    first_byte: Distribution
    inside: Distribution = NOTHING
    """Response times of what began and ended in the steady state: what published disclosures print."""
    ended_bytes: int | None = None
    """Bytes of all operations that ended in the steady state, whenever they started; None where that is not known."""
    requests_beside: tuple[int, ...] = ()
    """How often each request around its page was answered, by its place; shorter where the last ones never were."""
    statuses: Mapping[int, int] = field(default_factory=dict)
    """How often each status ended its page, 0 where no answer came; empty where that is not known."""
    words: frozenset[int] = frozenset()
    """Hashes of words that each of its first right answers has, the smallest 64; empty where that is not known."""
    slowest: SlowestOperation | None = None
    """The longest response time; None where that is not known."""
    files: tuple[FileFigures, ...] = ()
    """Its embedded files that came."""

    @property
    def ended(self) -> int:
        """Operations that ended in the steady state, whenever they started."""
        return self.requests + self.cut_at_start

    @property
    def answered(self) -> int:
        """Operations that ended in the steady state with a right answer, whenever they started and however late."""
        return self.response.count

    @property
    def all_bytes(self) -> int:
        """Bytes of all operations that ended in the steady state, or of those inside where no more is known."""
        return self.bytes if self.ended_bytes is None else self.ended_bytes

    def count_errors(self, blame: Blame) -> int:
        """Errors of one kind of blame."""
        return sum(count for kind, count in self.errors.items() if get_blame(kind) is blame)


@dataclass(frozen=True)
class Audit:
    """Acknowledged entries and those that the server holds: their counts, and sums of the hashes of their ids."""

    what: str
    acknowledged: int
    acknowledged_sum: int
    in_doubt: int
    """Operations without a right answer: the server may hold them, or not."""
    held: int
    held_sum: int
    broken_rules: tuple[str, ...] = ()
    """Rules of the server's own tables that do not hold, in words."""


NO_SESSIONS, NO_CONNECTIONS, NO_TALLY = (
    sum_counts(SessionCounts),
    sum_counts(ConnectionStats),
    sum_counts(OperationTally),
)


@dataclass(frozen=True)
class IterationFigures:
    """One iteration's steady state as a whole."""

    steady_s: float
    """Its measured length."""
    operations: tuple[OperationFigures, ...]
    response: Distribution
    service: Distribution
    lag: Distribution
    """How late the driver acted against its own schedule."""
    completed: bool
    """False when the run was ended early."""
    longest_gap_s: float | None = None
    """The longest time for which a driver thread did not run although it had something to do."""
    clock_bound_s: float | None = None
    """By how much the starts of several drivers may differ at most."""
    driver_cpu: tuple[float, ...] = ()
    """Share of a core each driver thread used."""
    pauses: int = 0
    pause_drawn_s: float = 0.0
    pause_actual_s: float = 0.0
    """Sums over all pauses."""
    pause_curve: tuple[tuple[float, float], ...] = ()
    """(seconds, share of pauses at or below), as they came."""
    sessions: SessionCounts = NO_SESSIONS
    connections: ConnectionStats = NO_CONNECTIONS
    trouble: str = ""
    """Error of the run itself; empty where there was none."""
    tcp_pressure_s: float | None = None
    """For how long the driver's machine was short of memory for TCP; None where that is not known."""
    samples: tuple[str, ...] = field(default=())
    """A few of the errors in words."""
    foreign_cpu_pct: float | None = None
    """Share of the host's CPU that others used, steal included; None where that is not known."""
    unattributed_cpu_pct: float | None = None
    """The same where the system is not known as a whole: parts of it may be among the others. None where it is."""
    guest_drift_pct: float | None = None
    """Drift of a pair's clock against the host's, in percent of the time; None where it was not read twice."""
    tool_drift_pct: float | None = None
    """Drift of a tool's clock where only means by the host's clock are known for that; None where its times are."""
    is_disclosed: bool = True
    """Whether it is known how the driver did: published tables do not say."""
    has_printed_errors: bool = False
    """Whether a published table has its validation errors."""
    monitors: tuple[PrintedMonitor, ...] = ()
    """Figures of monitors that a published table has; empty for an iteration that was measured here."""
    audit: Audit | None = None
    """Acknowledged and held entries; None where no audit was made."""
    seconds: tuple[Second, ...] = ()
    """Second by second; empty where that is not known."""

    @property
    def requests(self) -> int:
        """All counted operations."""
        return sum(operation.requests for operation in self.operations)

    @property
    def ended(self) -> int:
        """All operations that ended in the steady state."""
        return sum(operation.ended for operation in self.operations)

    @property
    def answered(self) -> int:
        """Operations that ended in the steady state with a right answer: a refusal is no throughput."""
        return sum(operation.answered for operation in self.operations)

    @property
    def throughput_per_s(self) -> float | None:
        """Right answers a second: those that ended in the steady state, by its length; None for one without length."""
        return self.answered / self.steady_s if self.steady_s else None

    @property
    def mean_response_s(self) -> float:
        """Mean time of all operations that ended in the steady state (the mean without bias), errors included."""
        return sum(operation.ended_s for operation in self.operations) / self.ended if self.ended else 0.0


NOT_MEASURED = IterationFigures(0.0, (), NOTHING, NOTHING, NOTHING, completed=False)
"""Of an iteration of which nothing is known yet."""
FIGURES_SCHEMA = 2
"""Raised with each change of what figures mean: those of an older schema are computed again where there are records."""


@dataclass(frozen=True)
class StoredFigures:
    """The figures of an iteration as they are kept beside its records."""

    figures: IterationFigures
    schema: int = FIGURES_SCHEMA


@dataclass(frozen=True)
class CountLimit:
    """A limit on the mean count of an operation, such as images of a page."""

    title: str
    operation: str
    of: str = ""
    """`images_named`, `images_loaded` or `image_bytes`; empty where it is a request around its page."""
    place: int = 0
    """Place of that request."""
    at_least: float | None = None
    at_most: float | None = None

    def count_matches(self, operation: OperationFigures) -> int:
        """How much of it an operation brought, over all of its kind."""
        if self.of:
            return int(getattr(operation, self.of))
        return operation.requests_beside[self.place] if self.place < len(operation.requests_beside) else 0


@dataclass(frozen=True)
class PercentileLimit:
    """The longest response time at a percentile, of one operation or of all."""

    operation: str
    """Empty for all together."""
    percentile: float
    most_s: float


@dataclass(frozen=True)
class MeanLimit:
    """The largest mean response time of an operation."""

    operation: str
    most_s: float


@dataclass(frozen=True)
class OwnLimits:
    """Limits that a workload declares in addition."""

    errors_pct: float | None = None
    """Largest share of operations that end in an error, in percent; None if none may."""
    percentiles: tuple[PercentileLimit, ...] = ()
    throughput_per_s: float | None = None
    means: tuple[MeanLimit, ...] = ()


@dataclass(frozen=True)
class Criteria:
    """Load, limits and expectations of a run. Kept with the result, so that it can be judged again."""

    id: WorkloadId
    title: str
    sessions: int
    """Sessions of a closed load; 0 for an open load."""
    ramp_up_s: float
    warm_up_s: float
    steady_s: float
    iterations: int
    rigor: Rigor
    profile: str
    shipped: bool
    """Whether the workload is a shipped one, unchanged."""
    expected_shares: Mapping[str, float]
    """Share of each operation; empty if the mix depends on answers."""
    operations_per_session: float | None
    paused_share: float
    mean_pause_s: float
    pacing: str
    good_share_pct: float
    tolerable_share_pct: float
    shortest_limit_s: float
    longest_operation_s: float
    """Time that the access link alone needs for the longest declared body."""
    published_bytes: Mapping[str, float] = field(default_factory=dict)
    conditional_shares: Mapping[str, float] = field(default_factory=dict)
    """Share of each operation's embedded files that users ask for conditionally, where files have shares of their own.
    """
    load: str = ""
    """The load in words."""
    due: float | None = None
    """Expected arrivals in the steady state; None for a population."""
    due_dispersion: float | None = None
    """Variance of the number of arrivals by its mean; None for a population, and where it grows with the time."""
    is_even: bool = True
    """Whether the load is the same all the time."""
    source: str = "docs/web-workloads.md"
    """The page that its limits come from; empty for a custom workload."""
    each_share_pct: float | None = None
    """Least share of good operations of each kind; None if kinds are not judged separately."""
    audited: bool = False
    """Whether the stored data of the server are audited."""
    lag_share: float = LAG_SHARE
    driver_cpu_pct: float = DRIVER_CPU_PCT
    foreign_cpu_pct: float = FOREIGN_CPU_PCT
    dispersion: Mapping[str, float] = field(default_factory=dict)
    """Variance of each operation's count by that of independent draws, in the long run; 1 where not given."""
    drawn_pause: DrawnPause | None = None
    """Distribution of the pauses, if it is always the same; None also without pauses."""
    total_dispersion: float = 1.0
    """Variance of the number of all operations by its mean, in the long run."""
    count_limits: tuple[CountLimit, ...] = ()
    """Limits on counts of operations, such as images of a page."""
    mix_points: float | None = None
    """Most percentage points between an operation's share and the declared one; None if not judged."""
    most_cycle_s: float | None = None
    """Largest mean time from start to start of a session's operations, in seconds; None if not judged."""
    own: OwnLimits = OwnLimits()
    """Limits that the workload declares in addition to the common rules."""
    limits_s: Mapping[str, float] = field(default_factory=dict)
    """Good times by operation, where all are judged by time and each for itself."""
    tool: str = ""
    """Tool that generates the load; empty for the driver."""
    tool_operations: int | None = None
    """Operations after which the tool ends; None where it runs for the steady state."""
    is_timed_inside: bool = False
    """Whether the tool times operations by the clock of the system under test."""

    @property
    def workload(self) -> str:
        """Its workload's label."""
        return self.id.label

    @property
    def load_in_words(self) -> str:
        """The load in words, also of results that do not have it."""
        return self.load or f"{self.sessions} sessions"
