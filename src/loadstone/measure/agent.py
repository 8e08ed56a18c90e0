"""Figures of a host that others run, told by the agent that they started there."""

import asyncio
import contextlib
import json
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from loadstone.host.http import get
from loadstone.model.errors import ServiceError, UsageError
from loadstone.model.machine import SERVER
from loadstone.model.target import Endpoint

Json = dict[str, Any]

TIMEOUT_S = 0.8
"""Longest wait for an answer, so that samples keep their second."""
FIRST_S = 20.0
"""Longest wait for the first one: over ssh somebody logs in."""
TOKEN = "LOADSTONE_AGENT_TOKEN"
"""Variable of the environment with the token that the agent was started with."""
PATH = "/look"


class Asked(Protocol):
    """A way to an agent."""

    async def ask(self, timeout_s: float) -> Json:
        """What it tells; raises OSError, and ValueError for what is no answer."""


@dataclass
class AgentGauge:
    """A host as its own kernel counts it."""

    name: str
    way: Asked
    first: Json = field(default_factory=dict)
    """What it told first."""

    async def inside(self) -> Json | None:
        """Its counters; None when it does not answer in time."""
        with contextlib.suppress(OSError, ValueError, TimeoutError):
            return await self.way.ask(TIMEOUT_S)
        return None

    async def outside(self) -> Json | None:
        """Nothing: no host of ours counts for it."""
        return None


@dataclass(frozen=True)
class _Web:
    at: Endpoint
    trusting: ssl.SSLContext | None
    token: str

    async def ask(self, timeout_s: float) -> Json:
        headers = {"authorization": f"Bearer {self.token}"} if self.token else {}
        return _read(await get(self.at, PATH, timeout_s, headers, self.trusting))


@dataclass(frozen=True)
class _Line:
    process: asyncio.subprocess.Process

    async def ask(self, timeout_s: float) -> Json:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(b"\n")
        return _read(await asyncio.wait_for(self.process.stdout.readline(), timeout_s))


def _read(said: bytes) -> Json:
    told: Json = json.loads(said)
    if not isinstance(told, dict) or not {"unix_ns", "cores", "cpu"} <= told.keys():
        raise ValueError("that is no agent of Loadstone")
    return told


@asynccontextmanager
async def watched(urls: tuple[str, ...], authority_pem: str | None) -> AsyncIterator[dict[str, AgentGauge]]:
    """Agents that answered, by the names of their hosts, while the block runs. Raises ServiceError and UsageError."""
    async with contextlib.AsyncExitStack() as stack:
        found: dict[str, AgentGauge] = {}
        for url in urls:
            way = await stack.enter_async_context(_way(url, authority_pem))
            try:
                first = await way.ask(FIRST_S)
            except (OSError, ValueError, TimeoutError) as error:
                why = str(error) or f"no answer within {FIRST_S:g} s"
                remedy = f"Is `loadstone-server agent` running there, and {TOKEN} its token?"
                raise ServiceError(f"The agent at {url} cannot be asked: {why}. {remedy}") from None
            name = str(first.get("host") or urlsplit(url).hostname)
            name = name if name not in found else f"{name} ({url})"
            found[name] = AgentGauge(name, way, first)
        yield found


@asynccontextmanager
async def _way(url: str, authority_pem: str | None) -> AsyncIterator[Asked]:
    scheme, at = checked(url)
    if scheme == "ssh":
        async with _over_ssh(at) as way:
            yield way
        return
    trusting = ssl.create_default_context(cadata=authority_pem) if scheme == "https" else None
    yield _Web(Endpoint.parse(at), trusting, os.environ.get(TOKEN, ""))


def checked(url: str) -> tuple[str, str]:
    """The scheme and what follows it; raises UsageError for what is no agent's address."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https", "ssh") or not parts.netloc or parts.path not in ("", "/"):
        raise UsageError(f"`{url}` is no agent. Write https://HOST:PORT, http://127.0.0.1:PORT or ssh://HOST.")
    if parts.netloc.startswith("-"):
        raise UsageError(f"`{url}` names no host.")  # ssh would take it for an option
    if parts.scheme != "ssh":
        Endpoint.parse(parts.netloc)
    return parts.scheme, parts.netloc


@asynccontextmanager
async def _over_ssh(host: str) -> AsyncIterator[Asked]:
    """The agent as a command there, which ends with the connection; ssh's own configuration says how to log in."""
    words = ["ssh", "-o", "BatchMode=yes", host, SERVER, "agent", "--by-line"]
    try:
        process = await asyncio.create_subprocess_exec(
            *words, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, start_new_session=True
        )
    except FileNotFoundError:
        raise ServiceError("There is no `ssh` here: `apt-get install openssh-client`.") from None
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
