"""Real runs against the reference server: bytes, times, checks, exit codes, and what an early end leaves."""

import contextlib
import csv
import json
import signal
import socket
import subprocess
import threading
import time
from functools import partial
from pathlib import Path
from statistics import median

import psutil
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

from loadstone.workloads import load
from loadstone.workloads.shares import compute_shares
from tests.integration.conftest import (
    LONGER_S,
    Json,
    LoadstoneRunner,
    command,
    is_alive,
    newest,
    page,
    report,
    require_requests,
    rows,
    run_command,
    run_until,
    wait_until,
)
from tests.processes import list_processes_below, read_name
from tests.verdicts import WINDOW, broken_rules
from tests.waiting import LONGEST_S

pytestmark = pytest.mark.integration


def hurried(workload: str, folder: Path, has_lines: bool) -> None:
    """Writes a copy of a shipped workload whose users hardly pause, on fast lines or its own."""
    text = (load(workload).folder / "workload.toml").read_text()
    lines = [line for line in text.splitlines() if has_lines or "bytes_per_s = " not in line or "limit" in line]
    hurry = "\n".join(lines).replace("mean_s = 10\n", "mean_s = 0.05\n").replace("mean_s = 5\n", "mean_s = 0.05\n")
    assert hurry.count("mean_s = 0.05") == 1
    (folder / workload).mkdir()
    (folder / workload / "workload.toml").write_text(hurry)


SITES = ("banking", "shopping", "support")
SESSIONS = 20


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Json:
    """The report of one run of all three sites, by hurried users; those of the bank have the lines of the workload."""
    folder = tmp_path_factory.mktemp("sites")
    for name in SITES:
        hurried(name, folder, has_lines=name == "banking")
    has_requests = require_requests(SESSIONS + 1)

    def is_seen(result: Path) -> bool:
        if not has_requests(result):
            return False
        bank = read_iterations(folder)["banking"]
        delays, rules = list_delays(bank), {check["rule"] for check in bank["verdict"]["checks"]}
        is_quick = bool(delays) and median(delays) <= MOST_DELAY_S
        return is_quick and bank["wires"]["handshakes_full"] > 0 and "conditional requests honoured" in rules

    words = ("run", *(f"./{name}" for name in SITES), "--together", "--sessions", str(SESSIONS), *WINDOW)
    done = run_until(partial(run_command, folder), folder, is_seen, *words)
    assert "validation errors" not in done.stdout, done.stdout + done.stderr
    assert broken_rules(newest(folder)) == []
    return read_iterations(folder)


def read_iterations(folder: Path) -> Json:
    """Reads the iteration of each site in the report of the newest run."""
    return {one["terms"]["workload"]: one["iterations"][0] for one in report(folder)["workloads"]}


def list_timed_pages(bank: Json) -> list[Json]:
    """Lists the operations with pages that began and ended in the steady state, whose lines have a known time."""
    return [row for row in bank["operations"] if row["server_delay_s"] is not None and row["name"] != "Total"]


MOST_DELAY_S = 1.0
"""Median time of a page beyond that of its line on a busy host; `make test-all` asks for 20 ms on a quiet one."""


def list_delays(bank: Json) -> list[float]:
    """Lists the times in seconds by which pages of each operation took longer than their lines."""
    return [row["server_delay_s"] for row in list_timed_pages(bank)]


@pytest.mark.parametrize("workload", SITES)
def test_every_page_of_every_site_is_answered_with_its_published_bytes(workload: str, sites: Json) -> None:
    operations = {row["name"]: row for row in sites[workload]["operations"]}
    total = operations.pop("Total")
    assert total["errors"] == 0
    due = {name: share * total["requests"] for name, share in compute_shares(load(workload)).operations.items()}
    assert [name for name, count in due.items() if count >= 20 and not operations[name]["requests"]] == []
    for name, row in operations.items():
        if row["requests"] >= 50 and name != "download":
            # Some have several lengths, of which chance takes these or those; `make test-all` has enough of them.
            slack = 0.2 if name in ("check_image", "check_front", "check_back", "productdetail", "login") else 0.03
            assert row["mean_bytes"] == pytest.approx(row["published_bytes"], rel=slack), name


def test_pages_of_the_bank_take_as_long_as_its_lines(sites: Json) -> None:
    # Both means are of the pages that began and ended in the steady state; none of an operation may have.
    rows = list_timed_pages(sites["banking"])
    assert [row["name"] for row in rows if row["server_delay_s"] < -0.1 * row["line_s"]] == []
    assert median(list_delays(sites["banking"])) <= MOST_DELAY_S


def test_sessions_of_the_bank_resume_their_connections_and_what_is_known_is_not_sent_again(sites: Json) -> None:
    wires = sites["banking"]["wires"]
    # One of each in a login session; those under way at either end of the window have but one in it.
    assert abs(wires["handshakes_full"] - wires["handshakes_resumed"]) <= SESSIONS
    rules = {rule["rule"]: rule for rule in sites["banking"]["verdict"]["checks"]}
    assert rules["conditional requests honoured"]["figure"] == 100


