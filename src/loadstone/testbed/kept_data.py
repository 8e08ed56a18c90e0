"""Filled databases that are kept between runs: one for each kind of database and amount of data, made where nobody has
yet by filling an empty one, and copied to a machine before its database starts there.
"""

import asyncio
import time
from pathlib import Path

from loadstone.host import launch
from loadstone.host.cache import compute_digest, lend_cached
from loadstone.host.programs import find_server
from loadstone.host.runtime import make_temporary_folder
from loadstone.model.errors import ServiceError
from loadstone.model.machine import PUBLIC, MachineSpec
from loadstone.model.role import ProcessRole
from loadstone.model.service import ServiceRole
from loadstone.model.workload import ServerNeeds
from loadstone.platforms.contract import MachineFiles
from loadstone.services.kind import ServiceKind, Site
from loadstone.services.registry import get_service_kind
from loadstone.testbed.context import TESTBED_LOOPBACK, open_testbed
from loadstone.testbed.data import DataSet
from loadstone.testbed.running import Running
from loadstone.testbed.start import build_site_on, start_service

KEPT_DATA_MOST_BYTES = 8 << 30
"""Of all that is kept: a sweep over twenty sizes of the larger published databases."""


async def copy_kept(machine: MachineFiles, database: str, needs: ServerNeeds) -> float | None:
    """Puts a filled database's files on a machine whose database does not run yet; how long the copying took, in
    seconds. None for machines whose files, or programs, are not this host's. Raises ServiceError and PlatformError.
    """
    kind, folder = get_service_kind(ServiceRole.DATABASE, database), machine.folder
    if folder is None or not kind.data:
        return None

    async def make(unfinished: Path) -> None:
        await _fill(kind, needs, unfinished)

    async with lend_cached("data", await _key(kind, needs), make, KEPT_DATA_MOST_BYTES) as filled:
        start_s = time.monotonic()
        await _run(["cp", "-a", "--reflink=auto", f"{filled}/.", str(folder)])
        return time.monotonic() - start_s


async def _key(kind: ServiceKind, needs: ServerNeeds) -> str:
    """By all that its contents depend on: the database's version, our own program, how many rows."""
    version = kind.program(Site("", TESTBED_LOOPBACK, 0, 1)).version
    output = await _run(version) if version else b""
    program = await asyncio.to_thread(Path(find_server()).read_bytes)
    return compute_digest(
        kind.name.encode(), output, program, repr((str(needs.need), sorted(needs.rows.items()))).encode()
    )


async def _fill(kind: ServiceKind, needs: ServerNeeds, to: Path) -> None:
    with make_temporary_folder("data") as logs:
        async with open_testbed(logs) as base:
            machine = await base.start_machine("data", MachineSpec(), (PUBLIC,))
            assert machine.folder is not None
            running = Running(base)
            database = await start_service(running, machine, kind, build_site_on(machine))
            await DataSet(needs.need, machine, await database.find_address(machine), needs.rows).put()
            for service in reversed(running.services.values()):
                await service.stop()
            end = running.services[ProcessRole(machine.name)].end()
            if not end.startswith("code 0"):
                raise ServiceError(f"{kind.name} did not close its database cleanly: {end}")
            await _run(["mv", str(machine.folder / kind.data), str(to)])


async def _run(command: list[str]) -> bytes:
    """What a program of this host says. Raises ServiceError when it fails."""
    process = await launch.start(*command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT)
    output, _ = await process.communicate()
    if process.returncode:
        raise ServiceError(f"`{' '.join(command[:2])}` failed: {output.decode(errors='replace').strip()[-500:]}")
    return output
