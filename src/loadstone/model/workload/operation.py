"""What a workload's users ask for: operations, the requests they consist of, and what answers must be."""

import json
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, StringConstraints, Tag, model_validator

from loadstone.model.reading import Section
from loadstone.model.workload.bounds import (
    LARGEST_WHOLE,
    Base64,
    Name,
    Positive,
    Probability,
    Seconds,
)

Percentiles = dict[Literal["p50", "p90", "p95", "p99", "p99.9"], Seconds]
"""Longest response times by percentile."""


class TimeLimit(Section):
    """An operation's own bounds on its response time."""

    good_s: Seconds
    """Longest response time of a good operation, in seconds."""
    tolerable_s: Seconds
    """Longest response time of a tolerable operation, in seconds."""


class RateLimit(Section):
    """Bounds on an operation's byte rate, for downloads."""

    good_bytes_per_s: Positive
    """Bytes per second from which the download is good."""
    tolerable_bytes_per_s: Positive
    """Bytes per second from which it is tolerable."""


class EmbeddedFile(Section):
    """A file that belongs to a page."""

    path: str
    """Path of the file; `{name}` is replaced by a value."""
    bytes: Annotated[int, Field(ge=0, le=LARGEST_WHOLE)] | None = None
    """Length of its body in bytes."""
    conditional: Probability = 0
    """Share of requests that ask whether the file has changed."""
    markers_every: Annotated[int, Field(ge=0, le=LARGEST_WHOLE)] | None = None
    """Spacing of markers in bytes, 0 for none. Default: as in `[checks]`."""
    status: tuple[Annotated[int, Field(ge=100, le=599)], ...] = ()
    """Status codes that are accepted in addition to success, such as a redirect to another site."""


Fields = Annotated[
    Annotated[dict[str, str], Tag("table")] | Annotated[tuple[tuple[str, str], ...], Tag("list")],
    Discriminator(lambda value: "list" if isinstance(value, list | tuple) else "table"),
]
"""Fields as a table, or as a list of [name, text] where a name comes twice or the order counts."""


def list_pairs(fields: Fields) -> tuple[tuple[str, str], ...]:
    """Fields in their order."""
    return tuple(fields.items()) if isinstance(fields, dict) else fields


SearchText = Annotated[str, StringConstraints(min_length=1)]


class Extract(Section):
    """A value taken out of an answer: from between two texts of its body, or from one other place. `after` and `before`
    may cut a part out of a header.
    """

    value: Name = Field(description="the name of the value")
    after: SearchText | None = Field(default=None, description="text before it, with `before` or `header`")
    before: SearchText | None = Field(default=None, description="text after it, with `after` or `header`")
    json_: str | None = Field(
        default=None, alias="json", pattern="^(/.*)?$", description='a pointer into JSON (RFC 6901), as "/items/0/id"'
    )
    header: SearchText | None = Field(
        default=None, description="name of a header of the response, or of the redirects before it"
    )
    regex: SearchText | None = Field(
        default=None, description="a pattern; its first group is the value, or all of it without groups"
    )
    field: SearchText | None = Field(
        default=None, description="the name of a form's field or of a meta element, in HTML"
    )
    cookie: SearchText | None = Field(default=None, description="the name of a cookie that the user has by then")
    css: SearchText | None = Field(
        default=None, description="a CSS selector of an element in HTML, whose text is the value"
    )
    attribute: SearchText | None = Field(
        default=None, description="attribute whose text is the value instead, with `css`"
    )
    decode: Literal["html", "url", "json", "base64"] | None = Field(
        default=None,
        description="`html`, with character references, `url`, with percent signs, `json`, as its texts, or `base64`",
    )
    pick: str | None = Field(
        default=None, description="index among several matches, as a text with values, modulo their count"
    )
    optional: bool = Field(default=False, description="true if it may be missing; the value is then empty")

    @model_validator(mode="after")
    def _stands_in_one_place(self) -> Self:
        if self.header is None and (self.after is None) != (self.before is None):
            raise ValueError("`after` and `before` go together")
        if self.attribute is not None and self.css is None:
            raise ValueError("`attribute` goes with `css`")
        between = self.after if self.header is None else None
        places = (between, self.json_, self.header, self.regex, self.field, self.cookie, self.css)
        if sum(place is not None for place in places) != 1:
            raise ValueError("needs one of `after` with `before`, `json`, `header`, `regex`, `field`, `cookie`, `css`")
        return self

    def plan(self) -> dict[str, str | bool | None]:
        """Returns the extract in the form of the driver's plan."""
        planned = self.model_dump(by_alias=True)
        return {**planned, "after": self.after or "", "before": self.before or ""}


