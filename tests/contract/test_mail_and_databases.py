"""What every mail store, every database and every cache must do, the embedded ones and the real ones alike."""

import asyncio
import imaplib
import json
import shutil
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loadstone.model.machine import PUBLIC, MachineSpec
from loadstone.model.role import ProcessRole
from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.model.target import Endpoint
from loadstone.services import reference
from loadstone.services.registry import get_service_kind, list_service_kinds
from loadstone.testbed.context import open_testbed
from loadstone.testbed.running import Running
from loadstone.testbed.start import StartedService, build_site_on, start_service
from tests.contract.shared_services import SharedServices, first_reading, held_testbed

pytestmark = pytest.mark.integration
Json = dict[str, Any]
WAIT_S = 60.0
MESSAGE = b"From: a@loadstone.example\r\nSubject: a word\r\n\r\n" + b"line of text\r\n" * 400


@pytest.fixture(scope="module", params=list(list_service_kinds(ServiceRole.MAIL)))
def mail_server(
    request: pytest.FixtureRequest, runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StartedService]:
    """A mail store of each kind, up; each test has users of its own, whose folders are empty."""
    if request.param == "dovecot":
        assert shutil.which("dovecot", path="/usr/sbin:/usr/bin"), "scripts/system-packages dovecot installs it"
    stack, logs = AsyncExitStack(), tmp_path_factory.mktemp("mail")

    async def start() -> StartedService:
        running = Running(await stack.enter_async_context(held_testbed(logs)))
        machine = await running.base.start_machine("mail", MachineSpec(), (PUBLIC,))
        kind = get_service_kind(ServiceRole.MAIL, request.param)
        return await start_service(running, machine, kind, build_site_on(machine))

    yield runner.run(start())
    runner.run(stack.aclose())


@pytest.fixture
def mail(mail_server: StartedService) -> Endpoint:
    """Where it answers over IMAP."""
    return mail_server.http


def client(mail: Endpoint, user: str) -> imaplib.IMAP4:
    opened = imaplib.IMAP4(mail.host, mail.port, timeout=60)
    opened.login(user, "loadstone")
    return opened


def numbers(answer: tuple[str, list[Any]]) -> list[int]:
    return [int(number) for number in answer[1][0].split()]


def test_a_message_comes_back_as_it_was_sent_and_reading_marks_it(mail: Endpoint) -> None:
    user = client(mail, "user1")
    assert user.append("INBOX", "", "", MESSAGE)[0] == "OK"
    assert user.select("INBOX") == ("OK", [b"1"])
    assert numbers(user.search(None, "UNSEEN")) == [1]
    found = user.fetch("1", "(UID FLAGS RFC822.SIZE BODY[])")[1]
    assert found[0][1] == MESSAGE
    assert f"RFC822.SIZE {len(MESSAGE)}".encode() in b"".join(part for one in found for part in one if one != b")")
    assert numbers(user.search(None, "UNSEEN")) == []
    assert user.fetch("1", "(BODY.PEEK[HEADER.FIELDS (SUBJECT)])")[1][0][1] == b"Subject: a word\r\n\r\n"
    assert user.fetch("1", "BODY.PEEK[TEXT]<5.10>")[1][0][1] == MESSAGE.partition(b"\r\n\r\n")[2][5:15]
    user.logout()


def test_deleted_messages_go_when_they_are_expunged_and_uids_do_not_come_back(mail: Endpoint) -> None:
    user = client(mail, "user2")
    for _ in range(3):
        user.append("INBOX", "", "", MESSAGE)
    user.select("INBOX")
    before = numbers(user.uid("SEARCH", "ALL"))  # type: ignore[arg-type]
    user.store("2:3", "+FLAGS", r"(\Deleted)")
    assert numbers(user.search(None, "DELETED")) == [2, 3]
    assert sorted(int(number) for number in user.expunge()[1]) in ([2, 2], [2, 3])
    user.append("INBOX", "", "", MESSAGE)
    user.noop()
    after = numbers(user.uid("SEARCH", "ALL"))  # type: ignore[arg-type]
    assert after[0] == before[0]
    assert after[1] > before[2]
    user.logout()


def test_folders_are_made_listed_counted_filled_and_removed(mail: Endpoint) -> None:
    user = client(mail, "user3")
    assert user.create("Archive")[0] == "OK"
    assert user.create("Archive")[0] == "NO"
    user.append("INBOX", r"(\Seen \Flagged)", "", MESSAGE)
    user.select("INBOX")
    assert user.copy("1", "Archive")[0] == "OK"
    assert user.copy("1", "Nowhere")[0] == "NO"
    assert b"MESSAGES 1" in user.status("Archive", "(MESSAGES UNSEEN)")[1][0]
    assert any(b"Archive" in one for one in user.list()[1])
    user.select("Archive")
    assert rb"\Flagged" in user.fetch("1", "FLAGS")[1][0]
    user.select("INBOX")
    assert user.delete("Archive")[0] == "OK"
    assert not any(b"Archive" in one for one in user.list()[1])
    user.logout()


