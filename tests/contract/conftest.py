"""Every platform there is, found by itself, and what it must leave behind: nothing."""

import asyncio
import os
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import psutil
import pytest

from loadstone.model.machine import MachineSpec
from loadstone.platforms import fake, journal
from loadstone.platforms.kind import PlatformKind
from loadstone.platforms.registry import platform_kinds, read_machine
from tests.conftest import WORKER

OURS = f"lt{WORKER[2:]}"
"""First letters of what tests of this process make, and of none that runs beside it."""


ALONE = ("pair",)
"""Platforms whose parts wait for each other for half a second at most."""


@pytest.fixture(
    params=[pytest.param(name, marks=[pytest.mark.alone] * (name in ALONE)) for name in ("fake", *platform_kinds())]
)
def platform(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> PlatformKind:
    """A platform; skipped with its own reason where it cannot make machines. The fake one is known to tests alone."""
    monkeypatch.setitem(cast(dict[str, PlatformKind], platform_kinds()), "fake", fake.KIND)
    kind = platform_kinds()[request.param]
    missing = asyncio.run(kind.maker.missing(machine_of(kind)))
    if missing:
        pytest.skip(missing)
    return kind


def machine_of(kind: PlatformKind) -> MachineSpec:
    """A small machine of a platform."""
    uri = {"uri": os.environ.get("LOADSTONE_TEST_LIBVIRT_URI", "test:///default")} if kind.name == "libvirt" else {}
    if kind.name == "fake":
        return MachineSpec(platform="fake", memory=192)
    return read_machine({"platform": kind.name, "memory": 192, **uri})


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No process, namespace, link, group or folder; told from those of other programs by their first letters."""
    monkeypatch.setattr(journal, "PREFIX", OURS)
    before = traces()
    yield
    psutil.wait_procs(psutil.Process().children(recursive=True), timeout=3)
    left = {kind: held - before[kind] for kind, held in traces().items()}
    assert not any(left.values()), left


def traces() -> dict[str, set[str]]:
    """What can be seen of machines from outside."""
    groups = Path("/sys/fs/cgroup")
    return {
        "processes": {str(process.pid) for process in psutil.Process().children(recursive=True)},
        "namespaces": {path.name for path in Path("/run/netns").glob(f"{OURS}*")},
        "links": {path.name for path in Path("/sys/class/net").glob(f"{OURS}*")},
        "groups": {str(path) for path in (*groups.glob(f"{OURS}*"), *groups.glob(f"*/{OURS}*"))},
        "folders": {path.name for path in journal.runtime_folder().glob(f"{OURS}*")},
    }


def get(at: object) -> str:
    """A page."""
    with urllib.request.urlopen(f"http://{at}/", timeout=10) as answer:
        return str(answer.read().decode())
