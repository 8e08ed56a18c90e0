"""`peaks`: the largest load that passes, at every point of a sweep: scale-up against scale-out, virtual against native.
Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from pydantic import Field

from loadstone.model.errors import UsageError
from loadstone.model.numbers import ends, number, rounded
from loadstone.model.records.manifest import StudiedWorkload
from loadstone.page.blocks import Block, Column, ColumnKind, Figure, Gallery, Heading, Paragraph, Row, Table, Tone
from loadstone.page.plot import BarPlot, Plot
from loadstone.study.curves import AXIS
from loadstone.study.grid import PLATFORMS, Over, combinations, names_platform
from loadstone.study.kind import StudyContext, StudyKind
from loadstone.study.metrics import METRICS
from loadstone.study.parameters import has_load, parameter, points_text
from loadstone.study.question import Answer, key_of
from loadstone.study.search.answer import SearchAnswer
from loadstone.study.search.page import SEARCH_COLUMNS, search_cells
from loadstone.study.search.question import Search
from loadstone.study.search.section import SearchOptions, make_search
from loadstone.study.search.spec import SEEDS_APART
from loadstone.study.search.state import State
from loadstone.study.summary import RunRequest, RunSummary

SHARE = 0.8
"""Of a peak, at which CPU is looked at: the most that the published study advises to use (docs/studies.md)."""
BEGIN = 0.5
"""Share of the last point's peak that the next search begins at: a point that bears half of it is found in one step."""
PUBLISHED_RATIO = 0.90
"""Virtual by native, at least: what the published study found (docs/studies.md)."""
LEVELS = (0.5, 0.7, 0.9)
"""Shares of a point's CPUs at which response times are set beside each other; published: alike up to the last
(docs/studies.md).
"""
NOTE = (
    "Each peak is a search of its own: its interval says where a repetition would find it. CPU at 80 % of a peak is of "
    "a run made for that. A ratio's interval is what both searches' intervals allow together, so it is rather "
    "wide; one that holds 1 shows no difference."
)


class PeaksSection(SearchOptions):
    """`[peaks]`: parameters over points, and how each peak is searched."""

    over: Over = Field(
        description='a table as { machines = ["1x1", "1x2", "2x1"], platform = ["process", "container"] }'
    )

    @property
    def varies_platform(self) -> bool:
        """Where it is one of the parameters."""
        return names_platform(self.over)


@dataclass(frozen=True)
class PeakPoint:
    """A point with its search."""

    at: Mapping[str, str]
    search: SearchAnswer
    cpu_below: float | None = None
    """CPU of the system under test, in cores, at `SHARE` of the peak."""

    @property
    def name(self) -> str:
        """Its settings in words."""
        return ", ".join(f"{name}={value}" for name, value in self.at.items())

    @property
    def label(self) -> str:
        """The same in a picture, where there is little room: their values."""
        return ", ".join(self.at.values())


WIDEST = 4.0
"""Ends of a ratio's interval that are further from each other leave open which is the larger, and by how much."""


@dataclass(frozen=True)
class PeakRatio:
    """The peak of a point by that of another."""

    over: str
    under: str
    ratio: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, over: PeakPoint, under: PeakPoint) -> "PeakRatio | None":
        """None where one of them has no peak."""
        above, below = over.search, under.search
        if not above.peak or not below.peak:
            return None
        low = high = None
        if above.interval and below.interval:
            low, high = above.interval[0] / below.interval[1], above.interval[1] / below.interval[0]
        return cls(over.name, under.name, above.peak / below.peak, low, high)

    @property
    def says_nothing(self) -> bool:
        """Whether its interval holds half as well as twice as much, or more."""
        return self.low is not None and self.high is not None and self.high > WIDEST * self.low


@dataclass(frozen=True, kw_only=True)
class PeaksOverAnswer(Answer):
    """Every point's peak, and how peaks compare."""

    over: tuple[str, ...]
    load: str
    points: tuple[PeakPoint, ...]
    platforms: tuple[PeakRatio, ...] = ()
    """Each other platform by the first one, all else alike."""
    others: tuple[PeakRatio, ...] = ()
    """Each other point by the first one of the same platform."""

    @property
    def is_negative(self) -> bool:
        """Whether somewhere no load passes."""
        return any(point.search.is_negative for point in self.points)


