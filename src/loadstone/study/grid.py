"""Parameters over points, as users write them, and every combination of those. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Annotated

from pydantic import Field

from loadstone.model.errors import UsageError
from loadstone.model.reading import Flag
from loadstone.study.parameters import NAMED_PARAMETERS, Point, Points, RunSettings, SettingValue
from loadstone.study.settings import parse_points, read_points

PLATFORMS = ("platform", "machine.platform")
"""Settings that say where a system runs."""


def read_over(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Reads `sessions=50,100` as often as it is given; raises UsageError."""
    points = [read_points(text) for text in texts]
    if len(dict(points)) < len(points):
        raise UsageError("A parameter is named by two --over. Give all its points in one, with commas between.")
    return dict(points)


Over = Annotated[
    dict[str, Points],
    Field(min_length=1),
    Flag(
        f"Parameter and its points. Repeatable. Parameters: {', '.join(NAMED_PARAMETERS)}.",
        metavar="NAME=POINT,POINT,...",
        read_all=read_over,
    ),
]
"""What is varied, as users write it."""


ParameterPoints = tuple[str, tuple[SettingValue, ...]]
"""A parameter with its points."""


def parse_over(over: Mapping[str, Sequence[Point]]) -> tuple[ParameterPoints, ...]:
    """Parameters with their points as values, each once; raises UsageError."""
    return tuple((name, parse_points(name, points)) for name, points in over.items())


def list_combinations(over: Sequence[ParameterPoints]) -> list[RunSettings]:
    """Every combination of the points of all parameters, the last one varying fastest."""
    names = [name for name, _ in over]
    return [dict(zip(names, values, strict=True)) for values in product(*(points for _, points in over))]


def is_platform_among(settings: Iterable[str]) -> bool:
    """Whether a platform is among the names of settings."""
    return any(name in PLATFORMS for name in settings)
