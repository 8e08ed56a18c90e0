"""Protecting a machine: another side begins with its state, and follows what it records from there on."""

import asyncio
import time
from pathlib import Path

from loadstone.model.errors import PlatformError
from loadstone.platforms.pair.command import SNAPSHOT, Mode, SideFiles
from loadstone.platforms.pair.side import Side

TRIES = 20
"""A machine that frames were on their way to when it was stopped cannot be saved: it goes on, and is stopped anew."""
SETTLED_S = 0.02
"""Frames that QEMU has taken reach the machine within that."""
STATE_SAVE_TIMEOUT_S = 60.0
COPIED_S = 600.0
"""Longest time for a disk to be copied."""


async def protect_new(primary: Side, secondary: Side) -> None:
    """Starts both sides from one state: the first records, the second follows it. Raises PlatformError."""
    await primary.start_agent(None)
    address = await _listening(primary)
    await primary.start_machine(Mode.RECORD, has_state=True)
    await secondary.start_agent(address)
    await secondary.start_machine(Mode.REPLAY, has_state=True)
    await primary.event("protected")
    for side in (primary, secondary):
        await side.forget(side.files.state)


async def start_alone(machine: Side) -> None:
    """Starts a machine from its state that nobody will follow. Raises PlatformError."""
    await machine.start_agent(None)
    await machine.start_machine(Mode.ALONE, has_state=True)
    await machine.forget(machine.files.state)


async def protect_running(primary: Side, secondary: Side) -> float:
    """Makes a side from the state of one that serves alone. For how many seconds that one stood still. Raises
    PlatformError.
    """
    files, there = secondary.files, primary.files.for_side(secondary.files.name)
    carried = {there.snapshot: files.snapshot}
    try:
        if primary.layout.disk.mib and not primary.layout.disk.is_shared:
            await _disk_copied(primary, there.disk)
            carried[there.disk] = files.disk
        paused_s = await _saved(primary, there)
        await secondary.fetch(primary, carried)
        await _followed(primary, secondary)
    except BaseException:
        await primary.order("resume", is_saved=False)  # it records for nobody, and is given frames
        raise
    return paused_s


async def _followed(primary: Side, secondary: Side) -> None:
    """Starts the side from the state that was saved, and waits until it follows."""
    seen = len(primary.events)
    address = await _listening(primary)
    await secondary.start_agent(address)
    await secondary.start_machine(Mode.REPLAY, has_state=False)
    why = await secondary.job("snapshot-load", STATE_SAVE_TIMEOUT_S)
    if why:
        raise PlatformError(f"The state of {primary.layout.name} could not be loaded: {why}")
    await secondary.execute("cont")
    await primary.event("protected", after=seen)
    await secondary.execute("blockdev-del", **{"node-name": SNAPSHOT})
    await secondary.forget(secondary.files.snapshot)


async def _listening(primary: Side) -> str:
    """Where the primary's agent waits for a secondary's."""
    seen = len(primary.events)
    await primary.order("protect")
    return str((await primary.event("listening", after=seen))["address"])


async def _disk_copied(primary: Side, to: Path) -> None:
    """Copies the disk of a machine that runs, and goes on to note what it writes."""
    seen = len(primary.events)
    await primary.order("copy", to=str(to))
    why = (await primary.event("copied", after=seen, within_s=COPIED_S))["why"]
    if why:
        raise PlatformError(f"The disk of {primary.layout.name} could not be copied: {why}")


async def _saved(primary: Side, files: SideFiles) -> float:
    """Saves the state of a machine that runs; for how many seconds it stood still, all attempts together."""
    await primary.prepare(files.snapshot)
    file = {"driver": "file", "filename": str(files.snapshot)}
    await primary.execute("blockdev-add", driver="qcow2", file=file, **{"node-name": SNAPSHOT})
    try:
        return await _save_at_rest(primary, files)
    finally:
        await primary.execute("blockdev-del", **{"node-name": SNAPSHOT})


async def _save_at_rest(primary: Side, files: SideFiles) -> float:
    why, stood_s = "", 0.0
    for _ in range(TRIES):
        seen = len(primary.events)
        await primary.order("hold")
        await asyncio.sleep(SETTLED_S)
        began = time.monotonic()
        why = await _save(primary, files)
        stood_s += time.monotonic() - began
        await primary.order("resume", is_saved=not why)
        if not why:
            await primary.event("saved", after=seen)
            return stood_s
    raise PlatformError(f"The state of {primary.layout.name} was not saved in {TRIES} attempts: {why}")


async def _save(primary: Side, files: SideFiles) -> str:
    """Saves it once, with the rest of its disk; why that failed, empty when it did not."""
    if not primary.layout.disk.mib:
        return await primary.job("snapshot-save", STATE_SAVE_TIMEOUT_S)
    await primary.execute("stop")
    try:
        why = await _rest_copied(primary, files.disk)
        return why or await primary.job("snapshot-save", STATE_SAVE_TIMEOUT_S)
    finally:
        await primary.execute("cont")


async def _rest_copied(primary: Side, to: Path) -> str:
    """Copies what was written to the disk since, of a machine that stands still."""
    seen = len(primary.events)
    await primary.order("copy_rest", to=str(to))
    copied = await primary.event("rest_copied", after=seen, within_s=STATE_SAVE_TIMEOUT_S)
    if copied["why"]:
        raise PlatformError(f"The disk of {primary.layout.name} could not be copied: {copied['why']}")
    await primary.execute("query-status")  # QEMU has taken what its disk answered before
    return "" if copied["is_at_rest"] else "its disk did not become idle"
