"""`search`: the largest load that passes every rule. Bracket, narrow, confirm, verify. Pure.

Near the peak a single run passes or fails by chance. So a failure counts when a second run confirms it, and a peak is
one only when fresh runs at it all pass; runs that were made for finding it do not count, since they were chosen for
having passed.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from loadstone.judge.score import web_index
from loadstone.judge.statistics import LEVEL
from loadstone.model.load import MOST_PER_S, MOST_SESSIONS
from loadstone.model.profile import Profile
from loadstone.model.reading import Flag
from loadstone.model.records.check import Check
from loadstone.model.records.manifest import StudiedWorkload
from loadstone.model.records.verdict import Verdict
from loadstone.model.workload import Percent, Positive
from loadstone.page.blocks import Block, Cell, Column, ColumnKind, Fold, Gallery, Paragraph, Row, Table, Tone
from loadstone.page.numbers import rounded, shown
from loadstone.study.curves import AXIS, common_verdict, over_load
from loadstone.study.edge import Edge, find_edge
from loadstone.study.kind import StudyContext, StudyKind, StudySection
from loadstone.study.metrics import METRICS
from loadstone.study.question import Answer, key_of
from loadstone.study.summary import Purpose, RunRequest, RunSummary

LARGEST_STEP, SMALLEST_STEP = 4.0, 1.5
"""By how much the load grows while nothing fails: much where little is used, little where much is."""
LEAST_RATE = 0.01
"""Arrivals per second below which nothing is tried."""
USED_AT_MOST = 0.8
"""Share of what limits it that a step up may aim at."""
REPETITIONS = 200
"""Repeated searches that an interval is made of."""
MOST_RUNS = 60
"""Runs after which a search gives up."""
START = {"sessions": 100.0, "rate": 50.0}
"""First load of a search, unless told otherwise."""
WIDTH = {"quick": 0.05, "demo": 0.05}
"""Width of a search's bracket by profile; 1 % for all others."""
BEYOND = 1.5
"""Loads up to so many times the peak are drawn; all are in the table."""


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


class LimitedBy(StrEnum):
    """What ended a search upwards."""

    RULE = "rule"
    DRIVER = "driver"
    MOST = "most"
    """The most that was allowed."""
    NOTHING = "none"
    """Nothing yet."""


class Standing(StrEnum):
    """What is known of a load."""

    PASSES = "passes"
    VERIFIED = "verified"
    FAILS = "fails"
    OPEN = "open"
    """As many runs passed as did not."""


@dataclass(frozen=True)
class BrokenRule:
    """A rule that was broken, in how many of the runs at that load."""

    rule: str
    runs: int
    of: int


