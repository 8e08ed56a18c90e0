"""What a search found, in sentences. Pure."""

from collections.abc import Iterator

from loadstone.model.numbers import format_supported
from loadstone.model.records.check import CheckId
from loadstone.study.search.answer import LimitedBy
from loadstone.study.search.edge import Edge
from loadstone.study.search.shortness import advise_steady, has_enough
from loadstone.study.search.spec import SearchSpec
from loadstone.study.search.state import MOST_INVALID, MOST_SEARCH_RUNS, SearchState


def list_unseen_operations(state: SearchState) -> tuple[str, ...]:
    """Kinds of operation of which no run at the peak had a sample."""
    checks = [
        check for run in state.find_runs(state.peak or 0) for check in run.checks if check.id is CheckId.UNSAMPLED
    ]
    missing = [set(check.detail.split(";")[0].split(", ")) if check.figure else set() for check in checks]
    return tuple(sorted(set.intersection(*missing))) if missing else ()


def summarize_search(
    search: SearchSpec, state: SearchState, interval: tuple[float, float] | None, edge: Edge | None
) -> list[str]:
    """The peak or why there is none, then what limits it and what it assumes."""
    if state.peak is None:
        return [_without_peak(search, state)]
    unit, peak, runs = search.unit, search.format_load(state.peak), f"run{'s' * (search.verify != 1)}"
    line = f"Peak: {peak} {unit}, verified by {search.verify} passing {runs}."
    match state.limit():
        case LimitedBy.DRIVER:
            line = (
                f"The driver was the limit: {peak} {unit} pass, verified by {search.verify} {runs}, and at "
                f"{search.format_load(state.lowest_failing or 0)} the driver no longer kept up. "
                f"The peak is at least {peak}."
            )
        case LimitedBy.MOST:
            line = f"{peak} {unit}, the most that was allowed, pass, verified by {search.verify} {runs}."
        case _ if interval is not None:
            low, high = (search.format_load(end) for end in interval)
            line += f" A repetition would find {low} to {high}."
        case _:
            line += " Too few runs passed and failed by chance to predict the peak of a repetition."
    return [line, *_half_passing(search, state, edge)]


def _half_passing(search: SearchSpec, state: SearchState, edge: Edge | None) -> Iterator[str]:
    """What is to be known of a peak."""
    if edge is not None:
        near = edge.estimate
        half = (near.high - near.low) / 2
        load, low, high = (format_supported(value, half) for value in (near.load, near.low, near.high))
        yield f"Half of all runs would pass at {load} ({low} to {high})."
    if state.lowest_failing is not None:
        yield _broken(state)
    if full := state.find_bottleneck():
        yield f"Bottleneck: {full}."
    if unseen := list_unseen_operations(state):
        yield f"Too rare to be seen at that load: {', '.join(unseen)}."
    yield _assumption(search, state)


def _without_peak(search: SearchSpec, state: SearchState) -> str:
    if not state.runs:
        return "No run was made yet."
    if state.is_unfit:
        return _unfit(state)
    if state.wanted is not None:
        return "The search is in progress."
    if state.largest_passing is None:
        if state.lowest_failing is None:
            return f"No answer: {search.format_load(state.loads[-1])} {search.unit} generate too few operations."
        who = "The driver was the limit everywhere" if state.limit() is LimitedBy.DRIVER else "No load passes"
        line = (
            f"{who}: {search.format_load(state.lowest_failing)} {search.unit} already does not pass. {_broken(state)}"
        )
        return " ".join((line, *_too_short(search, state)))
    largest = search.format_load(state.largest_passing)
    return f"No peak within {MOST_SEARCH_RUNS} runs; {largest} {search.unit} passed, unverified."


def _too_short(search: SearchSpec, state: SearchState) -> Iterator[str]:
    """Why a search without a passing load may have missed smaller ones, and the length of runs that judge them."""
    load = state.floor if state.floor is not None else state.lowest_failing
    runs = state.list_runs_at(load or 0)
    if state.floor is None and any(has_enough(run.checks) for run in runs):
        return
    judged = "to be judged" if state.floor is not None else "for a pass"
    few = f"{search.format_load(load or 0)} {search.unit} generate too few operations {judged}"
    yield f"{few}: longer runs (`{advise_steady(runs)}`) judge smaller loads."


def _unfit(state: SearchState) -> str:
    reasons = next((run.reasons for run in reversed(state.runs) if not run.is_valid and run.reasons), ())
    why = f" {reasons[0]}" if reasons else ""
    return f"No answer: {MOST_INVALID} runs in a row were invalid.{why}"


def _assumption(search: SearchSpec, state: SearchState) -> str:
    below = [load for load in state.loads if load < (state.peak or 0)]
    tried = ", ".join(search.format_load(load) for load in below) or "none"
    return f"Assumed: a system that sustains this load sustains every smaller one. Smaller loads tried: {tried}."


def _broken(state: SearchState) -> str:
    rules = ", ".join(f"{breach.rule} (in {breach.runs} of {breach.of} runs)" for breach in state.list_first_broken())
    load = state.search.format_load(state.lowest_failing or 0)
    return f"First violated, at {load}: {rules}." if rules else f"No run completed at {load}."
