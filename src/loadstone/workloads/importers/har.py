"""Reading a HAR file: a browser's record of a visit, as exchanges in the order in which they began.

Recorders leave fields out, write them as null or as another type. Such a field counts as missing; an entry that is no
request is left out by itself, and named. Only a file without any entry that can be read is refused.
"""

import math
import re
from datetime import UTC, datetime
from functools import cached_property
from ipaddress import IPv6Address
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

from pydantic import Field, field_validator, model_validator

from loadstone.model.target import encode_host, encode_path
from loadstone.model.workload.bounds import is_base64
from loadstone.workloads.importers.har_bodies import read_base64
from loadstone.workloads.importers.har_fields import (
    Body,
    HarPair,
    LenientModel,
    keep_pairs,
    keep_table,
    read_moment,
    read_number,
    write_text,
)

BACKGROUND = frozenset({"xhr", "fetch"})
"""What browsers call requests that a page's program makes."""
FILE_TYPES = frozenset(
    {
        *("image", "imageset", "stylesheet", "script", "font", "media", "texttrack", "manifest", "worker", "xslt"),
        *("ping", "beacon", "cspviolationreport", "csp_report", "preflight", "signedexchange"),
    }
)
"""What browsers call requests whose answers are no pages, even where a server answers with HTML that it has no such
file."""
DESTINATIONS = {
    **dict.fromkeys(("document", "iframe", "frame"), "document"),
    "empty": "fetch",
    "style": "stylesheet",
    "xslt": "xslt",
    "report": "cspviolationreport",
    "track": "texttrack",
    **dict.fromkeys(("audio", "video"), "media"),
    **dict.fromkeys(("sharedworker", "serviceworker", "audioworklet", "paintworklet"), "worker"),
}
"""Names of kinds by the header Sec-Fetch-Dest, where these differ."""
FIRST_ERROR = 400
"""The least status that says that there is no such page."""
NOT_MODIFIED = 304
"""Status of an answer to a browser that had it already."""
UNTYPED = frozenset({"", "x-unknown"})
"""Media types of answers that name none."""
FILE_EXTENSION = re.compile(
    r"\.(avif|css|gif|ico|jpe?g|js|json|map|mjs|mp[34]|png|svg|ttf|txt|web(m|manifest|p)|woff2?|xml)$", re.IGNORECASE
)
"""Names of files that pages load."""
UNTOLD = frozenset({"", "other"})
"""Kinds that say nothing: many recorders write none."""
REDIRECTS = frozenset({301, 302, 303, 307, 308})
TEXT, BYTES = 1, 2
"""Opcodes of what a WebSocket carries for its users (RFC 6455, section 11.8)."""
LATEST_S = 1e11
"""A moment above this is told in milliseconds: in seconds it would be the year 5138."""
SITES_OF = {"ws": "http", "wss": "https"}
"""Schemes of WebSockets, and of the pages that open them (RFC 6455, section 3)."""
SITE_PORTS = {"http": 80, "https": 443}
"""Ports that addresses leave out."""
TEXTUAL = ("text/", "json", "xml", "javascript", "ecmascript", "x-www-form-urlencoded", "graphql")
"""Parts of media types whose bodies are text."""


class HarRequest(LenientModel):
    """What was asked."""

    method: str
    url: str
    headers: list[HarPair] = Field(default_factory=list)
    body: Body | None = Field(default=None, alias="postData")
    body_bytes: float = Field(default=-1, alias="bodySize")
    """Length of the body; below 0 where it is unknown."""

    _headers_are_pairs = field_validator("headers", mode="before")(keep_pairs)
    _length_is_finite = field_validator("body_bytes", mode="before")(read_number)

    @field_validator("body", mode="before")
    @classmethod
    def _body(cls, value: Any) -> Any:
        """A body; some recorders write its text alone."""
        return {"text": value} if isinstance(value, str) else value or None

    def get_header(self, name: str) -> str:
        """The first of a name in small letters; empty where there is none."""
        return next((header.value for header in self.headers if header.name.lower() == name), "")

    @property
    def has_body(self) -> bool:
        """Whether a body was sent, as far as the recording tells."""
        return self.body is not None and self.body_bytes != 0 and self.get_header("content-length") != "0"


class Content(LenientModel):
    """What came."""

    mime_type: str = Field(default="", alias="mimeType")
    text: str = ""
    encoding: str = ""

    _text_is_text = field_validator("text", mode="before")(write_text)

    @model_validator(mode="after")
    def _decoded(self) -> "Content":
        """A text that was recorded by base64 is that text."""
        if self.encoding.lower() == "base64" and any(part in self.mime_type.lower() for part in TEXTUAL):
            self.text = read_base64(self.text, self.mime_type)
        return self


