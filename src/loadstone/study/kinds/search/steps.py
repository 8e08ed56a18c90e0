"""The steps of a search: bracket, narrow, confirm, verify; and what follows from its runs. Pure.

Near the peak a single run passes or fails by chance. So a failure counts when a second run confirms it, and a peak is
one only when fresh runs at it all pass; runs that were made for finding it do not count, since they were chosen for
having passed.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from loadstone.judge.statistics import LEVEL
from loadstone.model.load import MOST_SESSIONS
from loadstone.model.numbers import supported
from loadstone.model.records.check import CheckId, Weight
from loadstone.model.records.verdict import Verdict
from loadstone.study.answers import Means, between_in_words
from loadstone.study.bottleneck import common
from loadstone.study.edge import REPETITIONS, Edge, Passes, find_edge
from loadstone.study.kinds.search.answer import (
    BrokenRule,
    LimitedBy,
    SearchAnswer,
    SearchedLoad,
    SearchedRun,
    Spread,
    Standing,
)
from loadstone.study.metrics import METRICS
from loadstone.study.question import key_of
from loadstone.study.summary import Purpose, RunRequest, RunSummary

LARGEST_STEP, SMALLEST_STEP = 4.0, 1.5
"""By how much the load grows while nothing fails: much where little is used, little where much is."""
LEAST_RATE = 0.01
"""Arrivals per second below which nothing is tried."""
USED_AT_MOST = 0.8
"""Share of what limits it that a step up may aim at."""
MOST_RUNS = 60
"""Runs after which a search gives up."""
MOST_INVALID = 3
"""Invalid runs in a row after which a search gives up: nothing follows from them, and nothing has changed."""


@dataclass(frozen=True)
class Search:
    """The peak of one setting."""

    workload: str
    settings: Mapping[str, str]
    load: str
    """`sessions` or `rate`."""
    start: float
    width: float
    """Relative width of the bracket at which to stop narrowing."""
    verify: int = 3
    most: float = MOST_SESSIONS
    prefix: str = ""
    """Begins the keys of its runs, where a study makes several searches."""
    seed: int = 0
    """Of its first run."""

    def own(self, made: Sequence[RunSummary]) -> list[RunSummary]:
        """Of a study's runs those of this search."""
        return [run for run in made if run.request.search == self.prefix]

    def requests(self) -> list[RunRequest]:
        """Its first run; the others follow from what it brings."""
        first = self.next([])
        return [first] if first is not None else []

    def next(self, made: Sequence[RunSummary]) -> RunRequest | None:
        """The next run; None when the peak is verified, or cannot be found."""
        state = State(self, made)
        if len(made) >= MOST_RUNS or state.peak is not None:
            return None
        step = state.step()
        if step is None:
            return None
        load, purpose = step
        text = self.text(load)
        key = key_of(len(made) + 1, self.workload, f"{self.load}-{text}-{purpose}")
        key = f"{self.prefix}-{key}" if self.prefix else key
        settings = {**self.settings, self.load: text}
        return RunRequest(key, self.workload, settings, self.seed + len(made), purpose, search=self.prefix)

    def left(self, made: Sequence[RunSummary]) -> int:
        """About how many runs are left: the halvings of the bracket, its confirmation and the verification."""
        state = State(self, made)
        if self.next(made) is None:
            return 0
        if state.lowest_failing is None or state.largest_passing is None:
            return self.verify + 1 + math.ceil(math.log2(1 / self.width)) + 2
        gap = state.lowest_failing / state.largest_passing - 1
        halvings = max(0, math.ceil(math.log2(max(gap, self.width) / self.width)))
        verified = sum(
            one.request.purpose is Purpose.VERIFY and one.request.load == state.largest_passing for one in made
        )
        return max(1, halvings + self.verify - verified)

    def answer(self, made: Sequence[RunSummary]) -> SearchAnswer:
        """The peak, how sure it is, what broke first, and how each metric moved on the way."""
        state = State(self, made)
        edge = None if state.peak is None else find_edge(state.counted, state.peak, partial(repeated, self, state.peak))
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
            unseen=_unseen(state),
            broke_first=tuple(state.broke_first()),
            bottleneck=state.bottleneck(),
            loads=tuple(_at(load, state.all_at(load), state.standing(load)) for load in state.loads),
            runs=len(made),
            is_answered=(
                self.next(made) is None
                and not state.is_unfit
                and len(made) < MOST_RUNS
                and (state.peak is not None or state.lowest_failing is not None)
            ),
            headline=(*_headline(self, state, interval, edge), *between_in_words(_by_load(made))),
        )

    def text(self, load: float) -> str:
        """A load as a setting."""
        rounded = float(f"{load:.{self.digits}g}")
        return f"{round(rounded)}" if self.load == "sessions" else f"{rounded:g}"

    @property
    def digits(self) -> int:
        """Digits of the loads that are tried: a tenth of the bracket's width is not told apart."""
        return max(3, math.ceil(-math.log10(self.width)) + 2)

    def rounded(self, load: float) -> float:
        """A load that can be set."""
        return max(1.0, float(self.text(load))) if self.load == "sessions" else float(self.text(load))


