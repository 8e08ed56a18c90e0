"""The station against theory: in real time as a server, in virtual time as a rehearsal."""

import asyncio
import http.client
import json
import os
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import pytest

from loadstone.measure.station import WorkerTime
from loadstone.model.load import Arrivals, Load, Population
from loadstone.model.profile import Phases
from loadstone.model.records.result import Iteration
from loadstone.model.system import Station, UserSpread
from loadstone.run.executor import DriverJob, Executor
from loadstone.run.plan import Timing, WorkloadLoad, make_plan
from loadstone.store.folder import RunFolder
from loadstone.store.read import read_iteration
from loadstone.study.queueing import Centre, open_wait_s, solve_closed
from loadstone.study.summary import collect_metrics
from loadstone.testbed.testbed import Testbed
from loadstone.testbed.up import simulate_testbed, start_station
from loadstone.workloads import load as load_workload
from tests.integration.conftest import LONGER_S, LoadstoneRunner, report
from tests.waiting import WAIT_S

pytestmark = pytest.mark.integration


@contextmanager
def up(station: Station, folder: Path) -> Iterator[Testbed]:
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        yield runner.run(stack.enter_async_context(start_station(station, folder)))
        runner.run(stack.aclose())


def one_page(folder: Path, pacing: str, mix: str = "", limits: str = "good_s = 2\ntolerable_s = 4") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "workload.toml").write_text(
        f'[workload]\nname = "{folder.name}"\ntitle = "One page"\n[pacing]\n{pacing}\n'
        f"[connections]\nparallel = 1\nkept_between_users = true\n[limits]\n{limits}\n"
        f'[mix]\nkind = "flat"\nshares = {{ page = 1 }}\n{mix}\n[operations.page]\npath = "/"\n'
    )
    return folder


def rehearse(folder: Path, station: Station, load: Load, phases: Phases) -> Iteration:
    run = folder / f"{folder.name}-1"
    run.mkdir()
    plan = make_plan([WorkloadLoad(load_workload(str(folder)), load)], Timing(phases))

    async def play() -> None:
        job = DriverJob("page", plan, {folder.name: RunFolder(run)})
        async with simulate_testbed(station) as testbed:
            await Executor(testbed, lambda event: None).execute([job])

    asyncio.run(play())
    return read_iteration(run, 1)


