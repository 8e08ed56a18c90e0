"""How a search is declared: fields that every kind of study has that searches for peaks. Pure."""

from typing import Annotated

from pydantic import Field

from loadstone.model.load import MOST_PER_S, MOST_SESSIONS
from loadstone.model.profile import Profile
from loadstone.model.reading import Flag
from loadstone.model.workload.bounds import Percent, Positive
from loadstone.study.kind import StudySection
from loadstone.study.parameters import LoadKind
from loadstone.study.search.question import Search

START = {"sessions": 100.0, "rate": 50.0}
"""First load of a search, unless told otherwise."""
SEARCH_WIDTH = {"quick": 0.05, "demo": 0.05}
"""Width of a search's bracket by profile; 1 % for all others."""
SearchStart = Annotated[
    Positive | None,
    Flag("First load to try. Default: 100 sessions, or 50 session arrivals per second.", kind=float, min=1e-6),
]
"""Where a search begins, as users write it; None for the usual one."""
Width = Annotated[
    Percent | None,
    Flag(
        "Width of the bracket at which to stop, in %. Default: 1, or 5 with the profile quick.",
        name="--width",
        kind=float,
        min=0.01,
        max=50,
    ),
]
"""How narrow a search's bracket becomes, as users write it; None for what the profile says."""


class SearchOptions(StudySection):
    """How a study searches for peaks: fields of the section of each kind that does."""

    load: LoadKind = Field(default="sessions", description="`sessions` or `rate`")
    start: SearchStart = Field(default=None, description="first load to try, above 0")
    width_pct: Width = Field(default=None, description="width of the bracket at which to stop, in %")
    verify: Annotated[
        int, Field(ge=1, le=100), Flag("Number of new runs at the peak that must all pass.", kind=int, min=1, max=100)
    ] = Field(default=3, description="runs that must all pass, 1 or more")
    most: Annotated[Positive | None, Flag("Largest load to try.", kind=float, min=1e-6)] = Field(
        default=None, description="the largest load to try"
    )

    below_cpu_pct: Annotated[
        Percent | None,
        Flag(
            "Largest CPU use of the system under test, in % of its CPU. Default: none, only rules limit the load.",
            name="--below-cpu",
            kind=float,
            min=1,
            max=100,
        ),
    ] = Field(default=None, description="largest CPU use of the system under test, in %")

    @property
    def brings_load(self) -> bool:
        """It finds it."""
        return True


def make_search(options: SearchOptions, workload: str, profile: Profile) -> Search:
    """The search for one workload's peak, with the usual settings where none are given."""
    ceiling = MOST_SESSIONS if options.load == "sessions" else MOST_PER_S
    return Search(
        workload=workload,
        settings={},
        load=options.load,
        start=options.start or START[options.load],
        width=(options.width_pct / 100) if options.width_pct else SEARCH_WIDTH.get(profile.name.split()[0], 0.01),
        verify=options.verify,
        most=min(options.most or ceiling, ceiling),
        below_cpu_pct=options.below_cpu_pct,
    )
