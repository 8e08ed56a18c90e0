"""Requests of the lab itself: one deadline for the whole exchange, and whatever comes is an answer or an error."""

import asyncio
import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from loadstone.host import http
from loadstone.host.http import HttpAnswer, ask, find_free_port, get, post, read_first_line
from loadstone.model.errors import PlatformError
from loadstone.model.target import Endpoint

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Playing = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]
LONG_S = 100.0
"""A limit that no test waits for."""


@contextlib.asynccontextmanager
async def server(play: Playing) -> AsyncIterator[Endpoint]:
    async def quietly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await play(reader, writer)
        writer.close()

    listening = await asyncio.start_server(quietly, "127.0.0.1", 0)
    try:
        yield Endpoint("127.0.0.1", listening.sockets[0].getsockname()[1])
    finally:
        listening.close()


def saying(*pieces: bytes, pause_s: float = 0.0) -> Playing:
    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause_s)

    return play


def asked(play: Playing, method: str = "GET", timeout_s: float = LONG_S, body: bytes = b"") -> HttpAnswer:
    async def run() -> HttpAnswer:
        async with server(play) as at:
            return await ask(method, at, "/path", timeout_s, body=body)

    return asyncio.run(run())


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwords and more",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nwo\r\n3\r\nrds\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\nwords",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwords",
    ],
)
def test_an_answer_is_read_however_its_length_is_told(said: bytes) -> None:
    assert asked(saying(said)) == HttpAnswer(200, "OK", b"words")
    assert asked(saying(*(bytes([byte]) for byte in said))) == HttpAnswer(200, "OK", b"words")


def test_a_request_brings_its_body_and_says_who_is_asked() -> None:
    seen: list[bytes] = []

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.extend([await reader.readuntil(b"\r\n\r\n"), await reader.readexactly(4)])
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")

    assert asked(play, "POST", body=b"body").status == 204
    head, body = seen
    assert head.startswith(b"POST /path HTTP/1.1\r\n") and b"host: 127.0.0.1:" in head.lower() and body == b"body"


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 999999 X\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000,
        b"\x00\xff" * 100,
    ],
)
def test_what_is_no_answer_in_http_is_an_error(said: bytes) -> None:
    with pytest.raises((ValueError, OSError)):
        asked(saying(said))


def test_a_body_beyond_all_bounds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadstone.host.http.LARGEST_BODY", 1000)
    with pytest.raises(ValueError, match="more than"):
        asked(saying(b"HTTP/1.1 200 OK\r\n\r\n", *[b"x" * 600] * 2))


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"])
def test_a_peer_that_sends_a_byte_now_and_then_is_given_up_at_the_limit(head: bytes) -> None:
    begun = time.monotonic()
    with pytest.raises(TimeoutError, match=r"no complete response within 0\.3 s"):
        asked(saying(head, *[b"X"] * 2000, pause_s=0.02), timeout_s=0.3)
    assert time.monotonic() - begun < 10


def test_a_peer_that_is_silent_or_takes_nothing_is_given_up_at_the_limit() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(LONG_S)

    for body in (b"", b"x" * (64 << 20)):
        with pytest.raises(TimeoutError):
            asked(silent, "POST", 0.2, body)


def test_a_cancelled_request_ends_at_once() -> None:
    async def run() -> float:
        async with server(saying(*[b"X"] * 2000, pause_s=0.02)) as at:
            asking = asyncio.create_task(get(at, "/", LONG_S))
            await asyncio.sleep(0.1)
            begun = time.monotonic()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            return time.monotonic() - begun

    assert asyncio.run(run()) < 20


def test_another_status_than_200_is_an_error_of_get_and_post() -> None:
    async def run() -> None:
        async with server(saying(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")) as at:
            for asking in (get(at, "/", LONG_S), post(at, "/")):
                with pytest.raises(ValueError, match="503 Busy"):
                    await asking

    asyncio.run(run())


def test_a_first_line_without_an_end_is_an_error() -> None:
    async def run() -> None:
        async with server(saying(b"x" * 1_000_000)) as at:
            with pytest.raises(OSError, match="64 KiB"):
                await read_first_line(at)

    asyncio.run(run())


PROCESS_THAT_CHOOSES_ONE_PORT = """
import sys
from loadstone.host import http
http.SERVERS_PORTS = range(int(sys.argv[1]), int(sys.argv[1]) + 1)
print(http.find_free_port(), flush=True)
sys.stdin.read()
"""


def test_a_chosen_port_is_reserved_for_its_process_until_that_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    port = find_free_port()
    http.RESERVATIONS.pop().close()
    command = [sys.executable, "-c", PROCESS_THAT_CHOOSES_ONE_PORT, str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == str(port)
        monkeypatch.setattr(http, "SERVERS_PORTS", range(port, port + 1))
        with pytest.raises(PlatformError, match="ports from"):
            find_free_port()
        other.communicate()
    assert find_free_port() == port


def test_a_port_that_somebody_listens_on_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        monkeypatch.setattr(http, "SERVERS_PORTS", range(port, port + 1))
        with pytest.raises(PlatformError, match=f"from {port} on is free"):
            find_free_port()


def test_a_process_holds_the_newest_reservations_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MOST_RESERVATIONS", 3)
    monkeypatch.setattr(http, "RESERVATIONS", type(http.RESERVATIONS)())
    ports = [find_free_port() for _ in range(5)]
    held = [reservation.getsockname() for reservation in http.RESERVATIONS]
    for reservation in http.RESERVATIONS:
        reservation.close()
    assert held == [f"\0loadstone-port-{port}".encode() for port in ports[-3:]]
