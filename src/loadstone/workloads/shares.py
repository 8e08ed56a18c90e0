"""What a mix amounts to: the share of each operation in the long run, operations per session, pauses per operation."""

from dataclasses import dataclass

from loadstone.model.workload import Workload
from loadstone.model.workload.mix import MixKind


@dataclass(frozen=True)
class Shares:
    """Long-run figures of a mix."""

    operations: dict[str, float]
    """Share of each operation, summing to 1."""
    operations_per_session: float | None
    """Mean number of operations of a user session; None for a mix without sessions."""
    paused: float
    """Share of operations before which the user pauses."""
    finished: float | None
    """Share of sessions that end as their user meant to; the rest leave without a word."""


def compute_shares(workload: Workload) -> Shares:
    """Computes the stationary shares by flow conservation: visits = starts + visits x matrix."""
    visits, per_session, finished = {
        MixKind.MATRIX: _matrix,
        MixKind.FLAT: _flat,
        MixKind.SEQUENCE: _sequence,
    }[workload.mix.kind](workload)
    total = sum(visits.values())
    operations = dict.fromkeys(workload.operations, 0.0)
    for name, state in workload.list_states().items():
        operations[state.operation] += visits[name] / total
    unpaused = sum(visits[name] for name in workload.pacing.no_pause_before) / total
    starts = 1 / per_session if per_session else 0.0
    # Of the first operations of sessions, which have no pause either, those not counted yet.
    uncounted = starts * (1 - _start_unpaused(workload, visits))
    return Shares(operations, per_session, 1 - unpaused - uncounted, finished)


def compute_dispersion(workload: Workload) -> dict[str, float]:
    """Variance of each operation's count by that of independent draws, over a long time; empty for mixes without a
    matrix.
    """
    if workload.mix.kind is not MixKind.MATRIX:
        return {}
    from loadstone.workloads import chain

    return chain.compute_chain_dispersion(workload)


def _start_unpaused(workload: Workload, visits: dict[str, float]) -> float:
    """Chance that a session's first state is one without a pause anyway."""
    unpaused, mix = workload.pacing.no_pause_before, workload.mix
    if mix.kind is MixKind.FLAT:
        return sum(visits[name] for name in unpaused) / sum(visits.values())
    start = mix.start if mix.kind is MixKind.MATRIX else mix.sequence[0]
    return float(start in unpaused)


def _matrix(workload: Workload) -> tuple[dict[str, float], float | None, float | None]:
    from loadstone.workloads import chain

    return chain.compute_visits(workload)


def _flat(workload: Workload) -> tuple[dict[str, float], float | None, float | None]:
    limit = workload.mix.operations_per_session
    return dict(workload.mix.shares), float(limit) if limit else None, 1.0 if limit else None


def _sequence(workload: Workload) -> tuple[dict[str, float], float, float]:
    sequence = workload.order()
    return {name: float(sequence.count(name)) for name in workload.list_states()}, float(len(sequence)), 1.0
