"""What a `workload.toml` says: the typed sections, as a user writes them; checked further in the workloads' room."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from loadstone.model.errors import UsageError
from loadstone.model.reading import Section
from loadstone.model.service import Mechanism
from loadstone.model.topology import list_ledgers, list_topologies
from loadstone.model.workload.bounds import (
    LARGEST_WHOLE,
    LONGEST_DURATION_S,
    Name,
    NotNegative,
    Percent,
    Positive,
    Probability,
    Seconds,
)
from loadstone.model.workload.mix import END, Mix, MixKind, State
from loadstone.model.workload.operation import Operation, Percentiles
from loadstone.model.workload.published import Published
from loadstone.model.workload.values import Environment, Value

WEB = "web"
"""Kind of server that workloads need unless they declare another."""


def _known_need(need: str) -> str:
    """Refuses a kind of server that no topology declares."""
    return _of_list(need, [topology.need for topology in list_topologies()])


def _known_ledger(ledger: str) -> str:
    """Refuses a ledger that no topology declares."""
    return _of_list(ledger, list_ledgers())


def _of_list(value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise PydanticCustomError("enum", "Input should be {expected}", {"expected": _alternatives(known, "'")})
    return value


def _alternatives(values: Sequence[str], quote: str) -> str:
    quoted = [f"{quote}{value}{quote}" for value in values]
    return " or ".join((", ".join(quoted[:-1]), quoted[-1]))


@dataclass(frozen=True)
class ServerNeeds:
    """What the workloads of a run want of the reference servers."""

    need: str = WEB
    """Kind of server, as topologies declare it."""
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
MOST_USUAL_SESSIONS = 100_000


class Header(Section):
    """Name, title and sources of the workload, and the system that it needs."""

    name: Name = Field(description="a short name of letters, digits, `_` and `-`")
    title: str = Field(description="a title in a few words")
    about: str = Field(default="", description="one sentence about its users")
    sources: tuple[str, ...] = Field(default=(), description="where its figures come from, a list of texts")
    document: str = Field(default="docs/web-workloads.md", description="the page that its limits come from")
    needs: Annotated[str, AfterValidator(_known_need)] = Field(
        default=WEB,
        description=f"the system that it needs: {', '.join(f'`{topology.need}`' for topology in list_topologies())}",
    )
    mechanisms: tuple[Mechanism, ...] = Field(
        default=(), description=f"how a web server may generate responses, a list of {', '.join(map(str, Mechanism))}"
    )
    audit: Annotated[str, AfterValidator(_known_ledger)] | None = Field(
        default=None,
        description=f"data that is audited after a run: {_alternatives(list_ledgers(), '`')}",
    )
    sessions: Annotated[int, Field(ge=1, le=MOST_USUAL_SESSIONS)] | None = Field(
        default=None, description="usual number of sessions, or clients of a tool; none where a run must say it"
    )
    companions: dict[Name, Positive] = Field(
        default_factory=dict, description="workloads run with it, { name = sessions for each session of this one }"
    )


class TargetRules(Section):
    """How the site is reached."""

    tls: bool | None = Field(default=None, description="true or false; default: as the target's address")
    """Whether the site is reached over TLS. Default: as the address of the target says."""


class Pacing(Section):
    """Pauses between a user's operations."""

    kind: Literal["think", "cycle"] = Field(description="`think` (from the answer on) or `cycle` (from start to start)")
    distribution: Literal["exponential", "uniform", "fixed"] = Field(
        default="exponential", description="`exponential`, `uniform` (0 to twice the mean) or `fixed`"
    )
    mean_s: Annotated[float, Field(ge=0, le=LONGEST_DURATION_S)] = Field(
        description="the mean pause in seconds, 0 or more"
    )
    cap_s: Seconds | None = Field(default=None, description="the longest pause in seconds")
    no_pause_before: tuple[str, ...] = Field(
        default=(), description="states without a pause before them, a list of names"
    )
    least_s: dict[str, Seconds] = Field(
        default_factory=dict, description="the shortest pause after a state, { state = seconds }; the mean is unchanged"
    )


MOST_SOURCES = 254
"""Source addresses on the loopback network: 127.0.0.1 to 127.0.0.254."""


MOST_STREAMS, USUAL_STREAMS = 128, 100
"""Requests of a user at a time over HTTP/2, at most and unless declared: browsers open 100 streams at once."""
MOST_PARALLEL = 16
"""Connections of a user of any other protocol, at most."""


