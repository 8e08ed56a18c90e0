"""What a fault cost, from operations one by one whose outage is known."""

import pytest

from loadstone.judge.outage import Outage, outage_of
from loadstone.model.records.events import OperationLine

S = 1_000_000_000
FAULT, UNTIL = 30 * S, 60 * S


def line(
    intended_s: float, lasted_s: float | None = 0.1, operation: int = 0, fault: str | None = None
) -> OperationLine:
    end = None if lasted_s is None else round((intended_s + lasted_s) * S)
    return OperationLine(operation, round(intended_s * S), end, fault)


def steady(begin_s: float, end_s: float) -> list[OperationLine]:
    """Two operations a second, a tenth of a second each."""
    return [line(begin_s + at / 2) for at in range(round(2 * (end_s - begin_s)))]


def found(lines: list[OperationLine]) -> Outage:
    outage = outage_of(lines, FAULT, UNTIL)
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


def test_one_that_is_not_over_is_said_to_be() -> None:
    outage = found([*steady(0, 30), line(30, 5, fault="connection"), line(31, None)])
    assert (outage.affected, outage.failed, outage.has_recovered) == (2, 2, False)
    assert outage.silence_s is None
    assert outage.seconds == pytest.approx(30)


def test_one_that_answers_nothing_any_more_is_dead_whatever_was_asked_of_it() -> None:
    few = [line(at, None, operation=7) for at in (31, 33)]
    outage = found([*steady(0, 30), line(29.9, 0.2), *few])
    assert (outage.affected, outage.failed, outage.has_recovered) == (2, 2, False), "of a kind that was not seen before"
    assert not found(steady(0, 30)).has_recovered, "and where nothing was asked of it"


def test_what_fails_long_after_all_was_well_has_reasons_of_its_own() -> None:
    outage = found([*steady(0, 30), line(30, 1), *steady(31, 50), line(50, 2), *steady(52, 60)])
    assert outage.affected == 1
    assert outage.seconds == pytest.approx(1)


def test_a_kind_of_operation_is_held_against_its_own() -> None:
    downloads = [line(at, 8, operation=1) for at in range(0, 20, 4)]
    outage = found([*steady(0, 30), *downloads, line(29.5, 9, operation=1), line(30, 0.4), *steady(31, 60)])
    assert outage.affected == 1, "a download as long as others, and a page four times as long"


def test_too_little_before_it_says_nothing() -> None:
    assert outage_of(steady(25, 60), FAULT, UNTIL) is None
