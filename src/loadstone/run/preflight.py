"""A look at a target that others set up, before anything is measured: name, connection, TLS, first answer. First by
Python, which explains more, then by the driver, which speaks TLS and HTTP/2 as in the run.
"""

import asyncio
import contextlib
import ipaddress
import json
import socket
import ssl
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal
from urllib.request import getproxies, proxy_bypass

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from loadstone.host import launch
from loadstone.host.programs import find_driver
from loadstone.model.errors import UsageError
from loadstone.model.target import Addresses, Endpoint, Identity, Target, encode_path
from loadstone.model.workload import Workload
from loadstone.run.plan import plan_target

STEP_S = 5.0
"""Longest time for a name, a TLS handshake."""
CONNECTION_S = 10.0
"""Longest time for a connection with its handshake."""
PREFLIGHT_ANSWER_TIMEOUT_S = 10.0
"""Longest time to the first byte of an answer; the slowest pages that anybody waits for take less."""
ATTEMPTS = 3
"""Requests to a server that closes connections without an answer: what a few users would meet, a run counts."""
AUTHORITY_REMEDY = "Pass the CA with --authority FILE, or skip verification with --insecure"
TLS_CAUSES = {
    "self-signed certificate": f"it is self-signed. {AUTHORITY_REMEDY}",
    "self-signed certificate in certificate chain": f"it was issued by a private CA. {AUTHORITY_REMEDY}",
    "unable to get local issuer certificate": f"its issuer is not trusted on this machine. {AUTHORITY_REMEDY}",
    "certificate has expired": "it has expired. Renew it, or skip verification with --insecure",
    "certificate is not yet valid": "it is not valid yet. Check the clock of this machine",
}
"""What OpenSSL says of a certificate, in words with a remedy."""


CLIENT_CERTIFICATE = "Use --cert FILE and --key FILE"
DRIVER_TLS = {
    "UnsupportedCertVersion": "The certificate is of X.509 version 1, which browsers do not accept. Create one of "
    "version 3 with a subjectAltName, or skip verification with --insecure",
    "certificate not valid for name": "The certificate has no subjectAltName with this name; like browsers, the "
    "driver takes no common name (CN) instead. Make one with -addext subjectAltName=DNS:NAME, or skip "
    "verification with --insecure",
    "HandshakeFailure": "The driver offers TLS 1.3, and TLS 1.2 with ECDHE and AES-GCM or ChaCha20-Poly1305. Allow one "
    "of these at the server. If it requires a client certificate, use --cert FILE and --key FILE",
    "CertificateRequired": f"The server requires a client certificate. {CLIENT_CERTIFICATE}",
}
"""What the driver says of a TLS handshake, in words with a remedy."""
SETTINGS = b"\x04"
"""Type of the first frame of an HTTP/2 server (RFC 9113, sections 3.4 and 6.5)."""
TLS_RECORDS = (b"\x15\x03", b"\x16\x03")
"""First bytes of a server that speaks TLS: an alert or a handshake (RFC 8446, section 5.1)."""
RESET, NEEDS_HTTP1 = "stream error received", "requires HTTP/1.1"
"""What the driver says of a server that ends a single request by HTTP/2, and why such a server does not speak it."""


@dataclass(frozen=True)
class SeenSide:
    """What the driver saw of one side of a target."""

    is_secure: bool
    addresses: tuple[str, ...]
    """Those that take load, as HOST:PORT."""
    silent: tuple[str, ...]
    """Those that accepted no connection."""
    detail: str
    failed: Literal["name", "connection", "handshake", "http2"] | None = None
    fault: str | None = None


@dataclass(frozen=True)
class Seen:
    """What the driver saw of a target."""

    sides: tuple[SeenSide, ...]


_SEEN = TypeAdapter(Seen)


async def check_target(target: Target, workloads: Sequence[Workload]) -> tuple[str, ...]:
    """Returns notes on the route to the target, as sentences. Raises UsageError with the cause and a remedy where a
    side of it cannot be measured.
    """
    protocols = {workload.connections.protocol if workload.connections else "http1" for workload in workloads}
    if "null" in protocols:
        return ()
    request = _first_request(workloads)
    first = request if protocols == {"http1"} else ""  # what else is spoken, drivers alone speak
    delivery = target.delivery.endpoint if target.delivery else None
    sides = ((target.http, None), (target.https, _context(target) if target.https else None), (delivery, None))
    await asyncio.gather(*(_check_side(side, context, first) for side, context in sides if side is not None))
    protocol = "http2" if "http2" in protocols else "http1"
    return (*_proxies(target), *await _look_by_driver(target, protocol, request))


async def _look_by_driver(target: Target, protocol: str, request: str) -> tuple[str, ...]:
    """The same by the driver, where that may see another thing; returns notices. Raises UsageError."""
    named = [side for side in (target.http, target.https) if side is not None and not _is_address(side.host)]
    if not named and target.https is None and protocol == "http1":
        return ()
    seen = await _seen({"target": plan_target(target), "protocol": protocol, "request": request})
    for side in seen.sides:
        endpoint = target.https if side.is_secure else target.http
        _refuse(side, f"{'https' if side.is_secure else 'http'}://{endpoint}")
    return tuple(dict.fromkeys(notice for side in seen.sides for notice in _address_notices(target, side)))


