"""Real agents of a pair under faults, with a small process in each machine's place: at most one side sends, nothing
that was sent is lost, and neither a joiner, a stranger nor a reader that stopped reading ends who serves.
"""

import asyncio
import signal
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.platforms.pair.command import SideFiles
from tests.vm.agent_faults import Faults, joined, play_trials, sample_faults, single_faults
from tests.vm.agents import UNHURRIED_MS, Half, Network, NotJoinedError, agent_argv, whole_pair
from tests.waiting import until

JOINERS = 40
LATE_TICKS, EVENT_BYTES = 60, 9
"""Ticks of the machine that are one and a half seconds, and what each has in the log."""
VERSION = 4
"""Of what agents speak."""
MAC = "52:54:00:00:01:01"
"""Of machines that do not start as a whole pair."""


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    network = Network()
    yield network
    network.close()


def assert_all_survive(network: Network, folder: Path, trials: list[Faults]) -> None:
    """Plays trials, and fails with all that was wrong in any of them: pytest would shorten a comparison."""
    if wrong := play_trials(network, folder, trials):
        pytest.fail("\n\n".join(wrong), pytrace=False)


@pytest.mark.slow("forty faults, each of which takes seconds to be over")
def test_after_every_fault_one_machine_runs_on_and_nothing_is_lost(network: Network, tmp_path: Path) -> None:
    trials = [[(name, 0.1)] for name in single_faults()]
    assert len(trials) >= 40
    assert_all_survive(network, tmp_path, trials)


@pytest.mark.slow("forty times two faults, each of which takes seconds to be over")
def test_after_two_faults_at_most_one_machine_runs_on_and_nothing_is_lost(network: Network, tmp_path: Path) -> None:
    assert_all_survive(network, tmp_path, sample_faults(40, 2, seed=7))


def test_a_machine_that_hangs_is_replaced(network: Network, tmp_path: Path) -> None:
    async def play() -> None:
        async with whole_pair(network, tmp_path) as pair:
            primary, secondary = pair.primary, pair.secondary
            primary.signal(signal.SIGSTOP, "machine")
            await until(lambda: primary.has_reported("hung") or any(half.has_parted for half in pair.halves))
            if not primary.has_reported("hung"):
                raise NotJoinedError("the host stood still, and the sides had parted before the machine was hung")
            await secondary.event("live")
            assert await pair.runs_on()
            assert pair.segments == "ab"
            assert await pair.list_violations() == []

    async def watch() -> None:
        with network.watched():
            await joined(play)

    asyncio.run(watch())


def test_an_agent_whose_reports_nobody_reads_serves_on(network: Network, tmp_path: Path) -> None:
    async def play() -> None:
        with network.watched():
            async with whole_pair(network, tmp_path, patience_ms=UNHURRIED_MS) as pair:
                for half in pair.halves:
                    half.is_read.clear()
                    for _ in range(3000):
                        await half.order("nothing that there is, " + 100 * "x")
                assert await pair.runs_on()
                assert await pair.runs_on()
                for half in pair.halves:
                    half.is_read.set()
                    await until(lambda half=half: len([e for e in half.events if e["event"] == "refused"]) == 3000)
                assert pair.is_whole
                assert pair.segments == "a"

    asyncio.run(play())


def test_status_figures_are_of_this_moment(network: Network, tmp_path: Path) -> None:
    async def play() -> None:
        with network.watched():
            async with whole_pair(network, tmp_path, patience_ms=UNHURRIED_MS) as pair:
                primary = pair.primary
                await until(lambda: primary.metrics.get("round_trip_ms") is not None)
                await until(lambda: primary.metrics["log_mbit_per_s"] > 0)
                pair.secondary.signal(signal.SIGSTOP, "machine")
                await until(lambda: primary.metrics["lag_ms"] > 1500)  # though nothing is replayed that could tell

    asyncio.run(play())


DELAY_US = 5000


def test_a_channel_that_takes_longer_holds_outputs_for_the_round_trip(network: Network, tmp_path: Path) -> None:
    async def play() -> None:
        with network.watched():
            async with whole_pair(network, tmp_path, patience_ms=UNHURRIED_MS, delay_us=DELAY_US) as pair:
                primary = pair.primary
                await until(lambda: primary.metrics.get("round_trip_ms") is not None)
                assert primary.metrics["round_trip_ms"] >= 2 * DELAY_US / 1000
                await until(lambda: primary.metrics["held_ms"]["p50"] >= 2 * DELAY_US / 1000)
                assert await pair.runs_on()
                assert await pair.list_violations() == []

    asyncio.run(play())


