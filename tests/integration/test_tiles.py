"""Tiles for real: six roles each, all loads at once, scored; and what happens when a part of them dies."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from playwright.sync_api import Browser

from loadstone.host.http import free_port
from loadstone.host.programs import server
from loadstone.judge.tiles import tiles_of
from loadstone.model.records.check import CheckId, Outcome
from loadstone.model.records.manifest import Status
from loadstone.model.records.verdict import Verdict
from loadstone.store.read import read_manifest, read_result, read_verdict
from tests.integration.conftest import LoadstoneRunner, command, newest

pytestmark = pytest.mark.integration
Json = dict[str, Any]
TINY = str(Path(__file__).parents[1] / "data" / "tiny-tile.toml")
ROLES = ("web", "infra", "app", "db", "mail", "idle")


def test_tiles_run_in_one_window_and_their_tables_are_complete(
    loadstone: LoadstoneRunner, tmp_path: Path, browser: Browser
) -> None:
    done = loadstone("tiles", "--tile", TINY, "--tiles", "3", "--last-fraction", "0.3", "--group", "disk=a,b")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "@ 18 machines" in done.stdout
    assert "not a SPEC result" in done.stdout
    result = newest(tmp_path)
    verdict = read_verdict(result)
    assert verdict is not None
    common = verdict.consolidation
    assert common is not None
    windows = next(check for check in common.checks if check.id is CheckId.WINDOWS_APART)
    assert windows.figure < 1
    assert "15 workloads" in windows.detail
    assert [tile.pct_load for tile in common.tiles] == [100, 100, 30]
    for tile in common.tiles:
        assert all(
            getattr(tile, name) > 0 for name in ("app", "web", "mail", "qos_app", "qos_web", "qos_mail", "qos_idle")
        )
    assert common.tiles[2].score < 0.6 * common.tiles[0].score
    assert {check.outcome for check in common.checks} == {Outcome.KEPT}
    rules = [check.rule for one in verdict.workloads for check in one.iterations[0].checks]
    assert (rules.count("orders held"), rules.count("work orders held"), rules.count("database rules broken")) == (
        3,
        3,
        6,
    )

    again = json.loads(loadstone("score", "consolidation", str(result), "--json").stdout)
    assert (again["score"], again["qos_pct"]) == (common.score, common.qos_pct)
    assert [tile["score"] for tile in again["tiles"]] == [tile.score for tile in common.tiles]
    other = json.loads(loadstone("score", "consolidation", str(result), "--json", "--maxima", "1,1,1").stdout)
    assert other["score"] > again["score"]

    page = browser.new_page()
    page.goto(f"file://{result}/report.html")
    assert [head.inner_text() for head in page.locator("h2").all()][:4] == [
        *("Performance", "Quality of service", "Tile by tile"),
        "Rules of the run as a whole",
    ]
    assert page.locator("figure", has_text="Heat map").locator("svg").count() == 1
    assert page.get_by_role("cell", name="tile3-db", exact=True).count() == 1
    assert page.get_by_text("This is not a SPEC result").count() == 1
    page.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
def test_downloads_may_come_from_a_folder_that_two_roles_share(loadstone: LoadstoneRunner, tmp_path: Path) -> None:
    done = loadstone("tiles", "--tile", TINY, "--last-fraction", "0.5", "--store", "nfs")
    assert done.returncode == 0, done.stdout + done.stderr
    manifest = read_manifest(newest(tmp_path))
    assert manifest.tile is not None
    assert manifest.tile.file_store == "folder of the infra role, by bind mounts on one kernel"


@pytest.mark.parametrize(
    ("database", "says"),
    [("postgresql", "database system is ready"), ("mariadb", "mariadbd: ready for connections")],
)
def test_real_services_bear_a_tile(database: str, says: str, loadstone: LoadstoneRunner, tmp_path: Path) -> None:
    done = loadstone("tiles", "--tile", TINY, "--database", database, "--imap", "dovecot")
    assert done.returncode == 0, done.stdout + done.stderr
    verdict = read_verdict(newest(tmp_path))
    assert verdict is not None
    assert {one.verdict for one in verdict.workloads} == {Verdict.PASS}
    assert (newest(tmp_path) / "logs" / "tile1-db.log").read_text().count(says) == 1


def test_power_is_measured_loaded_and_idle(loadstone: LoadstoneRunner, tmp_path: Path) -> None:
    (tmp_path / "power.csv").write_text("seconds,watts\n0,200\n17.5,80\n")
    zone = tmp_path / "powercap" / "intel-rapl:0"
    zone.mkdir(parents=True)
    for file, value in (("name", "package-0"), ("energy_uj", 5), ("max_energy_range_uj", 1_000_000)):
        (zone / file).write_text(f"{value}\n")
    meters = ("--power", "system=csv:power.csv", "--power", f"server=rapl:{zone.parent}")
    done = loadstone("tiles", "--tile", TINY, *meters)
    assert done.returncode == 0, done.stdout + done.stderr
    verdict = read_verdict(newest(tmp_path))
    assert verdict is not None
    assert verdict.consolidation is not None
    score, power = verdict.consolidation.score, verdict.consolidation.power
    assert [row.category.partition(",")[0] for row in power] == ["performance", *["performance per watt"] * 2]
    system = power[1]
    assert (system.loaded_w, system.idle_w) == (200, 80)
    assert system.score_per_w == pytest.approx(score / 200)
    assert power[2].loaded_w == 0  # its counter stands still
    polls = next(one for one in read_result(newest(tmp_path)).workloads if one.id.label == "tile1-poll")
    assert polls.criteria.sessions == len(ROLES)
    assert polls.iterations[0].figures.requests >= 4 * len(ROLES)
    assert "score a watt" in (newest(tmp_path) / "report.html").read_text()


@contextmanager
def tiles_under_way(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A run of one tile that has come to its load."""
    words = command("tiles", "--tile", TINY, "--steady", "60")
    running = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: any("warm_up" in file.read_text() for file in folder.glob("results/*/runs/*/events.jsonl")))
        yield running
    finally:
        running.kill()
        running.communicate()


