"""Small HTTP requests of the laboratory's own, and ports of this machine. What drivers send is none of this."""

import asyncio
import contextlib
import secrets
import socket
import ssl
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path

import psutil

from loadstone.model.errors import PlatformError
from loadstone.model.target import Endpoint

INTERFACES = Path("/sys/class/net")
"""Where Linux lists network interfaces; a bridge has a folder `brif` of its ports, hardware has a `device`."""
LARGEST_BODY = 16 * 1024 * 1024
"""Bytes of an answer that are read; what services say of themselves is far smaller."""
SERVERS_PORTS = range(20_000, 32_768)
"""Ports for servers: from 32,768 on Linux deals them to clients (`ip_local_port_range`)."""
TRIES = 100
"""Ports that are tried before it counts as impossible."""


def free_port() -> int:
    """A port of the loopback address that nobody uses at this moment: one that the kernel does not deal to clients,
    which could take it before the server does that it is for.
    """
    for _ in range(TRIES):
        port = secrets.choice(SERVERS_PORTS)
        with socket.socket() as held, contextlib.suppress(OSError):
            held.bind(("127.0.0.1", port))
            return port
    raise PlatformError(f"None of {TRIES} ports from {SERVERS_PORTS.start} on is free. End what listens there.")


def is_free(port: int) -> bool:
    """Whether nobody listens at a port of the loopback address."""
    with socket.socket() as tried:
        tried.settimeout(1.0)
        return tried.connect_ex(("127.0.0.1", port)) != 0


def is_here(host: str) -> bool:
    """Whether a host's name or address is one of this machine's own, or of a guest of it behind a bridge of its own."""
    try:
        found = socket.getaddrinfo(host.strip("[]"), 0, type=socket.SOCK_DGRAM)
    except OSError:
        return False
    for family, kind, _, _, address in found:
        with contextlib.suppress(OSError), socket.socket(family, kind) as tried:
            tried.bind(address)  # only an address of our own can be
            return True
        with contextlib.suppress(OSError), socket.socket(family, kind) as tried:
            tried.connect((address[0], 9, *address[2:]))  # sends nothing, but takes the way there
            if leads_to_guests(_interface_of(tried.getsockname()[0])):
                return True
    return False


def _interface_of(address: str) -> str:
    """The network interface that has an address; empty where none has."""
    interfaces = psutil.net_if_addrs().items()
    return next((name for name, has in interfaces if any(one.address == address for one in has)), "")


def leads_to_guests(interface: str, known: Path = INTERFACES) -> bool:
    """Whether an interface is a bridge without a port to the outside: who is behind it runs on this machine."""
    ports = known / interface / "brif"
    if not interface or not ports.is_dir():
        return False
    return not any((known / port.name / "device").exists() for port in ports.iterdir())


async def get(
    at: Endpoint,
    path: str,
    timeout_s: float,
    headers: Mapping[str, str] | None = None,
    trusting: ssl.SSLContext | None = None,
) -> bytes:
    """Body of the answer to a request for a path, over TLS where it is said whom to believe; raises OSError, and
    ValueError for anything but 200.
    """
    return await asyncio.to_thread(_ask, "GET", at, path, timeout_s, headers or {}, trusting)


async def post(at: Endpoint, path: str, timeout_s: float = 20.0) -> bytes:
    """The same of a request that sends nothing and has something done."""
    return await asyncio.to_thread(_ask, "POST", at, path, timeout_s, {}, None)


def _ask(
    method: str,
    at: Endpoint,
    path: str,
    timeout_s: float,
    headers: Mapping[str, str],
    trusting: ssl.SSLContext | None,
) -> bytes:
    host = at.host.strip("[]")
    connection = (
        HTTPSConnection(host, at.port, timeout=timeout_s, context=trusting)
        if trusting is not None
        else HTTPConnection(host, at.port, timeout=timeout_s)
    )
    with contextlib.closing(connection):
        try:
            connection.request(method, path, headers={"connection": "close", **headers})
            answer = connection.getresponse()
            body = answer.read(LARGEST_BODY)
        except HTTPException as error:
            raise ValueError(f"{at}{path} gives no answer in HTTP: {type(error).__name__}") from None
    if answer.status != 200:
        raise ValueError(f"{at}{path} answers {answer.status} {answer.reason}")
    return body


async def first_line(at: Endpoint, words: bytes = b"") -> bytes:
    """What a server of any protocol says first when it is told these words, or asked for `/` over HTTP; empty when it
    ends the connection. Raises OSError.
    """
    reader, writer = await asyncio.open_connection(at.host, at.port)
    try:
        writer.write(words or f"GET / HTTP/1.0\r\nhost: {at}\r\n\r\n".encode())
        return await reader.readline()
    finally:
        writer.close()
