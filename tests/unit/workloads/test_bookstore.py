"""The bookstore's mixes and limits, held against the published ones."""

import csv
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from loadstone.cli.main import build_program
from loadstone.model.errors import UsageError
from loadstone.model.load import Population
from loadstone.model.profile import PROFILES
from loadstone.model.workload.operation import TimeLimit
from loadstone.run.plan import Timing, WorkloadLoad, compile_plan
from loadstone.workloads import load
from loadstone.workloads.scaling import compute_rows
from loadstone.workloads.shares import compute_shares

DATA = Path(__file__).parents[2] / "data"
CODES = {
    "HOME": "home",
    "NEWP": "new_products",
    "BESS": "best_sellers",
    "PROD": "product_detail",
    "SREQ": "search_request",
    "SRES": "search_results",
    "SHOP": "shopping_cart",
    "CREG": "customer_registration",
    "BUYR": "buy_request",
    "BUYC": "buy_confirm",
    "ORDI": "order_inquiry",
    "ORDD": "order_display",
    "ADMR": "admin_request",
    "ADMC": "admin_confirm",
}
"""Pages by the published matrices' names for them."""


def published(mix: str) -> dict[str, float]:
    """Shares of the pages in % in the long run: the matrix's own stationary distribution."""
    with (DATA / "bookstore_matrices.csv").open() as file:
        rows = {row["from"]: row for row in csv.DictReader(file) if row["mix"] == mix}
    matrix = np.array([[float(rows[start][to]) for to in CODES] for start in CODES])
    matrix /= matrix.sum(axis=1, keepdims=True)
    found = np.linalg.matrix_power(matrix, 10_000)[0]
    return {CODES[code]: 100 * share for code, share in zip(CODES, found.tolist(), strict=True)}


@pytest.mark.parametrize("mix", ["shopping", "browsing", "ordering"])
def test_each_mix_has_the_shares_of_its_published_matrix(mix: str) -> None:
    declared = load("bookstore" if mix == "shopping" else f"bookstore:{mix}")
    found: dict[str, float] = defaultdict(float)
    for name, share in compute_shares(declared).operations.items():
        found["home" if name == "home_start" else name] += 100 * share
    assert found == pytest.approx(published(mix), abs=0.05)
    assert compute_shares(declared).operations_per_session == pytest.approx(120, rel=0.001)


def test_show_tells_all_three() -> None:
    told = json.loads(CliRunner().invoke(build_program(), ["workloads", "show", "bookstore", "--json"]).stdout)
    found = {"shopping": told["operations"]} | {name: mix["operations"] for name, mix in told["mixes"].items()}
    for mix, operations in found.items():
        assert 100 * operations["search_request"] == pytest.approx(published(mix)["search_request"], abs=0.3)


def test_a_mix_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(UsageError, match=r"no mix `orderly`.*ordering"):
        load("bookstore:orderly")
    with pytest.raises(UsageError, match="one mix only"):
        load("banking:ordering")


def test_pages_have_the_published_limits_and_a_cycle_leaves_the_published_response() -> None:
    declared = load("bookstore")
    with (DATA / "bookstore_limits.csv").open() as file:
        rows = {row["transaction"]: float(row["p90_limit_s_best_known"]) for row in csv.DictReader(file)}
    assert len(rows) == len(declared.operations) == 15
    for transaction, limit_s in rows.items():
        name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in transaction).lstrip("_")
        held = declared.operations[name].limit or declared.limits
        assert isinstance(held, TimeLimit) or held is declared.limits
        assert held.good_s == limit_s, name
    assert declared.limits.each_share_pct == 90
    # 7,000 users at 790/s and 11,200 at 1,350/s: cycles of 8.86 and 8.30 s.
    for users, per_s, response_s in ((7_000, 790, 1.36), (11_200, 1_350, 0.80)):
        assert users / per_s - declared.pacing.mean_s == pytest.approx(response_s, abs=0.005)


def test_the_published_scale_fills_more_rows_and_draws_from_them() -> None:
    usual = load("bookstore:ordering")
    scaled = usual.with_published_scale()
    assert compute_rows(usual, 50) == {"items": 200, "customers": 1_440, "orders": 38_000}
    assert compute_rows(scaled, 50) == {"items": 1_000, "customers": 72_000, "orders": 1_900_000}
    for workload, items, customers in ((usual, 200, 1_440), (scaled, 1_000, 72_000)):
        plan = compile_plan([WorkloadLoad(workload, Population(50))], Timing(PROFILES["demo"].phases))
        largest = {value["name"]: value.get("max") for value in plan["parts"][0]["workload"]["values"]}
        assert (largest["item"], largest["customer"]) == (items, customers)


def test_a_workload_without_a_published_scale_is_refused_it() -> None:
    with pytest.raises(UsageError, match="`banking` declares no published scale"):
        load("banking").with_published_scale()