@dataclass(frozen=True)
class Spread:
    """A metric over the runs at one load."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class SearchedRun:
    """A run at a load."""

    purpose: Purpose
    verdict: Verdict
    folder: str


@dataclass(frozen=True)
class SearchedLoad:
    """A load on the way: its runs, its metrics and its rules."""

    at: float
    standing: Standing
    runs: tuple[SearchedRun, ...]
    metrics: Mapping[str, Spread]
    rules: tuple[Check, ...]
    broken: tuple[str, ...]
    """Titles of the rules that were broken."""


@dataclass(frozen=True, kw_only=True)
class SearchAnswer(Answer):
    """The peak, how sure it is, what broke first, and how each metric moved on the way."""

    settings: Mapping[str, str]
    load: str
    """`sessions` or `rate`."""
    width: float
    verify: int
    peak: float | None
    interval: tuple[float, float] | None
    limit: LimitedBy
    broke_first: tuple[BrokenRule, ...] = ()
    loads: tuple[SearchedLoad, ...] = ()
    runs: int = 0

    @property
    def is_negative(self) -> bool:
        """Whether no load passes."""
        return self.peak is None

    @property
    def is_unreached(self) -> bool:
        """Whether the driver was the limit everywhere."""
        return self.peak is None and self.limit is LimitedBy.DRIVER


@dataclass(frozen=True)
class Search:
    """The peak of one setting."""

    workload: str
    settings: Mapping[str, str]
    load: str
    """`sessions` or `rate`."""
    start: float
    width: float
    """Relative width of the bracket at which to stop narrowing."""
    verify: int = 3
    most: float = MOST_SESSIONS
    prefix: str = ""
    """Begins the keys of its runs, where a study makes several searches."""
    seed: int = 0
    """Of its first run."""

    def own(self, made: Sequence[RunSummary]) -> list[RunSummary]:
        """Of a study's runs those of this search."""
        return [run for run in made if run.request.search == self.prefix]

    def requests(self) -> list[RunRequest]:
        """Its first run; the others follow from what it brings."""
        first = self.next([])
        return [first] if first is not None else []

    def next(self, made: Sequence[RunSummary]) -> RunRequest | None:
        """The next run; None when the peak is verified, or cannot be found."""
        state = State(self, made)
        if len(made) >= MOST_RUNS or state.peak is not None:
            return None
        step = state.step()
        if step is None:
            return None
        load, purpose = step
        text = self.text(load)
        key = key_of(len(made) + 1, self.workload, f"{self.load}-{text}-{purpose}")
        key = f"{self.prefix}-{key}" if self.prefix else key
        settings = {**self.settings, self.load: text}
        return RunRequest(key, self.workload, settings, self.seed + len(made), purpose, search=self.prefix)

    def left(self, made: Sequence[RunSummary]) -> int:
        """About how many runs are left: the halvings of the bracket, its confirmation and the verification."""
        state = State(self, made)
        if self.next(made) is None:
            return 0
        if state.lowest_failing is None or state.largest_passing is None:
            return self.verify + 1 + math.ceil(math.log2(1 / self.width)) + 2
        gap = state.lowest_failing / state.largest_passing - 1
        halvings = max(0, math.ceil(math.log2(max(gap, self.width) / self.width)))
        verified = sum(
            one.request.purpose is Purpose.VERIFY and one.request.load == state.largest_passing for one in made
        )
        return max(1, halvings + self.verify - verified)

    def answer(self, made: Sequence[RunSummary]) -> SearchAnswer:
        """The peak, how sure it is, what broke first, and how each metric moved on the way."""
        state = State(self, made)
        interval = None
        if state.peak is not None:
            interval = _interval(self, state.peak, state.lowest_failing or state.peak, find_edge(made, state.peak))
        return SearchAnswer(
            workload=self.workload,
            settings=dict(self.settings),
            load=self.load,
            width=self.width,
            verify=self.verify,
            peak=state.peak,
            interval=interval,
            limit=state.limit(),
            broke_first=tuple(state.broke_first()),
            loads=tuple(_at(load, state.at(load), state.standing(load)) for load in state.loads),
            runs=len(made),
            is_answered=self.next(made) is None and bool(made),
            headline=tuple(_headline(self, state, interval)),
        )

    def text(self, load: float) -> str:
        """A load as a setting."""
        return f"{round(load)}" if self.load == "sessions" else f"{load:.6g}"

    def rounded(self, load: float) -> float:
        """A load that can be set."""
        return max(1.0, float(self.text(load))) if self.load == "sessions" else float(self.text(load))


