"""Whether a group of tiles - a NUMA node, a bridge, a disk, odd or even numbers - did worse than the others. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LEVEL = 0.05
"""Chance of naming any group worse where none is, over all figures together."""


@dataclass(frozen=True)
class Figure:
    """A figure of a tile, and which way is better."""

    name: str
    unit: str
    more_is_better: bool = True


FIGURES = (
    Figure("score", "points"),
    Figure("app", "/s"),
    Figure("web", "/s"),
    Figure("mail", "/s"),
    Figure("qos_app", ""),
    Figure("qos_web", ""),
    Figure("qos_mail", ""),
    Figure("qos_idle", ""),
)
"""What groups are compared by."""


@dataclass(frozen=True)
class Finding:
    """One figure of two groups: the group, all other tiles, and how likely so great a difference is by chance."""

    figure: Figure
    group: str
    mean: float
    others: float
    p: float
    """By permuting the tiles over the groups; corrected for all tests made together (Holm 1979)."""

    @property
    def is_worse(self) -> bool:
        """Whether the group did worse, beyond chance."""
        less = self.mean < self.others
        return self.p <= LEVEL and (less if self.figure.more_is_better else self.mean > self.others)


def parity(numbers: Sequence[int]) -> list[str]:
    """Groups by odd and even numbers."""
    return ["even" if number % 2 == 0 else "odd" for number in numbers]


def sides(groups: Sequence[str]) -> list[str]:
    """Groups to set against the rest: of two, one test says it of both."""
    names = sorted(set(groups))
    return names[:1] if len(names) == 2 else names


def split(groups: Sequence[str], group: str, values: Sequence[float]) -> tuple[list[float], list[float]]:
    """Values of a group and of all other tiles."""
    inside = [value for name, value in zip(groups, values, strict=True) if name == group]
    outside = [value for name, value in zip(groups, values, strict=True) if name != group]
    return inside, outside


def varying(figures: Mapping[str, Sequence[float]]) -> list[Figure]:
    """Figures that differ between tiles: one that is the same everywhere needs no test."""
    return [figure for figure in FIGURES if len(set(figures.get(figure.name, ()))) > 1]
