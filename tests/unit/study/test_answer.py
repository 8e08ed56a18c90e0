"""One table for a host: each cell has a figure or a reason, whatever can be run here."""

from dataclasses import replace

import pytest

from loadstone.judge.outage import Outage
from loadstone.model.errors import UsageError
from loadstone.model.records.check import Bound, Check, CheckId, Outcome, Weight
from loadstone.model.records.manifest import StudiedWorkload
from loadstone.model.records.verdict import Verdict
from loadstone.page.blocks import Table
from loadstone.study.failure import Failure, Ledgers
from loadstone.study.kinds.answer.answer import NO_PEAK, TableAnswer
from loadstone.study.kinds.answer.page import build_blocks
from loadstone.study.kinds.answer.question import HostAnswer
from loadstone.study.kinds.answer.section import SETUPS, AnswerSection, read_setups
from loadstone.study.search.question import Search
from loadstone.study.summary import RunRequest, RunSummary, summarize_unmade
from tests.made import carry_out, made

EDGES = {"process": 1000.0, "container": 900.0, "vm": 500.0, "pair": 250.0}
"""Largest load that passes, by platform."""
SILENCES = {"process": None, "container": None, "vm": None, "restart": 7.5, "pair": 0.4}
NO_PODMAN = "Containers need bubblewrap."


def play(request: RunRequest) -> RunSummary:
    """A host of one core for each setup, whose CPU is full at the largest load that passes."""
    platform = str(request.settings["platform"])
    edge = EDGES[platform]
    passes = request.load <= edge
    run = made(request, "pass" if passes else "fail", good=100 if passes else 0)
    metrics = {**run.metrics, "server_cpu": min(1.0, request.load / edge), "response_p90": 0.01 * 1000 / edge}
    metrics |= {"server_cpu_per_operation": 1 / edge, "response_mean": 5 / edge}
    failure = _failure(request, platform) if request.fault is not None else None
    monitors = {"process.resident_bytes": 64 * 2.0**20}
    capacity = {"server_cores": 1.0, "cores": 2.0}
    return replace(run, metrics=metrics, capacity=capacity, platform=platform, failure=failure, monitors=monitors)


def _failure(request: RunRequest, platform: str) -> Failure:
    silence_s = SILENCES["restart" if request.settings.get("machine.restart") else platform]
    outage = Outage(3, 2, 1.0, silence_s is not None, silence_s, 100.0)
    return Failure(outage=outage, ledgers=Ledgers(50, 50 if platform == "pair" else 48, 1))


def ask(*setups: str, trials: int = 1) -> HostAnswer:
    model = Search("page", {}, "sessions", start=100, width=0.05, verify=1)
    return HostAnswer("page", setups or tuple(SETUPS), 1, model, trials, 5.0)


def cells(answer: TableAnswer, title: str) -> dict[str, str]:
    row = next(row for row in answer.rows if row.title.startswith(title))
    return {name: str(cell) for name, cell in zip(answer.setups, row.cells, strict=True)}


def test_every_cell_of_the_table_has_a_figure_or_a_reason() -> None:
    answer, runs = carry_out(ask(), play)
    assert answer.is_answered and not answer.is_negative
    assert all(bool(cell.text) != bool(cell.reason) for row in answer.rows for cell in row.cells)
    peaks = cells(answer, "peak")
    assert list(peaks) == ["native", "container", "vm", "restart", "pair"]
    assert 950 <= answer.searches["native"].peak <= 1000  # type: ignore[operator]
    assert peaks["restart"].endswith("(as vm)")
    common = answer.common_load
    assert common is not None and 0.8 * 230 <= common <= 0.8 * 250
    assert {run.request.load for run in runs if run.request.search.endswith(("-equal", "-failure"))} == {common}


def play_in_short_runs(request: RunRequest) -> RunSummary:
    """The same host, but a pair that serves 50 sessions, and runs of 5 s with too few operations below 60 sessions."""
    steady_s = float(str(request.settings.get("profile.steady_s", 5.0)))
    figure, limit = request.load * steady_s, 300.0
    is_enough = figure >= limit
    outcome = Outcome.KEPT if is_enough else Outcome.BROKEN
    enough = Check(CheckId.ENOUGH, "operations", figure, limit, Bound.AT_LEAST, "", Weight.INVALID, outcome, "")
    is_held = request.settings["platform"] != "pair" or request.load <= 50
    run = play(request) if is_held else replace(play(request), verdict=Verdict.FAIL)
    verdict = run.verdict if is_enough else Verdict.INVALID
    return replace(run, verdict=verdict, checks=(enough,), windows_unix_s=((0.0, steady_s),))


def test_a_setup_whose_small_loads_are_not_judged_bounds_the_common_load_and_lengthens_its_runs() -> None:
    answer, runs = carry_out(ask("native", "pair"), play_in_short_runs)
    assert answer.searches["pair"].peak is None
    common = answer.common_load
    assert common is not None and common < 0.8 * 80, "the pair fails at fewer than 80"
    equal = [run for run in runs if run.request.search.endswith("-equal")]
    assert {run.request.load for run in equal} == {common}
    assert all(run.verdict is Verdict.PASS for run in equal)
    assert {float(str(run.request.settings["profile.steady_s"])) for run in equal} <= set(range(6, 12))


