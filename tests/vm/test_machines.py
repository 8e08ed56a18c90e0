"""Whole runs on machines: several of them on two networks, a slowed line, a distribution's server with its own disk."""

import json
import os
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.contract.conftest import nothing_is_left  # noqa: F401
from tests.integration.conftest import (  # noqa: F401
    LoadstoneRunner,
    loadstone,
    newest,
    read_samples,
    report,
    require_requests,
    rows,
    run_until,
)
from tests.verdicts import WINDOW, broken_rules

pytestmark = [
    pytest.mark.integration,
    pytest.mark.own_network,
    pytest.mark.skipif(os.geteuid() != 0, reason="networks and mounts of their own need root"),
    pytest.mark.slow("virtual machines start, and QEMU emulates them"),
]

DOWNLOADS = Path(__file__).parents[2] / "examples" / "downloads"
MACHINE_WINDOW = (*WINDOW, "--steady", "8")
"""A machine that a busy host emulates may answer the first pages after some seconds."""
DEBIAN = "debian+nginx-light+php-fpm"
"""The only image with a distribution's packages that these tests need: to make one takes a minute or more."""


def list_outside_views(result: Path, machine: str) -> list[dict[str, Any]]:
    """Lists what the host counted for a machine; a busy one reads some seconds too late, which then have no counts."""
    views = [sample["machines"][machine]["outside"] for sample in read_samples(result)]
    return [view for view in views if view is not None]


def sum_sent(result: Path, machine: str) -> float:
    """Bytes per second that a machine sent to its users, summed over all samples."""
    return sum(view["network"]["public"]["bytes_sent_per_s"] for view in list_outside_views(result, machine))


@pytest.mark.slow("boots two machines and plays three workloads")
def test_web_and_backend_in_machines_of_their_own_play_all_three_workloads_validly(
    tmp_path: Path,
    loadstone: LoadstoneRunner,  # noqa: F811
) -> None:
    words = ["run", "banking", "shopping", "support", "--sessions", "30", *MACHINE_WINDOW, "--platform", "vm"]
    done = run_until(loadstone, tmp_path, require_requests(1), *words, "--backend", "platform=vm,memory=192")
    content = report(tmp_path)
    assert content["manifest"]["status"] == "complete", done.stdout + done.stderr
    assert broken_rules(newest(tmp_path)) == []
    assert len(content["workloads"]) == 3
    for workload in content["workloads"]:
        (total,) = [row for row in workload["iterations"][0]["operations"] if row["name"] == "Total"]
        assert total["errors"] == 0
    machines = content["manifest"]["machines"]
    assert set(machines) == {"web", "backend"}
    assert set(machines["web"]["networks"]) == {"public", "private"}
    assert set(machines["backend"]["networks"]) == {"private"}
    assert machines["web"]["facts"]["boot_s"] > 0
    assert machines["web"]["facts"]["clock"]["within_s"] < 1
    views = {view["name"]: view for view in content["workloads"][0]["iterations"][0]["machines"]}
    shown = {row["title"]: row for row in views["web"]["rows"]}
    assert float(shown["CPU in all"]["host"]) > 0
    assert shown["of virtual processors"]["guest"] == "it cannot know"
    sent = shown["network sent"]
    assert float(sent["host"]) == pytest.approx(float(sent["guest"]), rel=0.5)  # both look once a second, in turn


