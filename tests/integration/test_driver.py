"""The driver's other sides for real: arrivals, side by side, several drivers, HTTP/2, and stalls against theory."""

import asyncio
import json
import os
import re
import signal
import subprocess
import time
import urllib.request
from itertools import groupby
from pathlib import Path

import psutil
import pyarrow.parquet as parquet
import pytest
from benches.theory import closed_stall_s, open_stall_s

from loadstone.host.http import free_port
from loadstone.host.programs import driver
from loadstone.model.figures import IterationFigures
from loadstone.model.load import Arrivals, Load, Population
from loadstone.model.profile import Phases
from loadstone.run.executor import DriverJob, Executor
from loadstone.run.plan import Part, Timing, make_plan
from loadstone.store.folder import RunFolder
from loadstone.store.read import read_iteration
from loadstone.testbed import Testbed
from loadstone.workloads import load as load_workload
from tests.integration.conftest import LoadstoneRunner, command, newest, report, rows

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
    plan = make_plan([Part(load_workload(str(workload)), load, testbed.targets)], Timing(phases))
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


@pytest.mark.parametrize("model", ["open", "closed"])
def test_a_stall_shows_at_the_percentile_that_theory_gives(model: str, testbed: Testbed, tmp_path: Path) -> None:
    seconds, sessions, think_s = 10.0, 50, 0.1
    if model == "open":
        workload = one_page(tmp_path / "page", "", "operations_per_session = 1")
        load: Load = Arrivals((500.0,))
    else:
        workload, load = one_page(tmp_path / "page", "", think_s=think_s), Population(sessions)
    figures, stall_s = play(testbed, workload, load, Phases(0.5, 0.5, seconds, 1), freeze=True)
    theory_s = (
        open_stall_s(seconds, stall_s, 0.999)
        if model == "open"
        else closed_stall_s(sessions, think_s, seconds, stall_s, 0.999)
    )
    assert figures.response.at(99.9) == pytest.approx(theory_s, rel=0.05)
    assert sum(sum(operation.errors.values()) for operation in figures.operations) == 0


