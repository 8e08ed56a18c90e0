"""Tools in the driver's place: a run of each on this machine, from command to verdict."""

from pathlib import Path

import pytest

from loadstone.run.tool import OUTPUT
from loadstone.store.read import read_result
from loadstone.workloads import load
from tests.integration.conftest import LoadstoneRunner, newest
from tests.verdicts import WINDOW, broken_rules

pytestmark = pytest.mark.integration

MESSAGE_BYTES = 8192
TIMED = ["iperf3", "iperf3:send", "fio", "pgbench:select", "sysbench:read", "warehouses"]


@pytest.mark.slow("each tool makes a run of five seconds, after its server is up and its data is there")
@pytest.mark.parametrize("name", TIMED)
def test_a_tools_own_output_becomes_a_run_like_any_other(name: str, loadstone: LoadstoneRunner, tmp_path: Path) -> None:
    done = loadstone("run", name, *WINDOW)
    assert broken_rules(newest(tmp_path)) == [], done.stdout + done.stderr
    (workload,) = read_result(newest(tmp_path)).workloads
    (iteration,) = workload.iterations
    (operation,) = iteration.figures.operations
    assert operation.name == name.partition(":")[2] or list(load(name).mix.shares) == [operation.name]
    assert operation.requests > 100
    # Clients without pauses are always busy with an operation (Little's law), but for what they do between two.
    busy = operation.ended_s / iteration.figures.steady_s
    assert 0.2 * workload.criteria.sessions < busy < 1.5 * workload.criteria.sessions
    intervals = iteration.records.intervals
    assert len(intervals) >= 2
    assert sum(interval.requests for interval in intervals) == pytest.approx(operation.requests, rel=0.1)
    assert (newest(tmp_path) / "runs" / f"{workload.id.label}-1" / OUTPUT).stat().st_size > 0
    if load(name).header.needs == "iperf3":
        assert operation.bytes == MESSAGE_BYTES * operation.requests


COMPILATIONS = 2


@pytest.mark.slow("configures a source package and compiles it twice")
def test_a_compilation_ends_after_its_number_whatever_the_profile_says(
    loadstone: LoadstoneRunner, tmp_path: Path
) -> None:
    shipped = load("compile")
    assert shipped.tool is not None
    assert shipped.tool.operations == 5
    (tmp_path / "twice").mkdir()
    text = (shipped.folder / "workload.toml").read_text()
    (tmp_path / "twice/workload.toml").write_text(text.replace("operations = 5", f"operations = {COMPILATIONS}"))
    done = loadstone("run", "./twice", *WINDOW, timeout=600)
    assert broken_rules(newest(tmp_path)) == [], done.stdout + done.stderr
    (workload,) = read_result(newest(tmp_path)).workloads
    figures = workload.iterations[0].figures
    assert figures.requests == COMPILATIONS
    assert figures.steady_s > figures.operations[0].ended_s * 0.99
