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
    cycle_drawn_s: float
    cycle_actual_s: float
    """From starts of it to the starts of what came next, where starts are paced: the mean as drawn and as kept."""

    @property
    def cycle_off_pct(self) -> float | None:
        """How far its cycles are from what was drawn; None where starts are not paced."""
        return 100 * (self.cycle_actual_s / self.cycle_drawn_s - 1) if self.cycle_drawn_s else None


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
