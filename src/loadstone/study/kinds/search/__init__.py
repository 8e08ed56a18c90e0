"""`search`: the largest load that passes every rule. Pure."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from loadstone.judge.score import web_index
from loadstone.model.load import MOST_PER_S, MOST_SESSIONS
from loadstone.model.profile import Profile
from loadstone.model.reading import Flag
from loadstone.model.workload.bounds import Percent, Positive
from loadstone.study.kind import StudyContext, StudyKind, StudySection
from loadstone.study.kinds.search.answer import SearchAnswer
from loadstone.study.kinds.search.page import blocks
from loadstone.study.kinds.search.steps import Search

START = {"sessions": 100.0, "rate": 50.0}
"""First load of a search, unless told otherwise."""
WIDTH = {"quick": 0.05, "demo": 0.05}
"""Width of a search's bracket by profile; 1 % for all others."""

Start = Annotated[
    Positive | None, Flag("First load tried. Default: 100 sessions, or a rate of 50.", kind=float, min=1e-6)
]
"""Where a search begins, as users write it; None for the usual one."""
Width = Annotated[
    Percent | None,
    Flag(
        "Width of the bracket at which to stop, in %. Default: 1, quick profile 5.",
        name="--width",
        kind=float,
        min=0.01,
        max=50,
    ),
]
"""How narrow a search's bracket becomes, as users write it; None for what the profile says."""


class SearchSection(StudySection):
    """`[search]`: the largest load that passes every rule."""

    load: Annotated[Literal["sessions", "rate"], Flag("What the load is: sessions or rate.")] = Field(
        default="sessions", description="`sessions` or `rate`"
    )
    start: Start = Field(default=None, description="the first load tried, above 0")
    width_pct: Width = Field(default=None, description="width of the bracket at which to stop, in %")
    verify: Annotated[
        int, Field(ge=1, le=100), Flag("Fresh runs at the peak that must all pass.", kind=int, min=1, max=100)
    ] = Field(default=3, description="runs that must all pass, 1 or more")
    most: Annotated[Positive | None, Flag("The largest load to try.", kind=float, min=1e-6)] = Field(
        default=None, description="the largest load to try"
    )

    @property
    def brings_load(self) -> bool:
        """It finds it."""
        return True


def make_search(section: SearchSection, workload: str, profile: Profile) -> Search:
    """The search for one workload's peak."""
    ceiling = MOST_SESSIONS if section.load == "sessions" else MOST_PER_S
    return Search(
        workload=workload,
        settings={},
        load=section.load,
        start=section.start or START[section.load],
        width=(section.width_pct / 100) if section.width_pct else WIDTH.get(profile.name.split()[0], 0.01),
        verify=section.verify,
        most=min(section.most or ceiling, ceiling),
    )


def make(section: SearchSection, context: StudyContext) -> Search:
    """The question about one workload."""
    return make_search(section, context.workload.name, context.profile)


def index(answers: Sequence[SearchAnswer]) -> float | None:
    """The web index of the peaks, where they are numbers of sessions."""
    return web_index(
        {answer.workload: round(answer.peak) for answer in answers if answer.peak and answer.load == "sessions"}
    )


KIND = StudyKind(
    name="search",
    question="What is the largest load that passes every rule?",
    help="""Find the largest load that passes every rule, and verify it by fresh runs.

    [bold]loadstone search support --profile quick[/] finds the peak of the reference server;
    [bold]loadstone search static --load rate --station workers=4,service=0.004 --virtual[/] that of a modelled one.
    """,
    section=SearchSection,
    answer=SearchAnswer,
    make=make,
    blocks=blocks,
    instead_of_load="--start says where it begins.",
    index=index,
    rank=2,
)
