"""What a `workload.toml` says: the typed sections, as a user writes them; checked further in the workloads' room."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from loadstone.model.reading import Section
from loadstone.model.service import Mechanism

LARGEST = 1e12
"""No figure that users write is larger: it is beyond every rate, length and share there is."""
LARGEST_WHOLE = (1 << 63) - 1
"""The driver reckons in 64 bits."""
LONGEST_S = 1e9
"""Thirty years; in nanoseconds it still fits 64 bits."""

Positive = Annotated[float, Field(gt=0, le=LARGEST)]
NotNegative = Annotated[float, Field(ge=0, le=LARGEST)]
Seconds = Annotated[float, Field(gt=0, le=LONGEST_S)]
Whole = Annotated[int, Field(ge=-LARGEST_WHOLE, le=LARGEST_WHOLE)]
Percent = Annotated[float, Field(gt=0, le=100)]
Probability = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$")]


def _day(text: str) -> str:
    date.fromisoformat(text)
    return text


Day = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$"), AfterValidator(_day)]
"""A day of the calendar."""


def _no_option(variable: str) -> str:
    if variable.startswith("LOADSTONE_"):
        raise ValueError("names that begin with LOADSTONE_ set options, which results tell")
    return variable


END = "end"
"""The pseudo-state in which a user session ends as its user meant it to."""


class MixKind(StrEnum):
    """How the next state is chosen."""

    MATRIX = "matrix"
    FLAT = "flat"
    SEQUENCE = "sequence"


class Need(StrEnum):
    """What a workload's users talk to."""

    WEB = "web"
    """The web sites with their back end."""
    APPLICATION = "application"
    """The dealership with its database."""
    BOOKSTORE = "bookstore"
    """The bookstore with its database."""
    EVENTS = "events"
    """The site of events with its database and its pictures."""
    MAIL = "mail"
    IDLE = "idle"
    WEBSERVER = "webserver"
    """A web server alone: files, and short answers by one of its mechanisms."""


@dataclass(frozen=True)
class ServerNeeds:
    """What the workloads of a run want of the reference servers."""

    need: Need = Need.WEB
    injection_rate: int = 1
    """Injection rate that the dealership's database is filled for."""
    file_sets: Mapping[str, int] = field(default_factory=dict)
    """Sessions whose files are wanted of a web server that keeps them, by workload."""
    directories: int = 1
    """Of the files of a web server alone."""
    mechanisms: tuple[Mechanism, ...] = ()
    """By what a web server alone may make its answers."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """What an application's database is filled with, by table."""


WEB_NEEDS = ServerNeeds()


class Header(Section):
    """What the workload is."""

    name: Name = Field(description="a short name of letters, digits, `_` and `-`")
    title: str = Field(description="a title in a few words")
    about: str = Field(default="", description="one sentence about its users")
    sources: tuple[str, ...] = Field(default=(), description="where its figures come from, a list of texts")
    document: str = Field(default="docs/web-workloads.md", description="the page that its limits come from")
    needs: Need = Field(
        default=Need.WEB, description=f"what is to be served: {', '.join(f'`{need}`' for need in Need)}"
    )
    mechanisms: tuple[Mechanism, ...] = Field(
        default=(), description=f"by what a web server may answer, a list of {', '.join(map(str, Mechanism))}"
    )
    audit: Literal["orders", "work_orders", "additions"] | None = Field(
        default=None,
        description="what the application's audit is asked for after a run: `orders`, `work_orders` or `additions`",
    )
    companions: dict[Name, Positive] = Field(
        default_factory=dict, description="workloads played with it, { name = sessions of it for each of ours }"
    )


class TargetRules(Section):
    """How the site is reached."""

    tls: bool | None = Field(default=None, description="true or false; left out, the target's address decides")


class Pacing(Section):
    """Pauses between a user's operations."""

    kind: Literal["think", "cycle"] = Field(description="`think` (from the answer on) or `cycle` (from start to start)")
    distribution: Literal["exponential", "uniform", "fixed"] = Field(
        default="exponential", description="`exponential`, `uniform` (0 to twice the mean) or `fixed`"
    )
    mean_s: Annotated[float, Field(ge=0, le=LONGEST_S)] = Field(description="the mean pause in seconds, 0 or more")
    cap_s: Seconds | None = Field(default=None, description="the longest pause in seconds")
    no_pause_before: tuple[str, ...] = Field(default=(), description="states that follow at once, a list of names")
    least_s: dict[str, Seconds] = Field(
        default_factory=dict, description="the shortest pause after a state, { state = seconds }; its mean stays"
    )


