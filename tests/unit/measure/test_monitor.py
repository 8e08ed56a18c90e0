"""Other load is what is neither ours nor an interrupt's; roles that share a process are counted once."""

import asyncio
import contextlib
import gc
import os
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from loadstone.host.http import is_guest_bridge, is_here
from loadstone.measure import trees
from loadstone.measure.monitor import Monitor, find_listeners
from loadstone.measure.trees import read_tree_cpu_s
from loadstone.model.records.sample import Sample

BUSY = "while True: pass"


@pytest.fixture
def busy() -> Iterator[subprocess.Popen[bytes]]:
    """A process that uses a core, until the test ends, and has already got some of it."""
    process = subprocess.Popen([sys.executable, "-c", BUSY])
    until = time.monotonic() + 60
    while psutil.Process(process.pid).cpu_times().user <= 0.1:
        assert time.monotonic() < until
        time.sleep(0.02)
    yield process
    process.kill()
    process.wait()


def watched(roles: dict[str, int], knows_all: bool = True, ports: tuple[int, ...] = ()) -> Sample:
    """What a monitor saw in two seconds."""
    seen: list[Sample] = []

    async def watch() -> None:
        task = asyncio.create_task(Monitor(lambda: roles, seen.append, knows_all=knows_all, ports=ports).run())
        until = asyncio.get_running_loop().time() + 60
        await asyncio.sleep(2.3)
        while not seen and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(0.1)
        task.cancel()

    asyncio.run(watch())
    return seen[-1]


def test_a_child_that_ends_while_it_is_read_hides_no_time_of_the_others(
    busy: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        tree = [psutil.Process(child.pid), psutil.Process(busy.pid)]
        child.kill()
    monkeypatch.setattr(trees, "list_members", lambda pid: tree)
    until = time.monotonic() + 60
    while not read_tree_cpu_s(busy.pid):
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_busy_process_is_ours_when_it_has_a_role_and_foreign_when_it_has_none(busy: subprocess.Popen[bytes]) -> None:
    ours = watched({"web": busy.pid, "backend": busy.pid})
    assert ours.ours_cores is not None and ours.foreign_cores is not None
    tree = ours.trees["web"]
    assert tree is not None
    assert ours.ours_cores <= tree.cores + 0.6, "a process of two roles was counted twice"
    theirs = watched({})
    assert theirs.foreign_cores is not None
    assert theirs.foreign_cores > 0.3


class SilentService:
    """A service whose status never comes."""

    async def read(self) -> dict[str, Any]:
        await asyncio.sleep(3600)
        return {}


@pytest.mark.parametrize("turns", range(1, 6))
def test_a_monitor_that_is_cancelled_at_any_step_leaves_no_question_unasked(turns: int) -> None:
    async def cancel_after() -> None:
        status: Any = {"web": SilentService()}
        task = asyncio.create_task(Monitor(dict, lambda sample: None, status=status).run())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        asyncio.run(cancel_after())
        gc.collect()
    assert [str(warning.message) for warning in raised] == []


def test_where_not_all_of_ours_are_known_nothing_is_said(busy: subprocess.Popen[bytes]) -> None:
    assert watched({}, knows_all=False).foreign_cores is None


def test_a_listener_at_a_targets_port_is_known_and_others_are_not_attributed(busy: subprocess.Popen[bytes]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert find_listeners([port]) == (os.getpid(),)
        sample = watched({}, knows_all=False, ports=(port,))
    assert sample.foreign_cores is None
    assert sample.unattributed_cores is not None
    assert busy.pid not in find_listeners([port])
    assert find_listeners([1]) == ()


def test_only_our_own_addresses_are_here() -> None:
    assert is_here("127.0.0.1") and is_here("localhost")
    assert not is_here("192.0.2.1")


@pytest.mark.parametrize(
    ("ports", "is_ours"), [({"tap0": False, "veth1": False}, True), ({"tap0": False, "eth0": True}, False), ({}, True)]
)
def test_who_is_behind_a_bridge_without_a_way_out_is_here(
    tmp_path: Path, ports: dict[str, bool], is_ours: bool
) -> None:
    for name, is_hardware in ports.items():
        (tmp_path / name / ("device" if is_hardware else "statistics")).mkdir(parents=True)
        (tmp_path / "br0" / "brif" / name).mkdir(parents=True)
    (tmp_path / "br0" / "brif").mkdir(parents=True, exist_ok=True)
    assert is_guest_bridge("br0", tmp_path) is is_ours
    assert not is_guest_bridge("eth7", tmp_path)
    assert not is_guest_bridge("", tmp_path)
