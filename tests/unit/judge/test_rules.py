"""Each rule breaks at its limit and not before; invalid goes before fail; short runs do not claim what they cannot."""

from dataclasses import replace

import pytest

from loadstone.judge.check import WEB_WORKLOADS_SOURCE
from loadstone.judge.rules import apply_rules
from loadstone.judge.verdict import judge_iteration
from loadstone.model.figures import BLAME, NO_CONNECTIONS, NO_SESSIONS, NOTHING, IterationFigures, OwnLimits
from loadstone.model.profile import Rigor
from loadstone.model.records.check import Check, CheckId, Outcome, Weight
from loadstone.model.records.verdict import Verdict, choose_worst
from tests.places import PROJECT
from tests.records import iteration, operation, small_criteria, times

# 100 sessions for 100 s, cycle 1 s + 1 s: 5000 operations by Little's law.
CRITERIA = small_criteria()


def run(a: int = 2500, b: int = 2500, **errors: int) -> IterationFigures:
    return iteration((operation("a", a, 1.0, errors=errors), operation("b", b, 1.0)), 100.0)


def check(rule: CheckId, figures: IterationFigures, **changes: object) -> Check:
    return next(one for one in apply_rules(small_criteria(**changes), figures) if one.id is rule)


def test_a_run_that_keeps_every_rule_passes() -> None:
    assert judge_iteration(CRITERIA, run()).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("rule", "kept", "broken", "verdict"),
    [
        (CheckId.VALIDATION_ERRORS, {}, {"title": 1}, Verdict.FAIL),
        (CheckId.UNANSWERED, {"reset": 25}, {"reset": 26}, Verdict.FAIL),
        (CheckId.DRIVER_ERRORS, {}, {"no_ports": 1}, Verdict.INVALID),
    ],
)
def test_errors_are_judged_by_whose_they_are(
    rule: CheckId, kept: dict[str, int], broken: dict[str, int], verdict: Verdict
) -> None:
    assert check(rule, run(**kept)).outcome is Outcome.KEPT
    assert check(rule, run(**broken)).outcome is Outcome.BROKEN
    assert judge_iteration(CRITERIA, run(**broken)).verdict is verdict


def test_quality_is_judged_over_all_operations_together() -> None:
    def graded(good: int, tolerable: int, fail: int) -> IterationFigures:
        first = operation("a", 2500, 1.0, grades=(good, tolerable, fail))
        return iteration((first, operation("b", 2500, 1.0)), 100.0)

    assert judge_iteration(CRITERIA, graded(2250, 200, 50)).verdict is Verdict.PASS  # a: 90 % good, both: 95 %
    assert judge_iteration(CRITERIA, graded(2249, 201, 50)).verdict is Verdict.FAIL
    assert judge_iteration(CRITERIA, graded(2250, 199, 51)).verdict is Verdict.FAIL


def test_a_page_may_deviate_by_one_percent_of_all() -> None:
    assert check(CheckId.MIX_DEVIATION, run(2549, 2451)).outcome is Outcome.KEPT
    assert check(CheckId.MIX_DEVIATION, run(2551, 2449)).outcome is Outcome.BROKEN


def test_the_total_may_deviate_by_one_and_a_half_percent() -> None:
    assert check(CheckId.NET_DEVIATION, run(2463, 2463)).outcome is Outcome.KEPT
    assert check(CheckId.NET_DEVIATION, run(2462, 2462)).outcome is Outcome.BROKEN


def test_a_short_run_is_allowed_what_chance_does_and_no_more() -> None:
    figures = run(2600, 2400)
    allowed = check(CheckId.MIX_DEVIATION, figures, rigor=Rigor.REDUCED)
    assert allowed.outcome is Outcome.KEPT
    # Standard errors of 0.7 % for the share and half of 1.4 % for the total, 3.29 of them.
    assert allowed.limit == pytest.approx(3.29 * 1.414, rel=0.01)
    assert check(CheckId.MIX_DEVIATION, run(2800, 2200), rigor=Rigor.REDUCED).outcome is Outcome.BROKEN
    published = check(CheckId.MIX_DEVIATION, figures, rigor=Rigor.FULL)
    assert (published.outcome, published.limit) == (Outcome.BROKEN, 1.0)
    assert "fair from" in published.detail


