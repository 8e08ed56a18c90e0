"""What the driver says, one record an event: `schemas/events.json`, which is made from the driver's own types."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter

EVENT_SCHEMA = 6
"""Version of the events' schema that this version of the program speaks."""


@dataclass(frozen=True)
class EncodedHistogram:
    """A HdrHistogram of microseconds in its standard compressed base64 form, with its figures in nanoseconds."""

    count: int
    mean_ns: float
    p50_ns: int
    p99_ns: int
    max_ns: int
    clamped: int
    """Values beyond its range, counted at its end."""
    hdr: str


@dataclass(frozen=True)
class OperationCounts:
    """How many operations ended in each way."""

    requests: int
    good: int
    tolerable: int
    """Tolerable but not good."""
    fail: int
    bytes: int
    errors: Mapping[str, int]
    """By kind of error."""

    @property
    def error_count(self) -> int:
        """Errors of all kinds."""
        return sum(self.errors.values())

    @property
    def answered(self) -> int:
        """Right answers."""
        return self.requests - self.error_count


@dataclass(frozen=True)
class PairedTimes:
    """Pauses, or cycles from start to start: how many, and their sums as drawn and as kept."""

    count: int
    drawn_ns: int
    actual_ns: int


@dataclass(frozen=True)
class Slowest:
    """The longest time of its kind, and when it began."""

    time_ns: int
    at_ns: int


NEVER = Slowest(0, 0)


@dataclass(frozen=True)
class StatusCount:
    """How often a status ended an operation's page."""

    status: int
    """0 where no answer came."""
    count: int


@dataclass(frozen=True)
class FileTotals:
    """One embedded file of an operation in the steady state; its time is from the request to the last byte."""

    path: str
    requests: int
    not_modified: int
    bytes: int
    mean_ns: float
    slowest: Slowest


@dataclass(frozen=True)
class OperationTotals:
    """One operation over the steady state."""

    name: str
    counts: OperationCounts
    cut_at_start: int
    cut_at_end: int
    ended_ns: int
    ended_bytes: int
    entered: EncodedHistogram
    """Ages of those under way when the steady state began."""
    answered: EncodedHistogram
    """Ages at their answers, of all answered in it."""
    lost: EncodedHistogram
    """Ages of those still under way at its end, or when they failed."""
    cycles: PairedTimes
    overdue: int
    embedded: int
    conditional: int
    not_modified: int
    redirects: int
    line_mean_ns: float
    response: EncodedHistogram
    service: EncodedHistogram
    first_byte: EncodedHistogram
    images_named: int = 0
    images_loaded: int = 0
    image_bytes: int = 0
    body_bytes: int = 0
    """Bodies of its answers, decoded; 0 in older records."""
    requests_beside: tuple[int, ...] = ()
    """How often each request around its page was answered, by its place; none in older records."""
    statuses: tuple[StatusCount, ...] = ()
    """How often each status ended its page; none in older records."""
    slowest: Slowest = NEVER
    files: tuple[FileTotals, ...] = ()
    """Its embedded files, in their order; none in older records."""
    words: tuple[int, ...] = ()
    """Hashes of words that stand in each of its first right answers, the smallest 64; none in older records."""


@dataclass(frozen=True)
class CpuShare:
    """Share of a core that each driver thread used."""

    threads: tuple[float, ...]

    @property
    def busiest(self) -> float:
        """The largest of them."""
        return max(self.threads, default=0.0)


@dataclass(frozen=True)
class PartNames:
    """A workload's label and the names of its operations, in the order of interval records."""

    workload: str
    operations: tuple[str, ...]


@dataclass(frozen=True)
class LedgerEntry:
    """One way in which an operation ends well: how often, how often in the steady state, and the sum of id hashes."""

    name: str
    count: int
    steady: int
    sum: str
    """64 bits, hexadecimal."""


@dataclass(frozen=True)
class Ready:
    """The driver is prepared and waits for the word to start."""

    event: Literal["ready"]
    schema: int


@dataclass(frozen=True)
class Start:
    """The run begins."""

    event: Literal["start"]
    schema: int
    version: str
    threads: int
    drivers: int
    parts: tuple[PartNames, ...]
    start_unix_ns: int
    clock_cost_ns: float
    timer_slack_ns: int
    clock_bound_ns: int | None = None
    """By how much the drivers' starts may differ at most; None of one that plays alone."""


@dataclass(frozen=True)
class PhaseChange:
    """A phase begins."""

    event: Literal["phase"]
    phase: str
    at_ns: int


