"""`compare --platform`: what a platform costs against another. Peaks of both, response times at a share of A's peak and
of the smaller one, curves over loads that both were given, and the load where they part. Pure.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Any

from loadstone.judge.score import web_index
from loadstone.model.numbers import number, rounded, shown
from loadstone.page.blocks import Block, Cell, Column, ColumnKind, Figure, Gallery, Heading, Paragraph, Row, Table, Tone
from loadstone.page.plot import Plot
from loadstone.study.answers import changed_answers, changes_in_words
from loadstone.study.conditions import unlike
from loadstone.study.curves import AXIS
from loadstone.study.kind import IndexPair
from loadstone.study.kinds.compare.loads import side_by_turn
from loadstone.study.kinds.compare.peaks import MakeSearch, SideSearch, never_passing, passing_sides
from loadstone.study.kinds.compare.platform_rows import PlatformTable, SideMeans, tables
from loadstone.study.metrics import METRICS
from loadstone.study.question import Answer, count_verdicts, key_of, missing
from loadstone.study.search.answer import LimitedBy
from loadstone.study.search.page import SEARCH_COLUMNS, search_cells
from loadstone.study.search.question import Search
from loadstone.study.search.spec import SEEDS_APART
from loadstone.study.search.state import State
from loadstone.study.summary import Purpose, RunRequest, RunSummary, Side

Settings = Mapping[str, str]
CURVES = "curves"
"""What the runs at loads of the curves belong to, beside the two searches."""

TYPICAL = 0.8
"""Share of the native peak at which response times are compared (published comparison: 78 to 85 %)."""
STEPS = (0.2, 0.4, 0.6, 1.0)
"""Shares of the smaller peak at which curves have points on both sides, besides TYPICAL."""
NEAR = 0.05
"""Two loads closer than this are one."""
APART_PCT = 10.0
"""How much longer B's 90th percentile must be for the curves to have parted."""
APART_METRIC = "response_p90"
BEYOND = 1.5
"""Loads up to so many times the smaller peak are drawn; all are in the table."""
NOTE = (
    "The curves have parted where the 90th percentile is more than 10 % longer on B at a load and at every higher one. "
    "Both platforms were given the same load in turn. CPU of the system is that of the processes that serve, or of the "
    "whole hypervisor process of a machine; the back-end simulator and the driver are not in it. Payload is that of "
    "operations that lie whole in the steady state; what its edges cut, as long downloads, is in the line's figure. "
    "What a machine's own kernel counts as its CPU time is not what the host spends on it."
)


@dataclass(frozen=True)
class PlatformPoint:
    """Both platforms at one load."""

    load: float
    a: SideMeans
    b: SideMeans

    @property
    def sides(self) -> tuple[SideMeans, SideMeans]:
        """A, then B."""
        return self.a, self.b


@dataclass(frozen=True)
class PartedAt:
    """Between which loads B's 90th percentile leaves A's; `at` is None where it never does."""

    after: float | None
    at: float | None


@dataclass(frozen=True, kw_only=True)
class PlatformsAnswer(Answer):
    """Peaks, monitors at the peaks, both typical loads, curves, and where they part."""

    a: Settings
    b: Settings
    names: Mapping[str, str]
    """What both sides are called."""
    load: str
    peaks: Mapping[str, float | None]
    ratio: float | None
    at_peak: Mapping[str, SideMeans]
    """Each side at its own peak."""
    typical: PlatformPoint | None
    """At 80 % of A's peak."""
    common: PlatformPoint | None
    """At 80 % of the smaller peak."""
    curve: tuple[PlatformPoint, ...]
    parted: PartedAt | None
    accelerators: Mapping[str, str]
    cost: float | None
    """CPU time an operation takes on B against A."""
    searches: tuple[SideSearch, ...]
    is_worse: bool

    @property
    def is_negative(self) -> bool:
        """Whether B is worse."""
        return self.is_worse

    @property
    def is_unreached(self) -> bool:
        """Whether the driver was the limit of a side at every load."""
        return any(search.answer.is_unreached for search in self.searches)


