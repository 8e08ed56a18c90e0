"""Moving the state of a machine between its QEMU and a saved state's file, by QEMU's migration."""

import asyncio
import contextlib
import socket
from typing import Any

from qemu.qmp import QMPClient, QMPError

from loadstone.platforms.vm.saved_state import SavedState, StateWriter

SAVE_S = 30.0
"""Longest time to save a state, while the machine stands still."""
LOAD_S = 60.0
MIGRATION_POLL_INTERVAL_S = 0.005
TRANSFER_ENDED = ("completed", "failed", "cancelled")
"""Ends of a migration (QEMU, qapi/migration.json)."""
NO_LIMIT = 1 << 40
"""Bytes a second: beyond what any host can do."""


async def save_state(qmp: QMPClient, into: StateWriter) -> None:
    """Writes the state of a machine, which stands still meanwhile and goes on in any case.

    Raises OSError or QMPError when the state could not be written, TimeoutError when that took too long.
    """
    await qmp.execute("stop")
    try:
        await asyncio.wait_for(_send(qmp, into), SAVE_S)
    finally:
        await qmp.execute("cont")


async def _send(qmp: QMPClient, into: StateWriter) -> None:
    """QEMU writes into one end of a pair of sockets: it may open no file itself, and reports no full disk."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            qmp.send_fd_scm(theirs.fileno())
            await qmp.execute("getfd", {"fdname": "state"})
        copying = asyncio.create_task(asyncio.to_thread(_receive, ours, into))
        try:
            await qmp.execute("migrate-set-parameters", {"max-bandwidth": NO_LIMIT})
            await qmp.execute("migrate", {"uri": "fd:state"})
            await asyncio.shield(copying)
            await _completed(qmp)
        finally:
            with contextlib.suppress(OSError):
                ours.shutdown(socket.SHUT_RDWR)
            await asyncio.gather(copying, return_exceptions=True)
            await _ended(qmp)


def _receive(ours: socket.socket, into: StateWriter) -> None:
    with ours:  # QEMU's migration fails at once where the disk is full
        into.copy(ours.recv_into)


async def load_state(qmp: QMPClient, state: SavedState) -> None:
    """Has QEMU read the state, whose open file it inherited. Raises QMPError or EOFError."""
    await qmp.execute("migrate-incoming", {"uri": f"fd:{state.file.fileno()}"})
    await _completed(qmp)


async def _completed(qmp: QMPClient) -> None:
    """Waits until the migration has completed. Raises QMPError when it ends in another way."""
    while (status := await _status(qmp)) not in TRANSFER_ENDED:
        await asyncio.sleep(MIGRATION_POLL_INTERVAL_S)
    if status != "completed":
        raise QMPError(f"The migration of the state ended as `{status}`")


async def _ended(qmp: QMPClient) -> None:
    """Cancels the migration where it is still under way: before that the machine cannot go on."""
    if await _status(qmp) not in TRANSFER_ENDED:
        await qmp.execute("migrate_cancel")
        while await _status(qmp) not in TRANSFER_ENDED:
            await asyncio.sleep(MIGRATION_POLL_INTERVAL_S)


async def _status(qmp: QMPClient) -> str:
    """How far the migration is; `failed` where there was none."""
    migration: Any = await qmp.execute("query-migrate")
    return str(migration.get("status", "failed"))
