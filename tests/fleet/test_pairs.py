"""Pairs whose halves are on two hosts and whose witness is on a third: killed, cut off, measured."""

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from loadstone.platforms.vm.command import QEMU
from tests.fleet import pair_over_hosts
from tests.fleet.hosts import Lab, NamespaceHost
from tests.fleet.test_cluster import manifest

pytestmark = [pytest.mark.integration, pytest.mark.alone, pytest.mark.timeout(600)]

GAP_S = 10.0
"""Longest time without an answer: machines are emulated on a host that four others share."""


def test_a_pair_over_hosts_outlives_its_primaries_and_the_host_of_one(
    lab: Lab, hosts: Mapping[str, NamespaceHost]
) -> None:
    sign = lab.host.tmp / "cut"
    words = ["env", f"PYTHONPATH={Path(__file__).parents[2]}", sys.executable, "-m", "tests.fleet.pair_over_hosts"]
    playing = lab.host.start([*words, lab.file, "/tmp/cut"])
    until = time.monotonic() + 300
    while not (sign.is_file() and sign.read_text()) and playing.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    served = sign.read_text() if sign.is_file() else ""
    if served:
        hosts[served].cut()
    said, errors = playing.communicate(timeout=200)
    lab.heal(hosts)
    assert playing.returncode == 0, said + errors
    told = json.loads(said.splitlines()[-1])
    assert not told["errors"] and (told["lost"], told["repeated"]) == (0, 0), told
    assert (told["host"], told["witness"]) == ("s1+s2", "w1")
    assert told["places"] == ["s1", "s2", "s1", "s2"][: pair_over_hosts.KILLS + 2], "each follows on the other host"
    assert served == "s1" and told["serving"] == "s2", told
    assert max(*told["gaps_s"], told["cut_gap_s"]) < GAP_S, told
    assert "host s1 was lost" in told["dead"]
    assert told["written"] > 20
    left = [
        words for host in hosts.values() for words in host.processes().values() if QEMU in words or "-pair" in words
    ]
    assert not left


def test_a_failover_over_hosts_is_measured_and_reported(lab: Lab, hosts: Mapping[str, NamespaceHost]) -> None:
    words = ["failover", "support", "--sessions", "20", "--kill", "primary", "--at", "16", "--foreign-cpu", "100"]
    words += ["--profile", "demo", "--steady", "31", "--platform", "pair", "--fleet", lab.file, "--name", "over"]
    done = lab.loadstone(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    result = lab.result("over")
    (answer,) = json.loads((result / "answer.json").read_text())["parts"]
    (trial,) = answer["trials"]
    failure = trial["failure"]
    assert failure["outage"]["failed"] == 0
    assert failure["live_s"] < GAP_S and failure["protected_s"] < 60
    (run,) = result.glob("runs/*/report.html")
    assert "s1+s2" in run.read_text() and "w1" in run.read_text()
    said = manifest(result)
    assert said["status"] == "complete"
