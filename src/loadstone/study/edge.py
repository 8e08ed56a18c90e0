"""Where the edge of what passes lies, from how far the runs around it were from their limit. Pure."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from loadstone.study.made import Made, Rule
from loadstone.study.statistics import t_quantile

AROUND = 0.15
"""Runs within this share of the peak are used."""
LEAST_RUNS = 5


def edge(made: Sequence[Made], peak: float, above: float, width: float, verify: int) -> tuple[float, float]:
    """The loads between which a repetition of the search would find its peak, in 95 of 100 cases.

    At least from the verified peak, less the width of the bracket, to the failing load above it. Wider where the runs
    show that noise is larger: the margin to the limit of the rule that bound is regressed on load, and where
    it vanishes is the edge; a repetition's peak scatters about it like the mean of `verify` runs.
    """
    low, high = peak * (1 - width), above
    points = [(one.wanted.load, margin) for one in made if (margin := _margin(one, _binding(made))) is not None]
    points = [(load, margin) for load, margin in points if abs(load / peak - 1) <= AROUND]
    if len(points) < LEAST_RUNS or len({load for load, _ in points}) < 2:
        return low, high
    loads = np.log([load for load, _ in points])
    margins = np.array([margin for _, margin in points])
    spread = float(np.sum((loads - loads.mean()) ** 2))
    slope = float(np.sum((loads - loads.mean()) * margins)) / spread
    if slope <= 0:
        return low, high
    crossing = float(loads.mean() - margins.mean() / slope)
    residual = margins - margins.mean() - slope * (loads - loads.mean())
    variance = float(np.sum(residual**2)) / (len(points) - 2) / slope**2
    own = variance * (1 / len(points) + (crossing - loads.mean()) ** 2 / spread)
    half = t_quantile(len(points) - 2) * math.sqrt(own + variance / verify)
    # Far from where runs were made the line says nothing.
    half = min(half, math.log1p(AROUND))
    return min(low, math.exp(crossing - half)), max(high, math.exp(crossing + half))


def _binding(made: Sequence[Made]) -> str:
    """The rule that was broken most often."""
    counts = Counter(rule.name for one in made for rule in one.broken())
    return counts.most_common(1)[0][0] if counts else ""


def _margin(made: Made, rule: str) -> float | None:
    """How far a run was beyond a rule's limit, as a logarithm: below 0 it was kept. None where that says nothing."""
    found = next((one for one in made.rules if one.name == rule), None)
    if found is None:
        return None
    figure, limit = _missed(found)
    return math.log(figure / limit) if figure > 0 and limit > 0 else None


def _missed(rule: Rule) -> tuple[float, float]:
    """Figure and limit so that more is worse: of shares what is missing to all."""
    if rule.bound == "at least":
        return 100 - rule.figure, 100 - rule.limit
    return rule.figure, rule.limit