def test_operations_cut_at_the_start_count_for_littles_law() -> None:
    first = replace(operation("a", 2400, 1.0), cut_at_start=100, ended_s=2500.0)
    figures = iteration((first, operation("b", 2500, 1.0)), 100.0)
    assert check(CheckId.NET_DEVIATION, figures).figure == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        (CheckId.DRIVER_LAG, {"lag": times(100, 0.101)}),  # 5 % of 2 s is 100 ms
        (CheckId.DRIVER_CPU, {"driver_cpu": (0.5, 0.901)}),
        (CheckId.PAUSE_DEVIATION, {"pause_actual_s": 101.1}),
        (CheckId.MEAN_THINK_TIME, {"pause_actual_s": 102_100.0, "pause_drawn_s": 102_100.0, "pauses": 100_000}),
        (CheckId.STEADY_STATE, {"completed": False}),
    ],
)
def test_a_driver_at_its_limit_makes_the_run_invalid_not_failed(rule: CheckId, change: dict[str, object]) -> None:
    figures = replace(run(), **change)  # type: ignore[arg-type]
    assert check(rule, figures).outcome is Outcome.BROKEN
    assert judge_iteration(CRITERIA, figures).verdict is Verdict.INVALID


def test_invalid_goes_before_fail() -> None:
    figures = replace(run(title=9), driver_cpu=(0.95,))
    assert judge_iteration(CRITERIA, figures).verdict is Verdict.INVALID


def test_an_operation_without_a_sample_makes_the_run_invalid() -> None:
    assert judge_iteration(CRITERIA, run(5000, 0)).verdict is Verdict.INVALID
    rare = {"a": 0.999, "b": 0.001}
    outcome = check(CheckId.UNSAMPLED, run(5000, 0), rigor=Rigor.REDUCED, expected_shares=rare).outcome
    assert outcome is Outcome.NOT_JUDGED


def test_every_check_names_its_source() -> None:
    assert all(one.source for one in apply_rules(CRITERIA, run()))


def test_nothing_measured_is_invalid() -> None:
    assert choose_worst([]) is Verdict.INVALID
    assert judge_iteration(CRITERIA, replace(run(), operations=(), completed=False)).verdict is Verdict.INVALID


def test_a_run_shorter_than_a_session_is_judged_all_the_same() -> None:
    # A mean session of 100 operations takes 200 s; ramp-up and warm-up take 20 s.
    short = {"rigor": Rigor.REDUCED, "operations_per_session": 100.0, "ramp_up_s": 10.0, "warm_up_s": 10.0}
    for rule in (CheckId.MIX_DEVIATION, CheckId.NET_DEVIATION, CheckId.UNSAMPLED, CheckId.SHARES):
        assert check(rule, run(250_000, 0), **short).outcome is Outcome.BROKEN


def test_what_is_overdue_at_the_end_counts_as_failed() -> None:
    hung = replace(operation("a", 100, 1.0), overdue=50)
    figures = iteration((hung, operation("b", 100, 1.0)), 100.0)
    assert check(CheckId.GOOD_SHARE, figures).figure == pytest.approx(80)
    assert judge_iteration(CRITERIA, figures).verdict is Verdict.FAIL


def test_a_mix_that_errors_disturbed_is_a_fail_not_an_invalid_run() -> None:
    figures = run(3000, 2000, status=100)
    assert check(CheckId.MIX_DEVIATION, figures).outcome is Outcome.NOT_JUDGED
    verdict = judge_iteration(CRITERIA, figures)
    assert verdict.verdict is Verdict.FAIL
    assert any("validation errors" in reason for reason in verdict.reasons)


