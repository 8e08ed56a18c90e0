"""A cost that grew is shown as a regression, on the same processor alone."""

from typing import Any

import pytest
from benches.measure import regressions


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
