"""Three answers to the same failure: none, a machine that is started anew, a pair."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.contract.conftest import nothing_is_left  # noqa: F401
from tests.integration.conftest import LoadstoneRunner, loadstone, newest  # noqa: F401

pytestmark = [
    pytest.mark.integration,
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="networks and mounts of their own need root"),
]


def failed_over(tmp_path: Path, loadstone: LoadstoneRunner, code: int, *where: str) -> dict[str, Any]:  # noqa: F811
    """What a killed machine cost."""
    words = ["failover", "support", "--sessions", "20", "--kill", "primary", "--at", "16", "--foreign-cpu", "100"]
    done = loadstone(*words, "--profile", "demo", "--steady", "31", *where)
    assert done.returncode == code, done.stdout + done.stderr
    (answer,) = json.loads((newest(tmp_path) / "answer.json").read_text())["parts"]
    (trial,) = answer["trials"]
    failure: dict[str, Any] = trial["failure"]
    return failure


def test_a_machine_that_is_killed_stays_dead(tmp_path: Path, loadstone: LoadstoneRunner) -> None:  # noqa: F811
    failure = failed_over(tmp_path, loadstone, 1, "--platform", "vm")
    assert failure["outage"]["affected"] > 5
    assert not failure["outage"]["has_recovered"]
    assert failure["live_s"] is None


def test_one_that_is_started_anew_serves_again(tmp_path: Path, loadstone: LoadstoneRunner) -> None:  # noqa: F811
    failure = failed_over(tmp_path, loadstone, 0, "--machine", "platform=vm,restart=true")
    assert failure["outage"]["has_recovered"]
    assert 0.5 < failure["live_s"] < 20
    assert failure["outage"]["failed"] > 0


def test_a_pair_goes_on_and_is_made_whole(tmp_path: Path, loadstone: LoadstoneRunner) -> None:  # noqa: F811
    failure = failed_over(tmp_path, loadstone, 0, "--platform", "pair")
    assert failure["outage"]["failed"] == 0
    assert failure["outage"]["seconds"] < 3
    assert failure["live_s"] < 3
    assert failure["protected_s"] < 20
    (report,) = newest(tmp_path).glob("runs/*/report.html")
    assert "Held outputs" in report.read_text()
