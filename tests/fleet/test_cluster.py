"""Fleets on Ray, on hosts that are network namespaces: started over ssh, used, and hurt."""

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from loadstone.fleet.cluster import CLUSTER_AUTHORITY, CLUSTER_CERTIFICATE, CLUSTER_KEY, HEAD_PORT
from loadstone.report.build import write_report
from loadstone.store.read import read_result
from tests.fleet import garbage
from tests.fleet.deaths import LOADED_INTERVALS, Death, await_load, during_a_run
from tests.fleet.hosts import Lab, NamespaceHost
from tests.verdicts import WINDOW, broken_rules
from tests.waiting import LONGEST_S

pytestmark = [
    pytest.mark.integration,
    pytest.mark.own_network,
    pytest.mark.xdist_group("fleet"),
    pytest.mark.slow("a run on several hosts"),
]

QUICK = (*WINDOW, "--foreign-cpu", "100", "--no-report")
"""All hosts are one machine, so each takes the others' work for a stranger's."""
NOTICED_S, STOPPED_S = 60.0, 60.0
"""Longest time until a death is noticed, and until all load has stopped: many times what is usual."""
GARBAGE_S = 5.0
"""The rate `fleet-garbage` throws it for a minute."""
HELD_S = (30, 120, 480)
"""Steady states of a run that keeps its hosts from another. A busy host may start that one too late."""


