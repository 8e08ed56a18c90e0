"""A tool that generates load in place of the driver, declared in one module below `kinds/`. Pure: the run starts it."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from loadstone.model.figures import MOST_DRIFT_PCT
from loadstone.model.reading import Section
from loadstone.model.target import Endpoint


class ToolOutputError(ValueError):
    """A tool printed something that its reader does not know; the text says what is missing."""


@dataclass(frozen=True)
class ToolTask:
    """What a tool is asked to do once."""

    operation: str
    """Path of the workload's operation: what the tool does, in its module's words."""
    settings: Section
    """Of the type that the tool's kind declares."""
    clients: int
    lead_s: float
    """Seconds before the steady state, which are not counted."""
    steady_s: float
    endpoint: Endpoint
    """Where the tool's server answers."""
    folder: Path
    """Folder of this host for the files that the tool writes."""
    threads: int = 1
    """Threads that the tool may use."""
    operations: int | None = None
    """Operations after which it ends; None where it runs for the steady state."""
    shares: Mapping[str, float] = field(default_factory=dict)
    """Shares of the mix by path of the operation."""


@dataclass(frozen=True)
class ToolLine:
    """A line of a tool's output, and when it came, in seconds of this host from the start of the tool."""

    at_s: float
    text: str


@dataclass(frozen=True)
class ToolOutput:
    """Everything that a tool printed."""

    lines: Sequence[ToolLine]

    @property
    def text(self) -> str:
        """All lines together."""
        return "".join(line.text for line in self.lines)


@dataclass(frozen=True)
class Amount:
    """What a tool did in some time."""

    count: int = 0
    bytes: int = 0
    errors: int = 0
    total_s: float = 0.0
    """Sum of the times of all that succeeded."""
    times_us: Mapping[int, int] = field(default_factory=dict)
    """Number of those that took so many microseconds."""

    @classmethod
    def count_times(cls, times_us: Iterable[int], bytes_each: int = 0, errors: int = 0) -> "Amount":
        """Operations with their times in microseconds, and the number of those that failed."""
        counted = Counter(times_us)
        count = counted.total()
        total_s = sum(time_us * number for time_us, number in counted.items()) / 1e6
        return cls(count + errors, count * bytes_each, errors, total_s, counted)

    @classmethod
    def estimate(cls, count: int, each_bytes: int, mean_s: float) -> "Amount":
        """Operations of which only the mean time is known."""
        times_us = {max(1, round(mean_s * 1e6)): count} if count else {}
        return cls(count, count * each_bytes, 0, count * mean_s, times_us)

    def __add__(self, addend: "Amount") -> "Amount":
        times_us = Counter(self.times_us)
        times_us.update(addend.times_us)
        return Amount(
            self.count + addend.count,
            self.bytes + addend.bytes,
            self.errors + addend.errors,
            self.total_s + addend.total_s,
            times_us,
        )


@dataclass(frozen=True)
class ClockSpan:
    """A span of time by this host's clock and by the one that a tool times operations by."""

    end_s: float
    """Of this host."""
    host_s: float
    tool_s: float

    def convert(self, tool_s: float) -> float:
        """Seconds of this host in so many of the tool."""
        return tool_s * self.host_s / self.tool_s

    @property
    def drift_pct(self) -> float | None:
        """Drift of the tool's clock in percent of the time; None where it is small enough to use its times."""
        drift_pct = 100 * abs(self.tool_s - self.host_s) / self.host_s
        return drift_pct if drift_pct > MOST_DRIFT_PCT else None


def sum_amounts(amounts: Iterable[Amount]) -> Amount:
    """The sum of amounts."""
    return sum(amounts, Amount())


@dataclass(frozen=True)
class ToolInterval:
    """Part of the steady state, in seconds from its beginning."""

    begin_s: float
    end_s: float
    amount: Amount
    """Of all operations together."""
    by_operation: Mapping[str, Amount] | None = None
    """By path of the operation, for a tool that plays a mix; None for a tool that performs one operation."""

    @classmethod
    def build_mix(cls, begin_s: float, end_s: float, by_operation: Mapping[str, Amount]) -> "ToolInterval":
        """Builds an interval of several operations."""
        return cls(begin_s, end_s, sum_amounts(by_operation.values()), by_operation)

    def get_amount(self, path: str) -> Amount:
        """Returns what was done of one operation."""
        return self.amount if self.by_operation is None else self.by_operation.get(path, Amount())


@dataclass(frozen=True)
class ToolEnding:
    """How often an operation ended in one of several good ways."""

    operation: str
    """Its path."""
    name: str
    count: int
    """Over the whole run."""
    steady: int
    """In the steady state."""


@dataclass(frozen=True)
class ToolFigures:
    """What a tool measured in its steady state."""

    version: str
    steady_s: float
    intervals: Sequence[ToolInterval]
    begin_s: float | None = None
    """When the steady state began, in seconds of this host from the start of the tool; None where it was as planned."""
    measured: Amount | None = None
    """What the tool says of the whole steady state; None where only the intervals say it."""
    pauses: Amount = field(default_factory=Amount)
    """Pauses of the users that ended in the steady state."""
    endings: Sequence[ToolEnding] = ()
    clock_drift_pct: float | None = None
    """Drift of the tool's clock where that is too large to use its times: all are means by this host's clock."""

    @property
    def total(self) -> Amount:
        """What was done in the steady state."""
        return self.measured or sum_amounts(interval.amount for interval in self.intervals)

    def get_total(self, path: str) -> Amount:
        """Returns what was done of one operation in the steady state."""
        return self.measured or sum_amounts(interval.get_amount(path) for interval in self.intervals)


def prepare_nothing(task: ToolTask) -> list[list[str]]:
    """Returns no command, for tools that prepare nothing."""
    return []


def write_nothing(task: ToolTask) -> dict[str, str]:
    """Returns no file, for tools that read none."""
    return {}


@dataclass(frozen=True)
class ToolKind:
    """One tool."""

    name: str
    settings: type[Section]
    command: Callable[[ToolTask], list[str]]
    """Command line on this host."""
    figures: Callable[[ToolTask, ToolOutput], ToolFigures]
    """Reads the tool's output. Raises ToolOutputError, KeyError, IndexError or ValueError for another output."""
    needs: Mapping[str, str]
    """Debian's packages by a file of theirs, on this host."""
    request: Callable[[ToolTask], str] | None = None
    """Line that the tool reads first; None for a tool that reads nothing."""
    is_timed_inside: bool = False
    """Whether operations are timed by the clock of the system under test."""
    prepare: Callable[[ToolTask], list[list[str]]] = prepare_nothing
    """Commands on this host before each iteration."""
    files: Callable[[ToolTask], Mapping[str, str]] = write_nothing
    """Texts that its commands read from the task's folder, by name of the file. They stay there with the result."""
    played: frozenset[str] = frozenset()
    """Paths of the operations that it plays as a mix; empty for a tool that performs one operation at a time."""
