"""A target that cannot be measured is said to be one at once, with its cause and a remedy."""

import asyncio
import re
import ssl
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from pytest import MonkeyPatch

from loadstone.model.errors import UsageError
from loadstone.model.target import Addresses, Endpoint, Identity, Target
from loadstone.run import preflight
from loadstone.services import reference
from loadstone.workloads import load
from tests.waiting import WAIT_S

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def saying(text: bytes) -> Handler:
    """A server that says this to whoever asks, and hangs up."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(text)
        writer.close()

    return handle


async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()


GREETING = saying(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


def look(handler: Handler, tls: ssl.SSLContext | None = None, workload: str = "support", **trust: object) -> None:
    async def play() -> None:
        async with await asyncio.start_server(handler, "127.0.0.1", 0, ssl=tls) as server:
            side = Endpoint("127.0.0.1", server.sockets[0].getsockname()[1])
            target = Target(None, side, **trust) if tls else Target(side, None)  # type: ignore[arg-type]
            await preflight.check_target(target, [load(workload)])

    asyncio.run(play())


def certified(folder: Path, *names: str) -> tuple[ssl.SSLContext, str]:
    """A server's context with a certificate for these names, and who signed it."""
    files = reference.create_certificate(names)
    for name, text in files.items():
        (folder / name).write_text(text)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    (key,) = (name for name, text in files.items() if "PRIVATE KEY" in text and name != reference.AUTHORITY_FILE)
    (chain,) = (name for name, text in files.items() if "PRIVATE KEY" not in text and name != reference.AUTHORITY_FILE)
    context.load_cert_chain(folder / chain, folder / key)
    return context, files[reference.AUTHORITY_FILE]


def test_whatever_answers_is_taken() -> None:
    look(GREETING)
    look(saying(b"* OK at your service\r\n"), workload="mail")


def test_a_server_that_drops_single_connections_is_measured_and_not_refused() -> None:
    answers = [b"", b"", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await saying(answers.pop(0))(reader, writer)

    look(handle)
    assert not answers


def test_a_server_that_closes_at_every_head_is_asked_by_get() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (await reader.readline()).startswith(b"GET "):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    look(handle)


@pytest.mark.parametrize(
    ("handler", "said"),
    [
        (saying(bytes.fromhex("000006040000000000000300000064")), "It speaks HTTP/2: set protocol"),
        (saying(b"\x15\x03\x01\x00\x02\x02\x46"), "It speaks TLS: use https://"),
        (saying(b"SSH-2.0-OpenSSH_9.2\r\n"), "begins with b'SSH-2'. Check the port of --target"),
        (mute, "sent no response within 0.3 s"),
        (saying(b""), "closes them without a response"),
        (saying(b"* OK at your service\r\n"), "responds, but not with HTTP"),
    ],
)
def test_what_does_not_answer_is_named(handler: Handler, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "PREFLIGHT_ANSWER_TIMEOUT_S", 0.3 if handler is mute else WAIT_S)
    with pytest.raises(UsageError, match=said):
        look(handler)


@pytest.mark.parametrize(
    ("side", "said"),
    [
        (Endpoint("127.0.0.1", 1), "http://127.0.0.1:1 cannot be reached: nothing listens there"),
        (Endpoint("no-such-host.invalid", 80), "Could not resolve `no-such-host.invalid`"),
    ],
)
def test_what_cannot_be_reached_is_named_in_no_time(side: Endpoint, said: str) -> None:
    began = time.monotonic()
    with pytest.raises(UsageError, match=said):
        asyncio.run(preflight.check_target(Target(side, None), [load("support")]))
    assert time.monotonic() - began < 50


def test_a_certificate_that_is_not_believed_is_explained(tmp_path: Path) -> None:
    context, authority = certified(tmp_path, "127.0.0.1")
    look(GREETING, context, authority_pem=authority)
    look(GREETING, context, verify=False)
    with pytest.raises(UsageError, match=r"is not trusted: .*Pass the CA with --authority FILE"):
        look(GREETING, context)


def test_a_certificate_of_another_name_is_explained(tmp_path: Path) -> None:
    context, authority = certified(tmp_path, "shop.example")
    with pytest.raises(UsageError, match=r"IP address mismatch, .* '127\.0\.0\.1'\. Use a name of the certificate in"):
        look(GREETING, context, authority_pem=authority)


@pytest.mark.parametrize(
    ("waits", "said"),
    [
        (True, "accepts connections, but sends no TLS handshake within 0.3 s. Does the target use http://"),
        (False, "accepts connections, but closes them at once. Does the target use http://"),
    ],
)
def test_a_server_that_does_not_begin_tls_is_explained(waits: bool, said: str, monkeypatch: MonkeyPatch) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await (reader.read() if waits else reader.read(1))
        writer.transport.abort()

    async def play() -> None:
        async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
            side = Endpoint("127.0.0.1", server.sockets[0].getsockname()[1])
            await preflight.check_target(Target(None, side, verify=False), [load("support")])

    monkeypatch.setattr(preflight, "STEP_S", 0.3 if waits else WAIT_S)
    monkeypatch.setattr(preflight, "CONNECTION_S", WAIT_S)
    with pytest.raises(UsageError, match=said):
        asyncio.run(play())


def test_what_speaks_no_tls_is_told_so() -> None:
    async def play() -> None:
        async with await asyncio.start_server(GREETING, "127.0.0.1", 0) as server:
            side = Endpoint("127.0.0.1", server.sockets[0].getsockname()[1])
            await preflight.check_target(Target(None, side), [load("support")])

    with pytest.raises(UsageError, match=r"TLS handshake with .* failed .*Does the target use http://"):
        asyncio.run(play())


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (("handshake", "invalid peer certificate: UnsupportedCertVersion"), "X.509 version 1"),
        (("handshake", "invalid peer certificate: certificate not valid for name"), "no subjectAltName"),
        (("handshake", "received fatal alert: HandshakeFailure"), "Allow one of these at the server"),
        (("handshake", "something else"), "cannot speak TLS with https://shop:443: something else"),
        (("http2", "received fatal alert: CertificateRequired"), "--cert FILE"),
        (("http2", "frame with invalid size"), r"does not speak HTTP/2 .*protocol = \"http1\""),
        (("http2", "stream error received: endpoint requires HTTP/1.1"), "does not speak HTTP/2"),
        (("connection", "HandshakeFailure"), "cannot reach"),
        (("name", "cannot look up `shop`"), "cannot look up"),
    ],
)
def test_what_the_driver_cannot_do_is_explained(seen: tuple[Any, str], said: str, monkeypatch: MonkeyPatch) -> None:
    side = preflight.SeenSide(True, ("10.0.0.1:443",), (), seen[1], seen[0])
    with pytest.raises(UsageError, match=said):
        seen_by_driver(monkeypatch, side)


