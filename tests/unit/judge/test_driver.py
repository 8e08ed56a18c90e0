"""What makes a driver, or the machine below it, unfit to judge a server by."""

from dataclasses import replace

import pytest

from loadstone.judge.check import WEB_WORKLOADS_SOURCE
from loadstone.judge.rules import apply_rules
from loadstone.model.figures import NO_SESSIONS, NOTHING, Distribution, IterationFigures
from loadstone.model.records.check import DRIVER_CHECKS, Check, CheckId, Outcome, Weight
from tests.records import iteration, operation, small_criteria, times


def run(**changes: object) -> IterationFigures:
    figures = iteration((operation("a", 2500, 1.0), operation("b", 2500, 1.0)), 100.0)
    return replace(figures, longest_gap_s=0.001, foreign_cpu_pct=0.5, **{"clock_bound_s": 0.001, **changes})  # type: ignore[arg-type]


def check(rule: CheckId, figures: IterationFigures, **changes: object) -> Check | None:
    return next((one for one in apply_rules(small_criteria(**changes), figures) if one.id is rule), None)


def lag(count: int, p99: float, p999: float, largest: float) -> Distribution:
    return Distribution(count, 0.001, {50.0: 0.0001, 99.0: p99, 99.9: p999, 100.0: largest})


SHARE = "5 % of the shortest limit"  # of 2 s
STALL = f"{SHARE}, but 100 ms at least"


@pytest.mark.parametrize(
    ("rule", "figures", "figure", "limit", "unit", "detail"),
    [
        (CheckId.DRIVER_LAG, run(lag=lag(5000, 0.101, 0.102, 0.103)), 101, 100, "ms", SHARE),
        (CheckId.DRIVER_LAG_TAIL, run(lag=lag(5000, 0.001, 0.101, 0.102)), 101, 100, "ms", STALL),
        (CheckId.DRIVER_LAG_MAX, run(lag=lag(500_000, 0.001, 0.002, 0.8)), 800, 100, "ms", STALL),
        (CheckId.DRIVER_GAP, replace(run(), longest_gap_s=0.8), 800, 100, "ms", STALL),
        (CheckId.DRIVER_CLOCKS, run(clock_bound_s=0.101), 101, 100, "ms", SHARE),
        (CheckId.DRIVER_CPU, run(driver_cpu=(0.2, 0.91)), 91, 90, "% of a core", "of 2"),
    ],
)
def test_a_driver_that_was_stopped_or_full_makes_the_run_invalid(
    rule: CheckId, figures: IterationFigures, figure: float, limit: float, unit: str, detail: str
) -> None:
    found, healthy = check(rule, figures), check(rule, run())
    assert found is not None and healthy is not None
    assert (found.outcome, found.weight, found.source) == (Outcome.BROKEN, Weight.INVALID, WEB_WORKLOADS_SOURCE)
    assert (found.figure, found.limit) == pytest.approx((figure, limit))
    assert (found.unit, found.detail) == (unit, detail)
    assert healthy.outcome is Outcome.KEPT
    assert rule in DRIVER_CHECKS


@pytest.mark.parametrize("rule", [CheckId.DRIVER_LAG, CheckId.DRIVER_LAG_TAIL, CheckId.DRIVER_LAG_MAX])
def test_a_driver_that_noted_no_start_makes_the_run_invalid(rule: CheckId) -> None:
    judged = check(rule, run(lag=NOTHING))
    assert judged is not None
    assert (judged.outcome, judged.weight) == (Outcome.BROKEN, Weight.INVALID)
    assert judged.detail == "the driver noted no start"


def test_users_who_could_not_be_placed_make_the_run_invalid_unless_it_fails_anyway() -> None:
    samples = ("login: extract: as its user was placed part-way through a visit: no `nonce`",)
    unplaced = run(sessions=replace(NO_SESSIONS, begun=5, unplaced=3), samples=samples)
    found = check(CheckId.UNPLACED, unplaced)
    assert found is not None
    assert (found.figure, found.outcome, found.weight) == (3, Outcome.BROKEN, Weight.INVALID)
    assert "no `nonce`" in found.detail
    failing = replace(unplaced, operations=(replace(operation("a", 2500, 1.0), errors={"status": 3}),))
    noted = check(CheckId.UNPLACED, failing)
    assert noted is not None and noted.weight is Weight.NOTE
    assert check(CheckId.UNPLACED, run(sessions=replace(NO_SESSIONS, begun=5))) is None


