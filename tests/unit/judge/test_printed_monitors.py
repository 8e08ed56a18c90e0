"""Audits of printed figures of monitors: what contradicts what, and what may be a figure that was not printed."""

from collections.abc import Iterable
from decimal import Decimal

import pytest

from loadstone.judge.printed_monitors import audit_monitors, check_monitors
from loadstone.model.printed_monitors import MonitorSubject, MonitorView, PrintedMonitor
from loadstone.model.records.check import CheckId, Outcome, Weight

WEB = MonitorSubject("web")


def shares(subject: MonitorSubject = WEB, unit: str = "%", **printed: str) -> list[PrintedMonitor]:
    """Figures by the last word of their quantity; `total` is the CPU as a whole."""
    return [
        PrintedMonitor(subject, "CPU" if name == "total" else f"CPU {name}", unit, text)
        for name, text in printed.items()
    ]


def agreements(figures: Iterable[PrintedMonitor]) -> list[bool]:
    return [audit.agrees for audit in audit_monitors(list(figures))]


@pytest.mark.parametrize(
    ("printed", "agrees"),
    [
        ({"user": "80", "system": "19"}, [True]),  # the rest is idle
        ({"user": "13", "system": "85"}, [True]),
        ({"user": "13", "system": "88"}, [True]),  # each may be half a percent less
        ({"user": "13.0", "system": "88.0"}, [False]),
        ({"user": "13", "system": "58", "idle": "1", "wait": "0"}, [False]),
        ({"user": "13", "system": "85", "idle": "1", "wait": "0"}, [True]),
        ({"user": "13.00", "system": "85.00", "idle": "1.00", "wait": "0.98"}, [True]),
        ({"user": "13.00", "system": "85.00", "idle": "1.00", "wait": "0.90"}, [False]),
        ({"user": "57", "system": "40", "idle": "1"}, [True]),  # waiting was not printed
        ({"user": "80"}, []),
    ],
)
def test_shares_of_a_processor_add_up_to_all_of_its_time(printed: dict[str, str], agrees: list[bool]) -> None:
    assert agreements(shares(**printed)) == agrees


def test_nothing_is_audited_in_cores_without_their_number() -> None:
    figures = shares(unit="cores", user="1.5", system="0.7")
    assert agreements(figures) == []
    assert agreements([PrintedMonitor(WEB, "processors", "", "2"), *figures]) == [False]
    assert agreements([PrintedMonitor(WEB, "processors", "", "3"), *figures]) == [True]


@pytest.mark.parametrize(
    ("printed", "agrees"),
    [
        ({"total": "99", "idle": "1"}, [True]),
        ({"total": "99", "idle": "3"}, [False]),
        ({"total": "59", "idle": "1"}, [True]),  # waiting was not printed
        ({"total": "59", "idle": "1", "wait": "0"}, [False]),
        ({"total": "99", "user": "80", "system": "19"}, [True]),
        ({"total": "90", "user": "80", "system": "19"}, [False]),
        ({"total": "99", "user": "70", "system": "19"}, [True]),  # interrupts were not printed
    ],
)
def test_a_total_holds_its_parts_and_leaves_what_is_idle(printed: dict[str, str], agrees: list[bool]) -> None:
    assert agreements(shares(**printed)) == agrees


def test_the_host_may_pay_more_than_a_machine_has() -> None:
    figures = shares(MonitorSubject("web", MonitorView.OUTSIDE), "cores", total="1.28", user="0.9", system="0.3")
    assert agreements([PrintedMonitor(WEB, "processors", "", "1"), *figures]) == [True]


@pytest.mark.parametrize(("second", "agrees"), [("40.4", [True]), ("41.0", [False])])
def test_a_machine_has_the_mean_of_its_cores(second: str, agrees: list[bool]) -> None:
    cores = [MonitorSubject("web", part=name) for name in ("cpu0", "cpu1")]
    figures = [*shares(user="50.2"), *shares(cores[0], user="60.0"), *shares(cores[1], user=second)]
    assert agreements(figures) == []  # others may not have been printed
    assert agreements([PrintedMonitor(WEB, "processors", "", "2"), *figures]) == agrees


def test_a_contradiction_is_a_note_that_names_its_figures() -> None:
    (check,) = check_monitors(list(audit_monitors(shares(user="13", system="58", idle="1", wait="0"))))
    assert (check.id, check.outcome, check.weight) == (CheckId.PRINTED_MONITORS, Outcome.BROKEN, Weight.NOTE)
    assert check.detail == "web: CPU user + CPU system + CPU idle + CPU wait is 72 %, not 100"
    assert not check.is_broken
    (kept,) = check_monitors(list(audit_monitors(shares(user="80", system="19"))))
    assert kept.outcome is Outcome.KEPT
    assert list(check_monitors([])) == []


def test_half_a_digit_is_half_of_the_last_printed_one() -> None:
    halves = [PrintedMonitor(WEB, "CPU", "%", text).half_digit for text in ("80", "80.0", "1.04")]
    assert halves == [Decimal("0.5"), Decimal("0.05"), Decimal("0.005")]
