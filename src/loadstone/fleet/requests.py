"""Messages to a host's supervisor, and to a machine there. A method more is one message here and its implementation, in
`supervisor`, or for machines in `hosted` or the machine itself.
"""

from dataclasses import dataclass, field
from ipaddress import IPv4Network
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import ConfigDict, Field, TypeAdapter

from loadstone.fleet.contract import Json
from loadstone.fleet.messages import Answer, Request
from loadstone.fleet.pairs.requests import HalfRequest
from loadstone.host.process import Readiness
from loadstone.model.fault import FaultKind
from loadstone.model.target import Endpoint

TAKE_S = 60.0
"""Longest time for a host to clear up what was left there, and to be taken."""
MAKE_S = 900.0
"""Longest time for making a machine: images may have to be built."""
START_S = 2000.0
"""Longest answer of a machine that starts a service, whose own limits are shorter."""
COUNT_S = 0.7
"""Longest wait for counters, so that samples keep their second."""


class ForMachine(Request[Answer]):
    """For a machine on another host."""


@dataclass(frozen=True)
class StartService(ForMachine[str]):
    """Start a program; the first line of its output."""

    timeout_s: ClassVar[float] = START_S
    role: str
    command: list[str]
    readiness: Readiness
    kind: Literal["start"] = "start"


@dataclass(frozen=True)
class StopService(ForMachine[None]):
    """Stop a program."""

    role: str
    kind: Literal["stop"] = "stop"


@dataclass(frozen=True)
class WriteFile(ForMachine[None]):
    """Write a file below the machine's folder."""

    name: str
    text: str
    kind: Literal["write"] = "write"


@dataclass(frozen=True)
class MountShare(ForMachine[str]):
    """Mount the folder that an NFS server shares; where it is then."""

    source: Endpoint
    name: str
    kind: Literal["mount"] = "mount"


@dataclass(frozen=True)
class ChoosePort(ForMachine[int]):
    """Choose a free port."""

    usual: int
    kind: Literal["port_for"] = "port_for"


@dataclass(frozen=True)
class ReachPort(ForMachine[Endpoint]):
    """Return where all hosts reach a port."""

    port: int
    kind: Literal["reach"] = "reach"


@dataclass(frozen=True)
class RouteToPeer(ForMachine[Endpoint | None]):
    """Return where a service of the machine reaches a port of another machine of the host."""

    peer: str
    port: int
    kind: Literal["way_to"] = "way_to"


@dataclass(frozen=True)
class CountInside(ForMachine[Json | None]):
    """Count as the machine's own kernel does."""

    timeout_s: ClassVar[float] = COUNT_S
    kind: Literal["inside"] = "inside"


@dataclass(frozen=True)
class CountOutside(ForMachine[Json | None]):
    """Count as the machine's host does."""

    timeout_s: ClassVar[float] = COUNT_S
    kind: Literal["outside"] = "outside"


@dataclass(frozen=True)
class InjectFault(ForMachine[None]):
    """Cause a fault of the machine."""

    fault: FaultKind
    kind: Literal["fail"] = "fail"


MachineRequest: TypeAlias = Annotated[
    StartService
    | StopService
    | WriteFile
    | MountShare
    | ChoosePort
    | ReachPort
    | RouteToPeer
    | CountInside
    | CountOutside
    | InjectFault,
    Field(discriminator="kind"),
]


class ForHost(Request[Answer]):
    """For a host's supervisor."""


@dataclass(frozen=True)
class TakeHost(ForHost[Json]):
    """Take the host for a coordinator; what the host is made of, in plain data, as it may have another version."""

    timeout_s: ClassVar[float] = TAKE_S
    who: str
    block: IPv4Network
    """Addresses of its machines."""
    kind: Literal["take"] = "take"


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


@dataclass(frozen=True)
class Beat(ForHost[HostState]):
    """Note that the coordinator is there."""

    kind: Literal["beat"] = "beat"


@dataclass(frozen=True)
class CountHost(ForHost[Json | None]):
    """Count as the host's kernel does."""

    kind: Literal["counters"] = "counters"


@dataclass(frozen=True)
class AddRoute(ForHost[None]):
    """Route packets for another host's machines through that host."""

    block: IPv4Network
    by: str
    kind: Literal["add_route"] = "add_route"


@dataclass(frozen=True)
class MachineFacts:
    """A machine as it was made."""

    about: str
    listen: str
    address: str
    files: str
    comes_back: bool
    state: MachineState


@dataclass(frozen=True)
class MakeMachine(ForHost[MachineFacts]):
    """Make a machine as users declare it."""

    timeout_s: ClassVar[float] = MAKE_S
    name: str
    machine: Json
    networks: list[str]
    kind: Literal["make_machine"] = "make_machine"


@dataclass(frozen=True)
class AskMachine(ForHost[Any]):
    """Pass a message on to a machine."""

    machine: str
    request: MachineRequest
    kind: Literal["ask_machine"] = "ask_machine"


@dataclass(frozen=True)
class AskHalf(ForHost[Any]):
    """Pass a message on to the host's part of a pair."""

    pair: str
    request: HalfRequest
    kind: Literal["ask_half"] = "ask_half"


@dataclass(frozen=True)
class StartDriver(ForHost[None]):
    """Start a driver that joins the leader."""

    name: str
    leader: str
    """HOST:PORT."""
    token: str = field(repr=False)
    kind: Literal["start_driver"] = "start_driver"


@dataclass(frozen=True)
class StopDriver(ForHost[str]):
    """Stop a driver; the end of its log."""

    name: str
    kind: Literal["stop_driver"] = "stop_driver"


@dataclass(frozen=True)
class CollectLogs(ForHost[dict[str, str]]):
    """Return the ends of all logs, by file name."""

    kind: Literal["logs"] = "logs"


@dataclass(frozen=True)
class ReleaseHost(ForHost[None]):
    """End all that the coordinator has on the host."""

    kind: Literal["release"] = "release"


HostRequest: TypeAlias = Annotated[
    TakeHost
    | Beat
    | CountHost
    | AddRoute
    | MakeMachine
    | AskMachine
    | AskHalf
    | StartDriver
    | StopDriver
    | CollectLogs
    | ReleaseHost,
    Field(discriminator="kind"),
]
HOST_REQUESTS: TypeAdapter[HostRequest] = TypeAdapter(HostRequest, config=ConfigDict(defer_build=True))
