"""Runs of the site of events: nothing is wrong, what was added is proven, and pictures and requests are counted."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import LoadstoneRunner, newest, read_audit, report, require_requests, run_until
from tests.verdicts import WINDOW, broken_rules

pytestmark = pytest.mark.integration
WORDS = ("--sessions", "100", *WINDOW)


def operations(tmp_path: Path) -> dict[str, Any]:
    (iteration,) = report(tmp_path)["workloads"][0]["iterations"]
    return {row["name"]: row for row in iteration["operations"]}


@pytest.mark.slow("databases and a servlet container come up")
@pytest.mark.parametrize(("service", "database"), [("embedded", "postgresql"), ("tomcat", "mariadb")])
def test_a_run_finds_nothing_wrong_and_all_that_was_added_again(
    service: str, database: str, tmp_path: Path, loadstone_here: LoadstoneRunner
) -> None:
    has_requests = require_requests(8, "home", "event_detail")

    def is_seen(result: Path) -> bool:
        return has_requests(result) and read_audit(result)["count"] > 0

    run = ("run", "events", "--service", service, "--database", database, *WORDS)
    done = run_until(loadstone_here, tmp_path, is_seen, *run)
    assert broken_rules(newest(tmp_path)) == [], done.stdout + done.stderr
    rows = operations(tmp_path)
    assert sum(row["errors"] for row in rows.values()) == 0, rows
    audit = read_audit(newest(tmp_path))
    assert (audit["what"], audit["broken_rules"]) == ("additions", [])
    verdict = json.loads((newest(tmp_path) / "verdict.json").read_text())
    checks = verdict["workloads"][0]["iterations"][0]["checks"]
    named = {check["rule"]: check for check in checks}
    assert named["additions stored"]["outcome"] == "kept"
    assert named["pictures on a home page"]["figure"] == 10
    assert named["pictures on an event's page"]["figure"] == 1
    # Users are found half-way, so some have fetched a home page's pictures already and others have not.
    assert 0 < named["pictures fetched for a home page"]["figure"] < 10


def test_response_times_are_weighted_by_the_mix(tmp_path: Path, loadstone_here: LoadstoneRunner) -> None:
    words = ("--virtual", "--station", "workers=8,service=0.002", "--sessions", "1000", "--profile", "demo")
    done = loadstone_here("run", "events", *words)
    assert all(row["requests"] for row in operations(tmp_path).values()), done.stdout + done.stderr
    verdict = json.loads((newest(tmp_path) / "verdict.json").read_text())
    named = {check["rule"]: check for check in verdict["workloads"][0]["iterations"][0]["checks"]}
    assert named["response time weighted by the mix"]["limit"] == pytest.approx(1.686, abs=0.001)


def test_a_run_whose_every_request_fails_does_not_pass(tmp_path: Path, loadstone_here: LoadstoneRunner) -> None:
    done = loadstone_here("run", "events", "--virtual", "--station", "workers=8,service=0.002,error_share=1", *WORDS)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAIL" in done.stdout
