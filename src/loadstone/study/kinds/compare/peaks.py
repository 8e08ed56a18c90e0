"""`compare --at peak`: the peaks of two settings, searched in turns. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from loadstone.judge.statistics import Difference, difference
from loadstone.model.numbers import chance
from loadstone.page.blocks import Block, Column, ColumnKind, Figure, Gallery, Row, Table
from loadstone.page.plot import Plot
from loadstone.study.answers import Means, changed_answers, changes_in_words
from loadstone.study.kinds.compare.loads import FoundDifference, side_by_turn
from loadstone.study.question import Answer
from loadstone.study.search.answer import SearchAnswer
from loadstone.study.search.page import SEARCH_COLUMNS, search_cells
from loadstone.study.search.question import Search
from loadstone.study.search.spec import SEEDS_APART
from loadstone.study.summary import RunRequest, RunSummary, Side

Settings = Mapping[str, str]
MakeSearch = Callable[[Settings, str, int], Search]
"""Makes a search from settings, its name among those of the study, and the first seed."""


@dataclass(frozen=True)
class SideSearch:
    """One search of a side, and what it found."""

    side: Side
    answer: SearchAnswer


@dataclass(frozen=True, kw_only=True)
class PeaksAnswer(Answer):
    """Both sides' peaks and their ratio."""

    a: Settings
    b: Settings
    pairs: int
    peaks: Mapping[str, tuple[float, ...]]
    searches: tuple[SideSearch, ...]
    difference: FoundDifference | None
    is_worse: bool

    @property
    def is_negative(self) -> bool:
        """Whether B is worse."""
        return self.is_worse

    @property
    def is_unreached(self) -> bool:
        """Whether the driver was the limit of a side at every load."""
        return any(search.answer.is_unreached for search in self.searches)


@dataclass(frozen=True)
class ComparePeaks:
    """The peaks of two settings, searched in turns: A B B A."""

    workload: str
    a: Settings
    b: Settings
    search: MakeSearch
    pairs: int = 1

    def searches(self) -> list[tuple[Side, Search]]:
        """Every search with its side, in order."""
        sides = [side for pair in range(self.pairs) for side in side_by_turn(pair)]
        return [
            (side, self.search(self.a if side is Side.A else self.b, f"{side}{number}", number * SEEDS_APART))
            for number, side in enumerate(sides, start=1)
        ]

    def requests(self) -> list[RunRequest]:
        """The first run of every search."""
        return [request for _, search in self.searches() for request in search.requests()]

    def next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
        """The next run of the first search that is not done."""
        nexts = (search.next(search.own(runs)) for _, search in self.searches())
        return next((request for request in nexts if request is not None), None)

    def left(self, runs: Sequence[RunSummary]) -> int:
        """About how many runs are left in all searches."""
        return sum(search.left(search.own(runs)) for _, search in self.searches())

    def answer(self, runs: Sequence[RunSummary]) -> PeaksAnswer:
        """Both sides' peaks and their ratio."""
        searches = [SideSearch(side, search.answer(search.own(runs))) for side, search in self.searches()]
        peaks = {side: _peaks(searches, side) for side in (Side.A, Side.B)}
        is_whole = all(one.answer.is_answered and one.answer.peak for one in searches)
        never_passes = passing_sides(searches) == {Side.A}
        compared = difference(list(zip(peaks[Side.A], peaks[Side.B], strict=False))) if is_whole else None
        return PeaksAnswer(
            workload=self.workload,
            a=dict(self.a),
            b=dict(self.b),
            pairs=self.pairs,
            peaks={side.value: own for side, own in peaks.items()},
            searches=tuple(searches),
            difference=None if compared is None else FoundDifference.of(compared),
            is_worse=never_passes or (is_whole and _is_lower(searches, compared)),
            is_answered=self.next(runs) is None and (is_whole or len(passing_sides(searches)) == 1),
            headline=(*self._changed(runs), *_headline(searches, compared)),
        )

    def _changed(self, runs: Sequence[RunSummary]) -> list[str]:
        """Answers that differ between both sides."""
        sides: dict[Side, list[Means]] = {Side.A: [], Side.B: []}
        for side, search in self.searches():
            sides[side] += [run.answers for run in search.own(runs) if run.is_valid]
        return changes_in_words(changed_answers(sides[Side.A], sides[Side.B]))