class State:
    """What the runs made so far say; everything a search decides follows from it."""

    def __init__(self, search: Search, made: Sequence[RunSummary]) -> None:
        self.search = search
        self.made = made
        self.loads = sorted({one.request.load for one in made})
        standings = {load: self.standing(load) for load in self.loads}
        failing = [load for load, standing in standings.items() if standing is Standing.FAILS]
        self.lowest_failing = min(failing, default=None)
        passing = [load for load, standing in standings.items() if standing in (Standing.PASSES, Standing.VERIFIED)]
        self.passing = [load for load in passing if self.lowest_failing is None or load < self.lowest_failing]
        self.largest_passing = max(self.passing, default=None)
        self.open = [load for load, standing in standings.items() if standing is Standing.OPEN]

    def at(self, load: float) -> list[RunSummary]:
        """The runs at a load."""
        return [one for one in self.made if one.request.load == load]

    def standing(self, load: float) -> Standing:
        """What is known of a load: a failed verification is final, otherwise the majority counts."""
        runs = self.at(load)
        proofs = [run.passed for run in runs if run.request.purpose is Purpose.VERIFY]
        if not all(proofs):
            return Standing.FAILS
        if len(proofs) >= self.search.verify:
            return Standing.VERIFIED
        others = [run.passed for run in runs if run.request.purpose is not Purpose.VERIFY]
        passed, failed = others.count(True), others.count(False)
        if passed == failed:
            return Standing.OPEN
        return Standing.PASSES if passed > failed else Standing.FAILS

    @property
    def peak(self) -> float | None:
        """The verified load, once the bracket above it is narrow and its upper end is certain."""
        top = self.largest_passing
        if top is None or self.standing(top) is not Standing.VERIFIED:
            return None
        above = self.lowest_failing
        if above is None:
            return top if top >= self.search.most else None
        return top if self._is_narrow(top, above) and self._is_certain(above) else None

    def step(self) -> tuple[float, Purpose] | None:
        """The next load and what for; None when nothing passes at all."""
        search = self.search
        if not self.made:
            return search.rounded(min(search.start, search.most)), Purpose.PROBE
        if self.open:
            return self.open[0], Purpose.CONFIRM
        top, above = self.largest_passing, self.lowest_failing
        if top is None:
            return self._down(above or search.start)
        if above is None:
            return self._up(top)
        if not self._is_narrow(top, above):
            return self._between(top, above), Purpose.PROBE
        if not self._is_certain(above):
            return above, Purpose.CONFIRM
        return top, Purpose.VERIFY

    def _down(self, load: float) -> tuple[float, Purpose] | None:
        lower = max(self.search.rounded(load / LARGEST_STEP), 1 if self.search.load == "sessions" else LEAST_RATE)
        if lower < load:
            return lower, Purpose.PROBE
        return None if self._is_certain(load) else (load, Purpose.CONFIRM)

    def _up(self, load: float) -> tuple[float, Purpose]:
        if load >= self.search.most:
            return load, Purpose.VERIFY
        higher = self.search.rounded(load * self._growth(load))
        return min(higher, self.search.most), Purpose.PROBE

    def _growth(self, load: float) -> float:
        """Towards four fifths of the fullest of machine, server, station and driver thread."""
        run = self.at(load)[-1]
        metrics, capacity = run.metrics, run.capacity
        shares = [
            metrics.get(figure, 0) / capacity[held]
            for figure, held in (("host_cpu", "cores"), ("server_cpu", "server_cores"), ("busy_workers", "workers"))
            if capacity.get(held)
        ]
        used = max([*shares, metrics.get("driver_cpu", 0) / 100, 1e-3])
        return max(SMALLEST_STEP, min(LARGEST_STEP, USED_AT_MOST / used))

    def _between(self, low: float, high: float) -> float:
        """Half way; just below a load that failed only when verified, since the edge is near it."""
        search = self.search
        proofs = [one for one in self.at(high) if one.request.purpose is Purpose.VERIFY]
        near = search.rounded(high * (1 - search.width))
        if proofs and low < near < high:
            return near
        middle = search.rounded(math.sqrt(low * high) if high > 2 * low else (low + high) / 2)
        return middle if low < middle < high else near

    def _is_narrow(self, low: float, high: float) -> bool:
        if high - low <= self.search.width * high * (1 + 1e-9):
            return True
        return self.search.load == "sessions" and high - low <= 1

    def _is_certain(self, failing: float) -> bool:
        """Whether a failure was seen twice, or the driver was the limit, which is no matter of chance."""
        runs = self.at(failing)
        return len(runs) >= 2 or any(run.is_driver_bound for run in runs)

    def limit(self) -> LimitedBy:
        """What ended the search upwards."""
        above = self.lowest_failing
        if above is None:
            at_most = self.largest_passing is not None and self.largest_passing >= self.search.most
            return LimitedBy.MOST if at_most else LimitedBy.NOTHING
        return LimitedBy.DRIVER if any(run.is_driver_bound for run in self.at(above)) else LimitedBy.RULE

    def broke_first(self) -> list[BrokenRule]:
        """The rules broken at the lowest failing load, the most frequent first."""
        if self.lowest_failing is None:
            return []
        runs = self.at(self.lowest_failing)
        titles = {check.id: check.rule for run in runs for check in run.broken()}
        counts = Counter(check.id for run in runs for check in run.broken())
        return [BrokenRule(titles[name], count, len(runs)) for name, count in counts.most_common()]


