"""Tiles for real: six roles each, all loads at once, scored; and what happens when a part of them dies."""

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from loadstone.host.http import find_free_port
from loadstone.host.programs import find_server
from loadstone.judge.tiles import list_tiles
from loadstone.measure.power import Replay
from loadstone.model.machine import MachineSpec
from loadstone.model.records.check import CheckId
from loadstone.model.records.result import WorkloadResult
from loadstone.model.records.status import Status
from loadstone.model.records.verdict import Verdict
from loadstone.run.tiles.spec import find_tile
from loadstone.store.read import read_manifest, read_result, read_verdict
from loadstone.store.study import read_answer
from loadstone.study.kinds.tiles import KIND
from loadstone.study.kinds.tiles.answer import TilesAnswer
from loadstone.study.kinds.tiles.question import TilesPeak
from loadstone.testbed.tiles import start_tiles
from tests.integration.conftest import (
    CHROMIUM,
    LONGER_S,
    NO_REPORT,
    OPTIONS,
    LoadstoneRunner,
    command,
    newest,
    page,
    report,
    require_requests,
    run_until,
    wait_until,
)
from tests.places import DATA
from tests.processes import list_processes_below
from tests.tiles import place_tiles
from tests.verdicts import WINDOW, broken_rules
from tests.waiting import LONGEST_S

pytestmark = pytest.mark.integration
ROLES = ("web", "infra", "app", "db", "mail", "idle")
SCORED = ("app", "web", "mail", "qos_app", "qos_web", "qos_mail", "qos_idle")
"""Figures of a tile's score."""
SHORT = ("--profile", "brief", "--steady", "4")


@pytest.fixture
def tile(tmp_path: Path) -> str:
    """The tile of the tests, with so many operations that four seconds hold some of each kind."""
    text = (DATA / "tiny-tile.toml").read_text()
    changes = (
        ("web_think_s = 2\n", "web_think_s = 0.5\n"),
        ("mail_users = 12\n", "mail_users = 60\n"),
        ("heartbeat_s = 2\n", "heartbeat_s = 1\n"),
    )
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    (tmp_path / "tile.toml").write_text(text)
    return "tile.toml"


@pytest.mark.slow("two tiles of six services each")
def test_tiles_run_in_one_window_and_their_tables_are_complete(
    tile: str, loadstone: LoadstoneRunner, loadstone_here: LoadstoneRunner, tmp_path: Path
) -> None:
    words = ("--tile", tile, "--tiles", "2", "--last-fraction", "0.3", "--group", "disk=a,b", *SHORT)

    def is_scored(result: Path) -> bool:
        verdict = read_verdict(result)
        if verdict is None or verdict.consolidation is None:
            return False
        whole, part = verdict.consolidation.tiles
        return (
            all(getattr(tile, name) > 0 for tile in (whole, part) for name in SCORED) and part.score < 0.8 * whole.score
        )

    options = ("--tag", "release=1.4", "--machine", "2.idle.pin=0")
    done = run_until(loadstone, tmp_path, is_scored, "tiles", *words, *options)
    assert "@ 12 machines" in done.stdout, done.stdout + done.stderr
    assert "not a SPEC result" in done.stdout
    result = newest(tmp_path)
    assert broken_rules(result) == []
    verdict = read_verdict(result)
    assert verdict is not None
    common = verdict.consolidation
    assert common is not None
    windows = next(check for check in common.checks if check.id is CheckId.WINDOWS_APART)
    assert windows.figure < 10
    assert "10 workloads" in windows.detail
    assert [tile.pct_load for tile in common.tiles] == [100, 30]
    rules = [check.rule for one in verdict.workloads for check in one.iterations[0].checks]
    assert (rules.count("orders stored"), rules.count("work orders stored"), rules.count("database rules broken")) == (
        2,
        2,
        4,
    )

    again = json.loads(loadstone_here("score", "consolidation", str(result), "--json").stdout)
    assert (again["score"], again["qos_pct"]) == (common.score, common.qos_pct)
    assert [tile["score"] for tile in again["tiles"]] == [tile.score for tile in common.tiles]
    other = json.loads(loadstone_here("score", "consolidation", str(result), "--json", "--maxima", "1,1,1").stdout)
    assert other["score"] > again["score"]
    manifest = read_manifest(result)
    assert (manifest.notes, manifest.placement["machines.2.idle"]) == ({"release": "1.4"}, {"pin": "0"})
    assert "idle of tile 2 on process, pin 0" in manifest.target
    page(tmp_path)
    _look_at_the_report(result / "report.html")