def test_two_lines_of_ten_megabits_are_measured_as_such(
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
    words = ["run", str(workload), "--sessions", "8", "--profile", "brief", "--platform", "container"]
    words += ["--machine", "mbit_per_s=10,public_networks=2", "--nginx", "files=support,sessions=4"]

    def sent_bits_per_s(result: Path) -> list[float]:
        """Mean of each line in the middle of the run; empty where the host saw none of it."""
        views = list_outside_views(result, "web")[3:-2]
        lines = ("public", "public-2") if views else ()
        return [8 * fmean(view["network"][line]["bytes_sent_per_s"] for view in views) for line in lines]

    def is_half_used(result: Path) -> bool:
        total = rows(report(tmp_path))["Total"]
        steady_s = report(tmp_path)["workloads"][0]["iterations"][0]["steady_s"]
        sent = sent_bits_per_s(result)
        return len(sent) == 2 and min(sent) > 5e6 and 8 * total["bytes"] / steady_s > 10e6

    run_until(loadstone, tmp_path, is_half_used, *words)
    content = report(tmp_path)
    total, steady_s = rows(content)["Total"], content["workloads"][0]["iterations"][0]["steady_s"]
    assert total["errors"] == 0
    assert broken_rules(newest(tmp_path)) == []
    # Never more than the lines take; a busy host may not fill them.
    edges_bits = 8 * 8 * 104858 / steady_s  # what users had of a file when the steady state began counts when it ends
    assert 8 * total["bytes"] / steady_s < 20e6 + edges_bits
    assert max(sent_bits_per_s(newest(tmp_path))) < 10.5e6


@pytest.mark.slow("boots a distribution, whose image is made the first time")
def test_a_stock_nginx_on_a_debian_machine_serves_the_written_files(
    tmp_path: Path,
    loadstone: LoadstoneRunner,  # noqa: F811
) -> None:
    words = ["run", str(DOWNLOADS), "--sessions", "20", *MACHINE_WINDOW, "--nginx", "files=support,sessions=4"]
    machine = f"image={DEBIAN},memory=256,cache=writeback,io_threads=1"
    words += ["--platform", "vm", "--machine", machine]
    done = run_until(loadstone, tmp_path, require_requests(1), *words)
    content = report(tmp_path)
    assert content["manifest"]["status"] == "complete", done.stdout + done.stderr
    assert broken_rules(newest(tmp_path)) == []
    assert rows(content)["Total"]["errors"] == 0
    assert "cache=writeback, aio=threads, 1 I/O threads" in content["manifest"]["machines"]["web"]["facts"]["disk"]
    assert content["manifest"]["machines"]["web"]["facts"]["image"].startswith(f"{DEBIAN} ")


@pytest.mark.slow("boots a distribution, whose image is made the first time")
@pytest.mark.parametrize("platform", ["container", pytest.param("vm", marks=pytest.mark.combination)])
def test_the_bank_in_php_runs_on_machines_too(
    platform: str,
    tmp_path: Path,
    loadstone: LoadstoneRunner,  # noqa: F811
) -> None:
    has_requests = require_requests(1)

    def is_seen(result: Path) -> bool:
        samples = [sample["status"] for sample in read_samples(result) if sample.get("status")]
        figures = ("web: php", "idle processes"), ("web: nginx", "connections")
        is_told = [any(status[part]["now"].get(name, 0) > 0 for status in samples) for part, name in figures]
        return has_requests(result) and all(is_told)

    words = ["run", "banking", "--service", "nginx-php", "--platform", platform]
    words += ["--sessions", "3", *MACHINE_WINDOW, "--seed", "1", "--tuning", "tuned"]
    done = run_until(loadstone, tmp_path, is_seen, *words)
    content = report(tmp_path)
    assert content["manifest"]["status"] == "complete", done.stdout + done.stderr
    assert broken_rules(newest(tmp_path)) == []
    assert rows(content)["Total"]["errors"] == 0
    facts = content["manifest"]["machines"]["web"]["facts"]
    assert facts["software"].startswith("nginx version")
    assert facts.get("image", "").startswith(f"{DEBIAN} ") == (platform == "vm")  # made with what the service needs


@pytest.mark.combination
@pytest.mark.slow("boots two machines")
def test_a_bookstore_and_its_database_in_machines_of_their_own_agree_on_every_order(
    tmp_path: Path,
    loadstone: LoadstoneRunner,  # noqa: F811
) -> None:
    words = ["run", "bookstore", "--platform", "vm", "--backend", "platform=vm", "--sessions", "30", *MACHINE_WINDOW]
    done = run_until(loadstone, tmp_path, require_requests(1), *words)
    content = report(tmp_path)
    assert content["manifest"]["status"] == "complete", done.stdout + done.stderr
    assert broken_rules(newest(tmp_path)) == []
    assert rows(content)["Total"]["errors"] == 0
    assert set(content["manifest"]["machines"]) == {"app", "database"}
    (audit,) = newest(tmp_path).glob("runs/*/audit.json")
    assert json.loads(audit.read_text())["broken_rules"] == []


def test_users_are_dealt_to_several_machines_in_turn(
    tmp_path: Path,
    loadstone: LoadstoneRunner,  # noqa: F811
) -> None:
    words = ["run", "static", "--rate", "40", "--arrivals", "constant", *WINDOW]
    words += ["--machine", "platform=container,count=2"]

    def is_dealt(result: Path) -> bool:
        sent = [sum_sent(result, name) for name in ("web-1", "web-2")]
        return min(sent) > 0.5 * max(sent)

    done = run_until(loadstone, tmp_path, is_dealt, *words)
    assert broken_rules(newest(tmp_path)) == [], done.stdout + done.stderr
