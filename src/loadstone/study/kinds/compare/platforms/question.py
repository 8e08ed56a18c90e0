"""`compare --platform`: the searches of both sides, then runs at loads that follow from their peaks. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from loadstone.study.answers import describe_changes, list_changed_answers
from loadstone.study.conditions import describe_unlike
from loadstone.study.kinds.compare.platforms.answer import (
    NEAR_LOAD,
    PlatformPoint,
    PlatformsAnswer,
    compute_cost_per_operation,
    compute_side_means,
    find_accelerator,
    find_parting,
    find_point_near,
    is_peak_lower,
    select_load_runs,
    select_proofs,
    select_side_runs,
)
from loadstone.study.kinds.compare.platforms.sentences import summarize_platforms
from loadstone.study.kinds.compare.sides import MakeSearch, SideSearch, find_passing_sides
from loadstone.study.parameters import RunSettings
from loadstone.study.question import format_key, list_missing
from loadstone.study.search.question import Search
from loadstone.study.search.spec import SEEDS_APART
from loadstone.study.sides import order_sides
from loadstone.study.summary import ComparedSide, Purpose, RunRequest, RunSummary

CURVES = "curves"
"""What the runs at loads of the curves belong to, beside the two searches."""
TYPICAL = 0.8
"""Share of the native peak at which response times are compared (published comparison: 78 to 85 %)."""
LOAD_STEPS = (0.2, 0.4, 0.6, 1.0)
"""Shares of the smaller peak at which curves have points on both sides, besides TYPICAL."""


@dataclass(frozen=True)
class Platforms:
    """One workload on two platforms."""

    workload: str
    a: RunSettings
    b: RunSettings
    search: MakeSearch
    pairs: int = 1
    """Runs of each side at each load of the curves."""

    def list_searches(self) -> dict[ComparedSide, Search]:
        """The search of each side."""
        return {
            ComparedSide.A: self.search(self.a, ComparedSide.A, 0),
            ComparedSide.B: self.search(self.b, ComparedSide.B, SEEDS_APART),
        }

    def plan_runs(self) -> list[RunRequest]:
        """The first run of both searches."""
        return [request for search in self.list_searches().values() for request in search.plan_runs()]

    def plan_next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
        """The next run: first the searches, then the loads that follow from their peaks."""
        searching = (search.plan_next(self._evidence(side, runs)) for side, search in self.list_searches().items())
        wanted = next((request for request in searching if request is not None), None)
        return wanted or next(iter(list_missing(self._planned(runs), runs)), None)

    def estimate_left(self, runs: Sequence[RunSummary]) -> int:
        """About how many runs are left."""
        searching = sum(
            search.estimate_left(self._evidence(side, runs)) for side, search in self.list_searches().items()
        )
        points = (
            len(list_missing(self._planned(runs), runs)) if not searching else 2 * self.pairs * (len(LOAD_STEPS) + 2)
        )
        return searching + points

    def find_peaks(self, runs: Sequence[RunSummary]) -> dict[ComparedSide, float]:
        """The peaks found so far."""
        peaks = {side: search.find_peak(self._evidence(side, runs)) for side, search in self.list_searches().items()}
        return {side: peak for side, peak in peaks.items() if peak}

    def _evidence(self, side: ComparedSide, runs: Sequence[RunSummary]) -> list[RunSummary]:
        """What a side's search goes by: its own runs, and those of the curves, as runs that find and do not prove.

        A failure below a peak reopens the search for it; at the peak itself the proofs decide, on both sides alike.
        """
        search = self.list_searches()[side]
        return [
            replace(run, request=replace(run.request, purpose=Purpose.PROBE)) if run.request.search == CURVES else run
            for run in runs
            if run.request.search == search.prefix or (run.request.search == CURVES and run.request.side is side)
        ]

    def list_loads(self, runs: Sequence[RunSummary]) -> list[float]:
        """Loads that both sides are given, the smallest first; none before both peaks are known."""
        peaks = self.find_peaks(runs)
        if len(peaks) < 2:
            return []
        smaller, rounded_to = min(peaks.values()), self.list_searches()[ComparedSide.A].round_load
        wanted = [
            *(rounded_to(share * smaller) for share in (*LOAD_STEPS, TYPICAL)),
            rounded_to(TYPICAL * peaks[ComparedSide.A]),
        ]
        loads: list[float] = []
        for load in sorted(wanted):
            if not loads or load > loads[-1] * (1 + NEAR_LOAD):
                loads.append(load)
        return loads

    def _planned(self, runs: Sequence[RunSummary]) -> list[RunRequest]:
        """Each load on A and B, then on B and A, and so on."""
        requests: list[RunRequest] = []
        search = self.list_searches()[ComparedSide.A]
        for load in self.list_loads(runs):
            value = search.make_value(load)
            for pair in range(self.pairs):
                for side in order_sides(pair):
                    settings = {**(self.a if side is ComparedSide.A else self.b), search.load: value}
                    key = f"c-{format_key(len(requests) + 1, self.workload, f'{side}-{search.format_load(load)}')}"
                    seed = 2 * SEEDS_APART + len(requests)
                    requests.append(RunRequest(key, self.workload, settings, seed, side=side, search=CURVES))
        return requests

    def answer(self, runs: Sequence[RunSummary]) -> PlatformsAnswer:
        """Peaks, monitors at the peaks, both typical loads, curves, and where they part."""
        searches = tuple(
            SideSearch(side, search.answer(self._evidence(side, runs))) for side, search in self.list_searches().items()
        )
        peaks, loads = self.find_peaks(runs), self.list_loads(runs)
        both, passing = len(peaks) == 2, find_passing_sides(searches)
        rounded_to = self.list_searches()[ComparedSide.A].round_load
        curve = tuple(self._point(runs, load) for load in loads)
        parted = find_parting(curve)
        accelerators = {side: find_accelerator(runs, side) for side in (ComparedSide.A, ComparedSide.B)}
        return PlatformsAnswer(
            workload=self.workload,
            a=dict(self.a),
            b=dict(self.b),
            names=_names(self),
            load=self.list_searches()[ComparedSide.A].load,
            peaks={side.value: peaks.get(side) for side in (ComparedSide.A, ComparedSide.B)},
            ratio=peaks[ComparedSide.B] / peaks[ComparedSide.A] if both else None,
            at_peak={
                side.value: compute_side_means(select_proofs(runs, side, peaks.get(side)))
                for side in (ComparedSide.A, ComparedSide.B)
            },
            typical=find_point_near(curve, rounded_to(TYPICAL * peaks[ComparedSide.A]) if loads else None),
            common=find_point_near(curve, rounded_to(TYPICAL * min(peaks.values())) if both else None),
            curve=curve,
            parted=parted,
            accelerators={side.value: names for side, names in accelerators.items()},
            cost=compute_cost_per_operation(curve),
            searches=searches,
            is_worse=is_peak_lower(searches) if both else passing == {ComparedSide.A},
            is_answered=(both or len(passing) == 1) and self.plan_next(runs) is None,
            headline=(
                *summarize_platforms(_names(self), searches, peaks, curve, parted, accelerators),
                *self._unlike(runs),
                *self._changed(runs),
            ),
        )

    def _unlike(self, runs: Sequence[RunSummary]) -> list[str]:
        names = _names(self)
        a, b = ([run.conditions for run in select_side_runs(runs, side)] for side in (ComparedSide.A, ComparedSide.B))
        return describe_unlike(a, b, (names["a"], names["b"]))

    def _changed(self, runs: Sequence[RunSummary]) -> list[str]:
        """Answers that differ between both platforms."""
        names = _names(self)
        a, b = (
            [run.answers for run in select_side_runs(runs, side) if run.is_valid]
            for side in (ComparedSide.A, ComparedSide.B)
        )
        return describe_changes(list_changed_answers(a, b), names["a"], names["b"])

    def _point(self, runs: Sequence[RunSummary], load: float) -> PlatformPoint:
        a, b = (compute_side_means(select_load_runs(runs, side, load)) for side in (ComparedSide.A, ComparedSide.B))
        return PlatformPoint(load, a, b)


def _names(questions: Platforms) -> dict[str, str]:
    """What both sides are called: their platform, with the side where that is the same."""
    a, b = (
        str(settings.get("platform", side))
        for side, settings in ((ComparedSide.A, questions.a), (ComparedSide.B, questions.b))
    )
    return {"a": a, "b": b} if a != b else {"a": f"{a} (A)", "b": f"{b} (B)"}
