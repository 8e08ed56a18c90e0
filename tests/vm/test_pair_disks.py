"""A pair's disks, a replica for each side or one that both share: what was acknowledged is there after every fault.

Tests of a class play on one pair, in order: each begins with the pair whole, and the last ends it.
"""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from benches.failovers import Writer, database_of, run, serving

from loadstone.model.errors import PlatformError
from loadstone.model.fault import FaultKind
from loadstone.platforms.pair import local
from loadstone.platforms.pair.command import SideFiles
from loadstone.platforms.pair.disk import Disks, Reads
from loadstone.platforms.pair.machine import PairMachine
from loadstone.platforms.pair.side import Side
from tests.vm.conftest import (
    SharedPair,
    asking,
    assert_nobody_answers,
    more_answers,
    patient_agents,
    shared_pair,
)
from tests.waiting import PATIENT_MS, WAIT_S, until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.own_network,
    pytest.mark.usefixtures("nothing_is_left_of_module"),
    pytest.mark.skipif(os.geteuid() != 0, reason="networks and mounts of their own need root"),
    pytest.mark.slow("virtual machines start, and QEMU emulates them"),
]

DISK_MIB = 64
BLOB = 4_000_000
"""Bytes that do not compress, more than a database keeps in memory."""
NOTE = "both sides write this"


@pytest.fixture(scope="class")
def pair(
    request: pytest.FixtureRequest, nothing_is_left_of_module: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SharedPair]:
    """A pair with the kind of disk that a class of tests is about."""
    with shared_pair(tmp_path_factory.mktemp("pair"), disk=DISK_MIB, **request.cls.SETTINGS) as pair:
        yield pair


class TestReplicas:
    """A disk for each side."""

    SETTINGS: ClassVar[Mapping[str, str]] = {}

    def test_both_sides_write_the_same_and_send_the_same(self, pair: SharedPair) -> None:
        async def play() -> None:
            machine, (primary, secondary) = pair.machine, pair.machine.sides
            await machine.agent.ask("write", path="/dev/kmsg", text=f"<0>{NOTE}\n")
            async with pair.client() as client:
                await until(lambda: len(client.answers) >= 50)
            assert client.errors == []
            await until(lambda: primary.metrics.get("frames", 0) > 50 and primary.metrics["waiting"] == 0)
            await until(lambda: NOTE in secondary.console.read_text(errors="replace"))
            await until(lambda: primary.metrics["lag_ms"] < 1000)
            assert primary.console.read_bytes() == secondary.console.read_bytes()
            assert not pair.events("diverged")

        pair.play(play)

    @pytest.mark.slow("writes rows three times, and copies the disk")
    def test_both_replicas_hold_the_same(self, pair: SharedPair) -> None:
        async def play() -> None:
            machine = pair.machine
            first, second = (side.files.disk for side in (pair.primary, pair.secondary))
            empty = first.read_bytes()
            await write_some(pair)
            await until(lambda: first.read_bytes() == second.read_bytes() != empty)
            await machine.unprotect()
            await write_some(pair)
            await machine.protect()
            await write_some(pair)
            third = pair.secondary.files.disk
            await until(lambda: first.read_bytes() == third.read_bytes())
            assert machine.is_protected
            assert not second.exists()

        pair.play(play)

    @pytest.mark.slow("the machine is protected anew and its primaries are killed")
    def test_rows_outlive_primary_after_primary_while_the_machine_is_protected_anew(self, pair: SharedPair) -> None:
        pair.play(lambda: write_while_primaries_are_killed(pair))

    def test_a_guest_that_powers_off_ends_both_machines_and_nobody_goes_live(self, pair: SharedPair) -> None:
        async def power_off() -> None:
            with contextlib.suppress(PlatformError):
                await pair.machine.agent.ask("off", timeout_s=5)

        pair.play(lambda: assert_both_end(pair, power_off))


class TestSharedDisk:
    """A disk that both sides have; what is read from it comes with the log."""

    SETTINGS: ClassVar[Mapping[str, str]] = {"disks": Disks.SHARED}

    @pytest.mark.slow("reads megabytes from a disk three times")
    def test_what_is_read_comes_with_the_log(self, pair: SharedPair) -> None:
        async def play() -> None:
            assert BLOB / 2 < await bytes_on_the_wire_of_a_read(pair, BLOB / 2) < BLOB * 3 / 2

        pair.play(play)

    @pytest.mark.slow("the machine is protected anew and its primaries are killed")
    def test_rows_outlive_primary_after_primary_while_the_machine_is_protected_anew(self, pair: SharedPair) -> None:
        pair.play(lambda: write_while_primaries_are_killed(pair))

    def test_without_the_store_nobody_goes_on(self, pair: SharedPair) -> None:
        async def play() -> None:
            primary, secondary, seen = pair.primary, pair.secondary, len(pair.primary.events)
            await assert_nobody_answers(pair, FaultKind.LOSE_STORE)
            assert not any(event["event"] == "live" for event in secondary.events)
            assert not any(event["event"] == "alone" for event in primary.events[seen:])

        pair.play(play)