class Connections(Section):
    """What a user's line and browser allow."""

    protocol: Literal["http1", "http2", "echo", "imap", "null"] = Field(
        default="http1", description="`http1`, `http2`, `echo` (bytes come back), `imap` or `null` (no server at all)"
    )
    parallel: Annotated[int, Field(ge=1, le=16)] = Field(default=2, description="a whole number from 1 to 16")
    page_bytes_per_s: Positive | None = Field(default=None, description="bytes per second, above 0; none for no limit")
    embedded_bytes_per_s: Positive | None = Field(
        default=None, description="bytes per second of each connection, above 0; none for no limit"
    )
    requests_each: Annotated[int, Field(ge=1, le=LARGEST_WHOLE)] | None = Field(
        default=None, description="requests after which a connection is given up, 1 or more; none for no end"
    )
    kept_between_users: bool = Field(
        default=False, description="true where a new user takes over the connections of the one before"
    )
    full_handshakes: Probability = Field(
        default=0, description="share of a user's TLS connections after the first that do not resume, 0 to 1"
    )
    warm_caches: Probability | None = Field(
        default=None,
        description="share of visits that begin with all files in the browser and ask for each whether it has changed, "
        "0 to 1; the others fetch each file once",
    )


Percentiles = dict[Literal["p50", "p90", "p95", "p99", "p99.9"], Seconds]
"""Longest response times by percentile."""


class Limits(Section):
    """The aggregate limits over all operations."""

    good_s: Seconds = Field(description="seconds below which an operation is good")
    tolerable_s: Seconds = Field(description="seconds below which an operation is tolerable, at least `good_s`")
    good_share_pct: Percent = Field(default=95, description="least share of good operations, above 0 to 100")
    tolerable_share_pct: Percent = Field(default=99, description="least share of tolerable ones, above 0 to 100")
    each_share_pct: Percent | None = Field(
        default=None, description="least share of good ones among the operations of each kind, above 0 to 100"
    )
    mix_points: Positive | None = Field(
        default=None, description="most percentage points between an operation's share and the declared one"
    )
    most_cycle_s: Seconds | None = Field(
        default=None, description="most seconds from start to start of a session's operations, on the mean"
    )
    errors_pct: Annotated[float, Field(ge=0, lt=100)] | None = Field(
        default=None, description="most operations that end in an error, in percent; wrong answers and none together"
    )
    percentiles_s: Percentiles = Field(
        default_factory=dict,
        description="longest response times, { p95 = 0.8 }, of p50, p90, p95, p99 and p99.9",
    )
    throughput_per_s: Positive | None = Field(default=None, description="least operations a second")


class Checks(Section):
    """What every answer must be, unless an operation says otherwise."""

    status: tuple[int, ...] = Field(default=(200,), description="the accepted status codes, a list of whole numbers")
    markers_every: Annotated[int, Field(ge=0, le=LARGEST_WHOLE)] = Field(
        default=0, description="spacing in bytes, 0 for no markers"
    )
    contains: tuple[str, ...] = Field(default=(), description="texts that must be there, a list")
    absent: tuple[str, ...] = Field(default=(), description="texts that must not be there, a list")


class EmbeddedPattern(Section):
    """How the short form `"size@probability"` becomes a path."""

    path: str = Field(description='a path that contains `{name}`, as "/static/{name}.gif"')


class TimeLimit(Section):
    """An operation's own bounds on its response time."""

    good_s: Seconds
    tolerable_s: Seconds


class RateLimit(Section):
    """Bounds on an operation's byte rate, for downloads."""

    good_bytes_per_s: Positive
    tolerable_bytes_per_s: Positive


class EmbeddedFile(Section):
    """A file that belongs to a page."""

    path: str
    bytes: Annotated[int, Field(ge=0, le=LARGEST_WHOLE)] | None = None
    conditional: Probability = 0
    markers_every: Annotated[int, Field(ge=0, le=LARGEST_WHOLE)] | None = None


Found = Annotated[str, StringConstraints(min_length=1)]


