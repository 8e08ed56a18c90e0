"""What protection costs, measured on a pair and on the same machine alone."""

import json
import os
from pathlib import Path

import pytest

from loadstone.model.records.pair_status import LOG_KINDS
from loadstone.model.records.result import Iteration
from loadstone.store.read import read_result
from loadstone.study.run_figures import compute_log, compute_process_uses, compute_traffic
from tests.contract.conftest import nothing_is_left  # noqa: F401
from tests.integration.conftest import LoadstoneRunner, loadstone, newest, run_until  # noqa: F401
from tests.waiting import PATIENT_MS

pytestmark = [
    pytest.mark.integration,
    pytest.mark.own_network,
    pytest.mark.slow("a run on a pair, and one on the same machine alone"),
    pytest.mark.skipif(os.geteuid() != 0, reason="networks and mounts of their own need root"),
]
EXCHANGE_BYTES = 8192


def iterations_of(study: Path, label: str) -> list[Iteration]:
    """The iterations of the run with this word in its name."""
    folder = min(study.glob(f"runs/*{label}*"))  # a pair that was invalid is repeated
    (workload,) = read_result(folder).workloads
    return list(workload.iterations)


def is_seen(study: Path) -> bool:
    """Whether both runs have exchanges, and the protected one the traffic and the log of its own."""
    alone, protected = (iterations_of(study, label) for label in ("alone", "protected"))
    log, traffic = compute_log(protected), compute_traffic(protected)
    if log is None or traffic is None or min(side[0].figures.requests for side in (alone, protected)) < 20:
        return False
    # Every exchange comes as a whole into the machine, and all that comes in is recorded.
    exchanged = protected[0].figures.requests * EXCHANGE_BYTES * 8e-6 / protected[0].figures.steady_s
    return traffic.received_mbit_per_s > 0.3 * exchanged and log.log_mbit_per_s > 0.3 * exchanged


def test_the_protected_run_has_a_log_and_the_processes_of_a_second_side(
    tmp_path: Path,
    loadstone: LoadstoneRunner,  # noqa: F811
) -> None:
    words = ("protection", "request-response", "--pairs", "1", "--quick", "--foreign-cpu", "100")
    words += ("--machine", f"silence_ms={PATIENT_MS}")
    done = run_until(loadstone, tmp_path, is_seen, *words)
    study = newest(tmp_path)
    (answer,) = json.loads((study / "answer.json").read_text())["parts"]
    assert answer["pairs"] + answer["left_out"] >= 1, done.stdout + done.stderr
    alone, protected = (iterations_of(study, label) for label in ("alone", "protected"))
    log = compute_log(protected)
    assert log is not None
    assert compute_log(alone) is None
    assert log.wire_mbit_per_s < log.log_mbit_per_s
    assert set(log.mbit_per_s_by_kind) == set(LOG_KINDS)
    assert sum(log.mbit_per_s_by_kind.values()) == pytest.approx(log.log_mbit_per_s)
    assert log.mbit_per_s_by_kind["network"] > 0.5 * log.log_mbit_per_s
    names = [set(compute_process_uses(iterations)) for iterations in (alone, protected)]
    assert names[0] < names[1]
    assert len(names[1] - names[0]) == 2
