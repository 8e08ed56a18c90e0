"""What a study may be asked, as users write it: one section a kind of question, in a file or on the command line."""

from typing import Annotated, Literal

from pydantic import Field

from loadstone.model.machine import PlatformName
from loadstone.model.reading import Section
from loadstone.model.workload import Percent, Positive

Points = Annotated[tuple[str | int | float, ...], Field(min_length=1)]
Settings = dict[str, str | int | float]


class RepeatSection(Section):
    """`repeat`: the same run n times."""

    runs: Annotated[int, Field(ge=2, le=1000)] = Field(default=5, description="a whole number, 2 or more")


class SearchSection(Section):
    """`search`: the largest load that passes every rule."""

    load: Literal["sessions", "rate"] = Field(default="sessions", description="`sessions` or `rate`")
    start: Positive | None = Field(default=None, description="the first load tried, above 0")
    width_pct: Percent | None = Field(default=None, description="width of the bracket at which to stop, in %")
    verify: Annotated[int, Field(ge=1, le=100)] = Field(default=3, description="runs that must all pass, 1 or more")
    most: Positive | None = Field(default=None, description="the largest load to try")


class SweepSection(Section):
    """`sweep`: parameters over points."""

    over: dict[str, Points] = Field(
        min_length=1, description='a table as { sessions = [50, 100], "server.threads" = [1, 2] }'
    )
    rounds: Annotated[int, Field(ge=1, le=1000)] = Field(default=1, description="times each point is run, 1 or more")


class CompareSection(Section):
    """`compare`: A against B."""

    a: Settings = Field(default_factory=dict, description='a table of settings, as { "server.threads" = 1 }')
    b: Settings = Field(default_factory=dict, description="a table of settings")
    at: Points | Literal["peak"] | None = Field(
        default=None, description="a list of loads for a curve, or `peak`; left out, the load of the study"
    )
    load: Literal["sessions", "rate"] = Field(default="sessions", description="`sessions` or `rate`")
    pairs: Annotated[int, Field(ge=1, le=1000)] | None = Field(default=None, description="pairs of runs, 1 or more")
    figure: str = Field(default="response_mean", description="the figure the question is about")
    platform: Annotated[tuple[PlatformName, ...], Field(min_length=2, max_length=2)] | None = Field(
        default=None, description='two platforms to compare, as ["process", "vm"]'
    )
    cpus: Annotated[int, Field(ge=1, le=4096)] | None = Field(
        default=None, description="of platforms: CPUs of each side, 1 or more"
    )
    start: Positive | None = Field(default=None, description="of the peaks' searches: the first load tried")
    width_pct: Percent | None = Field(default=None, description="of the peaks' searches: width of the bracket in %")


class PredictSection(Section):
    """`predict`: from measured loads to others."""

    load: Literal["sessions", "rate"] = Field(default="sessions", description="`sessions` or `rate`")
    at: Points = Field(description="the loads to measure, at least two, as [20, 40, 60]")
    check: tuple[str | int | float, ...] = Field(default=(), description="loads to measure afterwards, to check by")
    rounds: Annotated[int, Field(ge=1, le=100)] = Field(default=2, description="times each load is run, 1 or more")


Asked = RepeatSection | SearchSection | SweepSection | CompareSection | PredictSection

SECTIONS: dict[str, type[Section]] = {
    "repeat": RepeatSection,
    "search": SearchSection,
    "sweep": SweepSection,
    "compare": CompareSection,
    "predict": PredictSection,
}
"""All kinds of question by name."""


def varies_platform(asked: Section) -> bool:
    """Whether runs of a study differ in their platform, so that a machine's settings need not fit all of them."""
    said = asked.model_dump()
    settings = [*(said.get("over") or ()), *(said.get("a") or ()), *(said.get("b") or ())]
    return bool(said.get("platform")) or any(name in ("platform", "machine.platform") for name in settings)