class Extract(Section):
    """A value taken out of an answer: from between two texts of its body, or from one other place."""

    value: Name = Field(description="the name of the value")
    after: Found | None = Field(default=None, description="the text before it, with `before`")
    before: Found | None = Field(default=None, description="the text behind it, with `after`")
    json_: str | None = Field(
        default=None, alias="json", pattern="^(/.*)?$", description='a pointer into JSON (RFC 6901), as "/items/0/id"'
    )
    header: Found | None = Field(default=None, description="the name of a header of the answer")
    regex: Found | None = Field(default=None, description="a pattern, of which the first group counts, or all of it")
    field: Found | None = Field(default=None, description="the name of a form's field or of a meta element, in HTML")
    cookie: Found | None = Field(default=None, description="the name of a cookie that the user has by then")
    css: Found | None = Field(
        default=None, description="a CSS selector of an element, in HTML, of which the text counts"
    )
    attribute: Found | None = Field(default=None, description="the attribute that counts instead, with `css`")
    decode: Literal["html", "url", "json", "base64"] | None = Field(
        default=None,
        description="`html`, with character references, `url`, with percent signs, `json`, as its texts, or `base64`",
    )
    pick: str | None = Field(
        default=None, description="which of several: a number, as a text with values, reckoned round their count"
    )
    optional: bool = Field(default=False, description="true where it may be missing: the value is empty then")

    @model_validator(mode="after")
    def _stands_in_one_place(self) -> Self:
        if (self.after is None) != (self.before is None):
            raise ValueError("`after` and `before` go together")
        if self.attribute is not None and self.css is None:
            raise ValueError("`attribute` goes with `css`")
        places = (self.after, self.json_, self.header, self.regex, self.field, self.cookie, self.css)
        if sum(place is not None for place in places) != 1:
            raise ValueError("needs one of `after` with `before`, `json`, `header`, `regex`, `field`, `cookie`, `css`")
        return self

    def planned(self) -> dict[str, str | bool | None]:
        """As plans have it."""
        told = self.model_dump(by_alias=True)
        return {**told, "after": self.after or "", "before": self.before or ""}


class Ending(Section):
    """A way in which an operation ends well."""

    contains: Annotated[str, StringConstraints(min_length=1)] = Field(
        description="the text of the answer that tells it"
    )
    ledger: str | None = Field(default=None, description="what the server must then hold, once, as a text with values")


