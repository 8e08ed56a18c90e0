"""The pictures of all workloads of a comparison of platforms: everything divided by the first platform."""

from collections.abc import Mapping

import pytest

from loadstone.page.blocks import Gallery
from loadstone.page.plot import PairedBarPlot
from loadstone.report.charts import draw
from loadstone.study.kinds.compare.platforms.answer import PlatformPoint, PlatformsAnswer
from loadstone.study.kinds.compare.platforms.overview import show_platforms
from loadstone.study.kinds.compare.platforms.rows import SideMeans
from loadstone.study.kinds.compare.sides import SideSearch
from loadstone.study.summary import ComparedSide
from tests.unit.study.test_peaks_figures import search_answer


def means(response_s: float) -> SideMeans:
    return SideMeans({"response_mean": response_s}, {}, {"pass": 1}, ())


def answer(
    workload: str, a: float | None, b: float | None, times_s: tuple[float, float] = (0.1, 0.2)
) -> PlatformsAnswer:
    """Returns a comparison of `process` and `vm` with these peaks, whose intervals are a tenth up and down."""
    return PlatformsAnswer(
        workload=workload,
        is_answered=True,
        headline=(),
        a={},
        b={},
        names={"a": "process", "b": "vm"},
        load="sessions",
        peaks={"a": a, "b": b},
        ratio=None,
        at_peak={},
        typical=PlatformPoint(80, *map(means, times_s)),
        common=None,
        curve=(),
        parted=None,
        accelerators={},
        cost=None,
        searches=(SideSearch(ComparedSide.A, search_answer(a)), SideSearch(ComparedSide.B, search_answer(b))),
        is_worse=False,
    )


def bars(*answers: PlatformsAnswer) -> Mapping[str, PairedBarPlot]:
    """Returns the pictures by title, each drawn once to see that it can be."""
    galleries = [block for block in show_platforms(answers) if isinstance(block, Gallery)]
    figures = [figure for gallery in galleries for figure in gallery.figures]
    assert all(draw(figure.plot).startswith("<svg") for figure in figures)
    return {figure.title: figure.plot for figure in figures if isinstance(figure.plot, PairedBarPlot)}


def test_peaks_and_response_times_are_those_of_the_first_platform_times_a_ratio() -> None:
    drawn = bars(answer("banking", 200, 180), answer("support", 100, 110, (0.2, 0.3)))
    peaks = [(row["name"], row["series"], row["value"]) for row in drawn["Peaks by the first platform"].rows]
    assert peaks == [
        ("banking", "process", 1.0),
        ("banking", "vm", 0.9),
        ("support", "process", 1.0),
        ("support", "vm", 1.1),
    ]
    times = [row["value"] for row in drawn["Response time by the first platform"].rows]
    assert times == [1.0, 2.0, 1.0, pytest.approx(1.5)]


def test_a_ratio_of_peaks_has_what_both_intervals_allow() -> None:
    row = bars(answer("banking", 200, 180))["Peaks by the first platform"].rows[1]
    assert (row["low"], row["high"]) == (pytest.approx(0.9 * 0.9 / 1.1), pytest.approx(0.9 * 1.1 / 0.9))


def test_all_three_web_sites_have_a_bar_of_their_index() -> None:
    drawn = bars(*(answer(workload, 200, 100) for workload in ("banking", "shopping", "support")))
    rows = drawn["Peaks by the first platform"].rows
    assert [row["value"] for row in rows if row["name"] == "web index"] == [1.0, pytest.approx(0.5)]


def test_a_workload_without_a_peak_has_no_bar() -> None:
    drawn = bars(answer("banking", 200, None))
    assert "Peaks by the first platform" not in drawn
    assert list(show_platforms([])) == []
