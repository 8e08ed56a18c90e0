"""`peaks`: a search at each point, one after the other, and then a run at a share of its peak. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from loadstone.model.errors import UsageError
from loadstone.study.grid import ParameterPoints, list_combinations, parse_over
from loadstone.study.kind import StudyContext
from loadstone.study.kinds.peaks.answer import (
    PeakPoint,
    PeaksOverAnswer,
    compute_ratios_by_first,
    compute_ratios_by_platform,
    summarize_peaks,
)
from loadstone.study.kinds.peaks.section import PeaksSection
from loadstone.study.parameters import RunSettings, has_load
from loadstone.study.question import format_key
from loadstone.study.search.answer import SearchAnswer
from loadstone.study.search.question import Search
from loadstone.study.search.section import make_search
from loadstone.study.search.spec import SEEDS_APART
from loadstone.study.summary import RunRequest, RunSummary

SHARE = 0.8
"""Of a peak, at which CPU is looked at: the most that the published study advises to use (docs/studies.md)."""
BEGIN = 0.5
"""Share of the last point's peak that the next search begins at: a point that bears half of it is found in one step."""


@dataclass(frozen=True)
class Peaks:
    """A search at each point, one after the other, and then a run at a share of its peak."""

    workload: str
    over: tuple[ParameterPoints, ...]
    model: Search
    """What all searches have in common."""
    begins_where_told: bool = False
    """Whether all searches begin at one load."""
    _answers: dict[tuple[str, ...], SearchAnswer] = field(default_factory=dict, compare=False, repr=False)
    """What searches came to, by the folders of their runs: it is asked for after each run, and takes seconds."""

    def list_points(self) -> list[RunSettings]:
        """All combinations, the last parameter varying fastest."""
        return list_combinations(self.over)

    def list_searches(self, runs: Sequence[RunSummary]) -> list[Search]:
        """One a point. Each begins below the peak of the one before, unless it was said where to begin."""
        searches, start = [], self.model.start
        for turn, point in enumerate(self.list_points(), start=1):
            search = replace(self.model, settings=point, start=start, prefix=f"p{turn}", seed=turn * SEEDS_APART)
            searches.append(search)
            peak = search.find_peak(search.select(runs))
            if peak and not self.begins_where_told:
                start = search.round_load(BEGIN * peak)
        return searches

    def plan_runs(self) -> list[RunRequest]:
        """The first run of every search."""
        return [request for search in self.list_searches([]) for request in search.plan_runs()]

    def plan_next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
        """The next run of the first point that is not done."""
        wanted = (self._next_of(search, runs) for search in self.list_searches(runs))
        return next((request for request in wanted if request is not None), None)

    def _next_of(self, search: Search, runs: Sequence[RunSummary]) -> RunRequest | None:
        selected = search.select(runs)
        request = search.plan_next(selected)
        if request is not None:
            return request
        peak = search.find_peak(selected)
        if peak is None or _below(search, runs):
            return None
        load = search.make_value(max(1.0, SHARE * peak) if search.load == "sessions" else SHARE * peak)
        label = f"{search.load}-{search.format_load(load)}-below"
        key = f"{search.prefix}-{format_key(len(selected) + 1, self.workload, label)}"
        settings = {**search.settings, search.load: load}
        return RunRequest(key, self.workload, settings, search.seed + len(selected), search=_tag(search))

    def estimate_left(self, runs: Sequence[RunSummary]) -> int:
        """About how many runs are left in all searches, with one more at each."""
        searched = sum(search.estimate_left(search.select(runs)) for search in self.list_searches(runs))
        return searched + sum(not _below(search, runs) for search in self.list_searches(runs))

    def _answer(self, search: Search, runs: Sequence[RunSummary]) -> SearchAnswer:
        selected = search.select(runs)
        key = (search.prefix, *(run.folder for run in selected))
        if key not in self._answers:
            self._answers[key] = search.answer(selected)
        return self._answers[key]

    def answer(self, runs: Sequence[RunSummary]) -> PeaksOverAnswer:
        """Every peak so far."""
        begun = [search for search in self.list_searches(runs) if search.select(runs)]
        points = [PeakPoint(search.settings, self._answer(search, runs), _cpu(search, runs)) for search in begun]
        platforms, others = list(compute_ratios_by_platform(points)), list(compute_ratios_by_first(points))
        return PeaksOverAnswer(
            workload=self.workload,
            over=tuple(name for name, _ in self.over),
            load=self.model.load,
            points=tuple(points),
            platforms=tuple(platforms),
            others=tuple(others),
            is_answered=self.plan_next(runs) is None and all(point.search.is_answered for point in points),
            headline=tuple(summarize_peaks(points, platforms, others)),
        )


def _tag(search: Search) -> str:
    return f"{search.prefix}-below"


def _below(search: Search, runs: Sequence[RunSummary]) -> list[RunSummary]:
    return [run for run in runs if run.request.search == _tag(search)]


def _cpu(search: Search, runs: Sequence[RunSummary]) -> float | None:
    valid = [run for run in _below(search, runs) if run.is_valid]
    return valid[0].metrics.get("server_cpu") if valid else None


def make(section: PeaksSection, context: StudyContext) -> Peaks:
    """The question about one workload; raises UsageError."""
    if has_load(section.over):
        raise UsageError("Each point searches for its load. Vary something else, or use `loadstone sweep`.")
    search = make_search(section, context.workload.name, context.profile)
    return Peaks(context.workload.name, parse_over(section.over), search, section.start is not None)
