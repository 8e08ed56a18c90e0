"""How a sweep is shown: curves over load or cores, every point, how throughput scales. Pure."""

from collections.abc import Iterator, Sequence

from loadstone.judge.statistics import Summary
from loadstone.model.numbers import format_number, format_places, format_rounded
from loadstone.model.records.manifest import StudiedWorkload
from loadstone.page.blocks import Block, Cell, Column, ColumnKind, Figure, Gallery, Heading, Paragraph, Row, Table, Tone
from loadstone.page.plot import Plot
from loadstone.study.curves import AXIS, draw_over_load, list_curve_rows
from loadstone.study.kinds.sweep.answer import (
    Curve,
    ScaledPoint,
    Scaling,
    SweepAnswer,
    SweptPoint,
    format_settings_suffix,
)
from loadstone.study.metrics import METRICS
from loadstone.study.settings import write_settings, write_value
from loadstone.study.summary import RunSummary

NOTE = (
    "The knee is where load by mean response time is largest (Kleinrock's power); it is marked only where the curve "
    "shows both sides of it."
)
SWEEP_METRICS_SHOWN = (
    ("throughput", "operations/s", 1),
    ("response_mean", "mean, s", None),
    ("response_p95", "p95, s", None),
    ("response_p99", "p99, s", None),
    ("good", "good, %", 2),
    ("server_cpu", "server CPU", 2),
)
"""Metrics of the table, with their titles and digits."""
SWEEP_FIGURES = (
    ("response_p90", "Response time, 90th percentile, of all settings"),
    ("throughput", "Throughput of all settings"),
    ("server_cpu", "CPU of the system under test, of all settings"),
)
"""Metrics of the plots that hold the curves of all settings."""
SCALED = "cores, threads or workers"


def render_blocks(answer: SweepAnswer, workload: StudiedWorkload, runs: Sequence[RunSummary]) -> Iterator[Block]:
    """The curves over load or cores, every point, and how throughput scales."""
    yield Gallery(list(_figures(answer, workload)))
    columns = [*map(Column, answer.over), Column("runs"), Column("verdicts", ColumnKind.TEXT)]
    columns += [*(Column(title) for _, title, _ in SWEEP_METRICS_SHOWN), Column("CPU an operation, ms")]
    columns += [Column("bottleneck", ColumnKind.LONG), Column("broken rules", ColumnKind.LONG)]
    yield Table(columns, [_row(answer, point) for point in answer.points])
    for scaling in answer.scaling:
        settings = write_settings(scaling.of)
        yield Heading(f"Scaling at {settings}" if settings else "Scaling")
        titles = (SCALED, "operations/s", "efficiency, %")
        yield Table([*map(Column, titles)], [_scaled_row(point) for point in scaling.points])
    yield Paragraph(NOTE, Tone.QUIET)


def _row(answer: SweepAnswer, point: SweptPoint) -> Row:
    verdicts = " ".join(f"{count} {verdict}" for verdict, count in point.verdicts.items() if count)
    metrics = [_mean_cell(point.metrics.get(name), digits) for name, _, digits in SWEEP_METRICS_SHOWN]
    cost = point.get_mean("server_cpu_per_operation")
    settings = [write_value(point.at[name]) for name in answer.over]
    tail = [format_number(None if cost is None else 1000 * cost, 3), point.bottleneck, ", ".join(point.broken)]
    return Row([*settings, str(point.runs), Cell(verdicts, Tone(point.worst)), *metrics, *tail])


def _mean_cell(summed: Summary | None, digits: int | None) -> Cell:
    if summed is None:
        return Cell("")
    aside = "" if summed.low is None else f"{format_places(summed.low, digits)} to {format_places(summed.high, digits)}"
    return Cell(format_places(summed.mean, digits), aside=aside)


def _scaled_row(point: ScaledPoint) -> Row:
    efficiency = None if point.efficiency is None else 100 * point.efficiency
    return Row([format_rounded(point.cores), format_number(point.throughput, 1), format_number(efficiency, 1)])


def _figures(answer: SweepAnswer, workload: StudiedWorkload) -> Iterator[Figure]:
    load = answer.load
    if load is not None:
        if len(answer.curves) > 1:
            yield from _resource_figures(answer.curves, load)
        for curve in answer.curves:
            yield from _over_load(curve, load, workload)
    for scaling in answer.scaling:
        yield from _scaling_figures(scaling)
    if not answer.curves and not answer.scaling:
        yield from _over_parameter(answer)


def _over_load(curve: Curve, load: str, workload: StudiedWorkload) -> Iterator[Figure]:
    points = [(point.read_number(load), _means(point)) for point in curve.points]
    verdicts = {point.read_number(load): point.worst for point in curve.points}
    marked = ((curve.knee, "knee"), (curve.largest_passing, "largest passing"))
    marks = [{"x": load, "label": label} for load, label in marked if load is not None]
    yield from draw_over_load(points, AXIS[load], workload, marks, verdicts, format_settings_suffix(curve.of))


def _means(point: SweptPoint) -> dict[str, float]:
    return {name: summed.mean for name, summed in point.metrics.items()}


def _resource_figures(curves: Sequence[Curve], load: str) -> Iterator[Figure]:
    """The curves of all settings in one plot each, as one large machine is held against several small ones."""
    for metric, title in SWEEP_FIGURES:
        drawn = [
            {
                "x": point.read_number(load),
                "y": point.get_mean(metric),
                "series": write_settings(curve.of),
            }
            for curve in curves
            for point in curve.points
            if metric in point.metrics
        ]
        if drawn:
            yield Figure(title, "One line a setting.", Plot(AXIS[load], METRICS[metric].axis_title, drawn, drawn))


def _scaling_figures(scaling: Scaling) -> Iterator[Figure]:
    suffix, fewest = format_settings_suffix(scaling.of), scaling.points[0]
    drawn = [{"x": point.cores, "y": point.throughput, "series": "measured"} for point in scaling.points]
    ideal = [
        {"x": point.cores, "y": (fewest.throughput or 0) * point.cores / fewest.cores, "series": "in proportion"}
        for point in scaling.points
    ]
    plot = Plot(SCALED, "operations per second", [*drawn, *ideal], drawn)
    yield Figure(f"Throughput over cores{suffix}", "Dashed: in proportion to the fewest.", plot)
    shares = [
        {"x": point.cores, "y": 100 * point.efficiency, "series": "efficiency"}
        for point in scaling.points
        if point.efficiency is not None
    ]
    plot = Plot(SCALED, "%", shares, shares)
    yield Figure(f"Efficiency{suffix}", "Throughput against that of the fewest, by cores.", plot)


def _over_parameter(answer: SweepAnswer) -> Iterator[Figure]:
    """Of a parameter that is no load and no number of cores: each metric over it, where it is a number."""
    name = answer.over[0]
    if not all(isinstance(point.at[name], int | float) for point in answer.points):
        return
    points = [(point.read_number(name), _means(point)) for point in answer.points]
    for metric in ("throughput", "response_p95", "good", "server_cpu"):
        drawn = list_curve_rows(points, ((metric, metric),))
        if drawn:
            plot = Plot(name, METRICS[metric].axis_title, points=drawn, from_zero=metric != "good")
            yield Figure(METRICS[metric].plot_title, "", plot)
