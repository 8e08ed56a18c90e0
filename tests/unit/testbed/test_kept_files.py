"""File sets are written once, repaired when they were changed, and never removed while a run reads them."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from loadstone.model.machine import PUBLIC, MachineSpec
from loadstone.services.kind import Site
from loadstone.services.sites import build_file_commands
from loadstone.testbed import kept_files
from loadstone.testbed.context import open_testbed
from loadstone.testbed.kept_files import keep_files, provide_files

ONE_DIRECTORY = {"static-files": 1}


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of what is kept, for each test."""
    monkeypatch.setenv("LOADSTONE_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setenv("LOADSTONE_RUNTIME_DIR", str(tmp_path / "runtime"))
    return tmp_path / "kept"


@asynccontextmanager
async def used(logs: Path, directories: int = 1) -> AsyncIterator[Path]:
    async with keep_files({"static-files": directories}, logs) as folder:
        yield folder


async def inodes(logs: Path) -> dict[str, int]:
    """Each file of the kept set, with the number that a file which is written again would lose."""
    async with used(logs) as folder:
        files = [path for path in folder.rglob("*") if path.is_file()]
        return {path.name: path.stat().st_ino for path in files}


def test_a_set_is_written_once_and_repaired_where_it_was_changed(tmp_path: Path, kept: Path) -> None:
    written = asyncio.run(inodes(tmp_path))
    assert len(written) == 36
    assert asyncio.run(inodes(tmp_path)) == written
    (folder,) = kept.glob("files-*/files/dir00001")
    right = (folder / "class0_1").read_bytes()
    (folder / "class0_1").write_bytes(bytes(len(right)))
    (folder / "class0_2").unlink()
    again = asyncio.run(inodes(tmp_path))
    assert (folder / "class0_1").read_bytes() == right
    assert {name for name in written if again[name] != written[name]} >= {"class0_1"}
    assert set(again) == set(written) and again["class1_1"] == written["class1_1"]


def test_a_set_that_was_not_finished_is_written_anew(tmp_path: Path, kept: Path) -> None:
    (kept / ".part-files-dead").mkdir(parents=True)
    assert len(asyncio.run(inodes(tmp_path))) == 36
    assert [path.name.partition("-")[0] for path in kept.iterdir() if path.is_dir()] == ["files"]


def test_a_set_that_a_run_reads_outlives_others(tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_files, "MOST_KEPT_BYTES", 0)

    async def play() -> tuple[bool, bool]:
        async with used(tmp_path, 1) as first:
            os.utime(first, (0, 0))
            async with used(tmp_path, 2):
                was_kept = first.is_dir()
        async with used(tmp_path, 3):
            return was_kept, first.is_dir()

    assert asyncio.run(play()) == (True, False)


def test_a_machine_of_this_host_reads_a_kept_set_and_leaves_it(tmp_path: Path, kept: Path) -> None:
    async def play() -> str:
        async with open_testbed(tmp_path) as base:
            machine = await base.start_machine("web", MachineSpec(), (PUBLIC,))
            path = Path(await provide_files(base, machine, ONE_DIRECTORY))
            assert str(path).startswith(machine.files)
            assert (path / "files/dir00001/class3_9").stat().st_size == 921_600
            return str(path)

    path = asyncio.run(play())
    assert not Path(path).exists()
    assert len([path for path in kept.rglob("class*") if path.is_file()]) == 36


def test_only_a_service_whose_files_are_not_kept_writes_them() -> None:
    site = replace(Site("/files", "127.0.0.1"), file_sets=ONE_DIRECTORY)
    writing = ["loadstone-server", "fileset", "static-files", "--sessions", "1", "/files/site"]
    assert build_file_commands(site) == [["mkdir", "-p", "/files/site"], writing]
    assert build_file_commands(replace(site, kept_files="/files/kept")) == [["mkdir", "-p", "/files/kept"]]
