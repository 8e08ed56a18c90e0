"""`compare`: A against B, at one load, over a curve, at their peaks, or on two platforms. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from loadstone.model.errors import UsageError
from loadstone.model.reading import Flag, suggest
from loadstone.model.records.manifest import StudiedWorkload
from loadstone.page.blocks import Block, Paragraph
from loadstone.platforms.registry import platform_kind, platform_kinds
from loadstone.study.grid import names_platform
from loadstone.study.kind import IndexPair, StudyContext, StudyKind, StudySection
from loadstone.study.kinds.compare import loads, peaks, platforms
from loadstone.study.kinds.compare.loads import Compare, CompareAnswer, pairs_for
from loadstone.study.kinds.compare.peaks import ComparePeaks, PeaksAnswer
from loadstone.study.kinds.compare.platforms import Platforms, PlatformsAnswer
from loadstone.study.metrics import METRICS
from loadstone.study.parameters import Point, Points, has_load, points_text, read_settings, settings_text
from loadstone.study.question import Question
from loadstone.study.search.question import Search
from loadstone.study.search.section import SearchOptions, Start, Width, make_search
from loadstone.study.summary import RunSummary

Settings = dict[str, Point]
AnyAnswer = CompareAnswer | PeaksAnswer | PlatformsAnswer


def _known(name: str) -> str:
    if name not in platform_kinds():
        raise ValueError(f"there is no platform `{name}`")
    return name


PlatformNamed = Annotated[str, AfterValidator(_known)]
"""The name of a platform that there is."""


def read_at(text: str) -> object:
    """Reads `50,100,150` or `peak`."""
    return text if text == "peak" else tuple(word for word in text.split(",") if word)


def read_platforms(text: str) -> list[str]:
    """Reads `process,vm`; raises UsageError."""
    names = [platform_kind(word.strip()).name for word in text.split(",")]
    if len(names) != 2:
        raise UsageError("A comparison is of two platforms. Write them as --platform process,vm.")
    return names


class CompareSection(StudySection):
    """`[compare]`: A against B."""

    a: Annotated[Settings, Flag("Settings of A, as server.threads=1.", metavar="SETTINGS", read=read_settings)] = Field(
        default_factory=dict, description='a table of settings, as { "server.threads" = 1 }'
    )
    b: Annotated[Settings, Flag("Settings of B.", metavar="SETTINGS", read=read_settings)] = Field(
        default_factory=dict, description="a table of settings"
    )
    at: Annotated[
        Points | Literal["peak"] | None,
        Flag("Loads of a curve, as 50,100,150; or `peak`.", metavar="LOADS|peak", read=read_at),
    ] = Field(default=None, description="a list of loads for a curve, or `peak`; left out, the load of the study")
    load: Annotated[Literal["sessions", "rate"], Flag("What the load is: sessions or rate.")] = Field(
        default="sessions", description="`sessions` or `rate`"
    )
    pairs: Annotated[
        Annotated[int, Field(ge=1, le=1000)] | None,
        Flag("Pairs of runs at each load (6), or of searches (1).", kind=int, min=1, max=1000),
    ] = Field(default=None, description="pairs of runs, 1 or more")
    figure: Annotated[str, Flag("The figure the question is about.")] = Field(
        default="response_mean", description="the figure the question is about"
    )
    platform: Annotated[
        Annotated[tuple[PlatformNamed, ...], Field(min_length=2, max_length=2)] | None,
        Flag("Compare two platforms, as process,vm.", metavar="A,B", read=read_platforms),
    ] = Field(default=None, description='two platforms to compare, as ["process", "vm"]')
    duet: Annotated[bool, Flag("Both runs of a pair at the same time.", name="--duet", kind=bool)] = Field(
        default=False, description="true to make both runs of a pair at the same time, each on half of the cores"
    )
    cpus: Annotated[
        Annotated[int, Field(ge=1, le=4096)] | None,
        Flag("With --platform: CPUs of each side. Default: 1.", kind=int, min=1),
    ] = Field(default=None, description="of platforms: CPUs of each side, 1 or more")
    start: Start = Field(default=None, description="of the peaks' searches: the first load tried")
    width_pct: Width = Field(default=None, description="of the peaks' searches: width of the bracket in %")

    @property
    def brings_load(self) -> bool:
        """Where loads, peaks or platforms are compared, or both sides have one."""
        return self.at is not None or self.platform is not None or (has_load(self.a) and has_load(self.b))

    @property
    def varies_platform(self) -> bool:
        """Where a side has another."""
        return self.platform is not None or names_platform((*self.a, *self.b))


def make(section: CompareSection, context: StudyContext) -> Question[AnyAnswer]:
    """The question about one workload; raises UsageError."""
    workload = context.workload.name
    a, b = settings_text(section.a), settings_text(section.b)
    if section.figure not in METRICS:
        raise UsageError(f"There is no figure `{section.figure}`. {suggest(section.figure, set(METRICS))}")
    wanted = SearchOptions(load=section.load, start=section.start, width_pct=section.width_pct)

    def search(settings: Mapping[str, str], name: str, seed: int) -> Search:
        return replace(make_search(wanted, workload, context.profile), settings=settings, prefix=name, seed=seed)

    if section.duet and (section.platform is not None or section.at == "peak"):
        raise UsageError("Two runs at the same time are compared at a load, not at peaks. Leave out --duet.")
    if section.platform is not None:
        cpus = str(section.cpus or 1)
        sides = [
            {"platform": platform, "machine.cpus": cpus, **own}
            for platform, own in zip(section.platform, (a, b), strict=True)
        ]
        if sides[0] == sides[1]:
            raise UsageError("Both sides are the same. Name two platforms, or let --a and --b differ.")
        return Platforms(workload, sides[0], sides[1], search, section.pairs or 1)
    if section.at == "peak":
        return ComparePeaks(workload, a, b, search, section.pairs or 1)
    curve: tuple[dict[str, str], ...] = tuple({section.load: text} for text in points_text(section.at or ()))
    pairs = section.pairs or pairs_for(len(curve) or 1)
    return Compare(workload, {}, a, b, curve or ({},), pairs, section.figure, section.duet)


def blocks(answer: AnyAnswer, workload: StudiedWorkload, runs: Sequence[RunSummary]) -> Iterator[Block]:
    """What both sides were, and what was found."""
    yield Paragraph(f"A: {_settings(answer.a)}. B: {_settings(answer.b)}.")
    match answer:
        case CompareAnswer():
            yield from loads.blocks(answer)
        case PeaksAnswer():
            yield from peaks.blocks(answer)
        case PlatformsAnswer():
            yield from platforms.blocks(answer)


def promise(question: Question[AnyAnswer]) -> str:
    """What a comparison at loads is able to find; a search finds its own width."""
    return loads.promise(question) if isinstance(question, Compare) else ""


def _settings(settings: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in settings.items()) or "as it is"


def indices(answers: Sequence[AnyAnswer]) -> IndexPair | None:
    """The web index of both platforms."""
    return platforms.indices([answer for answer in answers if isinstance(answer, PlatformsAnswer)])


KIND: StudyKind[CompareSection, AnyAnswer] = StudyKind(
    name="compare",
    question="Is there a difference between A and B, and what does one cost against the other?",
    help="""Compare two settings in alternation: is there a difference, how large, and what can be excluded?

    Ends with exit code 1 when B is worse than A.

    [bold]loadstone compare support --sessions 50 --a server.threads=1 --b server.threads=2[/]
    [bold]loadstone compare support --platform process,vm[/]: peaks, response times and curves of two platforms.
    """,
    section=CompareSection,
    answer=AnyAnswer,  # type: ignore[arg-type]
    make=make,
    blocks=blocks,
    indices=indices,
    promise=promise,
    rank=4,
)
