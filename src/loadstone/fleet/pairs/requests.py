"""Messages to a host about a pair that it has a part of, and to a side there. A new message is a class here and a
method of its name, in `half`, or for sides in `platforms/pair/side`; `remote_side` has the side's other end.
"""

from dataclasses import dataclass, field
from signal import Signals
from typing import Annotated, Any, TypeAlias

from loadstone.fleet.contract import Json
from loadstone.fleet.messages import Answer, FleetMessage, OneOf
from loadstone.platforms.fabric import WideNetwork
from loadstone.platforms.pair.mode import Mode

HALF_S = 900.0
"""Longest time for a half to be made, or a machine to be booted: its image may have to be built first."""
CARRY_S = 900.0
"""Longest time for a file to be carried between hosts."""


class ForSide(FleetMessage[Answer]):
    """For a side of a pair."""


class StartAgent(ForSide[None], kind="start_agent"):
    """Start its agent, which follows the agent at that address."""

    follow: str | None


class StartSideMachine(ForSide[None], kind="start_machine", timeout_s=40.0):
    """Start its QEMU."""

    mode: Mode
    has_state: bool


class ExecuteCommand(ForSide[Any], kind="execute"):
    """Have QEMU execute a command."""

    command: str
    arguments: Json


class OrderAgent(ForSide[None], kind="order"):
    """Send its agent an order."""

    do: str
    details: Json


class SendSignal(ForSide[None], kind="signal"):
    """Send a signal to its `machine`, its `agent`, or both."""

    number: Signals
    receivers: tuple[str, ...]


class CountSide(ForSide[Json | None], kind="read_outside", timeout_s=0.7):
    """Count what its machine costs its host."""


class ForgetFile(ForSide[None], kind="forget"):
    """Remove a file."""

    file: str


class ReadAgentLog(ForSide[str], kind="describe_log_end"):
    """Return the end of its agent's log."""


class EndSide(ForSide[None], kind="end"):
    """End its machine and its agent."""


@dataclass(frozen=True)
class SideEvents:
    """What a side's agent has reported, and how the side is."""

    events: list[Json]
    """Beyond those that were there already."""
    metrics: Json
    is_up: bool
    is_mute: bool
    unix_s: float
    """When that was, by the clock of the side's host."""


class ReceiveEvents(ForSide[SideEvents], kind="receive", timeout_s=2.5):
    """Return what its agent reports beyond so many events, as soon as there is anything."""

    after: int


SideRequest: TypeAlias = Annotated[ForSide[Any], OneOf()]


class ForHalf(FleetMessage[Answer]):
    """For a host's part of a pair."""


class InstallCredentials(ForHalf[None], kind="install_credentials"):
    """Keep the certificate and the key that prove this host to be the pair's, and the authority to trust."""

    certificate: str
    key: str = field(repr=False)
    authority: str
    log_address: str = ""
    """At which its agents and its witness wait for other hosts; empty for the public address."""
    carry_address: str = ""
    """At which it offers files; empty for the public address."""


@dataclass(frozen=True)
class PairCredentials:
    """What proves a host to be the pair's, and the authority to trust."""

    certificate: str
    key: str = field(repr=False)
    authority: str


class ReadCredentials(ForHalf[PairCredentials], kind="read_credentials"):
    """Return its certificate and key, for a host that has lost its part of the pair."""


class JoinNetwork(ForHalf[None], kind="join"):
    """Join the pair's network, which is on all hosts."""

    network: WideNetwork


class StartWitness(ForHalf[str], kind="start_witness"):
    """Start the witness; HOST:PORT where it answers."""

    lease_s: int
    """Seconds that it lives on without a coordinator."""


class KillWitness(ForHalf[None], kind="kill_witness"):
    """Kill the witness."""


@dataclass(frozen=True)
class HalfFacts:
    """What sides on a host are made of."""

    folder: str
    tap: str
    image: str
    """Digest."""
    kernel: str
    address: str
    mac: str
    gateway: str
    is_locked: bool
    disk_mib: int
    """Size of the machine's disk; 0 for none."""
    build: str
    """QEMU's."""
    is_known: bool
    """Whether that build has passed the gate."""
    processor: str = ""
    """Model of its processors, as the kernel names it."""
    clock_mhz: float = 0.0
    """Highest clock of its processors; 0 where that is not known."""
    link_mbit_per_s: int = 0
    """Speed of the interface that the other hosts reach; 0 where that is not known."""


class MakeHalf(ForHalf[HalfFacts], kind="make", timeout_s=HALF_S):
    """Make what sides need."""

    machine: Json
    """As it is declared."""
    network: str
    witness: str


@dataclass(frozen=True)
class AdoptedSide:
    """A side that runs on a host."""

    name: str
    started: str


@dataclass(frozen=True)
class AdoptedHalf:
    """A host's part of a pair that a new coordinator has taken over."""

    network: WideNetwork
    machine: Json | None
    """As it is declared; None on a host without a side."""
    facts: HalfFacts | None
    witness: str
    """HOST:PORT of who decides which side continues."""
    sides: list[AdoptedSide]
    """In the order in which they came."""


class AdoptHalf(ForHalf[AdoptedHalf], kind="adopt", timeout_s=HALF_S):
    """Take over the part of a pair that lives there without a coordinator."""


class LeaveHalf(ForHalf[None], kind="leave"):
    """Leave what was taken over there as it is: another coordinator may take it over within the pair's lease."""


class BootSide(ForHalf[str], kind="boot", timeout_s=HALF_S):
    """Boot the machine, and keep its state and its disk for that side; how it started."""

    side: str


class RememberBuild(ForHalf[None], kind="remember"):
    """Note that the build of QEMU has passed the gate."""


class OfferFile(ForHalf[int], kind="offer"):
    """Serve a file to the pair's other hosts; the port."""

    file: str


class WithdrawFile(ForHalf[None], kind="withdraw"):
    """Stop serving the file of that port."""

    port: int


class FetchFile(ForHalf[None], kind="fetch", timeout_s=CARRY_S):
    """Copy a file that another host serves."""

    file: str
    host: str
    port: int


class AskSide(ForHalf[Any], kind="ask_side"):
    """Pass a message on to a side."""

    side: str
    request: SideRequest


HalfRequest: TypeAlias = Annotated[ForHalf[Any], OneOf()]
