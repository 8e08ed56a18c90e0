"""Machines on another host as the testbed sees them: what they are asked goes to that host's supervisor."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from loadstone.fleet.contract import FleetError, Json
from loadstone.fleet.messages import Answer, ask_by
from loadstone.fleet.requests import (
    AskMachine,
    ChoosePort,
    CountInside,
    CountOutside,
    ForHost,
    ForMachine,
    InjectFault,
    MachineDescription,
    MachineState,
    MountShare,
    ReachPort,
    RouteToPeer,
    StartService,
    StopService,
    WriteFile,
)
from loadstone.host.process import Readiness
from loadstone.model.errors import ServiceError
from loadstone.model.target import Endpoint
from loadstone.platforms.contract import Machine, MachineCounters, MachineFiles, Service


class Supervised(Protocol):
    """A host with its supervisor."""

    @property
    def name(self) -> str:
        """The host's."""

    @property
    def lost(self) -> str:
        """Why it counts as lost; empty while it is there."""

    async def ask(self, request: ForHost[Answer], timeout_s: float | None = None) -> Answer:
        """Sends its supervisor a message; the answer, within the message's own time limit or another. Raises
        LoadstoneError.
        """


@dataclass
class RemoteService:
    """A program that runs in a machine on another host."""

    machine: "RemoteMachine"
    role: str
    first_line: str
    pid: int = 0
    """No process of this host."""

    def end(self) -> str:
        """Returns how the service ended, as its host reported last."""
        return self.machine.host.lost or self.machine.state.services.get(self.role, "")

    async def stop(self) -> None:
        """Asks it to end."""
        await self.machine.ask(StopService(self.role))


@dataclass
class RemoteMachine(MachineFiles, MachineCounters):
    """A machine on another host."""

    host: Supervised
    name: str
    description: MachineDescription
    state: MachineState = field(init=False)
    """As its supervisor reported it last."""
    facts: Json = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.receive(self.description.state)

    def receive(self, state: MachineState) -> None:
        """Takes the state that its supervisor reports."""
        self.state = state
        facts = dict(state.facts)
        # Networks of one name are others on another host: nobody there is reached by them.
        networks = {"addresses": facts.pop("networks")} if facts.get("networks") else {}
        self.facts.update({"host": self.host.name, **facts, **networks})

    @property
    def about(self) -> str:
        """What it is, and where."""
        return f"{self.description.about} on {self.host.name}"

    @property
    def listen(self) -> str:
        """Where its services listen."""
        return self.description.listen

    @property
    def address(self) -> str:
        """Where all hosts of the fleet reach it."""
        return self.description.address

    @property
    def further_addresses(self) -> Sequence[str]:
        """Empty: a machine of a fleet has one public network."""
        return ()

    @property
    def files(self) -> str:
        """A folder there."""
        return self.description.files

    @property
    def comes_back(self) -> bool:
        """As its platform has it."""
        return self.description.comes_back

    @property
    def recovery(self) -> Mapping[str, float]:
        """By the clock of its host."""
        return self.state.recovery

    def end(self) -> str:
        """How it ended, or that its host is lost."""
        return self.host.lost or self.state.end

    write = ask_by(WriteFile)
    choose_port = ask_by(ChoosePort)
    find_endpoint = ask_by(ReachPort)
    fail = ask_by(InjectFault)

    async def start(self, role: str, command: list[str], readiness: Readiness = Readiness.LINE) -> Service:
        """Starts a program there."""
        if role in self.state.services:
            raise ServiceError(f"`{role}` already runs on {self.name}. Use another name for the second service.")
        first_line = await self.ask(StartService(role, command, readiness))
        self.state.services[role] = ""
        return RemoteService(self, role, first_line)

    async def mount(self, source: Path | Endpoint, name: str) -> str:
        """Mounts what an NFS server shares; folders of this host are not there."""
        if isinstance(source, Path):
            raise FleetError(
                f"{self.name} is on {self.host.name}, which has no folder of this host. Use a store instead."
            )
        return await self.ask(MountShare(source, name))

    async def find_route(self, peer: Machine, port: int) -> Endpoint | None:
        """On one host as its platform has it; between hosts as all reach the peer."""
        if isinstance(peer, RemoteMachine) and peer.host is self.host:
            return await self.ask(RouteToPeer(peer.name, port))
        return await peer.find_endpoint(port)

    async def read_inside(self) -> Json | None:
        """Counters as seen within."""
        return await self._count(CountInside())

    async def read_outside(self) -> Json | None:
        """Counters as its host sees it."""
        return await self._count(CountOutside())

    async def _count(self, request: CountInside | CountOutside) -> Json | None:
        try:
            return await self.ask(request)
        except FleetError:
            return None

    async def ask(self, request: ForMachine[Answer]) -> Answer:
        """Sends it a message; the answer. Raises LoadstoneError."""
        return request.read_answer(await self.host.ask(AskMachine(self.name, request), request.timeout_s))
