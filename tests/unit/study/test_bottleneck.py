"""What a run was up against: the first of what is full, or that nothing is."""

from dataclasses import replace

import pytest

from loadstone.model.records.check import Bound, Check, CheckId, Outcome, Weight
from loadstone.study.bottleneck import (
    BOTTLENECK_DISK,
    DRIVER,
    HOST,
    MEMORY,
    NO_BOTTLENECK,
    OTHERS,
    SYSTEM_CPU,
    WORKERS,
    describe_common,
    find_bottleneck,
)
from loadstone.study.kinds.sweep.question import Sweep
from loadstone.study.summary import RunRequest, RunSummary
from tests.made import carry_out, made

REQUEST = RunRequest("1", "page", {}, 1)
CAPACITY = {"cores": 4.0, "server_cores": 1.0, "workers": 4.0}


def run(driver_bound: bool = False, foreign: float = 0.0, **metrics: float) -> RunSummary:
    """One core of four for the server, and no other load."""
    usual = {"host_cpu": 1.5, "server_cpu": 0.5, "driver_cpu": 30.0, "busy_workers": 1.0}
    outcome = Outcome.BROKEN if foreign > 5 else Outcome.KEPT
    check = Check(CheckId.FOREIGN_CPU, "others", foreign, 5, Bound.AT_MOST, "%", Weight.INVALID, outcome)
    summary = made(REQUEST, driver_bound=driver_bound, **{**usual, **metrics})
    return replace(summary, capacity=CAPACITY, checks=(check,))


@pytest.mark.parametrize(
    ("seen", "name"),
    [
        (run(), NO_BOTTLENECK),
        (run(server_cpu=0.9), SYSTEM_CPU),
        (run(driver_cpu=95.0), DRIVER),
        (run(driver_bound=True), DRIVER),
        (run(busy_workers=3.9), WORKERS),
        (run(host_cpu=3.9), HOST),
        (run(host_cpu=3.9, foreign=60.0), OTHERS),
        (replace(run(), monitors={"host.swap_in_per_s": 100.0}), MEMORY),
        (replace(run(), monitors={"host.wait_cores": 1.5}), BOTTLENECK_DISK),
    ],
)
def test_the_first_of_what_is_full_is_named(seen: RunSummary, name: str) -> None:
    found = find_bottleneck(seen)
    assert found is not None and found.name == name


def test_where_nothing_was_watched_nothing_is_said() -> None:
    assert find_bottleneck(made(REQUEST)) is None
    assert describe_common([made(REQUEST)]) == ""


def test_of_several_runs_what_most_of_them_met_is_said() -> None:
    assert describe_common([run(server_cpu=0.9), run(server_cpu=0.95), run()]) == f"{SYSTEM_CPU} (95 % used)"


def scaled(server_cpu: float) -> str:
    def play(request: RunRequest) -> RunSummary:
        cores = float(request.settings["server.cores"])
        summary = run(throughput=100.0 * (1 + 0.04 * cores), server_cpu=server_cpu * cores)
        return replace(summary, request=request, capacity={**CAPACITY, "server_cores": cores})

    answer, _ = carry_out(Sweep("page", {}, (("server.cores", (1, 2)),)), play)
    return " ".join(answer.headline)


def test_no_efficiency_is_said_of_a_server_that_idles() -> None:
    assert "Efficiency at server.cores=2 against 1: unknown, since the system had idle CPU" in scaled(0.4)
    assert "Efficiency at server.cores=2 against 1: 52 %" in scaled(0.9)
