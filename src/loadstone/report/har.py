"""A traced visit as a HAR file (HTTP Archive 1.2), for the network view of any browser. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from loadstone import __version__
from loadstone.model.records.events import Exchange

Json = dict[str, Any]


REDACTED = "***"
CREDENTIAL_HEADERS = ("authorization", "proxy-authorization", "cookie", "set-cookie")
"""Fields of a head that let their holder into a session."""


def as_har(exchanges: Iterable[Exchange], began: datetime, site: Mapping[bool, str], has_cookies: bool = False) -> Json:
    """The archive of a visit that began then; `site` is the address of the secure side and of the plain one. Values of
    cookies and credentials are replaced by `***` unless `has_cookies`.
    """
    entries = [
        _entry(exchange if has_cookies else _without_credentials(exchange), began, site[exchange.is_secure])
        for exchange in exchanges
    ]
    return {"log": {"version": "1.2", "creator": {"name": "loadstone", "version": __version__}, "entries": entries}}


def _without_credentials(exchange: Exchange) -> Exchange:
    head, gap, body = exchange.request.partition("\r\n\r\n")
    return replace(exchange, request=_hidden(head) + gap + body, head=_hidden(exchange.head))


def _hidden(head: str) -> str:
    return "\r\n".join(_hidden_line(line) for line in head.split("\r\n"))


def _hidden_line(line: str) -> str:
    """A line of a head with the names of its cookies, without their values."""
    name, colon, text = line.partition(":")
    kind = name.strip().lower()
    if not colon or kind not in CREDENTIAL_HEADERS:
        return line
    if kind == "cookie":
        shown = "; ".join(f"{pair.partition('=')[0].strip()}={REDACTED}" for pair in text.split(";"))
    elif kind == "set-cookie":
        pair, semicolon, attributes = text.partition(";")
        shown = f"{pair.partition('=')[0].strip()}={REDACTED}{semicolon}{attributes}"
    else:
        shown = f"{text.strip().partition(' ')[0]} {REDACTED}" if " " in text.strip() else REDACTED
    return f"{name}: {shown}"


def _entry(exchange: Exchange, began: datetime, site: str) -> Json:
    begun_ms, end_ms = 1000 * exchange.at_s, 1000 * exchange.end_s
    wait_ms = max(0.0, 1000 * (exchange.first_byte_s or exchange.end_s) - begun_ms)
    whole_ms = end_ms - begun_ms
    return {
        "startedDateTime": (began.astimezone(UTC) + timedelta(milliseconds=begun_ms)).isoformat(),
        "time": whole_ms,
        "request": _request(exchange, site),
        "response": _response(exchange),
        "cache": {},
        "timings": {"send": 0, "wait": wait_ms, "receive": max(0.0, whole_ms - wait_ms)},
    }


def _request(exchange: Exchange, site: str) -> Json:
    head, _, body = exchange.request.partition("\r\n\r\n")
    method, path, _ = (*head.partition("\r\n")[0].split(" "), "", "")[:3]
    kind = next((text for name, text in list_fields(head) if name.lower() == "content-type"), "")
    return {
        "method": method,
        "url": site + path,
        "httpVersion": "HTTP/1.1",
        "headers": _named(head),
        "queryString": [],
        "cookies": [],
        "headersSize": len(head) + 4,
        "bodySize": len(body),
        **({"postData": {"mimeType": kind, "text": body}} if body else {}),
    }


def _response(exchange: Exchange) -> Json:
    headers = {name.lower(): text for name, text in list_fields(exchange.head)}
    status = get_status(exchange)
    return {
        "status": status or 0,
        "statusText": "",
        "httpVersion": exchange.head.partition(" ")[0],
        "headers": _named(exchange.head),
        "cookies": [],
        "content": {
            "size": exchange.body_bytes,
            "mimeType": headers.get("content-type", ""),
            "text": exchange.body,
        },
        "redirectURL": headers.get("location", ""),
        "headersSize": len(exchange.head),
        "bodySize": max(0, exchange.bytes - len(exchange.head)),
        "comment": exchange.fault,
    }


def get_status(exchange: Exchange) -> int | None:
    """The status of an answer; None where none came."""
    parts = exchange.head.partition("\r\n")[0].split(" ")
    return int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else None


def list_fields(head: str) -> Iterator[tuple[str, str]]:
    """Names and texts of a head's fields."""
    for line in head.split("\r\n")[1:]:
        name, colon, text = line.partition(":")
        if colon:
            yield name.strip(), text.strip()


def _named(head: str) -> list[Json]:
    return [{"name": name, "value": text} for name, text in list_fields(head)]
