"""What was sent in a recorded request, as far as a workload can send it again. Pure."""

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, quote

from loadstone.workloads.importers.har import Exchange, Request

SECRETS = ("cookie", "authorization")
"""Headers of this visit alone."""
BROWSERS_OWN = frozenset(
    {
        *("host", "connection", "keep-alive", "content-length", "content-type", "transfer-encoding", "te", "upgrade"),
        *("accept-encoding", "accept-language", "user-agent", "cache-control", "pragma", "dnt", "priority", "range"),
        *("upgrade-insecure-requests", "if-modified-since", "if-none-match", "if-range", "expect", "x-client-data"),
        *SECRETS,
    }
)
"""Headers that browsers send by themselves, or the driver does."""
SUBPROTOCOL = "sec-websocket-protocol"
"""What the program asks for, unlike the other headers of a WebSocket's beginning (RFC 6455, section 1.9)."""
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9_-]* (?! )|")
"""Before the token (RFC 9110, section 11.4); some sites have none."""
PART = re.compile(r"\r\n?(Content-Disposition: form-data[^\r\n]*(?:\r\n[^\r\n]+)*)\r\n\r\n([^\r\n]*)\r\n--")
"""Head and text of a part that is one line."""


def own_headers(exchange: Exchange, *, is_page: bool) -> Iterator[tuple[str, str]]:
    """What a page's program, and no browser by itself, has put into a request; `is_page` where a page came of it."""
    is_change = exchange.method != "GET" or exchange.is_socket
    for header in exchange.request.headers:
        name = header.name.lower()
        if name in BROWSERS_OWN or (name.startswith((":", "sec-", "proxy-")) and name != SUBPROTOCOL):
            continue
        if name in ("origin", "referer") and not is_change:
            continue
        if name == "accept" and (is_page or header.value.strip() == "*/*"):
            continue
        if re.fullmatch(r"[A-Za-z0-9_-]+", header.name) and header.value.isprintable() and header.value.isascii():
            yield header.name, header.value


def token_of(request: Request) -> tuple[str, str]:
    """Scheme and token that a request is allowed by; empty where there is none, or the user's own name and password."""
    value = request.header("authorization")
    matched = SCHEME.match(value)
    scheme = matched.group() if matched else ""
    return ("", "") if scheme.lower() in ("basic ", "digest ") else (scheme, value.removeprefix(scheme))


def pairs_of(text: str) -> dict[str, str]:
    """Fields by name; empty where a table of texts would lose one, or send others than were recorded."""
    pairs = parse_qsl(text, keep_blank_values=True)
    is_whole = all("=" in field for field in text.split("&")) and len(dict(pairs)) == text.count("&") + 1
    is_text = all(word.isprintable() and "\ufffd" not in word for pair in pairs for word in pair)
    return dict(pairs) if is_whole and is_text else {}


def form_text(request: Request) -> str:
    """A form as it was sent; empty where there was none."""
    body = request.body
    if body is None or "x-www-form-urlencoded" not in body.mime_type:
        return ""
    if body.text:
        return body.text
    return "&".join(f"{quote(pair.name, safe='')}={quote(pair.value, safe='')}" for pair in body.params)


def body_text(request: Request) -> str:
    """What was sent, if it is text."""
    text = form_text(request) or (request.body.text if request.body else "")
    return text if re.sub(r"[\r\n\t]", "", text).isprintable() else ""


def parts_of(request: Request) -> Iterator[tuple[str, str]]:
    """Names and texts of a form of several parts (RFC 7578), but for files."""
    if request.body is None or "multipart/form-data" not in request.body.mime_type:
        return
    for head, text in PART.findall(request.body.text):
        named = re.search(r'[; ]name="([^"]*)"', head)
        if named and "filename" not in head:
            yield named.group(1), text