def _look_at_the_report(report: Path) -> None:
    with browser_at(report) as shown:
        assert [head.inner_text() for head in shown.locator("h2").all()][:4] == [
            *("Performance", "Quality of service", "Tile by tile"),
            "Rules of the run as a whole",
        ]
        assert shown.locator("figure", has_text="Heat map: tiles and workloads").locator("svg").count() == 1
        assert shown.get_by_role("cell", name="tile2-db", exact=True).count() == 1
        assert shown.get_by_text("This is not a SPEC result").count() == 1


@contextmanager
def browser_at(file: Path) -> Iterator[Page]:
    """A page of headless Chromium that shows a file."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        shown = browser.new_page()
        shown.goto(f"file://{file}")
        yield shown
        browser.close()


WEB_SOFTWARE = ("--service", "nginx-php", "--backend-service", "nginx-responder", "--store", "nfs")
SETTINGS = ("--set", "php.children=12", "--set", "tomcat.heap_mib=256", "--set", "postgresql.shared_buffers=32MB")
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")


@pytest.mark.slow("real software in all roles: Tomcat compiles the dealership")
@pytest.mark.parametrize(
    ("options", "says", "settings"),
    [
        pytest.param(
            ("--database", "postgresql", *WEB_SOFTWARE, *SETTINGS),
            "database system is ready",
            {"web": "php.children=12", "app": "tomcat.heap_mib=256", "db": "postgresql.shared_buffers=32MB"},
            marks=NEEDS_ROOT,
            id="postgresql",
        ),
        pytest.param(
            ("--database", "mariadb"),
            "mariadbd: ready for connections",
            {},
            marks=pytest.mark.combination,
            id="mariadb",
        ),
    ],
)
def test_real_services_bear_a_tile(
    options: tuple[str, ...],
    says: str,
    settings: dict[str, str],
    tile: str,
    loadstone_here: LoadstoneRunner,
    tmp_path: Path,
) -> None:
    words = ("tiles", "--tile", tile, "--app", "tomcat", "--imap", "dovecot", *options, *SHORT)
    done = run_until(loadstone_here, tmp_path, require_requests(1), *words)
    manifest = read_manifest(newest(tmp_path))
    assert manifest.status is Status.COMPLETE, done.stdout + done.stderr
    assert broken_rules(newest(tmp_path)) == []
    assert (newest(tmp_path) / "logs" / "tile1-db.log").read_text().count(says) == 1
    assert "Tomcat" in str(manifest.machines["tile1-app"].facts["software"])
    disclosed = {role: str(machine.facts.get("settings")) for role, machine in manifest.machines.items()}
    assert all(setting in disclosed[f"tile1-{role}"] for role, setting in settings.items())
    assert all(setting in page(tmp_path) for setting in settings.values())


@pytest.mark.slow("a phase of load and a phase of active idle")
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
def test_power_is_measured_loaded_and_idle_with_downloads_in_a_folder_that_two_roles_share(
    tile: str, loadstone_here: LoadstoneRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def watts_of_the_phase(table: Replay, at_s: float) -> float:
        """Takes the second row once the phase of active idle has begun, however long that took."""
        result = max(tmp_path.glob("results/*"), default=tmp_path)
        is_idle = (result / "runs" / "tile1-poll-1" / "events.jsonl").exists()
        return table.rows[is_idle][1]

    monkeypatch.setattr(Replay, "read_watts", watts_of_the_phase)
    (tmp_path / "power.csv").write_text("seconds,watts\n0,200\n10,80\n")
    zone = tmp_path / "powercap" / "intel-rapl:0"
    zone.mkdir(parents=True)
    for file, value in (("name", "package-0"), ("energy_uj", 5), ("max_energy_range_uj", 1_000_000)):
        (zone / file).write_text(f"{value}\n")
    meters = ("--power", "system=csv:power.csv", "--power", f"server=rapl:{zone.parent}")

    def is_read(result: Path) -> bool:
        verdict = read_verdict(result)
        if verdict is None or verdict.consolidation is None:
            return False
        _, system, server = verdict.consolidation.power
        watts = (system.loaded_w, system.idle_w, server.loaded_w)
        return None not in watts and find_polls(result).iterations[0].figures.requests >= 2 * len(ROLES)

    words = ("tiles", "--tile", tile, "--store", "nfs", *meters, *SHORT)
    done = run_until(loadstone_here, tmp_path, is_read, *words)
    assert broken_rules(newest(tmp_path)) == [], done.stdout + done.stderr
    manifest, verdict = read_manifest(newest(tmp_path)), read_verdict(newest(tmp_path))
    assert manifest.tile is not None
    assert manifest.tile.file_store == "folder of the infra role, by bind mounts on one kernel"
    assert verdict is not None
    assert verdict.consolidation is not None
    score, power = verdict.consolidation.score, verdict.consolidation.power
    assert [row.category.partition(",")[0] for row in power] == ["performance", *["performance per watt"] * 2]
    system = power[1]
    assert (system.loaded_w, system.idle_w) == (200, 80)
    assert system.score_per_w == pytest.approx(score / 200)
    assert power[2].loaded_w == 0  # its counter stands still
    assert find_polls(newest(tmp_path)).criteria.sessions == len(ROLES)
    assert "score a watt" in page(tmp_path)


def find_polls(result: Path) -> WorkloadResult:
    """Returns the heartbeats of the first tile."""
    return next(workload for workload in read_result(result).workloads if workload.id.label == "tile1-poll")


STARTS = 3
"""Attempts at most to start a tile, of which one is enough: a busy host may start a driver later than it was to."""


@contextmanager
def tiles_under_way(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A run of one tile, each workload of which has measured something."""
    words = command("tiles", "--tile", str(DATA / "tiny-tile.toml"), "--profile", "brief", "--steady", "60")
    environment = NO_REPORT | os.environ
    for _ in range(STARTS):
        with subprocess.Popen(
            words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        ) as running:
            try:
                wait_until(lambda: _count_measuring(folder) == 5 or running.poll() is not None, "five workloads")
                if running.poll() is None:
                    yield running
                    return
            finally:
                running.kill()
                _, errors = running.communicate()
    raise AssertionError(errors)


