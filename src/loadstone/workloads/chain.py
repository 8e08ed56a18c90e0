"""Mixes that are a matrix of transitions, as Markov chains. Apart from other mixes, because numpy takes a sixth of the
time in which a command starts.
"""

import numpy as np

from loadstone.model.workload import Workload
from loadstone.model.workload.mix import END

ENDLESS = 1e-9
"""What the rows of a matrix without an end may miss of 1, together."""


def compute_visits(workload: Workload) -> tuple[dict[str, float], float | None, float | None]:
    """Returns the visits of each state a session (a user's time where sessions have no end: then their shares), the
    operations a session, and the share of sessions that end as meant; both None without an end.
    """
    states, matrix, ends = _transitions(workload)
    if matrix.sum() > len(states) - ENDLESS:
        # The eigenvector of eigenvalue 1, with its sum instead of one of the equations, which depend on each other.
        equations = np.vstack([(np.eye(len(states)) - matrix.T)[1:], np.ones(len(states))])
        shares = np.linalg.solve(equations, np.eye(len(states))[-1])
        return dict(zip(states, shares.tolist(), strict=True)), None, None
    starts = np.zeros(len(states))
    starts[states.index(str(workload.mix.start))] = 1
    visits = np.linalg.lstsq(np.eye(len(states)) - matrix.T, starts, rcond=None)[0]
    return dict(zip(states, visits.tolist(), strict=True)), float(visits.sum()), float(visits @ ends)


def compute_chain_dispersion(workload: Workload) -> dict[str, float]:
    """Variance of each operation's count by that of independent draws, over a long time: above 1 where pages follow
    themselves, below where they alternate. By the fundamental matrix of the chain (Kemeny and Snell 1960, 4.6.1).
    """
    states, chain, _ = _transitions(workload)
    visits, per_session, _ = compute_visits(workload)
    count = len(states)
    stationary = np.array([visits[name] for name in states]) / sum(visits.values())
    if per_session is not None:
        chain[:, states.index(str(workload.mix.start))] += 1 - chain.sum(axis=1)  # the next user follows who leaves
    fundamental = np.linalg.inv(np.eye(count) - chain + np.outer(np.ones(count), stationary))
    dispersions = {}
    operations = [state.operation for state in workload.list_states().values()]
    for name in workload.operations:
        seen = np.array([float(operation == name) for operation in operations])
        off = seen - stationary @ seen
        independent = float(stationary @ off**2)
        variance = 2 * float((stationary * off) @ fundamental @ off) - independent
        dispersions[name] = variance / independent if independent > 0 else 1.0
    return dispersions


def _transitions(workload: Workload) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The states of a matrix, the chances to go from each to each, and those to end as meant; the rest leaves."""
    states = list(workload.list_states())
    index = {name: index for index, name in enumerate(states)}
    matrix = np.zeros((len(states), len(states)))
    ends = np.zeros(len(states))
    for name, row in workload.mix.from_.items():
        for to, probability in row.items():
            if to == END:
                ends[index[name]] = probability
            else:
                matrix[index[name], index[to]] = probability
    return states, matrix, ends