class Response(LenientModel):
    """What was answered."""

    status: int = 0
    headers: list[HarPair] = Field(default_factory=list)
    content: Content = Field(default_factory=Content)
    redirect_url: str = Field(default="", alias="redirectURL")
    transferred: float | None = Field(default=None, alias="_transferSize")

    _headers_are_pairs = field_validator("headers", mode="before")(keep_pairs)
    _content_is_table = field_validator("content", mode="before")(keep_table)

    @field_validator("status", mode="before")
    @classmethod
    def _status(cls, value: Any) -> int:
        return int(read_number(value))

    @field_validator("transferred", mode="before")
    @classmethod
    def _transferred(cls, value: Any) -> float | None:
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


class HarMessage(LenientModel):
    """One message of a WebSocket: text, or bytes by base64."""

    direction: str = Field(default="", alias="type")
    time: float = 0
    opcode: int = 1
    data: str = ""

    _time_is_finite = field_validator("time", mode="before")(read_number)
    _data_is_text = field_validator("data", mode="before")(write_text)

    @field_validator("opcode", mode="before")
    @classmethod
    def _opcode(cls, value: Any) -> int:
        return int(read_number(value))

    @property
    def is_sent(self) -> bool:
        """Whether the browser sent it."""
        return self.direction == "send"

    @property
    def is_text(self) -> bool:
        """Whether it is text (RFC 6455, section 5.2), or bytes of which the browser did not keep the base64."""
        return self.opcode == TEXT or not is_base64(self.data)

    @property
    def at_s(self) -> float:
        """When it came or went: some browsers write seconds since 1970, some milliseconds."""
        return self.time / 1000 if self.time > LATEST_S else self.time