def one_page(folder: Path) -> Path:
    """A workload of one page, whose users wait twelve seconds for it."""
    folder.mkdir()
    (folder / "workload.toml").write_text(
        '[workload]\nname = "page"\ntitle = "One page"\n[pacing]\nkind = "think"\nmean_s = 0.1\n'
        "[connections]\nparallel = 1\nkept_between_users = true\n[limits]\ngood_s = 1\ntolerable_s = 2\n"
        '[mix]\nkind = "flat"\nshares = { page = 1 }\n[operations.page]\npath = "/"\ntimeout_s = 12\n'
    )
    return folder


class Mute(threading.Thread):
    """A server that takes requests and answers none but the first; ends with its socket."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.held: list[socket.socket] = []

    def run(self) -> None:
        with contextlib.suppress(OSError):
            self.greet()
            while True:
                self.held.append(self.socket.accept()[0])

    def greet(self) -> None:
        with self.socket.accept()[0] as first:
            first.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


class Gone(Mute):
    """A server that is gone after its first answer."""

    def run(self) -> None:
        self.greet()
        self.socket.close()


@pytest.mark.slow("a run")
def test_a_server_that_never_answers_does_not_pass(loadstone_here: LoadstoneRunner, tmp_path: Path) -> None:
    server = Mute()
    server.start()
    one_page(tmp_path / "page")
    target = f"http://127.0.0.1:{server.socket.getsockname()[1]}"
    # A stop of five seconds leaves time enough to wait in vain.
    done = loadstone_here("run", "./page", "--sessions", "10", *WINDOW, "--steady", "8", "--target", target)
    server.socket.close()
    assert done.returncode != 0, done.stdout + done.stderr
    overdue = rows(report(tmp_path))["page"]["overdue"]
    assert 8 <= overdue <= 10  # all that could still begin
    assert f"{overdue} overdue at the end" in done.stdout


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(command(*words), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(folder: Path, text: str) -> Path:
    """Waits until the driver has written an event of some kind; returns the result folder."""
    files = "results/*/runs/*/events.jsonl"
    wait_until(lambda: any(text in file.read_text() for file in folder.glob(files)), text)
    return newest(folder)


def children(pid: int) -> list[int]:
    return [process.pid for process in list_processes_below(pid)]


LONG = ("--profile", "brief", "--steady", "60", "--results", "results")


@pytest.mark.slow("two programs, each interrupted")
def test_an_interruption_keeps_what_was_measured_and_leaves_no_process(tmp_path: Path) -> None:
    """By the two signals that people and systems send; tests/unit/run/test_signals.py has all four."""
    endings = {signal.SIGINT: "--report", signal.SIGTERM: "--no-report"}
    for ending, option in endings.items():
        folder = tmp_path / ending.name
        folder.mkdir()
        process = start(folder, "run", "banking", "--sessions", "50", option, *LONG)
        result = wait_for(folder, '"interval"')
        family = children(process.pid)
        assert len(family) >= 3
        process.send_signal(ending)
        out, errors = process.communicate(timeout=LONGEST_S)
        assert process.returncode == 130, out + errors
        assert json.loads((result / "manifest.json").read_text())["status"] == "interrupted"
        assert '"totals"' in (result / "runs" / "banking-1" / "events.jsonl").read_text()
        assert not [pid for pid in family if is_alive(pid)]
    assert "interrupted" in (newest(tmp_path / "SIGINT") / "report.html").read_text()


@pytest.mark.slow("a program and its report")
@pytest.mark.parametrize("victim", ["loadstone-driver", "loadstone-server"])
def test_a_program_that_dies_leaves_a_readable_result(victim: str, tmp_path: Path) -> None:
    process = start(tmp_path, "run", "support", "--sessions", "20", "--no-report", *LONG)
    result = wait_for(tmp_path, '"interval"')
    family = list_processes_below(process.pid)
    next(member for member in family if read_name(member).startswith(victim)).kill()
    out, errors = process.communicate(timeout=LONGEST_S)
    assert process.returncode == 3, out + errors
    manifest = json.loads((result / "manifest.json").read_text())
    assert manifest["status"] == "failed"
    assert "SIGKILL" in manifest["reason"]
    assert "SIGKILL" in page(tmp_path)
    assert not [member for member in family if member.is_running()]


@pytest.mark.slow("a program")
def test_nothing_outlives_a_killed_program(tmp_path: Path) -> None:
    process = start(tmp_path, "run", "support", "--sessions", "5", *LONG)
    wait_for(tmp_path, '"interval"')
    family = children(process.pid)
    process.kill()
    process.communicate()
    wait_until(lambda: not any(map(is_alive, family)), "everything below it is gone")


@pytest.mark.slow("a run")
def test_a_target_that_is_gone_fails_by_name(loadstone_here: LoadstoneRunner, tmp_path: Path) -> None:
    server = Gone()
    target = f"http://127.0.0.1:{server.socket.getsockname()[1]}"
    server.start()
    done = loadstone_here("run", "support", "--sessions", "20", "--target", target, *WINDOW, "--steady", "8")
    assert done.returncode != 0, done.stdout + done.stderr
    assert "operations without an answer: 100 %" in done.stdout
    kinds = report(tmp_path)["workloads"][0]["iterations"][0]["errors"]
    assert any("refused" in kind for kind in kinds)


@pytest.mark.slow("several exports of a run")
def test_results_are_listed_and_reported_in_every_form(loadstone_here: LoadstoneRunner, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(
        '[study]\nname = "small"\n[[load]]\nworkload = "support"\nsessions = 600\n'
        "[profile]\nramp_up_s = 1\nwarm_up_s = 0\nsteady_s = 3\nramp_down_s = 0\n"
    )
    done = loadstone_here("run", "small.toml", "--results", "results")
    assert broken_rules(newest(tmp_path)) == [], done.stdout + done.stderr
    verdict = json.loads((newest(tmp_path) / "verdict.json").read_text())["workloads"][0]["verdict"]
    listed = json.loads(loadstone_here("results", "--json").stdout)
    assert [one["workloads"]["support"]["verdict"] for one in listed] == [verdict]
    assert "small" in loadstone_here("results").stdout
    for form in ("html", "md", "json"):
        assert loadstone_here("report", "latest", "--format", form, "-o", f"out.{form}").returncode == 0
        text = (tmp_path / f"out.{form}").read_text()
        assert all(word in text for word in ("small", "support", verdict, "validation errors")), form
    kept = report(tmp_path)["workloads"][0]["iterations"][0]["operations"][-1]
    summary = json.loads(loadstone_here("export", "latest", "--format", "k6").stdout)["metrics"]
    assert "http_reqs" not in summary  # what is counted are pages with their files
    headline = json.loads((newest(tmp_path) / "verdict.json").read_text())["workloads"][0]["iterations"][0]["headline"]
    assert summary["operations"]["rate"] == pytest.approx(headline["per_s"])
    longest_ms = None if kept["max_s"] is None else pytest.approx(1000 * kept["max_s"])
    assert summary["group_duration"].get("max") == longest_ms
    series = list(csv.DictReader(loadstone_here("export", "latest", "--format", "csv").stdout.splitlines()))
    assert [row["phase"] for row in series] == ["ramp_up", "steady", "steady", "steady"]
    assert loadstone_here("export", "latest", "--format", "hlog", "-o", "out.hlog").returncode == 0
    intervals = HistogramLogReader(str(tmp_path / "out.hlog"), HdrHistogram(1, 600_000_000, 3))
    counted = 0
    while (interval := intervals.get_next_interval_histogram()) is not None:
        counted += interval.get_total_count() if interval.get_tag() == "response" else 0
    assert counted == sum(int(row["requests"]) for row in series)
    assert loadstone_here("export", "latest", "--format", "csv", "--run", "nobody-1").returncode == 2


def test_a_short_run_plays_the_whole_workload(loadstone_here: LoadstoneRunner, tmp_path: Path) -> None:
    """From cart to confirmation 18.5 % are due, of visits of two minutes; the run lasts a tenth of one. In virtual time
    a seed gives the same operations each time.
    """
    words = ("--sessions", "300", "--profile", "demo", "--virtual", "--station", "workers=8,service=0.002")
    done = loadstone_here("run", "shopping", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    (iteration,) = report(tmp_path)["workloads"][0]["iterations"]
    ended = {row["name"]: row["requests"] + row["cut_at_start"] for row in iteration["operations"]}
    bought = sum(ended[name] for name in ("cart", "login", "shipping", "billing", "confirm"))
    # About 240 operations: standard error 2.5 points.
    assert 100 * bought / ended["Total"] == pytest.approx(18.5, abs=8)
    judged = {check["id"]: check["outcome"] for check in iteration["verdict"]["checks"]}
    assert judged["shares"] == "kept"


@pytest.mark.slow("a program")
def test_a_driver_that_was_stopped_is_named(tmp_path: Path) -> None:
    """Stopped for 0.8 seconds of a run of four: few operations are late, and the run is invalid."""
    words = ("run", "static", "--sessions", "200", "--no-report", *WINDOW, "--results", "results")
    for seconds in (3, *LONGER_S):
        folder = tmp_path / f"in-{seconds}-s"
        folder.mkdir()
        running = start(folder, *words, "--steady", str(seconds))
        is_within = stop_driver(running.pid, wait_for(folder, '"steady"'))
        out, _ = running.communicate(timeout=LONGEST_S)
        if is_within:
            break
    assert running.returncode == 3, out
    assert "longest time the driver did not run" in out


def stop_driver(pid: int, result: Path) -> bool:
    """Stops the driver of a run for 0.8 seconds; returns whether that was over before its steady state was."""
    with contextlib.suppress(psutil.NoSuchProcess):
        for driver in (process for process in list_processes_below(pid) if "driver" in read_name(process)):
            driver.suspend()
            time.sleep(0.8)
            driver.resume()
            time.sleep(0.1)  # it may have to say that the steady state is over
    return "ramp_down" not in (result / "runs" / "static-1" / "events.jsonl").read_text()
