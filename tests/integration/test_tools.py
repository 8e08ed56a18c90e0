"""Tools in the driver's place: a run of each on this machine, from command to verdict."""

from pathlib import Path

import pytest

from loadstone.model.records.result import WorkloadResult
from loadstone.run.tool import OUTPUT
from loadstone.store.read import read_result
from loadstone.workloads import load
from tests.integration.conftest import LoadstoneRunner, newest, require_requests, run_until
from tests.verdicts import WINDOW, broken_rules

pytestmark = pytest.mark.integration

MESSAGE_BYTES = 8192
TIMED = ["iperf3", "iperf3:send", "fio", "pgbench:select", "sysbench:read", "warehouses"]


@pytest.mark.slow("each tool makes a run of five seconds, after its server is up and its data is there")
@pytest.mark.parametrize("name", TIMED)
def test_a_tools_own_output_becomes_a_run_like_any_other(name: str, loadstone: LoadstoneRunner, tmp_path: Path) -> None:
    has_requests = require_requests(100)

    def is_seen(result: Path) -> bool:
        (workload,) = read_result(result).workloads
        is_sampled = len(workload.iterations[0].records.intervals) >= 2
        least_s = 0.0 if workload.criteria.tool_operations is not None else 0.999 * workload.criteria.steady_s
        is_steady = workload.iterations[0].figures.steady_s >= least_s
        return has_requests(result) and is_sampled and is_steady and 0.2 < compute_busy_share(workload) < 1.5

    done = run_until(loadstone, tmp_path, is_seen, "run", name, *WINDOW)
    assert broken_rules(newest(tmp_path)) == [], done.stdout + done.stderr
    (workload,) = read_result(newest(tmp_path)).workloads
    (iteration,) = workload.iterations
    (operation,) = iteration.figures.operations
    assert operation.name == name.partition(":")[2] or list(load(name).mix.shares) == [operation.name]
    recorded = sum(interval.requests for interval in iteration.records.intervals)
    assert recorded == pytest.approx(operation.requests, rel=0.1)
    assert (newest(tmp_path) / "runs" / f"{workload.id.label}-1" / OUTPUT).stat().st_size > 0
    if load(name).header.needs == "iperf3":
        assert operation.bytes == MESSAGE_BYTES * operation.requests


def compute_busy_share(workload: WorkloadResult) -> float:
    """Returns the share of the time in which a client is busy with an operation, by Little's law. Clients without
    pauses always are, but for what they do between two operations.
    """
    figures = workload.iterations[0].figures
    return sum(each.ended_s for each in figures.operations) / figures.steady_s / workload.criteria.sessions


LEAST_PAUSES_S = {"order-entry": 0.05, "dvd-store": 0.0}


@pytest.mark.slow("fills a database and plays its users for five seconds, after they are connected")
@pytest.mark.parametrize("name", LEAST_PAUSES_S)
def test_users_of_a_database_pause_between_operations_that_have_times_of_their_own(
    name: str, loadstone: LoadstoneRunner, tmp_path: Path
) -> None:
    has_requests = require_requests(50)

    def is_seen(result: Path) -> bool:
        return has_requests(result) and read_result(result).workloads[0].iterations[0].figures.pauses > 10

    done = run_until(loadstone, tmp_path, is_seen, "run", name, *WINDOW)
    assert broken_rules(newest(tmp_path)) == [], done.stdout + done.stderr
    (workload,) = read_result(newest(tmp_path)).workloads
    figures = workload.iterations[0].figures
    shares = load(name).mix.shares
    counts = {operation.name: operation.requests for operation in figures.operations}
    assert list(counts) == list(shares)
    # Browsing is five times as frequent as processing, and a search as a purchase.
    assert max(counts.values()) > 1.5 * min(counts.values())
    assert all(operation.errors == {} for operation in figures.operations)
    assert figures.pause_actual_s / figures.pauses >= LEAST_PAUSES_S[name]
    ledger = workload.iterations[0].records.ledger
    endings = {ending.name: ending.steady for line in ledger for ending in line.endings}
    assert sum(endings.values()) == (counts["purchase"] if name == "dvd-store" else 0)


def test_users_whom_the_database_refuses_make_a_failed_run_with_the_output_kept(
    loadstone: LoadstoneRunner, tmp_path: Path
) -> None:
    done = loadstone("run", "order-entry", "--sessions", "20", "--set", "postgresql.max_connections=12", *WINDOW)
    printed = " ".join((done.stdout + done.stderr).split())
    assert done.returncode != 0
    assert "order-entry ended with code 1" in printed, printed
    assert "too many clients" in printed, printed
    assert (newest(tmp_path) / "runs" / "order-entry-1" / OUTPUT).is_file()


def test_a_compilation_ends_after_its_number(loadstone: LoadstoneRunner, tmp_path: Path) -> None:
    use = load("compile").tool
    assert use is not None
    assert (use.operations, use.short_operations) == (5, 1)
    done = loadstone("run", "compile:part", *WINDOW)
    assert broken_rules(newest(tmp_path)) == [], done.stdout + done.stderr
    (workload,) = read_result(newest(tmp_path)).workloads
    figures = workload.iterations[0].figures
    assert figures.requests == use.short_operations
    assert figures.steady_s > figures.operations[0].ended_s * 0.99
