"""Runs of the bookstore: what was sold is proven, and what the database did is told."""

import json
from pathlib import Path

import pytest

from tests.integration.conftest import LoadstoneRunner, newest, report

pytestmark = pytest.mark.integration
WORDS = ("--sessions", "40", "--profile", "brief", "--steady", "15", "--foreign-cpu", "100")


@pytest.mark.parametrize(
    ("mix", "service", "database"),
    [("bookstore:ordering", "tomcat", "postgresql"), ("bookstore", "embedded", "mariadb")],
)
def test_a_run_finds_nothing_wrong_and_every_order_again(
    mix: str, service: str, database: str, tmp_path: Path, loadstone: LoadstoneRunner
) -> None:
    done = loadstone("run", mix, "--service", service, "--database", database, *WORDS)
    assert done.returncode in (0, 3), done.stdout + done.stderr  # a run so short may be no verdict
    workload = report(tmp_path)["workloads"][0]
    (iteration,) = workload["iterations"]
    assert sum(row["requests"] for row in iteration["operations"]) > 50
    assert sum(row["errors"] for row in iteration["operations"]) == 0
    (run,) = newest(tmp_path).glob("runs/*/audit.json")
    audit = json.loads(run.read_text())
    placed = next(one["whole"] for one in iteration["endings"] if one["ending"] == "placed")
    assert audit["count"] == placed > 0
    assert audit["broken_rules"] == []
    samples = [json.loads(line) for line in run.with_name("monitor.jsonl").open()]
    told = [sample["status"][f"database: {database}"] for sample in samples if sample["status"]]
    assert max(one["now"]["connections"] for one in told if one["now"]) > 1
    assert max(one["per_s"].get("commits", 0) for one in told) > 0
    assert f"Status of database: {database}" in (newest(tmp_path) / "report.html").read_text()


def test_a_balancer_deals_buyers_to_two_shops_over_one_database(tmp_path: Path, loadstone: LoadstoneRunner) -> None:
    done = loadstone("run", "bookstore:ordering", "--balancer", "haproxy", "--machine", "count=2", *WORDS)
    assert done.returncode in (0, 3), done.stdout + done.stderr
    (iteration,) = report(tmp_path)["workloads"][0]["iterations"]
    assert sum(row["errors"] for row in iteration["operations"]) == 0
    (run,) = newest(tmp_path).glob("runs/*/monitor.jsonl")
    lines = [json.loads(line) for line in run.open()]
    used = {name: sum(line["trees"][name]["user_cores"] for line in lines) for name in ("app-1", "app-2", "balancer")}
    assert all(used.values()), used


def test_what_does_not_fit_together_is_refused_before_anything_is_started(
    tmp_path: Path, loadstone: LoadstoneRunner
) -> None:
    for words, said in (
        (("bookstore", "--service", "tomcat"), "Add --database postgresql"),
        (("banking", "--database", "mariadb"), "these workloads need `web`"),
        (("bookstore", "--service", "nginx-php"), "no bookstore service `nginx-php`"),
        (("bookstore:orderly",), "no mix `orderly`"),
    ):
        done = loadstone("run", *words, *WORDS)
        assert done.returncode == 2, done.stdout
        assert said in " ".join(done.stderr.split()), done.stderr
    assert not (tmp_path / "results").exists()
