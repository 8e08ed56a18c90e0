"""Testing groups of tiles against each other: the permutation test put to every figure, corrected together. Pure."""

from collections.abc import Mapping, Sequence

from loadstone.judge.consolidation import Consolidation, Tile
from loadstone.judge.placement import FIGURES, Finding, sides, split, varying
from loadstone.judge.statistics import holm, unpaired
from loadstone.model.errors import UsageError

LEAST = 2
"""Tiles that a group needs."""


def figures_of(tiles: Sequence[Tile], scored: Consolidation) -> dict[str, list[float]]:
    """What groups are compared by, one value a tile."""
    rates = {figure.name: [float(getattr(tile, figure.name)) for tile in tiles] for figure in FIGURES[1:]}
    return {FIGURES[0].name: [float(one.score) for one in scored.tiles], **rates}


def findings(groups: Sequence[str], figures: Mapping[str, Sequence[float]]) -> list[Finding]:
    """Every varying figure of every group against the other tiles, surest first. Raises UsageError with one group.

    `groups` names each tile's group; `figures` has one value a tile for each figure.
    """
    if len(set(groups)) < 2:
        only = f"all {len(groups)} tiles are in `{groups[0]}`" if groups else "there are no tiles"
        raise UsageError(f"There is nothing to compare: {only}. Group the tiles in at least two.")
    lonely = sorted({group for group in groups if groups.count(group) < LEAST})
    if lonely:
        named = ", ".join(f"`{group}`" for group in lonely[:5])
        raise UsageError(
            f"A group needs {LEAST} tiles to be tested; only one is in {named}. Group the tiles otherwise."
        )
    tests = [(figure, group) for figure in varying(figures) for group in sides(groups)]
    chances = holm([unpaired(*split(groups, group, figures[figure.name])) for figure, group in tests])
    found = []
    for (figure, group), p in zip(tests, chances, strict=True):
        inside, outside = (sum(values) / len(values) for values in split(groups, group, figures[figure.name]))
        one = Finding(figure, group, inside, outside, p)
        if len(set(groups)) == 2 and not one.is_worse:  # the same test, seen from the side that may have done worse
            other = Finding(figure, next(name for name in groups if name != group), outside, inside, p)
            one = other if other.mean < other.others or other.is_worse else one
        found.append(one)
    return sorted(found, key=lambda one: one.p)


def worse_groups(found: Sequence[Finding]) -> dict[str, list[Finding]]:
    """Groups that did worse in some figure, with what shows it, surest first."""
    groups = dict.fromkeys(one.group for one in found if one.is_worse)
    return {group: [one for one in found if one.is_worse and one.group == group] for group in groups}
