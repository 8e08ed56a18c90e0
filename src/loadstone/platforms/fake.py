"""A platform that makes nothing: its services answer every request with one word. For tests of what uses platforms, and
held to the same contract as the others.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from loadstone.host.process import Readiness, stop_all
from loadstone.model.errors import ServiceError
from loadstone.model.machine import SERVER, MachineSpec
from loadstone.platforms.contract import Attachment, Machine, MachineContext, Service
from loadstone.platforms.kind import PlatformKind
from loadstone.platforms.local import LocalMachine, claim
from loadstone.platforms.routing import LOOPBACK

Json = dict[str, Any]

FAKE_PROGRAMS = ("backend", "web", "station", "echo")
"""Roles that a fake server plays; all others end at once."""
FAKE_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nfake"


@dataclass
class FakeService:
    """A listening socket that answers."""

    first_line: str
    server: asyncio.Server
    stopped: bool = False

    @property
    def pid(self) -> int:
        """None."""
        return 0

    def end(self) -> str:
        """How it ended."""
        return "code 0" if self.stopped else ""

    async def stop(self) -> None:
        """Closes the socket."""
        self.stopped = True
        self.server.close()


@dataclass
class FakeMachine(LocalMachine):
    """A machine that is only a name."""

    async def start(self, role: str, command: list[str], readiness: Readiness = Readiness.LINE) -> Service:
        """Listens; raises ServiceError for what is no role of our servers."""
        claim(self.services, role, self.name)
        if command[0] != SERVER and "/" in command[0]:
            raise ServiceError(f"`{command[0]}` cannot be started: there is nothing here")
        if command[0] != SERVER or command[1] not in FAKE_PROGRAMS:
            raise ServiceError(f"`{' '.join(command[:2])}` ended with code 2 instead of getting ready: no such thing")
        server = await asyncio.start_server(_answer, LOOPBACK, 0)
        port = server.sockets[0].getsockname()[1]
        ready = {"event": "ready", "http": f"{LOOPBACK}:{port}", "https": None, "authority": None}
        service = self.services[role] = FakeService(json.dumps(ready), server)
        return service


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(FAKE_ANSWER)
    writer.close()


class FakePlatform:
    """Makes nothing."""

    def choose_attachment(self, spec: MachineSpec) -> Attachment:
        """Returns the attachment of a machine without networks."""
        return Attachment.NONE

    async def explain_missing(self, spec: MachineSpec) -> str:
        """Returns an empty text, since nothing can be missing."""
        return ""

    @asynccontextmanager
    async def start_machine(self, context: MachineContext) -> AsyncIterator[Machine]:
        """Yields a machine that is only a name."""
        machine = FakeMachine(context)
        try:
            yield machine
        finally:
            await stop_all(machine.services)


KIND = PlatformKind(name="fake", title="fake machine", plural="fake machines", maker=FakePlatform())
