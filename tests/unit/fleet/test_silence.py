"""What a coordinator that stands still ends, and what it takes for lost when it continues."""

import asyncio
import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from loadstone.fleet import reserved, supervisor
from loadstone.fleet.contract import HostLostError, Json
from loadstone.fleet.reserved import BEAT_S, STALL_S, FleetHost
from loadstone.fleet.supervisor import Supervisor
from loadstone.model.fleet import HostSpec
from tests.waiting import until

LONG_S = 1e9


@dataclass
class PaperDriver:
    """A driver that notes its end."""

    has_ended: bool = False

    async def stop(self) -> None:
        self.has_ended = True


@pytest.mark.parametrize("lease_s", [0, 600])
def test_a_silent_coordinator_ends_its_drivers_and_no_pair_until_the_pairs_own_time(
    lease_s: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "PAIR_SILENCE_TIMEOUT_S", LONG_S)
    monkeypatch.setattr(supervisor, "SUPERVISOR_POLL_INTERVAL_S", 0.001)
    ended: list[str] = []
    undone: list[str] = []
    half = SimpleNamespace(lease_s=lease_s)
    parts: dict[str, Any] = {"_halves": {"db": half}, "_drivers": {"d": PaperDriver()}}

    async def play() -> None:
        host = Supervisor("s1", "10.0.0.2", ended=lambda: ended.append("s1"), silence_s=0.0, **parts)
        host._stack.callback(undone.append, "s1")
        driver, watching = parts["_drivers"]["d"], asyncio.create_task(host._watch())
        await until(lambda: driver.has_ended)
        assert not ended
        assert host._halves
        host._heard_s -= 2 * LONG_S
        await watching
        assert ended == ["s1"]
        assert undone == ([] if lease_s else ["s1"]), "a pair with a lease lives on"

    asyncio.run(play())


def test_a_host_without_a_part_of_a_pair_ends_all_when_its_coordinator_falls_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervisor, "PAIR_SILENCE_TIMEOUT_S", LONG_S)
    ended: list[str] = []
    asyncio.run(Supervisor("s1", "10.0.0.2", ended=lambda: ended.append("s1"), silence_s=0.0)._watch())
    assert ended == ["s1"]


def test_a_supervisor_that_stood_still_itself_does_not_take_its_coordinator_for_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervisor, "SUPERVISOR_POLL_INTERVAL_S", 0.001)
    ended: list[str] = []

    async def play() -> None:
        host = Supervisor("s1", "10.0.0.2", ended=lambda: ended.append("s1"), silence_s=0.3)
        watching = asyncio.create_task(host._watch())
        await asyncio.sleep(0.01)
        time.sleep(0.6)  # nothing in this process runs meanwhile
        await asyncio.sleep(0.01)
        assert not ended
        await watching  # nobody says anything
        assert ended == ["s1"]

    asyncio.run(play())


@dataclass
class LateEngine:
    """An engine whose answers are late by these times, on a clock that it moves."""

    late_s: list[float]
    now_s: float = 0.0
    asked: int = field(default=0)

    async def ask(self, name: str, document: Json, timeout_s: float) -> Any:
        self.asked += 1
        self.now_s += timeout_s + self.late_s.pop(0)
        raise HostLostError(f"{name} did not answer")


def test_an_answer_that_this_process_slept_through_loses_no_host(monkeypatch: pytest.MonkeyPatch) -> None:
    engine: Any = LateEngine([10.0, STALL_S + 0.1, 0.2])
    clock = SimpleNamespace(monotonic=lambda: engine.now_s, strftime=lambda _: "12:00:00")
    monkeypatch.setattr(reserved, "time", clock)
    host = FleetHost(
        "s1", HostSpec.model_validate({"roles": ["system"], "addresses": {"public": "10.0.0.2"}}), engine, 0
    )
    asyncio.run(host.beat())
    assert engine.asked == 3
    assert engine.now_s == pytest.approx(3 * (host.silence_s - BEAT_S) + 10.0 + STALL_S + 0.3)
    assert host.why == "s1 did not answer"