def _count_measuring(folder: Path) -> int:
    """Workloads of the newest run that have measured something."""
    results = sorted(folder.glob("results/*"))[-1:]
    return sum('"interval"' in file.read_text() for result in results for file in result.glob("runs/*/events.jsonl"))


def process_of(running: subprocess.Popen[str], *arguments: str) -> int:
    """The process below a run whose command line has these arguments."""
    (process,) = list_processes_below(running.pid, *arguments)
    return process.pid


def test_every_role_that_is_killed_is_named_with_its_signal(tmp_path: Path) -> None:
    system = place_tiles(find_tile(str(DATA / "tiny-tile.toml")), 1, MachineSpec())

    async def kill_in_turn() -> list[str]:
        """Returns who is named as dead after each kill."""
        named = []
        async with start_tiles(system, tmp_path) as up:
            processes = up.processes()
            for role in ROLES:
                os.kill(processes[f"tile1-{role}"], signal.SIGKILL)
                async with asyncio.timeout(60):
                    while f"tile1-{role} (signal SIGKILL" not in up.dead():
                        await asyncio.sleep(0.02)
                named.append(up.dead())
        return named

    named = asyncio.run(kill_in_turn())
    assert [dead.count("signal SIGKILL") for dead in named] == [1, 2, 3, 4, 5, 6]


@pytest.mark.slow("a tile comes up")
def test_a_killed_role_makes_the_run_invalid_with_its_name_and_time(tmp_path: Path) -> None:
    with tiles_under_way(tmp_path) as running:
        os.kill(process_of(running, find_server(), "dealership"), signal.SIGKILL)
        out, _ = running.communicate(timeout=LONGEST_S)
    assert running.returncode == 3, out
    died_well(tmp_path, "tile1-app (signal SIGKILL")


@pytest.mark.slow("a tile comes up")
def test_a_killed_driver_makes_the_run_invalid_with_its_name_and_time(tmp_path: Path) -> None:
    with tiles_under_way(tmp_path) as running:
        drivers = list_processes_below(running.pid, "--await-start", recursive=False)
        assert len(drivers) == 4
        os.kill(sorted(drivers, key=lambda driver: driver.create_time())[2].pid, signal.SIGKILL)
        running.communicate(timeout=LONGEST_S)
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
        assert one.iterations[0].records.intervals, one.id.label
    assert who.partition(" (")[0] in page(folder)
    (tile,) = list_tiles(read_result(result))
    assert tile.number == 1


@pytest.mark.slow("a tile comes up")
def test_a_fault_of_one_machine_of_a_tile_is_recorded_and_the_load_goes_on(
    tile: str, loadstone: LoadstoneRunner, tmp_path: Path
) -> None:
    words = ("tiles", "--tile", tile, *SHORT, "--fault", "mail:kill-primary@1")
    run_until(loadstone, tmp_path, lambda result: "not injected" not in str(read_manifest(result).faults), *words)
    result = newest(tmp_path)
    manifest = read_manifest(result)
    assert (manifest.status, manifest.troubles) == (Status.COMPLETE, ())
    assert manifest.faults == ("kill-primary of tile1-mail at 1 s of the steady state: injected",)
    faults = {workload.iterations[0].fault for workload in read_result(result).workloads}
    assert {fault.machine for fault in faults if fault is not None} == {"tile1-mail"}
    assert len(faults) == 1


