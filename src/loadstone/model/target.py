"""Where load goes: the two sides of a target and what certificates are believed."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from ipaddress import IPv6Address
from pathlib import Path
from urllib.parse import quote, urlsplit

from loadstone.model.errors import UsageError
from loadstone.model.files import read_text

IN_PATHS = "/%:@!$&'()*+,;=~[]|"
"""Signs that browsers leave in paths."""
IN_QUERIES = f"{IN_PATHS}?{{}}\\^`"
"""Signs that browsers leave in queries."""


def encode_path(path: str) -> str:
    """A path, or one with its query, as it stands in a request: what browsers do not send there is encoded (WHATWG URL,
    section 1.3).
    """
    bare, mark, query = path.partition("?")
    return quote(bare, safe=IN_PATHS) + mark + quote(query, safe=IN_QUERIES)


LAST_PORT = 65_535


@dataclass(frozen=True)
class Endpoint:
    """A host and a port."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Endpoint":
        """Reads `host:port`, an IPv6 address in brackets. Raises UsageError."""
        host, _, port = text.rpartition(":")
        if not host or not (port.isascii() and port.isdigit()) or not _is_host(host):
            raise UsageError(f"`{text}` is not HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080.")
        if len(port) > 5 or int(port) > LAST_PORT:
            raise UsageError(f"`{text}` has no valid port. Ports go up to {LAST_PORT}.")
        return cls(host, int(port))

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def _is_host(host: str) -> bool:
    """Whether a host can be looked up: a name or an address, of IPv6 with both brackets."""
    bracketed = host.startswith("[") or host.endswith("]")
    inner = host.strip("[]")
    if bracketed or ":" in inner:
        return host == f"[{inner}]" and _is_ipv6(inner)
    return bool(inner) and not host.startswith("-") and not any(letter.isspace() or letter in "/?#@" for letter in host)


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


class Addresses(StrEnum):
    """Which addresses of a name take load."""

    ALL = "all"
    """Users take them in turn, as far as they are of one family and accept connections."""
    FIRST = "first"


@dataclass(frozen=True)
class Identity:
    """Files of a client's certificate and its key, in PEM form. They are read where they are, and copied nowhere."""

    certificate: str
    key: str

    @classmethod
    def from_files(cls, certificate: Path | None, key: Path | None) -> "Identity | None":
        """Returns an identity from the paths of certificate and key, or of one file that holds both. Returns None
        without any. Raises UsageError.
        """
        if certificate is None:
            if key is not None:
                raise UsageError(f"The key {key} has no certificate. Add --cert FILE.")
            return None
        return cls(str(certificate.absolute()), str((key or certificate).absolute()))


class DeliveryProtocol(StrEnum):
    """How mail is handed to a server."""

    LMTP = "lmtp"
    """RFC 2033: a reply for each recipient."""
    SMTP = "smtp"
    """RFC 5321: one reply for all of them."""


SCHEME_PORTS = {"http": 80, "https": 443, DeliveryProtocol.LMTP: 24, DeliveryProtocol.SMTP: 25}
"""Ports of addresses that name none."""


@dataclass(frozen=True)
class MailDelivery:
    """Where a server accepts mail."""

    protocol: DeliveryProtocol
    endpoint: Endpoint

    def __str__(self) -> str:
        return f"{self.protocol}://{self.endpoint}"


