"""The steps of a search: bracket, narrow, confirm, verify; all follow from the runs made so far. Pure.

Near the peak a single run passes or fails by chance. So a failure counts when a second run confirms it, and a peak is
one only when fresh runs at it all pass; runs that were made for finding it do not count, since they were chosen for
having passed.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from loadstone.model.records.check import CheckId, Weight
from loadstone.model.records.verdict import Verdict
from loadstone.study.bottleneck import describe_common
from loadstone.study.search.answer import BrokenRule, LimitedBy, LoadStanding
from loadstone.study.search.cpu_limit import limit_cpu
from loadstone.study.search.spec import SearchSpec
from loadstone.study.summary import Purpose, RunSummary

LARGEST_STEP, SMALLEST_STEP = 4.0, 1.5
"""By how much the load grows while nothing fails: much where little is used, little where much is."""
LEAST_RATE = 0.01
"""Arrivals per second below which nothing is tried."""
USED_AT_MOST = 0.8
"""Share of what limits it that a step up may aim at."""
MOST_SEARCH_RUNS = 60
"""Runs after which a search gives up."""
MOST_INVALID = 3
"""Invalid runs in a row after which a search gives up: nothing follows from them, and nothing has changed."""


class SearchState:
    """What the runs made so far say; everything a search decides follows from it."""

    def __init__(self, search: SearchSpec, runs: Sequence[RunSummary]) -> None:
        self.search = search
        self.runs = runs = [limit_cpu(run, search.below_cpu_pct) for run in runs]
        self.counted = [run for run in runs if _counts(run)]
        self._by_load = _sort_by_load(runs)
        self._counted_by_load = _sort_by_load(self.counted)
        self.loads = sorted(self._by_load)
        standings = {load: self.judge_load(load) for load in self.loads}
        failing = [load for load, standing in standings.items() if standing is LoadStanding.FAILS]
        self.lowest_failing = min(failing, default=None)
        passing = [
            load for load, standing in standings.items() if standing in (LoadStanding.PASSES, LoadStanding.VERIFIED)
        ]
        self.passing = [load for load in passing if self.lowest_failing is None or load < self.lowest_failing]
        self.largest_passing = max(self.passing, default=None)
        self.open = [
            load
            for load, standing in standings.items()
            if standing is LoadStanding.OPEN and not self._is_too_small(load)
        ]
        self.floor = max(filter(self._is_too_small, self.loads), default=None)
        """The largest load that brings too few operations to be judged; None where none does."""

    def find_runs(self, load: float) -> list[RunSummary]:
        """The runs at a load from which something follows: one that was not fit to be judged says nothing of it."""
        return self._counted_by_load.get(load, [])

    def list_runs_at(self, load: float) -> list[RunSummary]:
        """All runs at a load."""
        return self._by_load.get(load, [])

    def _is_too_small(self, load: float) -> bool:
        """Whether runs at a load are invalid for having too few operations, and for nothing else."""
        runs = self.list_runs_at(load)
        return bool(runs) and not self.find_runs(load) and all(map(_has_too_few, runs))

    @property
    def is_unfit(self) -> bool:
        """Whether the last runs were all invalid, one after the other, and not for being at too small loads."""
        last = self.runs[-MOST_INVALID:]
        return len(last) == MOST_INVALID and not any(_counts(run) or _has_too_few(run) for run in last)

    @property
    def is_sharp(self) -> bool:
        """Whether no run passed at or above a load where one failed."""
        passed = [run.request.load for run in self.counted if run.passed]
        failed = [run.request.load for run in self.counted if not run.passed]
        return not failed or max(passed, default=0.0) < min(failed)

    def judge_load(self, load: float) -> LoadStanding:
        """Returns the state of a load: a failed verification is final, otherwise the majority counts."""
        runs = self.find_runs(load)
        proofs = [run.passed for run in runs if run.request.purpose is Purpose.VERIFY]
        if not all(proofs):
            return LoadStanding.FAILS
        if len(proofs) >= self.search.verify:
            return LoadStanding.VERIFIED
        others = [run.passed for run in runs if run.request.purpose is not Purpose.VERIFY]
        passed, failed = others.count(True), others.count(False)
        if passed == failed:
            return LoadStanding.OPEN
        return LoadStanding.PASSES if passed > failed else LoadStanding.FAILS

    @property
    def peak(self) -> float | None:
        """The verified load, once the bracket above it is narrow and its upper end is certain."""
        top = self.largest_passing
        if top is None or self.judge_load(top) is not LoadStanding.VERIFIED:
            return None
        above = self.lowest_failing
        if above is None:
            return top if top >= self.search.most else None
        return top if self._is_narrow(top, above) and self._is_certain(above) else None

    @property
    def wanted(self) -> tuple[float, Purpose] | None:
        """Load and purpose of the next run; None when the peak is verified, or cannot be found."""
        return None if len(self.runs) >= MOST_SEARCH_RUNS or self.peak is not None else self._step()

    def _step(self) -> tuple[float, Purpose] | None:
        """The next load and what for; None when nothing passes at all."""
        search = self.search
        if self.is_unfit:
            return None
        if not self.runs:
            return search.round_load(min(search.start, search.most)), Purpose.PROBE
        if self.open:
            return self.open[0], Purpose.CONFIRM
        top, above = self.largest_passing, self.lowest_failing
        if top is None and above is None and self.floor is not None:
            larger = search.round_load(self.floor * LARGEST_STEP)
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
        lower = max(self.search.round_load(load / LARGEST_STEP), 1 if self.search.load == "sessions" else LEAST_RATE)
        if self.floor is not None and lower <= self.floor < load:
            lower = self.search.round_load((self.floor + load) / 2)
            lower = load if lower - self.floor <= self.search.width * load else lower
        if lower < load:
            return lower, Purpose.PROBE
        return None if self._is_certain(load) else (load, Purpose.CONFIRM)

    def _up(self, load: float) -> tuple[float, Purpose]:
        if load >= self.search.most:
            return load, Purpose.VERIFY
        higher = self.search.round_load(load * self._growth(load))
        return min(higher, self.search.most), Purpose.PROBE

    def _growth(self, load: float) -> float:
        """Towards four fifths of the fullest of machine, server, station and driver thread."""
        run = self.find_runs(load)[-1]
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
        proofs = [run for run in self.find_runs(high) if run.request.purpose is Purpose.VERIFY]
        near = search.round_load(high * (1 - search.width))
        if proofs and low < near < high:
            return near
        middle = search.round_load(math.sqrt(low * high) if high > 2 * low else (low + high) / 2)
        return middle if low < middle < high else near

    def _is_narrow(self, low: float, high: float) -> bool:
        if high - low <= self.search.width * high * (1 + 1e-9):
            return True
        return self.search.load == "sessions" and high - low <= 1

    def _is_certain(self, failing: float) -> bool:
        """Whether a failure was seen twice, or the driver was the limit, which is no matter of chance."""
        runs = self.find_runs(failing)
        return len(runs) >= 2 or any(run.is_driver_bound for run in runs)

    def limit(self) -> LimitedBy:
        """Returns what ended the search upwards."""
        if self.is_unfit:
            return LimitedBy.UNFIT
        above = self.lowest_failing
        if above is None:
            at_most = self.largest_passing is not None and self.largest_passing >= self.search.most
            return LimitedBy.MOST if at_most else LimitedBy.NOTHING
        return LimitedBy.DRIVER if any(run.is_driver_bound for run in self.find_runs(above)) else LimitedBy.RULE

    def find_bottleneck(self) -> str:
        """Returns the saturated resource at the lowest failing load, or without one at the largest passing load."""
        load = self.lowest_failing or self.largest_passing
        broken = {check.id for run in self.find_runs(load or 0) for check in run.list_broken()}
        if broken == {CheckId.SYSTEM_CPU}:
            return ""
        return describe_common(self.find_runs(load)) if load is not None else ""

    def list_first_broken(self) -> list[BrokenRule]:
        """The rules broken at the lowest failing load, the most frequent first."""
        if self.lowest_failing is None:
            return []
        runs = self.find_runs(self.lowest_failing)
        titles = {check.id: check.rule for run in runs for check in run.list_broken()}
        counts = Counter(check.id for run in runs for check in run.list_broken())
        return [BrokenRule(titles[name], count, len(runs)) for name, count in counts.most_common()]


def _sort_by_load(runs: Sequence[RunSummary]) -> dict[float, list[RunSummary]]:
    """Runs by their load, in their order."""
    by_load = defaultdict[float, list[RunSummary]](list)
    for run in runs:
        by_load[run.request.load].append(run)
    return by_load


def _has_too_few(run: RunSummary) -> bool:
    """Whether a run is invalid for having too few operations, and for nothing else."""
    reasons = {check.id for check in run.list_broken() if check.weight is Weight.INVALID}
    return run.verdict is Verdict.INVALID and reasons == {CheckId.ENOUGH}


def _counts(run: RunSummary) -> bool:
    """Whether something follows from a run: it is valid, or the driver was the limit."""
    return run.is_valid or run.is_driver_bound