@dataclass(frozen=True)
class Platforms:
    """One workload on two platforms."""

    workload: str
    a: Settings
    b: Settings
    search: MakeSearch
    pairs: int = 1
    """Runs of each side at each load of the curves."""

    def searches(self) -> dict[Side, Search]:
        """The search of each side."""
        return {Side.A: self.search(self.a, Side.A, 0), Side.B: self.search(self.b, Side.B, SEEDS_APART)}

    def requests(self) -> list[RunRequest]:
        """The first run of both searches."""
        return [request for search in self.searches().values() for request in search.requests()]

    def next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
        """The next run: first the searches, then the loads that follow from their peaks."""
        searching = (search.next(self._evidence(side, runs)) for side, search in self.searches().items())
        wanted = next((request for request in searching if request is not None), None)
        return wanted or next(iter(missing(self._planned(runs), runs)), None)

    def left(self, runs: Sequence[RunSummary]) -> int:
        """About how many runs are left."""
        searching = sum(search.left(self._evidence(side, runs)) for side, search in self.searches().items())
        points = len(missing(self._planned(runs), runs)) if not searching else 2 * self.pairs * (len(STEPS) + 2)
        return searching + points

    def peaks(self, runs: Sequence[RunSummary]) -> dict[Side, float]:
        """The peaks found so far."""
        peaks = {side: State(search, self._evidence(side, runs)).peak for side, search in self.searches().items()}
        return {side: peak for side, peak in peaks.items() if peak}

    def _evidence(self, side: Side, runs: Sequence[RunSummary]) -> list[RunSummary]:
        """What a side's search goes by: its own runs, and those of the curves, as runs that find and do not prove.

        A failure below a peak reopens the search for it; at the peak itself the proofs decide, on both sides alike.
        """
        search = self.searches()[side]
        return [
            replace(run, request=replace(run.request, purpose=Purpose.PROBE)) if run.request.search == CURVES else run
            for run in runs
            if run.request.search == search.prefix or (run.request.search == CURVES and run.request.side is side)
        ]

    def loads(self, runs: Sequence[RunSummary]) -> list[float]:
        """Loads that both sides are given, the smallest first; none before both peaks are known."""
        peaks = self.peaks(runs)
        if len(peaks) < 2:
            return []
        smaller, rounded_to = min(peaks.values()), self.searches()[Side.A].rounded
        wanted = [*(rounded_to(share * smaller) for share in (*STEPS, TYPICAL)), rounded_to(TYPICAL * peaks[Side.A])]
        kept: list[float] = []
        for load in sorted(wanted):
            if not kept or load > kept[-1] * (1 + NEAR):
                kept.append(load)
        return kept

    def _planned(self, runs: Sequence[RunSummary]) -> list[RunRequest]:
        """Each load on A and B, then on B and A, and so on."""
        requests: list[RunRequest] = []
        search = self.searches()[Side.A]
        for load in self.loads(runs):
            text = search.text(load)
            for pair in range(self.pairs):
                for side in side_by_turn(pair):
                    settings = {**(self.a if side is Side.A else self.b), search.load: text}
                    key = f"c-{key_of(len(requests) + 1, self.workload, f'{side}-{text}')}"
                    seed = 2 * SEEDS_APART + len(requests)
                    requests.append(RunRequest(key, self.workload, settings, seed, side=side, search=CURVES))
        return requests

    def answer(self, runs: Sequence[RunSummary]) -> PlatformsAnswer:
        """Peaks, monitors at the peaks, both typical loads, curves, and where they part."""
        searches = tuple(
            SideSearch(side, one.answer(self._evidence(side, runs))) for side, one in self.searches().items()
        )
        peaks, loads = self.peaks(runs), self.loads(runs)
        both, passing = len(peaks) == 2, passing_sides(searches)
        rounded_to = self.searches()[Side.A].rounded
        curve = tuple(self._point(runs, load) for load in loads)
        parted = _parting(curve)
        accelerators = {side: _accelerator(runs, side) for side in (Side.A, Side.B)}
        return PlatformsAnswer(
            workload=self.workload,
            a=dict(self.a),
            b=dict(self.b),
            names=_names(self),
            load=self.searches()[Side.A].load,
            peaks={side.value: peaks.get(side) for side in (Side.A, Side.B)},
            ratio=peaks[Side.B] / peaks[Side.A] if both else None,
            at_peak={side.value: _means(_proofs(runs, side, peaks.get(side))) for side in (Side.A, Side.B)},
            typical=_near(curve, rounded_to(TYPICAL * peaks[Side.A]) if loads else None),
            common=_near(curve, rounded_to(TYPICAL * min(peaks.values())) if both else None),
            curve=curve,
            parted=parted,
            accelerators={side.value: found for side, found in accelerators.items()},
            cost=_cost(curve),
            searches=searches,
            is_worse=_is_lower(searches) if both else passing == {Side.A},
            is_answered=(both or len(passing) == 1) and self.next(runs) is None,
            headline=(
                *_headline(self, searches, peaks, curve, parted, accelerators),
                *self._unlike(runs),
                *self._changed(runs),
            ),
        )

    def _unlike(self, runs: Sequence[RunSummary]) -> list[str]:
        names = _names(self)
        a, b = ([run.conditions for run in _of_side(runs, side)] for side in (Side.A, Side.B))
        return unlike(a, b, (names["a"], names["b"]))

    def _changed(self, runs: Sequence[RunSummary]) -> list[str]:
        """Answers that differ between both platforms."""
        names = _names(self)
        a, b = ([run.answers for run in _of_side(runs, side) if run.is_valid] for side in (Side.A, Side.B))
        return changes_in_words(changed_answers(a, b), names["a"], names["b"])

    def _point(self, runs: Sequence[RunSummary], load: float) -> PlatformPoint:
        a, b = (_means(_own(runs, side, load)) for side in (Side.A, Side.B))
        return PlatformPoint(load, a, b)


