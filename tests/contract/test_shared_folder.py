"""A folder that several machines share: what one writes there, the others read, on every platform that can."""

import asyncio
from pathlib import Path

import pytest

from loadstone.model.errors import PlatformError
from loadstone.model.machine import PRIVATE, PUBLIC, MachineSpec
from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.platforms.contract import Machine
from loadstone.platforms.registry import get_platform_kind
from loadstone.services.kinds.nfs import SHARED_FOLDER
from loadstone.services.registry import get_service_kind
from loadstone.testbed.context import TESTBED_LOOPBACK, open_testbed
from loadstone.testbed.running import Running
from loadstone.testbed.shared_folder import add_mounting, add_sharing, share_folder
from loadstone.testbed.software import with_software

pytestmark = pytest.mark.integration


async def says(machine: Machine, name: str, script: str) -> str:
    return (await machine.start(name, ["sh", "-c", script])).first_line.strip()


async def write_and_read(logs: Path, fronts: list[MachineSpec], behind: MachineSpec) -> None:
    """The first writes, the last reads; and what was there at the beginning is."""
    kind = get_service_kind(ServiceRole.EVENTS, EMBEDDED)
    async with open_testbed(logs) as base:
        running = Running(base)
        machines = [
            await base.start_machine(f"app-{at}", with_software(spec, add_mounting(kind, spec)), (PUBLIC, PRIVATE))
            for at, spec in enumerate(fronts)
        ]
        listen = base.hosts[0] if base.hosts else TESTBED_LOOPBACK
        store = await base.start_machine("store", add_sharing(behind, fronts[0], behind), (PRIVATE,), listen)
        at = await share_folder(running, store, machines)
        first, last = machines[0], machines[-1]
        written = f"echo kept > {at[first.name]}/note && echo done"
        assert await says(first, "writes", written) == "done"
        assert await says(last, "reads", f"cat {at[last.name]}/note") == "kept"
        sample = f"wc -c < {at[last.name]}/people-small/sample"
        assert await says(last, "counts", sample) == "5758"
        assert store.folder is None or (store.folder / SHARED_FOLDER / "note").read_text() == "kept\n"


IMAGE = "debian+nfs-common+php-fpm"
"""Has what a machine needs to mount a folder, and what other tests need: an image takes minutes to build."""
FRONTS = [
    [MachineSpec(platform="process")] * 2,
    pytest.param([MachineSpec(platform="container")] * 2, marks=pytest.mark.own_network),
    pytest.param(
        [MachineSpec(platform="vm", image=IMAGE)],  # one is slow enough
        marks=[pytest.mark.own_network, pytest.mark.slow("a virtual machine boots a disk image, built the first time")],
    ),
]


@pytest.mark.parametrize("fronts", FRONTS, ids=lambda fronts: fronts[0].platform)
def test_what_one_machine_writes_another_reads(fronts: list[MachineSpec], tmp_path: Path) -> None:
    missing = asyncio.run(get_platform_kind(fronts[0].platform).maker.explain_missing(fronts[0]))
    if missing:
        pytest.skip(missing)
    asyncio.run(write_and_read(tmp_path, fronts, MachineSpec()))


def test_virtual_machines_get_images_with_what_shares_and_mounts_a_folder() -> None:
    virtual, kind = MachineSpec(platform="vm"), get_service_kind(ServiceRole.EVENTS, EMBEDDED)
    assert with_software(virtual, add_mounting(kind, virtual)).image == "debian+nfs-common"
    assert add_sharing(virtual, virtual, virtual).image == "debian+nfs-ganesha+nfs-ganesha-vfs"
    assert add_sharing(MachineSpec(), MachineSpec(), MachineSpec()) == MachineSpec()


def test_who_cannot_mount_says_so(tmp_path: Path) -> None:
    async def up() -> None:
        async with open_testbed(tmp_path) as base:
            machine = await base.start_machine("app", MachineSpec(), (PUBLIC,))
            await machine.mount(await machine.find_endpoint(1), "pictures")

    with pytest.raises(PlatformError, match="only virtual machines mount NFS"):
        asyncio.run(up())