def test_arrivals_at_a_rate_are_judged_by_their_rate(loadstone: LoadstoneRunner, tmp_path: Path) -> None:
    done = loadstone("run", "static", "--rate", "100,300", "--arrivals", "constant", "--profile", "demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "100, then 300 arrivals/s (constant)" in " ".join(done.stdout.split())
    content = report(tmp_path)
    checks = {check["rule"]: check for check in content["workloads"][0]["iterations"][0]["verdict"]["checks"]}
    assert checks["sessions begun of those due"]["outcome"] == "kept"
    assert 1780 <= rows(content)["page"]["requests"] <= 1800  # 4.5 s of each


def test_a_number_of_sessions_grows_and_shrinks_as_declared(loadstone: LoadstoneRunner, tmp_path: Path) -> None:
    words = ["--sessions", "20,60,20", "--profile", "demo", "--results", "results"]
    done = loadstone("run", "support", *words)
    assert done.returncode in (0, 1, 3), done.stdout + done.stderr  # as fast as the machine is
    assert "20, then 60, then 20 sessions" in " ".join(done.stdout.split())
    events = [json.loads(line) for line in (newest(tmp_path) / "runs" / "support-1" / "events.jsonl").open()]
    steady = [one["sessions_active"] for one in events if one["event"] == "interval" and one["phase"] == "steady"]
    steps = [count for count, _ in groupby(steady)]
    assert steps[0] == 20 and max(steps) == 60
    assert min(steady[-2:]) <= 40, "those who leave end what they are at"
    begun = next(one for one in events if one["event"] == "totals")["sessions"]["begun"]
    assert begun >= 40
    refused = loadstone("simulate", "support", "--sessions", "20-60")
    assert refused.returncode == 2


def test_a_trace_is_played_as_it_is(loadstone: LoadstoneRunner, tmp_path: Path) -> None:
    (tmp_path / "trace.txt").write_text("".join(f"{number / 50}\n" for number in range(400)))
    done = loadstone("run", "static", "--trace", "trace.txt", "--profile", "demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert rows(report(tmp_path))["page"]["requests"] == 400


def test_workloads_side_by_side_have_a_verdict_each(loadstone: LoadstoneRunner, tmp_path: Path) -> None:
    (tmp_path / "mixed.toml").write_text(
        '[study]\ntogether = true\n[[load]]\nworkload = "static"\nrate = 50\n'
        '[[load]]\nworkload = "support"\nsessions = 150\n'
        '[profile]\nname = "demo"\n[driver]\nlag_share_pct = 20\n'
    )
    begun = time.monotonic()
    done = loadstone("run", "mixed.toml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert time.monotonic() - begun < 26  # one after the other they would take 28 s
    verdicts = {one["terms"]["workload"]: one for one in report(tmp_path)["workloads"]}
    assert set(verdicts) == {"static", "support"}
    assert all(one["verdict"]["verdict"] == "pass" for one in verdicts.values())
    assert verdicts["static"]["terms"]["lag_share"] == 0.2
    for name in verdicts:
        lines = (newest(tmp_path) / "runs" / f"{name}-1" / "events.jsonl").read_text().splitlines()
        assert {event.get("part") for event in map(json.loads, lines)} == {None, name}


def test_drivers_join_and_are_one_record(
    loadstone: LoadstoneRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"127.0.0.1:{free_port()}"
    monkeypatch.setenv("LOADSTONE_JOIN_TOKEN", "0123456789abcdef0123456789")
    stranger = os.environ | {"LOADSTONE_JOIN_TOKEN": "abcdef0123456789abcdef0123"}
    refused = subprocess.Popen([driver(), "join", address], stderr=subprocess.PIPE, text=True, env=stranger)
    joiner = subprocess.Popen([driver(), "join", address], stderr=subprocess.PIPE, text=True)
    try:
        done = loadstone("run", "static", "--rate", "200", "--profile", "demo", "--drivers", "2", "--join-at", address)
        assert done.returncode in (0, 3), done.stdout + done.stderr  # other load may make its drivers late
        assert joiner.wait(timeout=10) == 0
        assert refused.wait(timeout=10) == 2
        assert refused.stderr is not None
        said = refused.stderr.read()  # who comes once all have joined finds nobody
        assert "does not know the token" in said or "nobody leads" in said
    finally:
        for process in (joiner, refused):
            process.kill()
            process.wait()
    events = [json.loads(line) for line in (newest(tmp_path) / "runs/static-1/events.jsonl").open()]
    start = next(event for event in events if event["event"] == "start")
    totals = next(event for event in events if event["event"] == "totals")
    assert (start["drivers"], len(totals["cpu"]["threads"])) == (2, 2)
    verdict = json.loads((newest(tmp_path) / "verdict.json").read_text())
    checks = {one["rule"]: one for one in verdict["workloads"][0]["iterations"][0]["checks"]}
    assert 0 < checks["drivers' starts apart"]["figure"] < 20
    counts = totals["operations"][0]
    assert counts["response"]["count"] == counts["counts"]["requests"]
    assert abs(counts["counts"]["requests"] - totals["sessions"]["due"]) <= 2


def test_a_driver_that_waits_for_others_can_be_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOADSTONE_JOIN_TOKEN", raising=False)
    words = ["run", "static", "--rate", "5", "--drivers", "2", "--join-at", f"127.0.0.1:{free_port()}"]
    process = subprocess.Popen(command(*words), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    log = None
    for _ in range(600):
        time.sleep(0.1)
        log = next((tmp_path / "results").glob("*/runs/static-1/driver.log"), None)
        if log is not None and "waiting" in log.read_text():
            break
    assert log is not None
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate(timeout=20)
    assert process.returncode == 130, said + errors
    shown = re.search(r"LOADSTONE_JOIN_TOKEN=(\S+)", errors)
    assert shown is not None
    kept = [path for path in (tmp_path / "results").rglob("*") if path.is_file()]
    assert not any(shown[1].encode() in path.read_bytes() for path in kept)


@pytest.mark.parametrize("who", ["member", "leader"])
def test_a_driver_that_hangs_is_given_up(
    who: str, loadstone: LoadstoneRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped in the midst of the run: it neither speaks nor ends."""
    address = f"127.0.0.1:{free_port()}"
    monkeypatch.setenv("LOADSTONE_JOIN_TOKEN", "0123456789abcdef0123456789")
    words = [
        "run",
        "static",
        "--rate",
        "20",
        "--profile",
        "demo",
        "--steady",
        "60",
        "--drivers",
        "2",
        "--join-at",
        address,
    ]
    joiner = subprocess.Popen([driver(), "join", address], stderr=subprocess.PIPE, text=True)
    lab = subprocess.Popen(command(*words), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    stopped = 0
    try:
        for _ in range(300):
            time.sleep(0.1)
            record = next((tmp_path / "results").glob("*/runs/static-1/events.jsonl"), None)
            if record is not None and record.read_text().count('"interval"') >= 2:
                break
        leader = next(one for one in psutil.Process(lab.pid).children(recursive=True) if "--joining" in one.cmdline())
        stopped = joiner.pid if who == "member" else leader.pid
        os.kill(stopped, signal.SIGSTOP)
        if who == "member":
            said, errors = lab.communicate(timeout=15)
            assert lab.returncode == 3, said + errors
            assert "it was silent for 3 s" in said + errors
        else:
            assert joiner.wait(timeout=8) == 130
    finally:
        if stopped:
            os.kill(stopped, signal.SIGCONT)
        for process in (joiner, lab):
            process.send_signal(signal.SIGINT)
            process.wait(timeout=20)


def test_http2_is_spoken_over_one_connection(loadstone: LoadstoneRunner, tmp_path: Path) -> None:
    one_page(tmp_path / "two", 'protocol = "http2"\nparallel = 4', "operations_per_session = 5")
    text = (tmp_path / "two" / "workload.toml").read_text()
    images = ", ".join('{ path = "/bank/static/43.gif", bytes = 43 }' for _ in range(8))
    (tmp_path / "two" / "workload.toml").write_text(f"{text}tls = true\nembedded = [{images}]\n")
    loadstone("run", "./two", "--sessions", "5", "--profile", "demo")
    iteration = report(tmp_path)["workloads"][0]["iterations"][0]
    assert rows(report(tmp_path))["page"]["errors"] == 0
    assert iteration["wires"]["http_requests"] > 1000
    assert iteration["wires"]["connections"] <= 5


def good_so_far(address: str) -> float:
    """Good operations that a run under way tells of; none before it does."""
    try:
        text = urllib.request.urlopen(f"http://{address}/metrics", timeout=5).read().decode()
    except OSError:
        return 0.0
    return next((float(line.split()[-1]) for line in text.splitlines() if 'grade="good"' in line), 0.0)


def test_live_figures_are_served_and_kept_in_other_forms(loadstone: LoadstoneRunner, tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    words = ["run", "static", "--sessions", "4", "--profile", "demo", "--prometheus", address]
    process = subprocess.Popen(command(*words), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    count = 0.0
    while count <= 100 and process.poll() is None:
        time.sleep(0.1)
        count = max(count, good_so_far(address))
    assert process.wait(timeout=60) == 0
    assert count > 100
    assert loadstone("export", "latest", "--format", "parquet", "-o", "series.parquet").returncode == 0
    series = parquet.read_table(tmp_path / "series.parquet").to_pylist()
    lines = loadstone("export", "latest", "--format", "csv").stdout.splitlines()
    assert len(series) == len(lines) - 1
    assert sum(row["requests"] for row in series) >= count
