"""The ground of a testbed: a journal for all that is made, networks, and places on them by what users declared."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from loadstone.host.cores import core_list
from loadstone.model.errors import PlatformError
from loadstone.model.machine import PRIVATE, PUBLIC, Lines, MachineSpec, Placement
from loadstone.platforms.contract import Attachment, MachineContext, Place, Platform
from loadstone.platforms.fabric import Fabric, NetworkInterface
from loadstone.platforms.journal import ResourceJournal, open_journal
from loadstone.platforms.registry import described, platform_kind

LOOPBACK = "127.0.0.1"


@dataclass
class TestbedContext:
    """What places of one testbed share."""

    logs: Path
    journal: ResourceJournal
    fabric: Fabric
    stack: AsyncExitStack
    places: dict[str, Place] = field(default_factory=dict)
    hosts: list[str] = field(default_factory=list)
    """The host's own addresses on the public networks of its machines."""

    async def place(self, name: str, machine: MachineSpec, networks: Sequence[str], listen: str = LOOPBACK) -> Place:
        """A place, up until the testbed goes down. Raises PlatformError."""
        if name in self.places:
            raise PlatformError(f"There is a machine `{name}` already. Give the second one another name.")
        platform = await _able(machine)
        attachment = platform.attachment(machine)
        linked = networks if attachment is not Attachment.NONE else ()
        nics = {network: await self._link(name, machine, network, attachment) for network in linked}
        self.hosts += [nics[PUBLIC].host] if PUBLIC in nics else []
        site = MachineContext(name, machine, self.logs, self.journal, nics, described(machine), listen)
        self.places[name] = await self.stack.enter_async_context(platform.place(site))
        return self.places[name]

    async def _link(self, name: str, machine: MachineSpec, network: str, attachment: Attachment) -> NetworkInterface:
        rate = machine.rate if network == PUBLIC else None
        own = network == PUBLIC and machine.lines is Lines.OWN
        bridge = f"{network}{len(self.fabric.networks) + 1}" if own else network
        if attachment is Attachment.TAP:
            return await self.fabric.tap(bridge, rate)
        return await self.fabric.cable(bridge, f"{self.journal.name}-{name}", rate)


@asynccontextmanager
async def ground(logs: Path) -> AsyncIterator[TestbedContext]:
    """New ground; all on it is gone when the block ends."""
    async with open_journal() as journal, AsyncExitStack() as stack:
        yield TestbedContext(logs, journal, Fabric(journal), stack)


async def refuse_impossible(placement: Placement) -> None:
    """Raises PlatformError for what cannot be placed here, before anything is made."""
    for machine in (placement.machine, placement.backend):
        await _able(machine)
        for turn in machine.pin.split("/") if machine.pin else ():
            core_list(turn)
        is_bridged(machine)


async def _able(machine: MachineSpec) -> Platform:
    """The platform of a machine; raises PlatformError with its reason when it cannot make it here."""
    platform = platform_kind(machine.platform).maker
    missing = await platform.missing(machine)
    if missing:
        raise PlatformError(missing)
    return platform


def is_bridged(machine: MachineSpec) -> bool:
    """Whether a machine has lines of its own; raises PlatformError where it cannot have what it asks for."""
    return platform_kind(machine.platform).maker.attachment(machine) is not Attachment.NONE


def networks_beside(peer: MachineSpec) -> tuple[str, ...]:
    """Networks of a machine that users reach: the private one too when the peer it asks has lines of its own."""
    return (PUBLIC, PRIVATE) if is_bridged(peer) else (PUBLIC,)


def alike(machine: MachineSpec, name: str) -> list[tuple[str, MachineSpec]]:
    """A declared machine as often as it counts, with names."""
    if machine.count == 1:
        return [(name, machine.number(0))]
    return [(f"{name}-{at + 1}", machine.number(at)) for at in range(machine.count)]
