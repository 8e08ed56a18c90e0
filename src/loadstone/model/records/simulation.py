"""What a schedule played in virtual time came to. `python -m schema_records` writes this module from
`schemas/simulated.json`, which follows from the driver's own types.
"""

from dataclasses import dataclass

from loadstone.model.records.record_sums import CycleShift


@dataclass(frozen=True)
class OperationShare(CycleShift):
    """How often one operation was performed."""

    name: str
    count: int
    """Ended in the steady state."""
    share_pct: float
    inside: int
    """Also started in it."""
    cut_at_start: int
    cut_at_end: int
    cycle_drawn_s: float
    """From starts of it to the starts of what came next, where starts are paced: the mean as drawn and as kept."""
    cycle_actual_s: float


@dataclass(frozen=True)
class Simulated:
    """What the simulation of independent sessions found."""

    workload: str
    sessions: int
    """Sessions of a closed population, or those that arrived in the steady state."""
    seconds: float
    seed: int
    operations: tuple[OperationShare, ...]
    operations_total: int
    operations_performed: int
    """Simulated at all, the lead-in included."""
    operations_per_s: float
    operations_per_s_per_session: float
    sessions_finished: int
    sessions_abandoned: int
    operations_per_session: float
    mean_response_s: float
    mean_pause_s: float
    """Mean drawn pause of the operations that have one."""
    paused_share_pct: float
    """Share of operations before which the user pauses."""
