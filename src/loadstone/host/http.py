"""Small HTTP requests of the laboratory's own, and ports of this machine. What drivers send is none of this."""

import asyncio
import contextlib
import secrets
import socket
import ssl
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import h11
import psutil

from loadstone.model.errors import PlatformError
from loadstone.model.target import Endpoint

INTERFACES = Path("/sys/class/net")
"""Where Linux lists network interfaces; a bridge has a folder `brif` of its ports, hardware has a `device`."""
LARGEST_BODY = 16 * 1024 * 1024
"""Bytes of an answer that are read; what services say of themselves is far smaller."""
LARGEST_HEAD = 64 * 1024
"""Bytes of an answer's status line and fields."""
HTTP_PIECE_BYTES = 64 * 1024
"""Bytes that are taken at once."""
SERVERS_PORTS = range(20_000, 32_768)
"""Ports for servers: from 32,768 on Linux deals them to clients (`ip_local_port_range`)."""
MOST_RESERVATIONS = 128
"""Ports that a process reserves at once; their servers have long bound the ports before these."""
RESERVATIONS: deque[socket.socket] = deque()
"""Names that this process holds for the ports it chose last."""
PORT_TRIES = 100
"""Ports that are tried before it counts as impossible."""


def find_free_port() -> int:
    """Chooses a port of the loopback address that nobody uses, for a server that binds it later. Raises PlatformError.

    Nobody else gets it until then: the kernel deals clients no port of this range, and each process of this function
    reserves what it chose.
    """
    for _ in range(PORT_TRIES):
        port = secrets.choice(SERVERS_PORTS)
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.bind(("127.0.0.1", port))
            _reserve(port)
            return port
    raise PlatformError(
        f"None of {PORT_TRIES} ports from {SERVERS_PORTS.start} on is free. Stop programs that listen there."
    )


def _reserve(port: int) -> None:
    """Binds an abstract name for a port: as ports do, it belongs to the network namespace and to a living process.
    Raises OSError when another process holds it.
    """
    reservation = socket.socket(socket.AF_UNIX)
    try:
        reservation.bind(f"\0loadstone-port-{port}")
    except OSError:
        reservation.close()
        raise
    RESERVATIONS.append(reservation)
    if len(RESERVATIONS) > MOST_RESERVATIONS:
        RESERVATIONS.popleft().close()


def is_free(port: int) -> bool:
    """Whether nobody listens at a port of the loopback address."""
    with socket.socket() as tried:
        tried.settimeout(1.0)
        return tried.connect_ex(("127.0.0.1", port)) != 0


def is_here(host: str) -> bool:
    """Whether a host's name or address is one of this machine's own, or of a guest of it behind a bridge of its own."""
    try:
        resolved = socket.getaddrinfo(host.strip("[]"), 0, type=socket.SOCK_DGRAM)
    except OSError:
        return False
    for family, kind, _, _, address in resolved:
        with contextlib.suppress(OSError), socket.socket(family, kind) as tried:
            tried.bind(address)  # only an address of our own can be
            return True
        with contextlib.suppress(OSError), socket.socket(family, kind) as tried:
            tried.connect((address[0], 9, *address[2:]))  # sends nothing, but takes the way there
            if is_guest_bridge(_interface_of(tried.getsockname()[0])):
                return True
    return False


def _interface_of(address: str) -> str:
    """The network interface that has an address; empty where none has."""
    interfaces = psutil.net_if_addrs().items()
    return next((name for name, has in interfaces if any(entry.address == address for entry in has)), "")


def is_guest_bridge(interface: str, known: Path = INTERFACES) -> bool:
    """Whether an interface is a bridge without a port to the outside: who is behind it runs on this machine."""
    ports = known / interface / "brif"
    if not interface or not ports.is_dir():
        return False
    return not any((known / port.name / "device").exists() for port in ports.iterdir())


@dataclass(frozen=True)
class HttpAnswer:
    """What came back to a request."""

    status: int
    reason: str
    body: bytes


async def get(
    endpoint: Endpoint,
    path: str,
    timeout_s: float,
    headers: Mapping[str, str] | None = None,
    trusting: ssl.SSLContext | None = None,
) -> bytes:
    """Body of the answer to a request for a path, over TLS where it is said whom to believe; raises OSError, and
    ValueError for anything but 200.
    """
    return _body(endpoint, path, await ask("GET", endpoint, path, timeout_s, headers, trusting=trusting))


async def post(endpoint: Endpoint, path: str, timeout_s: float = 20.0) -> bytes:
    """The same of a request that sends nothing and has something done."""
    return _body(endpoint, path, await ask("POST", endpoint, path, timeout_s))


def _body(endpoint: Endpoint, path: str, answer: HttpAnswer) -> bytes:
    if answer.status != 200:
        raise ValueError(f"{endpoint}{path} answers {answer.status} {answer.reason}")
    return answer.body


async def ask(
    method: str,
    endpoint: Endpoint,
    path: str,
    timeout_s: float,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    trusting: ssl.SSLContext | None = None,
) -> HttpAnswer:
    """Sends one request on a connection of its own. The time limit is one for all of it, from the name's resolution to
    the last byte of the answer, however slowly the other side sends; a cancelled task ends it at once. Raises OSError,
    TimeoutError included, and ValueError for an answer that is not HTTP, or too long.
    """
    fields = {"host": str(endpoint), "connection": "close", **(headers or {})}
    if body or method == "POST":
        fields["content-length"] = str(len(body))
    request = h11.Request(method=method, target=path, headers=list(fields.items()))
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_connection(endpoint.host.strip("[]"), endpoint.port, ssl=trusting)
            try:
                return await _exchange(reader, writer, request, body)
            finally:
                writer.transport.abort()  # a farewell might take for ever
    except TimeoutError:
        raise TimeoutError(f"no complete response within {timeout_s:g} s") from None
    except h11.ProtocolError as error:
        raise ValueError(f"{endpoint}{path} does not respond with HTTP: {error}") from None


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: h11.Request, body: bytes
) -> HttpAnswer:
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=LARGEST_HEAD)
    for part in (request, h11.Data(data=body), h11.EndOfMessage()):
        writer.write(connection.send(part) or b"")
    await writer.drain()
    head: h11.Response | None = None
    received = bytearray()
    while True:
        event = connection.next_event()
        match event:
            case h11.NEED_DATA:
                connection.receive_data(await reader.read(HTTP_PIECE_BYTES))
            case h11.Response():
                head = event
            case h11.Data():
                received += event.data
                if len(received) > LARGEST_BODY:
                    raise ValueError(f"a response of more than {LARGEST_BODY >> 20} MiB")
            case h11.EndOfMessage() if head is not None:
                return HttpAnswer(head.status_code, head.reason.decode(errors="replace"), bytes(received))
            case h11.InformationalResponse():
                pass
            case _:
                raise h11.RemoteProtocolError("the connection closed without a response")


async def read_first_line(endpoint: Endpoint, request: bytes = b"") -> bytes:
    """Returns the first line that a server of any protocol sends after a request, by default after its greeting or for
    `/` over HTTP. It is empty when the server ends the connection. Raises OSError. It has no time limit.
    """
    reader, writer = await asyncio.open_connection(endpoint.host.strip("[]"), endpoint.port)
    try:
        writer.write(request or f"GET / HTTP/1.0\r\nhost: {endpoint}\r\n\r\n".encode())
        return await reader.readline()
    except ValueError:  # a line beyond the reader's limit
        raise OSError(f"{endpoint} sent a line of more than 64 KiB") from None
    finally:
        writer.transport.abort()
