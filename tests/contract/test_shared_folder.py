"""A folder that several machines share: what one writes there, the others read, on every platform that can."""

import asyncio
from pathlib import Path

import pytest

from loadstone.model.errors import PlatformError
from loadstone.model.machine import PRIVATE, PUBLIC, MachineSpec
from loadstone.platforms.contract import Machine
from loadstone.platforms.registry import platform_kind
from loadstone.services.kind import EMBEDDED, ServiceRole
from loadstone.services.kinds.nfs import SHARED
from loadstone.services.registry import service_kind
from loadstone.testbed.context import LOOPBACK, open_testbed
from loadstone.testbed.running import Running
from loadstone.testbed.shared_folder import mounting, share, sharing
from loadstone.testbed.software import with_software

pytestmark = pytest.mark.integration


async def says(machine: Machine, name: str, script: str) -> str:
    return (await machine.start(name, ["sh", "-c", script])).first_line.strip()


async def write_and_read(logs: Path, fronts: list[MachineSpec], behind: MachineSpec) -> None:
    """The first writes, the last reads; and what was there at the beginning is."""
    kind = service_kind(ServiceRole.EVENTS, EMBEDDED)
    async with open_testbed(logs) as base:
        running = Running(base)
        machines = [
            await base.machine(f"app-{at}", with_software(spec, mounting(kind, spec)), (PUBLIC, PRIVATE))
            for at, spec in enumerate(fronts)
        ]
        listen = base.hosts[0] if base.hosts else LOOPBACK
        store = await base.machine("store", sharing(behind, fronts[0]), (PRIVATE,), listen)
        at = await share(running, store, machines)
        first, last = machines[0], machines[-1]
        written = f"echo kept > {at[first.name]}/note && echo done"
        assert await says(first, "writes", written) == "done"
        assert await says(last, "reads", f"cat {at[last.name]}/note") == "kept"
        sample = f"wc -c < {at[last.name]}/people-small/sample"
        assert await says(last, "counts", sample) == "5758"
        assert store.folder is None or (store.folder / SHARED / "note").read_text() == "kept\n"


@pytest.mark.parametrize(
    ("platform", "behind"), [("process", "process"), ("container", "process"), ("vm", "process"), ("vm", "vm")]
)
def test_what_one_machine_writes_another_reads(platform: str, behind: str, tmp_path: Path) -> None:
    missing = asyncio.run(platform_kind(platform).maker.missing(MachineSpec(platform=platform)))
    if missing:
        pytest.skip(missing)
    count = 1 if platform == "vm" else 2  # one is slow enough
    asyncio.run(write_and_read(tmp_path, [MachineSpec(platform=platform)] * count, MachineSpec(platform=behind)))


def test_who_cannot_mount_says_so(tmp_path: Path) -> None:
    async def up() -> None:
        async with open_testbed(tmp_path) as base:
            machine = await base.machine("app", MachineSpec(), (PUBLIC,))
            await machine.mount(await machine.reach(1), "pictures")

    with pytest.raises(PlatformError, match="only virtual machines mount NFS"):
        asyncio.run(up())
