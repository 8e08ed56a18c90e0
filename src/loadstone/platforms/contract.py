"""What every platform gives: machines where services run. Services know nothing of this; they meet in the testbed.

A machine comes up inside `async with`, and is gone with everything in it when the block ends.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Any, Protocol

from loadstone.host.process import Readiness
from loadstone.model.errors import PlatformError
from loadstone.model.fault import FaultKind
from loadstone.model.machine import MachineSpec
from loadstone.model.target import Endpoint
from loadstone.platforms.fabric import NetworkInterface
from loadstone.platforms.journal import ResourceJournal

Json = dict[str, Any]


@dataclass(frozen=True)
class MachineStatus:
    """Figures that a machine's platform reports about itself, by name."""

    now: Mapping[str, float]
    grown: Mapping[str, float]
    """Counters that only grow."""


@dataclass(frozen=True)
class MachineContext:
    """What a machine is made from."""

    name: str
    spec: MachineSpec
    logs: Path
    journal: ResourceJournal
    """Remembers what is made, for whoever must clear up if this process is killed."""
    nics: Mapping[str, NetworkInterface] = field(default_factory=dict)
    """Its networks by name; empty for machines that use the host's own."""
    about: str = ""
    """What it is, for people."""
    listen: str = "127.0.0.1"
    """Of machines that use the host's own network: the address that their services are reached at."""


class Service(Protocol):
    """A program that runs in a machine."""

    @property
    def first_line(self) -> str:
        """What it said when it was ready."""

    @property
    def pid(self) -> int:
        """Process on the host that its use is charged to; 0 when that is its machine's."""

    def end(self) -> str:
        """How it ended, if it has; empty while it runs."""

    async def stop(self) -> None:
        """Asks it to end, then ends it."""


class ProgramHost(Protocol):
    """A place where programs run and where faults happen. It stays down once it has failed, unless its class says
    otherwise.
    """

    facts: Json
    """For the disclosure: what it is made of, as found; `networks` are its addresses by network."""

    @property
    def name(self) -> str:
        """Its name among those of its testbed."""

    @property
    def about(self) -> str:
        """One line for people."""

    async def start(self, role: str, command: list[str], readiness: Readiness = Readiness.LINE) -> Service:
        """Starts a program and waits for its first line, if it writes one.

        Raises ServiceError when it ends or stays silent instead, or when the role runs here already.
        """

    def end(self) -> str:
        """How the machine itself ended, if it has."""

    async def fail(self, fault: FaultKind) -> None:
        """Does to it what happens to machines. Raises PlatformError for what it cannot have."""

    @property
    def comes_back(self) -> bool:
        """Whether it is started anew when it dies, without what was in its memory."""
        return False

    @property
    def recovery(self) -> Mapping[str, float]:
        """When it was last well again, in seconds since 1970: `live`, it serves anew; `protected`, a pair is whole."""
        return {}


class MachineFiles(Protocol):
    """Files for programs of a machine; out of reach of this host's programs, unless its class says otherwise."""

    @property
    def files(self) -> str:
        """Path of a folder that services here can read and write, the same for all of them."""

    @property
    def folder(self) -> Path | None:
        """Where that folder is on this host, for programs of this host's versions; None where it is out of reach, or
        its programs come from elsewhere.
        """
        return None

    async def write(self, name: str, text: str) -> None:
        """Writes a file below `files`."""

    async def expose(self, folder: Path) -> str:
        """Makes a folder of this host readable for services here that start from now on. Returns where. Raises
        PlatformError where `folder` is None.
        """
        raise PlatformError(f"{self.files} is out of reach, so no folder of this host is visible there.")

    async def mount(self, source: Path | Endpoint, name: str) -> str:
        """Makes a folder reachable for services here that start from now on: one of this host, or the one that an NFS
        server shares by that name. Returns where. Raises PlatformError where that cannot be.
        """


class MachineNetwork(Protocol):
    """Addresses and ports of a machine."""

    @property
    def listen(self) -> str:
        """Address that services here must listen at."""

    @property
    def address(self) -> str:
        """Address at which the driver reaches it."""

    @property
    def further_addresses(self) -> Sequence[str]:
        """Its addresses on further public networks, where users reach the same ports."""
        return ()

    async def choose_port(self, usual: int) -> int:
        """A port for a service that must be told one: the usual one where nobody else can have it, else a free one."""

    async def find_endpoint(self, port: int) -> Endpoint:
        """Returns the endpoint at which the driver reaches a port of this machine."""

    async def find_route(self, peer: "Machine", port: int) -> Endpoint | None:
        """Returns the endpoint at which a service of this machine reaches a port of `peer`, None if
        there is no route.
        """


class MachineCounters(Protocol):
    """What a machine uses. Nothing is counted for it as a whole, unless its class says otherwise: its services have
    processes of their own.
    """

    @property
    def pid(self) -> int:
        """Process on the host that its use is charged to; 0 when its services have processes of their own."""
        return 0

    @property
    def companions(self) -> Mapping[str, int]:
        """Further processes on the host that its use is charged to, by what they are."""
        return {}

    async def read_inside(self) -> Json | None:
        """Counters as seen within; None when there is no such view or no answer."""
        return None

    async def read_outside(self) -> Json | None:
        """Counters as the host sees it; None when it sees the trees of its services alone."""
        return None

    @property
    def reports_status(self) -> bool:
        """Whether its platform reports figures about itself."""
        return False

    async def read_status(self) -> MachineStatus | None:
        """Returns those figures; None while there are none."""
        return None


class Machine(ProgramHost, MachineFiles, MachineNetwork, MachineCounters, Protocol):
    """A machine that is up. Its platform derives it from those parts whose defaults fit."""


class Attachment(Enum):
    """How a machine is attached to the networks of its testbed."""

    NONE = auto()
    """Not at all: it uses the host's own, or one that its maker sets up."""
    VETH = auto()
    """By a pair of virtual Ethernet devices into a namespace of its own."""
    TAP = auto()
    """By a tap device, for a machine with a kernel of its own."""
    TWO_TAPS = auto()
    """By two of them with one address, for two machines that are kept as one."""


class Platform(Protocol):
    """Makes machines."""

    def choose_attachment(self, spec: MachineSpec) -> Attachment:
        """How a machine is attached to networks; raises PlatformError where it cannot have what it asks for."""

    async def explain_missing(self, spec: MachineSpec) -> str:
        """Why it cannot make this machine here, with the remedy; empty when it can."""

    def start_machine(self, context: MachineContext) -> AbstractAsyncContextManager[Machine]:
        """A machine, up. Raises PlatformError."""