class TestSharedDiskReadTwice:
    """A disk that both sides have, and both read from."""

    SETTINGS: ClassVar[Mapping[str, str]] = {"disks": Disks.SHARED, "reads": Reads.SECONDARY}

    @pytest.mark.slow("reads megabytes from a disk three times")
    def test_what_is_read_is_read_by_the_secondary_too(self, pair: SharedPair) -> None:
        async def play() -> None:
            assert await bytes_on_the_wire_of_a_read(pair) < BLOB / 2

        pair.play(play)

    @pytest.mark.combination
    @pytest.mark.slow("the machine is protected anew and its primaries are killed")
    def test_rows_outlive_primary_after_primary_while_the_machine_is_protected_anew(self, pair: SharedPair) -> None:
        pair.play(lambda: write_while_primaries_are_killed(pair))

    def test_a_guest_that_restarts_ends_both_machines_and_nobody_goes_live(self, pair: SharedPair) -> None:
        async def reset() -> None:
            with contextlib.suppress(PlatformError):  # QEMU may end before it has answered
                await pair.primary.execute("system_reset")

        pair.play(lambda: assert_both_end(pair, reset))


async def bytes_on_the_wire_of_a_read(pair: SharedPair, least: float = 0) -> float:
    """Has the machine read a blob from its disk; returns what went to the secondary for that, once it is more than
    `least`: on a busy host reports come late. After a failover the blob is the same.
    """
    database, primary, secondary = await pair.database(), pair.primary, pair.secondary
    assert primary.files.disk == secondary.files.disk
    await query(database, "CREATE TABLE blobs AS SELECT randomblob($1) AS bytes", BLOB)
    await until_told(primary)
    before = primary.metrics["wire_bytes"]
    digest = await read_anew(pair.machine, database)
    await until(lambda: primary.metrics["wire_bytes"] - before > least)
    await until_told(primary)
    wire_bytes: float = primary.metrics["wire_bytes"] - before
    await pair.machine.fail(FaultKind.KILL_PRIMARY)
    await secondary.wait_event("live")
    assert await read_anew(pair.machine, database) == digest
    assert not pair.events("diverged")
    return wire_bytes


async def write_while_primaries_are_killed(pair: SharedPair) -> None:
    """Writes rows while the machine is protected anew and its primary is killed, twice; none may be lost."""
    machine = pair.machine
    async with pair.writer() as writer:
        await machine.unprotect()
        await more_answers(writer)
        for _ in range(2):
            assert await machine.protect() < 20
            await more_answers(writer)
            secondary = pair.secondary
            await machine.fail(FaultKind.KILL_PRIMARY)
            await secondary.wait_event("live")
            await more_answers(writer)
    assert (writer.errors, writer.lost, writer.repeated) == ([], 0, 0)
    assert not pair.events("diverged")


async def assert_both_end(pair: SharedPair, end: Callable[[], Awaitable[None]]) -> None:
    """Has the guest end itself, with which both sides end, and neither goes on without the other."""
    sides = (pair.primary, pair.secondary)
    seen = [len(side.events) for side in sides]
    await end()
    for side in sides:
        await side.wait_event("over")
    await until(lambda: not any(side.pid for side in pair.machine.sides))
    events = {event["event"] for side, at in zip(sides, seen, strict=True) for event in side.events[at:]}
    assert not {"live", "alone", "claim", "diverged"} & events
    assert "both machines of the pair" in pair.machine.end()


async def write_some(pair: SharedPair) -> None:
    """Has the machine's database write some rows to its disk, and compares them."""
    async with pair.writer() as writer:
        pass
    assert (writer.errors, writer.lost, writer.repeated) == ([], 0, 0)


async def until_told(side: Side) -> None:
    """Waits until a side tells of all that has happened so far: it reports once a second."""
    reported: list[float] = []

    def is_told() -> bool:
        heard = side.metrics.get("heard_unix_s", 0.0)
        if heard not in reported:
            reported.append(heard)
        return len(reported) > 2 and side.metrics["executed"] > 0 and not side.metrics["waiting"]

    await until(is_told)


async def read_anew(machine: PairMachine, database: tuple[str, int]) -> Any:
    """Reads the blob from the disk; returns a part of it."""
    await machine.agent.ask("write", path="/proc/sys/vm/drop_caches", text="3")
    ((part, length),) = await query(database, "SELECT substr(hex(bytes), 1000001, 32), length(hex(bytes)) FROM blobs")
    assert length == 2 * BLOB
    return part


