"""Both sides of a comparison: their settings, their order in time, their searches. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from loadstone.study.parameters import RunSettings
from loadstone.study.search.answer import SearchAnswer
from loadstone.study.search.question import Search
from loadstone.study.summary import ComparedSide

MakeSearch = Callable[[RunSettings, str, int], Search]
"""Makes a search from settings, its name among those of the study, and the first seed."""


@dataclass(frozen=True)
class SideSearch:
    """One search of a side, and what it found."""

    side: ComparedSide
    answer: SearchAnswer


def passing_sides(searches: Sequence[SideSearch]) -> set[ComparedSide]:
    """The sides whose searches all found a peak; empty unless each side's searches agree that loads pass, or that none
    does. A search without an answer, or one that the driver limited everywhere, agrees with nothing.
    """
    sides = {ComparedSide.A: [search.answer for search in searches if search.side is ComparedSide.A]}
    sides[ComparedSide.B] = [search.answer for search in searches if search.side is ComparedSide.B]
    has_peak = {side: {answer.peak is not None for answer in answers} for side, answers in sides.items()}
    is_known = all(search.answer.is_answered and not search.answer.is_unreached for search in searches)
    if not is_known or any(len(peaks) != 1 for peaks in has_peak.values()):
        return set()
    return {side for side, peaks in has_peak.items() if peaks == {True}}


def never_passing(searches: Sequence[SideSearch], names: Mapping[ComparedSide, str]) -> list[str]:
    """The sentence that names a side that passes at no load while the other does; empty where there is none."""
    passing = passing_sides(searches)
    if len(passing) != 1:
        return []
    failing = ComparedSide.B if ComparedSide.A in passing else ComparedSide.A
    judged = f": {names[ComparedSide.B]} is worse" if failing is ComparedSide.B else ""
    return [f"{names[failing]} passes at no load, and {names[passing.pop()]} does{judged}."]
