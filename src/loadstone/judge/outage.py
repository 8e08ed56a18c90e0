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
LEAST_ADDED_S = 0.02
"""By how much it is slower at least; a busy host delays any operation by as much."""
LEAST_OF_KIND = 5
"""Operations of a kind before the fault that say how long it takes; one of another kind is affected if it failed."""
OVER_S = 5.0
"""An outage is over when no operation that began for so long was affected."""
LEAST_MEAN_S = 1e-9
"""Mean time between two answers at least, so that it can be divided by."""
GAP_CHANCE = 0.001
"""Chance at most of a silence that counts as the fault's, were answers as frequent and independent as before it."""


Span = tuple[OperationLine, float, float]
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
    """Longest time without a good answer from the fault on; None where no operation that began after it was answered
    well.
    """
    throughput_pct: float | None
    """Good operations a second after the outage, in percent of those before the fault; None of too few."""
    unanswered: int = 0
    """Affected operations that had no answer when the run ended."""
    silence_before_s: float | None = None
    """Longest time without a good answer before the fault; None in older answers."""
    failed_later: int = 0
    """Operations that failed after the outage, or where there was none later than `OVER_S` after the fault."""
    failed_before_pct: float = 0.0
    """Share of operations that failed before the fault: as many of those after it are not its doing."""


def compute_outage(
    lines: Sequence[OperationLine], fault_s: float, until_s: float, steady_end_s: float | None = None
) -> Outage | None:
    """Returns the cost of the fault at `fault_s`, observed until `until_s`, None if too little precedes it. Operations
    may stay without answers from `steady_end_s` on, where users leave. An operation under way when the run ends is
    neither failed nor affected by that alone: nobody knows how long it would have lasted.
    """
    before = [line for line in lines if line.end_s is not None and line.end_s <= fault_s and _is_good(line)]
    if len(before) < LEAST_BEFORE:
        return None
    later = [line for line in lines if line.end_s is None or line.end_s > fault_s]
    served = [line.end_s for line in later if _is_good(line) and line.intended_s > fault_s]
    good = sorted(line.end_s for line in later if line.end_s is not None and _is_good(line))
    is_dead = not served and any(line.intended_s > fault_s for line in later)
    silences = _Silences.measure(before, good, (fault_s, until_s if steady_end_s is None else steady_end_s))
    spans = [(line, line.intended_s, line.end_s or until_s) for line in later if not _is_good(line)]
    if served:
        limits_s = _limits_s(lines, before, fault_s)
        slow_spans = (_affected(line, limits_s, silences, until_s) for line in later)
        spans = _first_block([span for span in slow_spans if span is not None], fault_s)
    begin = min((begin_s for _, begin_s, _ in spans), default=fault_s)
    end = max((end_s for *_, end_s in spans), default=fault_s)
    affected = [line for line, *_ in spans]
    known = {id(line) for line in affected}
    broken = [line for line in lines if line.fault is not None]
    early = sum(line.end_s is not None and line.end_s <= fault_s for line in broken)
    return Outage(
        affected=len(affected),
        failed=sum(line.fault is not None for line in affected),
        seconds=end - begin,
        has_recovered=any(served_s is not None and served_s > end for served_s in served),
        silence_s=silences.longest_s if good and not is_dead else None,
        throughput_pct=_throughput_pct(before, [good_s for good_s in good if good_s > end], (fault_s, end, until_s)),
        unanswered=sum(line.fault is None and line.end_s is None and until == until_s for line, _, until in spans),
        silence_before_s=silences.before_s,
        failed_later=sum(line.intended_s > fault_s and id(line) not in known for line in broken),
        failed_before_pct=100 * early / (early + len(before)),
    )


def _is_good(line: OperationLine) -> bool:
    return line.fault is None and line.end_s is not None


