"""Agents of hosts that others run: where a token goes, and what is believed of an answer."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from loadstone.measure import agent as measure_agent
from loadstone.measure.agent import assign_tokens, split_address, watch_agents
from loadstone.measure.machine import GaugeReading, compute_views
from loadstone.model.errors import ServiceError, UsageError
from tests.waiting import WAIT_S

ONE, OTHER = "https://a.example:7070", "https://b.example:7070"


WRONG = (
    *("http://shop.example:7070", "http://10.0.0.1:7070", "ftp://a", "ssh://-oProxy", "a:1", "http://[::1", "ssh://"),
    *("ssh://a:99999", "https://a:99999", "https://a", "ssh://you@-oProxyCommand=x", "ssh://-l@a", "ssh://you@", ""),
)


@pytest.mark.parametrize("url", WRONG)
def test_addresses_that_would_tell_the_token_to_others_are_refused(url: str) -> None:
    with pytest.raises(UsageError):
        split_address(url)


@pytest.mark.parametrize("url", ["http://127.0.0.1:7070", "http://localhost:7070", ONE, "ssh://you@a.example:2222"])
def test_others_are_taken(url: str) -> None:
    assert url.endswith(split_address(url)[1])


def test_of_several_agents_none_learns_anothers_token() -> None:
    assert assign_tokens((ONE,), "first") == {ONE: "first"}
    assert assign_tokens((ONE, "ssh://c.example"), "first") == {ONE: "first"}
    given = "a.example:7070=first,b.example:7070=second=="
    assert assign_tokens((ONE, OTHER), given) == {ONE: "first", OTHER: "second=="}


@pytest.mark.parametrize("given", ["first", "a.example:7070=first", "a b", "se\rcret", "a.example:7070=x,b.example=y"])
def test_a_token_that_cannot_be_read_is_refused_without_saying_it(given: str) -> None:
    urls = (ONE, OTHER) if given.isprintable() and " " not in given else (ONE,)
    with pytest.raises(UsageError) as refused:
        assign_tokens(urls, given)
    assert given not in str(refused.value)


def ssh(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "ssh").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "ssh").chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_why_ssh_ended_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ssh(tmp_path, 'echo "no way to $*" >&2; exit 255', monkeypatch)

    async def asked() -> None:
        async with watch_agents(("ssh://you@a.example:2222",), None):
            pass

    with pytest.raises(ServiceError, match=r"no way to -o BatchMode=yes -p 2222 you@a\.example .*Check that `ssh -o"):
        asyncio.run(asked())


def test_an_answer_that_came_too_late_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"unix_ns": 1, "cores": 1, "running": 1, "groups": [], "host": "a"}
    told |= {key: {} for key in ("cpu", "memory", "swap", "disk", "network", "pressure_us")}
    line = json.dumps(told)[:-1] + ', "turn": %s}\\n'
    late = "read n; printf '{}' $n; read n; read m; printf '{}' $n; printf '{}' $m; read n"
    ssh(tmp_path, late.replace("{}", line), monkeypatch)

    async def asked() -> list[object]:
        async with watch_agents(("ssh://a.example",), None) as found:
            gauge = found["a"]
            monkeypatch.setattr(measure_agent, "AGENT_TIMEOUT_S", 0.1)
            first = await gauge.read_inside()
            monkeypatch.setattr(measure_agent, "AGENT_TIMEOUT_S", WAIT_S)
            return [first, await gauge.read_inside()]

    first, second = asyncio.run(asked())
    assert first is None
    assert isinstance(second, dict)
    assert second["turn"] == 2


def test_what_a_strange_agent_leaves_out_is_nothing() -> None:
    before = {"unix_ns": 0, "cores": 1, "running": 1, "groups": [{"group": 1, "name": "a", "cpu": 9.0, "resident": 1}]}
    before |= {name: {} for name in ("cpu", "memory", "swap", "disk", "network", "pressure_us")}
    after = {**before, "unix_ns": 10**9, "cpu": {"user": 5.0}, "disk": {"read_count": 4}, "pressure_us": {"cpu": 1}}
    after["groups"] = [{"group": 1, "name": "a", "cpu": 2.0, "resident": 1}]
    inside = compute_views(GaugeReading(before), GaugeReading(after)).inside
    assert inside is not None
    assert (inside.cpu_cores, inside.pressure, inside.groups) == ({}, {}, ())