def test_a_server_that_refuses_one_request_by_http2_speaks_it() -> None:
    refused = "stream error received: refused stream before processing any application logic"
    preflight._refuse(preflight.SeenSide(True, ("10.0.0.1:443",), (), refused, "http2"), "https://a.example")


def seen_by_driver(monkeypatch: MonkeyPatch, side: preflight.SeenSide, **target: Any) -> tuple[str, ...]:
    """What a look tells of `https://shop` when the driver saw this side."""

    async def seen(asked: object) -> preflight.Seen:
        return preflight.Seen((side,))

    monkeypatch.setattr(preflight, "_seen", seen)
    return asyncio.run(preflight._look_by_driver(Target(None, Endpoint("shop", 443), **target), "http1", "HEAD /"))


def test_several_addresses_of_a_name_are_told(monkeypatch: MonkeyPatch) -> None:
    many = preflight.SeenSide(True, ("10.0.0.1:443", "10.0.0.2:443"), ("10.0.0.3:443",), "")
    notices = seen_by_driver(monkeypatch, many)
    assert notices[0] == "shop:443 has 2 addresses, which users take round robin: 10.0.0.1:443, 10.0.0.2:443."
    assert "10.0.0.3:443" in notices[1]
    one = preflight.SeenSide(True, ("10.0.0.1:443",), (), "")
    assert seen_by_driver(monkeypatch, one) == ()
    (notice,) = seen_by_driver(monkeypatch, one, addresses=Addresses.FIRST)
    assert "goes to its first address, 10.0.0.1:443" in notice


def test_a_proxy_that_is_not_used_is_told(monkeypatch: MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    target = Target(None, Endpoint("shop", 443))
    assert tuple(preflight._proxies(target)) == ()
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    (notice,) = preflight._proxies(target)
    assert "does not use it" in notice
    monkeypatch.setenv("no_proxy", "shop")
    assert tuple(preflight._proxies(target)) == ()


def test_a_server_that_demands_a_certificate_is_explained(tmp_path: Path) -> None:
    context, authority = certified(tmp_path, "127.0.0.1")
    context.load_verify_locations(cadata=authority)
    context.verify_mode = ssl.CERT_REQUIRED
    with pytest.raises(UsageError, match="client certificate"):
        look(GREETING, context, authority_pem=authority)
    files = {
        "PRIVATE KEY" in file.read_text(): file for file in tmp_path.iterdir() if file.name != reference.AUTHORITY_FILE
    }
    look(GREETING, context, authority_pem=authority, identity=Identity.from_files(files[False], files[True]))


@pytest.mark.parametrize(
    ("cert", "key", "said"),
    [
        ("mine.pem", "others.key", "cannot be used: the key does not belong to the certificate"),
        ("mine.pem", "mine.pem", "mine.pem contains no private key in PEM form"),
        ("store.p12", "mine.key", "store.p12 contains no certificate in PEM form"),
        ("mine.pem", "locked.key", "cannot be used: the key has a passphrase"),
        ("mine.pem", "missing.key", "missing.key: No such file or directory"),
    ],
)
def test_a_certificate_that_cannot_be_used_is_explained(cert: str, key: str, said: str, tmp_path: Path) -> None:
    for owner in ("mine", "others"):
        files = reference.create_certificate(["127.0.0.1"])
        own = [text for name, text in files.items() if name != reference.AUTHORITY_FILE]
        for text in own:
            (tmp_path / f"{owner}.{'key' if 'PRIVATE KEY' in text else 'pem'}").write_text(text)
    (tmp_path / "store.p12").write_bytes(b"0\x82\x03")
    (tmp_path / "locked.key").write_text("-----BEGIN ENCRYPTED PRIVATE KEY-----\n-----END ENCRYPTED PRIVATE KEY-----")
    context, authority = certified(tmp_path, "127.0.0.1")
    identity = Identity.from_files(tmp_path / cert, tmp_path / key)
    with pytest.raises(UsageError, match=re.escape(said)):
        look(GREETING, context, authority_pem=authority, identity=identity)
