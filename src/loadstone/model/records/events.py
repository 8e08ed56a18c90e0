"""What the driver says, one record an event; times in seconds. `python -m schema_records` writes this module from
`schemas/events.json`, which follows from the driver's own types.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter

from loadstone.model.records.record_sums import DriverCpu, IntervalSums, OperationSums, TroubleText
from loadstone.model.records.units import RecordedSeconds

EVENT_SCHEMA = 7
"""Version of the events' schema that this version of the program reads without migration."""


@dataclass(frozen=True)
class ConnectionStats:
    """Connections and TLS handshakes."""

    connections: int
    reconnects: int
    """Opened again because the server had closed an idle one."""
    resent: int
    """Requests sent again: the server had taken them on a kept connection and closed it without an answer."""
    declined: int
    """Requests sent again because an HTTP/2 server declared that it had not processed them."""
    trailing: int
    """Answers with further bytes behind their end, which came before the next request on the connection."""
    further_sources: int
    """Connections from a source address other than the first."""
    connected_late: int
    """Accepted only after the kernel had tried again: the listener's queue was full, or packets were lost."""
    handshakes_full: int
    handshakes_resumed: int
    http_requests: int
    """HTTP requests, embedded files and redirects included."""


@dataclass(frozen=True)
class CpuShare(DriverCpu):
    """The driver's own use of CPU over an interval."""

    threads: tuple[float, ...]
    """Share of a core that each thread used."""


@dataclass(frozen=True)
class EncodedHistogram:
    """A HdrHistogram of microseconds in its standard compressed base64 form, with the figures most asked for."""

    count: int
    mean_s: Annotated[RecordedSeconds, Field(alias="mean_ns")]
    p50_s: Annotated[RecordedSeconds, Field(alias="p50_ns")]
    p99_s: Annotated[RecordedSeconds, Field(alias="p99_ns")]
    max_s: Annotated[RecordedSeconds, Field(alias="max_ns")]
    clamped: int
    """Times above ten minutes, kept as ten minutes."""
    hdr: str
    """Empty where there is no sample."""


@dataclass(frozen=True)
class Slowest:
    """The longest time of its kind, and when it began."""

    time_s: Annotated[RecordedSeconds, Field(alias="time_ns")]
    at_s: Annotated[RecordedSeconds, Field(alias="at_ns")]


@dataclass(frozen=True)
class FileRecord:
    """One embedded file of an operation in the steady state; its time is from the request to the last byte."""

    path: str
    """Its path, with values as `{name}`."""
    requests: int
    not_modified: int
    bytes: int
    sum_s: Annotated[RecordedSeconds, Field(alias="sum_ns")]
    """Sum of its times."""
    slowest: Slowest


@dataclass(frozen=True)
class OperationCounts(OperationSums):
    """How many operations ended in each way."""

    requests: int
    good: int
    tolerable: int
    """Tolerable but not good."""
    fail: int
    bytes: int
    errors: Mapping[str, int]
    """By kind of error."""


@dataclass(frozen=True)
class LedgerEntry:
    """One way of ending well."""

    name: str
    count: int
    steady: int
    """Of those, the ones that started and ended in the steady state."""
    sum: str
    """Sum of the hashes (FNV-1a, 64 bits, wrapping) of what the server must hold, in hexadecimal."""


@dataclass(frozen=True)
class OperationLine:
    """One operation; its times count from the start of the run."""

    operation: int
    """In the order of the part's `operations` in the start event."""
    intended_s: Annotated[RecordedSeconds, Field(alias="intended_ns")]
    """When its user meant to start it."""
    end_s: Annotated[RecordedSeconds | None, Field(alias="end_ns")] = None
    """None where it was in flight when the run ended."""
    fault: str | None = None


@dataclass(frozen=True)
class PauseCounts:
    """Pauses, or cycles from start to start: how many, and their sums as drawn and as kept."""

    count: int
    drawn_s: Annotated[RecordedSeconds, Field(alias="drawn_ns")]
    actual_s: Annotated[RecordedSeconds, Field(alias="actual_ns")]


@dataclass(frozen=True)
class StatusCount:
    """How often a status ended an operation's page."""

    status: int
    """0 where no answer came."""
    count: int


