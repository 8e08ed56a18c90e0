"""A target that cannot be measured is said to be one at once, with its cause and a remedy."""

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from loadstone.model.errors import UsageError
from loadstone.model.target import Endpoint, Target
from loadstone.run import preflight
from loadstone.services import reference
from loadstone.workloads import load

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
            await preflight.look(target, [load(workload)])

    asyncio.run(play())


def certified(folder: Path, *names: str) -> tuple[ssl.SSLContext, str]:
    """A server's context with a certificate for these names, and who signed it."""
    files = reference.certificate(names)
    for name, text in files.items():
        (folder / name).write_text(text)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    (key,) = (name for name, text in files.items() if "PRIVATE KEY" in text and name != reference.AUTHORITY)
    (chain,) = (name for name, text in files.items() if "PRIVATE KEY" not in text and name != reference.AUTHORITY)
    context.load_cert_chain(folder / chain, folder / key)
    return context, files[reference.AUTHORITY]


def test_whatever_answers_is_taken() -> None:
    look(GREETING)
    look(saying(b"* OK at your service\r\n"), workload="mail")


@pytest.mark.parametrize(
    ("handler", "said"),
    [
        (mute, "gave no answer within 0.3 s"),
        (saying(b""), "closes them without an answer"),
        (saying(b"* OK at your service\r\n"), "answers, but not by HTTP"),
    ],
)
def test_what_does_not_answer_is_named(handler: Handler, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "ANSWER_S", 0.3)
    with pytest.raises(UsageError, match=said):
        look(handler)


@pytest.mark.parametrize(
    ("side", "said"),
    [
        (Endpoint("127.0.0.1", 1), "http://127.0.0.1:1 cannot be reached: nothing listens there"),
        (Endpoint("no-such-host.invalid", 80), "`no-such-host.invalid` (is not known here|means)"),
    ],
)
def test_what_cannot_be_reached_is_named_in_no_time(side: Endpoint, said: str) -> None:
    began = time.monotonic()
    with pytest.raises(UsageError, match=said):
        asyncio.run(preflight.look(Target(side, None), [load("support")]))
    assert time.monotonic() - began < 5


def test_a_certificate_that_is_not_believed_is_explained(tmp_path: Path) -> None:
    context, authority = certified(tmp_path, "127.0.0.1")
    look(GREETING, context, authority_pem=authority)
    look(GREETING, context, verify=False)
    with pytest.raises(UsageError, match=r"is not believed: .* signed it. Give who signed it by --authority FILE"):
        look(GREETING, context)


def test_a_certificate_of_another_name_is_explained(tmp_path: Path) -> None:
    context, authority = certified(tmp_path, "shop.example")
    with pytest.raises(UsageError, match=r"IP address mismatch, .* '127\.0\.0\.1'\. Name in"):
        look(GREETING, context, authority_pem=authority)


def test_what_speaks_no_tls_is_told_so() -> None:
    async def play() -> None:
        async with await asyncio.start_server(GREETING, "127.0.0.1", 0) as server:
            side = Endpoint("127.0.0.1", server.sockets[0].getsockname()[1])
            await preflight.look(Target(None, side), [load("support")])

    with pytest.raises(UsageError, match=r"speaks no TLS that is understood .*Is it http://"):
        asyncio.run(play())
