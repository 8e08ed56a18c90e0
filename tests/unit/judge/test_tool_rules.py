"""A tool has no users: rules of mix, pauses and driver do not apply, and those of quality, errors and host do."""

from dataclasses import replace

import pytest

from loadstone.judge.verdict import judge_iteration
from loadstone.model.figures import IterationFigures
from loadstone.model.records.check import DRIVER_CHECKS, CheckId, Outcome, Weight
from loadstone.model.records.verdict import Verdict
from tests.records import iteration, operation, small_criteria

TOOL = small_criteria(tool="fio")
COUNTED = replace(TOOL, tool="compile", tool_operations=5)


def measured(requests: int, seconds: float, errors: int = 0) -> IterationFigures:
    """What a tool measured: it notes no lag, and no threads of a driver."""
    grades = (requests - errors, 0, errors)
    figures = iteration((operation("read", requests, 0.001, grades=grades, errors={"tool": errors}),), seconds)
    return replace(figures, driver_cpu=(), pauses=0)


def rules_of(figures: IterationFigures) -> set[CheckId]:
    return {check.id for check in judge_iteration(TOOL, figures).checks}


def test_a_tool_that_measured_the_whole_steady_state_passes_without_a_lag_of_a_driver() -> None:
    figures = measured(1000, TOOL.steady_s)
    assert judge_iteration(TOOL, figures).verdict is Verdict.PASS
    assert not rules_of(figures) & (DRIVER_CHECKS - {CheckId.DRIVER_ERRORS})
    assert not rules_of(figures) & {CheckId.MIX_DEVIATION, CheckId.SHARES, CheckId.PAUSE_DEVIATION, CheckId.LEAD}


def test_a_tool_that_ended_early_makes_the_run_invalid() -> None:
    assert judge_iteration(TOOL, measured(1000, TOOL.steady_s / 2)).verdict is Verdict.INVALID


def test_operations_that_a_tool_counts_as_failed_fail_the_run() -> None:
    assert judge_iteration(TOOL, measured(1000, TOOL.steady_s, errors=100)).verdict is Verdict.FAIL


def test_other_load_on_the_host_makes_a_tools_run_invalid_too() -> None:
    figures = replace(measured(1000, TOOL.steady_s), foreign_cpu_pct=50.0)
    assert judge_iteration(TOOL, figures).verdict is Verdict.INVALID


@pytest.mark.parametrize(
    ("is_timed_inside", "drift_pct", "verdict"),
    [
        (True, 0.9, Verdict.PASS),
        (True, 1.1, Verdict.INVALID),
        (True, None, Verdict.PASS),
        (False, 50.0, Verdict.PASS),
    ],
)
def test_times_that_a_tool_took_by_a_pairs_clock_are_refused_where_that_clock_drifts(
    is_timed_inside: bool, drift_pct: float | None, verdict: Verdict
) -> None:
    figures = replace(measured(1000, TOOL.steady_s), guest_drift_pct=drift_pct)
    judged = judge_iteration(replace(TOOL, is_timed_inside=is_timed_inside), figures)
    assert judged.verdict is verdict
    drifts = [check for check in judged.checks if check.id is CheckId.GUEST_CLOCK]
    detail = "the tool times operations by the clock of the pair"
    assert [(check.figure, check.limit, check.unit, check.source, check.detail) for check in drifts] == (
        [(drift_pct, 1.0, "%", "our own, docs/explain/pairs.md", detail)]
        if is_timed_inside and drift_pct is not None
        else []
    )


def test_means_that_took_the_place_of_times_are_said_and_are_valid() -> None:
    figures = replace(measured(1000, TOOL.steady_s), guest_drift_pct=88.0, tool_drift_pct=70.0)
    judged = judge_iteration(replace(TOOL, is_timed_inside=True), figures)
    assert judged.verdict is Verdict.PASS
    (drift,) = [check for check in judged.checks if check.id is CheckId.GUEST_CLOCK]
    assert (drift.figure, drift.weight, drift.outcome) == (70.0, Weight.NOTE, Outcome.BROKEN)
    assert drift.detail == "only mean times are known, by the host's clock"


def test_a_tool_that_counts_is_whole_after_its_operations_however_long_they_took() -> None:
    assert judge_iteration(COUNTED, measured(5, 3.0)).verdict is Verdict.PASS
    assert judge_iteration(COUNTED, measured(4, 9000.0)).verdict is Verdict.INVALID