@dataclass(frozen=True)
class OperationTally:
    """Counts of one operation over the steady state that need no unit of their own."""

    cut_at_start: int
    """Started before the steady state and ended in it; not among the requests."""
    cut_at_end: int
    """Started in the steady state and ended after it or never; not among the requests."""
    overdue: int
    """In flight at the end of the steady state and beyond their tolerable time; not among the requests."""
    embedded: int
    conditional: int
    """Embedded files that browsers had and asked about, and how many of those had not changed."""
    not_modified: int
    redirects: int
    images_named: int
    """Pictures that its pages named, those of them that were fetched, and their bytes."""
    images_loaded: int
    image_bytes: int
    body_bytes: int
    """Bodies of its answers, decoded: more than its bytes where they came compressed."""


@dataclass(frozen=True)
class OperationRecord:
    """One operation over the steady state."""

    name: str
    counts: OperationCounts
    tally: OperationTally
    ended_s: Annotated[RecordedSeconds, Field(alias="ended_ns")]
    """Sum of the times of all operations that ended in the steady state, whenever they started and however they ended:
    their mean is without bias however long operations last.
    """
    ended_bytes: int
    """Bytes of those operations."""
    entered: EncodedHistogram
    """Of operations in flight when the steady state began: their ages then. With the next two it has all that were in
    flight at any time of the steady state: what a product-limit estimate is made of.
    """
    answered: EncodedHistogram
    """Ages at their answers, of all that were answered in the steady state."""
    lost: EncodedHistogram
    """Ages of those still in flight at its end, or when they failed."""
    cycles: PauseCounts
    """From starts of it to the starts of what came next, where starts are paced."""
    requests_beside: tuple[int, ...]
    """How often each request around its page was answered, by its place; shorter where the last ones never were."""
    line_s: Annotated[RecordedSeconds, Field(alias="line_ns")]
    """Sum of the times that the users' lines alone need for the bytes of its right answers."""
    response: EncodedHistogram
    service: EncodedHistogram
    first_byte: EncodedHistogram
    statuses: tuple[StatusCount, ...]
    """How often each status ended its page."""
    slowest: Slowest
    """The longest response time, and when it began."""
    files: tuple[FileRecord, ...]
    """Its embedded files, in their order; shorter where the last never came."""
    words: tuple[int, ...]
    """Hashes of words that each of its first right answers has: the smallest 64, in ascending order. Empty where there
    are none, or where that is not known.
    """


@dataclass(frozen=True)
class PartNames:
    """A workload of the plan and its operations."""

    workload: str
    operations: tuple[str, ...]


@dataclass(frozen=True)
class SessionCounts:
    """User sessions by how they ended."""

    due: int
    """Arrivals that were scheduled, of an open load."""
    begun: int
    finished: int
    """Ended as their users meant to, or left without a word."""
    abandoned: int
    """Finished sessions whose users left without a word."""
    broken: int
    """Ended by an error."""
    unplaced: int
    """Could not be placed part-way through their visits when the run began: a request of their past failed. Counted
    whenever that was, unlike the others.
    """
    operations_in_finished: int
    """Operations performed in the finished ones."""


@dataclass(frozen=True)
class Ready:
    """All is prepared; the driver waits for the start signal."""

    event: Literal["ready"]
    schema: int


@dataclass(frozen=True)
class Start:
    """The run begins."""

    event: Literal["start"]
    schema: int
    version: str
    threads: int
    """Driver threads, of all drivers together."""
    drivers: int
    parts: tuple[PartNames, ...]
    start_unix_s: Annotated[RecordedSeconds, Field(alias="start_unix_ns")]
    """Wall-clock time of the start, since 1970-01-01."""
    clock_cost_s: Annotated[RecordedSeconds, Field(alias="clock_cost_ns")]
    """What reading the clock once costs here."""
    timer_slack_s: Annotated[RecordedSeconds, Field(alias="timer_slack_ns")]
    """How late the timer wakes up on an idle loop: median of the calibration."""
    clock_bound_s: Annotated[RecordedSeconds | None, Field(alias="clock_bound_ns")] = None
    """By how much the drivers' starts may differ at most: half of the longest round trip by which a clock was compared.
    None of a driver that plays alone.
    """


@dataclass(frozen=True)
class PhaseChange:
    """A phase begins."""

    event: Literal["phase"]
    phase: str
    at_s: Annotated[RecordedSeconds, Field(alias="at_ns")]


@dataclass(frozen=True)
class Interval(IntervalSums):
    """One workload over about a second."""

    event: Literal["interval"]
    part: str
    """Its workload."""
    at_s: Annotated[RecordedSeconds, Field(alias="at_ns")]
    """Its end, from the start of the run."""
    length_s: Annotated[RecordedSeconds, Field(alias="length_ns")]
    phase: str
    sessions_active: int
    """Sessions and connections that were open when it ended."""
    connections_open: int
    cpu: CpuShare
    operations: tuple[OperationCounts, ...]
    """In the order of the part's `operations` in the start event."""
    response: EncodedHistogram
    service: EncodedHistogram
    lag: EncodedHistogram
    """How late the driver acted against its own schedule."""
    connections: ConnectionStats


