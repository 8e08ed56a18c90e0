"""What a fault cost the users: from the operations one by one. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from loadstone.model.records.events import OperationLine

LEAST_BEFORE = 20
"""Operations before the fault that say how long they take when nothing happens."""
SLOW = 2.0
"""By what factor an operation is slower than all of its kind before the fault to count as affected: the slowest of a
few is soon passed by chance."""
LEAST_SLOWER_NS = 20_000_000
"""By how much it is slower at least; a busy host delays any operation by as much."""
LEAST_OF_KIND = 5
"""Operations of a kind before the fault that say how long it takes; one of another kind is affected if it failed."""
OVER_NS = 5_000_000_000
"""An outage is over when no operation that began for so long was affected."""
GAP_CHANCE = 0.001
"""Chance at most of a silence that counts as the fault's, were answers as frequent and independent as before it."""


Span = tuple[OperationLine, int, int]
"""An affected operation, and from when to when the fault held it."""


@dataclass(frozen=True)
class Outage:
    """What users saw of a fault; times in seconds."""

    affected: int
    """Operations that failed, were slower than any before, or stayed without an answer while nobody got any."""
    failed: int
    """Those of them that failed."""
    seconds: float
    """From the first affected operation's intended start to the end of the last; 0 where none was affected. Until the
    run's end where the last had no answer by then.
    """
    has_recovered: bool
    """Whether an operation that began after the fault was answered well, after the last that was affected."""
    silence_s: float | None
    """Longest time without a good answer from the fault on; None where none came any more."""
    throughput_pct: float | None
    """Good operations a second after the outage, in percent of those before the fault; None of too few."""
    unanswered: int = 0
    """Affected operations that had no answer when the run ended."""
    silence_before_s: float | None = None
    """Longest time without a good answer before the fault; None in older answers."""
    failed_later: int = 0
    """Operations that failed after the outage, or where there was none later than `OVER_NS` after the fault."""
    failed_before_pct: float = 0.0
    """Share of operations that failed before the fault: as many of those after it are not its doing."""


def outage_of(
    lines: Sequence[OperationLine], fault_ns: int, until_ns: int, steady_end_ns: int | None = None
) -> Outage | None:
    """What the fault at `fault_ns` cost, seen until `until_ns`; None of too little before it.

    Nobody need be answered any more from `steady_end_ns` on, where users leave. An operation under way when the run
    ends is neither failed nor affected by that alone: nobody knows how long it would have lasted.
    """
    before = [line for line in lines if line.end_ns is not None and line.end_ns <= fault_ns and _is_good(line)]
    if len(before) < LEAST_BEFORE:
        return None
    later = [line for line in lines if line.end_ns is None or line.end_ns > fault_ns]
    served = [line.end_ns for line in later if _is_good(line) and line.intended_ns > fault_ns]
    good = sorted(line.end_ns for line in later if line.end_ns is not None and _is_good(line))
    silences = _Silences.measure(before, good, (fault_ns, until_ns if steady_end_ns is None else steady_end_ns))
    spans = [(line, line.intended_ns, line.end_ns or until_ns) for line in later if not _is_good(line)]
    if served:
        limits_ns = _limits_ns(lines, before, fault_ns)
        slow_spans = (_affected(line, limits_ns, silences, until_ns) for line in later)
        spans = _first_block([span for span in slow_spans if span is not None], fault_ns)
    begin = min((begin_ns for _, begin_ns, _ in spans), default=fault_ns)
    end = max((end_ns for *_, end_ns in spans), default=fault_ns)
    affected = [line for line, *_ in spans]
    known = {id(line) for line in affected}
    broken = [line for line in lines if line.fault is not None]
    early = sum(line.end_ns is not None and line.end_ns <= fault_ns for line in broken)
    return Outage(
        affected=len(affected),
        failed=sum(line.fault is not None for line in affected),
        seconds=(end - begin) / 1e9,
        has_recovered=any(served_ns is not None and served_ns > end for served_ns in served),
        silence_s=silences.longest_s if good else None,
        throughput_pct=_throughput_pct(
            before, [good_ns for good_ns in good if good_ns > end], (fault_ns, end, until_ns)
        ),
        unanswered=sum(line.fault is None and line.end_ns is None and until == until_ns for line, _, until in spans),
        silence_before_s=silences.before_ns / 1e9,
        failed_later=sum(line.intended_ns > fault_ns and id(line) not in known for line in broken),
        failed_before_pct=100 * early / (early + len(before)),
    )


def _is_good(line: OperationLine) -> bool:
    return line.fault is None and line.end_ns is not None