def _limits_s(lines: Sequence[OperationLine], before: Sequence[OperationLine], fault_s: float) -> dict[int, float]:
    """From what time on an operation of each kind is slow, of kinds whose length was seen before the fault.

    Operations that ended before it are short by choice. A kind is left out where one under way at the fault was older
    than all that had ended, or where no operation as long as its limit could have ended.
    """
    lasted: dict[int, list[float]] = {}
    for line in before:
        lasted.setdefault(line.operation, []).append((line.end_s or fault_s) - line.intended_s)
    ages: dict[int, float] = {}
    for line in lines:
        if line.intended_s <= fault_s and (line.end_s is None or line.end_s > fault_s):
            ages[line.operation] = max(ages.get(line.operation, 0), fault_s - line.intended_s)
    seen_s = fault_s - min(line.intended_s for line in before)
    limits: dict[int, float] = {}
    for operation, times in lasted.items():
        longest = max(times)
        limit = max(SLOW * longest, longest + LEAST_ADDED_S)
        if len(times) >= LEAST_OF_KIND and ages.get(operation, 0) <= longest and limit <= seen_s:
            limits[operation] = limit
    return limits


def _affected(line: OperationLine, limits_s: Mapping[int, float], silences: "_Silences", until_s: float) -> Span | None:
    """An operation that failed, took far longer than any of its kind before, or waited in a silence of the fault, with
    the time for which the fault held it; None of any other.
    """
    end_s = until_s if line.end_s is None else line.end_s
    limit = limits_s.get(line.operation)
    if line.fault is not None or (limit is not None and end_s - line.intended_s > limit):
        return line, line.intended_s, end_s
    held = silences.measure_wait(line.intended_s, end_s)
    if held is None:
        return None
    begin_s, late_s = held
    return line, begin_s, until_s if line.end_s is None and late_s >= silences.gaps[-1][1] else late_s


@dataclass(frozen=True)
class _Silences:
    """Times without any good answer: the longest before the fault, and all from it on."""

    before_s: float
    gaps: tuple[tuple[float, float], ...]
    """From the fault on: begin and end of each."""
    limit_s: float
    """From what length on a silence is the fault's."""

    @classmethod
    def measure(
        cls, before: Sequence[OperationLine], good: Sequence[float], edges_s: tuple[float, float]
    ) -> "_Silences":
        """The silences about a fault; `at` is its instant, and that from which nobody need be answered."""
        fault_s, end_s = edges_s
        ends = sorted(line.end_s or 0 for line in before)
        longest = max([late - early for early, late in pairwise(ends)], default=0)
        instants = [ends[-1], *good]
        if end_s > instants[-1]:
            instants.append(end_s)
        mean_s = max(LEAST_MEAN_S, (ends[-1] - ends[0]) / (len(ends) - 1))
        expected = max(1.0, (end_s - fault_s) / mean_s)
        limit_s = max(SLOW * longest, longest + LEAST_ADDED_S, mean_s * math.log(expected / GAP_CHANCE))
        return cls(longest, tuple(pairwise(instants)), limit_s)

    @property
    def longest_s(self) -> float:
        """The longest from the fault on, in seconds."""
        return max((late - early for early, late in self.gaps), default=0.0)

    def measure_wait(self, begin_s: float, end_s: float) -> tuple[float, float] | None:
        """Returns the interval in seconds that an operation waited in a silence of the fault, None if it did not wait
        long.
        """
        spans = ((max(begin_s, early), min(end_s, late)) for early, late in self.gaps)
        return next((span for span in spans if span[1] - span[0] > self.limit_s), None)


def _first_block(affected: Sequence[Span], fault_s: float) -> list[Span]:
    """Those of the fault: later ones, after all was well, have reasons of their own."""
    block: list[Span] = []
    last_s = fault_s
    for line, begin_s, end_s in sorted(affected, key=lambda span: span[1]):
        if begin_s > last_s + OVER_S:
            break
        block.append((line, begin_s, end_s))
        last_s = max(last_s, begin_s)
    return block


def _throughput_pct(
    before: Sequence[OperationLine], after: Sequence[float], edges_s: tuple[float, float, float]
) -> float | None:
    fault_s, end_s, until_s = edges_s
    begun_s = min(line.end_s or fault_s for line in before)
    before_s, after_s = fault_s - begun_s, until_s - end_s
    if len(after) < LEAST_BEFORE or before_s <= 0 or after_s <= 0:
        return None
    return 100 * (len(after) / after_s) / (len(before) / before_s)
