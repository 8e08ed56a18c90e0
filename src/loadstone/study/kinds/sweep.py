"""`sweep`: one or more parameters over given points. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from loadstone.judge.statistics import Summary, summary
from loadstone.model.errors import UsageError
from loadstone.model.load import Arrivals
from loadstone.model.numbers import number, rounded, shown
from loadstone.model.reading import Flag
from loadstone.model.records.manifest import StudiedWorkload
from loadstone.page.blocks import Block, Cell, Column, ColumnKind, Figure, Gallery, Heading, Paragraph, Row, Table, Tone
from loadstone.page.plot import Plot
from loadstone.study.answers import Means, between_in_words
from loadstone.study.bottleneck import common, is_idle
from loadstone.study.curves import AXIS, over_load, rows
from loadstone.study.grid import Over, combinations, names_platform
from loadstone.study.kind import StudyContext, StudyKind, StudySection
from loadstone.study.metrics import METRICS
from loadstone.study.parameters import has_load, parameter, points_text
from loadstone.study.question import Answer, count_verdicts, first_missing, key_of
from loadstone.study.summary import RunRequest, RunSummary

CORES = ("server.cores", "server.threads", "station.workers")
"""Parameters over which throughput is expected to grow in proportion."""
NOTE = (
    "The knee is where load by mean response time is largest (Kleinrock's power); it is marked only where the curve "
    "shows both sides of it."
)
SHOWN = (
    ("throughput", "operations/s", 1),
    ("response_mean", "mean, s", None),
    ("response_p95", "p95, s", None),
    ("response_p99", "p99, s", None),
    ("good", "good, %", 2),
    ("server_cpu", "server CPU", 2),
)
"""Metrics of the table, with their titles and digits."""
BESIDE = (
    ("response_p90", "Response time, 90th percentile, of all settings"),
    ("throughput", "Throughput of all settings"),
    ("server_cpu", "CPU of the system under test, of all settings"),
)
"""Metrics of the plots that hold the curves of all settings."""
SCALED = "cores, threads or workers"


class SweepSection(StudySection):
    """`[sweep]`: parameters over points."""

    over: Over = Field(description='a table as { sessions = [50, 100], "server.threads" = [1, 2] }')
    rounds: Annotated[int, Field(ge=1, le=1000), Flag("Times each point is run.", kind=int, min=1, max=1000)] = Field(
        default=1, description="times each point is run, 1 or more"
    )

    @property
    def brings_load(self) -> bool:
        """Where the load is varied."""
        return has_load(self.over)

    @property
    def varies_platform(self) -> bool:
        """Where it is one of the parameters."""
        return names_platform(self.over)


@dataclass(frozen=True)
class SweptPoint:
    """A point with the means of its runs."""

    at: Mapping[str, str]
    runs: int
    verdicts: Mapping[str, int]
    broken: tuple[str, ...]
    """Titles of the rules that were broken."""
    metrics: Mapping[str, Summary]
    """Of the valid runs."""
    bottleneck: str = ""
    """What was full, in words; empty where nothing was watched."""
    is_idle: bool = False
    """Whether the system had CPU to spare in every run."""

    def mean(self, metric: str) -> float | None:
        """The mean of a metric, where there is one."""
        return self.metrics[metric].mean if metric in self.metrics else None

    @property
    def worst(self) -> str:
        """The gravest verdict of its runs."""
        return next((name for name in ("invalid", "fail") if self.verdicts.get(name, 0)), "pass")


@dataclass(frozen=True)
class Curve:
    """For one combination of the other parameters the points in order of load."""

    of: Mapping[str, str]
    points: tuple[SweptPoint, ...]
    knee: float | None
    largest_passing: float | None


@dataclass(frozen=True)
class ScaledPoint:
    """Throughput with so many cores, and its efficiency against the fewest."""

    cores: float
    throughput: float | None
    efficiency: float | None
    """Throughput by (throughput of the fewest x factor)."""


@dataclass(frozen=True)
class Scaling:
    """For one combination of the other parameters throughput over cores."""

    of: Mapping[str, str]
    points: tuple[ScaledPoint, ...]


@dataclass(frozen=True, kw_only=True)
class SweepAnswer(Answer):
    """Each point with its metrics, and the knee of each curve over load."""

    settings: Mapping[str, str]
    over: tuple[str, ...]
    points: tuple[SweptPoint, ...]
    curves: tuple[Curve, ...] = ()
    scaling: tuple[Scaling, ...] = ()

    @property
    def is_negative(self) -> bool:
        """Whether no run passes at any point."""
        return bool(self.points) and not any(point.verdicts.get("pass", 0) for point in self.points)

    @property
    def load(self) -> str | None:
        """The parameter that is a load, where one is."""
        return next((name for name in self.over if name in AXIS), None)


MOST_FAILING = 6
"""Points that a headline names."""


@dataclass(frozen=True)
class Sweep:
    """Every combination of the points, each so many times; every second round in reverse, so that drift cancels."""

    workload: str
    settings: Mapping[str, str]
    over: tuple[tuple[str, tuple[str, ...]], ...]
    """Parameters with their points."""
    rounds: int = 1
    arrives: bool = False
    """Whether the load comes by itself: throughput then says nothing of cores."""

    def points(self) -> list[dict[str, str]]:
        """All combinations, the last parameter varying fastest."""
        return combinations(self.over)

    def requests(self) -> list[RunRequest]:
        """All its runs, in order."""
        requests: list[RunRequest] = []
        points = self.points()
        for turn in range(self.rounds):
            for point in points if turn % 2 == 0 else reversed(points):
                words = "-".join(f"{name.rpartition('.')[2]}-{value}" for name, value in point.items())
                key = key_of(len(requests) + 1, self.workload, words)
                requests.append(RunRequest(key, self.workload, {**self.settings, **point}, turn))
        return requests

    def next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
        """The next run that is missing."""
        return first_missing(self.requests(), runs)

    def left(self, runs: Sequence[RunSummary]) -> int:
        """Runs that are missing."""
        return len(self.requests()) - len(runs)

    def answer(self, runs: Sequence[RunSummary]) -> SweepAnswer:
        """Each point with its metrics, and the knee of each curve over load."""
        swept = [_point(point, [run for run in runs if _is_at(run, point)]) for point in self.points()]
        points = tuple(point for point in swept if point.runs)
        names = tuple(name for name, _ in self.over)
        lines = [_verdicts(runs, points)]
        load = next((name for name in names if name in AXIS), None)
        fitted: list[Curve] = []
        if load is not None:
            fitted = curves(points, load, [name for name in names if name != load])
            lines += [line for curve in fitted for line in _marks(curve, load)]
        scaled = None if self.arrives else next((name for name in names if name in CORES), None)
        scales: list[Scaling] = []
        if scaled is not None:
            scales = scaling(points, scaled, [name for name in names if name != scaled])
            lines += [_in_words(scale, scaled) for scale in scales if len(scale.points) > 1]
        return SweepAnswer(
            workload=self.workload,
            settings=dict(self.settings),
            over=names,
            points=points,
            curves=tuple(fitted),
            scaling=tuple(scales),
            is_answered=not self.left(runs),
            headline=(*lines, *between_in_words(_by_point(points, runs))),
        )


def _verdicts(runs: Sequence[RunSummary], points: Sequence["SweptPoint"]) -> str:
    """How the runs came out, and what broke at points where not all passed."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in count_verdicts(runs).items() if count)
    line = f"{len(runs)} runs at {len(points)} points{': ' if counts else ''}{counts}."
    failing = [
        f"{', '.join(f'{name}={value}' for name, value in point.at.items())} ({', '.join(point.broken)})"
        for point in points
        if point.verdicts.get("pass", 0) < point.runs and point.broken
    ]
    more = f" and {len(failing) - MOST_FAILING} more" if len(failing) > MOST_FAILING else ""
    return f"{line} Did not pass: {'; '.join(failing[:MOST_FAILING])}{more}." if failing else line