def _near(curve: Sequence[PlatformPoint], load: float | None) -> PlatformPoint | None:
    """The point of the curve that stands for a load."""
    near = [point for point in curve if load and abs(point.load / load - 1) <= NEAR]
    return near[-1] if near else None


def _of_side(runs: Sequence[RunSummary], side: Side) -> list[RunSummary]:
    """All runs of a side, whatever they were made for."""
    return [run for run in runs if side in (run.request.side, run.request.search)]


def _own(runs: Sequence[RunSummary], side: Side, load: float | None) -> list[RunSummary]:
    return [run for run in _of_side(runs, side) if run.request.load == load]


def _proofs(runs: Sequence[RunSummary], side: Side, peak: float | None) -> list[RunSummary]:
    """The runs that proved a side's peak: those that found it were chosen for having passed."""
    return [run for run in _own(runs, side, peak) if run.request.purpose is Purpose.VERIFY]


def _names(of: Platforms) -> dict[str, str]:
    """What both sides are called: their platform, with the side where that is the same."""
    a, b = of.a.get("platform", Side.A), of.b.get("platform", Side.B)
    return {"a": a, "b": b} if a != b else {"a": f"{a} (A)", "b": f"{b} (B)"}


def _means(runs: Sequence[RunSummary]) -> SideMeans:
    """A side at a load: means of its runs."""
    metrics = {
        name: fmean(run.metrics[name] for run in runs)
        for name in METRICS
        if runs and all(name in run.metrics for run in runs)
    }
    names = dict.fromkeys(name for run in runs for name in run.monitors)
    monitors = {
        name: fmean(run.monitors[name] for run in runs) for name in names if all(name in run.monitors for run in runs)
    }
    return SideMeans(metrics, monitors, count_verdicts(runs), tuple(run.folder for run in runs))


def _parting(curve: Sequence[PlatformPoint]) -> PartedAt | None:
    """Between which loads B's 90th percentile leaves A's: from where on it is longer at every higher load."""
    points = [
        (point.load, point.b.metrics[APART_METRIC] / point.a.metrics[APART_METRIC])
        for point in curve
        if all(side.metrics.get(APART_METRIC) for side in point.sides)
    ]
    if not points:
        return None
    apart = [100 * (ratio - 1) > APART_PCT for _, ratio in points]
    first = next((at for at in range(len(points)) if all(apart[at:])), None)
    if first is None:
        return PartedAt(points[-1][0], None)
    return PartedAt(points[first - 1][0] if first else None, points[first][0])