def _interval(search: Search, peak: float, above: float, edge: Edge | None) -> tuple[float, float]:
    """Where a repetition of the search would find its peak: from the bracket, less and more by what noise would do.

    The search itself is repeated against a server that passes up to the edge found, with the noise found, both as
    uncertain as they are.
    """
    low, high = peak * (1 - search.width), above
    if edge is None:
        return low, high
    chance = np.random.default_rng(1)
    peaks = [found for _ in range(REPETITIONS) if (found := _repeated(search, peak, edge, chance)) is not None]
    if not peaks:
        return low, high
    tail = (1 - LEVEL) / 2
    return min(low, float(np.quantile(peaks, tail))), max(high, float(np.quantile(peaks, 1 - tail)))


def _repeated(search: Search, peak: float, edge: Edge, chance: np.random.Generator) -> float | None:
    scale = math.sqrt(edge.freedom / chance.chisquare(edge.freedom))
    at = edge.at + edge.sd * scale * chance.standard_normal()
    # Not from the very beginning, since far from the edge nothing is left to chance; nor always from the same load.
    start = search.rounded(peak * chance.uniform(0.75, 0.95))
    repetition = replace(search, start=start, prefix="", settings={})
    played: list[RunSummary] = []
    while (request := repetition.next(played)) is not None:
        noise = edge.noise * scale * chance.standard_normal()
        verdict = Verdict.PASS if math.log(request.load) + noise <= at else Verdict.FAIL
        played.append(RunSummary(request, "", verdict))
    return State(repetition, played).peak


def _at(load: float, runs: Sequence[RunSummary], standing: Standing) -> SearchedLoad:
    """A load on the way: its runs, its metrics and its rules."""
    metrics = {}
    for name in METRICS:
        values = [run.metrics[name] for run in runs if name in run.metrics]
        if values:
            metrics[name] = Spread(sum(values) / len(values), min(values), max(values))
    return SearchedLoad(
        at=load,
        standing=standing,
        runs=tuple(SearchedRun(run.request.purpose, run.verdict, run.folder) for run in runs),
        metrics=metrics,
        rules=runs[-1].checks if runs else (),
        broken=tuple(sorted({check.rule for run in runs for check in run.broken()})),
    )


def _headline(search: Search, state: State, interval: tuple[float, float] | None) -> list[str]:
    if not state.made:
        return ["No run was made yet."]
    unit = "sessions" if search.load == "sessions" else "arrivals/s"
    if state.peak is None:
        if search.next(state.made) is not None:
            return ["The search is under way."]
        if state.largest_passing is None:
            who = "The driver was the limit everywhere" if state.limit() is LimitedBy.DRIVER else "No load passes"
            return [f"{who}: {search.text(state.loads[0])} {unit} already does not pass. {_broken(state)}"]
        return [f"No peak within {MOST_RUNS} runs; {search.text(state.largest_passing)} {unit} passed, unverified."]
    peak = search.text(state.peak)
    lines = [f"Peak: {peak} {unit}, verified by {search.verify} passing run{'s' * (search.verify != 1)}."]
    match state.limit():
        case LimitedBy.DRIVER:
            lines[0] = (
                f"The driver was the limit: {peak} {unit} pass, verified by {search.verify} runs, and at "
                f"{search.text(state.lowest_failing or 0)} the driver no longer kept up. The peak is at least {peak}."
            )
        case LimitedBy.MOST:
            lines[0] = f"{peak} {unit}, the most that was allowed, pass, verified by {search.verify} runs."
        case _ if interval is not None:
            low, high = (search.text(end) for end in interval)
            lines[0] += f" A repetition would find {low} to {high}."
    return [*lines, _broken(state)] if state.lowest_failing is not None else lines


