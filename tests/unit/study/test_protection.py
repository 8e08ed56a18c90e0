"""The cost of protection is found in pairs of runs, and its figures come from the side that they are about."""

from dataclasses import replace
from typing import Any

import pytest

from loadstone.page.blocks import Row, Table
from loadstone.platforms.pair.sizing import RULE_FACTOR
from loadstone.study.kinds.protection import KIND
from loadstone.study.kinds.protection.answer import ProtectionAnswer
from loadstone.study.kinds.protection.page import build_overview
from loadstone.study.kinds.protection.question import Protection
from loadstone.study.kinds.protection.section import ProtectionSection
from loadstone.study.run_figures import MachineTraffic, OperationTimes, PairLog, ProcessUse
from loadstone.study.summary import ComparedSide, RunRequest, RunSummary
from loadstone.workloads import load
from tests.made import carry_out, made

LOGGED_MBYTES_PER_S = 1.5
"""Part of its 2 MB/s of disk reads that comes with the log."""
KEPT = 0.9
"""Share of its throughput that the made-up machine keeps under protection."""


def played(request: RunRequest) -> RunSummary:
    """A machine of 100 operations/s that drifts by a percent a run, and receives 10 Mbit/s in frames of 1,000 bytes."""
    is_protected = request.side is ComparedSide.B
    drift = 1 + 0.01 * request.seed
    per_s = 100.0 * drift * (KEPT if is_protected else 1.0)
    run = made(request, throughput=per_s, response_mean=1 / per_s)
    times = {"page": OperationTimes(per_s, 1 / per_s, 2 / per_s)}
    uses = {"web": ProcessUse(0.5, 1e6)} | ({"web, agent a": ProcessUse(0.1, 2e6)} if is_protected else {})
    traffic = MachineTraffic(10.0, 1250.0, 2.0, LOGGED_MBYTES_PER_S)
    log = PairLog(30.0, 15.0, 3.0, 1.0, 4.0, 0.0, {"network": 24.0, "clock": 6.0}) if is_protected else None
    return replace(run, operations=times, processes=uses, traffic=traffic, log=log)


def answered(pairs: int = 6) -> ProtectionAnswer:
    answer, _ = carry_out(Protection("support", pairs), played)
    return answer


def test_each_pair_has_one_run_of_each_side_and_neither_side_is_always_first() -> None:
    requests = Protection("support", 6).plan_runs()
    sides = [request.side for request in requests]
    assert all({*sides[place : place + 2]} == {ComparedSide.A, ComparedSide.B} for place in range(0, 12, 2))
    assert {*sides[::2]} == {ComparedSide.A, ComparedSide.B}
    assert {request.settings["machine.protected"] for request in requests if request.side is ComparedSide.A} == {False}
    assert len({request.seed for request in requests}) == 12


def test_the_throughput_that_is_kept_is_found_with_its_interval() -> None:
    answer = answered()
    difference = answer.metrics["throughput"].difference
    assert difference is not None and difference.low is not None and difference.high is not None
    assert difference.ratio == pytest.approx(KEPT, rel=0.02)
    assert difference.low <= KEPT <= difference.high < 1
    assert difference.is_found and answer.is_answered


def test_fewer_pairs_have_no_interval_and_say_how_many_it_takes() -> None:
    answer = answered(2)
    difference = answer.metrics["throughput"].difference
    assert difference is not None and difference.low is None
    assert "an interval takes 6 pairs" in answer.headline[0]


def test_a_pair_with_an_invalid_run_counts_for_nothing_and_is_made_again() -> None:
    def invalid_once(request: RunRequest) -> RunSummary:
        return made(request, "invalid", throughput=1.0) if request.seed == 0 else played(request)

    answer, runs = carry_out(Protection("support", 6), invalid_once)
    assert (len(runs), answer.pairs, answer.left_out) == (14, 6, 1)
    difference = answer.metrics["throughput"].difference
    assert difference is not None and difference.low is not None
    assert difference.ratio == pytest.approx(KEPT, rel=0.02)
    assert answer.headline[0].startswith("1 pair with an invalid run left out")


def test_a_machine_whose_runs_are_never_valid_is_given_up() -> None:
    answer, runs = carry_out(Protection("support", 2), lambda request: made(request, "invalid", throughput=1.0))
    assert (len(runs), answer.pairs, answer.left_out) == (8, 0, 4)
    assert not answer.is_answered


def test_log_and_processes_are_those_of_the_protected_side_beside_the_predicted_log() -> None:
    answer = answered()
    assert answer.log is not None and answer.prediction is not None
    assert answer.log.log_mbit_per_s == pytest.approx(30.0)
    assert answer.prediction.rule_mbit_per_s == pytest.approx(RULE_FACTOR * (8 * LOGGED_MBYTES_PER_S + 10.0))
    assert answer.log.mbit_per_s_by_kind == {"network": pytest.approx(24.0), "clock": pytest.approx(6.0)}
    assert set(answer.processes) - set(answer.processes_alone) == {"web, agent a"}


def test_the_table_of_all_workloads_has_a_row_for_each_with_ratio_and_log() -> None:
    (table,) = (block for block in build_overview([answered()]) if isinstance(block, Table))
    (row,) = table.rows
    assert isinstance(row, Row)
    assert len(row.cells) == len(table.columns)
    assert row.cells[:2] == ["support", "6"]
    assert row.cells[2] == f"{KEPT:.3f}" or abs(float(str(row.cells[2])) - KEPT) < 0.02
    titles = [column.title for column in table.columns]
    assert row.cells[titles.index("log\nMbit/s")] == "30"


def test_a_run_without_an_operation_has_no_ratio_and_the_headline_has_both_rates() -> None:
    def play(request: RunRequest) -> RunSummary:
        run = played(request)
        return replace(run, metrics={**run.metrics, "throughput": 0.0}) if request.side is ComparedSide.B else run

    answer, _ = carry_out(Protection("support", 1), play)
    assert "no ratio" in answer.headline[0]
    assert "0 with it" in answer.headline[0]


@pytest.mark.parametrize(
    ("section", "pairs"),
    [({}, 6), ({"quick": True}, 1), ({"quick": True, "pairs": 6}, 6), ({"pairs": 1}, 1)],
)
def test_the_quick_form_has_fewer_pairs(section: dict[str, Any], pairs: int) -> None:
    assert ProtectionSection(**section).pair_count == pairs


def test_the_quick_form_compiles_a_part() -> None:
    compilations = {name for name in KIND.in_short if load(name).header.needs == "compile"}
    assert compilations == {"compile"} <= set(KIND.workloads)
    part = load(KIND.in_short["compile"])
    assert [part.operations[name].path for name in part.mix.shares] == ["compile 20"]
