"""Machines on another host as the testbed sees them: whatever they are asked, that host's supervisor is."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from loadstone.fleet.contract import FleetError, Json
from loadstone.host.process import Readiness
from loadstone.model.errors import ServiceError
from loadstone.model.fault import FaultKind
from loadstone.model.target import Endpoint
from loadstone.platforms.contract import Machine, Service

STARTING_S = 2000.0
"""Longest answer of a machine that starts a service, whose own limits are shorter."""
TELLING_S = 30.0
LOOKING_S = 0.7
"""Of counters, so that samples keep their second."""


class Supervised(Protocol):
    """A host with its supervisor."""

    @property
    def name(self) -> str:
        """The host's."""

    @property
    def lost(self) -> str:
        """Why it counts as lost; empty while it is there."""

    async def ask(self, question: str, timeout_s: float, **words: Any) -> Any:
        """What its supervisor answers. Raises LoadstoneError."""


@dataclass
class RemoteService:
    """A program that runs in a machine on another host."""

    machine: "RemoteMachine"
    role: str
    first_line: str
    pid: int = 0
    """No process of this host."""

    def end(self) -> str:
        """As the host last told."""
        return self.machine.host.lost or str(self.machine.state["services"].get(self.role, ""))

    async def stop(self) -> None:
        """Asks it to end."""
        await self.machine.tell("stop", role=self.role)


@dataclass
class RemoteMachine:
    """A machine on another host."""

    host: Supervised
    name: str
    state: Json
    """What its supervisor told of it, last."""
    facts: Json = field(default_factory=dict)
    pid: int = 0
    companions: Mapping[str, int] = field(default_factory=dict)
    folder: Path | None = None
    """Out of reach."""

    def __post_init__(self) -> None:
        self.heard(self.state)

    def heard(self, state: Json) -> None:
        """Takes what its supervisor tells of it now."""
        self.state = {**self.state, **state}
        facts = dict(self.state["facts"])
        # Networks of one name are others on another host: nobody there is reached by them.
        own = {"addresses": facts.pop("networks")} if facts.get("networks") else {}
        self.facts.update({"host": self.host.name, **facts, **own})

    @property
    def about(self) -> str:
        """What it is, and where."""
        return f"{self.state['about']} on {self.host.name}"

    @property
    def listen(self) -> str:
        """Where its services listen."""
        return str(self.state["listen"])

    @property
    def address(self) -> str:
        """Where all hosts of the fleet reach it."""
        return str(self.state["address"])

    @property
    def files(self) -> str:
        """A folder there."""
        return str(self.state["files"])

    @property
    def comes_back(self) -> bool:
        """As its platform has it."""
        return bool(self.state["comes_back"])

    @property
    def recovery(self) -> Mapping[str, float]:
        """By the clock of its host."""
        recovery: Mapping[str, float] = self.state["recovery"]
        return recovery

    def end(self) -> str:
        """How it ended, or that its host is lost."""
        return self.host.lost or str(self.state["end"])

    async def start(self, role: str, command: list[str], readiness: Readiness = Readiness.LINE) -> Service:
        """Starts a program there."""
        if role in self.state["services"]:
            raise ServiceError(f"`{role}` runs on {self.name} already. Give the second one another name.")
        words = {"role": role, "command": command, "readiness": readiness.name}
        first_line = await self.tell("start", STARTING_S, **words)
        self.state["services"][role] = ""
        return RemoteService(self, role, first_line)

    async def write(self, name: str, text: str) -> None:
        """Writes a file there."""
        await self.tell("write", name=name, text=text)

    async def mount(self, source: Path | Endpoint, name: str) -> str:
        """Mounts what an NFS server shares; folders of this host are not there."""
        if isinstance(source, Path):
            raise FleetError(f"{self.name} is on {self.host.name}, which has no folder of this host. Take a store.")
        return str(await self.tell("mount", host=source.host, port=source.port, name=name))

    async def port_for(self, usual: int) -> int:
        """A port that is free there."""
        return int(await self.tell("port", usual=usual))

    async def reach(self, port: int) -> Endpoint:
        """Where all hosts reach it."""
        return Endpoint(**await self.tell("reach", port=port))

    async def way_to(self, peer: Machine, port: int) -> Endpoint | None:
        """On one host as its platform has it; between hosts as all reach the peer."""
        if isinstance(peer, RemoteMachine) and peer.host is self.host:
            way = await self.tell("way", peer=peer.name, port=port)
            return Endpoint(**way) if way else None
        return await peer.reach(port)

    async def inside(self) -> Json | None:
        """Counters as seen within."""
        return await _or_none(self.tell, "inside")

    async def outside(self) -> Json | None:
        """Counters as its host sees it."""
        return await _or_none(self.tell, "outside")

    async def fail(self, fault: FaultKind) -> None:
        """Does it there."""
        await self.tell("fail", fault=fault.value)

    async def tell(self, what: str, timeout_s: float = TELLING_S, **words: Any) -> Any:
        """Has it do something. Raises LoadstoneError."""
        return await self.host.ask("tell", timeout_s, machine=self.name, what=what, words=words)


async def _or_none(tell: Callable[..., Awaitable[Any]], what: str) -> Json | None:
    try:
        counted: Json | None = await tell(what, LOOKING_S)
    except FleetError:
        return None
    return counted