@dataclass(frozen=True)
class Target:
    """A system under test as the driver sees it."""

    http: Endpoint | None
    https: Endpoint | None
    authority_pem: str | None = None
    """Certificate of a private authority; None believes the machine's own list."""
    verify: bool = True
    identity: Identity | None = None
    """What users show to a server that demands a certificate."""
    addresses: Addresses = Addresses.ALL
    source_addresses: int | None = None
    """Addresses that users of a server on this host come from; None for one, or for more where ports would run out."""
    delivery: MailDelivery | None = None
    """Where it accepts mail; None for a system that accepts none."""

    @property
    def is_local(self) -> bool:
        """Whether it is written as an address of the loopback network."""
        sides = [side.host for side in (self.http, self.https) if side is not None]
        return any(host == "localhost" or host.startswith("127.") for host in sides)

    def with_address(self, host: str) -> "Target":
        """Returns the same ports of another address of its machine."""
        http, https = (side and replace(side, host=host) for side in (self.http, self.https))
        delivery = self.delivery and replace(self.delivery, endpoint=replace(self.delivery.endpoint, host=host))
        return replace(self, http=http, https=https, delivery=delivery)

    @classmethod
    def parse(cls, urls: list[str], authority_pem: str | None = None, verify: bool = True) -> "Target":
        """Reads one or more URLs; their schemes say which side is which. Raises UsageError."""
        sides: dict[str, Endpoint] = {}
        for url in urls:
            scheme, endpoint = _side(url)
            if scheme in sides:
                raise UsageError(
                    f"There are two targets for {scheme}. Use at most one http:// and one https:// address."
                )
            sides[scheme] = endpoint
        deliveries = [MailDelivery(known, sides[known]) for known in DeliveryProtocol if known in sides]
        if len(deliveries) > 1:
            raise UsageError("Mail has two targets. Use either an lmtp:// or an smtp:// address.")
        if deliveries and "http" not in sides:
            raise UsageError(f"{deliveries[0]} accepts mail only. Add the server's IMAP address, as http://HOST:PORT.")
        delivery = deliveries[0] if deliveries else None
        return cls(sides.get("http"), sides.get("https"), authority_pem, verify, delivery=delivery)


@dataclass(frozen=True)
class Access:
    """How users reach a system that others set up."""

    authority: Path | None = None
    verify: bool = True
    certificate: Path | None = None
    key: Path | None = None
    addresses: Addresses = Addresses.ALL
    source_addresses: int | None = None

    def make_target(self, urls: list[str]) -> Target:
        """The system at these addresses; raises UsageError."""
        pem = read_text(self.authority) if self.authority else None
        return replace(
            Target.parse(urls, pem, self.verify),
            identity=Identity.from_files(self.certificate, self.key),
            addresses=self.addresses,
            source_addresses=self.source_addresses,
        )


def _side(url: str) -> tuple[str, Endpoint]:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise UsageError(
            f"`{url}` is not a valid target: {error}. Use http://HOST:PORT or https://HOST:PORT."
        ) from None
    if parts.scheme not in SCHEME_PORTS or not parts.hostname:
        raise UsageError(f"`{url}` is not a valid target. Use http://HOST:PORT or https://HOST:PORT.")
    if parts.path not in ("", "/") or parts.query:
        raise UsageError(f"`{url}` has a path, but the workload declares the paths. Remove it from the target.")
    if parts.username is not None:
        remedy = "Remove them, and declare `Authorization` under [headers] of the workload"
        raise UsageError(f"`{without_credentials(url)}` contains a name or a password, which are not sent. {remedy}.")
    try:
        port = parts.port
        if port == 0:
            raise ValueError
    except ValueError:
        raise UsageError(f"`{url}` has no valid port. Ports go from 1 to 65535.") from None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else _ascii_name(parts.hostname)
    return parts.scheme, Endpoint(host, port or SCHEME_PORTS[parts.scheme])


def without_credentials(url: str) -> str:
    """An address with `...` in place of the name and the password in it."""
    return re.sub(r"//[^/?#]*@", "//...@", url)


def encode_host(host: str) -> str:
    """A name of a host as it is looked up and sent: other letters than ASCII by Punycode (RFC 3490). Raises ValueError
    for what cannot be written so.
    """
    return host if host.isascii() else host.encode("idna").decode("ascii")


def _ascii_name(host: str) -> str:
    """The same. Raises UsageError for what can be no name."""
    if re.search(r"[\s<>\"`{}|\\^%]", host):
        raise UsageError(f"`{host}` is not a valid host name. Remove blanks and signs from the target.")
    try:
        return encode_host(host)
    except ValueError as error:
        raise UsageError(f"`{host}` is not a valid host name: {error}. Use Punycode, such as xn--....") from None
