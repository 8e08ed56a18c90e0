"""What a fault cost, from operations one by one whose outage is known."""

import numpy as np
import pytest

from loadstone.judge.outage import Outage, compute_outage
from loadstone.model.records.events import OperationLine

FAULT, UNTIL = 30.0, 60.0


def line(
    intended_s: float, lasted_s: float | None = 0.1, operation: int = 0, fault: str | None = None
) -> OperationLine:
    """Times in whole nanoseconds, as they are recorded."""
    end_s = None if lasted_s is None else round(intended_s + lasted_s, 9)
    return OperationLine(operation, round(intended_s, 9), end_s, fault)


def steady(begin_s: float, end_s: float) -> list[OperationLine]:
    """Two operations a second, a tenth of a second each."""
    return [line(begin_s + at / 2) for at in range(round(2 * (end_s - begin_s)))]


def found(lines: list[OperationLine]) -> Outage:
    outage = compute_outage(lines, FAULT, UNTIL)
    assert outage is not None
    return outage


def test_an_outage_goes_from_the_first_affected_start_to_the_last_affected_end() -> None:
    failed = [line(30.5, 1, fault="connection"), line(32, 4)]
    outage = found([*steady(0, 30), *failed, *steady(36, 60)])
    assert (outage.affected, outage.failed, outage.has_recovered) == (2, 1, True)
    assert outage.seconds == pytest.approx(5.5)
    assert outage.silence_s == pytest.approx(36 - 29.6)
    assert outage.throughput_pct == pytest.approx(100, abs=5)


def test_where_nobody_noticed_there_was_none() -> None:
    outage = found(steady(0, 60))
    assert (outage.affected, outage.seconds) == (0, 0)


def test_failures_that_begin_later_are_counted_apart() -> None:
    later = [line(38 + at / 4, fault="status") for at in range(8)]
    outage = found([*steady(0, 38), *later, *steady(40, 60)])
    assert (outage.affected, outage.failed, outage.failed_later) == (0, 0, 8)
    assert found(steady(0, 60)).failed_later == 0


def test_failures_that_were_there_before_the_fault_are_told_beside_it() -> None:
    always = [line(2.25 + 3 * at, fault="status") for at in range(19)]
    outage = found([*steady(0, 60), *always])
    assert outage.failed_before_pct == pytest.approx(100 * 10 / 70, abs=0.3)
    assert found(steady(0, 60)).failed_before_pct == 0


def test_one_that_is_not_over_is_said_to_be() -> None:
    outage = found([*steady(0, 30), line(30, 5, fault="connection"), line(31, None)])
    assert (outage.affected, outage.failed, outage.unanswered, outage.has_recovered) == (2, 1, 1, False)
    assert outage.silence_s is None
    assert outage.seconds == pytest.approx(30)


def test_one_that_answers_nothing_any_more_is_dead_whatever_was_asked_of_it() -> None:
    few = [line(at, None, operation=7) for at in (31, 33)]
    outage = found([*steady(0, 30), line(29.9, 0.2), *few])
    assert (outage.affected, outage.unanswered, outage.has_recovered) == (2, 2, False), "of a kind not seen before"
    assert not found(steady(0, 30)).has_recovered, "and where nothing was asked of it"


def test_what_was_under_way_and_still_came_does_not_make_a_dead_service_alive() -> None:
    outage = found([*steady(0, 30), line(29.8, 3), *[line(31 + at, 0.01, fault="connection") for at in range(29)]])
    assert outage.silence_s is None
    assert not outage.has_recovered


def test_what_fails_long_after_all_was_well_has_reasons_of_its_own() -> None:
    outage = found([*steady(0, 30), line(30, 1), *steady(31, 50), line(50, 2), *steady(52, 60)])
    assert outage.affected == 1
    assert outage.seconds == pytest.approx(1)


def test_a_kind_of_operation_is_held_against_its_own() -> None:
    downloads = [line(at, 8, operation=1) for at in range(0, 20, 4)]
    outage = found([*steady(0, 30), *downloads, line(29.5, 9, operation=1), line(30, 0.4), *steady(31, 60)])
    assert outage.affected == 1, "a download as long as others, and a page four times as long"


def test_too_little_before_it_says_nothing() -> None:
    assert compute_outage(steady(25, 60), FAULT, UNTIL) is None


def users(seed: int, dead_s: tuple[float, float] = (0.0, 0.0)) -> list[OperationLine]:
    """Forty users for a minute: pages of 20 ms, and downloads of 2 s to minutes; none is answered in `dead_s`."""
    drawn = np.random.default_rng(seed)
    lines = []
    for _ in range(40):
        now = -float(drawn.uniform(0, 60))
        while now < 60:
            is_download = bool(drawn.random() < 0.4)
            lasts = float(drawn.lognormal(2.0, 1.2)) if is_download else 0.02
            end = now + lasts
            if dead_s[0] < end < dead_s[1]:
                end = dead_s[1] + float(drawn.uniform(0, 0.05))
            if end > 0:
                lines.append(line(max(now, 0.0), None if end > 60 else end - max(now, 0.0), int(is_download)))
            now = end + float(drawn.exponential(2.0))
    return lines


@pytest.mark.parametrize("fault_s", [8, 15, 30, 45])
def test_downloads_under_way_at_the_end_are_neither_failed_nor_affected(fault_s: int) -> None:
    """Half of the downloads are cut by the end, and only short ones had ended before the fault."""
    known = [found_at(users(seed), fault_s) for seed in range(25)]
    assert all(outage.failed == outage.unanswered == 0 and outage.has_recovered for outage in known)
    assert sum(outage.affected > 0 for outage in known) <= 1


@pytest.mark.parametrize("seed", range(5))
def test_who_waits_while_nobody_is_answered_is_affected_whatever_is_usual(seed: int) -> None:
    outage = found_at(users(seed, (20.0, 32.5)), 20)
    assert outage.affected > 10 and outage.failed == 0 and outage.has_recovered
    assert outage.silence_s == pytest.approx(12.5, abs=0.6)
    assert outage.silence_before_s is not None and outage.silence_before_s < 2
    assert 12 < outage.seconds < 60


def test_downloads_alone_that_wait_in_a_silence_are_affected() -> None:
    """Nothing is known of how long they take: those before the fault began all along, and none ended slowly."""
    downloads = [line(at / 4, 12, operation=1) for at in range(72)]
    later = [line(18 + at / 4, 24.5 - at / 4 if at < 50 else 12, operation=1) for at in range(100)]
    outage = found_at([*downloads, *later], 30)
    assert outage.affected and outage.silence_s == pytest.approx(12.5, abs=0.3)


def test_a_silence_after_users_left_is_none() -> None:
    assert found([*steady(0, 55)]).silence_s == pytest.approx(5.4)
    outage = compute_outage(steady(0, 55), FAULT, UNTIL, 55.0)
    assert outage is not None and outage.silence_s == pytest.approx(0.5)


def found_at(lines: list[OperationLine], fault_s: int) -> Outage:
    outage = compute_outage(lines, fault_s, UNTIL)
    assert outage is not None
    return outage
