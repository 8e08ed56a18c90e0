"""`search`: the largest load that passes every rule. Bracket, narrow, confirm, verify. Pure.

Near the peak a single run passes or fails by chance. So a failure counts when a second run confirms it, and a peak is
one only when fresh runs at it all pass; runs that were made for finding it do not count, since they were chosen for
having passed.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from loadstone.judge.statistics import LEVEL
from loadstone.judge.verdict import Verdict
from loadstone.model.load import MOST_SESSIONS
from loadstone.study.edge import Edge, find_edge
from loadstone.study.question import key_of
from loadstone.study.summary import FIGURES, Made, Purpose, Wanted

Json = dict[str, Any]

LARGEST_STEP, SMALLEST_STEP = 4.0, 1.5
"""By how much the load grows while nothing fails: much where little is used, little where much is."""
LEAST_RATE = 0.01
"""Arrivals per second below which nothing is tried."""
USED_AT_MOST = 0.8
"""Share of what limits it that a step up may aim at."""
REPETITIONS = 200
"""Repeated searches that an interval is made of."""
MOST_RUNS = 60
"""Runs after which a search gives up."""


class Standing(StrEnum):
    """What is known of a load."""

    PASSES = "passes"
    VERIFIED = "verified"
    FAILS = "fails"
    OPEN = "open"
    """As many runs passed as did not."""


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
    kind: str = "search"

    def own(self, made: Sequence[Made]) -> list[Made]:
        """Of a study's runs those of this search."""
        return [one for one in made if one.wanted.key.startswith(f"{self.prefix}-")] if self.prefix else list(made)

    def wanted(self) -> list[Wanted]:
        """Its first run; the others follow from what it brings."""
        first = self.next([])
        return [first] if first is not None else []

    def next(self, made: Sequence[Made]) -> Wanted | None:
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
        return Wanted(key, self.workload, {**self.settings, self.load: text}, self.seed + len(made), purpose)

    def left(self, made: Sequence[Made]) -> int:
        """About how many runs are left: the halvings of the bracket, its confirmation and the verification."""
        state = State(self, made)
        if self.next(made) is None:
            return 0
        if state.lowest_failing is None or state.largest_passing is None:
            return self.verify + 1 + math.ceil(math.log2(1 / self.width)) + 2
        gap = state.lowest_failing / state.largest_passing - 1
        halvings = max(0, math.ceil(math.log2(max(gap, self.width) / self.width)))
        verified = sum(
            one.wanted.purpose is Purpose.VERIFY and one.wanted.load == state.largest_passing for one in made
        )
        return max(1, halvings + self.verify - verified)

    def answer(self, made: Sequence[Made]) -> Json:
        """The peak, how sure it is, what broke first, and how each figure moved on the way."""
        state = State(self, made)
        loads = [_at(load, state.at(load), state.standing(load)) for load in state.loads]
        limit = state.limit()
        interval = None
        if state.peak is not None:
            interval = _interval(self, state.peak, state.lowest_failing or state.peak, find_edge(made, state.peak))
        return {
            "settings": dict(self.settings),
            "load": self.load,
            "width": self.width,
            "verify": self.verify,
            "peak": state.peak,
            "interval": interval,
            "limit": limit,
            "broke_first": state.broke_first(),
            "loads": loads,
            "runs": len(made),
            "is_answered": self.next(made) is None and bool(made),
            "headline": _headline(self, state, interval),
        }

    def text(self, load: float) -> str:
        """A load as a setting."""
        return f"{round(load)}" if self.load == "sessions" else f"{load:.6g}"

    def rounded(self, load: float) -> float:
        """A load that can be set."""
        return max(1.0, float(self.text(load))) if self.load == "sessions" else float(self.text(load))


class State:
    """What the runs made so far say; everything a search decides follows from it."""

    def __init__(self, search: Search, made: Sequence[Made]) -> None:
        self.search = search
        self.made = made
        self.loads = sorted({one.wanted.load for one in made})
        standings = {load: self.standing(load) for load in self.loads}
        failing = [load for load, standing in standings.items() if standing is Standing.FAILS]
        self.lowest_failing = min(failing, default=None)
        passing = [load for load, standing in standings.items() if standing in (Standing.PASSES, Standing.VERIFIED)]
        self.passing = [load for load in passing if self.lowest_failing is None or load < self.lowest_failing]
        self.largest_passing = max(self.passing, default=None)
        self.open = [load for load, standing in standings.items() if standing is Standing.OPEN]

    def at(self, load: float) -> list[Made]:
        """The runs at a load."""
        return [one for one in self.made if one.wanted.load == load]

    def standing(self, load: float) -> Standing:
        """What is known of a load: a failed verification is final, otherwise the majority counts."""
        runs = self.at(load)
        proofs = [one.passed for one in runs if one.wanted.purpose is Purpose.VERIFY]
        if not all(proofs):
            return Standing.FAILS
        if len(proofs) >= self.search.verify:
            return Standing.VERIFIED
        others = [one.passed for one in runs if one.wanted.purpose is not Purpose.VERIFY]
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
        if not self.made:
            return search.rounded(min(search.start, search.most)), Purpose.PROBE
        if self.open:
            return self.open[0], Purpose.CONFIRM
        top, above = self.largest_passing, self.lowest_failing
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
        figures, capacity = run.figures, run.capacity
        shares = [
            figures.get(figure, 0) / capacity[held]
            for figure, held in (("host_cpu", "cores"), ("server_cpu", "server_cores"), ("busy_workers", "workers"))
            if capacity.get(held)
        ]
        used = max([*shares, figures.get("driver_cpu", 0) / 100, 1e-3])
        return max(SMALLEST_STEP, min(LARGEST_STEP, USED_AT_MOST / used))

    def _between(self, low: float, high: float) -> float:
        """Half way; just below a load that failed only when verified, since the edge is near it."""
        search = self.search
        proofs = [one for one in self.at(high) if one.wanted.purpose is Purpose.VERIFY]
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
        return len(runs) >= 2 or any(one.is_driver_bound for one in runs)

    def limit(self) -> str:
        """What ended the search upwards: a `rule`, the `driver`, the `most` allowed, or `none` yet."""
        above = self.lowest_failing
        if above is None:
            return "most" if self.largest_passing is not None and self.largest_passing >= self.search.most else "none"
        return "driver" if any(one.is_driver_bound for one in self.at(above)) else "rule"

    def broke_first(self) -> list[Json]:
        """The rules broken at the lowest failing load, the most frequent first."""
        if self.lowest_failing is None:
            return []
        runs = self.at(self.lowest_failing)
        counts = Counter(rule.name for one in runs for rule in one.broken())
        return [{"rule": rule, "runs": count, "of": len(runs)} for rule, count in counts.most_common()]


