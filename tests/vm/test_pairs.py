"""Fault-tolerant pairs: whoever serves may be killed, and those who were served notice a pause at most.

Most tests play on one pair of the module, in order: each begins with the pair whole, and the last leaves nobody.
"""

import asyncio
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from benches.failovers import Client, serving
from benches.protections import protect_once

from loadstone.model.errors import PlatformError
from loadstone.model.fault import FaultKind
from loadstone.platforms.pair import build, gate, local_side
from loadstone.platforms.pair.command import PairLayout, SideFiles, build_qemu_command
from loadstone.platforms.pair.fitness import BESIDE_MIB, FITNESS_MIB
from loadstone.platforms.pair.machine import FIRST_SECONDARY, PairMachine
from loadstone.platforms.pair.mode import Mode
from loadstone.services import reference
from tests.vm.conftest import SharedPair, assert_nobody_answers, more_answers, patient_agents, shared_pair
from tests.waiting import WAIT_S, until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.own_network,
    pytest.mark.usefixtures("nothing_is_left_of_module"),
    pytest.mark.skipif(os.geteuid() != 0, reason="networks and mounts of their own need root"),
    pytest.mark.slow("virtual machines start, and QEMU emulates them"),
]

FIRST_SECONDARY_SIDE = "b"
PAUSE_S = 20.0
"""Longest time without an answer: ten times as long as is usual, on a host with other work."""
KILLS = 3
PROTECTED_AFTER_S = 0.5
"""Time for which a client asks before the machine is protected anew."""
PROTECTIONS = 5
"""Attempts at most: a busy host may write the state while it lets the machine wait."""
SLOW_S = (0.09, 0.01)
"""A slow secondary stands still and runs in turn for so long: it has a tenth of the processor's time."""


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """File where builds of QEMU are remembered that have shown that they replay."""
    return tmp_path_factory.mktemp("builds") / "builds.json"


