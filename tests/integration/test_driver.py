"""The driver's other sides for real: arrivals, side by side, several drivers, HTTP/2, and stalls against theory."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from benches.theory import closed_stall_s, open_stall_s

from loadstone.host.http import find_free_port
from loadstone.host.programs import find_driver
from loadstone.model.figures import IterationFigures
from loadstone.model.load import Arrivals, Load, Population
from loadstone.model.profile import Phases
from loadstone.model.records.events import ConnectionStats
from loadstone.model.target import Target
from loadstone.run.executor import DriverJob, Executor
from loadstone.run.plan import Timing, WorkloadLoad, make_plan
from loadstone.store.folder import RunFolder
from loadstone.store.read import read_iteration, read_result
from loadstone.testbed import Testbed
from loadstone.workloads import load as load_workload
from tests.integration.conftest import (
    LONGER_S,
    Json,
    LoadstoneRunner,
    command,
    newest,
    report,
    rows,
    run_until,
    wait_until,
)
from tests.processes import list_processes_below
from tests.verdicts import WINDOW, broken_rules
from tests.waiting import LONGEST_S

pytestmark = pytest.mark.integration


def one_page(folder: Path, connections: str, mix: str = "", think_s: float = 0.0) -> Path:
    """A workload of the reference server's front page."""
    folder.mkdir()
    (folder / "workload.toml").write_text(
        f'[workload]\nname = "{folder.name}"\ntitle = "One page"\n[pacing]\nkind = "think"\nmean_s = {think_s}\n'
        f"[connections]\nkept_between_users = true\n{connections}\n[limits]\ngood_s = 2\ntolerable_s = 4\n"
        f'[mix]\nkind = "flat"\nshares = {{ page = 1 }}\n{mix}\n'
        '[operations.page]\npath = "/"\ntitle = "Reference server"\nbytes = 1024\n'
    )
    return folder


def play(
    testbed: Testbed, workload: Path, load: Load, phases: Phases, freeze: bool = False
) -> tuple[IterationFigures, float]:
    """Plays a workload; with `freeze`, stops the web server for a second in the middle and says for how long it was."""
    plan = make_plan([WorkloadLoad(load_workload(str(workload)), load, testbed.targets)], Timing(phases))
    stopped_s = 0.0

    async def run() -> None:
        nonlocal stopped_s
        work = asyncio.create_task(
            Executor(testbed, lambda event: None).execute(
                [DriverJob("page", plan, {workload.name: RunFolder(workload)})]
            )
        )
        if freeze:
            await asyncio.sleep(phases.ramp_up_s + phases.warm_up_s + phases.steady_s / 2)
            begun = time.monotonic()
            os.kill(testbed.processes()["web"], signal.SIGSTOP)
            await asyncio.sleep(1.0)
            os.kill(testbed.processes()["web"], signal.SIGCONT)
            stopped_s = time.monotonic() - begun
        await work

    asyncio.run(run())
    renamed = workload.with_name(f"{workload.name}-1")
    workload.rename(renamed)
    return read_iteration(renamed, 1).figures, stopped_s


def stall(model: str, testbed: Testbed, folder: Path, seconds: float) -> tuple[IterationFigures, float]:
    """Freezes a web server for a second under open or closed load; returns the figures, and the 99.9th percentile of
    response time that theory gives.
    """
    sessions, think_s = 50, 0.1
    if model == "open":
        workload = one_page(folder, "", "operations_per_session = 1")
        load: Load = Arrivals((500.0,))
    else:
        workload, load = one_page(folder, "", think_s=think_s), Population(sessions)
    figures, stall_s = play(testbed, workload, load, Phases(0.5, 0.5, seconds, 0.5), freeze=True)
    if model == "open":
        return figures, open_stall_s(seconds, stall_s, 0.999)
    return figures, closed_stall_s(sessions, think_s, seconds, stall_s, 0.999)


