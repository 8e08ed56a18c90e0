"""Whether a group of tiles - a NUMA node, a bridge, a disk, odd or even numbers - did worse than the others. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from loadstone.judge.consolidation import Consolidation, TileFigures
from loadstone.judge.statistics import compute_unpaired_p, correct_by_holm
from loadstone.model.errors import UsageError
from loadstone.model.records.verdict import ComparedFigure, GroupFinding

PLACEMENT_LEVEL = 0.05
"""Chance of naming any group worse where none is, over all figures together."""
PLACEMENT_POWER = 0.8
"""Share of runs in which a difference of the size that is said would be found."""


COMPARED = (
    ComparedFigure("score", "points"),
    ComparedFigure("app", "/s"),
    ComparedFigure("web", "/s"),
    ComparedFigure("mail", "/s"),
    ComparedFigure("qos_app", ""),
    ComparedFigure("qos_web", ""),
    ComparedFigure("qos_mail", ""),
    ComparedFigure("qos_idle", ""),
)
"""What groups are compared by."""


def make_finding(figure: ComparedFigure, group: str, mean: float, others: float, p: float) -> GroupFinding:
    """A group's mean against that of all other tiles; `p` is corrected for all tests made together (Holm 1979)."""
    less = mean < others
    is_worse = p <= PLACEMENT_LEVEL and (less if figure.more_is_better else mean > others)
    return GroupFinding(figure, group, mean, others, p, is_worse)


def group_by_parity(numbers: Sequence[int]) -> list[str]:
    """Groups by odd and even numbers."""
    return ["even" if number % 2 == 0 else "odd" for number in numbers]


def choose_groups(groups: Sequence[str]) -> list[str]:
    """Groups to set against the rest: of two, one test says it of both."""
    names = sorted(set(groups))
    return names[:1] if len(names) == 2 else names


def split(groups: Sequence[str], group: str, values: Sequence[float]) -> tuple[list[float], list[float]]:
    """Values of a group and of all other tiles."""
    inside = [value for name, value in zip(groups, values, strict=True) if name == group]
    outside = [value for name, value in zip(groups, values, strict=True) if name != group]
    return inside, outside


def list_varying(figures: Mapping[str, Sequence[float]]) -> list[ComparedFigure]:
    """Figures that differ between tiles: one that is the same everywhere needs no test."""
    return [figure for figure in COMPARED if len(set(figures.get(figure.name, ()))) > 1]


LEAST_GROUP_TILES = 2
"""Tiles that a group needs."""


def collect_figures(tiles: Sequence[TileFigures], scored: Consolidation) -> dict[str, list[float]]:
    """Returns the figures by which groups are compared, one value a tile."""
    rates = {figure.name: [float(getattr(tile, figure.name)) for tile in tiles] for figure in COMPARED[1:]}
    return {COMPARED[0].name: [float(tile.score) for tile in scored.tiles], **rates}


def compare_groups(groups: Sequence[str], figures: Mapping[str, Sequence[float]]) -> list[GroupFinding]:
    """Every varying figure of every group against the other tiles, surest first. Raises UsageError with one group.

    `groups` names each tile's group; `figures` has one value a tile for each figure.
    """
    if len(set(groups)) < 2:
        only = f"all {len(groups)} tiles are in `{groups[0]}`" if groups else "there are no tiles"
        raise UsageError(f"There is nothing to compare: {only}. Use at least two groups.")
    lonely = sorted({group for group in groups if groups.count(group) < LEAST_GROUP_TILES})
    if lonely:
        named = ", ".join(f"`{group}`" for group in lonely[:5])
        raise UsageError(
            f"A group needs {LEAST_GROUP_TILES} tiles to be tested; only one is in {named}. Use other groups."
        )
    tests = [(figure, group) for figure in list_varying(figures) for group in choose_groups(groups)]
    chances = correct_by_holm(
        [compute_unpaired_p(*split(groups, group, figures[figure.name])) for figure, group in tests]
    )
    tested = []
    for (figure, group), p in zip(tests, chances, strict=True):
        inside, outside = (sum(values) / len(values) for values in split(groups, group, figures[figure.name]))
        seen = make_finding(figure, group, inside, outside, p)
        if len(set(groups)) == 2 and not seen.is_worse:  # the same test, seen from the side that may have done worse
            opposite = make_finding(figure, next(name for name in groups if name != group), outside, inside, p)
            seen = opposite if opposite.mean < opposite.others or opposite.is_worse else seen
        tested.append(seen)
    return sorted(tested, key=lambda result: result.p)


@dataclass(frozen=True)
class Reach:
    """What a test of groups could have found at all."""

    least_p: float
    """The smallest corrected p that so many tiles can have, however far apart their groups are."""
    score_pct: float | None
    """By how much lower a group's score would be found in four of five runs; None where nothing can be."""

    @property
    def in_words(self) -> str:
        """What it comes to."""
        if self.least_p > PLACEMENT_LEVEL:
            return f"so few tiles cannot show any difference: the smallest p they can have is {self.least_p:.2g}"
        if self.score_pct is None:
            return "the scores do not differ at all"
        return f"a group whose score is {self.score_pct:.2g} % lower would be found in four of five such runs"


def compute_reach(groups: Sequence[str], figures: Mapping[str, Sequence[float]]) -> Reach:
    """Returns what the tests of groups can detect, from the number of possible groupings and from the scatter."""
    tests = max(1, len(list_varying(figures)) * len(choose_groups(groups)))
    sizes = [groups.count(group) for group in choose_groups(groups)]
    # Both sides of the test: twice the one deal of tiles that sets groups farthest apart.
    least_p = min(1.0, tests * min(2 / math.comb(len(groups), size) for size in sizes))
    scores = figures.get(COMPARED[0].name, ())
    if least_p > PLACEMENT_LEVEL or len(set(scores)) < 2:
        return Reach(least_p, None)
    inside = min(sizes)
    error = float(np.std(scores, ddof=1)) * math.sqrt(1 / inside + 1 / (len(scores) - inside))
    seen = error * float(scipy.special.ndtri(1 - PLACEMENT_LEVEL / tests / 2) + scipy.special.ndtri(PLACEMENT_POWER))
    mean = float(np.mean(scores))
    return Reach(least_p, 100 * seen / mean if mean else None)


def select_worse_groups(results: Sequence[GroupFinding]) -> dict[str, list[GroupFinding]]:
    """Groups that did worse in some figure, with what shows it, surest first."""
    groups = dict.fromkeys(result.group for result in results if result.is_worse)
    return {group: [result for result in results if result.is_worse and result.group == group] for group in groups}