async def query(database: tuple[str, int], sql: str, *values: int) -> list[list[Any]]:
    """Returns the rows that a database answers a statement with."""

    def ask() -> list[list[Any]]:
        with socket.create_connection(database, timeout=WAIT_S) as line, line.makefile("rwb") as file:
            return run(file, sql, *values)

    return await asyncio.to_thread(ask)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Sequence[Path]]:
    """Two file systems that a disk fits into, and little more."""
    folders = [tmp_path / "small-0", tmp_path / "small-1"]
    for folder in folders:
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=80M", "small", folder], check=True)
    yield folders
    for folder in folders:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.slow("boots a pair three times")
def test_a_pair_whose_both_sides_are_gone_restarts_from_its_disk_with_all_that_was_acknowledged(tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(tmp_path, disk=DISK_MIB, restart=True, silence_ms=PATIENT_MS) as (machine, _, _):
            address = await database_of(machine)
            async with asking(Writer(*address, WAIT_S / 3)) as writer:
                await more_answers(writer)
                machine.may_be_kept = False  # no side is made for the one that outlives the other for an instant
                for process in [side.processes["machine"] for side in machine.sides]:
                    os.kill(process, signal.SIGKILL)
                await until(lambda: bool(writer.errors))
            assert not machine.end()
            await until(lambda: machine.came_back_unix_s > 0 or bool(machine.failures))
            assert not machine.failures
            assert (machine.restarts, machine.is_protected) == (1, True)
            rows = await asyncio.to_thread(rows_of, address)
            acknowledged = writer.acknowledged
            assert rows[: len(acknowledged)] == acknowledged
            assert len(rows) <= len(acknowledged) + 1, "the last may have been written and not answered"
            came_back_s = machine.came_back_unix_s
            await panic(machine)
            await until(lambda: machine.came_back_unix_s > came_back_s or bool(machine.failures))
            assert not machine.failures
            assert (machine.restarts, machine.is_protected) == (2, True)
            assert await asyncio.to_thread(rows_of, address) == rows

    asyncio.run(play())


async def panic(machine: PairMachine) -> None:
    """Has the guest's kernel panic, after which it reboots."""
    with contextlib.suppress(PlatformError):
        await machine.agent.ask("write", path="/proc/sysrq-trigger", text="c", timeout_s=5)


def rows_of(address: tuple[str, int]) -> list[int]:
    """What a database holds."""
    with socket.create_connection(address, timeout=WAIT_S) as line, line.makefile("rwb") as file:
        return [row[0] for row in run(file, "SELECT number FROM rows ORDER BY number")]


@pytest.mark.slow("boots a pair, one of whose sides is replaced")
def test_a_side_whose_disk_is_full_is_gone_and_the_other_goes_on(
    small: Sequence[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed = local.hand_out

    async def hand_out(booted: SideFiles, sides: Sequence[Side]) -> None:
        """Moves the disks of both sides to the file systems without room as well."""
        await handed(booted, sides)
        for side, folder in zip(sides, small, strict=True):
            disk, moved = side.files.disk, folder / "disk"
            subprocess.run(["cp", "--sparse=always", disk, moved], check=True)
            disk.unlink()
            disk.symlink_to(moved)

    monkeypatch.setattr(local, "hand_out", hand_out)

    async def play() -> None:
        async with serving(tmp_path, disk=DISK_MIB) as (machine, _, _):
            machine.may_be_kept = False
            database = await database_of(machine)
            primary, secondary = machine.sides
            await fill(small[1], secondary, database)
            await primary.wait_event("alone")
            await until(lambda: not secondary.pid)
            async with writing(database):
                assert machine.serving is primary
            await machine.protect()
            third = machine.follower
            assert third is not None
            await fill(small[0], primary, database)
            await third.wait_event("live")
            await until(lambda: not primary.pid)
            async with writing(database):
                assert machine.serving is third

    with patient_agents():
        asyncio.run(play())


async def fill(folder: Path, side: Side, database: tuple[str, int]) -> None:
    """Leaves a side's disk no room, and waits until the side has noticed it while rows are written."""
    with contextlib.suppress(OSError), (folder / "ballast").open("wb", buffering=0) as ballast:
        while True:  # until the file system takes no more: the machine may write meanwhile
            ballast.write(bytes(4096))
    async with writing(database):
        event = await side.wait_event("disk_failed")
    assert "No space" in event["why"]


@asynccontextmanager
async def writing(database: tuple[str, int]) -> AsyncIterator[None]:
    """Rows are written, and compared at the end, while the block runs."""
    async with asking(Writer(*database, WAIT_S)) as writer:
        yield
    assert (writer.errors, writer.lost, writer.repeated) == ([], 0, 0)