def _by_load(made: Sequence[RunSummary]) -> dict[str, list[Means]]:
    """The answers of valid runs at each load, the smallest first."""
    loads: dict[str, list[Means]] = {}
    for run in sorted((run for run in made if run.is_valid), key=lambda run: run.request.load):
        loads.setdefault(f"{run.request.load:g}", []).append(run.answers)
    return loads


class State:
    """What the runs made so far say; everything a search decides follows from it."""

    def __init__(self, search: Search, made: Sequence[RunSummary]) -> None:
        self.search = search
        self.made = made
        self.counted = [one for one in made if _counts(one)]
        self._by_load = defaultdict[float, list[RunSummary]](list)
        for one in made:
            self._by_load[one.request.load].append(one)
        self.loads = sorted(self._by_load)
        standings = {load: self.standing(load) for load in self.loads}
        failing = [load for load, standing in standings.items() if standing is Standing.FAILS]
        self.lowest_failing = min(failing, default=None)
        passing = [load for load, standing in standings.items() if standing in (Standing.PASSES, Standing.VERIFIED)]
        self.passing = [load for load in passing if self.lowest_failing is None or load < self.lowest_failing]
        self.largest_passing = max(self.passing, default=None)
        self.open = [
            load for load, standing in standings.items() if standing is Standing.OPEN and not self._is_too_small(load)
        ]
        self.floor = max(filter(self._is_too_small, self.loads), default=None)
        """The largest load that brings too few operations to be judged; None where none does."""

    def at(self, load: float) -> list[RunSummary]:
        """The runs at a load from which something follows: one that was not fit to be judged says nothing of it."""
        return [one for one in self.all_at(load) if _counts(one)]

    def all_at(self, load: float) -> list[RunSummary]:
        """All runs at a load."""
        return self._by_load.get(load, [])

    def _is_too_small(self, load: float) -> bool:
        """Whether runs at a load are invalid for having too few operations, and for nothing else."""
        runs = self.all_at(load)
        return bool(runs) and not any(map(_counts, runs)) and all(map(_has_too_few, runs))

    @property
    def is_unfit(self) -> bool:
        """Whether the last runs were all invalid, one after the other, and not for being at too small loads."""
        last = self.made[-MOST_INVALID:]
        return len(last) == MOST_INVALID and not any(_counts(run) or _has_too_few(run) for run in last)

    @property
    def is_sharp(self) -> bool:
        """Whether no run passed at or above a load where one failed."""
        passed = [one.request.load for one in self.counted if one.passed]
        failed = [one.request.load for one in self.counted if not one.passed]
        return not failed or max(passed, default=0.0) < min(failed)

    def standing(self, load: float) -> Standing:
        """What is known of a load: a failed verification is final, otherwise the majority counts."""
        runs = self.at(load)
        proofs = [run.passed for run in runs if run.request.purpose is Purpose.VERIFY]
        if not all(proofs):
            return Standing.FAILS
        if len(proofs) >= self.search.verify:
            return Standing.VERIFIED
        others = [run.passed for run in runs if run.request.purpose is not Purpose.VERIFY]
        passed, failed = others.count(True), others.count(False)
        if passed == failed:
            return Standing.OPEN
        return Standing.PASSES if passed > failed else Standing.FAILS

    @property
    def peak(self) -> float | None:
        """The verified load, once the bracket above it is narrow and its upper end is certain."""
        top = self.largest_passing
        if top is None or self.standing(top) is not Standing.VERIFIED:
            return None
        above = self.lowest_failing
        if above is None:
            return top if top >= self.search.most else None
        return top if self._is_narrow(top, above) and self._is_certain(above) else None

    def step(self) -> tuple[float, Purpose] | None:
        """The next load and what for; None when nothing passes at all."""
        search = self.search
        if self.is_unfit:
            return None
        if not self.made:
            return search.rounded(min(search.start, search.most)), Purpose.PROBE
        if self.open:
            return self.open[0], Purpose.CONFIRM
        top, above = self.largest_passing, self.lowest_failing
        if top is None and above is None and self.floor is not None:
            larger = search.rounded(self.floor * LARGEST_STEP)
            return (larger, Purpose.PROBE) if self.floor < larger <= search.most else None
        if top is None:
            return self._down(above or search.start)
        if above is None:
            return self._up(top)
        if not self._is_narrow(top, above):
            return self._between(top, above), Purpose.PROBE
        if not self._is_certain(above):
            return above, Purpose.CONFIRM
        return top, Purpose.VERIFY

    def _down(self, load: float) -> tuple[float, Purpose] | None:
        lower = max(self.search.rounded(load / LARGEST_STEP), 1 if self.search.load == "sessions" else LEAST_RATE)
        if self.floor is not None and lower <= self.floor < load:
            lower = self.search.rounded((self.floor + load) / 2)
            lower = load if lower - self.floor <= self.search.width * load else lower
        if lower < load:
            return lower, Purpose.PROBE
        return None if self._is_certain(load) else (load, Purpose.CONFIRM)

    def _up(self, load: float) -> tuple[float, Purpose]:
        if load >= self.search.most:
            return load, Purpose.VERIFY
        higher = self.search.rounded(load * self._growth(load))
        return min(higher, self.search.most), Purpose.PROBE

    def _growth(self, load: float) -> float:
        """Towards four fifths of the fullest of machine, server, station and driver thread."""
        run = self.at(load)[-1]
        metrics, capacity = run.metrics, run.capacity
        shares = [
            metrics.get(figure, 0) / capacity[held]
            for figure, held in (("host_cpu", "cores"), ("server_cpu", "server_cores"), ("busy_workers", "workers"))
            if capacity.get(held)
        ]
        used = max([*shares, metrics.get("driver_cpu", 0) / 100, 1e-3])
        return max(SMALLEST_STEP, min(LARGEST_STEP, USED_AT_MOST / used))

    def _between(self, low: float, high: float) -> float:
        """Half way; just below a load that failed only when verified, since the edge is near it."""
        search = self.search
        proofs = [one for one in self.at(high) if one.request.purpose is Purpose.VERIFY]
        near = search.rounded(high * (1 - search.width))
        if proofs and low < near < high:
            return near
        middle = search.rounded(math.sqrt(low * high) if high > 2 * low else (low + high) / 2)
        return middle if low < middle < high else near

    def _is_narrow(self, low: float, high: float) -> bool:
        if high - low <= self.search.width * high * (1 + 1e-9):
            return True
        return self.search.load == "sessions" and high - low <= 1

    def _is_certain(self, failing: float) -> bool:
        """Whether a failure was seen twice, or the driver was the limit, which is no matter of chance."""
        runs = self.at(failing)
        return len(runs) >= 2 or any(run.is_driver_bound for run in runs)

    def limit(self) -> LimitedBy:
        """What ended the search upwards."""
        if self.is_unfit:
            return LimitedBy.UNFIT
        above = self.lowest_failing
        if above is None:
            at_most = self.largest_passing is not None and self.largest_passing >= self.search.most
            return LimitedBy.MOST if at_most else LimitedBy.NOTHING
        return LimitedBy.DRIVER if any(run.is_driver_bound for run in self.at(above)) else LimitedBy.RULE

    def bottleneck(self) -> str:
        """What was full at the lowest failing load, or where none is at the largest passing one."""
        load = self.lowest_failing or self.largest_passing
        return common(self.at(load)) if load is not None else ""

    def broke_first(self) -> list[BrokenRule]:
        """The rules broken at the lowest failing load, the most frequent first."""
        if self.lowest_failing is None:
            return []
        runs = self.at(self.lowest_failing)
        titles = {check.id: check.rule for run in runs for check in run.broken()}
        counts = Counter(check.id for run in runs for check in run.broken())
        return [BrokenRule(titles[name], count, len(runs)) for name, count in counts.most_common()]


