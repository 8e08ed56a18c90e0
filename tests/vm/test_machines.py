"""Whole runs on machines: several of them on two networks, a slowed line, a distribution's server with its own disk."""

import json
import os
from pathlib import Path
from statistics import fmean

import pytest

from tests.contract.conftest import nothing_is_left  # noqa: F401
from tests.integration.conftest import LoadstoneRunner, loadstone, newest, report, rows  # noqa: F401

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(os.geteuid() != 0, reason="networks and mounts of their own need root"),
]

DOWNLOADS = Path(__file__).parents[2] / "examples" / "downloads"


@pytest.mark.alone
def test_web_and_backend_in_machines_of_their_own_play_all_three_workloads_validly(
    tmp_path: Path,
    loadstone: LoadstoneRunner,  # noqa: F811
) -> None:
    words = ["run", "banking", "shopping", "support", "--sessions", "30", "--profile", "brief", "--steady", "45"]
    words += ["--platform", "vm"]
    done = loadstone(*words, "--backend", "platform=vm,memory=192")
    assert done.returncode == 0, done.stdout + done.stderr
    content = report(tmp_path)
    assert [one["verdict"]["verdict"] for one in content["workloads"]] == ["pass"] * 3
    machines = content["manifest"]["machines"]
    assert set(machines) == {"web", "backend"}
    assert set(machines["web"]["networks"]) == {"public", "private"}
    assert set(machines["backend"]["networks"]) == {"private"}
    assert machines["web"]["facts"]["boot_s"] < 10
    assert machines["web"]["facts"]["clock"]["within_s"] < 0.1
    views = {view["name"]: view for view in content["workloads"][0]["iterations"][0]["machines"]}
    shown = {row["title"]: row for row in views["web"]["rows"]}
    assert float(shown["CPU in all"]["host"]) > 0
    assert shown["of virtual processors"]["guest"] == "it cannot know"
    sent = shown["network sent"]
    assert float(sent["host"]) == pytest.approx(float(sent["guest"]), rel=0.2)


def test_a_line_of_ten_megabits_is_measured_as_such(
    tmp_path: Path,
    loadstone: LoadstoneRunner,  # noqa: F811
) -> None:
    workload = tmp_path / "greedy"
    workload.mkdir()
    (workload / "workload.toml").write_text(
        '[workload]\nname = "greedy"\ntitle = "As much as there is"\n[pacing]\nkind = "think"\nmean_s = 0\n'
        "[connections]\nparallel = 1\nkept_between_users = true\n[limits]\ngood_s = 10\ntolerable_s = 20\n"
        '[mix]\nkind = "flat"\nshares = { file = 1 }\n[operations.file]\nbytes = 104858\n'
        'path = "/support/downloads/dir0000000001/download0_0"\n'
    )
    words = ["run", str(workload), "--sessions", "8", "--profile", "demo", "--platform", "container"]
    loadstone(*words, "--machine", "mbit_per_s=10", "--nginx", "files=support,sessions=4")
    total = rows(report(tmp_path))["Total"]
    steady_s = report(tmp_path)["workloads"][0]["iterations"][0]["steady_s"]
    assert total["errors"] == 0
    # Less than the line: headers, and the files that the edges of the steady state cut.
    assert 8 * total["bytes"] / steady_s == pytest.approx(9.2e6, rel=0.1)
    samples = [json.loads(line) for line in next(newest(tmp_path).glob("runs/*/monitor.jsonl")).open()]
    sent = [sample["machines"]["web"]["outside"]["network"]["public"]["bytes_sent_per_s"] for sample in samples[4:-2]]
    assert 8 * fmean(sent) == pytest.approx(10e6, rel=0.05)


@pytest.mark.timeout(900)
def test_a_stock_nginx_on_a_debian_machine_serves_the_written_files(
    tmp_path: Path,
    loadstone: LoadstoneRunner,  # noqa: F811
) -> None:
    words = ["run", str(DOWNLOADS), "--sessions", "20", "--profile", "brief", "--nginx", "files=support,sessions=4"]
    machine = "image=debian,memory=256,cache=writeback,io_threads=1"
    done = loadstone(*words, "--platform", "vm", "--machine", machine, timeout=800)
    assert done.returncode == 0, done.stdout + done.stderr
    content = report(tmp_path)
    assert rows(content)["Total"]["errors"] == 0
    assert "cache=writeback, 1 I/O threads" in content["manifest"]["machines"]["web"]["facts"]["disk"]
    assert content["manifest"]["machines"]["web"]["facts"]["image"].startswith("debian ")


@pytest.mark.timeout(900)
@pytest.mark.parametrize("platform", ["container", "vm"])
def test_the_bank_in_php_runs_on_machines_too(
    platform: str,
    tmp_path: Path,
    loadstone: LoadstoneRunner,  # noqa: F811
) -> None:
    words = ["--sessions", "5", "--profile", "brief", "--steady", "15", "--foreign-cpu", "100", "--tuning", "tuned"]
    done = loadstone("run", "banking", "--service", "nginx-php", "--platform", platform, *words, timeout=800)
    assert done.returncode in (0, 3), done.stdout + done.stderr  # so few operations are no verdict
    content = report(tmp_path)
    assert rows(content)["Total"]["requests"] > 10
    assert rows(content)["Total"]["errors"] == 0
    facts = content["manifest"]["machines"]["web"]["facts"]
    assert facts["software"].startswith("nginx version")
    if platform == "vm":  # made with what the service needs
        assert facts["image"].startswith("debian+nginx-light+php-fpm ")
    samples = [json.loads(line) for line in next(newest(tmp_path).glob("runs/*/monitor.jsonl")).open()]
    assert samples[-2]["status"]["web: php"]["now"]["idle processes"] > 0
    assert samples[-2]["status"]["web: nginx"]["now"]["connections"] > 0


@pytest.mark.timeout(600)
def test_a_bookstore_and_its_database_in_machines_of_their_own_agree_on_every_order(
    tmp_path: Path,
    loadstone: LoadstoneRunner,  # noqa: F811
) -> None:
    words = ["--sessions", "10", "--profile", "brief", "--steady", "20", "--foreign-cpu", "100"]
    done = loadstone("run", "bookstore", "--platform", "vm", "--backend", "platform=vm", *words, timeout=500)
    assert done.returncode in (0, 3), done.stdout + done.stderr  # so few operations may be no verdict
    content = report(tmp_path)
    assert rows(content)["Total"]["requests"] > 10
    assert rows(content)["Total"]["errors"] == 0
    assert set(content["manifest"]["machines"]) == {"app", "database"}
    (audit,) = newest(tmp_path).glob("runs/*/audit.json")
    assert json.loads(audit.read_text())["broken_rules"] == []


def test_users_are_dealt_to_several_machines_in_turn(
    tmp_path: Path,
    loadstone: LoadstoneRunner,  # noqa: F811
) -> None:
    words = ["run", "support", "--sessions", "150", "--profile", "demo", "--machine", "platform=container,count=2"]
    done = loadstone(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    samples = [json.loads(line) for line in next(newest(tmp_path).glob("runs/*/monitor.jsonl")).open()]
    sent = [
        fmean(one["machines"][name]["outside"]["network"]["public"]["bytes_sent_per_s"] for one in samples[4:-2])
        for name in ("web-1", "web-2")
    ]
    assert min(sent) > 0.2 * max(sent)