@pytest.mark.slow("a tile comes up")
def test_an_interrupted_run_is_kept_and_marked(tmp_path: Path) -> None:
    with tiles_under_way(tmp_path) as running:
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=LONGEST_S)
    assert running.returncode == 130
    manifest = read_manifest(newest(tmp_path))
    assert (manifest.status, "ended by a signal" in manifest.reason) == (Status.INTERRUPTED, True)


@pytest.mark.slow("runs of one tile and of two")
def test_a_search_ends_by_itself_with_a_reason(tile: str, loadstone_here: LoadstoneRunner, tmp_path: Path) -> None:
    words = ("--tile", tile, "--most-tiles", "2", "--name", "peak", *SHORT)
    done = loadstone_here("tiles", "search", *words, has_report=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    answer = read_answer(newest(tmp_path), KIND.adapter).parts[0]
    assert isinstance(answer, TilesAnswer)
    trials, question = answer.tried, TilesPeak("tiny", 2)
    # A busy machine may not hold two tiles, or one; whatever its runs say, the search goes on as they say, and ends.
    asked = [question.plan_next_tenths(trials[:count]) for count in range(len(trials) + 1)]
    assert asked == [*(trial.tenths for trial in trials), None]
    assert trials[0].tenths == 10
    assert len(answer.headline) == 2
    assert all(line in " ".join(done.stdout.split()) for line in answer.headline)
    assert "How many tiles" in (newest(tmp_path) / "report.html").read_text()


FAULTS = {
    "--drop-every": "must be there",
    "--alter-every": "not as it was sent",
    "--miscount-every": "messages, ",
}


@pytest.mark.slow("three programs")
def test_a_mail_server_that_loses_alters_or_miscounts_is_caught(tmp_path: Path) -> None:
    """Three at the same time, each with a fault of its own."""
    for seconds in (3, *LONGER_S):
        folders = {fault: tmp_path / f"in-{seconds}-s" / fault for fault in FAULTS}
        with ExitStack() as stack:
            runs = {
                fault: stack.enter_context(run_of_faulty_mail(folder, fault, seconds))
                for fault, folder in folders.items()
            }
            ends = {fault: (*run.communicate(timeout=LONGEST_S), run.returncode) for fault, run in runs.items()}
        kinds = {fault: report(folder)["workloads"][0]["iterations"][0]["errors"] for fault, folder in folders.items()}
        if all(any(message in kind for kind in kinds[fault]) for fault, message in FAULTS.items()):
            break
    for fault, message in FAULTS.items():
        out, errors, code = ends[fault]
        assert code != 0, out + errors
        assert any("validation errors" in rule for rule in broken_rules(newest(folders[fault]))), out + errors
        assert "validation errors" in out
        assert any(message in kind for kind in kinds[fault]), kinds


@contextmanager
def run_of_faulty_mail(folder: Path, fault: str, steady_s: float) -> Iterator[subprocess.Popen[str]]:
    """A run against a mail server with a fault in every seventh message."""
    folder.mkdir(parents=True)
    port = find_free_port()
    words = [find_server(), "mail", "--folder", str(folder / "mail"), "--listen", f"127.0.0.1:{port}", fault, "7"]
    with subprocess.Popen([*words, "--until-stdin-ends"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as faulty:
        assert faulty.stdout is not None
        assert b"ready" in faulty.stdout.readline()
        target = ("--target", f"http://127.0.0.1:{port}", "--sessions", "200")
        run = command("run", "mail", *target, *WINDOW, "--steady", str(steady_s), "--no-report")
        yield subprocess.Popen(run, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        faulty.terminate()


def test_what_does_not_fit_is_said_before_anything_starts(loadstone_here: LoadstoneRunner, tmp_path: Path) -> None:
    for words, said in (
        (("--last-fraction", "0.25"), "0.1, 0.2"),
        (("--profile", "laptop"), "--tile laptop"),
        (("--tile", "big"), "Use one of classic, laptop"),
        (("--power", "rapl"), "server= or system="),
        (("--group", "numa"), "numa=0,1,0,1"),
        (("--machine", "mbit_per_s=10"), "A process has no `mbit_per_s`"),
    ):
        done = loadstone_here("tiles", *words)
        assert done.returncode == 2, done.stdout
        assert said in " ".join(done.stderr.split()), done.stderr
    assert not (tmp_path / "results").exists()
