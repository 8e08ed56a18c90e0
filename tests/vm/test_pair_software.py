"""Stock software in a pair: a distribution's nginx and PHP outlive the primary that they were started on."""

import os
from pathlib import Path

import pytest

from loadstone.model.records.result import Result
from loadstone.model.records.status import Status
from loadstone.store.read import read_result
from tests.contract.conftest import nothing_is_left  # noqa: F401
from tests.integration.conftest import LoadstoneRunner, loadstone, newest, run_until  # noqa: F401
from tests.vm.test_machines import DEBIAN
from tests.waiting import PATIENT_MS

pytestmark = [
    pytest.mark.integration,
    pytest.mark.own_network,
    pytest.mark.skipif(os.geteuid() != 0, reason="networks and mounts of their own need root"),
    pytest.mark.slow("boots a distribution on both sides of a pair, whose image is made the first time"),
]


def read_run(study: Path) -> Result:
    """Reads the only run of a study."""
    (folder,) = study.glob("runs/*")
    return read_result(folder)


def is_seen(study: Path) -> bool:
    """Whether a run has answers, and a survivor that took over before it ended: a busy host needs seconds for each."""
    (iteration,) = read_run(study).workloads[0].iterations
    has_survivor = iteration.fault is not None and iteration.fault.live_unix_s is not None
    return has_survivor and iteration.figures.requests > 0


def test_a_stock_server_in_a_pair_outlives_its_primary(tmp_path: Path, loadstone: LoadstoneRunner) -> None:  # noqa: F811
    load = ("--rate", "5", "--arrivals", "constant", "--profile", "brief", "--steady", "6", "--kill", "primary")
    settings = f"platform=pair,image={DEBIAN},memory=256,silence_ms={PATIENT_MS}"
    machine = ("--service", "nginx-php", "--machine", settings)
    done = run_until(loadstone, tmp_path, is_seen, "failover", "static", *load, "--at", "3", *machine)
    result = read_run(newest(tmp_path))
    assert result.manifest.status is Status.COMPLETE, done.stdout + done.stderr
    iteration = result.workloads[0].iterations[0]
    assert iteration.fault is not None
    assert iteration.fault.refused == ""
    assert iteration.fault.live_unix_s is not None and iteration.fault.live_unix_s > iteration.fault.at_unix_s
    assert sum(operation.error_count for operation in iteration.figures.operations) == 0
    facts = result.manifest.machines["web"].facts
    assert str(facts["image"]).startswith(f"{DEBIAN} ")
    assert str(facts["software"]).startswith("nginx version")
    assert facts["disk"] == "a replica on each side"
