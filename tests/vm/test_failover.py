"""Answers to the same failure: none, and a machine that is started anew. That of a pair is measured over hosts, with
those of fleets.
"""

import json
import os
from pathlib import Path

import pytest

from loadstone.cli.exits import Exit
from loadstone.judge.outage import Outage
from loadstone.store.read import read_result
from loadstone.study.failure import Failure, find_failure
from tests.contract.conftest import nothing_is_left  # noqa: F401
from tests.integration.conftest import LoadstoneRunner, loadstone, newest  # noqa: F401

pytestmark = [
    pytest.mark.integration,
    pytest.mark.own_network,
    pytest.mark.slow("a run with a fault and what comes after it"),
    pytest.mark.skipif(os.geteuid() != 0, reason="networks and mounts of their own need root"),
]

LOAD = ("--rate", "20", "--arrivals", "constant", "--profile", "brief")
"""One visit each 50 ms: many end before the fault on any host."""
FAULT = ("--kill", "primary", "--at", "3")


TRIALS = 3
"""Attempts at most, of which one is enough: a busy host may answer too little before the fault."""


def fail_over(
    tmp_path: Path,
    loadstone: LoadstoneRunner,  # noqa: F811
    code: Exit,
    *options: str,
) -> tuple[Failure, Outage]:
    """Runs one trial whose primary is killed; returns what its run knows of the failure, and what users saw of it."""
    for _ in range(TRIALS):
        done = loadstone("failover", "static", *LOAD, *FAULT, *options)
        (answer,) = json.loads((newest(tmp_path) / "answer.json").read_text())["parts"]
        (trial,) = answer["trials"]
        # A busy host may delay the driver, or answer too little: the study then draws no conclusion.
        is_known = trial["failure"] is not None and trial["failure"]["outage"] is not None
        assert done.returncode == (code if is_known else Exit.INVALID), done.stdout + done.stderr
        failure = find_failure(read_result(run_of(tmp_path)).workloads[0].iterations[0])
        assert failure is not None
        if failure.outage is not None:
            return failure, failure.outage
    raise AssertionError(f"too few answers before the fault in each of {TRIALS} trials")


def run_of(tmp_path: Path) -> Path:
    """Returns the folder of the trial's run."""
    (folder,) = newest(tmp_path).glob("runs/*")
    return folder


def test_a_machine_that_is_killed_stays_dead(tmp_path: Path, loadstone: LoadstoneRunner) -> None:  # noqa: F811
    failure, outage = fail_over(tmp_path, loadstone, Exit.FAIL, "--platform", "vm", "--steady", "10")
    assert outage.affected > 5
    assert not outage.has_recovered
    assert failure.live_s is None


def test_one_that_is_started_anew_serves_again(tmp_path: Path, loadstone: LoadstoneRunner) -> None:  # noqa: F811
    options = ("--machine", "platform=vm,restart=true", "--steady", "45")
    failure, outage = fail_over(tmp_path, loadstone, Exit.PASS, *options)
    assert outage.has_recovered
    assert failure.live_s is not None and failure.live_s > 0
    assert outage.failed > 0
