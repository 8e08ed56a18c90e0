"""Pictures of peaks: normalised to the first platform, over the CPUs of all machines, and as scaling."""

from typing import Any

import pytest

from loadstone.page.blocks import Figure
from loadstone.page.plot import PairedBarPlot, Plot
from loadstone.report.charts import draw
from loadstone.study.changes import MachineGrid
from loadstone.study.kinds.peaks.answer import PeakPoint, PeaksOverAnswer
from loadstone.study.kinds.peaks.figures import draw_figures
from loadstone.study.search.answer import LimitedBy, LoadStanding, SearchAnswer, SearchedLoad, Spread


def search_answer(peak: float | None) -> SearchAnswer:
    """Returns a search with two loads below its peak; a system of 100 sessions uses half a core."""
    loads = tuple(
        SearchedLoad(at, LoadStanding.PASSES, (), {"server_cpu": Spread(at / 200, 0, 9)}, (), ())
        for at in (50.0, 100.0)
    )
    return SearchAnswer(
        workload="page",
        is_answered=True,
        headline=(),
        settings={},
        load="sessions",
        width=0.01,
        verify=3,
        peak=peak,
        interval=None if peak is None else (0.9 * peak, 1.1 * peak),
        limit=LimitedBy.RULE,
        loads=loads,
    )


def answer(*points: tuple[str, str, float | None]) -> PeaksOverAnswer:
    """Returns peaks of platforms and machines, such as ("vm", "2x4", 500)."""
    return PeaksOverAnswer(
        workload="page",
        is_answered=True,
        headline=(),
        over=("platform", "machines"),
        load="sessions",
        points=tuple(
            PeakPoint({"platform": platform, "machines": MachineGrid.parse(grid)}, search_answer(peak))
            for platform, grid, peak in points
        ),
    )


def drawn(shown: PeaksOverAnswer) -> dict[str, Figure]:
    """Returns the pictures by title, each drawn once to see that it can be."""
    pictures = list(draw_figures(shown))
    assert all(draw(figure.plot).startswith("<svg") for figure in pictures)
    return {
        f"{figure.title}, {figure.plot.y_title}" if isinstance(figure.plot, Plot) else figure.title: figure
        for figure in pictures
    }


def rows_of(figure: Figure) -> list[dict[str, Any]]:
    assert isinstance(figure.plot, Plot)
    return [dict(row) for row in figure.plot.lines]


def test_peaks_are_divided_by_those_of_the_first_platform_on_like_machines() -> None:
    pictures = drawn(answer(("process", "1x1", 200), ("vm", "1x1", 180), ("process", "1x2", 400), ("vm", "1x2", 300)))
    plot = pictures["Peaks by the first platform"].plot
    assert isinstance(plot, PairedBarPlot)
    assert [(row["name"], row["series"], row["value"]) for row in plot.rows] == [
        ("1x1", "process", 1.0),
        ("1x1", "vm", 0.9),
        ("1x2", "process", 1.0),
        ("1x2", "vm", 0.75),
    ]
    assert (plot.rows[1]["low"], plot.rows[1]["high"]) == (pytest.approx(0.81), pytest.approx(0.99))


def test_a_point_without_a_peak_is_in_no_ratio() -> None:
    pictures = drawn(answer(("process", "1x1", None), ("vm", "1x1", 180)))
    assert "Peaks by the first platform" not in pictures


def test_peaks_scale_with_the_cpus_of_one_machine_and_with_machines_of_one_size() -> None:
    pictures = drawn(answer(("vm", "1x1", 100), ("vm", "1x2", 190), ("vm", "1x4", 350), ("vm", "4x1", 400)))
    peaks = rows_of(pictures["Peak over the CPUs of all machines, sessions"])
    assert [(row["series"], row["x"], row["y"]) for row in peaks] == [
        ("one machine, vm", 1, 100),
        ("one machine, vm", 2, 190),
        ("one machine, vm", 4, 350),
        ("1-CPU machines, vm", 1, 100),
        ("1-CPU machines, vm", 4, 400),
    ]
    scaling = rows_of(pictures["Scaling, times the peak"])
    assert [(row["series"], row["x"], row["y"]) for row in scaling] == [
        ("one machine, vm", 1, 1),
        ("one machine, vm", 2, 1.9),
        ("one machine, vm", 4, 3.5),
        ("1-CPU machines, vm", 1, 1),
        ("1-CPU machines, vm", 4, 4),
        ("linear", 1, 1),
        ("linear", 4, 4),
    ]


def test_cpu_is_drawn_as_a_share_of_the_machines_cpus_with_every_peak_marked() -> None:
    pictures = drawn(answer(("process", "1x2", 200), ("process", "2x2", 400)))
    plot = pictures["CPU of the system, % of its CPUs"].plot
    assert isinstance(plot, Plot)
    assert [(row["x"], row["y"]) for row in plot.lines] == [(50, 12.5), (100, 25), (50, 6.25), (100, 12.5)]
    assert [(mark["x"], mark["label"]) for mark in plot.marks] == [(200, "process, 1x2"), (400, "process, 2x2")]
    assert "CPU of the system, cores" not in pictures