def test_too_few_starts_for_a_percentile_are_judged_by_the_latest_of_them() -> None:
    found = check(CheckId.DRIVER_LAG, run(lag=lag(20, 0.001, 0.001, 0.2)))
    assert found is not None and (found.figure, found.outcome) == (200.0, Outcome.BROKEN)


def test_a_driver_that_says_nothing_of_itself_is_not_trusted() -> None:
    silent = run(lag=NOTHING, driver_cpu=())
    for rule in (CheckId.DRIVER_LAG, CheckId.DRIVER_LAG_TAIL, CheckId.DRIVER_LAG_MAX, CheckId.DRIVER_CPU):
        found = check(rule, silent)
        assert found is not None and found.outcome is Outcome.BROKEN, rule


def test_limits_of_milliseconds_leave_the_kernel_its_time() -> None:
    short = run(lag=lag(5000, 0.0001, 0.09, 0.099))
    for rule in (CheckId.DRIVER_LAG_TAIL, CheckId.DRIVER_LAG_MAX):
        found = check(rule, short, shortest_limit_s=0.01)
        assert found is not None and (found.outcome, found.limit) == (Outcome.KEPT, 100.0)


@pytest.mark.parametrize(
    ("share", "outcome", "is_said"),
    [(1.9, Outcome.KEPT, False), (2.1, Outcome.KEPT, True), (5.1, Outcome.BROKEN, False)],
)
def test_other_load_is_said_and_then_makes_the_run_invalid(share: float, outcome: Outcome, is_said: bool) -> None:
    figures = replace(run(), foreign_cpu_pct=share)
    found, said = check(CheckId.FOREIGN_CPU, figures), check(CheckId.FOREIGN_CPU_SAID, figures)
    assert found is not None and (found.outcome, found.weight) == (outcome, Weight.INVALID)
    assert (said is not None and said.weight is Weight.NOTE) is is_said
    loosened = check(CheckId.FOREIGN_CPU, figures, foreign_cpu_pct=50.0)
    assert loosened is not None and loosened.outcome is Outcome.KEPT


@pytest.mark.parametrize(("share", "outcome"), [(4.9, Outcome.KEPT), (62.0, Outcome.NOT_JUDGED)])
def test_other_load_beside_a_system_of_others_is_judged_where_it_is_none(share: float, outcome: Outcome) -> None:
    """What does not listen at the target's port may be its database: that much is said, and decides nothing."""
    found = check(CheckId.FOREIGN_CPU, replace(run(), foreign_cpu_pct=None, unattributed_cpu_pct=share))
    assert found is not None and found.outcome is outcome
    assert ("may be the target's back ends or others" in found.detail) is (outcome is Outcome.NOT_JUDGED)
    assert (found.figure, found.limit, found.unit, found.weight) == (share, 5.0, "%", Weight.INVALID)
    assert found.source == WEB_WORKLOADS_SOURCE


def test_other_load_beside_a_system_of_others_is_named() -> None:
    judged = check(CheckId.FOREIGN_CPU, replace(run(), foreign_cpu_pct=None, unattributed_cpu_pct=1.0))
    assert judged is not None
    assert judged.detail == (
        "host CPU used by processes other than the driver and the target's listeners, including steal"
    )


def test_other_load_that_nobody_saw_is_not_judged() -> None:
    assert check(CheckId.FOREIGN_CPU, replace(run(), foreign_cpu_pct=None)) is None


def test_published_tables_say_nothing_of_a_driver() -> None:
    figures = replace(run(), lag=times(1, 9.0), is_disclosed=False)
    found = check(CheckId.DRIVER_LAG, figures)
    assert found is not None and (found.outcome, found.figure) == (Outcome.NOT_JUDGED, 0.0)