def test_a_secondary_that_cannot_take_over_soon_protects_nobody(network: Network, tmp_path: Path) -> None:
    async def play() -> None:
        primary = await start_agent_alone(network, tmp_path, UNHURRIED_MS)
        secondary = Half("b", primary.folder)
        try:
            await primary.order("protect")
            address = str((await primary.event("listening"))["address"])
            await primary.start_machine("record", MAC)  # later than `protect`: the log has its first event
            await secondary.start_agent(network, f"{primary.folder.name}b", MAC, UNHURRIED_MS, address)
            await secondary.start_machine("replay", MAC, is_stopped=True)
            await primary.event("joined")
            seen = primary.metrics.get("recorded", 0)
            await until(lambda: primary.metrics.get("received", 0) > seen + LATE_TICKS * EVENT_BYTES)
            assert not primary.has_reported("protected"), "it holds the log, and has replayed none of it"
            secondary.signal(signal.SIGCONT, "machine")
            await primary.event("protected")
        finally:
            for half in (primary, secondary):
                await half.end()

    asyncio.run(play())


def hello(name: str, key: str, is_log: bool) -> bytes:
    """The first message of an agent, as postcard encodes it."""

    def text(value: str) -> bytes:
        assert len(value) < 128
        return bytes([len(value)]) + value.encode()

    body = bytes([0, VERSION]) + text(name) + bytes([0, is_log]) + text(key)
    return struct.pack(">I", len(body)) + body


async def join_and_reset(address: tuple[str, int], key: str, after_s: float) -> None:
    """Greets as a secondary does on both connections, then resets one of them."""
    lines = []
    for is_log in (False, True):
        reader, writer = await asyncio.open_connection(*address)
        writer.write(hello("b", key, is_log))
        await writer.drain()
        lines.append((reader, writer))
    await asyncio.sleep(after_s)
    for _, writer in lines:
        opened = writer.get_extra_info("socket")
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()


async def alone(network: Network, folder: Path, patience_ms: int = 500) -> Half:
    """A machine that serves alone."""
    half = await start_agent_alone(network, folder, patience_ms)
    await half.start_machine("record", MAC)
    return half


async def start_agent_alone(network: Network, folder: Path, patience_ms: int) -> Half:
    """The agent of such a machine, which is still to start."""
    stem = await asyncio.to_thread(network.add_pair)  # its library has an event loop of its own
    place = folder / stem
    (place / "store").mkdir(parents=True)
    half = Half("a", place)
    await half.start_agent(network, f"{stem}a", MAC, patience_ms, None)
    return half


@pytest.mark.parametrize("kind", ["resets", "is killed"])
def test_a_side_that_joins_and_goes_away_ends_nobody_else(kind: str, network: Network, tmp_path: Path) -> None:
    async def play() -> None:
        half = await alone(network, tmp_path)
        try:
            for number in range(JOINERS):
                seen = len(half.events)
                await half.order("protect")
                address = str((await half.event("listening", after=seen))["address"])
                host, _, port = address.rpartition(":")
                after_s = 0.0007 * (number % 20)
                if kind == "resets":
                    key = (half.folder / "store" / "channel-key").read_text()
                    await join_and_reset((host, int(port)), key, after_s)
                else:
                    await follow_and_die(half, network, address, after_s)
                assert half.is_up, (number, half.errors)
            seen = len(half.events)
            await half.order("protect")
            await half.event("listening", after=seen)
        finally:
            await half.end()

    asyncio.run(play())


async def follow_and_die(half: Half, network: Network, address: str, after_s: float) -> None:
    """A real agent that follows, and is killed shortly after its start."""
    files = SideFiles(half.folder, "b")
    argv = agent_argv(files, network, f"{half.folder.name}b", MAC, address)
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    await asyncio.sleep(0.004 + after_s)
    process.kill()
    await process.wait()
    for path in (files.memory, files.outlet):
        path.unlink(missing_ok=True)