@dataclass(frozen=True)
class Interval:
    """What happened to one workload in about a second; `at_ns` is its end, from the start of the run."""

    event: Literal["interval"]
    part: str
    at_ns: int
    length_ns: int
    phase: str
    sessions_active: int
    connections_open: int
    operations: tuple[OperationCounts, ...]
    response: EncodedHistogram
    service: EncodedHistogram
    lag: EncodedHistogram
    wires: Mapping[str, int]
    cpu: CpuShare

    @property
    def length_s(self) -> float:
        """Its length, never 0."""
        return max(1e-3, self.length_ns / 1e9)

    @property
    def middle_s(self) -> float:
        """Its middle, in seconds from the start of the run."""
        return (self.at_ns - self.length_ns / 2) / 1e9

    @property
    def requests(self) -> int:
        """Operations of all kinds."""
        return sum(counts.requests for counts in self.operations)

    @property
    def error_count(self) -> int:
        """Errors of all operations and kinds."""
        return sum(counts.error_count for counts in self.operations)

    @property
    def answered_per_s(self) -> float:
        """Right answers a second."""
        return sum(counts.answered for counts in self.operations) / self.length_s


@dataclass(frozen=True)
class Trouble:
    """An error in words; a few of each kind are told."""

    event: Literal["trouble"]
    part: str
    at_ns: int
    operation: str
    kind: str
    detail: str

    def __str__(self) -> str:
        return f"{self.operation}: {self.kind}: {self.detail}"


@dataclass(frozen=True)
class Starts:
    """Intended and actual instants of the first operations, where the plan asks for them."""

    event: Literal["starts"]
    part: str
    intended_ns: tuple[int, ...]
    actual_ns: tuple[int, ...]


@dataclass(frozen=True)
class OperationLine:
    """One operation; times in nanoseconds since the start of the run."""

    operation: int
    """In the order of the start event."""
    intended_ns: int
    end_ns: int | None
    """None where it was under way when the run ended."""
    fault: str | None


@dataclass(frozen=True)
class Operations:
    """Operations one by one as they ended, where the plan asks for them."""

    event: Literal["operations"]
    part: str
    operations: tuple[OperationLine, ...]


@dataclass(frozen=True)
class Ledger:
    """How one operation of several possible endings ended, over the whole run, as one driver thread knows it."""

    event: Literal["ledger"]
    part: str
    operation: str
    endings: tuple[LedgerEntry, ...]
    in_doubt: int


@dataclass(frozen=True)
class StationUse:
    """What a modelled station did in an interval of virtual time."""

    event: Literal["station"]
    at_ns: int
    length_ns: int
    workers: int
    busy_ns: int


@dataclass(frozen=True)
class Totals:
    """One workload over the steady state."""

    event: Literal["totals"]
    part: str
    steady_ns: int
    operations: tuple[OperationTotals, ...]
    lag: EncodedHistogram
    longest_gap_ns: int | None
    """The longest time for which a driver thread, although it had something to do, did not run."""
    sessions: Mapping[str, int]
    pauses: PairedTimes
    wires: Mapping[str, int]
    cpu: CpuShare
    pause: EncodedHistogram | None = None
    """How long those pauses were, as they came; older records do not say."""


@dataclass(frozen=True)
class End:
    """The driver is done."""

    event: Literal["end"]
    at_ns: int
    reason: str


@dataclass(frozen=True)
class Exchange:
    """A request and its answer as they were on the connection, of a visit that is traced; times from its start."""

    event: Literal["exchange"]
    at_ns: int
    first_byte_ns: int
    end_ns: int
    is_secure: bool
    request: str
    """As HTTP/1.1 writes it, whatever the version spoken."""
    head: str
    """Status line and fields of the answer; empty where none came."""
    body: str
    """The beginning of its body, decoded."""
    bytes: int
    body_bytes: int
    fault: str


@dataclass(frozen=True)
class Performed:
    """An operation of a visit that is traced, when it ended."""

    event: Literal["performed"]
    operation: str
    at_ns: int
    end_ns: int
    kind: str | None
    """The kind of error it ended with."""
    detail: str
    values: tuple[tuple[str, str], ...]
    """What was taken from its answer, by name."""


Traced = Exchange | Performed
Event = (
    Ready | Start | PhaseChange | Interval | Trouble | Starts | Operations | Ledger | StationUse | Totals | End | Traced
)

EVENT: TypeAdapter[Event] = TypeAdapter(
    Annotated[Event, Field(discriminator="event")], config=ConfigDict(defer_build=True)
)
"""Built at its first use. Reads one line of events; raises pydantic's ValidationError."""