@dataclass(frozen=True)
class Peaks:
    """A search at each point, one after the other, and then a run at a share of its peak."""

    workload: str
    over: tuple[tuple[str, tuple[str, ...]], ...]
    model: Search
    """What all searches have in common."""
    begins_where_told: bool = False
    """Whether all searches begin at one load."""
    _found: dict[tuple[str, ...], SearchAnswer] = field(default_factory=dict, compare=False, repr=False)
    """What searches came to, by the folders of their runs: it is asked for after each run, and takes seconds."""

    def points(self) -> list[dict[str, str]]:
        """All combinations, the last parameter varying fastest."""
        return combinations(self.over)

    def searches(self, runs: Sequence[RunSummary]) -> list[Search]:
        """One a point. Each begins below the peak of the one before, unless it was said where to begin."""
        searches, start = [], self.model.start
        for turn, point in enumerate(self.points(), start=1):
            search = replace(self.model, settings=point, start=start, prefix=f"p{turn}", seed=turn * SEEDS_APART)
            searches.append(search)
            peak = State(search, search.own(runs)).peak
            if peak and not self.begins_where_told:
                start = search.rounded(BEGIN * peak)
        return searches

    def requests(self) -> list[RunRequest]:
        """The first run of every search."""
        return [request for search in self.searches([]) for request in search.requests()]

    def next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
        """The next run of the first point that is not done."""
        wanted = (self._next_of(search, runs) for search in self.searches(runs))
        return next((request for request in wanted if request is not None), None)

    def _next_of(self, search: Search, runs: Sequence[RunSummary]) -> RunRequest | None:
        own = search.own(runs)
        request = search.next(own)
        if request is not None:
            return request
        peak = State(search, own).peak
        if peak is None or _below(search, runs):
            return None
        load = search.text(max(1.0, SHARE * peak) if search.load == "sessions" else SHARE * peak)
        key = f"{search.prefix}-{key_of(len(own) + 1, self.workload, f'{search.load}-{load}-below')}"
        settings = {**search.settings, search.load: load}
        return RunRequest(key, self.workload, settings, search.seed + len(own), search=_tag(search))

    def left(self, runs: Sequence[RunSummary]) -> int:
        """About how many runs are left in all searches, with one more at each."""
        searched = sum(search.left(search.own(runs)) for search in self.searches(runs))
        return searched + sum(not _below(search, runs) for search in self.searches(runs))

    def _answer(self, search: Search, runs: Sequence[RunSummary]) -> SearchAnswer:
        own = search.own(runs)
        key = (search.prefix, *(run.folder for run in own))
        if key not in self._found:
            self._found[key] = search.answer(own)
        return self._found[key]

    def answer(self, runs: Sequence[RunSummary]) -> PeaksOverAnswer:
        """Every peak so far."""
        begun = [search for search in self.searches(runs) if search.own(runs)]
        points = [PeakPoint(search.settings, self._answer(search, runs), _cpu(search, runs)) for search in begun]
        platforms, others = list(_by_platform(points)), list(_by_first(points))
        return PeaksOverAnswer(
            workload=self.workload,
            over=tuple(name for name, _ in self.over),
            load=self.model.load,
            points=tuple(points),
            platforms=tuple(platforms),
            others=tuple(others),
            is_answered=self.next(runs) is None and all(point.search.is_answered for point in points),
            headline=tuple(_headline(points, platforms, others)),
        )


def _tag(search: Search) -> str:
    return f"{search.prefix}-below"


def _below(search: Search, runs: Sequence[RunSummary]) -> list[RunSummary]:
    return [run for run in runs if run.request.search == _tag(search)]


def _cpu(search: Search, runs: Sequence[RunSummary]) -> float | None:
    valid = [run for run in _below(search, runs) if run.is_valid]
    return valid[0].metrics.get("server_cpu") if valid else None


def _by_platform(points: Sequence[PeakPoint]) -> Iterator[PeakRatio]:
    """Each other platform by the one that is named first, all else alike."""
    for name in PLATFORMS:
        first = next((point.at[name] for point in points if name in point.at), None)
        for point in points:
            if first is None or point.at.get(name, first) == first:
                continue
            beside = next((one for one in points if one.at == {**point.at, name: first}), None)
            ratio = PeakRatio.of(point, beside) if beside is not None else None
            if ratio is not None:
                yield ratio


