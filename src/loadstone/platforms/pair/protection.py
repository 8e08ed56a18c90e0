"""Protecting a machine: another side begins with its state, and follows what it records from there on."""

import asyncio
import contextlib
import time
from pathlib import Path

from loadstone.model.errors import PlatformError
from loadstone.platforms.pair.command import SideFiles
from loadstone.platforms.pair.mode import Mode
from loadstone.platforms.pair.side import STATE_SAVE_TIMEOUT_S, Side

PROTECTION_TRIES = 20
"""A machine that frames were on their way to when it was stopped cannot be saved: it goes on, and is stopped anew."""
SETTLED_S = 0.02
"""Frames that QEMU has taken reach the machine within that."""
FOLLOWED_S = 60.0
"""Longest time from the start of a secondary's QEMU until it has loaded the state and replayed the log."""
COPIED_S = 600.0
"""Longest time for a disk to be copied."""


async def protect_new(sides: list[Side]) -> str:
    """Starts both sides from one state: the first records, the second follows it. Returns why the second does not
    follow; then it has ended, and is none of the sides any more. Raises PlatformError where the first does not serve.
    """
    primary, secondary = sides
    await primary.start_agent(None)
    address = await _listening(primary)
    await primary.start_machine(Mode.RECORD, has_state=True)
    try:
        await secondary.start_agent(address)
        await secondary.start_machine(Mode.REPLAY, has_state=True)
        await primary.wait_event("protected", within_s=FOLLOWED_S)
    except PlatformError as error:
        await secondary.end()
        if not primary.is_up:
            raise
        await primary.order("resume", is_saved=False)  # it records for nobody
        sides.remove(secondary)
        return str(error)
    finally:
        for side in (primary, secondary):
            with contextlib.suppress(PlatformError):
                await side.forget(side.files.state)
    return ""


async def start_alone(machine: Side) -> None:
    """Starts a machine from its state that nobody will follow. Raises PlatformError."""
    await machine.start_agent(None)
    await machine.start_machine(Mode.ALONE, has_state=True)
    await machine.forget(machine.files.state)


async def protect_running(primary: Side, secondary: Side) -> float:
    """Makes a side from the state of one that serves alone. For how many seconds that one stood still. Raises
    PlatformError.
    """
    files, there = secondary.files, primary.files.with_side(secondary.files.name)
    has_own_disk = bool(primary.layout.disk.mib) and not primary.layout.disk.is_shared
    try:
        if has_own_disk:
            await _disk_copied(primary, there.disk)
        seen = len(primary.events)
        paused_s = await _saved(primary, there)
        if has_own_disk:
            await secondary.fetch(primary, {there.disk: files.disk})  # its agent opens it as it starts
        await secondary.start_agent(await _listening(primary))  # it takes the log from here on
        if not (await primary.wait_event("written", after=seen, within_s=STATE_SAVE_TIMEOUT_S))["is_whole"]:
            raise PlatformError(f"The state of {primary.layout.name} could not be written to {there.state}.")
        await secondary.fetch(primary, {there.state: files.state})
        await secondary.start_machine(Mode.REPLAY, has_state=True)
        await secondary.wait_event("follows", within_s=FOLLOWED_S)
        await primary.wait_event("protected", after=seen, within_s=FOLLOWED_S)
    except BaseException:
        await primary.order("resume", is_saved=False)  # it records for nobody, and is given frames
        raise
    finally:
        for side in (primary, secondary):
            with contextlib.suppress(PlatformError):
                await side.forget(side.files.state)
    return paused_s


async def _listening(primary: Side) -> str:
    """Where the primary's agent waits for a secondary's."""
    seen = len(primary.events)
    await primary.order("protect")
    return str((await primary.wait_event("listening", after=seen))["address"])


async def _disk_copied(primary: Side, to: Path) -> None:
    """Copies the disk of a machine that runs, and goes on to note what it writes."""
    seen = len(primary.events)
    await primary.order("copy", to=str(to))
    why = (await primary.wait_event("copied", after=seen, within_s=COPIED_S))["why"]
    if why:
        raise PlatformError(f"The disk of {primary.layout.name} could not be copied: {why}")


async def _saved(primary: Side, files: SideFiles) -> float:
    """Has a copy of a running machine's state begun; for how many seconds it stood still, all attempts together."""
    why, stood_s = "", 0.0
    for _ in range(PROTECTION_TRIES):
        await primary.order("hold")
        await asyncio.sleep(SETTLED_S)
        began = time.monotonic()
        await primary.execute("stop")
        try:
            why = await _save(primary, files)
        finally:
            await primary.execute("cont")
        stood_s += time.monotonic() - began
        await primary.order("resume", is_saved=not why)
        if not why:
            return stood_s
    raise PlatformError(f"The state of {primary.layout.name} was not saved in {PROTECTION_TRIES} attempts: {why}")


async def _save(primary: Side, files: SideFiles) -> str:
    """Has a machine that stands still saved, with the rest of its disk; why that failed, empty when it did not."""
    if primary.layout.disk.mib and (why := await _rest_copied(primary, files.disk)):
        return why
    seen = len(primary.events)
    await primary.order("save")
    await primary.wait_event("saving", after=seen)
    await primary.execute("query-status")  # the library acts in a turn of QEMU's main loop
    is_at_rest = (await primary.wait_event("saved", after=seen))["is_at_rest"]
    return "" if is_at_rest else "frames were on their way to it"


async def _rest_copied(primary: Side, to: Path) -> str:
    """Copies what was written to the disk since, of a machine that stands still."""
    seen = len(primary.events)
    await primary.order("copy_rest", to=str(to))
    copied = await primary.wait_event("rest_copied", after=seen, within_s=STATE_SAVE_TIMEOUT_S)
    if copied["why"]:
        raise PlatformError(f"The disk of {primary.layout.name} could not be copied: {copied['why']}")
    await primary.execute("query-status")  # QEMU has taken what its disk answered before
    return "" if copied["is_at_rest"] else "its disk did not become idle"