def _by_point(points: Sequence["SweptPoint"], runs: Sequence[RunSummary]) -> dict[str, list[Means]]:
    """The answers of valid runs at each point."""
    return {
        ", ".join(f"{name}={value}" for name, value in point.at.items()): [
            run.answers for run in runs if run.is_valid and _is_at(run, point.at)
        ]
        for point in points
    }


def _is_at(run: RunSummary, point: Mapping[str, str]) -> bool:
    return all(run.request.settings.get(name) == value for name, value in point.items())


def _point(point: Mapping[str, str], runs: Sequence[RunSummary]) -> SweptPoint:
    valid = [run for run in runs if run.is_valid]
    metrics: dict[str, Summary] = {}
    for name in METRICS:
        values = [run.metrics[name] for run in valid if name in run.metrics]
        if values:
            metrics[name] = summary(values)
    broken = tuple(sorted({check.rule for run in runs for check in run.broken()}))
    idle = bool(valid) and all(is_idle(run) for run in valid)
    return SweptPoint(dict(point), len(runs), count_verdicts(runs), broken, metrics, common(valid), idle)


def _groups(points: Sequence[SweptPoint], apart: Sequence[str]) -> dict[tuple[str, ...], list[SweptPoint]]:
    groups: dict[tuple[str, ...], list[SweptPoint]] = {}
    for point in points:
        groups.setdefault(tuple(point.at[name] for name in apart), []).append(point)
    return groups