def _accelerator(runs: Sequence[RunSummary], side: Side) -> str:
    """What made the processors of a side's machines; empty for no machine of its own."""
    return next((run.accelerator for run in _of_side(runs, side) if run.accelerator), "")


def _cost(curve: Sequence[PlatformPoint]) -> float | None:
    """CPU time an operation takes on B against A: the median over the loads that both hold."""
    name = "server_cpu_per_operation"
    ratios = [
        point.b.metrics[name] / point.a.metrics[name]
        for point in curve
        if all(side.metrics.get(name) and side.verdicts.get("pass", 0) for side in point.sides)
    ]
    return median(ratios) if ratios else None


def _is_lower(searches: Sequence[SideSearch]) -> bool:
    """Whether B's peak lies below A's even when both searches' intervals are allowed for."""
    intervals = {search.side: search.answer.interval for search in searches}
    a, b = intervals[Side.A], intervals[Side.B]
    return a is not None and b is not None and b[1] < a[0]


def _headline(
    of: Platforms,
    searches: Sequence[SideSearch],
    peaks: Mapping[Side, float],
    curve: Sequence[PlatformPoint],
    parted: PartedAt | None,
    accelerators: Mapping[Side, str],
) -> list[str]:
    names = _names(of)
    lines = [f"{names[search.side]}: {line}" for search in searches for line in search.answer.headline[:1]]
    if len(peaks) < 2:
        return [*never_passing(searches, {Side.A: names["a"], Side.B: names["b"]}), *lines]
    share = 100 * peaks[Side.B] / peaks[Side.A]
    emulated = " (emulated by TCG: says nothing of KVM)" if "tcg" in accelerators.values() else ""
    bound = {search.side: search.answer.limit is LimitedBy.DRIVER for search in searches}
    a_bound, b_bound = bound[Side.A], bound[Side.B]
    about = "" if a_bound == b_bound else "at most " if a_bound else "at least "
    unsure = " (the driver was the limit of both)" if a_bound and b_bound else ""
    lines.insert(0, f"{names[Side.B]} holds {about}{share:.0f} % of the peak of {names[Side.A]}{emulated}{unsure}.")
    lines += [said for side in (Side.A, Side.B) if (said := _failed_at_peak(curve, side, peaks[side], names[side]))]
    cost = _cost(curve)
    if cost is not None:
        lines.append(f"An operation takes {cost:.2f} times the CPU time on {names[Side.B]}, at loads that both hold.")
    if parted is not None:
        lines.append(_parted_in_words(parted))
    return lines


def _failed_at_peak(curve: Sequence[PlatformPoint], side: Side, peak: float, name: str) -> str:
    """What runs at a side's peak say against it, which its proofs outweigh; below it, a search goes on."""
    verdicts = [(point.a if side is Side.A else point.b).verdicts for point in curve if point.load == peak]
    failed, passed = (sum(one.get(word, 0) for one in verdicts) for word in ("fail", "pass"))
    count = failed + passed
    said = f"{name}: {failed} of {count} runs at its peak failed: it lies where some runs pass and others do not."
    return said if failed else ""


def _parted_in_words(parted: PartedAt) -> str:
    if parted.at is None:
        return f"Response times do not part up to a load of {parted.after:g}."
    if parted.after is None:
        return f"Response times (p90) are more than {APART_PCT:g} % apart from the smallest load on, {parted.at:g}."
    return f"Response times (p90) part between loads of {parted.after:g} and {parted.at:g}."


def indices(answers: Sequence[PlatformsAnswer]) -> IndexPair | None:
    """The web index of each side, where all workloads that it needs have a peak on both."""
    values = [
        web_index({answer.workload: round(peak) for answer in answers if (peak := answer.peaks[side])})
        for side in ("a", "b")
    ]
    a, b = values
    return None if a is None or b is None else IndexPair(a, b)