class Ending(Section):
    """A way in which an operation ends well."""

    contains: Annotated[str, StringConstraints(min_length=1)] = Field(
        description="text of the response that identifies it"
    )
    ledger: str | None = Field(default=None, description="entry that the server must store once, a text with values")


class Request(Section):
    """What is asked for, and what the answer must be."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] = Field(
        default="GET", description="`GET`, `POST`, `PUT`, `PATCH`, `DELETE` or `HEAD`"
    )
    """HTTP method."""
    path: str = Field(description='the path, as "/search", values as {name}')
    query: Fields = Field(
        default_factory=dict, description='a table of texts, as { q = "{words}" }, or a list of [name, text]'
    )
    form: Fields = Field(
        default_factory=dict, description='a table of texts, as { user = "{user_id}" }, or a list of [name, text]'
    )
    body: str | None = Field(default=None, description="the request's body as it is sent, instead of a form")
    headers: dict[str, str] = Field(
        default_factory=dict,
        description="a table of texts; they override those under [headers], an empty text removes one",
    )
    redirects: Annotated[int, Field(ge=0, le=20)] = Field(
        default=0, description="largest number of redirects to follow, 0 to 20"
    )
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
        default_factory=dict, description='expected values in a JSON body, by pointer, { "/user/name" = "{name}" }'
    )
    json_absent: tuple[str, ...] = Field(
        default=(), description='pointers into a JSON body that must have no value, as ["/errors"]'
    )
    graphql: str | None = Field(default=None, description="a query, sent with POST; a response with errors fails")
    variables: dict[str, str | int | float | bool] = Field(
        default_factory=dict, description="variables of the query, a table; texts may contain values"
    )
    extract: tuple[Extract, ...] = Field(
        default=(), description="a list of { value, after, before }, or with `json`, `header`, `regex` or `field`"
    )
    set: dict[Name, str] = Field(default_factory=dict, description="values set after it, a table of texts")

    @model_validator(mode="before")
    @classmethod
    def _sends_its_query(cls, value: Any) -> Any:
        """A query as the request that it is (graphql.org, GraphQL over HTTP)."""
        if not isinstance(value, dict) or not isinstance(value.get("graphql"), str):
            return value
        conflicting = sorted({"method", "body", "form"} & value.keys())
        if conflicting:
            raise ValueError(f"a query is the body of a POST: leave out `{conflicting[0]}`")
        query = value["graphql"].replace("{", "{{").replace("}", "}}")
        members = _members(value.get("variables"))
        body = f'{{{{"query":{json.dumps(query)},"variables":{{{{{members}}}}}}}}}'
        return {
            "json_absent": ("/errors",),
            **value,
            "method": "POST",
            "body": body,
            "headers": {"Content-Type": "application/json", **value.get("headers", {})},
        }


def _members(variables: Any) -> str:
    """Members of a JSON object whose texts may hold values."""
    pairs = variables.items() if isinstance(variables, dict) else ()
    return ",".join(f"{json.dumps(str(name))}:{json.dumps(value)}" for name, value in pairs)


class RequestAround(Request):
    """A further request of an operation, in addition to its page."""

    name: Name | None = Field(default=None, description="a name, for rules that count it")
    when: tuple[str, ...] = Field(
        default=(), description="a list of texts with values; if any is empty, the request is skipped"
    )
    forgets: bool = Field(default=False, description="true if the browser drops cookies and cache after it")
    repeat: Annotated[int, Field(ge=1, le=100)] = Field(default=1, description="number of repetitions, 1 to 100")

    @model_validator(mode="after")
    def _is_counted_once(self) -> Self:
        if self.name is not None and self.repeat > 1:
            raise ValueError("what a rule counts by its name is made once: leave out `name` or `repeat`")
        return self


class Upload(Section):
    """A file that is sent with a form."""

    field: str | None = Field(
        default=None,
        description="name of the form's field, for several files of one field. Default: the key of the table",
    )
    file_name: str = Field(description="name of the file, a text with values")
    content: Literal["jpeg", "filler"] = Field(default="filler", description="`jpeg`, a picture, or `filler`")
    content_type: Annotated[str, StringConstraints(pattern="^[!-~][ -~]*$")] | None = Field(
        default=None, description="media type of the file. Default: that of its content"
    )
    bytes: Annotated[int, Field(ge=1, le=1 << 26)] = Field(description="its exact length")

    def to_plan(self, key: str) -> dict[str, str | int | None]:
        """Converts the upload to its form in plans, under the key of its table."""
        return {**self.model_dump(), "field": key if self.field is None else self.field}


class Images(Section):
    """Images that a page names by their paths."""

    after: Annotated[str, StringConstraints(min_length=1)] = Field(description="the text before each path")
    before: Annotated[str, StringConstraints(min_length=1)] = Field(description="text after it")
    least_bytes: Annotated[int, Field(ge=1, le=LARGEST_WHOLE)] = Field(
        default=1, description="smallest valid size in bytes"
    )


class SocketStep(Section):
    """A step of an exchange over a WebSocket (RFC 6455)."""

    send: str | None = Field(default=None, description="a message of text that is sent, with values")
    send_bytes: Base64 | None = Field(default=None, description="a message of bytes that is sent, by base64")
    ping: Literal[True] | None = Field(default=None, description="true: send a ping and wait for its pong")
    expect: str | None = Field(default=None, description="a text that the next message must contain")
    await_: str | None = Field(
        default=None, alias="await", description="a text that one of the next messages must contain; others are skipped"
    )

    @model_validator(mode="after")
    def _is_one_step(self) -> Self:
        if len(self.plan_pairs()) != 1:
            raise ValueError("needs one of `send`, `send_bytes`, `ping`, `expect` and `await`")
        return self

    def plan_pairs(self) -> dict[str, str | bool]:
        """Returns the step's key and value for the driver's plan."""
        return self.model_dump(by_alias=True, exclude_none=True)

    def plan(self) -> str | dict[str, str | bool]:
        """Returns the step in the form of the driver's plan."""
        return "ping" if self.ping else self.plan_pairs()