def _peaks(searches: Sequence[SideSearch], side: Side) -> tuple[float, ...]:
    own = (search.answer for search in searches if search.side is side)
    return tuple(answer.peak for answer in own if answer.is_answered and answer.peak is not None)


def passing_sides(searches: Sequence[SideSearch]) -> set[Side]:
    """The sides whose searches all found a peak; empty unless each side's searches agree that loads pass, or that none
    does. A search without an answer, or one that the driver limited everywhere, agrees with nothing.
    """
    sides = {Side.A: [one.answer for one in searches if one.side is Side.A]}
    sides[Side.B] = [one.answer for one in searches if one.side is Side.B]
    has_peak = {side: {answer.peak is not None for answer in answers} for side, answers in sides.items()}
    is_known = all(one.answer.is_answered and not one.answer.is_unreached for one in searches)
    if not is_known or any(len(peaks) != 1 for peaks in has_peak.values()):
        return set()
    return {side for side, peaks in has_peak.items() if peaks == {True}}


def never_passing(searches: Sequence[SideSearch], names: Mapping[Side, str]) -> list[str]:
    """The sentence that names a side that passes at no load while the other does; empty where there is none."""
    passing = passing_sides(searches)
    if len(passing) != 1:
        return []
    other = Side.B if Side.A in passing else Side.A
    judged = f": {names[Side.B]} is worse" if other is Side.B else ""
    return [f"{names[other]} passes at no load, and {names[passing.pop()]} does{judged}."]


def _headline(searches: Sequence[SideSearch], found: Difference | None) -> list[str]:
    lines = [f"{search.side.upper()}: {line}" for search in searches for line in search.answer.headline[:1]]
    if found is None:
        return [*never_passing(searches, {side: side.upper() for side in (Side.A, Side.B)}), *lines]
    change = 100 * (found.ratio - 1)
    if found.low is not None and found.high is not None:
        interval = f"interval {100 * (found.low - 1):+.1f} to {100 * (found.high - 1):+.1f} %, {chance(found.p)}"
        return [f"The peak of B is {change:+.1f} % against A ({interval}).", *lines]
    widest = _widest(searches)
    apart = "too few runs near the peaks say how far chance moves them"
    if widest is not None:
        low, high = widest
        apart = f"the searches' own intervals allow {100 * (low - 1):+.1f} to {100 * (high - 1):+.1f} %"
    return [f"The peak of B is {change:+.1f} % against A; {apart}.", *lines]


def _is_lower(searches: Sequence[SideSearch], found: Difference | None) -> bool:
    """Whether B's peak is lower: by the test where there are pairs enough, else when no interval allows otherwise."""
    if found is None:
        return False
    if found.low is not None:
        return found.is_found and found.ratio < 1
    widest = _widest(searches)
    return widest is not None and widest[1] < 1


def _widest(searches: Sequence[SideSearch]) -> tuple[float, float] | None:
    """The smallest and the largest ratio of B's peak to A's that the intervals of all searches allow; None where a side
    has none.
    """
    spans = {side: [search.answer.interval for search in searches if search.side is side] for side in (Side.A, Side.B)}
    a, b = ([span for span in spans[side] if span is not None] for side in (Side.A, Side.B))
    if not a or not b:
        return None
    low = min(span[0] for span in b) / max(span[1] for span in a)
    high = max(span[1] for span in b) / min(span[0] for span in a)
    return low, high


def blocks(answer: PeaksAnswer) -> Iterator[Block]:
    """Each search's peak with its interval."""
    numbered = list(enumerate(answer.searches, start=1))
    points = [
        {"x": place, "y": one.answer.peak, "series": one.side.upper()}
        for place, one in numbered
        if one.answer.peak is not None
    ]
    spans = [
        {"x": place, "low": one.answer.interval[0], "high": one.answer.interval[1]}
        for place, one in numbered
        if one.answer.interval
    ]
    plot = Plot("search", "peak", points=points, spans=spans, from_zero=False)
    yield Gallery([Figure("Peaks", "Each search's verified peak, with its interval.", plot)])
    columns = [Column("search"), Column("side", ColumnKind.TEXT), *SEARCH_COLUMNS]
    yield Table(columns, [Row([str(place), one.side.upper(), *search_cells(one.answer)]) for place, one in numbered])
