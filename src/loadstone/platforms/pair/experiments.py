"""What experiments on pairs measured, and what follows from it: the log of a timer, a secondary that is slowed, a
channel that takes longer, a full link, several pairs on a host, and reads of a disk. Pure.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from statistics import fmean, median, median_high
from typing import Any

from loadstone.model.errors import PlatformError
from loadstone.model.figures import LEAST_BEYOND
from loadstone.platforms.pair.disk import Disks, Reads
from loadstone.platforms.pair.sizing import RULE_FACTOR

BITS_PER_MBIT = 1e6
BYTES_PER_MBYTE = 1e6
P99 = 0.99
PUBLISHED_TICK_BYTES = {82: 229, 250: 340, 1000: 179}
"""Bytes of log per timer tick of idle guests, by ticks per second: from 0.15, 0.68, 1.43 Mbit/s (VMware 2009, "VMware
vSphere 4 Fault Tolerance: Architecture and Performance", table of idle guests)."""


@dataclass(frozen=True)
class TickReading:
    """Counters at one instant: bytes of the log before compression, and wake-ups of the timer in the machine."""

    unix_s: float
    log_bytes: int
    ticks_unix_s: float
    ticks: int


@dataclass(frozen=True)
class TickCost:
    """The log of an idle machine with a timer."""

    wanted_per_s: int
    """Wake-ups per second that the program asks for; 0 without a timer."""
    ticks_per_s: float
    """Wake-ups that it had."""
    log_mbit_per_s: float
    bytes_per_tick: float | None
    """Beyond the log of the same machine without a timer; None without one."""
    published_bytes_per_tick: int | None
    """Of the published guest with this timer; None where none was published."""

    @property
    def as_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)


def compute_tick_costs(readings: Sequence[tuple[int, TickReading, TickReading]]) -> list[TickCost]:
    """Returns the cost of each rate of wake-ups, from counters before and after; the first rate is 0. Raises
    PlatformError where a timer did not run.
    """
    costs: list[TickCost] = []
    idle_bytes_per_s = 0.0
    for wanted_per_s, before, after in readings:
        bytes_per_s = (after.log_bytes - before.log_bytes) / (after.unix_s - before.unix_s)
        ticks_per_s = (after.ticks - before.ticks) / (after.ticks_unix_s - before.ticks_unix_s)
        if not wanted_per_s:
            idle_bytes_per_s = bytes_per_s
        elif not ticks_per_s:
            raise PlatformError(f"The timer of {wanted_per_s} wake-ups per second did not run. Use a longer --seconds.")
        costs.append(
            TickCost(
                wanted_per_s=wanted_per_s,
                ticks_per_s=ticks_per_s,
                log_mbit_per_s=8 * bytes_per_s / BITS_PER_MBIT,
                bytes_per_tick=(bytes_per_s - idle_bytes_per_s) / ticks_per_s if wanted_per_s else None,
                published_bytes_per_tick=PUBLISHED_TICK_BYTES.get(wanted_per_s),
            )
        )
    return costs


@dataclass(frozen=True)
class ClientWindow:
    """A time during which one client sent requests to a pair without pauses."""

    seconds: float
    latencies_s: Sequence[float]
    """Response time of each answer."""
    first_report: dict[str, Any]
    """Last report of the pair's agent before the window."""
    reports: Sequence[dict[str, Any]]
    """Reports in the window, one a second."""
    is_protected: bool = True
    """Whether the same secondary followed all the time."""

    @property
    def answers_per_s(self) -> float:
        """Answers, divided by the length of the window."""
        return len(self.latencies_s) / self.seconds

    @property
    def median_ms(self) -> float:
        """Median response time."""
        return 1e3 * median_high(self.latencies_s)

    @property
    def p99_ms(self) -> float | None:
        """99th percentile of the response times; None with too few of them."""
        rank = math.ceil(P99 * len(self.latencies_s))
        is_supported = (1 - P99) * len(self.latencies_s) >= LEAST_BEYOND - 1e-9
        return 1e3 * sorted(self.latencies_s)[rank - 1] if is_supported else None

    @property
    def lag_ms(self) -> float:
        """Largest lag of the secondary in the reports."""
        return max(float(report["lag_ms"]) for report in self.reports)

    @property
    def slowed_pct(self) -> float:
        """Mean of the reports: share of its time for which the primary waits for its secondary."""
        return fmean(float(report["slowed_pct"]) for report in self.reports)

    @property
    def log_mbit_per_s(self) -> float:
        """Log before compression."""
        return self._mbit_per_s("log_bytes")

    @property
    def wire_mbit_per_s(self) -> float:
        """Log as it was sent to the secondary."""
        return self._mbit_per_s("wire_bytes")

    def _mbit_per_s(self, counter: str) -> float:
        """Growth from the report before the window to the last report."""
        first, last = self.first_report, self.reports[-1]
        grown = int(last[counter]) - int(first[counter])
        return 8 * grown / (float(last["heard_unix_s"]) - float(first["heard_unix_s"])) / BITS_PER_MBIT

    def require_figures(self, title: str) -> None:
        """Raises PlatformError where there is no answer or no report, or the pair was not protected all the time."""
        if not self.is_protected:
            raise PlatformError(
                f"`{title}`: the pair lost its secondary while it was measured. Repeat it on a host with free cores."
            )
        if not self.has_figures:
            raise PlatformError(f"`{title}` has no answers or no reports of the pair. Use a longer --seconds.")

    @property
    def has_figures(self) -> bool:
        """Whether there is an answer and a report."""
        return bool(self.latencies_s and self.reports)


