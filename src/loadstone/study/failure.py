"""What a fault that was injected into a run came to: for its users, their transactions, and the machine. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loadstone.judge.outage import Outage, compute_outage
from loadstone.model.records.events import OperationLine
from loadstone.model.records.result import Iteration, Result


@dataclass(frozen=True)
class Ledgers:
    """Transactions, by what users were told and by what the system holds; of workloads that leave any."""

    acknowledged: int
    held: int
    in_doubt: int
    """Transactions whose users were told nothing."""

    @property
    def lost(self) -> int:
        """Of those that users were told are done."""
        return max(0, self.acknowledged - self.held)

    @property
    def repeated(self) -> int:
        """Beyond those that may be held without their users' knowledge."""
        return max(0, self.held - self.acknowledged - self.in_doubt)


@dataclass(frozen=True)
class SeenOperation:
    """One operation about a fault; times in seconds."""

    at_s: float
    """Its intended start, after the fault."""
    lasted_s: float | None
    """None where it never ended."""
    is_good: bool


@dataclass(frozen=True)
class Failure:
    """A fault and its consequences; times in seconds."""

    refused: str = ""
    """Why it could not be injected."""
    outage: Outage | None = None
    """None where too little was measured before it."""
    live_s: float | None = None
    """Until a machine served again, as the platform says: the other side, or one that was started anew."""
    protected_s: float | None = None
    """Until a pair was whole again."""
    ledgers: Ledgers | None = None
    seen: tuple[SeenOperation, ...] = ()
    """Operations about the fault, for a picture."""


BEFORE_S, AFTER_S = 5.0, 25.0
"""What a picture shows about a fault."""
MOST_SEEN = 1000


def find_failure(iteration: Iteration) -> Failure | None:
    """Returns the effect of an iteration's fault, None where there was none."""
    fault, start = iteration.fault, iteration.records.start
    if fault is None or start is None or iteration.phases is None:
        return None
    if fault.refused:
        return Failure(fault.refused)
    steady_end_s = iteration.phases.steady_end_s
    until_s = steady_end_s + iteration.phases.ramp_down_s
    at_s = fault.at_unix_s - start.start_unix_s
    audit = iteration.figures.audit

    def after(unix_s: float | None) -> float | None:
        return None if unix_s is None else unix_s - fault.at_unix_s

    return Failure(
        outage=compute_outage(iteration.records.operations, at_s, until_s, steady_end_s),
        live_s=after(fault.live_unix_s),
        protected_s=after(fault.protected_unix_s),
        ledgers=None if audit is None else Ledgers(audit.acknowledged, audit.held, audit.in_doubt),
        seen=tuple(_seen(iteration.records.operations, at_s))[:MOST_SEEN],
    )


def find_faulty_platform(result: Result) -> str:
    """Returns the platform of the machine that had a run's fault; empty without a fault, or where it is not known."""
    faults = [iteration.fault for workload in result.workloads for iteration in workload.iterations if iteration.fault]
    machine = result.manifest.machines.get(faults[0].machine) if faults else None
    return "" if machine is None else machine.platform or ""


def _seen(lines: Sequence[OperationLine], fault_s: float) -> Iterator[SeenOperation]:
    for line in lines:
        at_s = line.intended_s - fault_s
        if -BEFORE_S <= at_s <= AFTER_S:
            lasted_s = None if line.end_s is None else line.end_s - line.intended_s
            yield SeenOperation(at_s, lasted_s, line.fault is None and line.end_s is not None)