def test_users_do_not_see_each_other_and_strangers_see_nothing(mail: Endpoint) -> None:
    one, other = client(mail, "user4"), client(mail, "user5")
    one.append("INBOX", "", "", MESSAGE)
    assert other.select("INBOX") == ("OK", [b"0"])
    stranger = imaplib.IMAP4(mail.host, mail.port, timeout=60)
    with pytest.raises(imaplib.IMAP4.error, match="AUTHENTICATIONFAILED"):
        stranger.login("user4", "wrong")
    for open_one in (one, other, stranger):
        open_one.logout()


def test_two_sessions_of_a_user_hear_of_each_other(mail: Endpoint) -> None:
    one, other = client(mail, "user6"), client(mail, "user6")
    one.select("INBOX")
    other.append("INBOX", "", "", MESSAGE)
    until = time.monotonic() + WAIT_S
    while numbers(one.search(None, "ALL")) != [1] and time.monotonic() < until:
        one.noop()
    assert numbers(one.search(None, "ALL")) == [1]
    one.logout()
    other.logout()


def test_delivered_mail_is_there_for_each_recipient_as_it_was_sent(mail: Endpoint, mail_server: StartedService) -> None:
    assert mail_server.delivery is not None
    at, dotted = mail_server.delivery.endpoint, MESSAGE + b".\r\n..two dots\r\n"
    with socket.create_connection((at.host, at.port), timeout=60) as line, line.makefile("rb") as replies:

        def tell(words: bytes) -> int:
            line.sendall(words + b"\r\n")
            return read_code()

        def read_code() -> int:
            while (reply := replies.readline())[3:4] == b"-":
                pass
            return int(reply[:3])

        assert (read_code(), tell(b"LHLO test.loadstone.example")) == (220, 250)
        for message in (dotted, MESSAGE):
            assert tell(b"MAIL FROM:<user9@loadstone.example>") == 250
            assert [tell(b"RCPT TO:<user%d@loadstone.example>" % number) for number in (7, 8)] == [250, 250]
            assert tell(b"DATA") == 354
            stuffed = b"".join(b"." * part.startswith(b".") + part for part in message.splitlines(keepends=True))
            assert (tell(stuffed + b"."), read_code()) == (250, 250)
        assert tell(b"RCPT TO:<user7@loadstone.example>") == 503, "there is no sender"
        assert tell(b"QUIT") == 221
    for name in ("user7", "user8"):
        user = client(mail, name)
        assert user.select("INBOX") == ("OK", [b"2"])
        assert numbers(user.search(None, "UNSEEN")) == [1, 2]
        first, second = (user.fetch(number, "BODY[]")[1][0][1] for number in ("1", "2"))
        assert first.endswith(dotted) and second.endswith(MESSAGE)
        assert first.startswith(b"Return-Path: <user9@loadstone.example>\r\n")
        user.logout()


@pytest.fixture(scope="module", params=["file", *list_service_kinds(ServiceRole.DATABASE)])
def dealership(
    request: pytest.FixtureRequest,
    runner: asyncio.Runner,
    services: SharedServices,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Endpoint]:
    """The dealership over each kind of database, filled for an injection rate of one."""
    stack, logs = AsyncExitStack(), tmp_path_factory.mktemp("dealership")

    async def start() -> Endpoint:
        running = Running(await stack.enter_async_context(held_testbed(logs)))
        app = await running.base.start_machine("app", MachineSpec(), (PUBLIC,))
        if request.param == "file":
            words = reference.build_dealership_command(app.listen, f"{logs}/dealership.db", 1, 1)
            http = (await running.start_ready(app, ProcessRole("app"), words)).http
        else:
            database = await (await services.of(ServiceRole.DATABASE, request.param)).find_address(app)
            site = replace(build_site_on(app), peers={ServiceRole.DATABASE: database})
            http = (await start_service(running, app, get_service_kind(ServiceRole.DEALERSHIP, EMBEDDED), site)).http
        assert http is not None
        return http

    yield runner.run(start())
    runner.run(stack.aclose())


@pytest.mark.parametrize("database", list_service_kinds(ServiceRole.DATABASE))
def test_real_databases_say_what_they_count(database: str, runner: asyncio.Runner, services: SharedServices) -> None:
    machine = runner.run(services.of(ServiceRole.DATABASE, database)).machine
    meters = [meter for name, meter in services.running.status.items() if name.startswith(f"{machine.name}:")]
    assert len(meters) == (database != EMBEDDED)
    for meter in meters:
        _, figures = runner.run(first_reading(meter))
        assert figures.now["connections"] >= 1 and figures.grown["commits"] >= 0


def post(at: Endpoint, path: str, **form: object) -> str:
    data = urllib.parse.urlencode(form).encode()
    with urllib.request.urlopen(f"http://{at}{path}", data, timeout=60) as answer:
        text: str = answer.read().decode()
    return text


def audit(at: Endpoint) -> Json:
    with urllib.request.urlopen(f"http://{at}/audit", timeout=60) as answer:
        found: Json = json.loads(answer.read())
    return found