class HarExchange(LenientModel):
    """A request and its answer; times in seconds."""

    started: datetime | None = Field(default=None, alias="startedDateTime")
    time_ms: float = Field(default=0, alias="time")
    request: HarRequest
    response: Response = Field(default_factory=Response)
    recorded_kind: str = Field(default="", alias="_resourceType")
    cached: str = Field(default="", alias="_fromCache")
    fetched_from: str = Field(default="", alias="_fetchType")
    """Where Safari took it from, such as `Memory Cache`."""
    messages: list[HarMessage] = Field(default_factory=list, alias="_webSocketMessages")

    _moment_or_none = field_validator("started", mode="before")(read_moment)
    _response_is_table = field_validator("response", mode="before")(keep_table)
    _time_is_finite = field_validator("time_ms", mode="before")(read_number)

    @field_validator("cached", "fetched_from", "recorded_kind", mode="before")
    @classmethod
    def _named(cls, value: Any) -> str:
        return str(value or "")

    @cached_property
    def start_s(self) -> float:
        """When it began."""
        if self.started is None:
            return 0.0
        return (self.started if self.started.tzinfo else self.started.replace(tzinfo=UTC)).timestamp()

    @property
    def end_s(self) -> float:
        """When its answer was there; of a WebSocket, which stays open beside what follows, when it began."""
        if self.is_upgrade:
            return self.start_s
        return self.start_s + max(0.0, self.time_ms) / 1000

    @property
    def method(self) -> str:
        """In capitals."""
        return self.request.method.upper()

    @cached_property
    def parts(self) -> SplitResult:
        """Of its address; raises ValueError for what is none."""
        return urlsplit(self.request.url)

    @cached_property
    def site(self) -> str:
        """Scheme, host and port as `site_of` writes them; empty for what is no address."""
        return find_site(self.request.url)

    @cached_property
    def address(self) -> str:
        """The address without its fragment, the host as `site_of` writes it."""
        return _address(self.request.url)

    @cached_property
    def kind(self) -> str:
        """What the browser asked for, in small letters, by the recorder or by the request's headers; empty where none
        of them says it.
        """
        recorded = self.recorded_kind.lower()
        return recorded if recorded not in UNTOLD else _kind_asked_for(self.request) or recorded

    @property
    def is_stream(self) -> bool:
        """Whether it stays open until the page is left: a stream of events (HTML, section 9.2), or of pictures. What a
        program posts is answered once, by a stream too.
        """
        mime_type = self.response.content.mime_type.lower()
        is_endless = mime_type.startswith(("text/event-stream", "multipart/x-mixed-replace"))
        return self.method == "GET" and (self.kind == "eventsource" or is_endless)

    @property
    def took_s(self) -> float:
        """How long the answer took."""
        return max(0.0, self.time_ms) / 1000

    @property
    def is_html(self) -> bool:
        """Whether it brought a page, and neither what a page's program asked for nor the answer for a file."""
        mime_type = self.response.content.mime_type.lower()
        is_text = mime_type.startswith(("text/html", "application/xhtml")) or self._is_page_without_type
        return is_text and self.kind not in BACKGROUND | FILE_TYPES and not self._is_missing_file

    @property
    def _is_page_without_type(self) -> bool:
        """Whether it is a page that the browser had already: such an answer names no media type."""
        if self.response.status != NOT_MODIFIED or self.response.content.mime_type.lower() not in UNTYPED:
            return False
        accepted = self.request.get_header("accept").lower()
        is_named = "text/html" in accepted if accepted else FILE_EXTENSION.search(self.parts.path) is None
        return self.kind == "document" or (self.kind in UNTOLD and self.method == "GET" and is_named)

    @property
    def _is_missing_file(self) -> bool:
        """Whether it asked for a file that there is none of, by what little is known of such a request."""
        if self.response.status < FIRST_ERROR or self.kind not in UNTOLD:
            return False
        return self.kind != "" or FILE_EXTENSION.search(self.parts.path) is not None

    @property
    def is_background(self) -> bool:
        """Whether a page's program asked for it."""
        return self.kind in BACKGROUND or "json" in self.response.content.mime_type.lower()

    @property
    def is_frame(self) -> bool:
        """Whether a page loaded it into a frame, and no user did."""
        destination = self.request.get_header("sec-fetch-dest").lower()
        return destination in ("iframe", "frame") and not self.request.get_header("sec-fetch-user")

    @property
    def is_kept(self) -> bool:
        """Whether the browser had it and asked for nothing."""
        is_plain = self.method == "GET" and self.response.status == 200
        is_cached = bool(self.cached) or "cache" in self.fetched_from.lower()
        return is_plain and (is_cached or self.response.transferred == 0)

    @property
    def is_upgrade(self) -> bool:
        """Whether it became something else than HTTP, such as a WebSocket."""
        upgrades = any(header.name.lower() == "upgrade" for header in self.request.headers)
        return self.response.status == 101 or upgrades or self.kind == "websocket"

    @property
    def is_socket(self) -> bool:
        """Whether it became a WebSocket whose messages were recorded."""
        is_open = self.kind == "websocket" and self.method == "GET" and self.response.status == 101
        return is_open and any(message.opcode in (TEXT, BYTES) for message in self.messages)

    @property
    def goal(self) -> str:
        """The address it was redirected to; empty where it was not, or to what is none."""
        if self.response.status not in REDIRECTS:
            return ""
        locations = (header.value for header in self.response.headers if header.name.lower() == "location")
        try:
            return _address(urljoin(self.request.url, self.response.redirect_url or next(locations, "")))
        except ValueError:
            return ""


def find_site(url: str) -> str:
    """Scheme, host in small letters and port unless it is usual, without credentials; empty for what is no address.
    WebSockets are their site's.
    """
    try:
        parts = urlsplit(url)
        scheme, host, port = SITES_OF.get(parts.scheme, parts.scheme), encode_host(parts.hostname or ""), parts.port
        host = f"[{IPv6Address(host).compressed}]" if ":" in host else host
    except ValueError:
        return ""
    if not host or not scheme:
        return ""
    return f"{scheme}://{host}" if port in (None, SITE_PORTS.get(scheme)) else f"{scheme}://{host}:{port}"


def _address(url: str) -> str:
    """An address as browsers ask for it: without its fragment, other letters encoded."""
    bare = url.partition("#")[0]
    site = find_site(bare)
    if not site:
        return bare
    parts = urlsplit(bare)
    return site + encode_path(f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}")


def _kind_asked_for(request: HarRequest) -> str:
    """The kind of a request by its headers: browsers name it (Fetch Metadata), and so do programs; or by the media type
    that it wants. Empty where these do not tell.
    """
    accepted = request.get_header("accept").lower()
    destination = request.get_header("sec-fetch-dest").lower()
    if accepted.startswith("text/event-stream"):
        return "eventsource"
    if request.get_header("x-requested-with").lower() == "xmlhttprequest" or request.get_header("hx-request"):
        return "xhr"
    if destination and request.get_header("sec-fetch-mode").lower() != "websocket":
        return DESTINATIONS.get(destination, destination)
    if "text/html" in accepted:
        return ""
    return "image" if accepted.startswith("image/") else "stylesheet" if accepted.startswith("text/css") else ""