def curves(points: Sequence[SweptPoint], load: str, apart: Sequence[str]) -> list[Curve]:
    """For each combination of the other parameters the points in order of load, with knee and largest passing load."""
    shown = []
    for key, group in _groups(points, apart).items():
        ordered = sorted(group, key=lambda point: float(point.at[load]))
        passing = [float(point.at[load]) for point in ordered if point.verdicts.get("pass", 0) == point.runs]
        times = [(float(point.at[load]), point.mean("response_mean")) for point in ordered]
        of = dict(zip(apart, key, strict=True))
        shown.append(Curve(of, tuple(ordered), knee(times), max(passing, default=None)))
    return shown


def knee(points: Sequence[tuple[float, float | None]]) -> float | None:
    """The load beyond which time grows faster than throughput: where load / response time is largest (Kleinrock's
    power). None when it is largest at an end of the curve, where nothing says that it would not go on growing.
    """
    power = [load / seconds if seconds else 0.0 for load, seconds in points]
    best = max(range(len(power)), key=lambda at: power[at], default=0)
    return points[best][0] if 0 < best < len(points) - 1 else None


def scaling(points: Sequence[SweptPoint], scaled: str, apart: Sequence[str]) -> list[Scaling]:
    """Throughput over cores, and its efficiency against the fewest: throughput by (throughput there x factor)."""
    shown = []
    for key, group in _groups(points, apart).items():
        ordered = sorted(group, key=lambda point: float(point.at[scaled]))
        base, fewest = ordered[0].mean("throughput"), float(ordered[0].at[scaled])
        scaled_points = []
        for point in ordered:
            cores, throughput = float(point.at[scaled]), point.mean("throughput")
            idle = point.is_idle or ordered[0].is_idle
            efficiency = (throughput or 0) / (base * cores / fewest) if base and not idle else None
            scaled_points.append(ScaledPoint(cores, throughput, efficiency))
        shown.append(Scaling(dict(zip(apart, key, strict=True)), tuple(scaled_points)))
    return shown


def _named(of: Mapping[str, str]) -> str:
    return "".join(f", {name}={value}" for name, value in of.items())


def _marks(curve: Curve, load: str) -> list[str]:
    lines = []
    if curve.knee is not None:
        at = next(point for point in curve.points if float(point.at[load]) == curve.knee)
        full = f" Bottleneck there: {at.bottleneck}." if at.bottleneck else ""
        lines.append(f"Knee at {load}={curve.knee:g}{_named(curve.of)}: beyond it time grows faster than load.{full}")
    if curve.largest_passing is not None:
        lines.append(f"Largest point that passed: {load}={curve.largest_passing:g}{_named(curve.of)}.")
    return lines


def _in_words(scaling: Scaling, name: str) -> str:
    first, last = scaling.points[0], scaling.points[-1]
    idle = "not said, since the system had CPU to spare: give it more load"
    efficiency = f"{100 * last.efficiency:.0f} %" if last.efficiency is not None else idle
    return f"Efficiency at {name}={last.cores:g} against {first.cores:g}{_named(scaling.of)}: {efficiency}."


def make(section: SweepSection, context: StudyContext) -> Sweep:
    """The question about one workload; raises UsageError."""
    over = {parameter(name).name: points_text(points) for name, points in section.over.items()}
    if sum(parameter(name).is_load for name in over) > 1:
        raise UsageError("Sessions and rate exclude each other: vary one of them.")
    arrives = "rate" in over or ("sessions" not in over and isinstance(context.load, Arrivals))
    return Sweep(context.workload.name, {}, tuple(over.items()), section.rounds, arrives)


def blocks(answer: SweepAnswer, workload: StudiedWorkload, runs: Sequence[RunSummary]) -> Iterator[Block]:
    """The curves over load or cores, every point, and how throughput scales."""
    yield Gallery(list(_figures(answer, workload)))
    columns = [*map(Column, answer.over), Column("runs"), Column("verdicts", ColumnKind.TEXT)]
    columns += [*(Column(title) for _, title, _ in SHOWN), Column("CPU an operation, ms")]
    columns += [Column("bottleneck", ColumnKind.LONG), Column("broken rules", ColumnKind.LONG)]
    yield Table(columns, [_row(answer, point) for point in answer.points])
    for one in answer.scaling:
        of = ", ".join(f"{name}={value}" for name, value in one.of.items())
        yield Heading(f"Scaling at {of}" if of else "Scaling")
        titles = (SCALED, "operations/s", "efficiency, %")
        yield Table([*map(Column, titles)], [_scaled_row(point) for point in one.points])
    yield Paragraph(NOTE, Tone.QUIET)


