"""A platform that only records: which machines come up and go down, and which services are started, in order."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from loadstone.host.process import Readiness, stop_all
from loadstone.model.errors import PlatformError, ServiceError
from loadstone.model.machine import MachineSpec
from loadstone.model.target import Endpoint
from loadstone.platforms.contract import Attachment, Machine, MachineContext, Service
from loadstone.platforms.kind import PlatformKind
from loadstone.platforms.local import LocalMachine

RECORDED = "recorded"
"""The name of the platform."""


@dataclass
class Recorder:
    """Everything that happened, and what is to fail."""

    events: list[str] = field(default_factory=list)
    """`up MACHINE`, `start ROLE`, `stop ROLE` and `down MACHINE`, in order."""
    commands: dict[str, list[str]] = field(default_factory=dict)
    """Command of each service that was started, by role."""
    failures: set[str] = field(default_factory=set)
    """Events that fail instead."""
    exit_codes: dict[str, str] = field(default_factory=dict)
    """How services ended, by role; those that are not named run."""
    machine_ends: dict[str, str] = field(default_factory=dict)
    """How machines ended, by name."""
    silent: set[str] = field(default_factory=set)
    """Roles whose servers do not say where they answer."""
    unreachable: set[str] = field(default_factory=set)
    """Machines that no other one reaches."""
    attachment: Attachment = Attachment.NONE
    ports: Any = field(default_factory=lambda: count(4001))

    def note(self, event: str, error: type[Exception]) -> None:
        """Records an event; raises the error instead where that event is to fail."""
        if event in self.failures:
            raise error(f"planned: {event}")
        self.events.append(event)

    @property
    def machines(self) -> list[str]:
        """Machines that came up, in order."""
        return [event.removeprefix("up ") for event in self.events if event.startswith("up ")]

    @property
    def left(self) -> list[str]:
        """Machines that are still up."""
        return [name for name in self.machines if f"down {name}" not in self.events]

    def kind(self, fitting: frozenset[str] = frozenset({"memory"})) -> PlatformKind:
        """The platform."""
        return PlatformKind(RECORDED, "recorded machine", "recorded machines", _Platform(self), fitting)


@dataclass
class _Service:
    recorder: Recorder
    role: str
    first_line: str
    has_ended: bool = False
    pid: int = 0

    def end(self) -> str:
        return self.recorder.exit_codes.get(self.role, "code 0" if self.has_ended else "")

    async def stop(self) -> None:
        self.has_ended = True
        self.recorder.events.append(f"stop {self.role}")


@dataclass
class RecordedMachine(LocalMachine):
    recorder: Recorder = field(default_factory=Recorder)

    async def start(self, role: str, command: list[str], readiness: Readiness = Readiness.LINE) -> Service:
        self.recorder.note(f"start {role}", ServiceError)
        self.recorder.commands[role] = command
        http = None if role in self.recorder.silent else f"127.0.0.1:{next(self.recorder.ports)}"
        line = json.dumps({"event": "ready", "http": http, "https": None, "authority": None})
        service = self.services[role] = _Service(self.recorder, role, line, has_ended=readiness is Readiness.NONE)
        return service

    async def find_route(self, peer: Machine, port: int) -> Endpoint | None:
        return None if peer.name in self.recorder.unreachable else await super().find_route(peer, port)

    async def write(self, name: str, text: str) -> None:
        pass

    def end(self) -> str:
        return self.recorder.machine_ends.get(self.name, "")


@dataclass
class _Platform:
    recorder: Recorder

    def choose_attachment(self, spec: MachineSpec) -> Attachment:
        return self.recorder.attachment

    async def explain_missing(self, spec: MachineSpec) -> str:
        return ""

    @asynccontextmanager
    async def start_machine(self, context: MachineContext) -> AsyncIterator[Machine]:
        self.recorder.note(f"up {context.name}", PlatformError)
        services: Mapping[str, Service] = {}
        try:
            machine = RecordedMachine(context, recorder=self.recorder)
            services = machine.services
            yield machine
        finally:
            await stop_all(services)
            self.recorder.note(f"down {context.name}", PlatformError)