async def _seen(question: dict[str, object]) -> Seen:
    process = await launch.start(
        str(find_driver()),
        "look",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, errors = await process.communicate(json.dumps(question).encode())
    if process.returncode != 0:
        message = errors.decode(errors="replace").strip().removeprefix("loadstone-driver: ")
        raise UsageError(f"The driver cannot prepare connections to this target: {message}.")
    return _SEEN.validate_json(out)


def _refuse(side: SeenSide, about: str) -> None:
    """Raises UsageError for a side that the driver cannot measure."""
    known = next((remedy for sign, remedy in DRIVER_TLS.items() if sign in side.detail), None)
    if side.failed is None:
        return
    if known is not None and side.failed != "connection":
        raise UsageError(f"The driver cannot speak TLS with {about}: {known}.")
    if side.failed == "http2" and RESET in side.detail and NEEDS_HTTP1 not in side.detail:
        return  # to refuse one request is to speak HTTP/2
    if side.failed == "http2":
        remedy = 'Enable HTTP/2 on the server, or set protocol = "http1" under [connections]'
        raise UsageError(f"{about} does not speak HTTP/2 ({side.detail}). {remedy}.")
    action = "speak TLS with" if side.failed == "handshake" else "reach"
    raise UsageError(f"The driver cannot {action} {about}: {side.detail}.")


def _address_notices(target: Target, side: SeenSide) -> Iterator[str]:
    """Which addresses of a name take load, where it has several."""
    endpoint = target.https if side.is_secure else target.http
    addresses = ", ".join(side.addresses)
    if len(side.addresses) > 1:
        yield f"{endpoint} has {len(side.addresses)} addresses, which users take round robin: {addresses}."
    elif target.addresses is Addresses.FIRST and endpoint is not None and not _is_address(endpoint.host):
        yield f"All load for {endpoint} goes to its first address, {addresses}."
    if side.silent:
        yield f"These addresses of {endpoint} accept no connections and take no load: {', '.join(side.silent)}."


def _is_address(host: str) -> bool:
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(host.strip("[]"))
        return True
    return False


def _proxies(target: Target) -> Iterator[str]:
    """Whether the environment names a proxy for the target: other tools would use it."""
    proxies = getproxies()
    for scheme, side in (("http", target.http), ("https", target.https)):
        proxy = proxies.get(scheme) or proxies.get("all")
        if side is not None and proxy and not proxy_bypass(side.host.strip("[]"), proxies):
            yield f"The environment names a proxy for {scheme}; the driver does not use it and connects directly."


def _first_request(workloads: Sequence[Workload]) -> str:
    """What users ask for anyway, if there is a page that needs no values; servers of WebSockets may know GET alone (RFC
    6455, section 4.1).
    """
    operations = [operation for workload in workloads for operation in workload.operations.values()]
    plain = (operation.path for operation in operations if operation.method == "GET" and "{" not in operation.path)
    method = "GET" if any(operation.websocket for operation in operations) else "HEAD"
    return f"{method} {encode_path(next(plain, '/'))}"


def _context(target: Target) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=target.authority_pem)
    if target.identity is not None:
        identity = target.identity
        try:
            context.load_cert_chain(identity.certificate, identity.key, password="")
        except (OSError, ssl.SSLError) as error:
            remedy = "Use PEM files and a key without a passphrase"
            files = f"{identity.certificate} with the key {identity.key}"
            reason = _unusable(identity, str(error))
            raise UsageError(f"The client certificate {files} cannot be used: {reason}. {remedy}.") from None
    if not target.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _unusable(identity: Identity, error: str) -> str:
    """Why the files of a client certificate cannot be used; OpenSSL's `error` where they do not say it."""
    files = identity.certificate, identity.key
    try:
        certificate, key = (Path(file).read_bytes() for file in files)
    except OSError as missing:
        return f"{missing.filename}: {missing.strerror}"
    if b"-----BEGIN CERTIFICATE-----" not in certificate:
        return f"{identity.certificate} contains no certificate in PEM form"
    if b"PRIVATE KEY-----" not in key:
        return f"{identity.key} contains no private key in PEM form"
    if b"ENCRYPTED" in key:
        return "the key has a passphrase"
    return "the key does not belong to the certificate" if "MISMATCH" in error else error


class _ClosedError(UsageError):
    """A connection was taken, and closed without an answer."""


async def _check_side(side: Endpoint, context: ssl.SSLContext | None, request: str) -> None:
    for _ in range(ATTEMPTS - 1):
        with contextlib.suppress(_ClosedError):
            return await _ask(side, context, request)
    return await _ask(side, context, request.replace("HEAD ", "GET ", 1))  # small servers may know GET alone