class Request(Section):
    """What is asked for, and what the answer must be."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] = Field(
        default="GET", description="`GET`, `POST`, `PUT`, `PATCH`, `DELETE` or `HEAD`"
    )
    path: str = Field(description='the path, as "/search", values as {name}')
    query: dict[str, str] = Field(default_factory=dict, description='a table of texts, as { q = "{words}" }')
    form: dict[str, str] = Field(default_factory=dict, description='a table of texts, as { user = "{user_id}" }')
    body: str | None = Field(default=None, description="the request's body as it is sent, instead of a form")
    headers: dict[str, str] = Field(
        default_factory=dict, description="a table of texts; they go before those under [headers], an empty one removes"
    )
    redirects: Annotated[int, Field(ge=0, le=20)] = Field(default=0, description="how many may be followed, 0 to 20")
    status: tuple[int, ...] | None = Field(default=None, description="the accepted status codes, a list")
    title: str | None = Field(default=None, description="the exact page title, a text")
    contains: tuple[str, ...] | None = Field(default=None, description="texts that must be there, a list")
    absent: tuple[str, ...] | None = Field(default=None, description="texts that must not be there, a list")
    markers_every: Annotated[int, Field(ge=0, le=LARGEST_WHOLE)] | None = Field(
        default=None, description="spacing in bytes, 0 for none"
    )
    bytes: str | Annotated[int, Field(ge=0, le=LARGEST_WHOLE)] | None = Field(
        default=None, description="the body's length in bytes"
    )
    json_is: dict[str, str] = Field(
        default_factory=dict, description='what stands in a body of JSON, by pointer, { "/user/name" = "{name}" }'
    )
    json_absent: tuple[str, ...] = Field(
        default=(), description='pointers into a body of JSON at which nothing may stand, as ["/errors"]'
    )
    graphql: str | None = Field(default=None, description="a query, sent by POST; an answer with errors is wrong")
    variables: dict[str, str | int | float | bool] = Field(
        default_factory=dict, description="those of the query, a table; texts may hold values"
    )
    extract: tuple[Extract, ...] = Field(
        default=(), description="a list of { value, after, before }, or with `json`, `header`, `regex` or `field`"
    )
    set: dict[Name, str] = Field(default_factory=dict, description="what is known after it, a table of texts")

    @model_validator(mode="before")
    @classmethod
    def _sends_its_query(cls, given: Any) -> Any:
        """A query as the request that it is (graphql.org, GraphQL over HTTP)."""
        if not isinstance(given, dict) or not isinstance(given.get("graphql"), str):
            return given
        beside = sorted({"method", "body", "form"} & given.keys())
        if beside:
            raise ValueError(f"a query is the body of a POST: leave out `{beside[0]}`")
        query = given["graphql"].replace("{", "{{").replace("}", "}}")
        members = _members(given.get("variables"))
        body = f'{{{{"query":{json.dumps(query)},"variables":{{{{{members}}}}}}}}}'
        return {
            "json_absent": ("/errors",),
            **given,
            "method": "POST",
            "body": body,
            "headers": {"Content-Type": "application/json", **given.get("headers", {})},
        }


def _members(variables: Any) -> str:
    """Members of a JSON object whose texts may hold values."""
    pairs = variables.items() if isinstance(variables, dict) else ()
    return ",".join(f"{json.dumps(str(name))}:{json.dumps(value)}" for name, value in pairs)


class RequestAround(Request):
    """A request that an operation consists of beside its page."""

    name: Name | None = Field(default=None, description="a name, for rules that count it")
    when: tuple[str, ...] = Field(
        default=(), description="a list of texts with values: where one is empty, nothing is asked"
    )
    forgets: bool = Field(default=False, description="true where the browser forgets cookies and files after it")
    repeat: Annotated[int, Field(ge=1, le=100)] = Field(
        default=1, description="how often it is made, one after the other, 1 to 100"
    )

    @model_validator(mode="after")
    def _is_counted_once(self) -> Self:
        if self.name is not None and self.repeat > 1:
            raise ValueError("what a rule counts by its name is made once: leave out `name` or `repeat`")
        return self


class Upload(Section):
    """A file that is sent with a form."""

    file_name: str = Field(description="what it is called, a text with values")
    content: Literal["jpeg", "filler"] = Field(default="filler", description="`jpeg`, a picture, or `filler`")
    bytes: Annotated[int, Field(ge=1, le=1 << 26)] = Field(description="its exact length")


class Images(Section):
    """Pictures whose paths stand in a page."""

    after: Annotated[str, StringConstraints(min_length=1)] = Field(description="the text before each path")
    before: Annotated[str, StringConstraints(min_length=1)] = Field(description="the text behind it")
    least_bytes: Annotated[int, Field(ge=1, le=LARGEST_WHOLE)] = Field(default=1, description="shorter ones are errors")


class SocketStep(Section):
    """A step of an exchange over a WebSocket (RFC 6455)."""

    send: str | None = Field(default=None, description="a message of text that is sent, with values")
    send_bytes: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+/]*={0,2}$")] | None = Field(
        default=None, description="a message of bytes that is sent, by base64"
    )
    ping: Literal[True] | None = Field(default=None, description="true: a ping, whose pong is waited for")
    expect: str | None = Field(default=None, description="a text that the next message must hold")
    await_: str | None = Field(
        default=None, alias="await", description="a text that one of the next messages must hold; others are passed"
    )

    @model_validator(mode="after")
    def _is_one_step(self) -> Self:
        if len(self.planned_pairs()) != 1:
            raise ValueError("needs one of `send`, `send_bytes`, `ping`, `expect` and `await`")
        return self

    def planned_pairs(self) -> dict[str, str | bool]:
        """Its key with what it holds."""
        return self.model_dump(by_alias=True, exclude_none=True)

    def planned(self) -> str | dict[str, str | bool]:
        """As plans have it."""
        return "ping" if self.ping else self.planned_pairs()


class Operation(Request):
    """A timed unit: a page with its embedded files and what is asked beside it, one request, or an exchange over a
    WebSocket.
    """

    tls: bool | None = Field(default=None, description="true or false")
    embedded: tuple[str | EmbeddedFile, ...] = Field(
        default=(), description='a list of "size@probability" or { path, bytes, conditional }'
    )
    limit: TimeLimit | RateLimit | None = Field(
        default=None, description="{ good_s, tolerable_s } or { good_bytes_per_s, tolerable_bytes_per_s }"
    )
    percentiles_s: Percentiles = Field(default_factory=dict, description="its own longest response times")
    timeout_s: Seconds = Field(default=60, description="seconds, above 0")
    endings: dict[Name, Ending] = Field(
        default_factory=dict, description="ways to end well of which the answer tells one, { name = { contains } }"
    )
    document_bytes: Annotated[int, Field(ge=0, le=LARGEST_WHOLE)] | None = Field(
        default=None, description="length of the page itself on the reference server"
    )
    before: tuple[RequestAround, ...] = Field(default=(), description="requests that come before the page, a list")
    after: tuple[RequestAround, ...] = Field(
        default=(), description="requests that come after the page and before its files, a list"
    )
    uploads: dict[str, Upload] = Field(
        default_factory=dict, description="files sent with the form, { field = { file_name, content, bytes } }"
    )
    websocket: tuple[SocketStep, ...] = Field(
        default=(),
        description="an exchange over a WebSocket at the path, a list of { send }, { expect }, { await }, { ping } ...",
    )
    images: Images | None = Field(
        default=None, description="pictures that the page names, { after, before, least_bytes }, each fetched once"
    )

    @model_validator(mode="before")
    @classmethod
    def _becomes_a_websocket(cls, given: Any) -> Any:
        """What is checked is the latest message, and that hands were shaken (RFC 6455, section 4.2.2)."""
        if not isinstance(given, dict) or not given.get("websocket"):
            return given
        beside = sorted({"method", "body", "form", "redirects", "embedded", "uploads", "images"} & given.keys())
        if beside:
            raise ValueError(f"an exchange over a WebSocket is no page: leave out `{beside[0]}`")
        return {"status": (101,), "contains": (), "absent": (), "markers_every": 0, **given}

    @property
    def before_it(self) -> tuple[RequestAround, ...]:
        """Requests before the page, each as often as it is made."""
        return _each(self.before)

    @property
    def after_it(self) -> tuple[RequestAround, ...]:
        """Those after it."""
        return _each(self.after)

    @property
    def around(self) -> tuple[RequestAround, ...]:
        """Both, in their order."""
        return self.before_it + self.after_it


def _each(requests: tuple[RequestAround, ...]) -> tuple[RequestAround, ...]:
    return tuple(request for request in requests for _ in range(request.repeat))


class CountRule(Section):
    """What an operation must bring, on the mean over all of its kind."""

    title: str = Field(description="what it is called in a verdict")
    operation: str = Field(description="the name of an operation")
    of: Literal["images_named", "images_loaded", "image_bytes"] | None = Field(
        default=None, description="`images_named`, `images_loaded` or `image_bytes`"
    )
    request: str | None = Field(default=None, description="instead of it, the name of a request around its page")
    at_least: NotNegative | None = Field(default=None, description="for each operation, on the mean")
    at_most: NotNegative | None = Field(default=None, description="for each operation, on the mean")

    @model_validator(mode="after")
    def _counts_one_thing(self) -> Self:
        if (self.of is None) == (self.request is None):
            raise ValueError("needs one of `of` and `request`")
        if self.at_least is None and self.at_most is None:
            raise ValueError("needs `at_least`, `at_most` or both")
        return self


class MessageSize(Section):
    """A length of messages and how often it comes."""

    bytes: Annotated[int, Field(ge=512, le=1 << 26)] = Field(description="whole bytes, 512 or more")
    weight: Positive = Field(description="how often, against the others, above 0")


class Mailboxes(Section):
    """What stands in the mailboxes of mail users; the session's number follows their name."""

    user: Annotated[str, StringConstraints(pattern=r"^[a-z]+$")] = Field(
        default="user", description="what user names begin with, small letters"
    )
    password: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]+$")] = Field(
        default="loadstone", description="every user's password, letters and digits"
    )
    folders: Annotated[tuple[Name, ...], Field(min_length=1)] = Field(
        default=("INBOX",), description="a list of names; most mail is read in the first"
    )
    messages: Annotated[int, Field(ge=1, le=100_000)] = Field(default=20, description="messages of a user at first")
    sizes: Annotated[tuple[MessageSize, ...], Field(min_length=1)] = Field(description="a list of { bytes, weight }")