@dataclass(frozen=True)
class Trouble(TroubleText):
    """A sample of what went wrong; a few of each kind."""

    event: Literal["trouble"]
    part: str
    at_s: Annotated[RecordedSeconds, Field(alias="at_ns")]
    operation: str
    kind: str
    detail: str


@dataclass(frozen=True)
class Exchange:
    """A request and its answer, where the plan asks for a trace."""

    event: Literal["exchange"]
    at_s: Annotated[RecordedSeconds, Field(alias="at_ns")]
    first_byte_s: Annotated[RecordedSeconds, Field(alias="first_byte_ns")]
    end_s: Annotated[RecordedSeconds, Field(alias="end_ns")]
    is_secure: bool
    request: str
    """As HTTP/1.1 writes it, whatever the version spoken."""
    head: str
    """Status line and fields of the answer; empty where none came."""
    body: str
    """The beginning of its body, decoded."""
    bytes: int
    """Bytes received, head included, and those of the body, decoded."""
    body_bytes: int
    fault: str
    """Why it failed; empty where it did not."""


@dataclass(frozen=True)
class Performed:
    """An operation that ended, where the plan asks for a trace."""

    event: Literal["performed"]
    operation: str
    at_s: Annotated[RecordedSeconds, Field(alias="at_ns")]
    end_s: Annotated[RecordedSeconds, Field(alias="end_ns")]
    detail: str
    values: tuple[tuple[str, str], ...]
    """What was taken from its answer, by name."""
    kind: str | None = None


@dataclass(frozen=True)
class Starts:
    """The first starts of the steady state, one by one, where the plan asks for them."""

    event: Literal["starts"]
    part: str
    intended_s: Annotated[tuple[RecordedSeconds, ...], Field(alias="intended_ns")]
    actual_s: Annotated[tuple[RecordedSeconds, ...], Field(alias="actual_ns")]


@dataclass(frozen=True)
class Operations:
    """Operations one by one as they ended, where the plan asks for them."""

    event: Literal["operations"]
    part: str
    operations: tuple[OperationLine, ...]


@dataclass(frozen=True)
class Ledger:
    """How operations of several possible endings ended on one thread, over the whole run: what an audit is held
    against.
    """

    event: Literal["ledger"]
    part: str
    operation: str
    endings: tuple[LedgerEntry, ...]
    in_doubt: int
    """Operations that had no right answer, or none in time: the server may hold what they asked for, or not."""


@dataclass(frozen=True)
class StationUse:
    """Work of the modelled station of a simulation in an interval."""

    event: Literal["station"]
    at_s: Annotated[RecordedSeconds, Field(alias="at_ns")]
    length_s: Annotated[RecordedSeconds, Field(alias="length_ns")]
    workers: int
    busy_s: Annotated[RecordedSeconds, Field(alias="busy_ns")]


@dataclass(frozen=True)
class Totals:
    """One workload over the steady state."""

    event: Literal["totals"]
    part: str
    """Its workload."""
    steady_s: Annotated[RecordedSeconds, Field(alias="steady_ns")]
    cpu: CpuShare
    operations: tuple[OperationRecord, ...]
    lag: EncodedHistogram
    """How late the driver acted against its own schedule."""
    sessions: SessionCounts
    pauses: PauseCounts
    pause: EncodedHistogram
    """How long those pauses were, as they came."""
    connections: ConnectionStats
    longest_gap_s: Annotated[RecordedSeconds | None, Field(alias="longest_gap_ns")] = None
    """The longest time for which a driver thread, although it had something to do, did not run. None in records of
    earlier versions.
    """


@dataclass(frozen=True)
class End:
    """The driver is done."""

    event: Literal["end"]
    at_s: Annotated[RecordedSeconds, Field(alias="at_ns")]
    reason: str


Traced = Exchange | Performed
Event = (
    Ready
    | Start
    | PhaseChange
    | Interval
    | Trouble
    | Exchange
    | Performed
    | Starts
    | Operations
    | Ledger
    | StationUse
    | Totals
    | End
)

EVENT: TypeAdapter[Event] = TypeAdapter(
    Annotated[Event, Field(discriminator="event")], config=ConfigDict(defer_build=True, serialize_by_alias=True)
)
"""Built at its first use. Reads one line of events; raises pydantic's ValidationError."""
