"""Runs of the bookstore: what was sold is proven, and what the database did is told."""

import json
from pathlib import Path

import pytest

from tests.integration.conftest import LoadstoneRunner, newest, page, report
from tests.verdicts import WINDOW, broken_rules

pytestmark = pytest.mark.integration
WORDS = ("--sessions", "150", *WINDOW)
TWO_SHOPS = ("--balancer", "haproxy", "--machine", "count=2")


@pytest.mark.slow("databases and a servlet container come up")
@pytest.mark.parametrize(
    ("mix", "service", "database", "words", "least_orders"),
    [
        ("bookstore", "tomcat", "postgresql", (), 0),
        ("bookstore:ordering", "embedded", "mariadb", TWO_SHOPS, 1),
    ],
)
def test_a_run_finds_nothing_wrong_and_every_order_again(
    mix: str,
    service: str,
    database: str,
    words: tuple[str, ...],
    least_orders: int,
    tmp_path: Path,
    loadstone_here: LoadstoneRunner,
) -> None:
    done = loadstone_here("run", mix, "--service", service, "--database", database, *words, *WORDS)
    assert broken_rules(newest(tmp_path)) == [], done.stdout + done.stderr
    (iteration,) = report(tmp_path)["workloads"][0]["iterations"]
    assert sum(row["requests"] for row in iteration["operations"]) > 25
    assert sum(row["errors"] for row in iteration["operations"]) == 0
    (run,) = newest(tmp_path).glob("runs/*/audit.json")
    audit = json.loads(run.read_text())
    placed = sum(one["whole"] for one in iteration["endings"] if one["ending"] == "placed")
    assert audit["count"] == placed >= least_orders
    assert audit["broken_rules"] == []
    samples = [json.loads(line) for line in run.with_name("monitor.jsonl").open()]
    states = [sample["status"][f"database: {database}"] for sample in samples if sample["status"]]
    assert max(one["now"]["connections"] for one in states if one["now"]) > 1
    assert max(one["per_s"].get("commits", 0) for one in states) > 0
    assert f"Status of database: {database}" in page(tmp_path)
    # A balancer deals buyers to two shops over one database.
    trees = ("app-1", "app-2", "balancer") if words else ("app",)
    used = {name: sum(sample["trees"][name]["user_cores"] for sample in samples) for name in trees}
    assert all(used.values()), used


def test_what_does_not_fit_together_is_refused_before_anything_is_started(
    tmp_path: Path, loadstone_here: LoadstoneRunner
) -> None:
    for words, said in (
        (("bookstore", "--service", "tomcat"), "Add --database postgresql"),
        (("banking", "--database", "mariadb"), "these need `web`"),
        (("bookstore", "--service", "nginx-php"), "no bookstore service `nginx-php`"),
        (("bookstore:orderly",), "no mix `orderly`"),
    ):
        done = loadstone_here("run", *words, *WORDS)
        assert done.returncode == 2, done.stdout
        assert said in " ".join(done.stderr.split()), done.stderr
    assert not (tmp_path / "results").exists()
