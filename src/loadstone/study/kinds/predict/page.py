"""How a prediction is shown: curves, what was learned, prediction against later measurement. Pure."""

from collections.abc import Iterator, Sequence

from loadstone.model.numbers import format_number, format_rounded
from loadstone.model.records.manifest import StudiedWorkload
from loadstone.page.blocks import Block, Column, ColumnKind, Figure, Gallery, Heading, Paragraph, Row, Table, Tone
from loadstone.page.plot import Plot
from loadstone.study.curves import AXIS
from loadstone.study.kinds.predict.answer import CheckedPoint, LearnedModel, PredictAnswer, PredictedPeak
from loadstone.study.metrics import METRICS
from loadstone.study.summary import Purpose, RunSummary

NOTE = (
    "Intervals: the measured runs at each load are resampled a hundred times and fitted again; the result is widened "
    "for few runs. They cover chance between runs, not errors of the model; checks that contradict it refute it."
)


def render_blocks(answer: PredictAnswer, workload: StudiedWorkload, runs: Sequence[RunSummary]) -> Iterator[Block]:
    """The predicted curve, what was learned, and prediction against later measurement."""
    if answer.model is not None and answer.peak is not None:
        yield Gallery(list(_figures(answer, answer.peak)))
        columns = [Column("learned"), Column("value"), Column("by", ColumnKind.TEXT)]
        yield Table(columns, list(_learned_rows(answer, answer.model, answer.peak)))
    if answer.checks:
        yield Heading("Prediction against later measurement")
        titles = ("operations/s, predicted", "measured", "off, %", "mean response, s, predicted", "measured", "off, %")
        yield Table([Column(answer.load), *map(Column, titles)], [_checked_row(point) for point in answer.checks])
    yield Paragraph(NOTE, Tone.QUIET)


def _learned_rows(answer: PredictAnswer, model: LearnedModel, peak: PredictedPeak) -> Iterator[Row]:
    demand = f"{format_rounded(1000 * model.centre.demand_s)} ms"
    yield Row([f"demand of {model.resource.replace('_', ' ')}, an operation", demand, "utilisation law"])
    yield Row(["of them there are", format_rounded(model.centre.workers), "the system's settings"])
    yield Row(["capacity", f"{format_rounded(model.capacity)} operations/s", "both"])
    yield Row(["time that does not depend on load", f"{format_number(1000 * model.fixed_s, 3)} ms", "least squares"])
    variability = format_number(model.centre.variability, 2)
    yield Row(["waiting against that of exponential service", variability, "least squares"])
    if answer.load == "sessions":
        yield Row(["time between answer and next operation", f"{format_rounded(model.think_s)} s", "response time law"])
    law, source = answer.scalability, "universal scalability law"
    if law is not None:
        yield Row(["contention, coherency", f"{law.contention:.3g}, {law.coherency:.3g}", source])
        largest = f"{format_number(law.peak_sessions)} sessions" if law.peak_sessions else "no load: it only grows"
        yield Row(["throughput is largest at", largest, source])
    interval = f" ({format_rounded(peak.low)} to {format_rounded(peak.high)})" if peak.low != peak.high else ""
    how = "largest load whose percentiles meet their limits, or the capacity"
    yield Row(["predicted peak", f"{format_rounded(peak.load)}{interval}", how], is_total=True)


def _checked_row(point: CheckedPoint) -> Row:
    throughput, response = point.throughput, point.response_mean
    return Row(
        [
            format_rounded(point.load),
            format_number(throughput.predicted, 1),
            format_number(throughput.measured, 1),
            f"{throughput.off_pct:+.1f}",
            f"{response.predicted:.4f}",
            f"{response.measured:.4f}",
            "beyond the capacity" if point.is_beyond else f"{response.off_pct:+.1f}",
        ]
    )


def _figures(answer: PredictAnswer, peak: PredictedPeak) -> Iterator[Figure]:
    marks = [{"x": peak.load, "label": "predicted peak"}]
    for name in ("throughput", "response_mean"):
        curve = [
            (point.load, point.throughput if name == "throughput" else point.response_mean) for point in answer.curve
        ]
        lines = [{"x": load, "y": prediction.value, "series": "predicted"} for load, prediction in curve]
        if name == "throughput":
            lines += [
                {"x": point.load, "y": point.scalability, "series": "scalability law"}
                for point in answer.curve
                if point.scalability is not None
            ]
        bands = [{"x": load, "low": prediction.low, "high": prediction.high} for load, prediction in curve]
        series = {Purpose.MEASURE: "measured", Purpose.VERIFY: "measured to check"}
        measured = [(point, getattr(point, name)) for point in answer.measured]
        points = [
            {"x": point.load, "y": value, "series": series[point.purpose]}
            for point, value in measured
            if value is not None
        ]
        plot = Plot(AXIS[answer.load], METRICS[name].axis_title, lines, points, bands, marks=marks)
        yield Figure(METRICS[name].plot_title, "Line and band: predicted from the measured points.", plot)
