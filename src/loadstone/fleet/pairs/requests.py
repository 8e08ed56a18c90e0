"""Messages to a host about a pair that it has a part of, and to a side there. A method more is one message here and its
implementation, in `half`, or for sides in `platforms/pair/side`.
"""

from dataclasses import dataclass
from signal import Signals
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Field

from loadstone.fleet.contract import Json
from loadstone.fleet.messages import Answer, Request
from loadstone.platforms.fabric import WideNetwork
from loadstone.platforms.pair.command import Mode

HALF_S = 900.0
"""Longest time for a half to be made, or a machine to be booted: its image may have to be built first."""
CARRY_S = 900.0
"""Longest time for a file to be carried between hosts."""


class ForSide(Request[Answer]):
    """For a side of a pair."""


@dataclass(frozen=True)
class StartAgent(ForSide[None]):
    """Start its agent, which follows the agent at that address."""

    follow: str | None
    kind: Literal["start_agent"] = "start_agent"


@dataclass(frozen=True)
class StartSideMachine(ForSide[None]):
    """Start its QEMU."""

    timeout_s: ClassVar[float] = 40.0
    mode: Mode
    has_state: bool
    kind: Literal["start_machine"] = "start_machine"


@dataclass(frozen=True)
class RunJob(ForSide[str]):
    """Have QEMU save or load the snapshot; why that failed."""

    command: str
    within_s: float
    kind: Literal["job"] = "job"


@dataclass(frozen=True)
class ExecuteCommand(ForSide[Any]):
    """Have QEMU execute a command."""

    command: str
    arguments: Json
    kind: Literal["execute"] = "execute"


@dataclass(frozen=True)
class OrderAgent(ForSide[None]):
    """Send its agent an order."""

    do: str
    details: Json
    kind: Literal["order"] = "order"


@dataclass(frozen=True)
class SendSignal(ForSide[None]):
    """Send a signal to its `machine`, its `agent`, or both."""

    number: Signals
    receivers: tuple[str, ...]
    kind: Literal["signal"] = "signal"


@dataclass(frozen=True)
class CountSide(ForSide[Json | None]):
    """Count what its machine costs its host."""

    timeout_s: ClassVar[float] = 0.7
    """So that samples keep their second."""
    kind: Literal["outside"] = "outside"


@dataclass(frozen=True)
class PrepareSnapshot(ForSide[None]):
    """Create the empty file that a state will be saved to."""

    file: str
    kind: Literal["prepare"] = "prepare"


@dataclass(frozen=True)
class ForgetFile(ForSide[None]):
    """Remove a file."""

    file: str
    kind: Literal["forget"] = "forget"


@dataclass(frozen=True)
class ReadAgentLog(ForSide[str]):
    """Return the end of its agent's log."""

    kind: Literal["said"] = "said"


@dataclass(frozen=True)
class EndSide(ForSide[None]):
    """End its machine and its agent."""

    kind: Literal["end"] = "end"


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


@dataclass(frozen=True)
class ReceiveEvents(ForSide[SideEvents]):
    """Return what its agent reports beyond so many events, as soon as there is anything."""

    timeout_s: ClassVar[float] = 2.5
    """Its host answers sooner, also where there is nothing."""
    after: int
    kind: Literal["receive"] = "receive"


SideRequest: TypeAlias = Annotated[
    StartAgent
    | StartSideMachine
    | RunJob
    | ExecuteCommand
    | OrderAgent
    | SendSignal
    | CountSide
    | PrepareSnapshot
    | ForgetFile
    | ReadAgentLog
    | EndSide
    | ReceiveEvents,
    Field(discriminator="kind"),
]


class ForHalf(Request[Answer]):
    """For a host's part of a pair."""


@dataclass(frozen=True)
class InstallCredentials(ForHalf[None]):
    """Keep the certificate and the key that prove this host to be the pair's, and the authority to trust."""

    files: dict[str, str]
    kind: Literal["install_credentials"] = "install_credentials"

    def __repr__(self) -> str:
        return f"InstallCredentials({', '.join(self.files)})"


@dataclass(frozen=True)
class JoinNetwork(ForHalf[None]):
    """Join the pair's network, which is on all hosts."""

    network: WideNetwork
    kind: Literal["join"] = "join"


@dataclass(frozen=True)
class StartWitness(ForHalf[str]):
    """Start the witness; HOST:PORT where it answers."""

    kind: Literal["start_witness"] = "start_witness"


@dataclass(frozen=True)
class KillWitness(ForHalf[None]):
    """Kill the witness."""

    kind: Literal["kill_witness"] = "kill_witness"


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
    build: str
    """QEMU's."""
    is_known: bool
    """Whether that build has passed the gate."""


@dataclass(frozen=True)
class MakeHalf(ForHalf[HalfFacts]):
    """Make what sides need."""

    timeout_s: ClassVar[float] = HALF_S
    machine: Json
    """As it is declared."""
    network: str
    witness: str
    kind: Literal["make"] = "make"


@dataclass(frozen=True)
class BootSide(ForHalf[str]):
    """Boot the machine, and keep its state and its disk for that side; how it started."""

    timeout_s: ClassVar[float] = HALF_S
    side: str
    kind: Literal["boot"] = "boot"


@dataclass(frozen=True)
class RememberBuild(ForHalf[None]):
    """Note that the build of QEMU has passed the gate."""

    kind: Literal["remember"] = "remember"


@dataclass(frozen=True)
class OfferFile(ForHalf[int]):
    """Serve a file to the pair's other hosts; the port."""

    file: str
    kind: Literal["offer"] = "offer"


@dataclass(frozen=True)
class WithdrawFile(ForHalf[None]):
    """Stop serving the file of that port."""

    port: int
    kind: Literal["withdraw"] = "withdraw"


@dataclass(frozen=True)
class FetchFile(ForHalf[None]):
    """Copy a file that another host serves."""

    timeout_s: ClassVar[float] = CARRY_S
    file: str
    host: str
    port: int
    kind: Literal["fetch"] = "fetch"


@dataclass(frozen=True)
class AskSide(ForHalf[Any]):
    """Pass a message on to a side."""

    side: str
    request: SideRequest
    kind: Literal["ask_side"] = "ask_side"


HalfRequest: TypeAlias = Annotated[
    InstallCredentials
    | JoinNetwork
    | StartWitness
    | KillWitness
    | MakeHalf
    | BootSide
    | RememberBuild
    | OfferFile
    | WithdrawFile
    | FetchFile
    | AskSide,
    Field(discriminator="kind"),
]