@pytest.fixture(scope="module")
def pair(
    builds: Path, nothing_is_left_of_module: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SharedPair]:
    """A pair of a build of QEMU that is not known."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "SUPPORTED_QEMU_DIGESTS", frozenset())
        patch.setattr(build, "_file", lambda: builds)
        assert not build.is_known_build()
        with shared_pair(tmp_path_factory.mktemp("pair")) as pair:
            yield pair


@pytest.mark.slow("boots a pair, whose build has to show that it replays")
def test_an_unknown_build_shows_that_it_replays_and_is_remembered(pair: SharedPair, builds: Path) -> None:
    assert pair.machine.is_protected
    assert build.is_known_build()
    assert len(json.loads(builds.read_text())) == 1


def test_a_pairs_memory_is_locked(pair: SharedPair) -> None:
    async def play() -> None:
        for side in (pair.primary, pair.secondary):
            status = Path(f"/proc/{side.pid}/status").read_text()
            locked_kib = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmLck"))
            assert locked_kib >= pair.machine.layout.spec.memory << 10

    pair.play(play)


def test_a_side_takes_no_more_memory_than_the_check_before_counts(pair: SharedPair) -> None:
    for side in (pair.primary, pair.secondary):
        taken = sum(psutil.Process(pid).memory_info().rss for pid in side.processes.values())
        memory = pair.machine.layout.spec.memory
        assert memory < taken / FITNESS_MIB < memory + BESIDE_MIB
        assert taken / FITNESS_MIB > memory + BESIDE_MIB / 2, "the check counts far too much"


@pytest.mark.slow("three primaries are killed and replaced in turn")
def test_killed_primaries_are_survived_by_connections_and_no_acknowledged_write_is_lost(pair: SharedPair) -> None:
    async def play() -> None:
        machine = pair.machine
        async with pair.client() as client, pair.writer() as writer:
            for _ in range(KILLS):
                primary, secondary, generation = pair.primary, pair.secondary, last_generation(pair)
                killed = time.monotonic()
                os.kill(primary.processes["machine"], signal.SIGKILL)
                live = await secondary.wait_event("live")
                await more_answers(client)
                await more_answers(writer)
                assert max(client.longest_gap_s(killed), writer.longest_gap_s(killed)) < PAUSE_S
                assert live["generation"] == generation + 1
                assert machine.serving is secondary
                assert sum(side.pid != 0 for side in machine.sides) == 1
                assert await machine.protect() < PAUSE_S
        assert (client.errors, writer.errors, writer.lost, writer.repeated) == ([], [], 0, 0)
        assert not pair.events("diverged")
        assert (await machine.start("other", reference.build_backend_command(machine.listen, 1))).first_line

    pair.play(play)


def last_generation(pair: SharedPair) -> int:
    """Returns how often a side has gone on without the other."""
    return max((event["generation"] for event in pair.events("live") + pair.events("alone")), default=0)


def test_a_killed_secondary_leaves_the_primary_serving(pair: SharedPair) -> None:
    async def play() -> None:
        primary, generation, seen = pair.primary, last_generation(pair), len(pair.primary.events)
        async with pair.client() as client:
            os.kill(pair.secondary.processes["machine"], signal.SIGKILL)
            alone = await primary.wait_event("alone", after=seen)
            await more_answers(client)
        assert client.errors == []
        assert alone["generation"] == generation + 1
        assert pair.machine.serving is primary

    pair.play(play)


def test_a_secondary_that_takes_no_log_is_given_up_before_its_primarys_users_have_gone(pair: SharedPair) -> None:
    async def play() -> None:
        primary, secondary, generation = pair.primary, pair.secondary, last_generation(pair)
        seen = len(primary.events)
        async with pair.client() as client:
            filled = time.monotonic()
            await pair.machine.fail(FaultKind.FILL_BUFFER)
            alone = await primary.wait_event("alone", after=seen)
            await secondary.wait_event("over")
            await more_answers(client)
        assert client.errors == []
        assert alone["generation"] == generation + 1
        assert 1 < client.longest_gap_s(filled) < PAUSE_S
        await pair.machine.protect()
        assert pair.machine.is_protected

    pair.play(play)


def test_a_cut_channel_leaves_one_side(pair: SharedPair) -> None:
    async def play() -> None:
        sides = (pair.primary, pair.secondary)
        seen = [len(side.events) for side in sides]

        def claims() -> list[str]:
            new = [event for side, at in zip(sides, seen, strict=True) for event in side.events[at:]]
            return sorted(event["came"].split()[0] for event in new if event["event"] == "claim")

        async with pair.client() as client:
            await pair.secondary.order("cut")
            await until(lambda: len(claims()) == 2 and sum(side.pid != 0 for side in sides) == 1)
            await more_answers(client)
        assert client.errors == []
        assert claims() == ["lost", "won"]
        assert sum(side.pid != 0 for side in sides) == 1

    pair.play(play)


def test_a_frozen_primary_is_replaced(pair: SharedPair) -> None:
    async def play() -> None:
        primary, secondary = pair.primary, pair.secondary
        seen, generation = len(primary.events), last_generation(pair)
        async with pair.client() as client:
            await pair.machine.fail(FaultKind.FREEZE_PRIMARY)
            await secondary.wait_event("live")
            await more_answers(client)
        assert client.errors == []
        assert [event["event"] for event in secondary.events].count("live") == 1
        assert last_generation(pair) == generation + 1
        assert not any(event["event"] == "alone" for event in primary.events[seen:])

    pair.play(play)


def test_a_pair_makes_itself_whole_and_can_be_told_to_stay_alone(pair: SharedPair) -> None:
    async def play() -> None:
        machine, secondary = pair.machine, pair.secondary
        machine.may_be_kept = True
        await machine.fail(FaultKind.KILL_PRIMARY)
        await until(lambda: machine.is_protected and machine.serving is secondary)
        assert machine.recovery["protected"] > machine.recovery["live"]
        machine.may_be_kept = False
        await machine.unprotect()
        assert not machine.is_protected
        with pytest.raises(PlatformError, match="is not protected"):
            await machine.fail(FaultKind.KILL_SECONDARY)
        assert machine.serving.pid

    pair.play(play)


def test_clients_are_answered_while_the_state_of_a_machine_that_is_protected_anew_is_written(pair: SharedPair) -> None:
    async def play() -> None:
        for _ in range(PROTECTIONS):
            protection = await protect_once(pair.machine, Client(*pair.web, WAIT_S), PROTECTED_AFTER_S)
            assert protection.errors == []
            if protection.answers_while_written > 0:
                break
        assert protection.answers_while_written > 0, protection
        assert pair.machine.is_protected

    pair.play(play)


def test_a_slow_secondary_slows_its_primary_until_it_has_caught_up(pair: SharedPair) -> None:
    async def play() -> None:
        primary, secondary = pair.primary, pair.secondary
        late = time.monotonic() + 60
        async with pair.client() as client:
            while primary.metrics.get("slowed_pct", 0) <= 20 and time.monotonic() < late:
                os.kill(secondary.processes["machine"], signal.SIGSTOP)
                await asyncio.sleep(SLOW_S[0])
                os.kill(secondary.processes["machine"], signal.SIGCONT)
                await asyncio.sleep(SLOW_S[1])
            assert primary.metrics["slowed_pct"] > 20
            await more_answers(client)
        await until(lambda: primary.metrics["slowed_pct"] == 0)
        assert client.errors == []
        assert pair.machine.is_protected

    pair.play(play)


def test_without_agents_nobody_goes_on(pair: SharedPair) -> None:
    async def play() -> None:
        primary, secondary = pair.primary, pair.secondary
        seen = len(primary.events)
        await assert_nobody_answers(pair, FaultKind.KILL_AGENTS)
        assert not any(event["event"] == "live" for event in secondary.events)
        assert not any(event["event"] == "alone" for event in primary.events[seen:])

    pair.play(play)


@pytest.mark.slow("boots a pair")
def test_a_build_that_does_not_show_that_it_replays_is_refused_and_may_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "SUPPORTED_QEMU_DIGESTS", frozenset())
    monkeypatch.setattr(build, "_file", lambda: tmp_path / "builds.json")
    monkeypatch.setattr(gate, "REPLAYED_S", 2.0)

    async def play() -> None:
        with patient_agents():
            async with serving(tmp_path):
                pass

    async def stop_the_secondary(machine: PairMachine) -> None:
        """In place of the first step: its second machine stands still from then on, as one that lost its place."""
        assert machine.follower is not None
        os.kill(machine.follower.processes["machine"], signal.SIGSTOP)

    monkeypatch.setattr(PairMachine, "unprotect", stop_the_secondary)
    with pytest.raises(
        PlatformError, match=r"has not shown that it replays its record: .* try again when the host is idle"
    ):
        asyncio.run(play())
    assert not build.is_known_build()


def test_a_machine_that_is_not_protected_serves_alone_on_the_same_board(tmp_path: Path) -> None:
    with shared_pair(tmp_path, protected=False) as pair:

        async def play() -> None:
            async with pair.client() as client:
                await more_answers(client)
            assert client.errors == []

        pair.runner.run(play())
        machine = pair.machine
        assert machine.follower is None
        assert not machine.is_protected
        assert set(machine.serving.processes) == {"machine", "agent"}
        assert "none" in machine.facts["protection"]
        argv = Path(f"/proc/{machine.pid}/cmdline").read_text().split("\0")
        assert "shift=1,sleep=on" in argv
        with pytest.raises(PlatformError, match="is not protected"):
            pair.runner.run(machine.fail(FaultKind.KILL_SECONDARY))


@pytest.mark.slow("boots a pair, one side of which has to be made twice")
def test_a_secondary_that_ends_at_its_start_is_replaced_and_the_report_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start_no_secondary(layout: PairLayout, mode: Mode, files: SideFiles, *more: Any) -> list[str]:
        argv = build_qemu_command(layout, mode, files, *more)
        return ["sh", "-c", "echo no such device; exit 3"] if files.name == FIRST_SECONDARY_SIDE else argv

    async def play() -> None:
        async with serving(tmp_path) as (machine, *_):
            assert machine.is_protected
            assert [side.files.name for side in machine.sides] == ["a", "side-2"]
            (why,) = machine.failures
            assert "QEMU ended with status 3: no such device" in why
            assert machine.facts[FIRST_SECONDARY] == f"did not follow, and was replaced: {why}"

    monkeypatch.setattr(local_side, "build_qemu_command", start_no_secondary)
    with patient_agents():
        asyncio.run(play())