class Operation(Request):
    """A timed unit: a page with embedded files and further requests, one request, or an exchange over a WebSocket."""

    tls: bool | None = Field(default=None, description="true or false")
    """Whether it is sent over TLS. Default: as in `[target]`."""
    embedded: tuple[str | EmbeddedFile, ...] = Field(
        default=(), description='a list of "size@probability" or { path, bytes, conditional }'
    )
    limit: TimeLimit | RateLimit | None = Field(
        default=None, description="{ good_s, tolerable_s } or { good_bytes_per_s, tolerable_bytes_per_s }"
    )
    percentiles_s: Percentiles = Field(default_factory=dict, description="its own longest response times")
    mean_s: Seconds | None = Field(default=None, description="its own largest mean response time, in seconds")
    timeout_s: Seconds = Field(default=60, description="seconds, above 0")
    endings: dict[Name, Ending] = Field(
        default_factory=dict, description="valid outcomes, each identified by the response, { name = { contains } }"
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
        default=None, description="images that the page references, { after, before, least_bytes }, each fetched once"
    )

    @model_validator(mode="before")
    @classmethod
    def _becomes_a_websocket(cls, value: Any) -> Any:
        """What is checked is the latest message, and that hands were shaken (RFC 6455, section 4.2.2)."""
        if not isinstance(value, dict) or not value.get("websocket"):
            return value
        conflicting = sorted({"method", "body", "form", "redirects", "embedded", "uploads", "images"} & value.keys())
        if conflicting:
            raise ValueError(f"a WebSocket exchange does not support `{conflicting[0]}`; remove it")
        return {"status": (101,), "contains": (), "absent": (), "markers_every": 0, **value}

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
