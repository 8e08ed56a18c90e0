"""The web page holds no connection that never asks, and not more than so many."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from loadstone.web import bounds
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
    return socket.create_connection(("127.0.0.1", port), timeout=10)


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


def test_there_are_not_more_than_so_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_CONNECTIONS", 3)
    with served(tmp_path) as port, contextlib.ExitStack() as held:
        kept = [held.enter_context(connect(port)) for _ in range(3)]
        kept[-1].sendall(request(port))
        assert kept[-1].recv(1) == b"H"
        with connect(port) as one_more:
            assert one_more.recv(1) == b""