async def _ask(side: Endpoint, context: ssl.SSLContext | None, request: str) -> None:
    host, about = side.host.strip("[]"), f"{'https' if context else 'http'}://{side}"
    await _resolve(host, side.port)
    reader, writer = await _connect(host, side, context, about)
    try:
        if request:
            await _first_answer(reader, writer, f"{request} HTTP/1.1\r\nHost: {side}", about)
    finally:
        writer.close()
        with contextlib.suppress(OSError, ssl.SSLError, TimeoutError):
            await asyncio.wait_for(writer.wait_closed(), STEP_S)


async def _resolve(host: str, port: int) -> None:
    lookup = asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    try:
        await asyncio.wait_for(lookup, STEP_S)
    except (OSError, UnicodeError) as error:
        is_of_proxy = any(name != "no" for name in getproxies())
        remedy = " The driver uses no proxy, so this machine must resolve the name." if is_of_proxy else ""
        raise UsageError(f"Could not resolve `{host}` ({error}). Check the spelling and DNS.{remedy}") from None
    except TimeoutError:
        raise UsageError(f"Could not resolve `{host}` within {STEP_S:g} s. Check DNS or /etc/hosts.") from None


async def _connect(
    host: str, side: Endpoint, context: ssl.SSLContext | None, about: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    try:
        handshake_s = STEP_S if context else None
        opening = asyncio.open_connection(host, side.port, ssl=context, ssl_handshake_timeout=handshake_s)
        return await asyncio.wait_for(opening, CONNECTION_S)
    except ssl.SSLCertVerificationError as error:
        raise UsageError(f"The certificate of {about} is not trusted: {_cause(error)}.") from None
    except ssl.SSLError as error:
        reason = _reason(error)
        _refuse_without_identity(error, about)
        raise UsageError(f"TLS handshake with {about} failed ({reason}). Does the target use http://{side}?") from None
    except TimeoutError:
        remedy = "Check the address and the firewall."
        raise UsageError(f"{about} accepted no connection within {CONNECTION_S:g} s. {remedy}") from None
    except (ConnectionResetError, ConnectionAbortedError) as error:
        end = f"sends no TLS handshake within {STEP_S:g} s" if "handshake" in str(error) else "closes them at once"
        remedy = f"Does the target use http://{side}, or TLS older than 1.2?" if context else "Check its log."
        raise UsageError(f"{about} accepts connections, but {end}. {remedy}") from None
    except OSError as error:
        why = "nothing listens there" if isinstance(error, ConnectionRefusedError) else error.strerror or str(error)
        raise UsageError(f"{about} cannot be reached: {why}. Start the server or correct --target.") from None


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or str(error)).replace("_", " ").lower()


def _refuse_without_identity(error: ssl.SSLError, about: str) -> None:
    """Raises UsageError where the server refuses the client's certificate, or misses it."""
    reason = _reason(error)
    if "certificate required" in reason:
        raise UsageError(f"{about} requires a client certificate. {CLIENT_CERTIFICATE}.") from None
    if "alert" in reason and ("certificate" in reason or "unknown ca" in reason):
        raise UsageError(
            f"{about} refuses the client certificate ({reason}). {CLIENT_CERTIFICATE} that it accepts."
        ) from None
    if "handshake failure" in reason:
        remedy = "It may require a client certificate (--cert FILE, --key FILE) or support only outdated ciphers"
        raise UsageError(f"{about} ends the TLS handshake ({reason}). {remedy}.") from None


def _cause(error: ssl.SSLCertVerificationError) -> str:
    message = error.verify_message
    if message.startswith(("Hostname mismatch", "IP address mismatch")):
        return f"{message.rstrip('.')}. Use a name of the certificate in --target, or skip verification with --insecure"
    return TLS_CAUSES.get(message, message)


async def _first_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: str, about: str) -> None:
    """Any answer is one: what it must be, the workload says."""
    try:
        writer.write(f"{request}\r\nUser-Agent: loadstone\r\nAccept: */*\r\nConnection: close\r\n\r\n".encode())
        head = await asyncio.wait_for(reader.readexactly(len("HTTP/")), PREFLIGHT_ANSWER_TIMEOUT_S)
    except TimeoutError:
        raise UsageError(
            f"{about} accepts connections, but sent no response within {PREFLIGHT_ANSWER_TIMEOUT_S:g} s. Check its log."
        ) from None
    except ssl.SSLError as error:
        _refuse_without_identity(error, about)
        raise UsageError(f"{about} closes its TLS connections without a response ({_reason(error)}).") from None
    except (OSError, asyncio.IncompleteReadError):
        secure = "Does it require a client certificate (--cert FILE)? Check its log."
        remedy = "Is it https?" if about.startswith("http:") else secure
        raise _ClosedError(f"{about} accepts connections, but closes them without a response. {remedy}") from None
    if head != b"HTTP/":
        raise UsageError(f"{about} responds, but not with HTTP: the response begins with {head!r}. {_spoken(head)}")


def _spoken(head: bytes) -> str:
    """What to do about a server that does not speak HTTP/1.1, by the first bytes of its response."""
    if head[3:4] == SETTINGS and head.startswith(b"\0"):
        return 'It speaks HTTP/2: set protocol = "http2" under [connections].'
    if head.startswith(TLS_RECORDS):
        return "It speaks TLS: use https:// in --target."
    return "Check the port of --target."
