"""The last sentence of a search, for a decision: what a system holds, what limits it, and what to plan with. Pure."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import fmean

from loadstone.study.bottleneck import RESOURCES, Resource
from loadstone.study.decision import PLANNED_SHARE, be, write_system
from loadstone.study.search.answer import LimitedBy
from loadstone.study.search.spec import SearchSpec
from loadstone.study.search.state import SearchState
from loadstone.study.summary import RunSummary


def decide(search: SearchSpec, state: SearchState, interval: tuple[float, float] | None) -> Iterator[str]:
    """Yields the sentence; nothing without a verified peak."""
    peak = state.peak
    if peak is None:
        return
    is_bounded = state.limit() is LimitedBy.RULE
    held = search.format_load(peak) if is_bounded else f"at least {search.format_load(peak)}"
    low_high = (
        f" (a repetition finds {' to '.join(map(search.format_load, interval))})" if is_bounded and interval else ""
    )
    platform = next((run.platform for run in state.runs if run.platform), "")
    system, place = write_system(search.workload, platform)
    load = f"{held} {search.unit}{place}{low_high}"
    yield f"Decision: {system} holds {load}{_limit(state)}. {_plan(search, state, peak)}"


def _limit(state: SearchState) -> str:
    """Returns what limits a peak: the driver, or what was full and the rule that breaks above it."""
    match state.limit():
        case LimitedBy.DRIVER:
            return "; the driver was the limit"
        case LimitedBy.RULE:
            full, rules = state.find_bottleneck(), state.list_first_broken()
            limit = f", limited by {full}" if full else ""
            return f"{limit}; above it, the rule `{rules[0].rule}` breaks first" if rules else limit
        case _:
            return ""


def _plan(search: SearchSpec, state: SearchState, peak: float) -> str:
    """Says which load leaves a part of the system's resource free; empty where no resource was watched."""
    for resource in RESOURCES:
        if not resource.of_system:
            continue
        used = [(load, share) for load in state.loads if (share := _used(state.find_runs(load), resource))]
        at_peak = next((share for load, share in used if load == peak), None)
        if at_peak is not None:
            return _advice(search, used, at_peak, resource.of_system)
    return "Its CPU was not watched, so no share of it can be kept free."


def _advice(search: SearchSpec, used: Sequence[tuple[float, float]], at_peak: float, name: str) -> str:
    if at_peak <= PLANNED_SHARE:
        return f"There {100 * at_peak:.0f} % of its {name} {be(name)} used."
    keep = f"Keep its {name} below {100 * PLANNED_SHARE:.0f} %"
    load = find_load(used, PLANNED_SHARE)
    if load is None:
        return f"{keep}: all loads that were tried use more."
    return f"{keep}: that is {search.format_load(load)} {search.unit}, interpolated."


def find_load(used: Sequence[tuple[float, float]], share: float) -> float | None:
    """Returns the smallest load at which the used share, interpolated between loads in rising order, reaches `share`;
    None where no smaller share was measured below it, or none as large.
    """
    for (low, used_low), (high, used_high) in pairwise(used):
        if used_low < share <= used_high:
            return low + (high - low) * (share - used_low) / (used_high - used_low)
    return None


def _used(runs: Sequence[RunSummary], resource: Resource) -> float | None:
    """Returns the mean share of a resource that valid runs used; None where none knows both use and capacity."""
    shares = [share for run in runs if run.is_valid and (share := resource.compute_share(run)) is not None]
    return fmean(shares) if shares else None