@dataclass(frozen=True)
class SharePhase:
    """A pair under one client while its secondary's machine may run for a share of the time."""

    title: str
    share: float
    answers_per_s: float
    median_ms: float
    """Of the client's response times."""
    lag_ms: float
    """Largest of the reports of one second."""
    slowed_pct: float
    """Mean of them: share of its time for which the primary waits for its secondary."""

    @property
    def as_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)


def summarize_phase(title: str, share: float, window: ClientWindow) -> SharePhase:
    """Returns the figures of one phase. Raises PlatformError where there is no answer or no report."""
    window.require_figures(title)
    return SharePhase(title, share, window.answers_per_s, window.median_ms, window.lag_ms, window.slowed_pct)


@dataclass(frozen=True)
class DelayCost:
    """A pair under one client while the channel between both sides takes longer."""

    added_ms: float
    """Time that was added to each round trip."""
    round_trip_ms: float
    """Measured round trip between both agents: median of the reports."""
    answers_per_s: float
    median_ms: float
    """Of the client's response times."""
    p99_ms: float | None
    """None with too few of them."""
    held_ms: float
    """Median time for which outputs were held, since the pair was created."""
    held_p99_ms: float
    log_mbit_per_s: float
    """Before compression."""

    @property
    def as_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)


def summarize_delay(added_ms: float, window: ClientWindow) -> DelayCost:
    """Returns the cost of a longer round trip. Raises PlatformError where there is no answer, no report, or no measured
    round trip.
    """
    title = f"{added_ms:g} ms"
    window.require_figures(title)
    round_trips_ms = [took for report in window.reports if (took := report["round_trip_ms"]) is not None]
    if not round_trips_ms:
        raise PlatformError(f"`{title}` has no measured round trip. Use a longer --seconds.")
    held_times_ms = window.reports[-1]["held_ms"]
    return DelayCost(
        added_ms=added_ms,
        round_trip_ms=median(round_trips_ms),
        answers_per_s=window.answers_per_s,
        median_ms=window.median_ms,
        p99_ms=window.p99_ms,
        held_ms=held_times_ms["p50"],
        held_p99_ms=held_times_ms["p99"],
        log_mbit_per_s=window.log_mbit_per_s,
    )


@dataclass(frozen=True)
class LinkLoad:
    """A pair under one client while the link between both sides has a limited speed."""

    link_mbit_per_s: float | None
    """Speed of the link in each direction; None without a limit."""
    wire_mbit_per_s: float
    """Log on the link, after compression."""
    log_mbit_per_s: float
    """Before compression."""
    answers_per_s: float
    median_ms: float
    """Of the client's response times."""
    p99_ms: float | None
    """None with too few of them."""
    lag_ms: float
    """Largest of the reports of one second."""
    slowed_pct: float
    """Mean of them: share of its time for which the primary waits for its secondary."""

    @property
    def used_pct(self) -> float | None:
        """Share of the link that the log takes; None without a limit."""
        return 100 * self.wire_mbit_per_s / self.link_mbit_per_s if self.link_mbit_per_s else None

    @property
    def as_json(self) -> dict[str, Any]:
        """All fields, and the used share."""
        return {**asdict(self), "used_pct": self.used_pct}


def summarize_link(link_mbits: float, window: ClientWindow) -> LinkLoad:
    """Returns the figures of a link of some speed in Mbit/s, 0 without a limit. Raises PlatformError where there is no
    answer or no report.
    """
    window.require_figures(f"{link_mbits:g} Mbit/s" if link_mbits else "no limit")
    return LinkLoad(
        link_mbit_per_s=link_mbits or None,
        wire_mbit_per_s=window.wire_mbit_per_s,
        log_mbit_per_s=window.log_mbit_per_s,
        answers_per_s=window.answers_per_s,
        median_ms=window.median_ms,
        p99_ms=window.p99_ms,
        lag_ms=window.lag_ms,
        slowed_pct=window.slowed_pct,
    )


