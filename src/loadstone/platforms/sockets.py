"""Ports of this machine, and whether something answers at one."""

import asyncio
import socket

from loadstone.model.target import Endpoint


def free_port() -> int:
    """A port of the loopback address that nobody uses at this moment."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        return port


async def get(at: Endpoint, path: str) -> str:
    """Body of the answer to a request for a path; raises OSError, and ValueError for anything but 200."""
    reader, writer = await asyncio.open_connection(at.host, at.port)
    try:
        writer.write(f"GET {path} HTTP/1.0\r\nhost: {at}\r\n\r\n".encode())
        head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
        if head.split(" ")[1:2] != ["200"]:
            raise ValueError(f"{at}{path} answers {head.splitlines()[:1]}")
        return body
    finally:
        writer.close()


async def status(at: Endpoint) -> bytes:
    """First line of the answer to a request for `/`; empty when the connection ends before. Raises OSError."""
    reader, writer = await asyncio.open_connection(at.host, at.port)
    try:
        writer.write(f"GET / HTTP/1.0\r\nhost: {at}\r\n\r\n".encode())
        return await reader.readline()
    finally:
        writer.close()
