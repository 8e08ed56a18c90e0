"""Protecting a machine: another side begins with its state, and follows what it records from there on."""

import asyncio
import subprocess
import time
from pathlib import Path

from loadstone.model.errors import PlatformError
from loadstone.platforms.pair.command import SNAPSHOT, Mode
from loadstone.platforms.pair.side import PairSide

TRIES = 20
"""A machine that frames were on their way to when it was stopped cannot be saved: it goes on, and is stopped anew."""
SETTLED_S = 0.02
"""Frames that QEMU has taken reach the machine within that."""
SAVED_S = 60.0
ROOM = "1M"
"""Length of the block device that a state is kept beside; a state needs none of it."""


async def protect_new(sides: tuple[PairSide, PairSide], store: Path, state: Path) -> None:
    """Starts both sides from one state: the first records, the second follows it. Raises PlatformError."""
    primary, secondary = sides
    await primary.start_agent(primary.layout.nic.interface, store, None)
    address = await _listening(primary)
    await primary.start_machine(Mode.RECORD, state)
    await secondary.start_agent(primary.layout.nic.twin, store, address)
    await secondary.start_machine(Mode.REPLAY, state)
    await primary.event("protected")
    state.unlink()


async def protect_running(primary: PairSide, secondary: PairSide, tap: str, store: Path) -> float:
    """Makes a side from the state of one that serves alone. For how many seconds that one stood still. Raises
    PlatformError.
    """
    paused_s = await _saved(primary, secondary.files.snapshot)
    seen = len(primary.events)
    address = await _listening(primary)
    await secondary.start_agent(tap, store, address)
    await secondary.start_machine(Mode.REPLAY, None)
    why = await secondary.job("snapshot-load", SAVED_S)
    if why:
        raise PlatformError(f"The state of {primary.layout.name} could not be loaded: {why}")
    await secondary.execute("cont")
    await primary.event("protected", after=seen)
    await secondary.execute("blockdev-del", **{"node-name": SNAPSHOT})
    secondary.files.snapshot.unlink()
    return paused_s


async def _listening(primary: PairSide) -> str:
    """Where the primary's agent waits for a secondary's."""
    seen = len(primary.events)
    await primary.order("protect")
    return str((await primary.event("listening", after=seen))["address"])


async def _saved(primary: PairSide, snapshot: Path) -> float:
    """Saves the state of a machine that runs; for how many seconds it stood still."""
    await asyncio.to_thread(_make_file, snapshot)
    file = {"driver": "file", "filename": str(snapshot)}
    await primary.execute("blockdev-add", driver="qcow2", file=file, **{"node-name": SNAPSHOT})
    try:
        return await _save_at_rest(primary)
    finally:
        await primary.execute("blockdev-del", **{"node-name": SNAPSHOT})


def _make_file(snapshot: Path) -> None:
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", snapshot, ROOM], check=True)


async def _save_at_rest(primary: PairSide) -> float:
    why = ""
    for _ in range(TRIES):
        seen = len(primary.events)
        await primary.order("hold")
        await asyncio.sleep(SETTLED_S)
        began = time.monotonic()
        why = await primary.job("snapshot-save", SAVED_S)
        await primary.order("resume", is_saved=not why)
        if not why:
            await primary.event("saved", after=seen)
            return time.monotonic() - began
    raise PlatformError(f"The state of {primary.layout.name} was not saved in {TRIES} attempts: {why}")