def _limits_ns(lines: Sequence[OperationLine], before: Sequence[OperationLine], fault_ns: int) -> dict[int, int]:
    """From what time on an operation of each kind is slow, of kinds whose length was seen before the fault.

    Operations that ended before it are short by choice. A kind is left out where one under way at the fault was older
    than all that had ended, or where no operation as long as its limit could have ended.
    """
    lasted: dict[int, list[int]] = {}
    for line in before:
        lasted.setdefault(line.operation, []).append((line.end_ns or fault_ns) - line.intended_ns)
    ages: dict[int, int] = {}
    for line in lines:
        if line.intended_ns <= fault_ns and (line.end_ns is None or line.end_ns > fault_ns):
            ages[line.operation] = max(ages.get(line.operation, 0), fault_ns - line.intended_ns)
    seen_ns = fault_ns - min(line.intended_ns for line in before)
    limits: dict[int, int] = {}
    for operation, times in lasted.items():
        longest = max(times)
        limit = round(max(SLOW * longest, longest + LEAST_SLOWER_NS))
        if len(times) >= LEAST_OF_KIND and ages.get(operation, 0) <= longest and limit <= seen_ns:
            limits[operation] = limit
    return limits


def _affected(line: OperationLine, limits_ns: Mapping[int, int], silences: "_Silences", until_ns: int) -> Span | None:
    """An operation that failed, took far longer than any of its kind before, or waited in a silence of the fault, with
    the time for which the fault held it; None of any other.
    """
    end_ns = until_ns if line.end_ns is None else line.end_ns
    limit = limits_ns.get(line.operation)
    if line.fault is not None or (limit is not None and end_ns - line.intended_ns > limit):
        return line, line.intended_ns, end_ns
    held = silences.held(line.intended_ns, end_ns)
    if held is None:
        return None
    begin_ns, late_ns = held
    return line, begin_ns, until_ns if line.end_ns is None and late_ns >= silences.gaps[-1][1] else late_ns


@dataclass(frozen=True)
class _Silences:
    """Times without any good answer: the longest before the fault, and all from it on."""

    before_ns: int
    gaps: tuple[tuple[int, int], ...]
    """From the fault on: begin and end of each."""
    limit_ns: float
    """From what length on a silence is the fault's."""

    @classmethod
    def measure(cls, before: Sequence[OperationLine], good: Sequence[int], edges_ns: tuple[int, int]) -> "_Silences":
        """The silences about a fault; `at` is its instant, and that from which nobody need be answered."""
        fault_ns, end_ns = edges_ns
        ends = sorted(line.end_ns or 0 for line in before)
        longest = max([late - early for early, late in pairwise(ends)], default=0)
        instants = [ends[-1], *good]
        if end_ns > instants[-1]:
            instants.append(end_ns)
        mean_ns = max(1.0, (ends[-1] - ends[0]) / (len(ends) - 1))
        expected = max(1.0, (end_ns - fault_ns) / mean_ns)
        limit_ns = max(SLOW * longest, longest + LEAST_SLOWER_NS, mean_ns * math.log(expected / GAP_CHANCE))
        return cls(longest, tuple(pairwise(instants)), limit_ns)

    @property
    def longest_s(self) -> float:
        """The longest from the fault on, in seconds."""
        return max((late - early for early, late in self.gaps), default=0) / 1e9

    def held(self, begin_ns: int, end_ns: int) -> tuple[int, int] | None:
        """For how long an operation waited in a silence of the fault; None where that was not for long."""
        spans = ((max(begin_ns, early), min(end_ns, late)) for early, late in self.gaps)
        return next((span for span in spans if span[1] - span[0] > self.limit_ns), None)


def _first_block(affected: Sequence[Span], fault_ns: int) -> list[Span]:
    """Those of the fault: later ones, after all was well, have reasons of their own."""
    block: list[Span] = []
    last_ns = fault_ns
    for line, begin_ns, end_ns in sorted(affected, key=lambda span: span[1]):
        if begin_ns > last_ns + OVER_NS:
            break
        block.append((line, begin_ns, end_ns))
        last_ns = max(last_ns, begin_ns)
    return block


def _throughput_pct(
    before: Sequence[OperationLine], after: Sequence[int], edges_ns: tuple[int, int, int]
) -> float | None:
    fault_ns, end_ns, until_ns = edges_ns
    begun_ns = min(line.end_ns or fault_ns for line in before)
    before_s, after_s = (fault_ns - begun_ns) / 1e9, (until_ns - end_ns) / 1e9
    if len(after) < LEAST_BEFORE or before_s <= 0 or after_s <= 0:
        return None
    return 100 * (len(after) / after_s) / (len(before) / before_s)