def test_orders_are_kept_once_and_planned_roll_backs_leave_nothing(dealership: Endpoint) -> None:
    before = audit(dealership)["orders"]["count"]
    order = {"customer": 3, "vehicles": "1,2", "quantity": 2, "size": "regular"}
    assert "Order placed" in post(dealership, "/dealer/purchase", id="a1", **order)
    assert "Order rolled back" in post(dealership, "/dealer/purchase", id="a2", then="rollback", **order)
    with pytest.raises(urllib.error.HTTPError, match="409"):
        post(dealership, "/dealer/purchase", id="a1", **order)
    found = audit(dealership)
    assert found["orders"]["count"] == before + 1
    assert not [rule for rule in found["rules"] if rule["broken"]]


def test_the_works_build_what_large_orders_ask_for_and_suppliers_deliver_later(dealership: Endpoint) -> None:
    before = audit(dealership)
    large = {"customer": 5, "vehicles": "7", "quantity": 3, "size": "large"}
    assert "Order placed" in post(dealership, "/dealer/purchase", id="0-first", **large)
    assert audit(dealership)["waiting"] == before["waiting"] + 1
    done = post(dealership, "/works/large", id="w1", vehicle=9, quantity=1)
    assert "Work order done: 3 of 7, for 0-first/1" in done
    for number in range(5):
        post(dealership, "/works/planned", id=f"p{number}", vehicle=4, quantity=100)
    until = time.monotonic() + WAIT_S
    while (found := audit(dealership))["deliveries"] < found["parts_orders"] and time.monotonic() < until:
        time.sleep(0.1)
    assert found["parts_orders"] == found["deliveries"] > before["deliveries"]
    assert found["work_orders"]["count"] == before["work_orders"]["count"] + 6
    assert not [rule for rule in found["rules"] if rule["broken"]]


def test_an_order_can_be_cancelled_until_the_works_begin_it(dealership: Endpoint) -> None:
    large = {"customer": 60, "vehicles": "7,8", "quantity": 3, "size": "large"}
    post(dealership, "/dealer/purchase", id="0-begun", **large)
    post(dealership, "/works/large", id="w2", vehicle=9, quantity=1)
    assert "cancelled" not in post(dealership, "/dealer/manage", customer=60, cancel="yes")
    post(dealership, "/dealer/purchase", id="0-cancelled", **large)
    assert "order cancelled: 0-cancelled" in post(dealership, "/dealer/manage", customer=60, cancel="yes")
    assert not [rule for rule in audit(dealership)["rules"] if rule["broken"]]


@pytest.mark.parametrize("name", list_service_kinds(ServiceRole.CACHE))
def test_a_cache_keeps_what_it_is_given_survives_a_flood_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    words = {
        "memcached": (b"set k 0 60 5\r\nvalue\r\nget k\r\nquit\r\n", b"STORED\r\nVALUE k 0 5\r\nvalue\r\nEND\r\n"),
        "redis": (b"SET k value EX 60\r\nGET k\r\nQUIT\r\n", b"+OK\r\n$5\r\nvalue\r\n+OK\r\n"),
    }

    async def kept() -> Endpoint:
        async with open_testbed(tmp_path) as base:
            machine = await base.start_machine("cache", MachineSpec(), (PUBLIC,))
            kind = get_service_kind(ServiceRole.CACHE, name)
            at = (await start_service(Running(base), machine, kind, build_site_on(machine))).http
            for scrap in (b"", b"\x00" * 300, b"ge") * 50:
                await asyncio.to_thread(told, at, scrap)
            asked, answer = words[name]
            assert await asyncio.to_thread(said, at, asked) == answer
            assert machine.facts["software"].lower().startswith(name)
        return at

    gone = asyncio.run(kept())
    with pytest.raises(OSError):
        told(gone, b"")


def told(at: Endpoint, words: bytes) -> None:
    with socket.create_connection((at.host, at.port), timeout=60) as line:
        line.sendall(words)


def said(at: Endpoint, words: bytes) -> bytes:
    with socket.create_connection((at.host, at.port), timeout=60) as line:
        line.sendall(words)
        return b"".join(iter(lambda: line.recv(4096), b""))


def test_nonsense_is_refused_and_breaks_nothing(dealership: Endpoint) -> None:
    for path, form in (
        ("/dealer/purchase", {"id": "", "customer": 1, "vehicles": "1", "quantity": 1}),
        ("/dealer/purchase", {"id": "x", "customer": 1, "vehicles": "one", "quantity": 1}),
        ("/dealer/purchase", {"id": "x", "customer": 1, "vehicles": "1", "quantity": -5}),
        ("/dealer/manage", {"customer": "'; DROP TABLE orders; --"}),
        ("/works/planned", {"id": "w", "vehicle": 1, "quantity": 10**12}),
    ):
        with pytest.raises(urllib.error.HTTPError, match="400"):
            post(dealership, path, **form)
    assert not [rule for rule in audit(dealership)["rules"] if rule["broken"]]
