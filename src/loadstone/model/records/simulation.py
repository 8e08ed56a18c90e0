"""What a schedule played in virtual time came to: `schemas/simulation.json` has what goes in."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SimulatedOperation:
    """One operation in the steady state."""

    name: str
    count: int
    share_pct: float
    inside: int
    """Started and ended in the steady state."""
    cut_at_start: int
    cut_at_end: int


@dataclass(frozen=True)
class Simulated:
    """All of it; times in seconds."""

    workload: str
    sessions: int
    seconds: float
    seed: int
    operations: tuple[SimulatedOperation, ...]
    operations_total: int
    operations_performed: int
    operations_per_s: float
    operations_per_s_per_session: float
    sessions_finished: int
    sessions_abandoned: int
    operations_per_session: float
    mean_response_s: float
    mean_pause_s: float
    paused_share_pct: float