def blocks(answer: PlatformsAnswer) -> Iterator[Block]:
    """The curves, the rows that published comparisons print, all loads, and the searches."""
    yield Gallery(list(_figures(answer)))
    text = "Users are dealt to all machines of a platform; response times count from the intended start."
    yield Paragraph(text, Tone.QUIET)
    for table in tables(answer.names, answer.load, answer.at_peak, answer.typical, answer.common):
        yield Heading(table.title)
        yield _table(answer, table)
    if answer.curve:
        yield Heading("Over loads that both were given")
        yield _curve_table(answer)
    yield Heading("The searches")
    rows = [Row([answer.names[search.side], *search_cells(search.answer)]) for search in answer.searches]
    yield Table([Column("platform", ColumnKind.TEXT), *SEARCH_COLUMNS], rows)
    yield Paragraph(NOTE, Tone.QUIET)


def _table(answer: PlatformsAnswer, table: PlatformTable) -> Table:
    names = (answer.names["a"], answer.names["b"])
    columns = [Column("figure"), *map(Column, names), Column("B by A"), Column("unit", ColumnKind.TEXT)]
    rows = [Row(["verdicts", *table.verdicts, "", ""])] if table.verdicts else []
    for row in table.rows:
        sides = [
            Cell(why, Tone.QUIET) if value is None else Cell(shown(value, row.digits))
            for value, why in zip((row.a, row.b), row.why_not, strict=True)
        ]
        rows.append(Row([row.title, *sides, number(row.ratio, 3), row.unit]))
    return Table(columns, rows)


CURVE_COLUMNS = (
    ("response_p90", "p90, s", 4),
    ("response_mean", "mean, s", 4),
    ("good", "good, %", 2),
    ("server_cpu", "CPU of the system, cores", 3),
    ("host_cpu", "CPU of the host, cores", 3),
)


def _curve_table(answer: PlatformsAnswer) -> Table:
    sides = (answer.names["a"], answer.names["b"])
    columns = [Column(answer.load)]
    columns += [Column(f"{title},\n{side}") for _, title, _ in CURVE_COLUMNS for side in sides]
    columns += [Column(f"verdicts,\n{side}", ColumnKind.TEXT) for side in sides]
    rows = []
    for point in answer.curve:
        metrics = [number(side.metrics.get(name), digits) for name, _, digits in CURVE_COLUMNS for side in point.sides]
        verdicts = [", ".join(word for word, count in side.verdicts.items() if count) for side in point.sides]
        rows.append(Row([rounded(point.load), *metrics, *verdicts]))
    return Table(columns, rows)


def _figures(answer: PlatformsAnswer) -> Iterator[Figure]:
    """Response time, throughput and both CPU curves over the loads that both platforms were given."""
    names, axis = answer.names, AXIS[answer.load]
    smaller = min((peak for peak in answer.peaks.values() if peak), default=math.inf)
    near = [point for point in answer.curve if point.load <= BEYOND * smaller]  # more would flatten the rest
    peaks = [(peak, names[side]) for side, peak in answer.peaks.items() if peak and peak <= BEYOND * smaller]
    marks: list[dict[str, Any]] = [{"x": peak, "label": f"peak of {name}"} for peak, name in peaks]
    if answer.parted and answer.parted.at:
        marks.append({"x": answer.parted.at, "label": "parted"})
    for metric, title in ((APART_METRIC, "Response time, 90th percentile"), ("throughput", "Throughput")):
        rows = _rows(near, ((metric, "{name}"),), names)
        if rows:
            plot = Plot(axis, METRICS[metric].axis_title, rows, rows, marks=marks)
            yield Figure(title, "Loads up to the smaller peak and half above; both had each in turn.", plot)
    rows = _rows(near, (("server_cpu", "{name}: system"), ("host_cpu", "{name}: whole host")), names)
    if rows:
        plot = Plot(axis, "cores", rows, rows, marks=marks)
        yield Figure("CPU", "In cores; the host carries the driver too.", plot)


def _rows(
    curve: Sequence[PlatformPoint], metrics: Sequence[tuple[str, str]], names: Mapping[str, str]
) -> list[dict[str, Any]]:
    return [
        {"x": point.load, "y": side.metrics[metric], "series": series.format(name=name)}
        for metric, series in metrics
        for at, name in enumerate((names["a"], names["b"]))
        for point in curve
        for side in [point.sides[at]]
        if metric in side.metrics
    ]
