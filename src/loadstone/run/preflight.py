"""A look at a target that others set up, before anything is measured: name, connection, TLS, first answer."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Sequence

from loadstone.model.errors import UsageError
from loadstone.model.target import Endpoint, Target, encoded
from loadstone.model.workload import Workload

STEP_S = 2.0
"""Longest time for a name, a connection, a TLS handshake."""
ANSWER_S = 10.0
"""Longest time to the first byte of an answer; the slowest pages that anybody waits for take less."""
AUTHORITY = "Give who signed it by --authority FILE, or believe any certificate by --insecure"
TLS_CAUSES = {
    "self-signed certificate": f"it signed itself. {AUTHORITY}",
    "self-signed certificate in certificate chain": f"a private authority signed it. {AUTHORITY}",
    "unable to get local issuer certificate": f"nobody this machine believes signed it. {AUTHORITY}",
    "certificate has expired": "it has expired. Renew it, or believe any certificate by --insecure",
    "certificate is not yet valid": "it is not valid yet: is the clock right?",
}
"""What OpenSSL says of a certificate, in words with a remedy."""


async def look(target: Target, workloads: Sequence[Workload]) -> None:
    """Raises UsageError with the cause and a remedy where a side of a target cannot be measured."""
    protocols = {one.connections.protocol if one.connections else "http1" for one in workloads}
    if "null" in protocols:
        return
    asked = _asked(workloads) if protocols == {"http1"} else ""  # what else is spoken, drivers alone speak
    sides = ((target.http, None), (target.https, _context(target)))
    await asyncio.gather(*(_look(side, context, asked) for side, context in sides if side is not None))


def _asked(workloads: Sequence[Workload]) -> str:
    """What users ask for anyway, if there is a page that needs no values; servers of WebSockets may know GET alone (RFC
    6455, section 4.1).
    """
    operations = [operation for workload in workloads for operation in workload.operations.values()]
    plain = (one.path for one in operations if one.method == "GET" and "{" not in one.path)
    method = "GET" if any(one.websocket for one in operations) else "HEAD"
    return f"{method} {encoded(next(plain, '/'))}"


def _context(target: Target) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=target.authority_pem)
    if not target.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


async def _look(side: Endpoint, context: ssl.SSLContext | None, asked: str) -> None:
    host, about = side.host.strip("[]"), f"{'https' if context else 'http'}://{side}"
    await _resolve(host, side.port)
    reader, writer = await _connect(host, side, context, about)
    try:
        if asked:
            await _first_answer(reader, writer, f"{asked} HTTP/1.1\r\nHost: {side}", about)
    finally:
        writer.close()
        with contextlib.suppress(OSError, ssl.SSLError, TimeoutError):
            await asyncio.wait_for(writer.wait_closed(), STEP_S)


async def _resolve(host: str, port: int) -> None:
    asked = asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    try:
        await asyncio.wait_for(asked, STEP_S)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"The name `{host}` is not known here ({error}). Is it spelt right?") from None
    except TimeoutError:
        raise UsageError(f"Nobody says within {STEP_S:g} s what `{host}` means. Is the name service up?") from None


async def _connect(
    host: str, side: Endpoint, context: ssl.SSLContext | None, about: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    try:
        return await asyncio.wait_for(asyncio.open_connection(host, side.port, ssl=context), 2 * STEP_S)
    except ssl.SSLCertVerificationError as error:
        raise UsageError(f"The certificate of {about} is not believed: {_cause(error)}.") from None
    except ssl.SSLError as error:
        reason = (error.reason or str(error)).replace("_", " ").lower()
        raise UsageError(f"{about} speaks no TLS that is understood ({reason}). Is it http://{side}?") from None
    except TimeoutError:
        remedy = "Is the address right, and does a firewall let it through?"
        raise UsageError(f"{about} took no connection within {2 * STEP_S:g} s. {remedy}") from None
    except OSError as error:
        why = "nothing listens there" if isinstance(error, ConnectionRefusedError) else error.strerror or str(error)
        raise UsageError(f"{about} cannot be reached: {why}. Start the server, or mend --target.") from None


def _cause(error: ssl.SSLCertVerificationError) -> str:
    said = error.verify_message
    if said.startswith(("Hostname mismatch", "IP address mismatch")):
        return f"{said.rstrip('.')}. Name in --target what it was made for, or give --insecure"
    return TLS_CAUSES.get(said, said)


async def _first_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: str, about: str) -> None:
    """Any answer is one: what it must be, the workload says."""
    try:
        writer.write(f"{asked}\r\nUser-Agent: loadstone\r\nAccept: */*\r\nConnection: close\r\n\r\n".encode())
        head = await asyncio.wait_for(reader.readexactly(len("HTTP/")), ANSWER_S)
    except TimeoutError:
        raise UsageError(f"{about} takes connections, but gave no answer within {ANSWER_S:g} s.") from None
    except (OSError, asyncio.IncompleteReadError):
        remedy = "Is it https?" if about.startswith("http:") else "What does its log say?"
        raise UsageError(f"{about} takes connections, but closes them without an answer. {remedy}") from None
    if head != b"HTTP/":
        raise UsageError(f"{about} answers, but not by HTTP: it begins with {head!r}.")
