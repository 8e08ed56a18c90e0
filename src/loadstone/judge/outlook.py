"""What a run can bring, before it begins: operations at most, those that a pass takes, and what is enough. Pure."""

import math
from collections.abc import Iterator

from loadstone.model.figures import Criteria

MOST_FOR_A_PASS = 100
"""Operations that are enough for a pass even where a limit leaves hardly any to fail."""
MARGIN = 1.2
"""By how much more than the least load is proposed: answers take time, and chance brings fewer."""


def compute_least_operations(criteria: Criteria) -> int:
    """Operations that a pass takes: so many that one failure would be within the limit."""
    limit_pct = max(criteria.good_share_pct, criteria.tolerable_share_pct)
    return min(MOST_FOR_A_PASS, math.ceil(100 / (100 - limit_pct))) if limit_pct < 100 else MOST_FOR_A_PASS


def compute_most_operations(criteria: Criteria) -> float | None:
    """Operations to be expected at most, were every answer given at once; None where only the answers limit them."""
    if criteria.due is not None:
        return criteria.due * (criteria.operations_per_session or 1)
    pause_s = criteria.mean_pause_s * (criteria.paused_share if criteria.pacing == "think" else 1.0)
    return criteria.sessions * criteria.steady_s / pause_s if pause_s > 0 else None


def list_warnings(criteria: Criteria) -> Iterator[str]:
    """Yields warnings about the load before it is played: too small to be judged, or pauses that are cut to nothing."""
    expected, least = compute_most_operations(criteria), compute_least_operations(criteria)
    if expected is not None and expected < least:
        more = MARGIN * least / max(expected, 1e-9)
        seconds = f"{math.ceil(criteria.steady_s * more):g} s of steady state (--steady)"
        remedy = f"{math.ceil(criteria.sessions * more)} sessions or {seconds}" if criteria.due is None else seconds
        yield (
            f"{criteria.workload}: {expected:.0f} operations are expected at most, and a verdict takes {least}. "
            f"Give {remedy}."
        )
    if criteria.pacing == "think" and criteria.due is None and criteria.mean_pause_s > 0 and criteria.paused_share <= 0:
        yield (
            f"{criteria.workload}: its pauses of {criteria.mean_pause_s:g} s are never made, since each session has "
            "one operation and the next begins at once. Give --rate, or sessions of several operations."
        )
