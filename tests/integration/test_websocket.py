"""Workloads whose operations are exchanges over a WebSocket, against a server of another make."""

import json
import secrets
import threading
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve

from loadstone.workloads import load
from tests.integration.conftest import (
    CHROMIUM,
    OPTIONS,
    LoadstoneRunner,
    newest,
    report,
    require_requests,
    rows,
    run_until,
)
from tests.verdicts import WINDOW, broken_rules

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
            assert json.loads(message)["say"] in ("granite", "basalt")
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
        thread.join(timeout=60)


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """The workload's declaration."""
    folder = tmp_path / "chat"
    folder.mkdir()
    (folder / "workload.toml").write_text(CHAT)
    return folder / "workload.toml"


@pytest.mark.slow("a run")
def test_messages_are_an_operation_with_its_time_and_its_values(
    room: str, chat: Path, loadstone_here: LoadstoneRunner, tmp_path: Path
) -> None:
    tried = loadstone_here("try", "chat", "--target", room)
    assert tried.returncode == 0, tried.stdout + tried.stderr
    assert "GET /room → 101" in tried.stdout
    assert "→ ping" in tried.stdout and "ticket = 7" in tried.stdout
    words = ("run", "chat", "--target", room, "--sessions", "5", *WINDOW)
    done = run_until(loadstone_here, tmp_path, require_requests(5, "enter"), *words)
    assert broken_rules(newest(tmp_path)) == [], done.stdout + done.stderr
    assert rows(report(tmp_path))["Total"]["errors"] == 0


def test_another_message_than_expected_is_an_error_that_is_shown(
    room: str, chat: Path, loadstone_here: LoadstoneRunner
) -> None:
    chat.write_text(CHAT.replace("{ await = ", "{ expect = "))
    tried = loadstone_here("try", "chat", "--target", room)
    assert tried.returncode == 1
    assert "is missing in the message `somebody else speaks`" in " ".join(tried.stdout.split())


def test_a_page_in_place_of_a_websocket_is_a_wrong_status(
    room: str, chat: Path, loadstone_here: LoadstoneRunner
) -> None:
    chat.write_text(CHAT.replace('path = "/room"', 'path = "/page"'))
    tried = loadstone_here("try", "chat", "--target", room)
    assert tried.returncode == 1
    assert "status 200 instead of 101" in tried.stdout
    chat.write_text(CHAT.replace('path = "/room"', 'path = "/room"\nmethod = "POST"'))
    refused = loadstone_here("try", "chat", "--target", room)
    assert refused.returncode == 2
    assert "does not support `method`; remove it" in " ".join(refused.stderr.split())


FOYER = """<!doctype html><title>Foyer</title><meta name="room-key" content="{key}">
<script>
const key = document.querySelector("meta").content;
const socket = new WebSocket(`ws://${{location.host}}/room`, "chat");
socket.onmessage = (told) => {{
  const message = JSON.parse(told.data);
  if (message.kind === "who") socket.send(JSON.stringify({{ kind: "me", name: "Ann", key: key }}));
  if (message.kind === "in") setTimeout(() => fetch("/ticket/" + message.ticket), 1500);
}};
</script>"""


class Club:
    """A site that lets people in by a key of their own, and gives each a ticket of their own."""

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.tickets: set[str] = set()

    def talk(self, connection: ServerConnection) -> None:
        """Of those inside, at once somebody is heard."""
        connection.send(json.dumps({"kind": "who", "at": secrets.token_hex(8)}))
        for message in connection:
            key = json.loads(message)["key"]
            if key not in self.keys:
                connection.send('{"kind": "out"}')
                continue
            self.keys.remove(key)
            self.tickets.add(ticket := secrets.token_hex(8))
            connection.send('{"kind": "said", "words": "granite"}')
            connection.send(json.dumps({"kind": "in", "ticket": ticket}))

    def page(self, connection: ServerConnection, request: Request) -> Response | None:
        """All but the room."""
        if request.path == "/room":
            return None
        if request.path.startswith("/ticket/"):
            is_known = request.path.rpartition("/")[2] in self.tickets
            return connection.respond(HTTPStatus.OK if is_known else HTTPStatus.NOT_FOUND, "a ticket")
        if request.path != "/":
            return connection.respond(HTTPStatus.NOT_FOUND, "nothing")
        self.keys.add(key := secrets.token_urlsafe(12))
        page = FOYER.format(key=key).encode()
        headers = Headers({"Content-Type": "text/html", "Content-Length": str(len(page)), "Connection": "close"})
        return Response(200, "OK", headers, page)


@pytest.fixture
def club() -> Iterator[str]:
    """The club's address."""
    club = Club()
    with serve(club.talk, "127.0.0.1", 0, process_request=club.page, subprotocols=["chat"]) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.socket.getsockname()[1]}"
        server.shutdown()
        thread.join(timeout=60)


@pytest.mark.slow("two recordings by a browser, and a run")
def test_a_recorded_exchange_is_played_by_many_with_keys_of_their_own(
    club: str, loadstone_here: LoadstoneRunner, tmp_path: Path
) -> None:
    for name in ("a.har", "b.har"):
        record(club, tmp_path / name)
    done = loadstone_here("workloads", "from-har", "a.har", "b.har", "-o", "mine", "--verify", club)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 new users completed the visit at the same time" in done.stdout, done.stdout
    made = load(str(tmp_path / "mine"))
    assert made.mix.sequence == ("home", "room", "ticket")
    assert [list(step.plan_pairs()) for step in made.operations["room"].websocket] == [
        ["await"],
        ["send"],
        ["await"],
    ]
    assert made.operations["room"].websocket[1].send == '{{"kind":"me","name":"Ann","key":"{key}"}}'
    words = ("run", "mine", "--target", club, "--sessions", "20", *WINDOW)
    done = run_until(loadstone_here, tmp_path, require_requests(4, "room"), *words)
    assert broken_rules(newest(tmp_path)) == [], done.stdout + done.stderr
    assert rows(report(tmp_path))["Total"]["errors"] == 0


def record(site: str, file: Path) -> None:
    """Enters the club by a fresh browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        context = browser.new_context(record_har_path=str(file), record_har_content="embed")
        page = context.new_page()
        with page.expect_response(lambda answer: "/ticket/" in answer.url):
            page.goto(site)
        context.close()
        browser.close()
