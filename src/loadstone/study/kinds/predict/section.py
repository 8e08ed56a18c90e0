"""`predict`: how it is declared. Pure."""

from functools import partial
from typing import Annotated

from pydantic import Field

from loadstone.model.reading import Flag, validate_by
from loadstone.study.kind import StudySection
from loadstone.study.parameters import LoadKind, Point, Points
from loadstone.study.until import Until, read_until

PREDICTED_FIGURES = {"mean": "response_mean", "peak": "peak"}
"""What a prediction may go on for until it is sure: the mean response time at the loads to check by, and the peak."""
MOST_ROUNDS = 30
"""Times each load is run after which a prediction that goes on until it is sure gives up, unless told otherwise."""


def read_loads(text: str) -> tuple[str, ...]:
    """Reads loads such as `20,40,60`. Raises UsageError."""
    return tuple(load for load in text.split(",") if load)


class PredictSection(StudySection):
    """`[predict]`: from measured loads to others."""

    load: LoadKind = Field(default="sessions", description="`sessions` or `rate`")
    at: Annotated[Points, Flag("Loads to measure, such as 20,40,60.", metavar="LOADS", read=read_loads)] = Field(
        description="the loads to measure, at least two, as [20, 40, 60]"
    )
    check: Annotated[
        tuple[Point, ...],
        Flag(
            "Loads to measure after the others, to verify the prediction. Default: none.",
            metavar="LOADS",
            read=read_loads,
        ),
    ] = Field(default=(), description="loads to measure afterwards, to verify the prediction")
    rounds: Annotated[int, Field(ge=1, le=100), Flag("Number of runs at each load.", kind=int, min=1, max=100)] = Field(
        default=3, description="number of runs at each load, 1 or more"
    )
    until: Annotated[
        Annotated[Until, validate_by(partial(read_until, names=PREDICTED_FIGURES))] | None,
        Flag(
            "Precision of the prediction at which to stop adding runs, such as 'mean +-10%'.", metavar="FIGURE +-PCT%"
        ),
    ] = Field(default=None, description='a figure and its precision, such as "mean +-10%" or "peak +-5%"')
    most_rounds: Annotated[
        int, Field(ge=1, le=100), Flag("Maximum number of runs at each load, with --until.", kind=int, min=1, max=100)
    ] = Field(default=MOST_ROUNDS, description="a whole number, 1 or more")
    workers: Annotated[
        Annotated[int, Field(ge=1, le=100_000)] | None,
        Flag(
            "Number of operations that the server processes in parallel: its workers or cores.",
            kind=int,
            min=1,
            max=100_000,
        ),
    ] = Field(default=None, description="number of operations that the server processes in parallel, 1 or more")

    @property
    def brings_load(self) -> bool:
        """It says at which loads to measure."""
        return True
