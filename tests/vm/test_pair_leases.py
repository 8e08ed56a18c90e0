"""Pairs whose keeper is gone, of real agents with a small process in each machine's place: they run on for their lease,
and the next keeper finds all that was reported.
"""

import asyncio
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.agents import UNHURRIED_MS, Half, Network, leased, whole_pair
from tests.waiting import until

LONG_S, SHORT_S = 600, 5
UNREAD = 3000


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    network = Network()
    yield network
    network.close()


def test_a_pair_without_a_keeper_runs_on_survives_a_fault_and_is_taken_over(network: Network, tmp_path: Path) -> None:
    async def play() -> None:
        with network.watched():
            async with whole_pair(network, tmp_path, UNHURRIED_MS, lease_s=LONG_S) as pair:
                for half in pair.halves:
                    half.leave()
                assert await pair.runs_on()
                pair.a.signal(signal.SIGKILL, "machine")
                await until(lambda: not pair.a.is_up)
                assert await pair.runs_on()
                assert (pair.segments, pair.missing) == ("ab", [])
                await pair.b.take_over()
                await pair.b.event("live")
                names = [event["event"] for event in pair.b.events]
                assert names[0] == "ready"
                assert names.index("unkept") < names.index("live")
                await pair.b.order("protect")
                await pair.b.event("listening")
                assert await pair.runs_on()

    asyncio.run(play())


@pytest.mark.slow("leases of seconds run out")
def test_a_pair_without_a_keeper_ends_with_its_lease_and_a_new_keeper_renews_it(
    network: Network, tmp_path: Path
) -> None:
    async def play() -> None:
        with network.watched():
            async with whole_pair(network, tmp_path, UNHURRIED_MS, lease_s=SHORT_S) as pair:
                for half in pair.halves:
                    half.leave()
                    await half.take_over()
                await asyncio.sleep(1.2 * SHORT_S)
                assert await pair.runs_on()
                left = time.monotonic()
                for half in pair.halves:
                    half.leave()
                await until(lambda: not any(half.is_up for half in pair.halves))
                assert time.monotonic() - left >= SHORT_S
                for half in pair.halves:
                    assert half.agent is not None
                    assert half.machine is not None
                    assert half.agent.returncode == 0
                    await half.machine.wait()

    asyncio.run(play())


def test_a_second_keeper_replaces_the_first(network: Network, tmp_path: Path) -> None:
    async def play() -> None:
        with network.watched():
            async with whole_pair(network, tmp_path, UNHURRIED_MS, lease_s=0) as pair:
                before = pair.a.events
                await pair.a.take_over()
                await until(lambda: before[-1]["event"] == "replaced")
                await pair.a.event("protected")
                assert await pair.runs_on()

    asyncio.run(play())


def test_a_keeper_that_reads_nothing_is_disconnected_and_the_next_one_gets_all(
    network: Network, tmp_path: Path
) -> None:
    async def play() -> None:
        with network.watched():
            async with whole_pair(network, tmp_path, UNHURRIED_MS, lease_s=LONG_S) as pair:
                line = pair.a.line
                assert line is not None
                pair.a.stop_reading()
                for _ in range(UNREAD):
                    await line.order("nothing that there is, " + 100 * "x")
                assert await pair.runs_on()
                await pair.a.take_over()
                await until(lambda: [event["event"] for event in pair.a.events].count("refused") == UNREAD)
                assert pair.is_whole
                assert pair.segments == "a"

    asyncio.run(play())


def test_a_machine_that_stood_still_for_its_keeper_is_continued(network: Network, tmp_path: Path) -> None:
    """Where the keeper is killed while the machine is saved."""
    commands: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """As QEMU's monitor does."""
        writer.write(b'{"QMP": {}}\n')
        async for line in reader:
            commands.append(json.loads(line)["execute"])
            writer.write(b'{"timestamp": {}, "event": "RESUME"}\n{"return": {}}\n')
        writer.close()

    async def play() -> None:
        stem = await asyncio.to_thread(network.add_pair)
        place = tmp_path / stem
        (place / "store").mkdir(parents=True)
        half = Half("a", place)
        options = [*leased(half.files, LONG_S), "--monitor", str(half.files.qmp)]
        server = await asyncio.start_unix_server(answer, path=half.files.qmp)
        try:
            await half.start_agent(network, f"{stem}a", "52:54:00:00:01:02", UNHURRIED_MS, None, *options)
            await half.start_machine("record", "52:54:00:00:01:02")
            await half.event("ready")
            half.leave()
            await half.take_over()
            await half.order("hold")
            half.leave()
            await until(lambda: commands == ["qmp_capabilities", "cont"])
            assert half.is_up
        finally:
            server.close()
            await half.end()

    asyncio.run(play())