def wait_for(what: Callable[[], object], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until
        time.sleep(0.2)


def process_of(running: subprocess.Popen[str], *words: str) -> int:
    """The process below a run whose command line has these words."""
    (found,) = [
        process.pid
        for process in psutil.Process(running.pid).children(recursive=True)
        if all(word in process.cmdline() for word in words)
    ]
    return found


@pytest.mark.parametrize("role", ROLES)
def test_a_killed_role_makes_the_run_invalid_with_its_name_and_time(tmp_path: Path, role: str) -> None:
    name = {"app": "dealership", "db": "database"}.get(role, role)
    with tiles_under_way(tmp_path) as running:
        os.kill(process_of(running, server(), name), signal.SIGKILL)
        out, _ = running.communicate(timeout=30)
    assert running.returncode == 3, out
    died_well(tmp_path, f"tile1-{role} (signal SIGKILL")


def test_a_killed_driver_makes_the_run_invalid_with_its_name_and_time(tmp_path: Path) -> None:
    with tiles_under_way(tmp_path) as running:
        drivers = [one for one in psutil.Process(running.pid).children() if "--await-start" in one.cmdline()]
        assert len(drivers) == 4
        os.kill(drivers[2].pid, signal.SIGKILL)
        running.communicate(timeout=30)
    assert running.returncode == 3
    died_well(tmp_path, "the driver of tile1-mail")


def died_well(folder: Path, who: str) -> None:
    """Marked with what happened and when, all other data kept and readable."""
    result = newest(folder)
    manifest, verdict = read_manifest(result), read_verdict(result)
    assert manifest.status is Status.FAILED
    assert who in manifest.reason
    assert "s after the first start" in manifest.reason
    assert verdict is not None
    assert verdict.consolidation is not None
    assert verdict.consolidation.verdict is Verdict.INVALID
    assert who in verdict.consolidation.reasons[0]
    for one in read_result(result).workloads:
        assert one.iterations[0].intervals, one.id.label
    assert who.partition(" (")[0] in (result / "report.html").read_text()
    (tile,) = tiles_of(read_result(result))
    assert tile.number == 1


def test_an_interrupted_run_is_kept_and_marked(tmp_path: Path) -> None:
    with tiles_under_way(tmp_path) as running:
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=30)
    assert running.returncode == 130
    manifest = read_manifest(newest(tmp_path))
    assert (manifest.status, "ended by a signal" in manifest.reason) == (Status.INTERRUPTED, True)


@pytest.mark.alone
def test_a_search_ends_by_itself_with_a_reason(loadstone: LoadstoneRunner, tmp_path: Path) -> None:
    done = loadstone("tiles", "search", "--tile", TINY, "--most-tiles", "2", "--name", "peak")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 tiles hold" in done.stdout
    assert "--most-tiles" in done.stdout
    answer = json.loads((newest(tmp_path) / "answer.json").read_text())
    assert [one["tenths"] for one in answer["parts"][0]["tried"]] == [10, 20]
    assert "How many tiles" in (newest(tmp_path) / "report.html").read_text()


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("--drop-every", "must be there"),
        ("--alter-every", "not as it was sent"),
        ("--miscount-every", "messages, "),
    ],
)
def test_a_mail_server_that_loses_alters_or_miscounts_is_caught(
    loadstone: LoadstoneRunner, tmp_path: Path, fault: str, said: str
) -> None:
    port = free_port()
    words = [server(), "mail", "--folder", str(tmp_path / "mail"), "--listen", f"127.0.0.1:{port}", fault, "7"]
    with subprocess.Popen([*words, "--until-stdin-ends"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as faulty:
        assert faulty.stdout is not None
        assert b"ready" in faulty.stdout.readline()
        target = f"http://127.0.0.1:{port}"
        done = loadstone("run", "mail", "--target", target, "--sessions", "60", "--profile", "demo")
        faulty.terminate()
    assert done.returncode == 1, done.stdout + done.stderr
    assert "validation errors" in done.stdout
    assert said in (newest(tmp_path) / "report.html").read_text()


def test_what_does_not_fit_is_said_before_anything_starts(loadstone: LoadstoneRunner, tmp_path: Path) -> None:
    for words, said in (
        (("--last-fraction", "0.25"), "0.1, 0.2"),
        (("--profile", "laptop"), "--tile laptop"),
        (("--tile", "big"), "There are classic, laptop"),
        (("--power", "rapl"), "server= or system="),
        (("--group", "numa"), "numa=0,1,0,1"),
        (("--machine", "mbit_per_s=10"), "A process has no `mbit_per_s`"),
    ):
        done = loadstone("tiles", *words)
        assert done.returncode == 2, done.stdout
        assert said in " ".join(done.stderr.split()), done.stderr
    assert not (tmp_path / "results").exists()
