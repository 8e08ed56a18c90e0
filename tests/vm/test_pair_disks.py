"""A pair's disks: each side has its own, both hold the same, and what was acknowledged is there after every fault."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from benches.failovers import Writer, chain, database_of, serving

from loadstone.platforms.pair import machine as pair_machine
from loadstone.platforms.pair.command import SideFiles
from loadstone.platforms.pair.side import PairSide
from tests.contract.conftest import nothing_is_left  # noqa: F401
from tests.vm.test_pairs import answered, until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(os.geteuid() != 0, reason="networks and mounts of their own need root"),
]

DISK_MIB = 64


def test_rows_on_a_disk_outlive_primary_after_primary(tmp_path: Path) -> None:
    trials = asyncio.run(chain(7, 3, tmp_path, disk=DISK_MIB))
    assert len(trials) == 3
    assert all(trial.survived for trial in trials), trials
    assert all(trial.writes > 20 for trial in trials)


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

    async def hand_out(booted: SideFiles, sides: list[PairSide]) -> None:
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
