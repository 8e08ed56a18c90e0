"""Both sides of a comparison: their settings, their order in time, their searches. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from loadstone.study.parameters import RunSettings
from loadstone.study.search.answer import LoadStanding, SearchAnswer, SearchedLoad
from loadstone.study.search.question import Search
from loadstone.study.search.shortness import has_enough
from loadstone.study.summary import ComparedSide

MakeSearch = Callable[[RunSettings, str, int], Search]
"""Makes a search from settings, its name among those of the study, and the first seed."""


@dataclass(frozen=True)
class SideSearch:
    """One search of a side, and what it found."""

    side: ComparedSide
    answer: SearchAnswer


def find_passing_sides(searches: Sequence[SideSearch]) -> set[ComparedSide]:
    """The sides whose searches all found a peak; empty unless each side's searches agree that loads pass, or that none
    does. A search without an answer, or one that the driver limited everywhere, agrees with nothing. Neither does one
    whose runs, at loads that the other side sustains, all had too few operations for a pass.
    """
    sides = _sides_with_peaks(searches)
    return set() if len(sides) == 1 and _is_too_short(searches, sides) else sides


def _sides_with_peaks(searches: Sequence[SideSearch]) -> set[ComparedSide]:
    answers = group_answers(searches)
    has_peak = {side: {answer.peak is not None for answer in searched} for side, searched in answers.items()}
    is_known = all(search.answer.is_answered and not search.answer.is_unreached for search in searches)
    if not is_known or any(len(peaks) != 1 for peaks in has_peak.values()):
        return set()
    return {side for side, peaks in has_peak.items() if peaks == {True}}


def group_answers(searches: Sequence[SideSearch]) -> dict[ComparedSide, list[SearchAnswer]]:
    """Returns the answers of each side's searches, in order."""
    sides = (ComparedSide.A, ComparedSide.B)
    return {side: [search.answer for search in searches if search.side is side] for side in sides}


def _is_too_short(searches: Sequence[SideSearch], passing: set[ComparedSide]) -> bool:
    """Whether a search of the side without a peak failed only where its runs could not have passed, or at loads beyond
    the other side's peak.
    """
    answers = group_answers(searches)
    peak = min(answer.peak or 0.0 for side in passing for answer in answers[side])
    failing = [answer for side, searched in answers.items() if side not in passing for answer in searched]
    return not all(any(_shows_failure(load, peak) for load in answer.loads) for answer in failing)


def _shows_failure(load: SearchedLoad, peak: float) -> bool:
    return load.standing is LoadStanding.FAILS and load.at <= peak and has_enough(load.rules)


def describe_never_passing(searches: Sequence[SideSearch], names: Mapping[ComparedSide, str]) -> list[str]:
    """The sentence that names a side that passes at no load while the other does; empty where there is none."""
    passing = _sides_with_peaks(searches)
    if len(passing) != 1:
        return []
    failing = ComparedSide.B if ComparedSide.A in passing else ComparedSide.A
    better = names[next(iter(passing))]
    if not find_passing_sides(searches):
        return [
            f"Undecided: {names[failing]} passed no run, but its runs at loads that {better} sustains have too few "
            "operations for a pass."
        ]
    judged = f": {names[ComparedSide.B]} is worse" if failing is ComparedSide.B else ""
    return [f"{names[failing]} passes at no load, and {better} does{judged}."]