def _row(answer: SweepAnswer, point: SweptPoint) -> Row:
    verdicts = " ".join(f"{count} {verdict}" for verdict, count in point.verdicts.items() if count)
    metrics = [_mean_cell(point.metrics.get(name), digits) for name, _, digits in SHOWN]
    cost = point.mean("server_cpu_per_operation")
    at = [point.at[name] for name in answer.over]
    tail = [number(None if cost is None else 1000 * cost, 3), point.bottleneck, ", ".join(point.broken)]
    return Row([*at, str(point.runs), Cell(verdicts, Tone(point.worst)), *metrics, *tail])


def _mean_cell(summed: Summary | None, digits: int | None) -> Cell:
    if summed is None:
        return Cell("")
    aside = "" if summed.low is None else f"{shown(summed.low, digits)} to {shown(summed.high, digits)}"
    return Cell(shown(summed.mean, digits), aside=aside)


def _scaled_row(point: ScaledPoint) -> Row:
    efficiency = None if point.efficiency is None else 100 * point.efficiency
    return Row([rounded(point.cores), number(point.throughput, 1), number(efficiency, 1)])


def _figures(answer: SweepAnswer, workload: StudiedWorkload) -> Iterator[Figure]:
    load = answer.load
    if load is not None:
        if len(answer.curves) > 1:
            yield from _beside(answer.curves, load)
        for curve in answer.curves:
            yield from _over_load(curve, load, workload)
    for scaling in answer.scaling:
        yield from _scaling_figures(scaling)
    if not answer.curves and not answer.scaling:
        yield from _over_parameter(answer)


def _over_load(curve: Curve, load: str, workload: StudiedWorkload) -> Iterator[Figure]:
    points = [(float(point.at[load]), _means(point)) for point in curve.points]
    verdicts = {float(point.at[load]): point.worst for point in curve.points}
    found = ((curve.knee, "knee"), (curve.largest_passing, "largest passing"))
    marks = [{"x": at, "label": label} for at, label in found if at is not None]
    yield from over_load(points, AXIS[load], workload, marks, verdicts, _named(curve.of))


def _means(point: SweptPoint) -> dict[str, float]:
    return {name: summed.mean for name, summed in point.metrics.items()}


def _beside(curves: Sequence[Curve], load: str) -> Iterator[Figure]:
    """The curves of all settings in one plot each, as one large machine is held against several small ones."""
    for metric, title in BESIDE:
        drawn = [
            {
                "x": float(point.at[load]),
                "y": point.mean(metric),
                "series": ", ".join(f"{name}={value}" for name, value in curve.of.items()),
            }
            for curve in curves
            for point in curve.points
            if metric in point.metrics
        ]
        if drawn:
            yield Figure(title, "One line a setting.", Plot(AXIS[load], METRICS[metric].axis_title, drawn, drawn))


def _scaling_figures(scaling: Scaling) -> Iterator[Figure]:
    of, fewest = _named(scaling.of), scaling.points[0]
    drawn = [{"x": point.cores, "y": point.throughput, "series": "measured"} for point in scaling.points]
    ideal = [
        {"x": point.cores, "y": (fewest.throughput or 0) * point.cores / fewest.cores, "series": "in proportion"}
        for point in scaling.points
    ]
    plot = Plot(SCALED, "operations per second", [*drawn, *ideal], drawn)
    yield Figure(f"Throughput over cores{of}", "Dashed: in proportion to the fewest.", plot)
    shares = [
        {"x": point.cores, "y": 100 * point.efficiency, "series": "efficiency"}
        for point in scaling.points
        if point.efficiency is not None
    ]
    plot = Plot(SCALED, "%", shares, shares)
    yield Figure(f"Efficiency{of}", "Throughput against that of the fewest, by cores.", plot)


def _over_parameter(answer: SweepAnswer) -> Iterator[Figure]:
    """Of a parameter that is no load and no number of cores: each metric over it, where it is a number."""
    name = answer.over[0]
    try:
        points = [(float(point.at[name]), _means(point)) for point in answer.points]
    except ValueError:
        return
    for metric in ("throughput", "response_p95", "good", "server_cpu"):
        drawn = rows(points, ((metric, metric),))
        if drawn:
            plot = Plot(name, METRICS[metric].axis_title, points=drawn, from_zero=metric != "good")
            yield Figure(METRICS[metric].plot_title, "", plot)


KIND = StudyKind(
    name="sweep",
    question="How do the figures move with what was varied?",
    help="""Vary one or more parameters over given points, in every combination.

    [bold]loadstone sweep support --over sessions=50,100,200,400[/] draws the response time curve;
    [bold]loadstone sweep static --sessions 64 --over server.cores=1,2[/] how throughput grows with cores.
    """,
    section=SweepSection,
    answer=SweepAnswer,
    make=make,
    blocks=blocks,
    rank=3,
)