def _has_too_few(run: RunSummary) -> bool:
    """Whether a run is invalid for having too few operations, and for nothing else."""
    reasons = {check.id for check in run.broken() if check.weight is Weight.INVALID}
    return run.verdict is Verdict.INVALID and reasons == {CheckId.ENOUGH}


def _counts(run: RunSummary) -> bool:
    """Whether something follows from a run: it is valid, or the driver was the limit."""
    return run.is_valid or run.is_driver_bound


def _interval(search: Search, state: State, peak: float, edge: Edge | None) -> tuple[float, float] | None:
    """Where a repetition of the search would find its peak: from the bracket, less and more by what noise would do.

    The search itself is repeated against a server that passes up to the edge found, with the noise found, both as
    uncertain as they are. Without an edge it is the bracket, if chance was nowhere seen, and else not known.
    """
    low, high = peak * (1 - search.width), state.lowest_failing or peak
    if edge is None:
        return (low, high) if state.is_sharp else None
    chance = np.random.default_rng(1)
    found = (repeated(search, peak, edge.drawn(chance), chance) for _ in range(REPETITIONS))
    peaks = [one for one in found if one is not None]
    if not peaks:
        return low, high
    tail = (1 - LEVEL) / 2
    return min(low, float(np.quantile(peaks, tail))), max(high, float(np.quantile(peaks, 1 - tail)))


