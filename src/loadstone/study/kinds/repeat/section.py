"""`repeat`: how it is declared. Pure."""

from functools import partial
from typing import Annotated

from pydantic import Field

from loadstone.model.reading import Flag, validate_by
from loadstone.study.kind import StudySection
from loadstone.study.metrics import METRIC_ALIASES
from loadstone.study.until import Until, read_until

MOST_REPEATS = 100
"""Runs after which a study that goes on until a figure is sure gives up, unless told otherwise."""


class RepeatSection(StudySection):
    """`[repeat]`: the same run n times."""

    runs: Annotated[int, Field(ge=2, le=1000), Flag("Number of runs.", kind=int, min=2, max=1000)] = Field(
        default=5, description="a whole number, 2 or more"
    )
    until: Annotated[
        Annotated[Until, validate_by(partial(read_until, names=METRIC_ALIASES))] | None,
        Flag(
            "Precision of a figure at which to stop adding runs to --runs, such as 'p99 +-5%'.", metavar="FIGURE +-PCT%"
        ),
    ] = Field(default=None, description='a figure and its precision, such as "p99 +-5%"')
    most_runs: Annotated[
        int, Field(ge=2, le=1000), Flag("Maximum number of runs, with --until.", kind=int, min=2, max=1000)
    ] = Field(default=MOST_REPEATS, description="a whole number, 2 or more")
