"""Figures of a host that others run, told by the agent that they started there."""

import asyncio
import contextlib
import ipaddress
import itertools
import os
import re
import shlex
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NotRequired, Protocol
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from loadstone.host import launch
from loadstone.host.http import get
from loadstone.host.programs import find_server
from loadstone.host.secrets import AGENT_TOKEN
from loadstone.model.errors import ServiceError, UsageError
from loadstone.model.machine import SERVER
from loadstone.model.target import Endpoint

Json = dict[str, Any]

AGENT_TIMEOUT_S = 0.8
"""Longest wait for an answer, so that samples keep their second."""
FIRST_S = 20.0
"""Longest wait for the first one: over ssh somebody logs in."""
AGENT_PATH = "/look"
LARGEST_LINE = 1 << 20
"""Bytes of an answer over ssh."""
BY_LINE = ("agent", "--by-line")
"""Words of our servers' program for an agent that is asked on its standard input."""
PLAIN_TOKEN = re.compile(r"[!-+\--~]+")
"""Letters of a token: what a header may hold, but the comma that divides several."""


class _Group(TypedDict):
    group: int
    name: str
    cpu: float
    resident: int


class _AgentMessage(TypedDict):
    """What is read of an agent's answer."""

    unix_ns: int
    cores: int
    cpu: dict[str, float]
    memory: dict[str, int | None]
    swap: dict[str, float]
    disk: dict[str, float]
    network: dict[str, float]
    running: int
    pressure_us: dict[str, int]
    groups: list[_Group]
    host: NotRequired[str]
    kernel: NotRequired[str]
    turn: NotRequired[int]


AGENT_MESSAGE = TypeAdapter(_AgentMessage)


class AgentConnection(Protocol):
    """A way to an agent."""

    async def ask(self, timeout_s: float) -> Json:
        """Returns the agent's answer. Raises OSError, and ValueError if the answer is not valid."""


@dataclass
class AgentGauge:
    """A host as its own kernel counts it."""

    name: str
    way: AgentConnection
    first: Json = field(default_factory=dict)
    """What it told first."""
    about: str = "managed elsewhere, reported by its agent"
    platform: str | None = "others"
    """What made it; None of a host that the manifest tells of elsewhere."""

    async def read_inside(self) -> Json | None:
        """Returns the agent's counters, None when it does not answer in time."""
        with contextlib.suppress(OSError, ValueError, TimeoutError):
            return await self.way.ask(AGENT_TIMEOUT_S)
        return None

    async def read_outside(self) -> Json | None:
        """Nothing: no host of ours counts for it."""
        return None


@dataclass(frozen=True)
class _Web:
    endpoint: Endpoint
    trusting: ssl.SSLContext | None
    token: str

    async def ask(self, timeout_s: float) -> Json:
        headers = {"authorization": f"Bearer {self.token}"} if self.token else {}
        return _read(await get(self.endpoint, AGENT_PATH, timeout_s, headers, self.trusting))


@dataclass(frozen=True)
class _Line:
    process: asyncio.subprocess.Process
    turns: Iterator[int] = field(default_factory=itertools.count)

    async def ask(self, timeout_s: float) -> Json:
        """The answer to this very question: one that came too late for an earlier one is passed over."""
        turn = next(self.turns)
        assert self.process.stdin is not None
        self.process.stdin.write(b"%d\n" % turn)
        return await asyncio.wait_for(self._answer(turn), timeout_s)

    async def _answer(self, turn: int) -> Json:
        assert self.process.stdout is not None and self.process.stderr is not None
        while line := await self.process.stdout.readline():
            message = _read(line)
            if message.get("turn") == turn:
                return message
        why = (await self.process.stderr.read()).decode(errors="replace").strip()
        raise OSError(f"it ended: {why[-300:]}" if why else "it ended without a message")


def _read(line: bytes) -> Json:
    try:
        return dict(AGENT_MESSAGE.validate_json(line))
    except ValidationError:
        raise ValueError("the response is not from an agent of Loadstone") from None


@asynccontextmanager
async def watch_agents(urls: tuple[str, ...], authority_pem: str | None) -> AsyncIterator[dict[str, AgentGauge]]:
    """Agents that answered, by the names of their hosts, while the block runs. Raises ServiceError and UsageError."""
    tokens = assign_tokens(urls, os.environ.get(AGENT_TOKEN, ""))
    async with contextlib.AsyncExitStack() as stack:
        agents: dict[str, AgentGauge] = {}
        for url in urls:
            way = await stack.enter_async_context(_way(url, authority_pem, tokens.get(url, "")))
            try:
                first = await way.ask(FIRST_S)
            except (OSError, ValueError, TimeoutError) as error:
                why = str(error) or f"no answer within {FIRST_S:g} s"
                raise ServiceError(f"The agent at {url} does not respond: {why}. {_remedy(url)}") from None
            name = str(first.get("host") or urlsplit(url).hostname)
            name = name if name not in agents else f"{name} ({url})"
            agents[name] = AgentGauge(name, way, first)
        yield agents


