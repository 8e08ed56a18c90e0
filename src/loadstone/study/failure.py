"""What a fault that was injected into a run came to: for its users, their transactions, and the machine. Pure."""

from dataclasses import dataclass

from loadstone.judge.outage import Outage, outage_of
from loadstone.model.records.result import Iteration


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


def failure_of(iteration: Iteration) -> Failure | None:
    """What the fault of an iteration came to; None where there was none."""
    fault, start = iteration.fault, iteration.start
    if fault is None or start is None or iteration.phases is None:
        return None
    if fault.refused:
        return Failure(fault.refused)
    until_ns = iteration.phases.lead_ns + iteration.phases.steady_ns + iteration.phases.ramp_down_ns
    at_ns = round(fault.at_unix_s * 1e9) - start.start_unix_ns
    audit = iteration.figures.audit

    def after(unix_s: float | None) -> float | None:
        return None if unix_s is None else unix_s - fault.at_unix_s

    return Failure(
        outage=outage_of(iteration.operations, at_ns, until_ns),
        live_s=after(fault.live_unix_s),
        protected_s=after(fault.protected_unix_s),
        ledgers=None if audit is None else Ledgers(audit.acknowledged, audit.held, audit.in_doubt),
    )
