"""What tests of this folder keep up for a whole module, and what each of them must leave behind: nothing."""

import asyncio
import errno
import os
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterator
from glob import glob
from pathlib import Path

import psutil
import pytest

from loadstone.host import runtime
from loadstone.model.machine import MachineSpec
from loadstone.platforms import journal
from loadstone.platforms.kind import PlatformKind
from loadstone.platforms.registry import read_machine
from tests.conftest import WORKER
from tests.contract.shared_services import HELD, SharedServices, held_processes, shared_services
from tests.places import PROJECT
from tests.quick_java import unoptimized_java  # noqa: F401

OURS = f"l{zlib.crc32(f'{PROJECT} {WORKER}'.encode()) & 0xFFF:03x}"
"""First letters of what tests of this process make, and of none that runs beside it, of this copy of the project or of
another; the same in the next run, which then clears up after one that was killed.
"""


def machine_of(kind: PlatformKind) -> MachineSpec:
    """A small machine of a platform."""
    uri = {"uri": os.environ.get("LOADSTONE_TEST_LIBVIRT_URI", "test:///default")} if kind.name == "libvirt" else {}
    if kind.name == "fake":
        return MachineSpec(platform="fake", memory=192)
    return read_machine({"platform": kind.name, "memory": 192, **uri})


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left_of_the_module() -> Iterator[None]:
    """Once the fixtures of a module have ended, nothing of theirs is left either."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield from _watched(monkeypatch)


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No process, namespace, link, group or folder; told from those of other programs by their first letters. What
    fixtures of the module hold is not left.
    """
    yield from _watched(monkeypatch)


def _watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(runtime, "RUNTIME_PREFIX", OURS)
    before = traces()
    yield
    psutil.wait_procs(_new_processes(before["processes"]), timeout=20)
    after = traces() | {"processes": {str(process.pid) for process in _new_processes(before["processes"])}}
    left = {
        kind: {name for name in there - before[kind] if not any(held in name for held in HELD)}
        for kind, there in after.items()
    }
    assert not any(left.values()), left


def _new_processes(before: set[str]) -> list[psutil.Process]:
    """Processes of this one that were not there and are not held, nor were started by such processes."""
    known = before | held_processes()
    new = [process for process in psutil.Process().children(recursive=True) if str(process.pid) not in known]
    return [process for process in new if not _is_below(process, known)]


def _is_below(process: psutil.Process, others: set[str]) -> bool:
    try:
        return any(str(parent.pid) in others for parent in process.parents())
    except psutil.Error:
        return False  # it is gone


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """Runs what the fixtures of a module keep up."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def services(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServices]:
    """Databases, caches and the like that all configurations of a module share."""
    yield from shared_services(runner, tmp_path_factory.mktemp("services"))


def traces() -> dict[str, set[str]]:
    """What can be seen of machines from outside."""
    return {
        "processes": {str(process.pid) for process in psutil.Process().children(recursive=True)},
        "namespaces": {path.name for path in Path("/run/netns").glob(f"{OURS}*")},
        "links": {path.name for path in Path("/sys/class/net").glob(f"{OURS}*")},
        # `Path.glob` fails where a group of another worker ends while it is listed.
        "groups": {path for below in ("", "*/") for path in glob(f"/sys/fs/cgroup/{below}{OURS}*")},  # noqa: PTH207
        "folders": {path.name for path in journal.find_runtime_folder().glob(f"{OURS}*")},
    }


def get(at: object) -> str:
    """A page. A machine that a busy host lets wait may take longer to be seen on its network than the kernel looks."""
    for patience in reversed(range(5)):
        try:
            with urllib.request.urlopen(f"http://{at}/", timeout=30) as answer:
                return str(answer.read().decode())
        except urllib.error.URLError as error:
            if not patience or getattr(error.reason, "errno", None) != errno.EHOSTUNREACH:
                raise
    raise AssertionError("unreachable")
