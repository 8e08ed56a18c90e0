"""`compare --at peak`: the searches of both sides, A B B A. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.judge.statistics import estimate_difference
from loadstone.study.answers import OperationMeans, describe_changes, list_changed_answers
from loadstone.study.difference import FoundDifference
from loadstone.study.kinds.compare.peaks.answer import PeaksAnswer, is_peak_lower, list_side_peaks, summarize_searches
from loadstone.study.kinds.compare.sides import MakeSearch, SideSearch, find_passing_sides
from loadstone.study.parameters import RunSettings
from loadstone.study.search.question import Search
from loadstone.study.search.spec import SEEDS_APART
from loadstone.study.sides import order_sides
from loadstone.study.summary import ComparedSide, RunRequest, RunSummary


@dataclass(frozen=True)
class ComparePeaks:
    """The peaks of two settings, searched in turns: A B B A."""

    workload: str
    a: RunSettings
    b: RunSettings
    search: MakeSearch
    pairs: int = 1

    def list_searches(self) -> list[tuple[ComparedSide, Search]]:
        """Every search with its side, in order."""
        sides = [side for pair in range(self.pairs) for side in order_sides(pair)]
        return [
            (side, self.search(self.a if side is ComparedSide.A else self.b, f"{side}{number}", number * SEEDS_APART))
            for number, side in enumerate(sides, start=1)
        ]

    def plan_runs(self) -> list[RunRequest]:
        """The first run of every search."""
        return [request for _, search in self.list_searches() for request in search.plan_runs()]

    def plan_next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
        """The next run of the first search that is not done."""
        nexts = (search.plan_next(search.select(runs)) for _, search in self.list_searches())
        return next((request for request in nexts if request is not None), None)

    def estimate_left(self, runs: Sequence[RunSummary]) -> int:
        """About how many runs are left in all searches."""
        return sum(search.estimate_left(search.select(runs)) for _, search in self.list_searches())

    def answer(self, runs: Sequence[RunSummary]) -> PeaksAnswer:
        """Both sides' peaks and their ratio."""
        searches = [SideSearch(side, search.answer(search.select(runs))) for side, search in self.list_searches()]
        peaks = {side: list_side_peaks(searches, side) for side in (ComparedSide.A, ComparedSide.B)}
        is_whole = all(search.answer.is_answered and search.answer.peak for search in searches)
        never_passes = find_passing_sides(searches) == {ComparedSide.A}
        compared = (
            estimate_difference(list(zip(peaks[ComparedSide.A], peaks[ComparedSide.B], strict=False)))
            if is_whole
            else None
        )
        return PeaksAnswer(
            workload=self.workload,
            a=dict(self.a),
            b=dict(self.b),
            pairs=self.pairs,
            peaks={side.value: values for side, values in peaks.items()},
            searches=tuple(searches),
            difference=None if compared is None else FoundDifference.convert(compared),
            is_worse=never_passes or (is_whole and is_peak_lower(searches, compared)),
            is_answered=self.plan_next(runs) is None and (is_whole or len(find_passing_sides(searches)) == 1),
            headline=(*self._changed(runs), *summarize_searches(searches, compared)),
        )

    def _changed(self, runs: Sequence[RunSummary]) -> list[str]:
        """Answers that differ between both sides."""
        sides: dict[ComparedSide, list[OperationMeans]] = {ComparedSide.A: [], ComparedSide.B: []}
        for side, search in self.list_searches():
            sides[side] += [run.answers for run in search.select(runs) if run.is_valid]
        return describe_changes(list_changed_answers(sides[ComparedSide.A], sides[ComparedSide.B]))
