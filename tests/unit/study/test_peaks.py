"""Peaks at every point of a sweep, as a pure question."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from loadstone.model.errors import UsageError
from loadstone.model.profile import PROFILES
from loadstone.page.blocks import Table
from loadstone.study.changes import MachineGrid
from loadstone.study.kinds.peaks.answer import PeakPoint, PeakRatio, PeaksOverAnswer, summarize_peaks
from loadstone.study.kinds.peaks.page import render_blocks
from loadstone.study.kinds.peaks.question import Peaks
from loadstone.study.kinds.peaks.section import PeaksSection
from loadstone.study.search.answer import LoadStanding, SearchedLoad, Spread
from loadstone.study.search.question import Search
from loadstone.study.summary import Purpose, RunRequest, RunSummary
from loadstone.workloads import load
from tests.made import ask, carry_out, made

OVER = (("platform", ("process", "vm")), ("machines", tuple(map(MachineGrid.parse, ("1x1", "1x2", "2x1")))))
PEAKS = Peaks("page", OVER, Search("page", {}, "sessions", start=100, width=0.01))
CAPACITY = {"1x1": 300.0, "1x2": 570.0, "2x1": 600.0}
VIRTUAL = 0.9


def bearing(noise: float = 0.01) -> Callable[[RunRequest], RunSummary]:
    """What each point bears is known; a virtual one bears nine tenths."""
    chance = random.Random(1)

    def play(request: RunRequest) -> RunSummary:
        settings = request.settings
        capacity = CAPACITY[str(settings["machines"])] * (VIRTUAL if settings["platform"] == "vm" else 1)
        used = request.load * (1 + chance.gauss(0, noise)) / capacity
        good = max(0.0, 100 - 5 * 2 ** (10 * (used - 1)))
        metrics = {"server_cpu": used, "response_p90": 0.01 / max(0.01, 1.2 - used)}
        return made(request, "pass" if good >= 95 else "fail", good=good, **metrics)

    return play


Asked = tuple[PeaksOverAnswer, Sequence[RunSummary]]


@pytest.fixture(scope="module")
def asked() -> Asked:
    """A study at all points and its runs; its answer takes a second."""
    return carry_out(PEAKS, bearing(), most=400)


def test_every_points_peak_is_found_with_its_interval_and_the_cpu_below_it(asked: Asked) -> None:
    answer, runs = asked
    assert answer.is_answered
    assert [dict(point.at) for point in answer.points] == PEAKS.list_points()
    for point in answer.points:
        truth = CAPACITY[str(point.at["machines"])] * (VIRTUAL if point.at["platform"] == "vm" else 1)
        assert point.search.peak == pytest.approx(truth, rel=0.05)
        assert point.search.interval is not None
        assert point.cpu_below == pytest.approx(0.8 * point.search.peak / truth, rel=0.06)
    assert len({run.request.key for run in runs}) == len(runs)
    assert len({run.request.seed for run in runs}) == len(runs)


def test_platforms_are_set_beside_each_other_all_else_alike(asked: Asked) -> None:
    answer, _ = asked
    assert [(one.over, one.under) for one in answer.platforms] == [
        (f"platform=vm, machines={machines}", f"platform=process, machines={machines}") for machines in CAPACITY
    ]
    for ratio in answer.platforms:
        assert ratio.low is not None and ratio.high is not None
        assert ratio.low <= VIRTUAL <= ratio.high
    out = next(one for one in answer.others if one.over == "platform=process, machines=2x1")
    assert out.under == "platform=process, machines=1x1"
    assert out.low is not None and out.high is not None and out.low <= 2 <= out.high
    assert any("sustains" in line for line in answer.headline)


def test_a_ratio_that_may_be_anything_is_not_told_as_one() -> None:
    wide, narrow = PeakRatio("a", "b", 0.94, 0.17, 10.8), PeakRatio("a", "b", 0.94, 0.8, 1.1)
    told = list(summarize_peaks((), (wide, narrow), ()))
    assert told == [
        "a against b: the searches are not conclusive, 94 % (17 to 1080 %).",
        "a sustains 94 % (80 to 110 %) of the load of b.",
    ]


def test_response_times_are_set_beside_each_other_where_as_much_is_used(asked: Asked) -> None:
    def load(at: float, used: float, response_s: float) -> SearchedLoad:
        metrics = {"server_cpu": Spread(used, used, used), "response_p90": Spread(response_s, response_s, response_s)}
        return SearchedLoad(at, LoadStanding.PASSES, (), metrics, (), ())

    found, _ = asked

    def point(machines: str, *loads: SearchedLoad) -> PeakPoint:
        search = replace(found.points[0].search, loads=loads, peak=400.0)
        return PeakPoint({"platform": "vm", "machines": MachineGrid.parse(machines)}, search)

    up = point("1x2", load(100, 0.8, 0.1), load(200, 1.6, 0.3))
    out = point("2x1", load(100, 1.0, 0.2), load(200, 2.0, 0.6))
    answer = replace(found, points=(point("1x1"), up, out), platforms=(), others=())
    tables = [block for block in render_blocks(answer, cast(Any, None), []) if isinstance(block, Table)]
    (row,) = tables[-1].rows
    # At 1.0 of both 0.2 by 0.15, at 1.4 0.36 by 0.25; 1.8 is beyond what the other used.
    assert [cell.text for cell in row.typed][2:] == ["1.33", "1.44", "not measured"]


def test_where_no_load_passes_there_is_no_peak_no_run_below_it_and_no_ratio() -> None:
    def play(request: RunRequest) -> RunSummary:
        if request.settings["platform"] == "vm":
            return made(request, "fail", good=50)
        return bearing(0)(request)

    answer, runs = carry_out(PEAKS, play, most=400)
    assert answer.is_negative and not answer.platforms
    below = [run for run in runs if run.request.purpose is Purpose.MEASURE]
    assert {run.request.settings["platform"] for run in below} == {"process"}
    assert len(below) == 3


def test_an_interrupted_study_goes_on_where_it_was(asked: Asked) -> None:
    _, runs = asked
    for count in (0, 5, len(runs) // 2, len(runs) - 1):
        assert PEAKS.plan_next(runs[:count]) == runs[count].request
    assert PEAKS.plan_next(runs) is None
    assert PEAKS.estimate_left(runs) == 0


def test_a_load_is_searched_and_not_varied() -> None:
    workload = load("bookstore")
    with pytest.raises(UsageError, match="Each point searches"):
        ask(PeaksSection(over={"sessions": (1, 2)}), [workload], PROFILES["quick"])