def test_a_deviation_beyond_chance_is_judged_however_short_the_run() -> None:
    lost = check(CheckId.NET_DEVIATION, run(200, 200), rigor=Rigor.REDUCED, ramp_up_s=1000.0)
    assert lost.outcome is Outcome.BROKEN


@pytest.mark.parametrize(
    ("counted", "at_start", "at_end", "outcome"),
    [(2500, 200, 0, Outcome.NOT_JUDGED), (2300, 0, 200, Outcome.NOT_JUDGED), (2700, 0, 0, Outcome.BROKEN)],
)
def test_operations_that_waited_at_an_edge_are_the_servers_doing_under_open_load(
    counted: int, at_start: int, at_end: int, outcome: Outcome
) -> None:
    """A server that stalls as the window begins answers 400 operations too many in it; the load was as declared."""
    pages = [
        replace(operation(name, counted, 1.0), cut_at_start=at_start, cut_at_end=at_end + 5) for name in ("a", "b")
    ]
    figures = replace(iteration((pages[0], pages[1]), 100.0), sessions=replace(NO_SESSIONS, due=5000, begun=5000))
    open_load = {"due": 5000.0, "due_dispersion": 1.0, "operations_per_session": 1.0, "sessions": 0}
    for rule in (CheckId.MIX_DEVIATION, CheckId.NET_DEVIATION):
        assert check(rule, figures, **open_load).outcome is outcome
        population = check(rule, replace(figures, sessions=NO_SESSIONS))
        assert population.outcome is Outcome.BROKEN


def test_an_invalid_run_still_says_what_failed() -> None:
    reasons = judge_iteration(CRITERIA, replace(run(title=9), driver_cpu=(0.95,))).reasons
    assert "busiest driver thread" in reasons[0]
    assert "validation errors" in reasons[-1]


@pytest.mark.parametrize("kind", BLAME)
def test_every_kind_of_error_with_a_blame_is_one_the_driver_names(kind: str) -> None:
    schema = (PROJECT / "schemas" / "events.json").read_text()
    assert f'"const": "{kind}"' in schema


@pytest.mark.parametrize(
    ("actual_s", "outcome", "weight"),
    [
        (101.9, Outcome.KEPT, Weight.FAIL),
        (102.1, Outcome.BROKEN, Weight.FAIL),
        (97.9, Outcome.BROKEN, Weight.INVALID),
    ],
)
def test_cycles_two_percent_too_long_are_a_fail_and_too_short_ones_the_drivers(
    actual_s: float, outcome: Outcome, weight: Weight
) -> None:
    paced = replace(operation("a", 100, 0.1), cycles=100, cycle_drawn_s=100.0, cycle_actual_s=actual_s)
    figures = iteration((paced, operation("b", 100, 0.1)), 100.0)
    found = check(CheckId.CYCLE_TIME, figures, pacing="cycle")
    assert (found.outcome, found.weight) == (outcome, weight)
    assert not [one for one in apply_rules(CRITERIA, figures) if one.id is found.id]


def test_what_was_not_disclosed_is_not_judged() -> None:
    figures = replace(run(), lag=NOTHING, driver_cpu=(), is_disclosed=False)
    outcomes = {one.id: one.outcome for one in apply_rules(CRITERIA, figures)}
    assert outcomes[CheckId.DRIVER_LAG] is Outcome.NOT_JUDGED
    assert outcomes[CheckId.VALIDATION_ERRORS] is Outcome.NOT_JUDGED
    assert outcomes[CheckId.GOOD_SHARE] is Outcome.KEPT


