"""The web page holds no connection that never asks, and not more than so many."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from loadstone.host import bounds
from loadstone.web.app import make_app


@contextlib.contextmanager
def served(results: Path) -> Iterator[int]:
    """The page in a thread of this process; the port it answers at."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(make_app(results, None), http=bounds.BoundedProtocol, log_level="error")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield int(listener.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join(timeout=10)


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60)


def request(port: int) -> bytes:
    return f"GET /healthy HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()


@pytest.mark.parametrize("begun", [b"", b"GET / HT"])
def test_who_does_not_ask_in_time_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: bytes) -> None:
    monkeypatch.setattr(bounds, "HEADER_S", 0.2)
    with served(tmp_path) as port, connect(port) as half:
        half.sendall(begun)
        assert half.recv(1) == b"", "the connection was closed"


def test_a_further_request_must_be_whole_in_time_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "HEADER_S", 0.5)
    with served(tmp_path) as port, connect(port) as kept:
        kept.sendall(request(port))
        assert kept.recv(65536).startswith(b"HTTP/1.1")
        kept.sendall(b"GET / HT")
        while kept.recv(65536):
            pass


@pytest.mark.parametrize("bound", ["MOST_CONNECTIONS", "MOST_OF_AN_ADDRESS"])
def test_strangers_in_all_places_keep_nobody_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    monkeypatch.setattr(bounds, bound, 3)
    with served(tmp_path) as port, contextlib.ExitStack() as held:
        slow = [held.enter_context(connect(port)) for _ in range(12)]
        for one in slow:
            with contextlib.suppress(OSError):
                one.sendall(b"GET / HT")
        with connect(port) as asking:
            asking.sendall(request(port))
            assert asking.recv(1) == b"H"
        ended = 0
        for one in slow:
            one.settimeout(0.2)
            with contextlib.suppress(TimeoutError):
                try:
                    ended += one.recv(1) == b""
                except ConnectionError:
                    ended += 1
        assert ended >= 9


class Connection:
    """What `to_make_room` looks at."""

    def __init__(self, number: int, address: str, is_asking: bool = True) -> None:
        self._number, self.address, self.is_asking = number, address, is_asking


def test_the_oldest_that_has_not_asked_makes_room_of_the_address_with_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_CONNECTIONS", 4)
    held = [Connection(0, "a"), Connection(1, "b", is_asking=False), Connection(2, "b"), Connection(3, "b")]
    newest = Connection(4, "c")

    def numbers(connections: list[Connection], new: Connection) -> list[int]:
        return [one._number for one in bounds.to_make_room([*connections, new], new)]  # type: ignore[misc, arg-type]

    assert numbers(held, newest) == [2]
    assert numbers(held[1:], newest) == []
    served = [Connection(number, "b", is_asking=False) for number in range(4)]
    assert numbers(served, Connection(4, "b")) == [4], "what is being served stays"
