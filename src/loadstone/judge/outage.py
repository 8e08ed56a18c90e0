"""What a fault cost the users: from the operations one by one. Pure."""

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


@dataclass(frozen=True)
class Outage:
    """What users saw of a fault; times in seconds."""

    affected: int
    """Operations that failed, never ended, or were slower than any before."""
    failed: int
    """Those of them that failed or never ended."""
    seconds: float
    """From the first affected operation's intended start to the end of the last; 0 where none was affected. Beyond the
    run's end where the last never ended.
    """
    has_recovered: bool
    """Whether an operation that began after the fault was answered well, after the last that was affected."""
    silence_s: float | None
    """Longest time without a good answer from the fault on; None where none came any more."""
    throughput_pct: float | None
    """Good operations a second after the outage, in percent of those before the fault; None of too few."""


def outage_of(lines: Sequence[OperationLine], fault_ns: int, until_ns: int) -> Outage | None:
    """What the fault at `fault_ns` cost, seen until `until_ns`; None of too little before it."""
    before = [line for line in lines if line.end_ns is not None and line.end_ns <= fault_ns and _is_good(line)]
    if len(before) < LEAST_BEFORE:
        return None
    later = [line for line in lines if line.end_ns is None or line.end_ns > fault_ns]
    served = [line.end_ns for line in later if _is_good(line) and line.intended_ns > fault_ns]
    affected = [line for line in later if not _is_good(line)]
    if served:
        usual_ns = _usual_ns(before, until_ns)
        affected = _first_block([line for line in later if _is_affected(line, usual_ns, until_ns)], fault_ns)
    good = sorted(line.end_ns for line in later if line.end_ns is not None and _is_good(line))
    begin = min((line.intended_ns for line in affected), default=fault_ns)
    end = max((line.end_ns or until_ns for line in affected), default=fault_ns)
    return Outage(
        affected=len(affected),
        failed=sum(not _is_good(line) for line in affected),
        seconds=(end - begin) / 1e9,
        has_recovered=any(at is not None and at > end for at in served),
        silence_s=_silence_s(before, good, until_ns),
        throughput_pct=_throughput_pct(before, [at for at in good if at > end], (fault_ns, end, until_ns)),
    )


def _lasted(line: OperationLine, until_ns: int) -> int:
    return (until_ns if line.end_ns is None else line.end_ns) - line.intended_ns


def _is_good(line: OperationLine) -> bool:
    return line.fault is None and line.end_ns is not None


def _usual_ns(before: Sequence[OperationLine], until_ns: int) -> dict[int, int]:
    """How long each kind of operation took at most, of kinds that were seen often enough."""
    lasted: dict[int, list[int]] = {}
    for line in before:
        lasted.setdefault(line.operation, []).append(_lasted(line, until_ns))
    return {operation: max(times) for operation, times in lasted.items() if len(times) >= LEAST_OF_KIND}


def _is_affected(line: OperationLine, usual_ns: Mapping[int, int], until_ns: int) -> bool:
    """Whether it failed, or took far longer than any of its kind before. One that is under way at the run's end has
    taken as long as that.
    """
    if line.fault is not None:
        return True
    usual = usual_ns.get(line.operation)
    return usual is not None and _lasted(line, until_ns) > max(SLOW * usual, usual + LEAST_SLOWER_NS)


def _first_block(affected: Sequence[OperationLine], fault_ns: int) -> list[OperationLine]:
    """Those of the fault: later ones, after all was well, have reasons of their own."""
    block: list[OperationLine] = []
    last_ns = fault_ns
    for line in sorted(affected, key=lambda line: line.intended_ns):
        if line.intended_ns > last_ns + OVER_NS:
            break
        block.append(line)
        last_ns = max(last_ns, line.intended_ns)
    return block


def _silence_s(before: Sequence[OperationLine], good: Sequence[int], until_ns: int) -> float | None:
    if not good:
        return None
    last = max(line.end_ns or 0 for line in before)
    instants = [last, *good, until_ns]
    return max(late - early for early, late in pairwise(instants)) / 1e9


def _throughput_pct(before: Sequence[OperationLine], after: Sequence[int], at: tuple[int, int, int]) -> float | None:
    fault_ns, end_ns, until_ns = at
    begun_ns = min(line.end_ns or fault_ns for line in before)
    before_s, after_s = (fault_ns - begun_ns) / 1e9, (until_ns - end_ns) / 1e9
    if len(after) < LEAST_BEFORE or before_s <= 0 or after_s <= 0:
        return None
    return 100 * (len(after) / after_s) / (len(before) / before_s)
