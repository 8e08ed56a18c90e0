"""How much load: a number of sessions (closed), or sessions that arrive by themselves along a path of rates (open)."""

import math
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from pathlib import Path

from loadstone.model.errors import UsageError
from loadstone.model.files import read_text
from loadstone.model.profile import Phases

MOST_SESSIONS = 10_000_000
"""More than any machine plays, and well inside the plan's range."""
MOST_ARRIVALS_AT_ONCE = 10_000
"""Sessions a driver has at most at once where they arrive by themselves, unless told otherwise."""
MOST_PER_S = 10_000_000.0
NO_LOAD = "Set exactly one load: sessions (simultaneous), rate (arrivals/s) or trace."


class ProcessKind(StrEnum):
    """How arrivals are spread at a given rate."""

    POISSON = "poisson"
    CONSTANT = "constant"
    BURSTY = "bursty"
    """Poisson at a rate that jumps between 1.9 and 0.1 of the mean."""
    SELF_SIMILAR = "self-similar"
    """The same with times between jumps of any length (Pareto)."""


@dataclass(frozen=True)
class Scatter:
    """What the number behind a kind of process means, where it has one."""

    name: str
    usual: float
    above: float
    below: float


SCATTERS = {
    ProcessKind.BURSTY: Scatter("index of dispersion", 10.0, 1.0, 10_000.0),
    ProcessKind.SELF_SIMILAR: Scatter("Hurst parameter", 0.8, 0.5, 1.0),
}
"""The variance of a long time's count by its mean; of bursts on every scale how slowly that stops growing."""


@dataclass(frozen=True)
class ArrivalProcess:
    """How arrivals are spread at a given rate, and by how much more than by chance."""

    kind: ProcessKind = ProcessKind.POISSON
    scatter: float | None = None
    """Index of dispersion or Hurst parameter; None where the kind has none."""

    def __str__(self) -> str:
        """What a report says of it."""
        return self.kind + (f", {SCATTERS[self.kind].name} {self.scatter:g}" if self.kind in SCATTERS else "")

    @property
    def written(self) -> str:
        """As users write it: `poisson`, `bursty:25`."""
        return self.kind if self.scatter is None else f"{self.kind}:{self.scatter!r}".removesuffix(".0")


POISSON = ArrivalProcess()


@dataclass(frozen=True)
class Population:
    """Closed: this many sessions at once, user after user."""

    sessions: int
    """Of a number that changes the largest."""
    counts: tuple[int, ...] = ()
    """Sessions over the steady state, where they change: steps of equal length, or the two ends of a ramp."""
    is_ramp: bool = False

    def __str__(self) -> str:
        if self.counts:
            return (" to " if self.is_ramp else ", then ").join(map(str, self.counts)) + " sessions"
        return f"{self.sessions} session{'s' * (self.sessions != 1)}"

    @property
    def is_even(self) -> bool:
        """Whether there are as many all the time."""
        return not self.counts

    def list_steady_stages(self, seconds: float) -> list["SessionStage"]:
        """The path over a steady state of this length; empty where they do not change."""
        if self.is_ramp:
            return [SessionStage(seconds, self.counts[0], self.counts[-1])]
        return [SessionStage(seconds / len(self.counts), count, count) for count in self.counts]


@dataclass(frozen=True)
class SessionStage:
    """A time over which the number of sessions changes evenly."""

    seconds: float
    from_sessions: int
    to_sessions: int


@dataclass(frozen=True)
class Stage:
    """A time over which the rate changes evenly; sessions per second at both ends."""

    seconds: float
    from_per_s: float
    to_per_s: float

    @property
    def expected(self) -> float:
        """Arrivals to be expected."""
        return self.seconds * (self.from_per_s + self.to_per_s) / 2


@dataclass(frozen=True)
class Arrivals:
    """Open: user sessions begin at their time, however many are still there."""

    rates: tuple[float, ...]
    """Sessions per second over the steady state: steps of equal length, or the two ends of a ramp."""
    is_ramp: bool = False
    process: ArrivalProcess = POISSON
    trace_s: tuple[float, ...] = ()
    """Instants from the start of the steady state, in order; rates and process then have no say."""
    most_sessions: int = MOST_ARRIVALS_AT_ONCE

    def __str__(self) -> str:
        if self.trace_s:
            return f"{len(self.trace_s)} arrivals of a trace"
        rates = (" to " if self.is_ramp else ", then ").join(f"{rate:g}" for rate in self.rates)
        return f"{rates} arrivals/s ({self.process})"

    @property
    def is_even(self) -> bool:
        """Whether the rate is the same all the time."""
        return len(set(self.rates)) == 1 and not self.trace_s

    def list_steady_stages(self, seconds: float) -> list[Stage]:
        """The path over a steady state of this length."""
        if self.is_ramp:
            return [Stage(seconds, self.rates[0], self.rates[-1])]
        return [Stage(seconds / len(self.rates), rate, rate) for rate in self.rates]

    def list_stages(self, phases: Phases) -> list[Stage]:
        """The path over a whole run: up from nothing, the first rate, the path, down to nothing."""
        first, last = self.rates[0], self.rates[-1]
        lead = [Stage(phases.ramp_up_s, 0, first), Stage(phases.warm_up_s, first, first)]
        return [*lead, *self.list_steady_stages(phases.steady_s), Stage(phases.ramp_down_s, last, 0)]

    def list_instants(self, phases: Phases) -> list[float]:
        """A trace over a whole run: evenly spaced at its mean rate until the steady state, then as it is."""
        lead_s = phases.ramp_up_s + phases.warm_up_s
        inside = [instant for instant in self.trace_s if instant < phases.steady_s]
        count = math.floor(lead_s * len(inside) / phases.steady_s)
        lead = [lead_s * (number + 0.5) / count for number in range(count)]
        return [*lead, *(lead_s + instant for instant in inside)]

    def count_scheduled(self, steady_s: float) -> float:
        """Arrivals to be expected in the steady state."""
        if self.trace_s:
            return sum(instant < steady_s for instant in self.trace_s)
        return sum(stage.expected for stage in self.list_steady_stages(steady_s))

    def compute_peak_per_s(self, steady_s: float) -> float:
        """The highest rate; of a trace the mean one."""
        return self.count_scheduled(steady_s) / steady_s if self.trace_s else max(self.rates)


