"""Pairs whose halves are on two hosts and whose witness is on a third: killed, cut off, measured."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from loadstone.platforms.vm.command import QEMU
from loadstone.report.build import write_report
from loadstone.store.read import read_result
from loadstone.study.failure import find_failure
from tests.fleet.hosts import Lab, NamespaceHost
from tests.fleet.pair_over_hosts import ANSWERS
from tests.fleet.test_cluster import manifest
from tests.verdicts import broken_rules
from tests.vm.test_failures import wait_for
from tests.waiting import LONGEST_S, PATIENT_MS

pytestmark = [
    pytest.mark.integration,
    pytest.mark.own_network,
    pytest.mark.xdist_group("fleet"),
    pytest.mark.slow("a pair over two hosts, whose sides are replaced"),
]

NAME = "kept"
COUNT_WINDOW_S = 5
GAP_S = 30.0
"""Longest time without an answer: machines are emulated on a host that four others share."""
TRIALS = 3
"""Attempts at most, of which one is enough: a host may stall for longer than a page may take, 10 s."""


def playing(lab: Lab, *words: str) -> subprocess.Popen[str]:
    """The play where commands are given."""
    return run_module(lab.host, "tests.fleet.pair_over_hosts", *words)


def run_module(host: NamespaceHost, name: str, *words: str) -> subprocess.Popen[str]:
    """A module of the tests on a host."""
    code = f"PYTHONPATH={Path(__file__).parents[2]}:{os.environ.get('PYTHONPATH', '')}"
    return host.start(["env", code, sys.executable, "-m", name, *words])


def told(play: subprocess.Popen[str]) -> dict[str, Any]:
    """What it says at its end."""
    said, errors = play.communicate(timeout=LONGEST_S)
    assert play.returncode == 0, said + errors
    read: dict[str, Any] = json.loads(said.splitlines()[-1])
    return read


def left(hosts: Mapping[str, NamespaceHost]) -> list[str]:
    """Processes of pairs on any host."""
    running = [words for host in hosts.values() for words in host.processes().values()]
    return [words for words in running if QEMU in words or "loadstone-pair" in words]


def test_a_pair_over_hosts_outlives_its_primary_and_the_host_of_the_next(
    lab: Lab, hosts: Mapping[str, NamespaceHost]
) -> None:
    sign = lab.host.tmp / "cut"
    play = playing(lab, lab.narrow("s1", "s2", "w1").file, "/tmp/cut")
    until = time.monotonic() + 300
    while not (sign.is_file() and sign.read_text()) and play.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    served = sign.read_text() if sign.is_file() else ""
    if served:
        hosts[served].cut()
    try:
        seen = told(play)
    finally:
        lab.heal(hosts)
    assert not seen["errors"] and (seen["lost"], seen["repeated"]) == (0, 0), seen
    assert (seen["host"], seen["witness"]) == ("s1+s2", "w1")
    assert seen["places"] == ["s1", "s2", "s1"], "each follows on the other host"
    assert served == "s2" and seen["serving"] == "s1", seen
    assert max(*seen["gaps_s"], seen["cut_gap_s"]) < GAP_S, seen
    assert "host s2 was lost" in seen["dead"]
    assert seen["written"] >= ANSWERS
    assert not left(hosts)


def test_without_its_witness_no_side_goes_on(lab: Lab, hosts: Mapping[str, NamespaceHost]) -> None:
    seen = told(playing(lab, lab.narrow("s1", "s2", "w1").file))
    assert seen["claims"] and all("the witness at 10.77.0.5:" in claim for claim in seen["claims"]), seen
    assert not seen["went_on"] and seen["answers_without"] == 0, seen
    assert not left(hosts)


@pytest.fixture
def coordinator(lab: Lab) -> Iterator["subprocess.Popen[str]"]:
    """A process that keeps a pair over hosts."""
    settings = ("--lease", "10", "--silence-ms", str(PATIENT_MS), "--fleet", lab.file)
    process = lab.start("pair", "create", NAME, *settings)
    try:
        yield process
    finally:
        lab.loadstone("pair", "end", NAME)
        process.communicate()


def place_served(coordinator: "subprocess.Popen[str]") -> tuple[str, str]:
    """Waits until a pair serves; its address and port."""
    assert coordinator.stdout is not None
    said = []
    for line in coordinator.stdout:
        said.append(line)
        if served := re.search(r"at ([0-9.]+):([0-9]+)", line):
            return served[1], served[2]
    raise AssertionError((said, coordinator.stderr and coordinator.stderr.read()))


def test_a_killed_coordinator_ends_no_pair_and_the_next_command_takes_it_over(
    lab: Lab, hosts: Mapping[str, NamespaceHost], coordinator: "subprocess.Popen[str]"
) -> None:
    def status() -> dict[str, Any]:
        done = lab.loadstone("pair", "status", NAME, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        looked: dict[str, Any] = json.loads(done.stdout)
        return looked

    def more_answers() -> None:
        count = client.tmp / "asked.count"
        wanted = int(count.read_text()) + 20
        wait_for(lambda: int(count.read_text()) >= wanted or asking.poll() is not None)

    client = hosts["d1"]
    host, port = place_served(coordinator)
    asking = run_module(client, "tests.fleet.asking", host, port, "/tmp/asked.end")
    wait_for((client.tmp / "asked.count").is_file)
    more_answers()
    (pid,) = [
        pid for pid, argv in lab.host.processes().items() if "loadstone pair create" in argv and "sh -c" not in argv
    ]
    os.kill(pid, signal.SIGKILL)
    wait_for(
        lambda: not any("SupervisorActor" in argv for host in hosts.values() for argv in host.processes().values())
    )
    more_answers()
    wait_for(lambda: status()["status"] == "protected")
    first = status()
    assert {first["serving"]["place"], first["secondary"]["place"]} == {"s1", "s2"}
    done = lab.loadstone("pair", "fail", NAME, "kill-primary")
    assert done.returncode == 0, done.stdout + done.stderr
    more_answers()
    wait_for(
        lambda: (now := status())["status"] == "protected" and now["serving"]["place"] != first["serving"]["place"]
    )
    (client.tmp / "asked.end").touch()
    seen = told(asking)
    assert seen["errors"] == []
    assert seen["longest_gap_s"] < GAP_S
    assert lab.loadstone("pair", "end", NAME).returncode == 0
    assert not left(hosts)


def test_pairs_over_two_hosts_are_measured_with_primaries_together_and_crossed(
    lab: Lab, hosts: Mapping[str, NamespaceHost]
) -> None:
    counts = ["--pairs", "2", "--seconds", str(COUNT_WINDOW_S)]
    done = lab.loadstone("pair", "measure-count", "--fleet", lab.narrow("s1", "s2", "w1").file, *counts, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    loads = json.loads(done.stdout)
    assert [(load["pairs"], load["arrangement"]) for load in loads] == [(2, "together"), (2, "crossed")]
    for load in loads:
        assert len(load["answers_per_s_by_pair"]) == 2, load["warnings"]
        assert min(load["answers_per_s_by_pair"]) > 0 and load["median_ms"] > 0 and load["lag_ms"] >= 0
    assert not left(hosts)


def test_a_failover_over_hosts_is_measured_and_reported(lab: Lab, hosts: Mapping[str, NamespaceHost]) -> None:
    words = ["failover", "static", "--rate", "20", "--arrivals", "constant", "--kill", "primary", "--at", "3"]
    words += ["--machine", f"platform=pair,silence_ms={PATIENT_MS}", "--fleet", lab.file]
    words += ["--profile", "brief", "--steady", "20"]
    stalled: list[object] = []
    while True:
        name = f"over-{len(stalled)}"
        done = lab.loadstone(*words, "--foreign-cpu", "100", "--no-report", "--name", name)
        (run,) = lab.result(name).glob("runs/*")
        assert manifest(run)["status"] == "complete", done.stdout + done.stderr
        failure = find_failure(read_result(run).workloads[0].iterations[0])
        broken = broken_rules(run)
        assert failure is not None
        if not broken and failure.outage is not None:
            break
        stalled.append((broken, failure.live_s, failure.protected_s, failure.outage))
        assert len(stalled) < TRIALS and all("time_out" in rule for rule in broken), stalled
    assert failure.outage.failed == 0 and failure.outage.has_recovered
    assert failure.live_s is not None
    # A host with other work may take longer than the run to protect the machine again.
    assert 0 < failure.live_s < (failure.protected_s or float("inf"))
    page = write_report(run).read_text()
    assert "s1+s2" in page and "w1" in page and "Held outputs" in page
    (answer,) = json.loads((lab.result(name) / "answer.json").read_text())["parts"]
    assert len(answer["trials"]) == 1
