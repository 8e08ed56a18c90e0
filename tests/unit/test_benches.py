"""A cost that grew is shown as a regression, on the same processor alone."""

import json
from typing import Any

import pytest
from benches.measure import execute, regressions


def case(median: float, cpu: str = "EPYC") -> dict[str, Any]:
    return {
        "case": "keep-alive-1k",
        "taken": "2026-11-22T03:40:11+00:00",
        "machine": {"cpu": cpu},
        "unit": "us CPU a request",
        "tools": {"loadstone": {"median": median}, "wrk": {"median": 1.0}},
    }


def test_a_cost_that_grew_by_a_tenth_is_named_with_both_figures() -> None:
    (regression,) = regressions(case(10.0), case(11.5), "loadstone")
    assert regression == "keep-alive-1k: 11.5 us CPU a request instead of 10 on 2026-11-22 (+15 %)."


@pytest.mark.parametrize(
    "before", [{}, case(10.5), case(10.0, cpu="Xeon"), {**case(10.0), "tools": {}}, {**case(10.0), "tools": {"wrk": 1}}]
)
def test_nothing_is_said_without_an_earlier_cost_that_compares(before: dict[str, Any]) -> None:
    assert regressions(before, case(11.5), "loadstone") == []


@pytest.mark.parametrize(
    ("figures", "name"),
    [
        ({"loads": {"4500": {"peak_kib_a_session": 29.0, "driver_core_share": 0.4}}}, "case, 4500 sessions"),
        ({"sessions": {"1000": {"ns_cpu_an_operation": 86.0}}}, "case, 1000 sessions"),
        ({"sizes": {"1k": {"ratio": 1.3}}}, "case, 1k"),
        ({"ratios": {"two threads": 1.9}}, "two-threads"),
    ],
)
def test_a_case_of_several_costs_names_each_that_grew(figures: dict[str, Any], name: str) -> None:
    about = {"case": name.partition(",")[0], "taken": "2026-11-22T03:40:11+00:00", "machine": {"cpu": "EPYC"}}
    before = {**about, **figures}
    assert regressions(before, before, "loadstone") == []
    worse = json.loads(json.dumps(before), parse_float=lambda text: float(text) * (0.8 if "ratios" in figures else 1.3))
    found = regressions(before, worse, "loadstone")
    assert found[0].partition(": ")[0] == name


def test_a_commands_peak_memory_is_its_own() -> None:
    held = bytearray(100 << 20)
    cost = execute(["true"])
    assert len(held) > cost.peak_bytes
