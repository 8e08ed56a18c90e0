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
    # 60 operations in 29.9 s from the first answer to the fault, and 60 in the 30 s after it.
    assert outage.throughput_pct == pytest.approx(100 * (60 / 30) / (60 / 29.9))
    assert outage.silence_before_s == pytest.approx(0.5)
    assert found([*steady(0, 30), *steady(50, 60)]).throughput_pct is not None, "twenty after it"
    assert found([*steady(0, 30), *steady(50.5, 60)]).throughput_pct is None, "nineteen"


def test_failures_that_begin_later_are_counted_apart() -> None:
    later = [line(38 + at / 4, fault="status") for at in range(8)]
    outage = found([*steady(0, 38), *later, *steady(40, 60)])
    assert (outage.affected, outage.failed, outage.failed_later) == (0, 0, 8)
    assert found(steady(0, 60)).failed_later == 0


def test_failures_that_were_there_before_the_fault_are_told_beside_it() -> None:
    always = [line(2.25 + 3 * at, fault="status") for at in range(19)]
    outage = found([*steady(0, 60), *always])
    assert outage.failed_before_pct == pytest.approx(100 * 10 / 70)
    assert outage.failed_later == 0, "those after it are within the outage"
    assert found(steady(0, 60)).failed_before_pct == 0
    assert found([*steady(0, 60), line(29.9, 0.1, fault="status")]).failed_before_pct == pytest.approx(100 / 61)


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


@pytest.mark.parametrize(
    ("lasts_s", "under_way", "affected"),
    [
        (16, (), 0),
        (17, (), 1),  # more than twice the longest of five
        (17, ((22, 9),), 1),  # as old as the longest when the fault came
        (17, ((21, 10),), 0),  # older: nobody knows how long they take
        (17, ((21, 10), (29.5, 1)), 0),
    ],
)
def test_a_kind_is_slow_from_twice_its_longest_on_where_that_is_known(
    lasts_s: float, under_way: tuple[tuple[float, float], ...], affected: int
) -> None:
    downloads = [line(at, 8, operation=1) for at in range(0, 20, 4)]
    others = [line(at, lasts, operation=1) for at, lasts in under_way]
    assert found([*steady(0, 60), *downloads, *others, line(31, lasts_s, operation=1)]).affected == affected


@pytest.mark.parametrize(("longest_s", "affected"), [(10, 1), (11, 0)])
def test_a_kind_whose_limit_is_longer_than_what_was_seen_has_none(longest_s: float, affected: int) -> None:
    downloads = [line(10 + at, longest_s, operation=1) for at in range(5)]
    assert found([*steady(10, 60), *downloads, line(31, 2 * longest_s + 1, operation=1)]).affected == affected


@pytest.mark.parametrize(("lasts_s", "affected"), [(0.02, 0), (0.03, 1)])
def test_milliseconds_of_a_busy_host_affect_nobody(lasts_s: float, affected: int) -> None:
    quick = [line(at / 2, 0.005) for at in range(120)]
    assert found([*quick, line(31.2, lasts_s)]).affected == affected


@pytest.mark.parametrize(
    ("hole_s", "waits_s", "affected"),
    [
        # One of half a second on average stays away for 5.501 s with a chance of a thousandth in half a minute.
        (0, 5.49, 0),
        (0, 5.52, 1),
        # There was one of 4.5 s before it, of which twice as long is the fault's.
        (4, 8.9, 0),
        (4, 9.1, 1),
    ],
)
def test_a_silence_is_the_faults_from_a_length_on_that_chance_does_not_make(
    hole_s: float, waits_s: float, affected: int
) -> None:
    before = [each for each in steady(0, 30) if not 10 < each.intended_s <= 10 + hole_s]
    outage = found([*before, line(30, waits_s, operation=7), *steady(40, 60)])
    assert outage.affected == affected


def test_one_without_an_answer_was_held_until_others_got_theirs() -> None:
    waiting = line(30.5, None, operation=7)
    outage = found([*steady(0, 30), waiting, *steady(40, 60)])
    assert (outage.affected, outage.unanswered, outage.has_recovered) == (1, 0, True)
    assert outage.seconds == pytest.approx(40.1 - 30.5)
    last = compute_outage([*steady(0, 33), line(34, None, operation=7)], FAULT, UNTIL, 58.0)
    assert last is not None and (last.affected, last.unanswered) == (1, 1)
    assert last.seconds == pytest.approx(60 - 34), "nobody got any more"


def test_an_answer_at_the_very_end_is_one() -> None:
    outage = found([*steady(0, 60), line(30.5, 29.5)])
    assert (outage.affected, outage.unanswered, outage.has_recovered) == (1, 0, False)


def test_what_begins_at_the_instant_of_the_fault_shows_no_recovery() -> None:
    outage = found([*steady(0, 30), line(30, 0.1)])
    assert (outage.affected, outage.has_recovered) == (0, False)
    assert outage.silence_s == pytest.approx(60 - 30.1)


def test_a_failure_five_seconds_after_it_is_the_faults() -> None:
    assert found([*steady(0, 60), line(35, fault="status")]).affected == 1
    assert found([*steady(0, 60), line(35.1, fault="status")]).affected == 0


def test_too_little_before_it_says_nothing() -> None:
    assert compute_outage(steady(25, 60), FAULT, UNTIL) is None
    twenty = [line(20 + at / 2) for at in range(19)] + [line(29.9)]
    assert compute_outage([*twenty, *steady(30, 60)], FAULT, UNTIL) is not None
    assert compute_outage([*twenty[1:], *steady(30, 60)], FAULT, UNTIL) is None


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