class State(Section):
    """A node of the mix that is not simply an operation of its own name."""

    operation: str = Field(description="the name of an operation")
    set: dict[str, str] = Field(default_factory=dict, description="values to set before it, a table of texts")
    when: tuple[str, ...] = Field(
        default=(), description="texts of which none may be empty, or the sequence passes it over"
    )
    repeat: Annotated[int, Field(ge=1, le=1000)] = Field(default=1, description="how often in a row a sequence has it")


class Mix(Section):
    """How the next operation is chosen."""

    kind: MixKind = Field(description="`matrix`, `flat` or `sequence`")
    start: str | None = Field(default=None, description="the state every session begins with")
    from_: dict[str, dict[str, Probability]] = Field(
        default_factory=dict, alias="from", description="for each state, { other = probability, ... }"
    )
    states: dict[str, State] = Field(default_factory=dict, description="states that need an operation or values named")
    shares: dict[str, Positive] = Field(default_factory=dict, description="{ state = share, ... }, shares above 0")
    operations_per_session: Annotated[int, Field(ge=1, le=LARGEST_WHOLE)] | None = Field(
        default=None, description="1 or more"
    )
    sequence: tuple[str, ...] = Field(default=(), description="the states in order, a list")


class Rows(Section):
    """How many rows of a kind the data has."""

    per_session: Positive | None = Field(default=None, description="for each session")
    least_sessions: Annotated[int, Field(ge=1, le=LARGEST_WHOLE)] = Field(
        default=1, description="sessions that are reckoned with at least"
    )
    of: Name | None = Field(default=None, description="instead: another kind that stands before it")
    times: Positive | None = Field(default=None, description="so many for each of those")
    most: Positive | None = Field(default=None, description="instead: so many at most, with `scale`")
    scale: Positive | None = Field(default=None, description="of those, from which half of the most is not far")

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.per_session is None) == (self.of is None):
            raise ValueError("needs one of `per_session` and `of`")
        if self.of is not None and (self.times is None) == (self.most is None):
            raise ValueError("needs one of `times` and `most`")
        if (self.most is None) != (self.scale is None):
            raise ValueError("`most` and `scale` go together")
        return self


