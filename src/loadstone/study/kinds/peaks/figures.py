"""Pictures of peaks: beside each other, over the load, and over the CPUs of their machines. Pure."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from loadstone.page.blocks import Figure
from loadstone.page.plot import PairedBarPlot, Plot
from loadstone.study.changes import MachineGrid
from loadstone.study.curves import AXIS
from loadstone.study.grid import PLATFORMS
from loadstone.study.kinds.peaks.answer import PeakPoint, PeaksOverAnswer, list_platforms
from loadstone.study.metrics import METRICS
from loadstone.study.search.answer import SearchedLoad
from loadstone.study.settings import write_value

DrawnRows = list[dict[str, Any]]
"""Flat records that a plot draws."""
ONE_MACHINE = "one machine"
"""Series of points that differ in the CPUs of their only machine."""
LINEAR = "linear"
MOST_MARKS = 4
"""Peaks that are marked in a picture; the labels of more would overlap. Each line ends at its peak."""


def draw_figures(answer: PeaksOverAnswer) -> Iterator[Figure]:
    """Yields the pictures that the points of an answer allow."""
    points = [point for point in answer.points if point.search.peak is not None]
    if points:
        bars = [_bar(point.label, answer.load, point, 1.0) for point in points]
        yield Figure("Peaks", "The largest load that passed every rule, by search.", PairedBarPlot(answer.load, bars))
    yield from _normalised(points)
    yield from _over_cpus(answer, points)
    yield from _curves(answer)


def find_grid(point: PeakPoint) -> MachineGrid | None:
    """Returns how many machines of how many CPUs a point has, by its parameter `machines`; None where it has none."""
    grid = point.at.get("machines")
    return grid if isinstance(grid, MachineGrid) else None


def count_cpus(point: PeakPoint) -> int:
    """Counts the CPUs of all machines of a point; 0 where its parameters do not say."""
    grid = find_grid(point)
    return grid.count * grid.cpus if grid is not None else 0


def choose_response(answer: PeaksOverAnswer) -> tuple[str, str]:
    """Returns name and title of the one response time that curves are of: weighted by the mix where each kind of
    operation has its limit.
    """
    loads = [load for point in answer.points for load in point.search.loads]
    if loads and all("response_weighted" in load.metrics for load in loads):
        return "response_weighted", "Response time, percentile weighted by the mix"
    return "response_p90", "Response time, 90th percentile"


def _bar(name: str, series: str, point: PeakPoint, divisor: float) -> dict[str, Any]:
    low, high = point.search.interval or (None, None)
    ends = {"low": None if low is None else low / divisor, "high": None if high is None else high / divisor}
    return {"name": name, "series": series, "value": (point.search.peak or 0.0) / divisor, **ends}


def _normalised(points: Sequence[PeakPoint]) -> Iterator[Figure]:
    """Yields the peaks of each platform divided by the peak of the first one with the same other settings."""
    groups: dict[str, list[PeakPoint]] = {}
    for point in points:
        groups.setdefault(_rest(point), []).append(point)
    rows = [
        _bar(name, _platform(point), point, group[0].search.peak or 1.0)
        for name, group in groups.items()
        if len({list_platforms(point) for point in group}) > 1
        for point in group
    ]
    if rows:
        caption = "Each peak divided by that of the first platform. Lines are the intervals of the searches."
        yield Figure("Peaks by the first platform", caption, PairedBarPlot("ratio", rows))


def _rest(point: PeakPoint) -> str:
    """Names the settings of a point but its platform."""
    return ", ".join(write_value(value) for name, value in point.at.items() if name not in PLATFORMS) or "all"


def _platform(point: PeakPoint) -> str:
    return ", ".join(name for name in list_platforms(point) if name)


def _over_cpus(answer: PeaksOverAnswer, points: Sequence[PeakPoint]) -> Iterator[Figure]:
    """Yields the peak over the CPUs of all machines, and how it scales, where several points differ in them."""
    series = dict(_series_of_cpus(points))
    if not series:
        return
    rows = [
        {"x": count_cpus(point), "y": point.search.peak, "series": name}
        for name, group in series.items()
        for point in group
    ]
    title = "Peak over the CPUs of all machines"
    plot = Plot("CPUs of all machines", answer.load, rows, rows)
    yield Figure(title, "One line for each size of a machine.", plot)
    scaling = [row for name, group in series.items() for row in _scaling(name, group)]
    ends = [1.0, max(row["x"] for row in scaling)]
    ideal = [{"x": end, "y": end, "series": LINEAR} for end in ends]
    caption = "Peak and CPUs, each divided by those of the smallest point of the line."
    yield Figure("Scaling", caption, Plot("times the CPUs", "times the peak", [*scaling, *ideal], scaling))


def _series_of_cpus(points: Sequence[PeakPoint]) -> Iterator[tuple[str, list[PeakPoint]]]:
    """Yields points that differ in their number of CPUs alone: of one machine, and of machines of the same size."""
    sized = sorted((point for point in points if find_grid(point) is not None), key=count_cpus)
    for platform in dict.fromkeys(map(_platform, sized)):
        alike = [point for point in sized if _platform(point) == platform]
        suffix = f", {platform}" if platform else ""
        groups = {ONE_MACHINE: [point for point in alike if _grid(point).count == 1]}
        for size in sorted({_grid(point).cpus for point in alike}):
            groups[f"{size}-CPU machines"] = [point for point in alike if _grid(point).cpus == size]
        for name, group in groups.items():
            if len({count_cpus(point) for point in group}) > 1:
                yield f"{name}{suffix}", group


def _grid(point: PeakPoint) -> MachineGrid:
    grid = find_grid(point)
    assert grid is not None, "a point without machines is in no series"
    return grid


def _scaling(name: str, group: Sequence[PeakPoint]) -> DrawnRows:
    least, peak = count_cpus(group[0]), group[0].search.peak or 1.0
    return [{"x": count_cpus(point) / least, "y": (point.search.peak or 0.0) / peak, "series": name} for point in group]


def _curves(answer: PeaksOverAnswer) -> Iterator[Figure]:
    """Yields response time over the CPU that is used, then response time and CPU over the load."""
    response, title = choose_response(answer)
    used = _rows(answer, lambda _, load: _mean(load, "server_cpu"), lambda _, load: _mean(load, response))
    if used:
        plot = Plot("CPU of the system, cores", METRICS[response].axis_title, used, used)
        yield Figure(f"{title}, over CPU", "Up to each peak, one line a point.", plot)
    peaks = [(point.search.peak, point.label) for point in answer.points if point.search.peak is not None]
    marks = [{"x": peak, "label": label} for peak, label in peaks] if len(peaks) <= MOST_MARKS else []
    caption = "Over the load up to each peak, one line a point."
    for name, axis, value in (
        (title, METRICS[response].axis_title, lambda _, load: _mean(load, response)),
        ("CPU of the system", "% of its CPUs", _cpu_pct),
        ("CPU of the system", "cores", lambda point, load: None if count_cpus(point) else _mean(load, "server_cpu")),
    ):
        drawn = _rows(answer, lambda _, load: load.at, value)
        if drawn:
            yield Figure(name, caption, Plot(AXIS[answer.load], axis, drawn, drawn, marks=marks))


LoadValue = Callable[[PeakPoint, SearchedLoad], float | None]


def _rows(answer: PeaksOverAnswer, x: LoadValue, y: LoadValue) -> DrawnRows:
    """Lists a row for each load up to the peak of its point that has both values."""
    return [
        {"x": across, "y": up, "series": point.label}
        for point in answer.points
        for load in point.search.loads
        if load.at <= (point.search.peak or load.at)
        and (across := x(point, load)) is not None
        and (up := y(point, load)) is not None
    ]


def _mean(load: SearchedLoad, metric: str) -> float | None:
    return load.metrics[metric].mean if metric in load.metrics else None


def _cpu_pct(point: PeakPoint, load: SearchedLoad) -> float | None:
    """Calculates the used share of a point's CPUs in percent; None where their number is not known."""
    used, count = _mean(load, "server_cpu"), count_cpus(point)
    return 100 * used / count if used is not None and count else None
