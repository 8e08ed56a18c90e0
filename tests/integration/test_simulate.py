"""The published tables, from the schedule in virtual time."""

import json

import pytest

from tests import published
from tests.integration.conftest import LoadstoneRunner

CASES = [
    ("banking", 2300, 4.65, (0.147, 0.149)),
    ("shopping", 3200, 12.38, (0.0935, 0.0941)),
    ("support", 2200, 14.80, (0.0975, 0.0986)),
]


@pytest.mark.parametrize(("workload", "sessions", "pages", "rates"), CASES)
def test_the_published_shares_and_rates_come_out(
    workload: str, sessions: int, pages: float, rates: tuple[float, float], loadstone_here: LoadstoneRunner
) -> None:
    words = ["simulate", workload, "--sessions", str(sessions), "--seconds", "1800", "--seed", "1", "--json"]
    done = loadstone_here(*words)
    result = json.loads(done.stdout)
    for operation in result["operations"]:
        expected = published.mean(workload, "share", operation["name"])
        assert operation["share_pct"] == pytest.approx(expected, abs=0.2), operation["name"]
    assert result["operations_per_session"] == pytest.approx(pages, rel=0.01)
    assert rates[0] <= result["operations_per_s"] / sessions <= rates[1]
    assert result["mean_pause_s"] == pytest.approx(5 if workload == "support" else 10, rel=0.01)


def test_the_same_seed_gives_the_same_run(loadstone_here: LoadstoneRunner) -> None:
    words = ("simulate", "shopping", "--sessions", "500", "--seconds", "300", "--json", "--seed")
    first, again, other = (loadstone_here(*words, seed).stdout for seed in ("1", "1", "2"))
    assert json.loads(first)["operations_total"] > 10_000
    assert first == again != other


def test_the_modelled_server_sets_the_rate(loadstone_here: LoadstoneRunner) -> None:
    done = loadstone_here(
        "simulate", "support", "--sessions", "500", "--seconds", "900", "--server", "fixed:0.05", "--json"
    )
    result = json.loads(done.stdout)
    assert result["mean_response_s"] == pytest.approx(0.05)
    cycle_s = 0.05 + 5 * 0.9324
    assert result["operations_per_s"] == pytest.approx(500 / cycle_s, rel=0.01)
    assert sum(operation["count"] for operation in result["operations"]) == result["operations_total"]
