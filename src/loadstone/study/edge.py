"""Where the edge of what passes lies, from how far the runs around it were from their limit. Pure."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from loadstone.model.records.check import Bound, Check, CheckId
from loadstone.study.summary import RunSummary

AROUND = 0.15
"""Runs within this share of the peak are used."""
LEAST_RUNS = 5


@dataclass(frozen=True)
class Edge:
    """The load at which the rule that bound is just kept, on the mean; loads as logarithms."""

    at: float
    sd: float
    """Standard error of it."""
    noise: float
    """Standard deviation of one run about it."""
    freedom: int


def find_edge(made: Sequence[RunSummary], peak: float) -> Edge | None:
    """Regresses the margin to the limit of the rule that bound on load; None where too few runs say anything."""
    rule = _binding(made)
    points = [(one.request.load, margin) for one in made if (margin := _margin(one, rule)) is not None]
    points = [(load, margin) for load, margin in points if abs(load / peak - 1) <= AROUND]
    if len(points) < LEAST_RUNS or len({load for load, _ in points}) < 2:
        return None
    loads = np.log([load for load, _ in points])
    margins = np.array([margin for _, margin in points])
    spread = float(np.sum((loads - loads.mean()) ** 2))
    slope = float(np.sum((loads - loads.mean()) * margins)) / spread
    if slope <= 0:
        return None
    crossing = float(loads.mean() - margins.mean() / slope)
    residual = margins - margins.mean() - slope * (loads - loads.mean())
    freedom = len(points) - 2
    variance = float(np.sum(residual**2)) / freedom / slope**2
    own = variance * (1 / len(points) + (crossing - loads.mean()) ** 2 / spread)
    # Far from where runs were made the line says nothing.
    most = math.log1p(AROUND)
    return Edge(crossing, min(math.sqrt(own), most), min(math.sqrt(variance), most), freedom)


def _binding(runs: Sequence[RunSummary]) -> CheckId | None:
    """The rule that was broken most often."""
    counts = Counter(check.id for run in runs for check in run.broken())
    return counts.most_common(1)[0][0] if counts else None


def _margin(run: RunSummary, rule: CheckId | None) -> float | None:
    """How far a run was beyond a rule's limit, as a logarithm: below 0 it was kept. None where that says nothing."""
    check = next((check for check in run.checks if check.id is rule), None)
    if check is None:
        return None
    figure, limit = _missed(check)
    return math.log(figure / limit) if figure > 0 and limit > 0 else None


def _missed(check: Check) -> tuple[float, float]:
    """Figure and limit so that more is worse: of shares what is missing to all."""
    if check.bound is Bound.AT_LEAST:
        return 100 - check.figure, 100 - check.limit
    return check.figure, check.limit