def get(testbed: Testbed, path: str = "/") -> int:
    try:
        with urllib.request.urlopen(f"http://{testbed.targets[0].http}{path}", timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_a_station_serves_its_workers_at_a_time_and_refuses_beyond_its_queue(tmp_path: Path) -> None:
    station = Station(workers=2, service=1.5, spread=UserSpread.FIXED, queue=2)
    with up(station, tmp_path) as testbed:
        # A stopped station finds all requests at once, however long a busy host takes to send them.
        (pid,) = testbed.processes().values()
        os.kill(pid, signal.SIGSTOP)
        connections = [send_request(testbed) for _ in range(6)]
        begun = time.monotonic()
        os.kill(pid, signal.SIGCONT)
        answers = [(connection.getresponse().status, time.monotonic() - begun) for connection in connections]
    served = sorted(seconds for status, seconds in answers if status == 200)
    # Six that come together find two workers and two places to wait: were fewer served at a time, more were refused.
    assert [status for status, _ in answers].count(503) == 2
    assert len(served) == 4
    assert all(seconds >= 1.5 for seconds in served[:2])
    assert all(seconds >= 3.0 for seconds in served[2:]), "two after the others"


def send_request(testbed: Testbed) -> http.client.HTTPConnection:
    """Connects to a station and sends a request, whose answer is not awaited."""
    connection = http.client.HTTPConnection(str(testbed.targets[0].http), timeout=60)
    connection.request("GET", "/")
    return connection


def test_a_station_makes_planned_errors_and_says_how_busy_it_is(tmp_path: Path) -> None:
    with up(Station(service=0.02, spread=UserSpread.FIXED, error_share=1), tmp_path) as testbed:
        before = asyncio.run(read_work(testbed))
        assert [get(testbed) for _ in range(10)] == [500] * 10
        after = asyncio.run(read_work(testbed))
    assert (after.busy_ns - before.busy_ns) / 1e9 == pytest.approx(0.2)
    assert after.workers == 1


async def read_work(testbed: Testbed) -> WorkerTime:
    """Returns what a station says of its workers; a busy host may not let it answer in time at once."""
    async with asyncio.timeout(WAIT_S):
        while (work := await testbed.meters["station"].read()) is None:
            await asyncio.sleep(0.1)
    return work


def test_a_station_that_stalls_answers_late(tmp_path: Path) -> None:
    with up(Station(service=0.001, spread=UserSpread.FIXED, stall=0.5, stall_every=1), tmp_path) as testbed:
        times, until = [0.0], time.monotonic() + 60
        while (max(times) < 0.4 or len(times) < 30) and time.monotonic() < until:
            begun = time.monotonic()
            get(testbed)
            times.append(time.monotonic() - begun)
            time.sleep(0.03)
    assert max(times) >= 0.4
    assert sorted(times)[len(times) // 2] < 0.4, "most are answered between two stalls"


CASES = [
    (Station(workers=4, service=0.004), Arrivals((800.0,))),
    (Station(workers=1, service=0.01), Arrivals((70.0,))),
    (Station(workers=2, service=0.02), Population(80)),
]


@pytest.mark.parametrize(("station", "load"), CASES)
def test_a_rehearsal_waits_as_theory_says(tmp_path: Path, station: Station, load: Load) -> None:
    mix = "operations_per_session = 1" if isinstance(load, Arrivals) else ""
    folder = one_page(tmp_path / "page", 'kind = "think"\nmean_s = 1', mix)
    found = collect_metrics(rehearse(folder, station, load, Phases(10, 20, 1200, 0)))
    centre = Centre(station.workers, station.service)
    if isinstance(load, Arrivals):
        rate, response = load.rates[0], station.service + open_wait_s(centre, load.rates[0])
    else:
        rate, response = solve_closed(centre, load.sessions, 1.0)
    assert found["throughput"] == pytest.approx(rate, rel=0.01)
    assert found["response_mean"] == pytest.approx(response, rel=0.05)
    assert found["busy_workers"] == pytest.approx(rate * station.service, rel=0.02)


def test_a_rehearsal_is_the_same_every_time(tmp_path: Path) -> None:
    station, load = Station(workers=4, service=0.004), Arrivals((500.0,))
    runs = []
    for name in ("a", "b"):
        folder = one_page(tmp_path / name, 'kind = "think"\nmean_s = 0', "operations_per_session = 1")
        runs.append(collect_metrics(rehearse(folder, station, load, Phases(1, 1, 10, 1))))
    assert runs[0] == runs[1]


def test_cycles_keep_their_pace_until_answers_take_longer(tmp_path: Path) -> None:
    cycle = 'kind = "cycle"\nmean_s = 1\ndistribution = "exponential"'
    for service, limit in ((0.001, 1), (0.5, 100)):
        folder = one_page(tmp_path / f"cycle-{limit}", cycle)
        station = Station(workers=1000, service=service, spread=UserSpread.FIXED)
        figures = rehearse(folder, station, Population(50), Phases(5, 5, 300, 0)).figures
        (page,) = figures.operations
        off = 100 * (page.cycle_actual_s / page.cycle_drawn_s - 1)
        assert page.cycles > 5_000
        assert page.cycle_drawn_s / page.cycles == pytest.approx(1, rel=0.05)
        # E[max(X, r)] = r + mean x exp(-r / mean) for an exponential cycle X and a response r.
        expected = 100 * (service + 2.718281828**-service - 1)
        assert off == pytest.approx(expected, abs=0.5)


@pytest.mark.slow("a run")
def test_real_cycles_are_measured_and_judged(tmp_path: Path) -> None:
    folder = one_page(tmp_path / "paced", 'kind = "cycle"\nmean_s = 0.2\ndistribution = "exponential"')
    with up(Station(workers=50, service=0.002, spread=UserSpread.FIXED), tmp_path) as testbed:
        parts = [WorkloadLoad(load_workload(str(folder)), Population(20), testbed.targets)]
        for seconds in (3, *LONGER_S):
            run = tmp_path / f"in-{seconds}-s" / "paced-1"
            run.mkdir(parents=True)
            jobs = [
                DriverJob("paced", make_plan(parts, Timing(Phases(0.5, 0.5, seconds, 0))), {"paced": RunFolder(run)})
            ]
            asyncio.run(Executor(testbed, lambda event: None).execute(jobs))
            (page,) = read_iteration(run, 1).figures.operations
            samples = [json.loads(line) for line in (run / "monitor.jsonl").read_text().splitlines()]
            uses = [use for sample in samples if (use := sample["stations"]["station"])]
            off = abs(page.cycle_actual_s / page.cycle_drawn_s - 1) if page.cycles > 100 else 1.0
            if uses and off < 0.2:  # a busy host keeps no pace
                break
    assert off < 0.2
    assert uses and all(use["workers"] == 50 for use in uses)


def test_a_run_whose_every_operation_fails_does_not_pass(tmp_path: Path, loadstone: LoadstoneRunner) -> None:
    station = "workers=2,service=0.001,error_share=1"
    done = loadstone("run", "static", "--sessions", "5", "--station", station, "--profile", "quick", "--virtual")
    assert done.returncode == 1, done.stdout + done.stderr
    (iteration,) = report(tmp_path)["workloads"][0]["iterations"]
    total = next(row for row in iteration["operations"] if row["name"] == "Total")
    assert total["good"] == 0 and total["errors"] == total["requests"] > 0
