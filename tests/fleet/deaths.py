"""Deaths of every part of a fleet while it makes load, and what is seen of each."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tests.fleet.hosts import Lab, NamespaceHost

LOADED_INTERVALS = 4
"""Records after which a part dies: load is under way."""
OURS = re.compile(r"\S*loadstone-(driver|server)\b|ray::SupervisorActor")
"""Processes that nothing may leave behind."""
LEFT_S = 60.0
"""Within which nothing may be left."""
LOAD_S, END_S = 600.0, 900.0
"""Longest wait for load to come or to go, and for a run to end."""


class Death(StrEnum):
    """What dies."""

    DRIVER = "driver"
    DRIVERS_SUPERVISOR = "supervisor of drivers"
    SYSTEMS_SUPERVISOR = "supervisor of servers"
    RAYLET = "raylet"
    CABLE = "cable of drivers"
    SYSTEMS_CABLE = "cable of servers"
    ENGINE = "engine"
    HEAD = "head"


@dataclass(frozen=True)
class Seen:
    """What was seen of a death."""

    code: int
    noticed_s: float
    """From the death to when the run counts it, by its own clock of the first start."""
    load_stopped_s: float
    """From the death until no driver is left on a host that is not cut off."""
    who: str
    status: str
    intervals: int
    left: tuple[str, ...]
    """Processes of ours on any host, once the run had ended and the silence of cut ones was heard."""


def during_a_run(lab: Lab, hosts: Mapping[str, NamespaceHost], death: Death, *more: str) -> Seen:
    """Starts a run, with more options where they are given, has something die, and waits for the end."""
    name = f"{death.name.lower().replace('_', '-')}-{time.monotonic_ns()}"
    words = ["run", "static", "--rate", "30", "--profile", "brief", "--steady", "30", "--foreign-cpu", "100"]
    process = lab.start(*words, *more, "--no-report", "--name", name)
    events = await_load(lab, name)
    died = time.time()
    DEATHS[death](hosts)
    stopped_s = _until_gone(hosts, died)
    _await_end(process, lab.host, name)
    result = lab.result(name)
    manifest = json.loads((result / "manifest.json").read_text())
    assert manifest["troubles"], manifest["reason"]
    trouble = manifest["troubles"][0]
    lines = [json.loads(line) for line in events.read_text().splitlines()]
    began = next(line["start_unix_ns"] for line in lines if line["event"] == "start") / 1e9
    while _ours(hosts) and time.time() < died + LEFT_S:
        time.sleep(0.1)
    return Seen(
        process.returncode,
        round(began + trouble["at_s"] - died, 2),
        round(stopped_s, 2),
        f"{trouble['who']}: {trouble['what'].splitlines()[-1]}",
        manifest["status"],
        sum(line["event"] == "interval" for line in lines),
        tuple(_ours(hosts)),
    )


def _await_end(process: subprocess.Popen[str], host: NamespaceHost, name: str) -> None:
    """Waits until a run has ended; one that does not is killed, so that its hosts are free for the next."""
    try:
        process.communicate(timeout=END_S)
    except subprocess.TimeoutExpired:
        for pid, words in host.processes().items():
            if name in words:
                os.kill(pid, signal.SIGKILL)
        said, errors = process.communicate()
        raise AssertionError(f"The run did not end within {END_S:g} s: {said}{errors}") from None


def await_load(lab: Lab, name: str, intervals: int = LOADED_INTERVALS) -> Path:
    """Waits until a run has recorded so many intervals; returns the file of its events."""
    until = time.monotonic() + LOAD_S
    while time.monotonic() < until:
        found = list(lab.host.tmp.glob(f"results/*-{name}/runs/*/events.jsonl"))
        if found and found[0].read_text().count('"event":"interval"') >= intervals:
            return found[0]
        time.sleep(0.05)
    raise TimeoutError("no load came")


def _until_gone(hosts: Mapping[str, NamespaceHost], died: float) -> float:
    while any("loadstone-driver join" in words for host in hosts.values() for words in host.processes().values()):
        if time.time() - died > LOAD_S:
            raise TimeoutError("load goes on")
        time.sleep(0.05)
    return time.time() - died


def _ours(hosts: Mapping[str, NamespaceHost]) -> list[str]:
    return [
        f"{host.name}: {words[:60]}"
        for host in hosts.values()
        for words in host.processes().values()
        if OURS.match(words)
    ]


def _kill(host: str, pattern: str) -> Callable[[Mapping[str, NamespaceHost]], None]:
    def kill(hosts: Mapping[str, NamespaceHost]) -> None:
        pids = [pid for pid, words in hosts[host].processes().items() if re.match(pattern, words)]
        assert pids, hosts[host].processes()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    return kill


DEATHS: Mapping[Death, Callable[[Mapping[str, NamespaceHost]], None]] = {
    Death.DRIVER: _kill("d1", r"\S*loadstone-driver join"),
    Death.DRIVERS_SUPERVISOR: _kill("d1", "ray::SupervisorActor"),
    Death.SYSTEMS_SUPERVISOR: _kill("s1", "ray::SupervisorActor"),
    Death.RAYLET: _kill("d1", r"\S*raylet/raylet"),
    Death.CABLE: lambda hosts: hosts["d1"].cut(),
    Death.SYSTEMS_CABLE: lambda hosts: hosts["s1"].cut(),
    Death.ENGINE: _kill("lab", r".*loadstone\.fleet\.ray_engine"),
    Death.HEAD: _kill("lab", r"\S*gcs_server"),
}
