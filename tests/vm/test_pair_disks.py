"""A pair's disks, a replica for each side or one that both share: what was acknowledged is there after every fault."""

import asyncio
import os
import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from benches.failovers import Writer, chain, database_of, run, serving

from loadstone.model.fault import FaultKind
from loadstone.platforms.pair import machine as pair_machine
from loadstone.platforms.pair.command import SideFiles
from loadstone.platforms.pair.disk import Disks, Reads
from loadstone.platforms.pair.machine import PairMachine
from loadstone.platforms.pair.side import Side
from tests.contract.conftest import nothing_is_left  # noqa: F401
from tests.vm.test_pairs import answered, until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="networks and mounts of their own need root"),
]

DISK_MIB = 64


@pytest.mark.parametrize(
    "how", [{}, {"disks": Disks.SHARED}, {"disks": Disks.SHARED, "reads": Reads.SECONDARY}], ids=str
)
def test_rows_on_a_disk_outlive_primary_after_primary(how: dict[str, str], tmp_path: Path) -> None:
    trials = asyncio.run(chain(7, 3, tmp_path, disk=DISK_MIB, **how))
    assert len(trials) == 3
    assert all(trial.survived for trial in trials), trials
    assert all(trial.writes > 5 for trial in trials)


def test_both_replicas_hold_the_same(tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(tmp_path, disk=DISK_MIB) as (machine, _, _):
            machine.may_be_kept = False
            first, second = (side.files.disk for side in machine.sides)
            empty, database = first.read_bytes(), await database_of(machine)
            await written(database)
            await until(lambda: first.read_bytes() == second.read_bytes() != empty)
            await machine.unprotect()
            await written(database)
            await machine.protect()
            await written(database)
            assert machine.follower is not None
            third = machine.follower.files.disk
            await until(lambda: first.read_bytes() == third.read_bytes())
            assert machine.is_protected
            assert not second.exists()

    asyncio.run(play())


@pytest.mark.parametrize("disks", Disks)
def test_a_machine_that_writes_on_is_protected_anew(disks: Disks, tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(tmp_path, disk=DISK_MIB, disks=disks) as (machine, _, _):
            machine.may_be_kept = False
            writer = Writer(*await database_of(machine))
            asking = asyncio.create_task(asyncio.to_thread(writer.ask))
            for _ in range(3):
                await answered(writer, len(writer.answers) + 20)
                await machine.unprotect()
                assert await machine.protect() < 2
            await machine.fail(FaultKind.KILL_PRIMARY)
            await answered(writer, len(writer.answers) + 20)
            writer.end()
            await asking
            assert (writer.errors, writer.lost, writer.repeated) == ([], 0, 0)
            assert not any(event["event"] == "diverged" for side in machine.sides for event in side.events)

    asyncio.run(play())


BLOB = 4_000_000
"""Bytes that do not compress, more than a database keeps in memory."""


@pytest.mark.parametrize("reads", Reads)
def test_what_is_read_from_a_shared_disk_comes_with_the_log_or_is_read_by_the_secondary(
    reads: Reads, tmp_path: Path
) -> None:
    async def play() -> None:
        async with serving(tmp_path, disk=DISK_MIB, disks=Disks.SHARED, reads=reads) as (machine, _, _):
            machine.may_be_kept = False
            database = await database_of(machine)
            primary, secondary = machine.sides
            assert primary.files.disk == secondary.files.disk
            await told(database, "CREATE TABLE blobs AS SELECT randomblob($1) AS bytes", BLOB)
            before = primary.metrics["wire_bytes"]
            (digest,) = await read_anew(machine, database)
            await until(lambda: primary.metrics["executed"] > 0 and not primary.metrics["waiting"])
            await asyncio.sleep(1.5)  # metrics come once a second
            wire = primary.metrics["wire_bytes"] - before
            assert (wire > BLOB / 2) == (reads is Reads.LOG), wire
            assert wire < BLOB * 3 / 2
            await machine.fail(FaultKind.KILL_PRIMARY)
            await secondary.event("live")
            assert await read_anew(machine, database) == [digest]
            assert not any(event["event"] == "diverged" for side in machine.sides for event in side.events)

    asyncio.run(play())


async def read_anew(machine: PairMachine, database: tuple[str, int]) -> list[Any]:
    """Something of all bytes of the blob, from the disk."""
    await machine.agent.ask("write", path="/proc/sys/vm/drop_caches", text="3")
    ((first, length),) = await told(database, "SELECT substr(hex(bytes), 1000001, 32), length(hex(bytes)) FROM blobs")
    assert length == 2 * BLOB
    return [first]


async def told(database: tuple[str, int], sql: str, *values: int) -> list[list[Any]]:
    """What a database says to one statement."""

    def ask() -> list[list[Any]]:
        with socket.create_connection(database, timeout=30) as line, line.makefile("rwb") as file:
            return run(file, sql, *values)

    return await asyncio.to_thread(ask)


async def written(database: tuple[str, int]) -> None:
    """Has a database write some rows to its machine's disk."""
    writer = Writer(*database)
    asking = asyncio.create_task(asyncio.to_thread(writer.ask))
    await answered(writer, 20)
    writer.end()
    await asking
    assert (writer.errors, writer.lost, writer.repeated) == ([], 0, 0)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system with hardly any room."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12M", "small", folder], check=True)
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize(("full", "event"), [(1, "alone"), (0, "live")])
def test_a_side_whose_disk_is_full_is_gone_and_the_other_goes_on(
    full: int, event: str, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed = pair_machine._hand_out

    async def hand_out(booted: SideFiles, sides: Sequence[Side]) -> None:
        """And moves one side's to the file system without room."""
        await handed(booted, sides)
        disk, moved = sides[full].files.disk, small / "disk"
        subprocess.run(["cp", "--sparse=always", disk, moved], check=True)
        disk.unlink()
        disk.symlink_to(moved)

    monkeypatch.setattr(pair_machine, "_hand_out", hand_out)

    async def play() -> None:
        async with serving(tmp_path, disk=DISK_MIB) as (machine, _, _):
            machine.may_be_kept = False
            database = await database_of(machine)
            (small / "ballast").write_bytes(bytes(free(small)))
            await written(database)
            failing, other = machine.sides[full], machine.sides[1 - full]
            told = await failing.event("disk_failed")
            assert "No space" in told["why"]
            await other.event(event)
            await until(lambda: not failing.pid)
            await written(database)
            assert machine.serving is other

    asyncio.run(play())


def free(folder: Path) -> int:
    """Bytes without a file."""
    state = os.statvfs(folder)
    return state.f_bavail * state.f_frsize
