"""A search as a question: the run that it wants next, and its answer. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from loadstone.judge.statistics import CONFIDENCE_LEVEL
from loadstone.model.records.verdict import Verdict
from loadstone.study.answers import OperationMeans, describe_between
from loadstone.study.metrics import METRICS
from loadstone.study.question import format_key
from loadstone.study.search.answer import LoadStanding, SearchAnswer, SearchedLoad, SearchedRun, Spread
from loadstone.study.search.decision import decide
from loadstone.study.search.edge import REPETITIONS, Edge, Passes, find_edge
from loadstone.study.search.sentences import list_unseen_operations, summarize_search
from loadstone.study.search.spec import SearchSpec
from loadstone.study.search.state import MOST_SEARCH_RUNS, SearchState
from loadstone.study.summary import Purpose, RunRequest, RunSummary


@dataclass(frozen=True)
class Search(SearchSpec):
    """The search for the peak of one setting."""

    def plan_runs(self) -> list[RunRequest]:
        """Returns the first run. The others follow from its result."""
        first = self.plan_next([])
        return [first] if first is not None else []

    def plan_next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
        """The next run; None when the peak is verified, or cannot be found."""
        wanted = SearchState(self, runs).wanted
        if wanted is None:
            return None
        load, purpose = wanted
        value = self.make_value(load)
        key = format_key(len(runs) + 1, self.workload, f"{self.load}-{self.format_load(load)}-{purpose}")
        key = f"{self.prefix}-{key}" if self.prefix else key
        settings = {**self.settings, self.load: value}
        return RunRequest(key, self.workload, settings, self.seed + len(runs), purpose, search=self.prefix)

    def find_peak(self, runs: Sequence[RunSummary]) -> float | None:
        """The verified load; None before there is one."""
        return SearchState(self, runs).peak

    def find_unjudged_bound(self, runs: Sequence[RunSummary]) -> float | None:
        """The lowest failing load, where no load passes and smaller ones have too few operations; else None."""
        state = SearchState(self, runs)
        return state.lowest_failing if state.largest_passing is None and state.floor is not None else None

    def estimate_left(self, runs: Sequence[RunSummary]) -> int:
        """About how many runs are left: the halvings of the bracket, its confirmation and the verification."""
        state = SearchState(self, runs)
        if state.wanted is None:
            return 0
        if state.lowest_failing is None or state.largest_passing is None:
            return self.verify + 1 + math.ceil(math.log2(1 / self.width)) + 2
        gap = state.lowest_failing / state.largest_passing - 1
        halvings = max(0, math.ceil(math.log2(max(gap, self.width) / self.width)))
        verified = sum(
            run.request.purpose is Purpose.VERIFY and run.request.load == state.largest_passing for run in runs
        )
        return max(1, halvings + self.verify - verified)

    def answer(self, runs: Sequence[RunSummary]) -> SearchAnswer:
        """The peak, how sure it is, what broke first, and how each metric moved on the way."""
        state = SearchState(self, runs)
        edge = (
            None
            if state.peak is None
            else find_edge(state.counted, state.peak, partial(repeat_search, self, state.peak))
        )
        interval = None if state.peak is None else _interval(self, state, state.peak, edge)
        return SearchAnswer(
            workload=self.workload,
            settings=dict(self.settings),
            load=self.load,
            width=self.width,
            verify=self.verify,
            peak=state.peak,
            interval=interval,
            limit=state.limit(),
            edge=None if edge is None else edge.estimate,
            unseen=list_unseen_operations(state),
            broke_first=tuple(state.list_first_broken()),
            bottleneck=state.find_bottleneck(),
            loads=tuple(_searched_load(load, state.list_runs_at(load), state.judge_load(load)) for load in state.loads),
            runs=len(runs),
            is_answered=(
                state.wanted is None
                and not state.is_unfit
                and len(runs) < MOST_SEARCH_RUNS
                and (state.peak is not None or state.lowest_failing is not None)
            ),
            headline=(
                *summarize_search(self, state, interval, edge),
                *describe_between(_by_load(runs)),
                *decide(self, state, interval),
            ),
        )


def _by_load(runs: Sequence[RunSummary]) -> dict[str, list[OperationMeans]]:
    """The answers of valid runs at each load, the smallest first."""
    loads: dict[str, list[OperationMeans]] = {}
    for run in sorted((run for run in runs if run.is_valid), key=lambda run: run.request.load):
        loads.setdefault(f"{run.request.load:g}", []).append(run.answers)
    return loads


def _interval(search: Search, state: SearchState, peak: float, edge: Edge | None) -> tuple[float, float] | None:
    """Where a repetition of the search would find its peak: from the bracket, less and more by what noise would do.

    The search itself is repeated against a server that passes up to the edge found, with the noise found, both as
    uncertain as they are. Without an edge it is the bracket, if chance was nowhere seen, and else not known.
    """
    low, high = peak * (1 - search.width), state.lowest_failing or peak
    if edge is None:
        return (low, high) if state.is_sharp else None
    chance = np.random.default_rng(1)
    repetitions = (repeat_search(search, peak, edge.sample_passes(chance), chance) for _ in range(REPETITIONS))
    peaks = [peak for peak in repetitions if peak is not None]
    if not peaks:
        return low, high
    tail = (1 - CONFIDENCE_LEVEL) / 2
    return min(low, float(np.quantile(peaks, tail))), max(high, float(np.quantile(peaks, 1 - tail)))


def repeat_search(search: Search, peak: float, passes: Passes, chance: np.random.Generator) -> float | None:
    """The peak that another search would find of a system that passes so."""
    # Not from the very beginning, since far from the edge nothing is left to chance; nor always from the same load.
    start = search.round_load(peak * chance.uniform(0.75, 0.95))
    repetition = replace(search, start=start, prefix="", settings={}, below_cpu_pct=None)
    played: list[RunSummary] = []
    while (request := repetition.plan_next(played)) is not None:
        verdict = Verdict.PASS if passes(request.load) else Verdict.FAIL
        played.append(RunSummary(request, "", verdict))
    return SearchState(repetition, played).peak


def _searched_load(load: float, runs: Sequence[RunSummary], standing: LoadStanding) -> SearchedLoad:
    """A load on the way: its runs, its metrics and its rules."""
    metrics = {}
    for name in METRICS:
        values = [run.metrics[name] for run in runs if name in run.metrics]
        if values:
            metrics[name] = Spread(sum(values) / len(values), min(values), max(values))
    return SearchedLoad(
        at=load,
        standing=standing,
        runs=tuple(SearchedRun(run.request.purpose, run.verdict, run.folder) for run in runs),
        metrics=metrics,
        rules=runs[-1].checks if runs else (),
        broken=tuple(sorted({check.rule for run in runs for check in run.list_broken()})),
    )
