"""`compare`: how it is declared. Pure."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from loadstone.model.errors import UsageError
from loadstone.model.reading import Flag
from loadstone.platforms.registry import get_platform_kind, list_platform_kinds
from loadstone.study.grid import is_platform_among
from loadstone.study.kind import StudySection
from loadstone.study.parameters import LoadKind, Point, Points, has_load
from loadstone.study.search.section import SearchStart, Width
from loadstone.study.settings import read_settings

PointSettings = dict[str, Point]


def _known(name: str) -> str:
    if name not in list_platform_kinds():
        raise ValueError(f"there is no platform `{name}`")
    return name


PlatformNamed = Annotated[str, AfterValidator(_known)]
"""The name of a platform that there is."""


def read_at(text: str) -> object:
    """Reads `50,100,150` or `peak`."""
    return text if text == "peak" else tuple(load for load in text.split(",") if load)


def read_platforms(text: str) -> list[str]:
    """Reads `process,vm`; raises UsageError."""
    names = [get_platform_kind(name.strip()).name for name in text.split(",")]
    if len(names) != 2:
        raise UsageError("A comparison requires two platforms, such as --platform process,vm.")
    return names


class CompareSection(StudySection):
    """`[compare]`: A against B."""

    a: Annotated[
        PointSettings, Flag("Settings of A, such as server.threads=1.", metavar="SETTINGS", read=read_settings)
    ] = Field(default_factory=dict, description='a table of settings, as { "server.threads" = 1 }')
    b: Annotated[
        PointSettings, Flag("Settings of B, such as server.threads=2.", metavar="SETTINGS", read=read_settings)
    ] = Field(default_factory=dict, description="a table of settings")
    at: Annotated[
        Points | Literal["peak"] | None,
        Flag(
            "Loads of a curve, such as 50,100,150; or `peak`. Default: the load of the study.",
            metavar="LOADS|peak",
            read=read_at,
        ),
    ] = Field(default=None, description="a list of loads for a curve, or `peak`; default: the load of the study")
    load: LoadKind = Field(default="sessions", description="`sessions` or `rate`")
    pairs: Annotated[
        Annotated[int, Field(ge=1, le=1000)] | None,
        Flag(
            "Number of run pairs at each load (default 6), or of search pairs (default 1).", kind=int, min=1, max=1000
        ),
    ] = Field(default=None, description="pairs of runs, 1 or more")
    figure: Annotated[str, Flag("Figure to compare.")] = Field(default="response_mean", description="figure to compare")
    platform: Annotated[
        Annotated[tuple[PlatformNamed, ...], Field(min_length=2, max_length=2)] | None,
        Flag("Two platforms to compare, such as process,vm.", metavar="A,B", read=read_platforms),
    ] = Field(default=None, description='two platforms to compare, as ["process", "vm"]')
    duet: Annotated[
        bool, Flag("Run both sides of a pair at the same time, each on half of the cores.", name="--duet", kind=bool)
    ] = Field(default=False, description="true to run both sides of a pair at the same time, each on half of the cores")
    cpus: Annotated[
        Annotated[int, Field(ge=1, le=4096)] | None,
        Flag("Number of CPUs of each side, with --platform. Default: 1.", kind=int, min=1),
    ] = Field(default=None, description="CPUs of each side with platforms, 1 or more")
    start: SearchStart = Field(default=None, description="first load of the searches for peaks")
    width_pct: Width = Field(default=None, description="width of the bracket of these searches, in %")

    @property
    def brings_load(self) -> bool:
        """Where loads, peaks or platforms are compared, or both sides have one."""
        return self.at is not None or self.platform is not None or (has_load(self.a) and has_load(self.b))

    @property
    def varies_platform(self) -> bool:
        """Where a side has another."""
        return self.platform is not None or is_platform_among((*self.a, *self.b))
