"""Fault-tolerant pairs: whoever serves may be killed, and those who were served notice a pause at most."""

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from benches.failovers import Client, chain, serving

from loadstone.model.errors import PlatformError
from loadstone.model.fault import FaultKind
from loadstone.platforms.pair import build, gate
from loadstone.platforms.pair.machine import PairMachine
from loadstone.services import reference
from tests.contract.conftest import nothing_is_left  # noqa: F401

pytestmark = [
    pytest.mark.integration,
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="networks and mounts of their own need root"),
]


async def until(holds: Callable[[], bool]) -> None:
    """Waits for something to become so."""
    late = time.monotonic() + 30
    while not holds() and time.monotonic() < late:
        await asyncio.sleep(0.05)
    assert holds()


async def answered(client: Client, count: int) -> None:
    """Until a client has had so many answers."""
    until = time.monotonic() + 30
    while len(client.answers) < count and not client.errors and time.monotonic() < until:
        await asyncio.sleep(0.05)
    assert len(client.answers) >= count, client.errors


def test_a_killed_primary_is_survived_by_connections_and_clients_see_a_pause(tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(tmp_path) as (machine, host, port):
            client = Client(host, port)
            asking = asyncio.create_task(asyncio.to_thread(client.ask))
            await answered(client, 20)
            killed = time.monotonic()
            os.kill(machine.sides[0].pid, signal.SIGKILL)
            live = await machine.sides[1].event("live")
            await answered(client, len(client.answers) + 20)
            client.end()
            await asking
            assert client.errors == []
            assert client.longest_gap_s(killed) < 5
            assert machine.serving is machine.sides[1]
            assert live["generation"] == 1
            assert (await machine.start("other", reference.backend_command(machine.listen, 1))).first_line

    asyncio.run(play())


def test_a_killed_secondary_leaves_the_primary_serving(tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(tmp_path) as (machine, host, port):
            client = Client(host, port)
            asking = asyncio.create_task(asyncio.to_thread(client.ask))
            await answered(client, 20)
            os.kill(machine.sides[1].pid, signal.SIGKILL)
            alone = await machine.sides[0].event("alone")
            await answered(client, len(client.answers) + 20)
            client.end()
            await asking
            assert client.errors == []
            assert alone["generation"] == 1
            assert machine.serving is machine.sides[0]

    asyncio.run(play())


def test_a_secondary_that_takes_no_log_is_given_up_before_its_primarys_users_have_gone(tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(tmp_path) as (machine, host, port):
            machine.may_be_kept = False
            client, (primary, secondary) = Client(host, port), machine.sides
            asking = asyncio.create_task(asyncio.to_thread(client.ask))
            await answered(client, 20)
            filled = time.monotonic()
            await machine.fail(FaultKind.FILL_BUFFER)
            told = await primary.event("alone")
            await secondary.event("over")
            await answered(client, len(client.answers) + 20)
            client.end()
            await asking
            assert client.errors == []
            assert told["generation"] == 1
            assert 1 < client.longest_gap_s(filled) < 10
            await machine.protect()
            assert machine.is_protected

    asyncio.run(play())


def test_a_cut_channel_leaves_one_side(tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(tmp_path) as (machine, host, port):
            client = Client(host, port)
            asking = asyncio.create_task(asyncio.to_thread(client.ask))
            await answered(client, 20)
            await machine.sides[1].order("cut")
            await asyncio.sleep(2)
            await answered(client, len(client.answers) + 20)
            client.end()
            await asking
            assert client.errors == []
            claims = [event for side in machine.sides for event in side.events if event["event"] == "claim"]
            assert sorted(claim["came"].split()[0] for claim in claims) == ["lost", "won"]
            assert sum(side.pid != 0 for side in machine.sides[:2]) == 1  # a third may have come since

    asyncio.run(play())


def test_a_machine_is_made_whole_again_and_survives_again_and_nothing_told_is_lost(tmp_path: Path) -> None:
    trials = asyncio.run(chain(1, 3, tmp_path))
    assert [trial.survived for trial in trials] == [True] * 3, trials
    assert all(trial.writes > 10 for trial in trials)
    assert all(trial.paused_s < 5 for trial in trials)


def test_a_pair_makes_itself_whole_and_can_be_told_to_stay_alone(tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(tmp_path) as (machine, _, _):
            await machine.fail(FaultKind.KILL_PRIMARY)
            await until(lambda: machine.is_protected and machine.serving is machine.sides[1])
            assert machine.recovery["protected"] > machine.recovery["live"]
            machine.may_be_kept = False
            await machine.unprotect()
            assert not machine.is_protected
            with pytest.raises(PlatformError, match="not whole"):
                await machine.fail(FaultKind.KILL_SECONDARY)
            assert machine.serving.pid

    asyncio.run(play())


@pytest.mark.parametrize(
    ("fault", "goes_on"),
    [(FaultKind.FREEZE_PRIMARY, True), (FaultKind.KILL_AGENTS, False), (FaultKind.LOSE_STORE, False)],
)
def test_after_any_fault_one_side_goes_on_or_none(fault: FaultKind, goes_on: bool, tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(tmp_path) as (machine, host, port):
            machine.may_be_kept = False
            client = Client(host, port, patience_s=5)
            asking = asyncio.create_task(asyncio.to_thread(client.ask))
            await answered(client, 20)
            await machine.fail(fault)
            await asyncio.sleep(3)
            before = len(client.answers)
            await asyncio.sleep(2)
            assert (len(client.answers) > before) == goes_on
            assert [event["event"] for event in machine.sides[1].events].count("live") == int(goes_on)
            assert not any(event["event"] == "alone" for event in machine.sides[0].events)
            client.end()
            await asking

    asyncio.run(play())


def test_an_unknown_build_shows_that_it_replays_and_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "KNOWN", frozenset())
    monkeypatch.setattr(build, "_file", lambda: tmp_path / "builds.json")

    async def play() -> None:
        async with serving(tmp_path) as (machine, _, _):
            assert machine.is_protected

    assert not build.is_known_build()
    asyncio.run(play())
    assert build.is_known_build()
    assert len(json.loads((tmp_path / "builds.json").read_text())) == 1


def test_a_build_that_does_not_replay_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "KNOWN", frozenset())
    monkeypatch.setattr(build, "_file", lambda: tmp_path / "builds.json")
    monkeypatch.setattr(gate, "REPLAYED_S", 2.0)

    async def play() -> None:
        async with serving(tmp_path):
            pass

    frozen = PairMachine.unprotect

    async def standing_still(machine: PairMachine) -> None:
        """In place of the first step: its second machine stands still from then on, as one that lost its place."""
        await frozen(machine)
        await machine.protect()
        assert machine.follower is not None
        os.kill(machine.follower.pid, signal.SIGSTOP)

    monkeypatch.setattr(PairMachine, "unprotect", standing_still)
    with pytest.raises(PlatformError, match="does not replay what it records"):
        asyncio.run(play())
    assert not build.is_known_build()


def test_a_slow_secondary_slows_its_primary_until_it_has_caught_up(tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(tmp_path) as (machine, host, port):
            client, secondary = Client(host, port), machine.sides[1]
            asking = asyncio.create_task(asyncio.to_thread(client.ask))
            seen = []
            for _ in range(50):  # a tenth of the processor's time
                os.kill(secondary.pid, signal.SIGSTOP)
                await asyncio.sleep(0.09)
                os.kill(secondary.pid, signal.SIGCONT)
                await asyncio.sleep(0.01)
                seen.append(machine.sides[0].metrics.get("slowed_pct", 0))
            assert max(seen) > 20
            await until(lambda: machine.sides[0].metrics["slowed_pct"] == 0)
            client.end()
            await asking
            assert client.errors == []
            assert machine.is_protected

    asyncio.run(play())


def test_both_sides_wrote_the_same_and_sent_the_same(tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(tmp_path) as (machine, host, port):
            client = Client(host, port)
            asking = asyncio.create_task(asyncio.to_thread(client.ask))
            await answered(client, 50)
            client.end()
            await asking
            await asyncio.sleep(2.5)  # the agents report every second
            primary, secondary = machine.sides
            assert not any(event["event"] == "diverged" for side in machine.sides for event in side.events)
            assert primary.console.read_bytes() == secondary.console.read_bytes()
            assert primary.metrics["frames"] > 50
            assert primary.metrics["waiting"] == 0
            assert primary.metrics["lag_ms"] < 1000

    asyncio.run(play())
