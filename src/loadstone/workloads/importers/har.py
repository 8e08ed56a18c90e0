"""Reading a HAR file: a browser's record of a visit, as one site's exchanges in the order in which they began."""

from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import SplitResult, urljoin, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from loadstone.model.errors import UsageError
from loadstone.model.files import read_bytes
from loadstone.model.workload.bounds import is_base64

MOST_BYTES = 256 << 20
"""Longest file that is read: a visit of an hour with all bodies has a tenth of it."""
BACKGROUND = frozenset({"xhr", "fetch"})
"""What browsers call requests that a page's program makes."""
REDIRECTS = frozenset({301, 302, 303, 307, 308})
TEXT, BYTES = 1, 2
"""Opcodes of what a WebSocket carries for its users (RFC 6455, section 11.8)."""
LATEST_S = 1e11
"""A moment above this is told in milliseconds: in seconds it would be the year 5138."""
SITES_OF = {"ws": "http", "wss": "https"}
"""Schemes of WebSockets, and of the pages that open them (RFC 6455, section 3)."""


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore")


class Pair(_Lenient):
    """A header or a field."""

    name: str
    value: str = ""


class Body(_Lenient):
    """What was sent."""

    mime_type: str = Field(default="", alias="mimeType")
    params: list[Pair] = Field(default_factory=list)
    text: str = ""


class Request(_Lenient):
    """What was asked."""

    method: str
    url: str
    headers: list[Pair] = Field(default_factory=list)
    body: Body | None = Field(default=None, alias="postData")

    def header(self, name: str) -> str:
        """The first of a name in small letters; empty where there is none."""
        return next((one.value for one in self.headers if one.name.lower() == name), "")


class Content(_Lenient):
    """What came."""

    mime_type: str = Field(default="", alias="mimeType")
    text: str = ""


class Response(_Lenient):
    """What was answered."""

    status: int = 0
    headers: list[Pair] = Field(default_factory=list)
    content: Content = Field(default_factory=Content)
    redirect_url: str = Field(default="", alias="redirectURL")
    transferred: int | None = Field(default=None, alias="_transferSize")


class Message(_Lenient):
    """One message of a WebSocket: text, or bytes by base64."""

    direction: str = Field(alias="type")
    time: float = Field(default=0, allow_inf_nan=False)
    opcode: int = 1
    data: str = ""

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


class Exchange(_Lenient):
    """A request and its answer; times in seconds."""

    started: datetime = Field(alias="startedDateTime")
    time_ms: float = Field(default=0, alias="time", allow_inf_nan=False)
    request: Request
    response: Response
    kind: str = Field(default="", alias="_resourceType")
    cached: str = Field(default="", alias="_fromCache")
    messages: list[Message] = Field(default_factory=list, alias="_webSocketMessages")

    @property
    def start_s(self) -> float:
        """When it began."""
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

    @property
    def parts(self) -> SplitResult:
        """Of its address; raises ValueError for what is none."""
        return urlsplit(self.request.url)

    @property
    def site(self) -> str:
        """Scheme, host and port, without credentials; empty for what is no address. WebSockets are their site's."""
        try:
            parts = self.parts
            scheme = SITES_OF.get(parts.scheme, parts.scheme)
            return f"{scheme}://{parts.netloc.rpartition('@')[2]}" if parts.netloc else ""
        except ValueError:
            return ""

    @property
    def is_html(self) -> bool:
        """Whether it brought a page, and not what a page's program asked for."""
        return self.response.content.mime_type.startswith("text/html") and self.kind not in BACKGROUND

    @property
    def is_background(self) -> bool:
        """Whether a page's program asked for it."""
        return self.kind in BACKGROUND or "json" in self.response.content.mime_type

    @property
    def is_kept(self) -> bool:
        """Whether the browser had the file and asked for nothing."""
        asked = self.method == "GET" and self.response.status == 200
        return asked and (bool(self.cached) or self.response.transferred == 0)

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
        told = (header.value for header in self.response.headers if header.name.lower() == "location")
        try:
            return urljoin(self.request.url, self.response.redirect_url or next(told, "")).partition("#")[0]
        except ValueError:
            return ""


class _Log(_Lenient):
    entries: list[Exchange]


class _Har(_Lenient):
    log: _Log


def read(file: Path) -> list[Exchange]:
    """All exchanges in the order in which they began; raises UsageError when it is no HAR file."""
    try:
        entries = _Har.model_validate_json(read_bytes(file, MOST_BYTES)).log.entries
    except ValidationError as error:
        details = error.errors()[0]
        place = ".".join(str(part) for part in details["loc"]) or "the file"
        raise UsageError(f"{file} is no HAR file: {place}: {details['msg']}.") from None
    return sorted(entries, key=lambda entry: entry.start_s)
