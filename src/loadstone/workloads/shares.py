"""What a mix amounts to: the share of each operation in the long run, operations per session, pauses per operation."""

from dataclasses import dataclass

import numpy as np

from loadstone.model.workload import Workload
from loadstone.model.workload.mix import END, MixKind

ENDLESS = 1e-9
"""What the rows of a matrix without an end may miss of 1, together."""


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


def shares(workload: Workload) -> Shares:
    """Computes the stationary shares by flow conservation: visits = starts + visits x matrix."""
    visits, per_session, finished = {
        MixKind.MATRIX: _matrix,
        MixKind.FLAT: _flat,
        MixKind.SEQUENCE: _sequence,
    }[workload.mix.kind](workload)
    total = sum(visits.values())
    operations = dict.fromkeys(workload.operations, 0.0)
    for name, state in workload.states().items():
        operations[state.operation] += visits[name] / total
    unpaused = sum(visits[name] for name in workload.pacing.no_pause_before) / total
    starts = 1 / per_session if per_session else 0.0
    # Of the first operations of sessions, which have no pause either, those not counted yet.
    uncounted = starts * (1 - _start_unpaused(workload, visits))
    return Shares(operations, per_session, 1 - unpaused - uncounted, finished)


def dispersion(workload: Workload) -> dict[str, float]:
    """Variance of each operation's count by that of independent draws, over a long time: above 1 where pages follow
    themselves, below where they alternate. By the fundamental matrix of the chain (Kemeny and Snell 1960, 4.6.1).
    """
    if workload.mix.kind is not MixKind.MATRIX:
        return {}
    states, chain, _ = _transitions(workload)
    visits, per_session, _ = _matrix(workload)
    count = len(states)
    stationary = np.array([visits[name] for name in states]) / sum(visits.values())
    if per_session is not None:
        chain[:, states.index(str(workload.mix.start))] += 1 - chain.sum(axis=1)  # the next user follows who leaves
    fundamental = np.linalg.inv(np.eye(count) - chain + np.outer(np.ones(count), stationary))
    found = {}
    operations = [state.operation for state in workload.states().values()]
    for name in workload.operations:
        seen = np.array([float(operation == name) for operation in operations])
        off = seen - stationary @ seen
        independent = float(stationary @ off**2)
        variance = 2 * float((stationary * off) @ fundamental @ off) - independent
        found[name] = variance / independent if independent > 0 else 1.0
    return found


def _transitions(workload: Workload) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The states of a matrix, the chances to go from each to each, and those to end as meant; the rest leaves."""
    states = list(workload.states())
    index = {name: at for at, name in enumerate(states)}
    matrix = np.zeros((len(states), len(states)))
    ends = np.zeros(len(states))
    for name, row in workload.mix.from_.items():
        for to, probability in row.items():
            if to == END:
                ends[index[name]] = probability
            else:
                matrix[index[name], index[to]] = probability
    return states, matrix, ends


def _start_unpaused(workload: Workload, visits: dict[str, float]) -> float:
    """Chance that a session's first state is one without a pause anyway."""
    unpaused, mix = workload.pacing.no_pause_before, workload.mix
    if mix.kind is MixKind.FLAT:
        return sum(visits[name] for name in unpaused) / sum(visits.values())
    start = mix.start if mix.kind is MixKind.MATRIX else mix.sequence[0]
    return float(start in unpaused)


def _matrix(workload: Workload) -> tuple[dict[str, float], float | None, float | None]:
    states, matrix, ends = _transitions(workload)
    if matrix.sum() > len(states) - ENDLESS:
        # The eigenvector of eigenvalue 1, with its sum instead of one of the equations, which depend on each other.
        equations = np.vstack([(np.eye(len(states)) - matrix.T)[1:], np.ones(len(states))])
        found = np.linalg.solve(equations, np.eye(len(states))[-1])
        return dict(zip(states, found.tolist(), strict=True)), None, None
    starts = np.zeros(len(states))
    starts[states.index(str(workload.mix.start))] = 1
    visits = np.linalg.lstsq(np.eye(len(states)) - matrix.T, starts, rcond=None)[0]
    return dict(zip(states, visits.tolist(), strict=True)), float(visits.sum()), float(visits @ ends)


def _flat(workload: Workload) -> tuple[dict[str, float], float | None, float | None]:
    limit = workload.mix.operations_per_session
    return dict(workload.mix.shares), float(limit) if limit else None, 1.0 if limit else None


def _sequence(workload: Workload) -> tuple[dict[str, float], float, float]:
    sequence = workload.order()
    return {name: float(sequence.count(name)) for name in workload.states()}, float(len(sequence)), 1.0
