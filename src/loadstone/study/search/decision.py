"""The last sentence of a search, for a decision: what a system holds, what limits it, and what to plan with. Pure."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import fmean

from loadstone.study.search.answer import LimitedBy
from loadstone.study.search.spec import SearchSpec
from loadstone.study.search.state import SearchState
from loadstone.study.summary import RunSummary

PLANNED_SHARE = 0.8
"""Share of a system's CPU that operators plan with; the rest is for peaks of the load and for failures."""
RESOURCES = (("server_cpu", "server_cores", "CPU"), ("busy_workers", "workers", "workers"))
"""What a system may use up: its metric, its capacity and its name."""


def decide(search: SearchSpec, state: SearchState, interval: tuple[float, float] | None) -> Iterator[str]:
    """Yields the sentence; nothing without a verified peak."""
    peak = state.peak
    if peak is None:
        return
    is_bounded = state.limit() is LimitedBy.RULE
    held = search.text(peak) if is_bounded else f"at least {search.text(peak)}"
    low_high = f" (a repetition finds {' to '.join(map(search.text, interval))})" if is_bounded and interval else ""
    yield f"Decision: the system holds {held} {search.unit}{low_high}{_limit(state)}. {_plan(search, state, peak)}"


def _limit(state: SearchState) -> str:
    match state.limit():
        case LimitedBy.DRIVER:
            return "; the driver was the limit"
        case LimitedBy.RULE:
            rules = state.broke_first()
            return f"; above it, the rule `{rules[0].rule}` breaks first" if rules else ""
        case _:
            return ""


def _plan(search: SearchSpec, state: SearchState, peak: float) -> str:
    """Says which load leaves a part of the system's resource free; empty where no resource was watched."""
    for metric, capacity, name in RESOURCES:
        used = [(load, share) for load in state.loads if (share := _used(state.find_runs(load), metric, capacity))]
        at_peak = next((share for load, share in used if load == peak), None)
        if at_peak is not None:
            return _advice(search, used, at_peak, name)
    return "Its CPU was not watched, so no share of it can be kept free."


def _advice(search: SearchSpec, used: Sequence[tuple[float, float]], at_peak: float, name: str) -> str:
    if at_peak <= PLANNED_SHARE:
        return f"There {100 * at_peak:.0f} % of its {name} {_be(name)} used."
    keep = f"Keep its {name} below {100 * PLANNED_SHARE:.0f} %"
    load = find_load(used, PLANNED_SHARE)
    if load is None:
        return f"{keep}: all loads that were tried use more."
    return f"{keep}: that is {search.text(load)} {search.unit}, interpolated."


def find_load(used: Sequence[tuple[float, float]], share: float) -> float | None:
    """Returns the smallest load at which the used share, interpolated between loads in rising order, reaches `share`;
    None where no smaller share was measured below it, or none as large.
    """
    for (low, used_low), (high, used_high) in pairwise(used):
        if used_low < share <= used_high:
            return low + (high - low) * (share - used_low) / (used_high - used_low)
    return None


def _used(runs: Sequence[RunSummary], metric: str, capacity: str) -> float | None:
    """Returns the mean share of a resource that valid runs used; None where none knows both use and capacity."""
    shares = [
        run.metrics[metric] / run.capacity[capacity]
        for run in runs
        if run.is_valid and metric in run.metrics and run.capacity.get(capacity)
    ]
    return fmean(shares) if shares else None


def _be(name: str) -> str:
    return "are" if name.endswith("s") else "is"