class Arrangement(StrEnum):
    """Hosts of several pairs."""

    ONE_HOST = "one host"
    """Both sides of every pair are on this host."""
    TOGETHER = "together"
    """All primaries are on one of two hosts, all secondaries on the other."""
    CROSSED = "crossed"
    """Each of two hosts has primaries, and secondaries of the other's."""


def list_primary_hosts(arrangement: Arrangement, hosts: Sequence[str], count: int) -> list[str]:
    """Returns the host of each pair's primary."""
    return [hosts[number % len(hosts) if arrangement is Arrangement.CROSSED else 0] for number in range(count)]


@dataclass(frozen=True)
class CountLoad:
    """Several pairs at once, each under a client of its own."""

    pairs: int
    arrangement: Arrangement
    answers_per_s_by_pair: list[float]
    """Empty where the pairs were not measured; the warnings have the reason."""
    answers_per_s: float | None
    """Sum over all pairs."""
    median_ms: float | None
    """Median of all clients' response times."""
    lag_ms: float | None
    """Largest lag of a secondary."""
    slowed_pct: float | None
    """Mean over the pairs: share of its time for which a primary waits for its secondary."""
    warnings: list[str]
    """Reasons why the figures say less about pairs than about their hosts."""

    @property
    def as_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)


def summarize_count(arrangement: Arrangement, windows: Sequence[ClientWindow], warnings: Sequence[str]) -> CountLoad:
    """Returns the figures of pairs that were measured at once. Raises PlatformError where a pair has no answer or no
    report.
    """
    title = f"{len(windows)} pairs"
    if not all(window.has_figures for window in windows):
        raise PlatformError(f"`{title}`: a pair has no answers or no reports. Use a longer --seconds.")
    unprotected = sum(not window.is_protected for window in windows)
    losses = [f"{unprotected} of {title} lost a secondary"] if unprotected else []
    rates = [window.answers_per_s for window in windows]
    return CountLoad(
        pairs=len(windows),
        arrangement=arrangement,
        answers_per_s_by_pair=rates,
        answers_per_s=sum(rates),
        median_ms=1e3 * median_high(took for window in windows for took in window.latencies_s),
        lag_ms=max(window.lag_ms for window in windows),
        slowed_pct=fmean(window.slowed_pct for window in windows),
        warnings=[*warnings, *losses],
    )


def explain_unmeasured(pairs: int, arrangement: Arrangement, warnings: Sequence[str]) -> CountLoad:
    """Returns a count of pairs without figures, for these reasons."""
    return CountLoad(pairs, arrangement, [], None, None, None, None, list(warnings))


@dataclass(frozen=True)
class ReadsReading:
    """Counters of the active side: bytes of the log before compression, and bytes read from its disk."""

    unix_s: float
    log_bytes: int
    reads_unix_s: float
    read_bytes: int


@dataclass(frozen=True)
class ReadsCost:
    """The log of a machine that reads its disk at random."""

    disks: Disks
    reads: Reads | None
    """Source of the secondary's data; None where each side has a disk of its own."""
    reads_mbytes_per_s: float
    """Megabytes (10^6 bytes) per second."""
    log_mbit_per_s: float
    """Before compression."""
    log_ratio: float
    """Bits of the log for each bit that was read."""
    rule_mbit_per_s: float
    """Log by the published rule for these reads, which is for data that comes with the log."""

    @property
    def title(self) -> str:
        """The setting of the machine, in words."""
        if self.reads is None:
            return "secondary, own disk"
        return "the log" if self.reads is Reads.LOG else "secondary, shared disk"

    @property
    def as_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)


def compute_reads_cost(disks: Disks, reads: Reads | None, before: ReadsReading, after: ReadsReading) -> ReadsCost:
    """Returns the cost of reads from counters before and after. Raises PlatformError where nothing was read."""
    reads_per_s = (after.read_bytes - before.read_bytes) / (after.reads_unix_s - before.reads_unix_s)
    log_per_s = (after.log_bytes - before.log_bytes) / (after.unix_s - before.unix_s)
    if reads_per_s <= 0:
        raise PlatformError("The machine read nothing from its disk while it was measured. Use a longer --seconds.")
    return ReadsCost(
        disks=disks,
        reads=reads,
        reads_mbytes_per_s=reads_per_s / BYTES_PER_MBYTE,
        log_mbit_per_s=8 * log_per_s / BITS_PER_MBIT,
        log_ratio=log_per_s / reads_per_s,
        rule_mbit_per_s=RULE_FACTOR * 8 * reads_per_s / BITS_PER_MBIT,
    )