def _unseen(state: State) -> tuple[str, ...]:
    """Kinds of operation of which no run at the peak had a sample."""
    found = [check for run in state.at(state.peak or 0) for check in run.checks if check.id is CheckId.UNSAMPLED]
    missing = [set(check.detail.split(";")[0].split(", ")) if check.figure else set() for check in found]
    return tuple(sorted(set.intersection(*missing))) if missing else ()


def repeated(search: Search, peak: float, passes: Passes, chance: np.random.Generator) -> float | None:
    """The peak that another search would find of a system that passes so."""
    # Not from the very beginning, since far from the edge nothing is left to chance; nor always from the same load.
    start = search.rounded(peak * chance.uniform(0.75, 0.95))
    repetition = replace(search, start=start, prefix="", settings={})
    played: list[RunSummary] = []
    while (request := repetition.next(played)) is not None:
        verdict = Verdict.PASS if passes(request.load) else Verdict.FAIL
        played.append(RunSummary(request, "", verdict))
    return State(repetition, played).peak


def _at(load: float, runs: Sequence[RunSummary], standing: Standing) -> SearchedLoad:
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
        broken=tuple(sorted({check.rule for run in runs for check in run.broken()})),
    )


def _headline(search: Search, state: State, interval: tuple[float, float] | None, edge: Edge | None) -> list[str]:
    if state.peak is None:
        return [_without_peak(search, state)]
    unit, peak, runs = _unit(search), search.text(state.peak), f"run{'s' * (search.verify != 1)}"
    line = f"Peak: {peak} {unit}, verified by {search.verify} passing {runs}."
    match state.limit():
        case LimitedBy.DRIVER:
            line = (
                f"The driver was the limit: {peak} {unit} pass, verified by {search.verify} {runs}, and at "
                f"{search.text(state.lowest_failing or 0)} the driver no longer kept up. The peak is at least {peak}."
            )
        case LimitedBy.MOST:
            line = f"{peak} {unit}, the most that was allowed, pass, verified by {search.verify} {runs}."
        case _ if interval is not None:
            low, high = (search.text(end) for end in interval)
            line += f" A repetition would find {low} to {high}."
        case _:
            line += " Runs passed and failed by chance, too few of them to say where a repetition would find it."
    return [line, *_beside(search, state, edge)]


def _beside(search: Search, state: State, edge: Edge | None) -> Iterator[str]:
    """What is to be known of a peak."""
    if edge is not None:
        near = edge.estimate
        half = (near.high - near.low) / 2
        at, low, high = (supported(value, half) for value in (near.load, near.low, near.high))
        yield f"Half of all runs would pass at {at} ({low} to {high})."
    if state.lowest_failing is not None:
        yield _broken(state)
    if full := state.bottleneck():
        yield f"Bottleneck: {full}."
    if unseen := _unseen(state):
        yield f"Too rare to be seen at that load: {', '.join(unseen)}."
    yield _assumption(search, state)


def _without_peak(search: Search, state: State) -> str:
    if not state.made:
        return "No run was made yet."
    if state.is_unfit:
        return _unfit(state)
    if search.next(state.made) is not None:
        return "The search is under way."
    if state.largest_passing is None:
        if state.lowest_failing is None:
            return f"Nothing can be said: {search.text(state.loads[-1])} {_unit(search)} bring too few operations."
        who = "The driver was the limit everywhere" if state.limit() is LimitedBy.DRIVER else "No load passes"
        line = f"{who}: {search.text(state.lowest_failing)} {_unit(search)} already does not pass. {_broken(state)}"
        if state.floor is None:
            return line
        few = f"{search.text(state.floor)} {_unit(search)} bring too few operations to be judged"
        return f"{line} {few}: longer runs (--steady) judge smaller loads."
    return f"No peak within {MOST_RUNS} runs; {search.text(state.largest_passing)} {_unit(search)} passed, unverified."


def _unit(search: Search) -> str:
    return "sessions" if search.load == "sessions" else "arrivals/s"


def _unfit(state: State) -> str:
    reasons = next((run.reasons for run in reversed(state.made) if not run.is_valid and run.reasons), ())
    why = f" {reasons[0]}" if reasons else ""
    return f"Nothing can be said: {MOST_INVALID} runs in a row were not fit to be judged.{why}"


def _assumption(search: Search, state: State) -> str:
    below = [load for load in state.loads if load < (state.peak or 0)]
    tried = ", ".join(search.text(load) for load in below) or "none"
    return f"Assumed: what holds this load holds every smaller one. Smaller loads tried: {tried}."


def _broken(state: State) -> str:
    words = ", ".join(f"{one.rule} (in {one.runs} of {one.of} runs)" for one in state.broke_first())
    load = state.search.text(state.lowest_failing or 0)
    return f"Broke first, at {load}: {words}." if words else f"At {load} no complete run could be made."