def manifest(result: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((result / "manifest.json").read_text())
    return read


def test_the_cluster_says_which_hosts_are_there(lab: Lab) -> None:
    done = lab.loadstone("fleet", "status", lab.file, "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 0 and set(told) == {"d1", "s1", "s2", "w1"}
    assert all(host["is_alive"] for host in told.values())
    assert told["s1"]["address"] == "10.77.0.3"


def test_drivers_servers_and_back_ends_are_on_hosts_of_their_own(lab: Lab) -> None:
    words = ["--sessions", "20", *QUICK, "--platform", "container", "--backend", "platform=container,host=s2"]
    done = lab.loadstone("run", "banking", *words, "--machine", "host=s1", "--name", "apart")
    result = lab.result("apart")
    said = manifest(result)
    assert said["status"] == "complete", done.stdout + done.stderr
    assert broken_rules(result) == []
    assert {name: host["roles"] for name, host in said["hosts"].items()} == {
        "d1": ["driver"],
        "s1": ["system"],
        "s2": ["system"],
        "w1": ["witness"],
    }
    assert said["machines"]["web"]["facts"]["host"] == "s1" and said["machines"]["backend"]["facts"]["host"] == "s2"
    assert "errors 0.00 %" in done.stdout
    assert "plays part 1 of 1" in next(result.glob("logs/d1/*.log")).read_text()
    samples = [json.loads(line) for line in next(result.glob("runs/*/monitor.jsonl")).read_text().splitlines()]
    assert all(name in samples[-1]["machines"] for name in ("web", "backend", "d1", "s1", "s2"))
    assert "host s1" in write_report(result).read_text()


def test_a_virtual_machine_is_on_a_host_of_its_own(lab: Lab) -> None:
    words = ["--sessions", "10", *QUICK, "--platform", "vm", "--machine", "host=s2"]
    done = lab.narrow("d1", "s2").loadstone("run", "support", *words, "--name", "virtual")
    said = manifest(lab.result("virtual"))
    assert said["status"] == "complete", done.stdout + done.stderr
    facts = said["machines"]["web"]["facts"]
    assert (facts["host"], facts["network"]) == ("s2", "bridge") and "qemu" in facts, facts
    assert broken_rules(lab.result("virtual")) == []
    assert "errors 0.00 %" in done.stdout


def test_tiles_are_spread_over_hosts_and_have_one_report(lab: Lab) -> None:
    words = ["tiles", "--tiles", "2", "--platform", "container", *QUICK, "--name", "spread"]
    done = lab.narrow("d1", "s1", "s2").loadstone(*words)
    result = lab.result("spread")
    said = manifest(result)
    assert said["status"] == "complete", done.stdout + done.stderr
    places = {name: machine["facts"].get("host") for name, machine in said["machines"].items()}
    assert {places[f"tile1-{role}"] for role in ("web", "app", "db")} == {"s1"}
    assert {places[f"tile2-{role}"] for role in ("web", "app", "db")} == {"s2"}
    assert broken_rules(result) == []
    assert "Loadstone consolidation score" in done.stdout


def test_a_cluster_that_others_started_is_joined_by_its_address(lab: Lab) -> None:
    own = lab.host.tmp / "joined.toml"
    declared = (lab.host.tmp / Path(lab.narrow("d1", "s1").file).name).read_text()
    own.write_text(f'cluster = "10.77.0.1:{HEAD_PORT}"\n{declared}')
    keys = lab.host.tmp / f"state/loadstone/fleet/10.77.0.1-{HEAD_PORT}"
    files = {"SERVER_CERT": CLUSTER_CERTIFICATE, "SERVER_KEY": CLUSTER_KEY, "CA_CERT": CLUSTER_AUTHORITY}
    tls = [f"RAY_TLS_{name}=/{(keys / file).relative_to(lab.host.folder)}" for name, file in files.items()]
    token = (keys / "token").read_text().strip()
    known = ["RAY_USE_TLS=1", *tls, "RAY_AUTH_MODE=token", f"RAY_AUTH_TOKEN={token}", "XDG_STATE_HOME=/tmp/none"]
    loadstone = str(Path(sys.executable).parent / "loadstone")
    words = ["run", "static", "--rate", "20", *QUICK, "--name", "joined", "--fleet", "/tmp/joined.toml"]
    done = lab.host.run(["env", *known, loadstone, *words])
    assert manifest(lab.result("joined"))["status"] == "complete", done.stdout + done.stderr
    assert broken_rules(lab.result("joined")) == []
    refused = lab.loadstone("fleet", "down", "/tmp/joined.toml")
    assert refused.returncode == 2 and "is managed elsewhere" in " ".join(refused.stderr.split())


def test_without_the_token_nothing_is_answered(lab: Lab) -> None:
    told = f"import ray; ray.init(address='10.77.0.1:{HEAD_PORT}'); print(ray.nodes())"
    keys = f"/tmp/state/loadstone/fleet/10.77.0.1-{HEAD_PORT}"
    files = {"SERVER_CERT": CLUSTER_CERTIFICATE, "SERVER_KEY": CLUSTER_KEY, "CA_CERT": CLUSTER_AUTHORITY}
    tls = ["RAY_USE_TLS=1", *(f"RAY_TLS_{name}={keys}/{file}" for name, file in files.items())]
    wrong = [*tls, "RAY_AUTH_MODE=token", f"RAY_AUTH_TOKEN={'0' * 64}"]
    ask = ["timeout", "-s", "KILL", "12", sys.executable, "-c", told]  # who is not answered may ask for ever
    asking = [lab.host.start(["env", *known, *ask]) for known in ([], tls, wrong)]
    for one in asking:
        said, _ = one.communicate(timeout=LONGEST_S)
        assert one.returncode != 0 and "NodeID" not in said, said


def test_another_coordinator_is_refused_and_garbage_on_every_port_changes_nothing(
    lab: Lab, hosts: Mapping[str, NamespaceHost]
) -> None:
    for held_s in HELD_S:
        first, second = f"first-{held_s}", f"second-{held_s}"
        with goes_on(lab, first, steady_s=held_s):
            refused = lab.loadstone("run", "static", "--rate", "20", *QUICK, "--name", second)
            throw_garbage(lab, hosts, GARBAGE_S)
        if refused.returncode == 2:
            break
        began = read_result(lab.result(second)).workloads[0].iterations[0].records.start
        assert began is not None
        assert began.start_unix_s > datetime.fromisoformat(manifest(lab.result(first))["ended"]).timestamp()
    assert refused.returncode == 2 and "In use by another coordinator" in refused.stderr, refused.stderr


@contextmanager
def goes_on(lab: Lab, name: str, steady_s: float) -> Iterator[None]:
    """A run makes load while the block runs, whatever is done there; its cluster is there afterwards."""
    running = lab.start("run", "static", "--rate", "20", *QUICK, "--steady", str(steady_s), "--name", name)
    await_load(lab, name, intervals=0)
    yield
    said, errors = running.communicate(timeout=LONGEST_S)
    assert manifest(lab.result(name))["status"] == "complete", said + errors
    assert broken_rules(lab.result(name)) == []
    assert lab.loadstone("fleet", "status", lab.file).returncode == 0


def throw_garbage(lab: Lab, hosts: Mapping[str, NamespaceHost], seconds: float) -> None:
    """Throws garbage at every port of every host."""
    ports = [f"{host.address}:{port}" for host in hosts.values() for port in _listening(host)]
    assert len(ports) > 3 * len(hosts), ports
    thrown = lab.host.run([sys.executable, str(Path(garbage.__file__)), str(seconds), *ports])
    assert int(thrown.stdout) > len(hosts), thrown.stderr


def _listening(host: NamespaceHost) -> list[int]:
    """Ports that somebody listens at, beyond ssh's."""
    lines = host.run(["ss", "-Hltn"]).stdout.splitlines()
    ports = {int(line.split()[3].rpartition(":")[2]) for line in lines if "127.0.0.1:" not in line.split()[3]}
    return sorted(ports - {22})


def test_what_a_lost_host_left_is_undone_when_it_is_taken_again(lab: Lab, hosts: Mapping[str, NamespaceHost]) -> None:
    three = lab.narrow("d1", "s1", "s2")
    during_a_run(three, hosts, Death.SYSTEMS_SUPERVISOR, "--platform", "container", "--machine", "host=s1")
    assert hosts["s1"].run(["ip", "netns", "list"]).stdout, "it was killed too late"
    done = three.loadstone("run", "static", "--rate", "20", *QUICK, "--name", "back")
    said = manifest(lab.result("back"))
    assert said["status"] == "complete", done.stdout + done.stderr
    assert any("network namespace" in line for line in said["hosts"]["s1"]["undone"]), said["hosts"]
    assert not said["hosts"]["s2"]["undone"] and not hosts["s1"].run(["ip", "netns", "list"]).stdout


@pytest.mark.parametrize("death", [Death.DRIVERS_SUPERVISOR, Death.SYSTEMS_CABLE, Death.HEAD])
def test_a_death_is_noticed_named_and_leaves_nothing(
    death: Death, lab: Lab, hosts: Mapping[str, NamespaceHost]
) -> None:
    seen = during_a_run(lab.narrow("d1", "s1"), hosts, death)
    if death is not Death.HEAD:  # without it the cluster is taken down, next
        lab.heal(hosts)
    assert (seen.code, seen.status) == (3, "failed"), seen
    assert seen.noticed_s <= NOTICED_S and seen.load_stopped_s <= STOPPED_S, seen
    assert not seen.left and seen.intervals >= LOADED_INTERVALS, seen
    lost = {Death.DRIVERS_SUPERVISOR: "host d1 was lost", Death.SYSTEMS_CABLE: "host s1 was lost"}
    assert lost.get(death, "the head of the cluster") in seen.who, seen


def test_nothing_is_left_when_the_cluster_is_down(lab: Lab, hosts: Mapping[str, NamespaceHost]) -> None:
    assert lab.loadstone("fleet", "down", lab.file).returncode == 0
    until = time.monotonic() + 60
    left: dict[str, list[str]] = {}
    while time.monotonic() < until:
        all_of = {name: list(host.processes().values()) for name, host in hosts.items()}
        left = {name: [words[:80] for words in found if "sshd" not in words] for name, found in all_of.items()}
        if not any(left.values()):
            break
        time.sleep(0.5)
    assert not any(left.values()), left
    assert not list(lab.host.tmp.glob("state/loadstone/fleet/*/token"))
    assert not _listening(hosts["lab"])
