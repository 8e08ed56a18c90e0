"""Files from one host to another, straight: TLS, both ends of which show a certificate of the pair's authority."""

import asyncio
import contextlib
import shutil
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from loadstone.fleet.contract import FleetError
from loadstone.platforms.pair.command import RemotePeer

CARRIED_PIECE_BYTES = 1 << 20
HOLE = 64 * 1024
"""Bytes that are left out of a file where all of them are zero: disks are mostly empty."""
LENGTH_BYTES = 8
"""Of the file's length, before its content."""
TRANSFER_CONNECT_TIMEOUT_S = 10.0
TRANSFER_SILENCE_TIMEOUT_S = 20.0
"""Longest wait for the next piece."""


def _context(purpose: ssl.Purpose, credentials: RemotePeer) -> ssl.SSLContext:
    context = ssl.create_default_context(purpose, cafile=str(credentials.authority))
    context.load_cert_chain(credentials.certificate, credentials.key)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


@asynccontextmanager
async def offer_file(file: Path, credentials: RemotePeer) -> AsyncIterator[int]:
    """Hands a file to whoever shows a certificate of the pair's, while the block runs; the port where it does."""

    async def hand(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, ssl.SSLError), file.open("rb") as opened:
            writer.write(file.stat().st_size.to_bytes(LENGTH_BYTES, "big"))
            while piece := await asyncio.to_thread(opened.read, CARRIED_PIECE_BYTES):
                writer.write(piece)
                await writer.drain()
        writer.close()

    context = _context(ssl.Purpose.CLIENT_AUTH, credentials)
    server = await asyncio.start_server(
        hand, credentials.address, 0, ssl=context, ssl_handshake_timeout=TRANSFER_CONNECT_TIMEOUT_S
    )
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()


async def fetch_file(into: Path, host: str, port: int, credentials: RemotePeer) -> None:
    """Takes a file that another host hands out. Raises FleetError where it does not come whole; there is none then."""
    try:
        connecting = asyncio.open_connection(host, port, ssl=_context(ssl.Purpose.SERVER_AUTH, credentials))
        reader, writer = await asyncio.wait_for(connecting, TRANSFER_CONNECT_TIMEOUT_S)
        try:
            await _written(reader, into)
        finally:
            writer.close()
    except (OSError, ssl.SSLError, TimeoutError, asyncio.IncompleteReadError) as error:
        into.unlink(missing_ok=True)
        raise FleetError(f"{into.name} could not be copied from {host}: {error or type(error).__name__}") from None


async def _written(reader: asyncio.StreamReader, into: Path) -> None:
    length = int.from_bytes(await asyncio.wait_for(reader.readexactly(LENGTH_BYTES), TRANSFER_SILENCE_TIMEOUT_S), "big")
    if length > shutil.disk_usage(into.parent).total:
        raise OSError(f"it would be {length} bytes long")
    with into.open("wb") as file:
        file.truncate(length)
        for offset in range(0, length, HOLE):
            piece = await asyncio.wait_for(reader.readexactly(min(HOLE, length - offset)), TRANSFER_SILENCE_TIMEOUT_S)
            if piece.strip(b"\0"):
                file.seek(offset)
                file.write(piece)
