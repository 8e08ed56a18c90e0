"""The state that both sides of a pair begin with: a saved one, or that of a machine that boots."""

import asyncio
import time
from collections.abc import Sequence

from loadstone.model.errors import PlatformError
from loadstone.platforms.pair.command import SideFiles
from loadstone.platforms.pair.local_side import PairSide
from loadstone.platforms.pair.mode import Mode
from loadstone.platforms.pair.saved import copy_saved, keep_saved, pair_key
from loadstone.platforms.pair.side import Side
from loadstone.platforms.vm.image import write_raw_disk
from loadstone.platforms.vm.kernel import run_tool
from loadstone.platforms.vm.machine import read_last_output

PAIR_BOOT_TIMEOUT_S = 120.0
"""Longest time to boot; instructions are counted, and other load may be on the host."""
BOOTED = "boot"
"""Name of the machine whose state both sides begin with."""
PAIR_POLL_INTERVAL_S = 0.02
READY = "loadstone: ready"
"""What the machine's agent writes to the console when it can be reached."""


async def boot(first: PairSide, is_cold: bool = False) -> None:
    """Makes the state that both sides begin with, where the first side will be: a copy of the saved state of this kind
    of pair, or that of a machine that boots; and the disk of that machine. Raises PlatformError.
    """
    layout, disk = first.layout, SideFiles(first.files.folder, BOOTED).disk
    if layout.disk.mib and not disk.is_file():
        await asyncio.to_thread(write_raw_disk, layout.image, layout.disk.mib, disk)
    key = await asyncio.to_thread(pair_key, layout) if layout.is_restorable and not is_cold else ""
    first.started = await asyncio.to_thread(copy_saved, key, first.files.state) if key else "booted"
    if first.started.startswith("booted"):
        await _boot(first)
        if key:
            await asyncio.to_thread(keep_saved, key, first.files.state, first.journal)


async def _boot(first: PairSide) -> None:
    """Boots without a log: no storm of a boot's events."""
    files = SideFiles(first.files.folder, BOOTED)
    booted = PairSide(first.layout, files, first.tap, journal=first.journal, logs=first.logs)
    try:
        await booted.start_machine(Mode.NONE, has_state=False)
        await _until_ready(booted)
        await booted.execute("stop")
        await booted.save()
    finally:
        await booted.end(keeps_disk=True)


async def hand_out(booted: SideFiles, sides: Sequence[Side]) -> None:
    """Gives each side of this host the disk as it was when the state was kept."""
    if booted.disk.is_file():
        for side in sides[:1] if sides[0].files.shared_disk else sides:
            argv = ["cp", "--reflink=auto", "--sparse=always", str(booted.disk), str(side.files.disk)]
            await asyncio.to_thread(run_tool, argv, booted.folder, "It is part of coreutils.")
        booted.disk.unlink()


async def _until_ready(side: PairSide) -> None:
    until = time.monotonic() + PAIR_BOOT_TIMEOUT_S
    while time.monotonic() < until and side.pid:
        if side.console.is_file() and READY in side.console.read_text(errors="replace"):
            return
        await asyncio.sleep(PAIR_POLL_INTERVAL_S)
    why = "did not come up" if side.pid else "ended instead of coming up"
    raise PlatformError(f"The machine {side.layout.name} {why}: {read_last_output(side.console, side.console)}")
