"""How a series is shown: each metric in order of time, and a table of all of them. Pure."""

from collections.abc import Iterator, Sequence

from loadstone.judge.statistics import CONFIDENCE_LEVEL
from loadstone.model.numbers import format_chance, format_number, format_rounded
from loadstone.model.records.manifest import StudiedWorkload
from loadstone.page.blocks import Block, Cell, Column, ColumnKind, Figure, Gallery, Paragraph, Row, Table, Tone
from loadstone.page.plot import Plot
from loadstone.study.kinds.repeat.answer import RepeatAnswer, Series
from loadstone.study.metrics import METRICS
from loadstone.study.summary import RunSummary

DRAWN = (
    *("throughput", "response_mean", "response_p95", "response_p99", "good", "server_cpu"),
    *("server_cpu_per_operation", "busy_workers", "host_cpu", "driver_lag_p99"),
)
"""Metrics that get a picture."""
NOTE = (
    "Intervals are Student's, 95 %. Drift is Kendall's test over the order of the runs. An outlier is farther from "
    "the mean than the extreme of heavy-tailed series (Student's t, 3 degrees). Both are corrected for the number "
    "of figures (Holm). At most one in twenty series without either has one reported."
)


def render_blocks(answer: RepeatAnswer, workload: StudiedWorkload, runs: Sequence[RunSummary]) -> Iterator[Block]:
    """Each metric in order of time, and a table of all of them."""
    numbers = [number for number, run in enumerate(runs, start=1) if run.is_valid]
    drawn = (name for name in DRAWN if name in answer.metrics)
    yield Gallery([_figure(name, answer.metrics[name], numbers) for name in drawn])
    titles = ("figure", "mean", "interval of the mean", "standard deviation", "spread, %", "drift, p")
    columns = [*map(Column, titles), Column("outliers (kept)", ColumnKind.LONG)]
    yield Table(columns, [_row(name, metric) for name, metric in answer.metrics.items()])
    yield Paragraph(NOTE, Tone.QUIET)


def _figure(name: str, series: Series, numbers: Sequence[int]) -> Figure:
    """A metric over the numbers of the valid runs; runs that are left out leave gaps."""
    places = numbers if len(numbers) == len(series.values) else range(1, len(series.values) + 1)
    rows = [{"x": place, "y": value, "series": "runs"} for place, value in zip(places, series.values, strict=True)]
    bands = []
    if series.low is not None:
        bands = [{"x": place, "low": max(0.0, series.low), "high": series.high} for place in (places[0], places[-1])]
    plot = Plot("run", METRICS[name].axis_title, lines=rows, points=rows, bands=bands, from_zero=False)
    drifted = f" Drift: {format_chance(series.drift_p, 2)}." if series.drift_p is not None else ""
    return Figure(METRICS[name].plot_title, f"In order of time; shaded: the interval of the mean.{drifted}", plot)


def _row(name: str, series: Series) -> Row:
    interval = "" if series.low is None else f"{format_rounded(max(0.0, series.low))} to {format_rounded(series.high)}"
    drifts = series.drift_p is not None and series.drift_p <= 1 - CONFIDENCE_LEVEL
    far = "; ".join(f"{format_rounded(outlier.value)} in {outlier.run}" for outlier in series.outliers)
    drift_p = Cell(format_number(series.drift_p, 2), Tone.INVALID if drifts else Tone.PLAIN)
    spread = format_number(series.spread_pct, 2)
    return Row(
        [name.replace("_", " "), format_rounded(series.mean), interval, format_rounded(series.sd), spread, drift_p, far]
    )