def test_a_setup_that_holds_nothing_at_all_does_not_lower_the_common_load() -> None:
    def play_without_pair(request: RunRequest) -> RunSummary:
        is_pair = request.settings["platform"] == "pair"
        return replace(play(request), verdict=Verdict.FAIL) if is_pair else play(request)

    answer, _ = carry_out(ask("native", "vm", "pair"), play_without_pair)
    assert answer.common_load is not None and answer.common_load >= 0.8 * 450


def test_figures_are_those_of_the_run_that_they_are_about() -> None:
    answer, _ = carry_out(ask(), play)
    assert cells(answer, "response time, 90th") == {
        "native": "10.0",
        "container": "11.1",
        "vm": "20.0",
        "restart": "20.0",
        "pair": "40.0",
    }
    assert cells(answer, "CPU time of an operation")["vm"] == "2.000"
    assert set(cells(answer, "memory").values()) == {"64"}
    assert set(cells(answer, "power").values()) == {"no power meter; --power server=rapl reads one"}
    assert cells(answer, "after a failure: longest") == {
        "native": "not served again",
        "container": "not served again",
        "vm": "not served again",
        "restart": "7.50",
        "pair": "0.40",
    }
    assert cells(answer, "after a failure: lost") == {
        "native": "2",
        "container": "2",
        "vm": "2",
        "restart": "2",
        "pair": "0",
    }


def test_the_last_sentence_is_a_decision_on_the_setup_with_the_largest_peak() -> None:
    answer, _ = carry_out(ask(), play)
    assert answer.headline[-1].startswith("Decision: this host holds ")
    assert "sessions of page on plain processes (" in answer.headline[-1]
    assert "limited by the system's CPU" in answer.headline[-1]
    assert "Keep its CPU below 80 %" in answer.headline[-1]
    (pair,) = [line for line in answer.headline if line.startswith("pair: ")]
    assert "users had no good response for 0.40 s at most; 0 acknowledged transactions lost." in pair
    assert any("users are not served again" in line for line in answer.headline)


def test_a_setup_that_cannot_be_run_leaves_its_reason_and_the_others_go_on() -> None:
    def play_without_containers(request: RunRequest) -> RunSummary:
        is_missing = request.settings["platform"] == "container"
        return summarize_unmade(request, NO_PODMAN) if is_missing else play(request)

    answer, runs = carry_out(ask("native", "container", "pair"), play_without_containers)
    assert answer.is_answered
    assert sum(not run.was_made for run in runs) == 1
    assert cells(answer, "peak")["container"] == NO_PODMAN
    assert cells(answer, "response time, mean")["container"] == "not measured"
    assert f"container: not measured. {NO_PODMAN}" in answer.headline


def test_a_failure_that_the_driver_missed_is_not_conclusive() -> None:
    def play_late(request: RunRequest) -> RunSummary:
        run = play(request)
        return run if request.fault is None else replace(run, is_driver_bound=True, reasons=("driver lag",))

    answer, _ = carry_out(ask("native"), play_late)
    assert cells(answer, "after a failure: longest") == {"native": "driver lag"}
    assert any("outage and losses unknown (driver lag)." in line for line in answer.headline)


def test_a_peak_that_the_driver_limits_is_a_lower_bound_and_has_no_ratio() -> None:
    def play_bound(request: RunRequest) -> RunSummary:
        run = play(request)
        is_bound = request.settings["platform"] == "process" and request.load > 300
        return replace(made(request, "invalid", driver_bound=True), platform="process") if is_bound else run

    answer, _ = carry_out(ask("native", "vm"), play_bound)
    assert cells(answer, "peak")["native"].startswith("at least ")
    assert cells(answer, "peak by the native")["vm"] == "a peak is a lower bound"
    bounded, _ = carry_out(ask("native", "vm"), play)
    assert cells(bounded, "peak by the native")["vm"] == "0.50"


def test_without_a_peak_nothing_is_decided() -> None:
    answer, _ = carry_out(ask("native"), lambda request: made(request, "fail", good=0))
    assert not answer.is_answered and answer.is_negative
    assert answer.headline[-1] == NO_PEAK
    question = ask("native")
    assert question.answer([]).headline[-1] == "The answer is not complete yet."


def test_failures_are_as_many_as_were_asked_for_and_at_different_instants() -> None:
    _, runs = carry_out(ask("vm", "restart", trials=3), play)
    failures = [run.request for run in runs if run.request.fault is not None]
    assert len(failures) == 6
    assert len({request.fault.at_s for request in failures if request.fault}) == 3
    assert {request.settings["profile.steady_s"] for request in failures} == {40.0}


def test_an_interrupted_answer_asks_for_the_same_run_again() -> None:
    _, runs = carry_out(ask(), play)
    for done in range(0, len(runs), 5):
        wanted = ask().plan_next(runs[:done])
        assert wanted is not None and wanted.key == runs[done].request.key


def test_the_page_has_a_column_for_each_setup() -> None:
    answer, runs = carry_out(ask(), play)
    table = next(
        block for block in build_blocks(answer, StudiedWorkload("page", "Page"), runs) if isinstance(block, Table)
    )
    assert [column.title for column in table.columns] == ["figure", "unit", *SETUPS]
    assert len(table.rows) == len(answer.rows)


def test_setups_are_known_by_name_and_each_is_there_once() -> None:
    assert read_setups("vm, native,vm") == ("vm", "native")
    with pytest.raises(UsageError, match="There is no setup `bare`"):
        read_setups("bare")
    assert AnswerSection().is_quick and not AnswerSection(full=True).is_quick
    assert AnswerSection(power=("server=rapl",)).meters == ("server=rapl",)