class Connections(Section):
    """Line and browser of a user."""

    protocol: Literal["http1", "http2", "echo", "imap", "null"] = Field(
        default="http1", description="`http1`, `http2`, `echo` (bytes come back), `imap` or `null` (no server at all)"
    )
    parallel: Annotated[int, Field(ge=1, le=MOST_STREAMS)] = Field(
        default=2,
        description=f"a whole number from 1 to {MOST_PARALLEL}; over HTTP/2 from 1 to {MOST_STREAMS}, "
        f"{USUAL_STREAMS} by default without `embedded_bytes_per_s`",
    )
    """Connections of a user to one server, at most 16; over HTTP/2 requests at a time, 100 if left out."""
    page_bytes_per_s: Positive | None = Field(default=None, description="bytes per second, above 0; none for no limit")
    embedded_bytes_per_s: Positive | None = Field(
        default=None, description="bytes per second of each connection, above 0; none for no limit"
    )
    requests_each: Annotated[int, Field(ge=1, le=LARGEST_WHOLE)] | None = Field(
        default=None, description="requests after which a connection is closed, 1 or more; none for no limit"
    )
    kept_between_users: bool = Field(
        default=False, description="true if a new user reuses the connections of the previous one"
    )
    full_handshakes: Probability = Field(
        default=0, description="share of a user's TLS connections after the first that do not resume, 0 to 1"
    )
    warm_caches: Probability | None = Field(
        default=None,
        description="share of visits with a full browser cache that revalidate each file, 0 to 1; "
        "the others fetch each file once",
    )
    source_addresses: Annotated[int, Field(ge=1, le=MOST_SOURCES)] | None = Field(
        default=None,
        description=f"addresses that users of a server on this host come from, 1 to {MOST_SOURCES}; none for one",
    )

    @model_validator(mode="before")
    @classmethod
    def _as_browsers(cls, section: Any) -> Any:
        """Over HTTP/2 as many requests at a time as browsers make, unless a number or a speed of each is declared."""
        is_http2 = isinstance(section, dict) and section.get("protocol") == "http2"
        return {"parallel": USUAL_STREAMS, **section} if is_http2 and "embedded_bytes_per_s" not in section else section

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if self.protocol != "http2" and self.parallel > MOST_PARALLEL:
            raise ValueError(f"`parallel` of `{self.protocol}` is a whole number from 1 to {MOST_PARALLEL}")
        return self


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
        default=None, description="largest mean seconds from start to start of a session's operations"
    )
    errors_pct: Annotated[float, Field(ge=0, lt=100)] | None = Field(
        default=None, description="largest share of operations with wrong or missing responses, in percent"
    )
    percentiles_s: Percentiles = Field(
        default_factory=dict,
        description="longest response times, { p95 = 0.8 }, of p50, p90, p95, p99 and p99.9",
    )
    throughput_per_s: Positive | None = Field(default=None, description="smallest number of operations per second")


class Checks(Section):
    """Requirements on every answer. An operation may replace them."""

    status: tuple[int, ...] = Field(default=(200,), description="the accepted status codes, a list of whole numbers")
    markers_every: Annotated[int, Field(ge=0, le=LARGEST_WHOLE)] = Field(
        default=0, description="spacing in bytes, 0 for no markers"
    )
    contains: tuple[str, ...] = Field(default=(), description="texts that must be there, a list")
    absent: tuple[str, ...] = Field(default=(), description="texts that must not be there, a list")


class EmbeddedPattern(Section):
    """How the short form `"size@probability"` becomes a path."""

    path: str = Field(description='a path that contains `{name}`, as "/static/{name}.gif"')


class CountRule(Section):
    """A limit on the mean count of an operation, such as images of a page."""

    title: str = Field(description="title of the rule in a verdict")
    operation: str = Field(description="the name of an operation")
    of: Literal["images_named", "images_loaded", "image_bytes"] | None = Field(
        default=None, description="`images_named`, `images_loaded` or `image_bytes`"
    )
    """Count: images that pages name, images that were loaded, or their bytes."""
    request: str | None = Field(default=None, description="name of a request around its page, instead of the operation")
    at_least: NotNegative | None = Field(default=None, description="mean number per operation")
    at_most: NotNegative | None = Field(default=None, description="mean number per operation")

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
    """Content of the mailboxes of mail users. The number of the session follows their name."""

    user: Annotated[str, StringConstraints(pattern=r"^[a-z]+$")] = Field(
        default="user", description="prefix of user names, small letters"
    )
    password: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]+$")] = Field(
        default="loadstone", description="every user's password, letters and digits"
    )
    folders: Annotated[tuple[Name, ...], Field(min_length=1)] = Field(
        default=("INBOX",), description="a list of names; most mail is read in the first"
    )
    messages: Annotated[int, Field(ge=1, le=100_000)] = Field(
        default=20, description="initial number of messages of a user"
    )
    sizes: Annotated[tuple[MessageSize, ...], Field(min_length=1)] = Field(description="a list of { bytes, weight }")


SHORT_STEADY_S = 10.0
"""Longest steady state of a run in which a tool performs its smaller number of operations: profiles `brief`, `demo`."""


