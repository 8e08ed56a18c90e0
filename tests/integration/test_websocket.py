"""Workloads whose operations are exchanges over a WebSocket, against a server of another make."""

import threading
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve

from tests.integration.conftest import LoadstoneRunner, report, rows

pytestmark = pytest.mark.integration

CHAT = """
[workload]
name = "chat"
title = "A room where people talk"
about = "Users enter, say something and wait until it comes back."

[pacing]
kind = "think"
distribution = "exponential"
mean_s = 0.2

[limits]
good_s = 1
tolerable_s = 2

[mix]
kind = "sequence"
sequence = ["enter", "look"]

[values]
word = { kind = "words", words = ["granite", "basalt"], count = 1 }

[operations.enter]
path = "/room"
headers = { Sec-WebSocket-Protocol = "chat" }
websocket = [
  { expect = "welcome" },
  { send = '{{"say": "{word}"}}' },
  { await = '"{word}"' },
  { ping = true },
  { send_bytes = "AAECAw==" },
  { expect = "last" },
]
extract = [{ value = "ticket", json = "/last/ticket" }]

[operations.look]
path = "/ticket/{ticket}"
contains = ["ticket 7"]
"""


def _talk(connection: ServerConnection) -> None:
    connection.send("welcome")
    for message in connection:
        if isinstance(message, bytes):
            connection.send('{"last": {"ticket": 7}}')
        else:
            connection.send("somebody else speaks")
            connection.send(f"said: {message.partition(':')[2]}")


def _pages(connection: ServerConnection, request: Request) -> Response | None:
    if request.path.startswith("/ticket/"):
        return connection.respond(HTTPStatus.OK, f"ticket {request.path.rpartition('/')[2]}")
    return None if request.path == "/room" else connection.respond(HTTPStatus.OK, "here")


@pytest.fixture
def room() -> Iterator[str]:
    """The room's address."""
    with serve(_talk, "127.0.0.1", 0, process_request=_pages, subprotocols=["chat"]) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.socket.getsockname()[1]}"
        server.shutdown()
        thread.join(timeout=5)


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """The workload's declaration."""
    folder = tmp_path / "chat"
    folder.mkdir()
    (folder / "workload.toml").write_text(CHAT)
    return folder / "workload.toml"


def test_messages_are_an_operation_with_its_time_and_its_values(
    room: str, chat: Path, loadstone: LoadstoneRunner, tmp_path: Path
) -> None:
    tried = loadstone("try", "chat", "--target", room)
    assert tried.returncode == 0, tried.stdout + tried.stderr
    assert "GET /room → 101" in tried.stdout
    assert "→ ping" in tried.stdout and "ticket = 7" in tried.stdout
    words = ["--sessions", "5", "--profile", "demo", "--results", "results"]
    done = loadstone("run", "chat", "--target", room, *words)
    assert done.returncode in (0, 1, 3), done.stdout + done.stderr  # as fast as the machine is
    operations = rows(report(tmp_path))
    assert operations["enter"]["requests"] > 5
    assert operations["Total"]["errors"] == 0


def test_another_message_than_expected_is_an_error_that_is_shown(
    room: str, chat: Path, loadstone: LoadstoneRunner
) -> None:
    chat.write_text(CHAT.replace("{ await = ", "{ expect = "))
    tried = loadstone("try", "chat", "--target", room)
    assert tried.returncode == 1
    assert "is missing in the message `somebody else speaks`" in " ".join(tried.stdout.split())


def test_a_page_in_place_of_a_websocket_is_a_wrong_status(room: str, chat: Path, loadstone: LoadstoneRunner) -> None:
    chat.write_text(CHAT.replace('path = "/room"', 'path = "/page"'))
    tried = loadstone("try", "chat", "--target", room)
    assert tried.returncode == 1
    assert "status 200 instead of 101" in tried.stdout
    chat.write_text(CHAT.replace('path = "/room"', 'path = "/room"\nmethod = "POST"'))
    refused = loadstone("try", "chat", "--target", room)
    assert refused.returncode == 2
    assert "leave out `method`" in " ".join(refused.stderr.split())