def _by_first(points: Sequence[PeakPoint]) -> Iterator[PeakRatio]:
    """Each other point by the first of the same platform."""
    firsts: dict[tuple[str | None, ...], PeakPoint] = {}
    for point in points:
        first = firsts.setdefault(platforms(point), point)
        ratio = PeakRatio.of(point, first) if point is not first else None
        if ratio is not None:
            yield ratio


def _headline(
    points: Sequence[PeakPoint], platforms: Sequence[PeakRatio], others: Sequence[PeakRatio]
) -> Iterator[str]:
    for point in points:
        if point.search.peak is None:
            yield f"{point.name}: {point.search.headline[0] if point.search.headline else 'no peak yet.'}"
            continue
        span = point.search.interval
        within = " (interval {} to {})".format(*ends(span)) if span else ""
        limit = f"; full: {point.search.bottleneck}" if point.search.bottleneck else ""
        yield f"{point.name}: {rounded(point.search.peak)} {point.search.load}{within}{limit}."
    for ratio in (*platforms, *others):
        if ratio.says_nothing:
            yield f"{ratio.over} against {ratio.under}: the searches do not tell, {_in_words(ratio)}."
        else:
            yield f"{ratio.over} bears {_in_words(ratio)} of what {ratio.under} bears."


def _in_words(ratio: PeakRatio) -> str:
    if ratio.low is None or ratio.high is None:
        return f"{100 * ratio.ratio:.0f} % (no interval)"
    return f"{100 * ratio.ratio:.0f} % ({100 * ratio.low:.0f} to {100 * ratio.high:.0f} %)"


def make(section: PeaksSection, context: StudyContext) -> Peaks:
    """The question about one workload; raises UsageError."""
    over = {parameter(name).name: points_text(points) for name, points in section.over.items()}
    if has_load(over):
        raise UsageError("The load is what is searched at each point: vary something else, or use `loadstone sweep`.")
    search = make_search(section, context.workload.name, context.profile)
    return Peaks(context.workload.name, tuple(over.items()), search, section.start is not None)


def blocks(answer: PeaksOverAnswer, workload: StudiedWorkload, runs: Sequence[RunSummary]) -> Iterator[Block]:
    """Peaks beside each other, curves over the load, every peak with its interval, the ratios."""
    yield Gallery(list(_figures(answer)))
    columns = [*(Column(name, ColumnKind.TEXT) for name in answer.over), *SEARCH_COLUMNS]
    yield Table([*columns, Column("CPU at 80 %, cores")], [_row(answer, point) for point in answer.points])
    yield from _ratios(f"Platforms (published: at least {PUBLISHED_RATIO:.2f})", answer.platforms)
    yield from _ratios("Against the first point", answer.others)
    yield from _up_and_out(answer)
    yield Paragraph(NOTE, Tone.QUIET)


def _up_and_out(answer: PeaksOverAnswer) -> Iterator[Block]:
    """Response times of points that have as many CPUs in other machines, where they use as many of them."""
    metric, title = _response(answer)
    rows = []
    for at, over in enumerate(answer.points):
        for under in answer.points[:at]:
            if cpus(over) and cpus(over) == cpus(under) and platforms(over) == platforms(under):
                ratios = [_times(over, under, level * cpus(over), metric) for level in LEVELS]
                rows.append(Row([over.name, under.name, *(number(ratio, 2) or "not measured" for ratio in ratios)]))
    if not rows:
        return
    yield Heading("As many CPUs in other machines")
    told = f"{title}, one by the other, at the loads where both use so much of their CPUs; between two runs by a line."
    yield Paragraph(f"{told} Published: alike up to {100 * LEVELS[-1]:.0f} %.")
    columns = [Column("of", ColumnKind.TEXT), Column("by that of", ColumnKind.TEXT)]
    yield Table([*columns, *(Column(f"at {100 * level:.0f} %") for level in LEVELS)], rows)