def _interval(search: Search, peak: float, above: float, edge: Edge | None) -> tuple[float, float]:
    """Where a repetition of the search would find its peak: from the bracket, less and more by what noise would do.

    The search itself is repeated against a server that passes up to the edge found, with the noise found, both as
    uncertain as they are.
    """
    low, high = peak * (1 - search.width), above
    if edge is None:
        return low, high
    chance = np.random.default_rng(1)
    peaks = [found for _ in range(REPETITIONS) if (found := _repeated(search, peak, edge, chance)) is not None]
    if not peaks:
        return low, high
    tail = (1 - LEVEL) / 2
    return min(low, float(np.quantile(peaks, tail))), max(high, float(np.quantile(peaks, 1 - tail)))


def _repeated(search: Search, peak: float, edge: Edge, chance: np.random.Generator) -> float | None:
    scale = math.sqrt(edge.freedom / chance.chisquare(edge.freedom))
    at = edge.at + edge.sd * scale * chance.standard_normal()
    # Not from the very beginning, since far from the edge nothing is left to chance; nor always from the same load.
    start = search.rounded(peak * chance.uniform(0.75, 0.95))
    repetition = replace(search, start=start, prefix="", settings={})
    made: list[Made] = []
    while (wanted := repetition.next(made)) is not None:
        noise = edge.noise * scale * chance.standard_normal()
        verdict = Verdict.PASS if math.log(wanted.load) + noise <= at else Verdict.FAIL
        made.append(Made(wanted, "", verdict, (), False, {}, ()))
    return State(repetition, made).peak


def _at(load: float, runs: Sequence[Made], standing: Standing) -> Json:
    """A load on the way: its runs, its figures and its rules."""
    figures = {}
    for name in FIGURES:
        values = [one.figures[name] for one in runs if name in one.figures]
        if values:
            figures[name] = {"mean": sum(values) / len(values), "low": min(values), "high": max(values)}
    rules = [
        {"rule": rule.name, "figure": rule.figure, "limit": rule.limit, "bound": rule.bound, "unit": rule.unit}
        for rule in (runs[-1].rules if runs else ())
    ]
    return {
        "at": load,
        "standing": standing,
        "runs": [{"purpose": one.wanted.purpose, "verdict": one.verdict, "folder": one.folder} for one in runs],
        "figures": figures,
        "rules": rules,
        "broken": sorted({rule.name for one in runs for rule in one.broken()}),
    }


def _headline(search: Search, state: State, interval: tuple[float, float] | None) -> list[str]:
    if not state.made:
        return ["No run was made yet."]
    unit = "sessions" if search.load == "sessions" else "arrivals/s"
    if state.peak is None:
        if search.next(state.made) is not None:
            return ["The search is under way."]
        if state.largest_passing is None:
            who = "The driver was the limit everywhere" if state.limit() == "driver" else "No load passes"
            return [f"{who}: {search.text(state.loads[0])} {unit} already does not pass. {_broken(state)}"]
        return [f"No peak within {MOST_RUNS} runs; {search.text(state.largest_passing)} {unit} passed, unverified."]
    peak = search.text(state.peak)
    lines = [f"Peak: {peak} {unit}, verified by {search.verify} passing run{'s' * (search.verify != 1)}."]
    match state.limit():
        case "driver":
            lines[0] = (
                f"The driver was the limit: {peak} {unit} pass, verified by {search.verify} runs, and at "
                f"{search.text(state.lowest_failing or 0)} the driver no longer kept up. The peak is at least {peak}."
            )
        case "most":
            lines[0] = f"{peak} {unit}, the most that was allowed, pass, verified by {search.verify} runs."
        case _ if interval is not None:
            low, high = (search.text(end) for end in interval)
            lines[0] += f" A repetition would find {low} to {high}."
    return [*lines, _broken(state)] if state.lowest_failing is not None else lines


def _broken(state: State) -> str:
    words = ", ".join(f"{one['rule']} (in {one['runs']} of {one['of']} runs)" for one in state.broke_first())
    load = state.search.text(state.lowest_failing or 0)
    return f"Broke first, at {load}: {words}." if words else f"At {load} no complete run could be made."