class Published(Section):
    """Published figures by operation, for the simulator and for comparison."""

    response_s: dict[str, Positive] = Field(default_factory=dict, description="seconds by operation")
    bytes: dict[str, Positive] = Field(default_factory=dict, description="bytes by operation")


class _Drawn(Section):
    redraw: Literal["operation", "session"] | tuple[str, ...] = Field(
        default="operation", description='`"operation"`, `"session"` or a list of states'
    )


class Uniform(_Drawn):
    """A whole number, zero-padded."""

    kind: Literal["uniform"]
    min: Whole = 1
    max: Whole | None = None
    max_per_session: Positive | None = None
    max_of: Name | None = None
    """As many as there are rows of this name in [data]."""
    digits: Annotated[int, Field(ge=0, le=20)] = 0


class Exponential(_Drawn):
    """A whole number from 1 on, the smaller the likelier."""

    kind: Literal["exponential"]
    max: Annotated[int, Field(ge=1, le=LARGEST_WHOLE)] | None = None
    max_of: Name | None = None
    """As many as there are rows of this name in [data]."""
    mean_share: Positive
    """Its mean, before it is cut off at the largest, as a share of that."""


class Zipf(_Drawn):
    """A rank by Zipf's law, zero-padded."""

    kind: Literal["zipf"]
    alpha: NotNegative
    n: Annotated[int, Field(ge=1, le=LARGEST_WHOLE)] | None = None
    n_per_session: Positive | None = None
    first: Annotated[int, Field(ge=0, le=LARGEST_WHOLE)] = 1
    digits: Annotated[int, Field(ge=0, le=20)] = 0


class Choice(_Drawn):
    """One of several texts."""

    kind: Literal["choice"]
    values: Annotated[tuple[str, ...], Field(min_length=1)]
    weights: tuple[NotNegative, ...] | None = None


class Table(_Drawn):
    """One row of a table: fills `{name.column}` for every column."""

    kind: Literal["table"]
    file: str | None = None
    """A CSV file beside the workload that has columns and rows."""
    own: bool = False
    """Whether each session has a row to itself, always the same, instead of one that is drawn."""
    columns: Annotated[tuple[Name, ...], Field(min_length=1)]
    rows: Annotated[tuple[tuple[str, ...], ...], Field(min_length=1)]
    weights: tuple[NotNegative, ...] | None = None


