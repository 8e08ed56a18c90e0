"""What faults cost, as a pure question."""

from dataclasses import replace

import pytest

from loadstone.judge.outage import Outage
from loadstone.model.errors import UsageError
from loadstone.model.fault import FaultKind, PlannedFault, read_fault
from loadstone.model.profile import PROFILES
from loadstone.model.records.check import Bound, Check, CheckId, Outcome, Weight
from loadstone.study.failure import Failure, Ledgers
from loadstone.study.kind import StudyContext
from loadstone.study.kinds.failover import KIND
from loadstone.study.kinds.failover.answer import FailoverAnswer, compute_failing_at_most
from loadstone.study.kinds.failover.question import Failover, make
from loadstone.study.kinds.failover.section import FailoverSection
from loadstone.study.summary import RunRequest, RunSummary
from loadstone.workloads import load
from tests.made import made

SURVIVED = Failure(outage=Outage(3, 1, 0.25, True, 0.2, 100.0, silence_before_s=0.15), live_s=0.05, protected_s=1.2)
BROKEN = Outcome.BROKEN
DEAD = Failure(outage=Outage(9, 9, 26.0, False, None, None))


def asked(failures: list[Failure | None], platform: str = "pair") -> FailoverAnswer:
    question = Failover("support", FaultKind.KILL_PRIMARY, len(failures), 60.0)
    runs: list[RunSummary] = []
    for failure in failures:
        request = question.plan_next(runs)
        assert isinstance(request, RunRequest)
        runs.append(replace(made(request), failure=failure, platform=platform))
    assert question.plan_next(runs) is None
    return question.answer(runs)


def test_survivals_are_counted_with_what_their_number_leaves_open() -> None:
    answer = asked([SURVIVED] * 3)
    assert answer.is_answered
    assert not answer.is_negative
    assert answer.headline[0] == (
        "kill-primary of pair: users had no good response for 200 ms at most (median 200 ms), before the fault for "
        "150 ms at most; 3 of 3 survived, up to 63 % may fail (95 % limit)."
    )
    assert "median 0.25 s" in answer.headline[1]


def test_a_plain_process_is_named_in_the_headline() -> None:
    assert asked([DEAD], "process").headline[0] == (
        "kill-primary of a plain process, which nothing protects or restarts (`--platform pair` does): users had no "
        "good response until the end in 1 of 1 trials; 0 of 1 survived, up to 100 % may fail (95 % limit)."
    )


def test_the_chosen_machine_is_in_every_run_and_in_the_headline() -> None:
    section = FailoverSection(kill="primary", at=5.0, on="database")
    question = make(section, StudyContext(load("bookstore"), PROFILES["demo"], ()))
    assert [request.fault for request in question.plan_runs()] == [PlannedFault(FaultKind.KILL_PRIMARY, 5.0, "db")]
    (run,) = (replace(made(request), failure=SURVIVED, platform="pair") for request in question.plan_runs())
    assert question.answer([run]).headline[0].startswith("kill-primary of db, pair: users had")


def test_a_busy_host_is_named_beside_what_users_waited_for() -> None:
    question = Failover("support", FaultKind.KILL_PRIMARY, 1, 60.0)
    run = replace(made(question.plan_runs()[0], "invalid"), failure=DEAD, platform="pair")
    others = Check(CheckId.FOREIGN_CPU, "CPU used by others", 73.1, 5.0, Bound.AT_MOST, "%", Weight.INVALID, BROKEN, "")
    answer = question.answer([replace(run, checks=(others,))])
    assert any("Other programs used up to 73 % of the host in 1 of 1 trials" in line for line in answer.headline)


def test_failures_later_and_before_stand_beside_a_fault_that_nobody_noticed() -> None:
    unnoticed = Outage(0, 0, 0.0, True, 3.0, 90.0, silence_before_s=0.1)
    later = replace(unnoticed, failed_later=300, failed_before_pct=1.04)
    (quiet,), (told,) = (asked([Failure(outage=outage)]).headline[1:2] for outage in (unnoticed, later))
    assert quiet == "No operation failed at the fault, or took more than 2 times as long as any before."
    assert told == (
        f"{quiet} 300 operations failed later. Before the fault up to 1.04 % of the operations failed as well."
    )


def test_fifty_of_fifty_leave_almost_six_percent() -> None:
    assert 100 * compute_failing_at_most(50, 50) == pytest.approx(5.8, abs=0.05)
    assert compute_failing_at_most(0, 5) == 1


def test_a_system_that_stays_dead_has_not_survived() -> None:
    answer = asked([DEAD])
    assert answer.is_negative
    assert "1 of 1 were not over when the run ended" in answer.headline[1]


def test_what_was_lost_or_done_twice_is_no_survival() -> None:
    lost = replace(SURVIVED, ledgers=Ledgers(acknowledged=10, held=9, in_doubt=1))
    twice = replace(SURVIVED, ledgers=Ledgers(acknowledged=10, held=12, in_doubt=1))
    kept = replace(SURVIVED, ledgers=Ledgers(acknowledged=10, held=11, in_doubt=1))
    assert asked([lost]).is_negative
    assert asked([twice]).is_negative
    assert not asked([kept]).is_negative
    assert "1 lost, 0 repeated" in asked([lost]).headline[2]


def test_a_driver_that_was_late_itself_says_nothing_of_outages() -> None:
    question = Failover("support", FaultKind.KILL_PRIMARY, 1, 60.0)
    late = replace(made(question.plan_runs()[0]), failure=DEAD, is_driver_bound=True)
    assert not question.answer([late]).is_answered


def test_trials_that_say_nothing_are_left_out_and_a_refusal_is_said() -> None:
    assert "1 of 2 trials are not conclusive" in asked([SURVIVED, None]).headline[-1]
    assert not asked([None]).is_answered
    assert asked([Failure("Only pairs can have that.")]).headline == ("Only pairs can have that.",)


def test_faults_come_at_times_of_their_own_that_leave_room_before_and_after() -> None:
    requests = Failover("support", FaultKind.CUT_CHANNEL, 20, 100.0).plan_runs()
    times = {request.fault.at_s for request in requests if request.fault}
    assert len(times) == 20
    assert all(30 <= at_s <= 60 for at_s in times)
    assert len({request.seed for request in requests}) == 20


def test_one_fault_is_asked_for_within_the_steady_state() -> None:
    context = StudyContext(load("support"), PROFILES["quick"], None)
    made_by = KIND.make(FailoverSection(kill="secondary", at=5), context)
    assert made_by.plan_runs()[0].fault == PlannedFault(FaultKind.KILL_SECONDARY, 5)
    with pytest.raises(UsageError, match="one fault"):
        KIND.make(FailoverSection(), context)
    with pytest.raises(UsageError, match="one fault"):
        KIND.make(FailoverSection(kill="primary", cut="channel"), context)
    with pytest.raises(UsageError, match="too late"):
        KIND.make(FailoverSection(kill="primary", at=1e6), context)
    with pytest.raises(UsageError, match="KIND@SECONDS"):
        read_fault("flood@3")


def test_a_report_shows_every_trial() -> None:
    answer = asked([SURVIVED, DEAD, None])
    shown = list(KIND.blocks(answer, None, ()))  # type: ignore[arg-type]
    assert len(shown) == 4