def cpus(point: PeakPoint) -> int:
    """How many it has, by its parameter `machines`; 0 where that does not say."""
    count, _, each = point.at.get("machines", "").partition("x")
    return int(count) * int(each) if count.isdigit() and each.isdigit() else 0


def platforms(point: PeakPoint) -> tuple[str | None, ...]:
    """Where it ran, as far as that was varied."""
    return tuple(point.at.get(name) for name in PLATFORMS)


def _times(over: PeakPoint, under: PeakPoint, used: float, metric: str) -> float | None:
    above, below = (_at_use(point, used, metric) for point in (over, under))
    return above / below if above is not None and below else None


def _at_use(point: PeakPoint, used: float, metric: str) -> float | None:
    """A response time where so many CPUs are used; None beyond what was measured of loads up to the peak."""
    seen = sorted(
        (load.metrics["server_cpu"].mean, load.metrics[metric].mean)
        for load in point.search.loads
        if {"server_cpu", metric} <= load.metrics.keys() and load.at <= (point.search.peak or 0)
    )
    for (low, fast), (high, slow) in pairwise(seen):
        if low <= used <= high:
            return fast + (slow - fast) * (used - low) / (high - low) if high > low else fast
    return None


def _row(answer: PeaksOverAnswer, point: PeakPoint) -> Row:
    return Row([*(point.at[name] for name in answer.over), *search_cells(point.search), number(point.cpu_below, 2)])


def _ratios(title: str, ratios: Sequence[PeakRatio]) -> Iterator[Block]:
    if not ratios:
        return
    yield Heading(title)
    columns = [Column("peak of", ColumnKind.TEXT), Column("by that of", ColumnKind.TEXT)]
    rows = [Row([one.over, one.under, number(one.ratio, 2), number(one.low, 2), number(one.high, 2)]) for one in ratios]
    yield Table([*columns, Column("ratio"), Column("at least"), Column("at most")], rows)


def _response(answer: PeaksOverAnswer) -> tuple[str, str]:
    """The one response time that curves are of: weighted by the mix where each kind of operation has its limit."""
    loads = [load for point in answer.points for load in point.search.loads]
    if loads and all("response_weighted" in load.metrics for load in loads):
        return "response_weighted", "Response time, percentile weighted by the mix"
    return "response_p90", "Response time, 90th percentile"


def _figures(answer: PeaksOverAnswer) -> Iterator[Figure]:
    peaks = [
        {"name": point.label, "value": point.search.peak, "series": "peak", "rank": at}
        for at, point in enumerate(answer.points)
        if point.search.peak is not None
    ]
    if peaks:
        yield Figure("Peaks", "The largest load that passed every rule, by search.", BarPlot(answer.load, peaks))
    response, title = _response(answer)
    used = [
        {"x": load.metrics["server_cpu"].mean, "y": load.metrics[response].mean, "series": point.label}
        for point in answer.points
        for load in point.search.loads
        if {"server_cpu", response} <= load.metrics.keys() and load.at <= (point.search.peak or load.at)
    ]
    if used:
        plot = Plot("CPU of the system, cores", METRICS[response].axis_title, used, used)
        yield Figure(f"{title}, over CPU", "Up to each peak, one line a point.", plot)
    for metric, name in ((response, title), ("server_cpu", "CPU of the system")):
        drawn = [
            {"x": load.at, "y": load.metrics[metric].mean, "series": point.label}
            for point in answer.points
            for load in point.search.loads
            if metric in load.metrics and load.at <= (point.search.peak or load.at)
        ]
        if drawn:
            plot = Plot(AXIS[answer.load], METRICS[metric].axis_title, drawn, drawn)
            yield Figure(name, "Over the load up to each peak, one line a point.", plot)


KIND = StudyKind(
    name="peaks",
    question="How does the largest load that passes grow?",
    help="""Find the largest load that passes every rule, at every point of a sweep.

    [bold]loadstone peaks bookstore --over machines=1x1,1x2,2x1 --over platform=process,container[/] searches six peaks
    in one study that goes on where it was interrupted.
    """,
    section=PeaksSection,
    answer=PeaksOverAnswer,
    make=make,
    blocks=blocks,
    instead_of_load="--start says where each search begins.",
    rank=4,
)
