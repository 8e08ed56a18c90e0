"""Messages to a host's supervisor, and to a machine there. A new message is a class here and a method of its name, in
`supervisor`, or for machines in `hosted` or the machine itself; `remote` has the machine's other end.
"""

from dataclasses import dataclass, field
from ipaddress import IPv4Network
from typing import Annotated, Any, TypeAlias

from pydantic import ConfigDict, TypeAdapter

from loadstone.fleet.contract import Json
from loadstone.fleet.messages import Answer, FleetMessage, OneOf
from loadstone.fleet.pairs.requests import HalfRequest
from loadstone.host.process import Readiness
from loadstone.model.fault import FaultKind
from loadstone.model.target import Endpoint

TAKE_S = 60.0
"""Longest time for a host to clear up what was left there, and to be taken."""
MAKE_S = 900.0
"""Longest time for making a machine: images may have to be built."""
SERVICE_START_TIMEOUT_S = 2000.0
"""Longest answer of a machine that starts a service, whose own limits are shorter."""
COUNT_S = 0.7
"""Longest wait for counters, so that samples keep their second."""


class ForMachine(FleetMessage[Answer]):
    """For a machine on another host."""


class StartService(ForMachine[str], kind="start", timeout_s=SERVICE_START_TIMEOUT_S):
    """Start a program; the first line of its output."""

    role: str
    command: list[str]
    readiness: Readiness


class StopService(ForMachine[None], kind="stop"):
    """Stop a program."""

    role: str


class WriteFile(ForMachine[None], kind="write"):
    """Write a file below the machine's folder."""

    name: str
    text: str


class MountShare(ForMachine[str], kind="mount"):
    """Mount the folder that an NFS server shares; where it is then."""

    source: Endpoint
    name: str


class ChoosePort(ForMachine[int], kind="choose_port"):
    """Choose a free port."""

    usual: int


class ReachPort(ForMachine[Endpoint], kind="find_endpoint"):
    """Return where all hosts reach a port."""

    port: int


class RouteToPeer(ForMachine[Endpoint | None], kind="find_route"):
    """Return where a service of the machine reaches a port of another machine of the host."""

    peer: str
    port: int


class CountInside(ForMachine[Json | None], kind="read_inside", timeout_s=COUNT_S):
    """Count as the machine's own kernel does."""


class CountOutside(ForMachine[Json | None], kind="read_outside", timeout_s=COUNT_S):
    """Count as the machine's host does."""


class InjectFault(ForMachine[None], kind="fail"):
    """Cause a fault of the machine."""

    fault: FaultKind


MachineRequest: TypeAlias = Annotated[ForMachine[Any], OneOf()]


class ForHost(FleetMessage[Answer]):
    """For a host's supervisor."""


class TakeHost(ForHost[Json], kind="take", timeout_s=TAKE_S):
    """Take the host for a coordinator; what the host is made of, in plain data, as it may have another version."""

    who: str
    block: IPv4Network
    """Addresses of its machines."""
    silence_s: float
    """Silence of the coordinator after which all of its is ended here; its drivers alone, where a pair is here."""


@dataclass(frozen=True)
class MachineState:
    """What changes of a machine."""

    end: str
    facts: Json
    recovery: dict[str, float]
    services: dict[str, str]
    """How each ended; empty while it runs."""


@dataclass(frozen=True)
class DriverState:
    """How a driver is."""

    end: str
    """How it ended; empty while it runs."""
    is_well: bool
    """Whether it ended as it should."""


@dataclass(frozen=True)
class HostState:
    """How all that a coordinator has on a host is."""

    drivers: dict[str, DriverState]
    machines: dict[str, MachineState]


class Beat(ForHost[HostState], kind="beat"):
    """Note that the coordinator is there."""


class CountHost(ForHost[Json | None], kind="read_counters"):
    """Count as the host's kernel does."""


class AddRoute(ForHost[None], kind="add_route"):
    """Route packets for another host's machines through that host."""

    block: IPv4Network
    gateway: str


@dataclass(frozen=True)
class MachineDescription:
    """A machine as it was made."""

    about: str
    listen: str
    address: str
    files: str
    comes_back: bool
    state: MachineState


class MakeMachine(ForHost[MachineDescription], kind="make_machine", timeout_s=MAKE_S):
    """Make a machine as users declare it."""

    name: str
    machine: Json
    networks: list[str]


class AskMachine(ForHost[Any], kind="ask_machine"):
    """Pass a message on to a machine."""

    machine: str
    request: MachineRequest


class ListPairs(ForHost[list[str]], kind="list_pairs"):
    """Return the names of pairs of which a part lives there without a coordinator."""


class AskHalf(ForHost[Any], kind="ask_half"):
    """Pass a message on to the host's part of a pair."""

    pair: str
    request: HalfRequest


class StartDriver(ForHost[None], kind="start_driver"):
    """Start a driver that joins the leader."""

    name: str
    leader: str
    """HOST:PORT."""
    token: str = field(repr=False)


class StopDriver(ForHost[str], kind="stop_driver"):
    """Stop a driver; the end of its log."""

    name: str


class CollectLogs(ForHost[dict[str, str]], kind="read_logs"):
    """Return the ends of all logs, by file name."""


class ReleaseHost(ForHost[None], kind="release"):
    """End all that the coordinator has on the host."""


HostRequest: TypeAlias = Annotated[ForHost[Any], OneOf()]
HOST_REQUESTS: TypeAdapter[HostRequest] = TypeAdapter(HostRequest, config=ConfigDict(defer_build=True))