class ToolUse(Section):
    """A tool that generates the load in place of the driver."""

    name: Name = Field(description="the tool: `iperf3`, `fio`, `pgbench` and others of `loadstone.tools`")
    operations: Annotated[int, Field(ge=1, le=LARGEST_WHOLE)] | None = Field(
        default=None, description="operations after which the tool ends; none for a tool that runs for the steady state"
    )
    short_operations: Annotated[int, Field(ge=1, le=LARGEST_WHOLE)] | None = Field(
        default=None,
        description=f"the same in profiles with a steady state of at most {SHORT_STEADY_S:g} s; unset: as many",
    )
    settings: dict[Name, str | int | float] = Field(
        default_factory=dict, description="settings of the tool, a table of texts and numbers"
    )

    def count_operations(self, steady_s: float) -> int | None:
        """Returns the number of operations after which the tool ends; None where the steady state ends it."""
        is_short = steady_s <= SHORT_STEADY_S and self.short_operations is not None
        return self.short_operations if is_short else self.operations


class Rows(Section):
    """How many rows of a kind the data has."""

    per_session: Positive | None = Field(default=None, description="for each session")
    least_sessions: Annotated[int, Field(ge=1, le=LARGEST_WHOLE)] = Field(
        default=1, description="smallest number of sessions to prepare for"
    )
    of: Name | None = Field(default=None, description="another kind, declared before it, instead of `per_session`")
    times: Positive | None = Field(default=None, description="rows for each row of `of`")
    most: Positive | None = Field(default=None, description="largest number of rows, with `scale`, instead of `times`")
    scale: Positive | None = Field(
        default=None, description="number of rows of `of` at which 46 % of `most` are reached"
    )

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.per_session is None) == (self.of is None):
            raise ValueError("needs one of `per_session` and `of`")
        if self.of is not None and (self.times is None) == (self.most is None):
            raise ValueError("needs one of `times` and `most`")
        if (self.most is None) != (self.scale is None):
            raise ValueError("`most` and `scale` go together")
        return self


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
    tool: ToolUse | None = None
    """The tool that generates the load; None where the driver does."""
    mix_name: str = ""
    """Which of them is `mix`; empty for the usual one."""
    left_out: dict[str, Operation] = field(default_factory=dict)
    """Operations that the mix does not perform, but others do."""

    @property
    def name(self) -> str:
        """Its short name, with that of its mix."""
        return f"{self.header.name}-{self.mix_name}" if self.mix_name else self.header.name

    @property
    def variables(self) -> tuple[str, ...]:
        """Variables of the environment whose values it sends, in the order of its values."""
        taken = (value.variable for value in self.values.values() if isinstance(value, Environment))
        return tuple(dict.fromkeys(taken))

    @property
    def mix_section(self) -> tuple[str, ...]:
        """Where its mix is declared."""
        return ("mixes", self.mix_name) if self.mix_name else ("mix",)

    def with_mix(self, name: str) -> "Workload":
        """The same with another of its mixes; raises KeyError where it has none of that name."""
        operations = {**self.operations, **self.left_out}
        return replace(self, mix=self.mixes[name], mix_name=name, operations=operations, left_out={})

    def without_operations(self, names: set[str]) -> "Workload":
        """The same without operations that its mix does not perform."""
        if not names:
            return self
        operations = {name: operation for name, operation in self.operations.items() if name not in names}
        left_out = {name: operation for name, operation in self.operations.items() if name in names}
        return replace(self, operations=operations, left_out=left_out)

    def with_published_scale(self) -> "Workload":
        """Returns the same with the data of the published test. Raises UsageError if none are declared."""
        if not self.published.scale:
            raise UsageError(f"`{self.name}` declares no published scale of its data. Remove --scale published.")
        return replace(self, scale={**self.scale, **self.published.scale})

    @property
    def is_conditional(self) -> bool:
        """Whether what a session performs depends on what answers tell: then nobody knows how often what comes."""
        return any(state.when for state in self.list_states().values())

    def order(self) -> list[str]:
        """The states of a sequence, each as often as it comes."""
        states = self.list_states()
        return [name for name in self.mix.sequence for _ in range(states[name].repeat)]

    def list_states(self) -> dict[str, State]:
        """All states of the mix by name, in a fixed order: those named in it, operations standing for themselves."""
        named = {
            MixKind.MATRIX: [*self.mix.from_, *(to for row in self.mix.from_.values() for to in row)],
            MixKind.FLAT: list(self.mix.shares),
            MixKind.SEQUENCE: list(self.mix.sequence),
        }[self.mix.kind]
        names = [name for name in dict.fromkeys(named) if name != END]
        return {name: self.mix.states.get(name, State(operation=name)) for name in names}