Load = Population | Arrivals


@dataclass(frozen=True)
class RateCurve:
    """A load that varies in time: factors with mean 1 that pauses are divided by, each for a while, again and again."""

    step_s: float
    factors: tuple[float, ...]
    shift_s: float = 0.0
    """Place on the curve at the start of the run."""


def make_load(
    sessions: str | int | None,
    rate: str | None,
    trace: Path | None,
    process: ArrivalProcess,
    most_sessions: int = MOST_ARRIVALS_AT_ONCE,
) -> Load:
    """The load from exactly one of a number of sessions, a rate and a trace. Raises UsageError."""
    if [sessions, rate, trace].count(None) != 2:
        raise UsageError(NO_LOAD)
    if sessions is not None:
        return read_sessions(str(sessions))
    if trace is not None:
        return Arrivals((), trace_s=read_trace(trace), most_sessions=most_sessions)
    rates, is_ramp = read_rate(rate or "")
    return Arrivals(rates, is_ramp, process, most_sessions=most_sessions)


def read_process(text: str) -> ArrivalProcess:
    """A kind of arrivals, with its scatter behind a colon where that is not the usual: `poisson`, `bursty:25`.
    Raises UsageError.
    """
    name, colon, number = text.partition(":")
    if name not in list(ProcessKind):
        raise UsageError(f"`{text}` is not a valid arrival process. Use one of {', '.join(ProcessKind)}.")
    kind = ProcessKind(name)
    scatter = SCATTERS.get(kind)
    if scatter is None:
        if colon:
            raise UsageError(f"`{text}`: {kind} arrivals take no number. Use `{kind}`.")
        return ArrivalProcess(kind)
    try:
        value = float(number) if colon else scatter.usual
    except ValueError:
        value = math.nan
    if not scatter.above < value < scatter.below:
        between = f"between {scatter.above:g} and {scatter.below:g}"
        raise UsageError(
            f"`{text}` is not valid. Use an {scatter.name} {between}, such as {kind}:{scatter.usual:g}.".replace(
                "an H", "a H"
            )
        )
    return ArrivalProcess(kind, value)


def read_sessions(text: str) -> Population:
    """A number of sessions: `100`, steps `50,100,150`, a ramp `10-100`. Raises UsageError."""
    is_ramp = "-" in text
    parts = text.split("-" if is_ramp else ",")
    counts = tuple(int(part) for part in parts if part.strip().isdecimal() and len(part) < len(str(MOST_SESSIONS)) + 2)
    is_whole = len(counts) == len(parts) and (not is_ramp or len(parts) == 2)
    if not is_whole or not 1 <= max(counts, default=0) <= MOST_SESSIONS:
        remedy = f"Use 1 to {MOST_SESSIONS:,}, such as 100, steps 50,100,150 or a ramp 10-100."
        raise UsageError(f"`{text}` is not a valid number of sessions. {remedy}")
    if len(set(counts)) == 1:
        return Population(counts[0])
    return Population(max(counts), counts, is_ramp)


def read_rate(text: str) -> tuple[tuple[float, ...], bool]:
    """Rates and whether they are a ramp: `100`, steps `50,100,150`, a ramp `10-100`. Raises UsageError."""
    is_ramp = "-" in text
    try:
        rates = tuple(float(part) for part in text.split("-" if is_ramp else ","))
    except ValueError:
        rates = ()
    if not rates or (is_ramp and len(rates) != 2) or not all(0 <= rate <= MOST_PER_S for rate in rates):
        raise UsageError(
            f"`{text}` is not a valid rate. Use sessions per second, such as 100, steps 50,100,150 or a ramp 10-100."
        )
    if not any(rates):
        raise UsageError("The rate must be greater than 0. Use sessions per second, such as 100.")
    return rates, is_ramp


def read_trace(file: Path) -> tuple[float, ...]:
    """Instants in seconds, one a line, in order; empty lines and lines that begin with # are passed over.
    Raises UsageError.
    """
    lines = read_text(file).splitlines()
    instants: list[float] = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            instant = float(text)
        except ValueError:
            instant = math.nan
        if not 0 <= instant < math.inf:
            raise UsageError(f"{file}:{number}: `{text}` is not a valid time. Use seconds from the start, 0 or more.")
        instants.append(instant)
    for earlier, later in pairwise(instants):
        if later < earlier:
            raise UsageError(f"{file}: {later:g} follows {earlier:g}. Sort the times in ascending order.")
    if not instants:
        raise UsageError(f"The trace {file} contains no times. Add seconds from the start, one per line.")
    return tuple(instants)
