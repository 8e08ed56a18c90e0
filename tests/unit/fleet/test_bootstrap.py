"""A cluster's node is known by its number and its start: a stranger of that number is neither ended nor believed."""

import asyncio
import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.fleet.bootstrap import STARTED, _hand_over, _start, end
from loadstone.fleet.cluster import CLUSTER_AUTHORITY, CLUSTER_CERTIFICATE, CLUSTER_KEY, TOKEN, Keys
from loadstone.fleet.remote_shell import Shell
from loadstone.host.identity import is_still, start_of

NAME = "192.0.2.1-6380"
HERE = Shell("the head", "")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    made = tmp_path / "loadstone/fleet" / NAME
    made.mkdir(parents=True)
    return made


@contextlib.contextmanager
def sleeping(**told: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = {"PATH": os.environ["PATH"], **told}
    with subprocess.Popen(["sleep", "600"], env=environment, start_new_session=True) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(process: "subprocess.Popen[bytes]") -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(0.3)
    return process.returncode is not None


def test_a_shell_and_python_tell_the_same_start() -> None:
    with sleeping() as process:
        told = asyncio.run(HERE.run(f"{STARTED}\nstarted {process.pid}")).strip()
        assert told == f"{process.pid} {start_of(process.pid)}"


def test_a_node_is_started_once_and_ended_with_all_that_it_started(folder: Path, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    ray = programs / "ray"
    ray.write_text("#!/bin/sh\nsleep 600 &\necho $! > left\nsleep 600 &\necho Ray runtime started\nwait\n")
    ray.chmod(0o700)
    for name in (TOKEN, CLUSTER_AUTHORITY, CLUSTER_CERTIFICATE, CLUSTER_KEY):
        (folder / name).write_text("0" * 64)
        (folder / name).chmod(0o600)
    keys = Keys(folder)

    def start() -> str:
        asyncio.run(_start(HERE, str(programs / "python"), ["--head"], ["it's"], keys, keys))
        return (folder / "node.pid").read_text()

    first = start()
    pid, node = first.strip().split(" ", 1)
    assert is_running(int(pid), node)
    assert start() == first, "it runs already"
    left = int((folder / "left").read_text())
    start_of_left = start_of(left)
    assert asyncio.run(end(HERE, NAME))
    assert has_ended(int(pid), node) and has_ended(left, start_of_left)


def test_the_node_of_a_cluster_is_ended(folder: Path) -> None:
    with sleeping() as process:
        (folder / "node.pid").write_text(f"{process.pid} {start_of(process.pid)}\n")
        # The shell waits until it is gone, which needs somebody who takes its code.
        waiting = asyncio.run(both(process))
        assert waiting and process.returncode == -signal.SIGTERM
        assert not folder.exists()


async def both(process: "subprocess.Popen[bytes]") -> bool:
    taken = asyncio.create_task(asyncio.to_thread(process.wait))
    done = await end(HERE, NAME)
    await taken
    return done


@pytest.mark.parametrize("how", ["number", "other start", "other boot"])
def test_a_stranger_with_the_number_of_a_node_lives_on(how: str, folder: Path) -> None:
    with sleeping() as process:
        boot, ticks = start_of(process.pid).split(" ")
        told = {"number": "", "other start": f" {boot} {int(ticks) - 1}", "other boot": f" 0{boot[1:]}x {ticks}"}[how]
        (folder / "node.pid").write_text(f"{process.pid}{told}\n")
        assert not asyncio.run(end(HERE, NAME))
        assert not ended(process)


@pytest.mark.parametrize("is_ours", [True, False])
@pytest.mark.parametrize("mark", ["folder", "keys"])
def test_what_a_dead_node_left_is_ended_and_strangers_are_not(is_ours: bool, mark: str, folder: Path) -> None:
    others = folder.with_name("others")
    others.mkdir()
    at = folder if is_ours else others
    told = {"RAY_TLS_SERVER_KEY": f"{at}/{CLUSTER_KEY}"} if mark == "keys" else {}
    words = ["sh", "-c", "sleep 600 > /dev/null & echo $!"]  # its leader ends at once
    with subprocess.Popen(
        words,
        cwd=at if mark == "folder" else "/",
        env={"PATH": os.environ["PATH"], **told},
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as leader:
        assert leader.stdout is not None
        left = int(leader.stdout.readline())
        leader.wait()
    start = start_of(left)
    boot, _ = start.split(" ")
    (folder / "node.pid").write_text(f"{leader.pid} {boot} 1\n")
    assert not asyncio.run(end(HERE, NAME))
    assert has_ended(left, start) if is_ours else is_running(left, start)
    with contextlib.suppress(ProcessLookupError):
        os.kill(left, signal.SIGKILL)


def has_ended(pid: int, start: str) -> bool:
    """Whether it has ended, which a process that was killed has a moment later."""
    until = time.monotonic() + 100
    while is_running(pid, start) and time.monotonic() < until:
        time.sleep(0.01)
    return not is_running(pid, start)


def is_running(pid: int, start: str) -> bool:
    """Whether it does more than wait for somebody to take its code."""
    with contextlib.suppress(OSError):
        return is_still(pid, start) and " Z " not in Path(f"/proc/{pid}/stat").read_text()
    return False


def test_keys_that_are_handed_over_are_private_whatever_was_there(tmp_path: Path) -> None:
    ours, there = tmp_path / "ours", tmp_path / "there"
    for folder, text in ((ours, "new"), (there, "old")):
        folder.mkdir()
        for name in (TOKEN, CLUSTER_AUTHORITY, CLUSTER_CERTIFICATE, CLUSTER_KEY):
            (folder / name).write_text(text)
            (folder / name).chmod(0o644)
    asyncio.run(_hand_over(HERE, Keys(ours), Keys(there)))
    for file in there.iterdir():
        assert file.read_text() == "new" and file.stat().st_mode & 0o777 == 0o600