@pytest.mark.slow("a run")
@pytest.mark.parametrize("model", ["open", "closed"])
def test_a_stall_shows_at_the_percentile_that_theory_gives(model: str, testbed: Testbed, tmp_path: Path) -> None:
    """A busy machine adds to it; `make test-all` asks how close it is on a quiet one."""
    for seconds in (4, *LONGER_S):
        figures, theory_s = stall(model, testbed, tmp_path / f"page-in-{seconds}-s", seconds)
        assert sum(sum(operation.errors.values()) for operation in figures.operations) == 0
        response_s, service_s = figures.response.get_value_at(99.9), figures.service.get_value_at(99.9)
        is_inside = response_s is not None and response_s >= 0.9 * theory_s
        if is_inside and (figures.response.get_value_at(50) or 0) < 0.5:  # the stall is in the steady state, and alone
            break
    assert response_s is not None and service_s is not None
    assert 0.9 * theory_s <= response_s <= 10 * theory_s
    assert service_s > 0.7  # service time alone does not hide it, with so many connections
    assert response_s >= service_s
    assert (figures.response.get_value_at(50) or 0) < 0.5


VIRTUAL = ("--virtual", "--station", "workers=8,service=0.002")


def test_arrivals_at_a_rate_are_judged_by_their_rate(loadstone_here: LoadstoneRunner, tmp_path: Path) -> None:
    words = ("--rate", "100,300", "--arrivals", "constant", "--profile", "demo")
    done = loadstone_here("run", "static", *words, *VIRTUAL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "100, then 300 arrivals/s (constant)" in " ".join(done.stdout.split())
    content = report(tmp_path)
    checks = {check["rule"]: check for check in content["workloads"][0]["iterations"][0]["verdict"]["checks"]}
    assert checks["sessions started against scheduled sessions"]["outcome"] == "kept"
    assert rows(content)["page"]["requests"] == pytest.approx(1800, abs=1)  # 4.5 s of each


@pytest.mark.slow("a run of seven seconds")
def test_a_number_of_sessions_grows_and_shrinks_as_declared(loadstone_here: LoadstoneRunner, tmp_path: Path) -> None:
    words = ("run", "support", "--sessions", "20,60,20", *WINDOW, "--steady", "6")

    def has_steps(result: Path) -> bool:
        first, *between, last = list_active_sessions(result)
        return first == 20 and 60 in between and last < 60  # those who leave end what they are at

    done = run_until(loadstone_here, tmp_path, has_steps, *words)
    assert broken_rules(newest(tmp_path)) == [], done.stdout + done.stderr
    assert "20, then 60, then 20 sessions" in " ".join(done.stdout.split())
    assert max(list_active_sessions(newest(tmp_path))) == 60
    totals = next(event for event in read_events(newest(tmp_path), "support") if event["event"] == "totals")
    assert totals["sessions"]["begun"] >= 40
    refused = loadstone_here("simulate", "support", "--sessions", "20-60")
    assert refused.returncode == 2


def read_events(result: Path, workload: str) -> list[Json]:
    """Reads what the driver wrote of a workload."""
    return [json.loads(line) for line in (result / "runs" / f"{workload}-1" / "events.jsonl").open()]


def list_active_sessions(result: Path) -> list[int]:
    """Returns how many sessions there were at the end of each second of the steady state."""
    intervals = [event for event in read_events(result, "support") if event["event"] == "interval"]
    return [interval["sessions_active"] for interval in intervals if interval["phase"] == "steady"]


def test_a_trace_is_played_as_it_is(loadstone_here: LoadstoneRunner, tmp_path: Path) -> None:
    (tmp_path / "trace.txt").write_text("".join(f"{number / 50}\n" for number in range(400)))
    done = loadstone_here("run", "static", "--trace", "trace.txt", "--profile", "demo", *VIRTUAL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert rows(report(tmp_path))["page"]["requests"] == 400


@pytest.mark.slow("a run")
def test_workloads_side_by_side_have_a_verdict_each(loadstone_here: LoadstoneRunner, tmp_path: Path) -> None:
    (tmp_path / "mixed.toml").write_text(
        '[study]\ntogether = true\n[[load]]\nworkload = "static"\nrate = 50\n'
        '[[load]]\nworkload = "support"\nsessions = "150,200"\n'
        "[profile]\nramp_up_s = 0.5\nwarm_up_s = 0.5\nsteady_s = 3\nramp_down_s = 0.5\n[driver]\nlag_share_pct = 20\n"
    )
    done = loadstone_here("run", "mixed.toml")
    assert broken_rules(newest(tmp_path)) == [], done.stdout + done.stderr
    verdicts = {one["terms"]["workload"]: one for one in report(tmp_path)["workloads"]}
    assert set(verdicts) == {"static", "support"}
    assert all(one["verdict"]["verdict"] in ("pass", "fail", "invalid") for one in verdicts.values())
    assert verdicts["static"]["terms"]["lag_share"] == 0.2
    starts = set()
    for name in verdicts:
        events = read_events(newest(tmp_path), name)
        assert {event.get("part") for event in events} == {None, name}
        starts.add(json.dumps(events[0]))
        assert max(event.get("sessions_active", 0) for event in events) <= 200
    assert len(starts) == 1, "one driver plays both, at the same time"


def wait_for_leader(folder: Path) -> None:
    """Waits until a run's driver waits for others: those that look for it earlier give up after 20 s."""
    logs = "results/*/runs/static-1/driver.log"
    wait_until(lambda: any("waiting" in log.read_text() for log in folder.glob(logs)), "a driver that waits for others")


@pytest.mark.slow("a program and two drivers that join it")
def test_drivers_join_and_are_one_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"127.0.0.1:{find_free_port()}"
    monkeypatch.setenv("LOADSTONE_JOIN_TOKEN", "0123456789abcdef0123456789")
    stranger = os.environ | {"LOADSTONE_JOIN_TOKEN": "abcdef0123456789abcdef0123"}
    words = command("run", "static", "--rate", "200", *WINDOW, "--no-report", "--drivers", "2", "--join-at", address)
    join = [find_driver(), "join", address]
    lab = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_for_leader(tmp_path)
        refused = subprocess.run(join, capture_output=True, text=True, env=stranger, timeout=60, check=False)
        assert refused.returncode == 2
        assert "does not know the token" in refused.stderr
        assert subprocess.run(join, capture_output=True, timeout=60, check=False).returncode == 0
        said, errors = lab.communicate(timeout=LONGEST_S)
        assert broken_rules(newest(tmp_path)) == [], said + errors
    finally:
        lab.kill()
        lab.communicate()
    events = read_events(newest(tmp_path), "static")
    start = next(event for event in events if event["event"] == "start")
    totals = next(event for event in events if event["event"] == "totals")
    assert (start["drivers"], len(totals["cpu"]["threads"])) == (2, 2)
    verdict = json.loads((newest(tmp_path) / "verdict.json").read_text())
    checks = {one["rule"]: one for one in verdict["workloads"][0]["iterations"][0]["checks"]}
    assert 0 < checks["skew of the drivers' starts"]["figure"] < 200  # milliseconds
    page = totals["operations"][0]
    assert page["response"]["count"] == page["counts"]["requests"]
    # Each arrival asks for a page. A driver that stands still lets 32 in at a time, which may come too late to ask.
    begun = page["counts"]["requests"] + page["tally"]["cut_at_end"]
    assert 0 <= totals["sessions"]["due"] - begun <= 2 * 32


@pytest.mark.slow("a program")
def test_a_driver_that_waits_for_others_can_be_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOADSTONE_JOIN_TOKEN", raising=False)
    words = ["run", "static", "--rate", "5", "--drivers", "2", "--join-at", f"127.0.0.1:{find_free_port()}"]
    process = subprocess.Popen(command(*words), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_leader(tmp_path)
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate(timeout=LONGEST_S)
    assert process.returncode == 130, said + errors
    shown = re.search(r"LOADSTONE_JOIN_TOKEN=(\S+)", errors)
    assert shown is not None
    kept = [path for path in (tmp_path / "results").rglob("*") if path.is_file()]
    assert not any(shown[1].encode() in path.read_bytes() for path in kept)


@pytest.mark.slow("a program, and three seconds of silence")
@pytest.mark.parametrize("who", ["member", "leader"])
def test_a_driver_that_hangs_is_given_up(who: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped in the midst of the run: it neither speaks nor ends."""
    address = f"127.0.0.1:{find_free_port()}"
    monkeypatch.setenv("LOADSTONE_JOIN_TOKEN", "0123456789abcdef0123456789")
    words = ["run", "static", "--rate", "20", *WINDOW, "--steady", "60", "--no-report", "--drivers", "2"]
    words += ["--join-at", address]
    lab = subprocess.Popen(command(*words), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_leader(tmp_path)
    joiner = subprocess.Popen([find_driver(), "join", address], stderr=subprocess.PIPE, text=True)
    stopped = 0
    try:
        records = "results/*/runs/static-1/events.jsonl"
        wait_until(
            lambda: any(record.read_text().count('"interval"') >= 2 for record in tmp_path.glob(records)),
            "two intervals",
        )
        leader = list_processes_below(lab.pid, "--joining")[0]
        stopped = joiner.pid if who == "member" else leader.pid
        os.kill(stopped, signal.SIGSTOP)
        if who == "member":
            said, errors = lab.communicate(timeout=LONGEST_S)
            assert lab.returncode == 3, said + errors
            assert "it sent nothing for 3 s" in said + errors
        else:
            assert joiner.wait(timeout=LONGEST_S) == 130
    finally:
        if stopped:
            os.kill(stopped, signal.SIGCONT)
        for process in (joiner, lab):
            process.send_signal(signal.SIGINT)
            process.wait(timeout=LONGEST_S)


@pytest.mark.parametrize("waits_for", ["joiner", "mail"])
def test_a_driver_ends_when_nobody_reads_its_events(waits_for: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its starter was killed while it waited for another driver, or for the answer of a mail server."""
    monkeypatch.setenv("LOADSTONE_JOIN_TOKEN", "0123456789abcdef0123456789")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        target = Target.parse([f"http://127.0.0.1:{silent.getsockname()[1]}"], None, False)
        workload = WorkloadLoad(load_workload(waits_for if waits_for == "mail" else "static"), Population(1), (target,))
        plan = make_plan([workload], Timing(Phases(0, 0, 1, 0)))
        waiting = ("--listen", f"127.0.0.1:{find_free_port()}", "--joining", "1") if waits_for == "joiner" else ()
        driver = subprocess.Popen(
            [find_driver(), "run", "--await-start", *waiting],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert driver.stdin and driver.stdout and driver.stderr
        driver.stdin.write(json.dumps(plan).encode() + b"\n")
        driver.stdin.flush()
        connection = silent.accept()[0] if waits_for == "mail" else None
        try:
            if connection is None:
                assert b"waiting" in driver.stderr.readline()
            driver.stdin.close()
            driver.stdout.close()
            assert driver.wait(timeout=LONGEST_S) == 130
        finally:
            driver.kill()
            driver.wait()
            driver.stderr.close()


def read_wires(result: Path) -> ConnectionStats:
    """Reads what passed on the connections of a run."""
    return read_result(result).workloads[0].iterations[0].figures.connections


@pytest.mark.slow("a run")
def test_http2_is_spoken_over_one_connection(loadstone_here: LoadstoneRunner, tmp_path: Path) -> None:
    one_page(tmp_path / "two", 'protocol = "http2"\nparallel = 4', "operations_per_session = 5")
    text = (tmp_path / "two" / "workload.toml").read_text()
    images = ", ".join('{ path = "/bank/static/43.gif", bytes = 43 }' for _ in range(8))
    (tmp_path / "two" / "workload.toml").write_text(f"{text}tls = true\nembedded = [{images}]\n")
    words = ("run", "./two", "--sessions", "5", *WINDOW)
    run_until(loadstone_here, tmp_path, lambda result: read_wires(result).http_requests > 100, *words)
    assert rows(report(tmp_path))["page"]["errors"] == 0
    assert read_wires(newest(tmp_path)).connections <= 5


def good_so_far(address: str) -> float:
    """Good operations that a run under way reports; none before it does."""
    try:
        text = urllib.request.urlopen(f"http://{address}/metrics", timeout=60).read().decode()
    except OSError:
        return 0.0
    return next((float(line.split()[-1]) for line in text.splitlines() if 'grade="good"' in line), 0.0)


@pytest.mark.slow("a program")
def test_live_figures_are_served_and_kept_in_other_forms(loadstone_here: LoadstoneRunner, tmp_path: Path) -> None:
    address = f"127.0.0.1:{find_free_port()}"
    words = ["run", "static", "--sessions", "4", *WINDOW, "--steady", "300", "--prometheus", address, "--no-report"]
    process = subprocess.Popen(command(*words), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        wait_until(lambda: good_so_far(address) > 100, "a hundred good operations")
        count = good_so_far(address)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LONGEST_S)
    assert process.returncode == 130
    assert loadstone_here("export", "latest", "--format", "parquet", "-o", "series.parquet").returncode == 0
    series = parquet.read_table(tmp_path / "series.parquet").to_pylist()
    lines = loadstone_here("export", "latest", "--format", "csv").stdout.splitlines()
    assert len(series) == len(lines) - 1
    assert sum(row["requests"] for row in series) >= count