@pytest.mark.parametrize(("wrong", "outcome"), [(0, Outcome.KEPT), (2, Outcome.BROKEN)])
def test_validation_errors_that_were_printed_are_judged_and_others_are_not(wrong: int, outcome: Outcome) -> None:
    figures = replace(run(), lag=NOTHING, driver_cpu=(), is_disclosed=False, has_printed_errors=True)
    first, *others = figures.operations
    figures = replace(figures, operations=(replace(first, errors={"content": wrong} if wrong else {}), *others))
    outcomes = {check.id: check.outcome for check in apply_rules(CRITERIA, figures)}
    assert outcomes[CheckId.VALIDATION_ERRORS] is outcome
    assert outcomes[CheckId.UNANSWERED] is Outcome.NOT_JUDGED
    assert outcomes[CheckId.DRIVER_ERRORS] is Outcome.NOT_JUDGED


@pytest.mark.parametrize(("requests", "outcome"), [(0, Outcome.BROKEN), (3, Outcome.BROKEN), (100, Outcome.KEPT)])
def test_three_operations_are_no_pass(requests: int, outcome: Outcome) -> None:
    figures = iteration((operation("a", requests, 1.0),), 100.0)
    found = check(CheckId.ENOUGH, figures)
    assert (found.outcome, found.weight, found.limit) == (outcome, Weight.INVALID, 100)
    assert check(CheckId.ENOUGH, figures, good_share_pct=90.0, tolerable_share_pct=90.0).limit == 10
    assert check(CheckId.ENOUGH, figures, tolerable_share_pct=100.0).limit == 100


def test_few_operations_that_fail_are_a_fail() -> None:
    figures = iteration((operation("a", 20, 1.0, grades=(0, 0, 20)), operation("b", 20, 1.0)), 100.0)
    assert check(CheckId.ENOUGH, figures).outcome is Outcome.NOT_JUDGED
    assert check(CheckId.ENOUGH, iteration((operation("a", 0, 1.0),), 100.0)).outcome is Outcome.BROKEN


def test_sessions_left_waiting_fail_a_run_whose_other_operations_are_good() -> None:
    def waiting(count: int, others: int = 0) -> IterationFigures:
        first, second = (operation(name, 50_000, 1.0) for name in ("a", "b"))
        return iteration((replace(first, overdue=count), replace(second, overdue=others)), 100.0)

    # One of 100 sessions, and what chance adds at 0.1 %: five (Poisson of 1: P(more than 5) = 0.06 %).
    assert check(CheckId.GOOD_SHARE, waiting(34)).outcome is Outcome.KEPT
    kept, broken = (check(CheckId.LOST_SESSIONS, waiting(count)) for count in (5, 6))
    assert (kept.outcome, broken.outcome, broken.weight) == (Outcome.KEPT, Outcome.BROKEN, Weight.FAIL)
    assert broken.detail == "of 100; 1 % and what chance adds: a"
    assert check(CheckId.LOST_SESSIONS, waiting(3, 3)).detail.endswith(": a, b")
    assert check(CheckId.LOST_SESSIONS, waiting(0)).detail.endswith("adds")


@pytest.mark.parametrize(("good", "is_sure"), [(190, False), (199, True), (170, True)])
def test_a_share_near_its_limit_is_said_to_be_unsure(good: int, is_sure: bool) -> None:
    figures = iteration((operation("a", 200, 1.0, grades=(good, 200 - good, 0)),), 100.0)
    assert ("not sure" not in check(CheckId.GOOD_SHARE, figures).detail) is is_sure


def sent(**connections: int) -> IterationFigures:
    return replace(run(), connections=replace(NO_CONNECTIONS, **connections))


def test_requests_that_are_taken_and_dropped_are_judged_as_errors_are() -> None:
    def resent(count: int, **changes: object) -> Check:
        return check(CheckId.RESENT, sent(http_requests=10_000, resent=count), **changes)

    assert resent(50).outcome is Outcome.KEPT
    assert resent(200).outcome is Outcome.BROKEN
    assert resent(200).limit == resent(50).limit < 100, "0.5 % and what chance adds"
    assert judge_iteration(CRITERIA, sent(http_requests=10_000, resent=200)).verdict is Verdict.FAIL
    assert resent(1, own=OwnLimits(errors_pct=0.0)).outcome is Outcome.BROKEN
    assert resent(200, own=OwnLimits(errors_pct=5.0)).outcome is Outcome.KEPT


