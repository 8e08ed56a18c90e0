"""Pairs whose halves are on two hosts and whose witness is on a third: killed, cut off, measured."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from loadstone.platforms.vm.command import QEMU
from loadstone.report.build import write_report
from loadstone.store.read import read_result
from loadstone.study.failure import failure_of
from tests.fleet.hosts import Lab, NamespaceHost
from tests.fleet.test_cluster import manifest
from tests.verdicts import broken_rules

pytestmark = [
    pytest.mark.integration,
    pytest.mark.own_network,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("fleet"),
    pytest.mark.slow("a pair over two hosts, whose sides are replaced"),
]

GAP_S = 30.0
"""Longest time without an answer: machines are emulated on a host that four others share."""


def playing(lab: Lab, *words: str) -> subprocess.Popen[str]:
    """The play where commands are given."""
    code = f"PYTHONPATH={Path(__file__).parents[2]}:{os.environ.get('PYTHONPATH', '')}"
    return lab.host.start(["env", code, sys.executable, "-m", "tests.fleet.pair_over_hosts", *words])


def told(play: subprocess.Popen[str]) -> dict[str, Any]:
    """What it says at its end."""
    said, errors = play.communicate(timeout=200)
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
    play = playing(lab, lab.file, "/tmp/cut")
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
    assert seen["written"] > 20
    assert not left(hosts)


def test_without_its_witness_no_side_goes_on(lab: Lab, hosts: Mapping[str, NamespaceHost]) -> None:
    seen = told(playing(lab, lab.file))
    assert seen["claims"] and all("the witness at 10.77.0.5:" in claim for claim in seen["claims"]), seen
    assert not seen["went_on"] and seen["answers_without"] == 0, seen
    assert not left(hosts)


def test_a_failover_over_hosts_is_measured_and_reported(lab: Lab, hosts: Mapping[str, NamespaceHost]) -> None:
    words = ["failover", "static", "--rate", "20", "--arrivals", "constant", "--kill", "primary", "--at", "3"]
    words += ["--profile", "brief", "--steady", "20", "--platform", "pair", "--fleet", lab.file, "--name", "over"]
    done = lab.loadstone(*words, "--foreign-cpu", "100", "--no-report")
    (run,) = lab.result("over").glob("runs/*")
    assert manifest(run)["status"] == "complete", done.stdout + done.stderr
    assert broken_rules(run) == []
    failure = failure_of(read_result(run).workloads[0].iterations[0])
    assert failure is not None and failure.outage is not None
    assert failure.outage.failed == 0 and failure.outage.has_recovered
    assert failure.live_s is not None
    # A host with other work may take longer than the run to protect the machine again.
    assert 0 < failure.live_s < (failure.protected_s or float("inf"))
    page = write_report(run).read_text()
    assert "s1+s2" in page and "w1" in page and "Held outputs" in page
    (answer,) = json.loads((lab.result("over") / "answer.json").read_text())["parts"]
    assert len(answer["trials"]) == 1
