"""Pictures that several kinds of study show: metrics over load, with limits, marks and verdicts. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from loadstone.model.records.manifest import StudiedWorkload
from loadstone.model.records.verdict import Verdict, choose_worst
from loadstone.page.blocks import Figure
from loadstone.page.plot import CurveRow, FigureRows, LimitRow, Plot
from loadstone.study.metrics import METRICS

LEAST_LAG_S = 1e-5
"""Driver lag that is none: runs in virtual time have no more."""
AXIS = {"sessions": "sessions", "rate": "arrivals per second"}
"""What stands at the axis of each kind of load."""
CURVE_PERCENTILES = (("response_p95", "95th percentile"), ("response_p99", "99th percentile"))

Means = Mapping[str, float]
"""The mean of each metric at a load."""


def list_limits(workload: StudiedWorkload, times: Sequence[CurveRow]) -> list[LimitRow]:
    """The limits on response time that do not flatten what is drawn: none where all lies far below them."""
    top = max((row["y"] for row in times), default=0)
    limits = ((workload.good_s, "good (95 %)"), (workload.tolerable_s, "tolerable (99 %)"))
    return [{"y": limit, "label": label} for limit, label in limits if limit is not None and limit <= 3 * top]


def list_curve_rows(points: Sequence[tuple[float, Means]], names: Sequence[tuple[str, str]]) -> list[CurveRow]:
    """Metrics over load, each as a series: {x, y, series}."""
    return [
        {"x": load, "y": means[name], "series": series}
        for name, series in names
        for load, means in points
        if name in means
    ]


def draw_over_load(
    points: Sequence[tuple[float, Means]],
    axis: str,
    workload: StudiedWorkload,
    marks: FigureRows,
    verdicts: Mapping[float, str],
    suffix: str = "",
) -> Iterator[Figure]:
    """The curves over load: both percentiles, throughput, shares, and who used the CPU."""
    times = list_curve_rows(points, CURVE_PERCENTILES)
    if times:
        plot = Plot(axis, "seconds", lines=times, points=times, limits=list_limits(workload, times), marks=marks)
        yield Figure(f"Response time{suffix}", "Both percentiles that limits are put on.", plot)
    for name in ("throughput", "good"):
        drawn = list_curve_rows(points, ((name, name),))
        if drawn:
            judged = [{**row, "verdict": verdicts[row["x"]]} for row in drawn if row["x"] in verdicts]
            limits = [{"y": 95, "label": "95 %"}] if name == "good" else []
            metric = METRICS[name]
            plot = Plot(axis, metric.axis_title, drawn, judged, limits=limits, marks=marks, from_zero=name != "good")
            yield Figure(f"{metric.plot_title}{suffix}", "Points are colored by their runs' verdict.", plot)
    drawn = list_curve_rows(points, (("host_cpu", "machine"), ("server_cpu", "system under test")))
    if drawn:
        yield Figure(f"CPU{suffix}", "In cores.", Plot(axis, "cores", drawn, drawn, marks=marks))
    for name in ("busy_workers", "driver_lag_p99"):
        drawn = list_curve_rows(points, ((name, name),))
        if drawn and max(row["y"] for row in drawn) > LEAST_LAG_S:
            metric = METRICS[name]
            yield Figure(f"{metric.plot_title}{suffix}", "", Plot(axis, metric.axis_title, drawn, drawn, marks=marks))


def conclude_common(verdicts: Sequence[Verdict]) -> Verdict:
    """Returns the common verdict of runs at one load: invalid if all are invalid, pass if all passed, else fail."""
    outcomes = set(verdicts)
    return choose_worst(verdicts) if len(outcomes) == 1 else Verdict.FAIL