def test_an_idle_connection_that_is_closed_is_a_reconnect_alone() -> None:
    judged = judge_iteration(CRITERIA, sent(http_requests=10_000, reconnects=900))
    assert judged.verdict is Verdict.PASS
    assert judged.headline is not None
    assert (judged.headline.reconnects, judged.headline.resent) == (900, 0)


def test_bytes_behind_the_end_of_an_answer_fail_a_run() -> None:
    assert judge_iteration(CRITERIA, sent(http_requests=10_000, trailing=1)).verdict is Verdict.FAIL
    assert judge_iteration(CRITERIA, sent(http_requests=10_000, trailing=0)).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("rule", "count", "unit", "weight", "detail"),
    [
        (
            CheckId.TRAILING,
            "trailing",
            "answers",
            Weight.FAIL,
            "they arrived before the next request; browsers drop them and the connection",
        ),
        (
            CheckId.FURTHER_SOURCES,
            "further_sources",
            "connections",
            Weight.NOTE,
            "to a server on this host, which may see a user under several addresses",
        ),
        (
            CheckId.ACCEPTED_LATE,
            "connected_late",
            "connections",
            Weight.NOTE,
            "the kernel repeated the request: the listener's queue was full, or packets were lost",
        ),
    ],
)
def test_what_connections_must_not_show_is_counted_and_explained(
    rule: CheckId, count: str, unit: str, weight: Weight, detail: str
) -> None:
    shown = check(rule, sent(**{count: 1}))
    assert (shown.figure, shown.limit, shown.outcome) == (1, 0, Outcome.BROKEN)
    assert (shown.unit, shown.weight, shown.source, shown.detail) == (unit, weight, WEB_WORKLOADS_SOURCE, detail)
    assert not any(judged.id is rule for judged in apply_rules(CRITERIA, sent(**{count: 0})))


def test_answers_with_trailing_bytes_may_be_as_many_as_declared_errors() -> None:
    requests = run().requests
    assert check(CheckId.TRAILING, sent(trailing=1), own=OwnLimits(errors_pct=2.0)).limit == pytest.approx(
        0.02 * requests
    )


def with_files(embedded: int, conditional: int) -> IterationFigures:
    first = replace(operation("a", 2500, 1.0), embedded=embedded, conditional=conditional, not_modified=conditional)
    return iteration((first, operation("b", 2500, 1.0)), 100.0)


@pytest.mark.parametrize(("embedded", "conditional"), ((4000, 896), (4000, 1000), (4000, 1200), (40, 0), (0, 0)))
def test_as_many_conditional_requests_as_declared_need_no_note(embedded: int, conditional: int) -> None:
    judged = apply_rules(small_criteria(conditional_shares={"a": 0.25}), with_files(embedded, conditional))
    assert CheckId.CONDITIONAL_ASKED not in {check.id for check in judged}


def test_fewer_conditional_requests_than_declared_are_a_note() -> None:
    figures = with_files(4000, 895)  # 1,000 declared, give or take 3.29 times 31.6
    note = check(CheckId.CONDITIONAL_ASKED, figures, conditional_shares={"a": 0.25})
    assert (note.figure, note.limit) == (pytest.approx(89.5), pytest.approx(89.59, abs=0.01))
    assert (note.outcome, note.weight) == (Outcome.BROKEN, Weight.NOTE)
    assert judge_iteration(small_criteria(conditional_shares={"a": 0.25}), figures).verdict is Verdict.PASS
    none = check(CheckId.CONDITIONAL_ASKED, with_files(4000, 0), conditional_shares={"a": 0.25})
    assert none.figure == 0
