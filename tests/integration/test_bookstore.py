"""Runs of the bookstore: what was sold is proven, and what the database did is told."""

from pathlib import Path

import pytest

from loadstone.store.read import read_result
from tests.integration.conftest import (
    LoadstoneRunner,
    has_worked,
    newest,
    page,
    read_audit,
    read_samples,
    report,
    require_requests,
    run_until,
)
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
    # A balancer deals buyers to two shops over one database.
    trees = ("app-1", "app-2", "balancer") if words else ("app",)
    has_requests = require_requests(25)

    def is_seen(result: Path) -> bool:
        samples = read_samples(result)
        states = [state for sample in samples if (state := sample["status"].get(f"database: {database}"))]
        return (
            has_requests(result)
            and read_audit(result)["count"] >= least_orders
            and any(state["now"].get("connections", 0) > 1 for state in states)
            and any(state["per_s"].get("commits", 0) > 0 for state in states)
            and all(has_worked(name, samples) for name in trees)
        )

    run = ("run", mix, "--service", service, "--database", database, *words, *WORDS)
    done = run_until(loadstone_here, tmp_path, is_seen, *run)
    assert broken_rules(newest(tmp_path)) == [], done.stdout + done.stderr
    (iteration,) = report(tmp_path)["workloads"][0]["iterations"]
    assert sum(row["errors"] for row in iteration["operations"]) == 0
    audit = read_audit(newest(tmp_path))
    placed = sum(row["whole"] for row in iteration["endings"] if row["ending"] == "placed")
    (workload,) = read_result(newest(tmp_path)).workloads
    # A run may end while an order is under way.
    in_doubt = sum(line.in_doubt for line in workload.iterations[0].records.ledger)
    assert placed <= audit["count"] <= placed + in_doubt
    assert audit["broken_rules"] == []
    assert f"Status of database: {database}" in page(tmp_path)


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