def _broken(state: State) -> str:
    words = ", ".join(f"{one.rule} (in {one.runs} of {one.of} runs)" for one in state.broke_first())
    load = state.search.text(state.lowest_failing or 0)
    return f"Broke first, at {load}: {words}." if words else f"At {load} no complete run could be made."


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


SHOWN = (
    ("throughput", "operations/s", 1),
    ("response_p95", "p95, s", None),
    ("response_p99", "p99, s", None),
    ("good", "good, %", 2),
    ("tolerable", "tolerable, %", 2),
    ("errors", "errors, %", 2),
    ("server_cpu", "server CPU", 2),
    ("host_cpu", "machine CPU", 2),
    ("driver_cpu", "driver thread, %", 0),
)
"""Metrics of the table, with their titles and digits."""


def blocks(answer: SearchAnswer, workload: StudiedWorkload, runs: Sequence[RunSummary]) -> Iterator[Block]:
    """The curves over load, every load that was tried, and every rule on the way."""
    verdicts = {load.at: common_verdict([run.verdict for run in load.runs]) for load in answer.loads}
    marks = [{"x": answer.peak, "label": "peak"}] if answer.peak is not None else []
    far = BEYOND * answer.peak if answer.peak is not None else math.inf  # what lies far beyond flattens the rest
    points = [(load.at, _means(load)) for load in answer.loads if load.at <= far]
    yield Gallery(list(over_load(points, AXIS[answer.load], workload, marks, verdicts)))
    text = [Column("standing", ColumnKind.TEXT), Column("runs", ColumnKind.TEXT)]
    columns = [Column(answer.load), *text, *(Column(title) for _, title, _ in SHOWN)]
    yield Table([*columns, Column("broken rules", ColumnKind.LONG)], [_row(answer, load) for load in answer.loads])
    yield Paragraph(_note(answer), Tone.QUIET)
    yield Fold("Every rule on the way", [_rules(answer)])


def _means(load: SearchedLoad) -> dict[str, float]:
    return {name: spread.mean for name, spread in load.metrics.items()}


def _row(answer: SearchAnswer, load: SearchedLoad) -> Row:
    is_peak = load.at == answer.peak
    runs = ", ".join(f"{run.verdict} ({run.purpose})" for run in load.runs)
    means = _means(load)
    metrics = [shown(means.get(name), digits) for name, _, digits in SHOWN]
    tone = Tone(common_verdict([run.verdict for run in load.runs]).value)
    name = f"{rounded(load.at)}{' (peak)' * is_peak}"
    return Row([name, load.standing, Cell(runs, tone), *metrics, ", ".join(load.broken)], is_total=is_peak)


def _note(answer: SearchAnswer) -> str:
    text = (
        "A load passes when most of its runs do; the failure above the peak was seen at least twice, or was the "
        f"driver's; the peak stands when {answer.verify} fresh runs at it all pass. Narrowed to "
        f"{rounded(100 * answer.width)} %."
    )
    if answer.interval is None:
        return text
    low, high = map(rounded, answer.interval)
    return f"{text} The interval says where a repetition of this search would find its peak: {low} to {high}."


def _rules(answer: SearchAnswer) -> Table:
    columns = [Column("rule"), *(Column(rounded(load.at)) for load in answer.loads), Column("limit", ColumnKind.TEXT)]
    rows = []
    for rule in answer.loads[0].rules if answer.loads else ():
        cells: list[str | Cell] = [rule.rule]
        for load in answer.loads:
            check = next((check for check in load.rules if check.id is rule.id), None)
            tone = Tone.BROKEN if rule.rule in load.broken else Tone.PLAIN
            cells.append(Cell(rounded(check.figure) if check else "", tone))
        rows.append(Row([*cells, f"{rule.bound} {rounded(rule.limit)} {rule.unit}"]))
    return Table(columns, rows)


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