def _remedy(url: str) -> str:
    if urlsplit(url).scheme == "ssh":
        return f"Check that `{_ssh_words(urlsplit(url).netloc)} {SERVER} --version` runs without a prompt."
    return f"Check that `loadstone-server agent` runs there and that {AGENT_TOKEN} is its token."


def assign_tokens(urls: Sequence[str], token: str) -> Mapping[str, str]:
    """Which token each agent is told: of several, no agent learns another's. Raises UsageError, which names none."""
    remote = [url for url in urls if split_address(url)[0] != "ssh"]
    if not token or not remote:
        return {}
    pairs = [part.partition("=") for part in token.split(",")]
    known = {host: token for host, _, token in pairs} if len(remote) > 1 else {urlsplit(remote[0]).netloc: token}
    tokens = {url: known.get(urlsplit(url).netloc, "") for url in remote}
    if not all(PLAIN_TOKEN.fullmatch(token) for token in tokens.values()):
        several = (
            "use HOST:PORT=TOKEN for each agent, separated by commas" if len(remote) > 1 else "a token has no spaces"
        )
        raise UsageError(f"{AGENT_TOKEN} is not a valid list of the agents' tokens: {several}.")
    return tokens


@asynccontextmanager
async def _way(url: str, authority_pem: str | None, token: str) -> AsyncIterator[AgentConnection]:
    scheme, address = split_address(url)
    if scheme == "ssh":
        async with _over_ssh(address) as way:
            yield way
        return
    trusting = ssl.create_default_context(cadata=authority_pem) if scheme == "https" else None
    yield _Web(Endpoint.parse(address), trusting, token)


def split_address(url: str) -> tuple[str, str]:
    """The scheme and what follows it; raises UsageError for what is no agent's address."""
    remedy = "Use https://HOST:PORT, http://127.0.0.1:PORT or ssh://HOST"
    try:
        parts = urlsplit(url)
        names = parts.netloc, parts.username or "", parts.hostname or ""
        has_port = parts.port is not None  # raises for one that cannot be
    except ValueError as error:
        raise UsageError(f"`{url}` is not a valid agent address: {error}. {remedy}.") from None
    if parts.scheme not in ("http", "https", "ssh") or not parts.netloc or parts.path not in ("", "/"):
        raise UsageError(f"`{url}` is not a valid agent address. {remedy}.")
    if any(name.startswith("-") for name in names) or (parts.scheme == "ssh" and not parts.hostname):
        raise UsageError(f"`{url}` names no host. {remedy}.")  # ssh would take it for an option
    if parts.scheme != "ssh" and not has_port:
        raise UsageError(f"`{url}` names no port. {remedy}.")
    if parts.scheme != "ssh":
        endpoint = Endpoint.parse(parts.netloc)
        if parts.scheme == "http" and not _is_loopback(endpoint.host.strip("[]")):
            raise UsageError(f"`{url}` would send its token unencrypted. Use https:// or ssh://HOST.")
    return parts.scheme, parts.netloc


def _is_loopback(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def _ssh_words(netloc: str) -> str:
    """The command as it is run, for a shell."""
    return shlex.join(_ssh(netloc))


def _ssh(netloc: str) -> list[str]:
    """Logs in as ssh's own configuration says, asking nothing."""
    parts = urlsplit(f"ssh://{netloc}")
    port = ["-p", str(parts.port)] if parts.port else []
    user = f"{parts.username}@" if parts.username else ""
    return ["ssh", "-o", "BatchMode=yes", *port, f"{user}{parts.hostname}"]


@asynccontextmanager
async def start_own_agent(name: str) -> AsyncIterator[AgentGauge]:
    """This host's own, while the block runs. Raises ServiceError."""
    async with _by_line([find_server(), *BY_LINE]) as way:
        try:
            first = await way.ask(FIRST_S)
        except (OSError, ValueError, TimeoutError) as error:
            raise ServiceError(f"The agent of this host does not respond: {error}") from None
        yield AgentGauge(name, way, first)


@asynccontextmanager
async def _over_ssh(host: str) -> AsyncIterator[AgentConnection]:
    """The agent as a command there, which ends with the connection."""
    try:
        async with _by_line([*_ssh(host), SERVER, *BY_LINE]) as way:
            yield way
    except FileNotFoundError:
        raise ServiceError("`ssh` is not installed. Run `apt-get install openssh-client`.") from None


@asynccontextmanager
async def _by_line(argv: list[str]) -> AsyncIterator[AgentConnection]:
    """An agent that is asked on its standard input."""
    process = await launch.start(
        *argv,
        also=launch.OF_SSH,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=LARGEST_LINE,
        start_new_session=True,
    )
    try:
        yield _Line(process)
    finally:
        if process.stdin is not None:
            process.stdin.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), 2.0)
        if process.returncode is None:
            process.kill()
            await process.wait()
