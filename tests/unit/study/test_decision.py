"""The last sentence of single runs and of runs of tiles."""

from dataclasses import replace

import pytest

from loadstone.model.records.check import Bound, Check, CheckId, Outcome, Weight
from loadstone.model.records.verdict import RateMaxima, TileRecord, TilesVerdict, Verdict
from loadstone.study.decision import decide_run, decide_tiles
from loadstone.study.summary import RunRequest, RunSummary
from tests.made import made

REQUEST = RunRequest("1", "page", {}, 1)


def run(verdict: str, server_cpu: float | None = None, platform: str = "vm") -> RunSummary:
    """A run of 200 sessions against a server of two cores."""
    metrics = {} if server_cpu is None else {"server_cpu": server_cpu, "host_cpu": 1.0}
    capacity = {"server_cores": 2.0, "cores": 4.0}
    return replace(made(REQUEST, verdict), metrics=metrics, capacity=capacity, load="200 sessions", platform=platform)


def test_a_passing_run_says_what_it_leaves_free() -> None:
    assert decide_run(run("pass", server_cpu=0.8)) == (
        "Decision: this host holds 200 sessions of page on vm. "
        "40 % of its CPU is used; `loadstone search page` finds the largest load."
    )


def test_a_passing_run_of_a_full_system_asks_for_a_smaller_load() -> None:
    sentence = decide_run(run("pass", server_cpu=1.9, platform=""))
    assert sentence.startswith("Decision: the system holds 200 sessions, limited by the system's CPU (95 % used). ")
    assert "95 % of its CPU is used: plan with a smaller load." in sentence


def test_a_failing_run_names_what_was_full() -> None:
    assert decide_run(run("fail", server_cpu=1.9)) == (
        "Decision: this host does not hold 200 sessions of page on vm, limited by the system's CPU (95 % used). "
        "Use a smaller load."
    )


def test_a_cpu_that_was_not_watched_is_not_guessed_and_an_invalid_run_decides_nothing() -> None:
    assert "Its CPU was not watched" in decide_run(run("pass"))
    assert decide_run(run("invalid", server_cpu=0.8)) == ""


def tiles(busy_pct: float, last_pct: float = 100) -> TilesVerdict:
    """Two tiles on a host that was so busy."""
    check = Check(CheckId.HOST_BUSY, "host", busy_pct, 95, Bound.AT_MOST, "%", Weight.NOTE, Outcome.KEPT)
    record = TileRecord(1, 100, {}, 1, 1, 1, 1, 1, 1, 1, 97.5, 1)
    return TilesVerdict(
        maxima=RateMaxima(1, 1, 1),
        score=195,
        qos_pct=100,
        least_qos_pct=100,
        headline="",
        tiles=(record, replace(record, number=2, pct_load=last_pct)),
        verdict=Verdict.PASS,
        checks=(check,),
        reasons=(),
        score_error=1,
    )


@pytest.mark.parametrize(
    ("verdict", "whole", "sentence"),
    [
        (tiles(50), Verdict.PASS, "this host holds 2 tiles (score 195). 50 % of its CPU is used, drivers included; "),
        (tiles(90), Verdict.PASS, "score 195), limited by the host's CPU (90 % used). Keep its CPU below 80 %"),
        (tiles(50, 30), Verdict.FAIL, "does not hold 2 tiles, the last at 30 % of its load. Use fewer tiles"),
    ],
)
def test_tiles_are_decided_by_the_cpu_of_their_host(verdict: TilesVerdict, whole: Verdict, sentence: str) -> None:
    assert sentence in decide_tiles(verdict, whole)
    assert decide_tiles(verdict, Verdict.INVALID) == ""
