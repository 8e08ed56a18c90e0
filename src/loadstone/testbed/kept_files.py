"""File sets that are kept between runs: one folder for each combination of sets and scales. Machines whose files are
on this host read it. Nothing is written or removed when a run starts or ends.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from loadstone.host.cache import compute_digest, share_folder
from loadstone.host.process import Readiness, begin
from loadstone.host.programs import find_server, resolve_command
from loadstone.platforms.contract import MachineFiles
from loadstone.services.sites import build_file_command
from loadstone.testbed.context import TestbedContext
from loadstone.testbed.running import wait_until_done

MOST_KEPT_BYTES = 8 << 30
"""Of all kept file sets, without the newest: twenty directories of downloads take 1.4 GB."""
LINK = "kept"
"""Name of the link to a kept set among a machine's files, whose path has no letters that configurations would quote."""


async def provide_files(base: TestbedContext, machine: MachineFiles, file_sets: Mapping[str, int]) -> str:
    """Returns the machine's path of a folder with these file sets, which is kept and verified; empty for a machine
    whose files are not on this host. Raises PlatformError and ServiceError.
    """
    if machine.folder is None or not file_sets:
        return ""
    folder = await base.stack.enter_async_context(keep_files(file_sets, base.logs))
    (machine.folder / LINK).symlink_to(await machine.expose(folder))
    return f"{machine.files}/{LINK}"


@asynccontextmanager
async def keep_files(file_sets: Mapping[str, int], logs: Path) -> AsyncIterator[Path]:
    """A folder with file sets for so many sessions, by name. It stays as it is until the block ends. Raises
    PlatformError and ServiceError.
    """

    async def fill(folder: Path) -> None:
        for name, sessions in file_sets.items():
            await _write(name, sessions, folder, logs)

    async with share_folder("files", await _key(file_sets), fill, MOST_KEPT_BYTES) as folder:
        yield folder


async def _write(name: str, sessions: int, folder: Path, logs: Path) -> None:
    """Writes the files of a set that are not there, or were changed."""
    command = build_file_command(name, sessions, str(folder))
    writer = await begin(resolve_command(command), logs / f"files-{name}.log", command, Readiness.NONE)
    try:
        await wait_until_done(writer, f"The file set {name}")
    finally:
        await writer.stop()


async def _key(file_sets: Mapping[str, int]) -> str:
    """By all that the contents depend on: the program that writes them, the sets and their scales."""
    program = await asyncio.to_thread(Path(find_server()).read_bytes)
    return compute_digest(program, repr(sorted(file_sets.items())).encode())