class Environment(_Drawn):
    """What a variable of the lab's environment holds: a secret, which no record and no report shows."""

    kind: Literal["environment"]
    variable: Annotated[str, StringConstraints(pattern=r"^[A-Z_][A-Z0-9_]{0,60}$"), AfterValidator(_no_option)]

    @property
    def stand_in(self) -> str:
        """What stands for it in plans, until a driver is told them."""
        return f"\u27e8secret {self.variable}\u27e9"


class Words(_Drawn):
    """Some words in a row."""

    kind: Literal["words"]
    words: Annotated[tuple[str, ...], Field(min_length=1)]
    count: Annotated[int, Field(ge=1, le=100)] = 3
    separator: str = " "


class Date(_Drawn):
    """A date between two, written YYYY-MM-DD."""

    kind: Literal["date"]
    from_: Day = Field(alias="from")
    to: Day

    @model_validator(mode="after")
    def _is_in_order(self) -> Self:
        if self.to < self.from_:
            raise ValueError("`to` lies before `from`")
        return self


class User(Section):
    """User ids: each session owns some and takes the next one at each new user session."""

    kind: Literal["user"]
    per_session: Annotated[int, Field(ge=1, le=LARGEST_WHOLE)] = 1
    first: Annotated[int, Field(ge=0, le=LARGEST_WHOLE)] = 1
    digits: Annotated[int, Field(ge=0, le=20)] = 0
    any: bool = False
    """Any of the session's own at each draw, instead of the next."""
    redraw: Literal["operation", "session"] | tuple[str, ...] = "session"


class Text(_Drawn):
    """A text made of other values."""

    kind: Literal["text"]
    text: str


Value = Annotated[
    Uniform | Exponential | Zipf | Choice | Table | Environment | Words | Date | User | Text,
    Field(discriminator="kind"),
]


@dataclass(frozen=True)
class Workload:
    """A workload as declared and checked: what load one kind of user makes."""

    folder: Path
    header: Header
    target: TargetRules
    pacing: Pacing
    connections: Connections
    limits: Limits
    checks: Checks
    embedded: EmbeddedPattern | None
    mailboxes: Mailboxes | None
    scale: dict[str, float]
    values: dict[str, Value]
    mix: Mix
    operations: dict[str, Operation]
    published: Published
    data: dict[str, Rows] = field(default_factory=dict)
    """How much data there is, by kind."""
    rules: dict[str, CountRule] = field(default_factory=dict)
    """What operations must bring, by name."""
    headers: dict[str, str] = field(default_factory=dict)
    """Of all requests, where an operation has no other of the name."""
    mixes: dict[str, Mix] = field(default_factory=dict)
    """Other mixes than the usual one, by name."""
    mix_name: str = ""
    """Which of them is `mix`; empty for the usual one."""

    @property
    def name(self) -> str:
        """Its short name, with that of its mix."""
        return f"{self.header.name}-{self.mix_name}" if self.mix_name else self.header.name

    @property
    def mix_section(self) -> tuple[str, ...]:
        """Where its mix is declared."""
        return ("mixes", self.mix_name) if self.mix_name else ("mix",)

    def mixed(self, name: str) -> "Workload":
        """The same with another of its mixes; raises KeyError where it has none of that name."""
        return replace(self, mix=self.mixes[name], mix_name=name)

    @property
    def is_conditional(self) -> bool:
        """Whether what a session performs depends on what answers tell: then nobody knows how often what comes."""
        return any(state.when for state in self.states().values())

    def order(self) -> list[str]:
        """The states of a sequence, each as often as it comes."""
        states = self.states()
        return [name for name in self.mix.sequence for _ in range(states[name].repeat)]

    def states(self) -> dict[str, State]:
        """All states of the mix by name, in a fixed order: those named in it, operations standing for themselves."""
        named = {
            MixKind.MATRIX: [*self.mix.from_, *(to for row in self.mix.from_.values() for to in row)],
            MixKind.FLAT: list(self.mix.shares),
            MixKind.SEQUENCE: list(self.mix.sequence),
        }[self.mix.kind]
        names = [name for name in dict.fromkeys(named) if name != END]
        return {name: self.mix.states.get(name, State(operation=name)) for name in names}
