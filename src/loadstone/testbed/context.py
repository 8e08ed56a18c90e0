"""What machines of a testbed stand on: a journal for all that is made, networks, machines by what users declared."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from loadstone.host.cores import core_list
from loadstone.model.errors import PlatformError
from loadstone.model.machine import PRIVATE, PUBLIC, Lines, MachineSpec, Placement
from loadstone.platforms.contract import Attachment, Machine, MachineContext, Platform
from loadstone.platforms.fabric import Fabric, NetworkInterface
from loadstone.platforms.journal import ResourceJournal, open_journal
from loadstone.platforms.registry import described, platform_kind

LOOPBACK = "127.0.0.1"


@dataclass
class TestbedContext:
    """What machines of one testbed share."""

    logs: Path
    journal: ResourceJournal
    fabric: Fabric
    stack: AsyncExitStack
    machines: dict[str, Machine] = field(default_factory=dict)
    hosts: list[str] = field(default_factory=list)
    """The host's own addresses on the public networks of its machines."""

    async def machine(self, name: str, spec: MachineSpec, networks: Sequence[str], listen: str = LOOPBACK) -> Machine:
        """A machine, up until the testbed goes down. Raises PlatformError."""
        if name in self.machines:
            raise PlatformError(f"There is a machine `{name}` already. Give the second one another name.")
        platform = await _able(spec)
        attachment = platform.attachment(spec)
        linked = networks if attachment is not Attachment.NONE else ()
        nics = {network: await self._link(name, spec, network, attachment) for network in linked}
        self.hosts += [nics[PUBLIC].host] if PUBLIC in nics else []
        site = MachineContext(name, spec, self.logs, self.journal, nics, described(spec), listen)
        self.machines[name] = await self.stack.enter_async_context(platform.machine(site))
        return self.machines[name]

    async def _link(self, name: str, spec: MachineSpec, network: str, attachment: Attachment) -> NetworkInterface:
        speed = spec.mbit_per_s if network == PUBLIC else None
        own = network == PUBLIC and spec.lines is Lines.OWN
        bridge = f"{network}{len(self.fabric.networks) + 1}" if own else network
        if attachment in (Attachment.TAP, Attachment.TWO_TAPS):
            return await self.fabric.tap(bridge, speed, has_twin=attachment is Attachment.TWO_TAPS)
        return await self.fabric.link(bridge, f"{self.journal.name}-{name}", speed)


@asynccontextmanager
async def open_testbed(logs: Path) -> AsyncIterator[TestbedContext]:
    """A new one; all on it is gone when the block ends."""
    async with open_journal() as journal, AsyncExitStack() as stack:
        yield TestbedContext(logs, journal, Fabric(journal), stack)


async def refuse_impossible(placement: Placement) -> None:
    """Raises PlatformError for what cannot be placed here, before anything is made."""
    for spec in (placement.machine, placement.backend):
        await _able(spec)
        for turn in spec.pin.split("/") if spec.pin else ():
            core_list(turn)
        is_bridged(spec)


async def _able(spec: MachineSpec) -> Platform:
    """The platform of a machine; raises PlatformError with its reason when it cannot make it here."""
    platform = platform_kind(spec.platform).maker
    missing = await platform.missing(spec)
    if missing:
        raise PlatformError(missing)
    return platform


def is_bridged(spec: MachineSpec) -> bool:
    """Whether a machine has lines of its own; raises PlatformError where it cannot have what it asks for."""
    return platform_kind(spec.platform).maker.attachment(spec) is not Attachment.NONE


def networks_beside(peer: MachineSpec) -> tuple[str, ...]:
    """Networks of a machine that users reach: the private one too when the peer it asks has lines of its own."""
    return (PUBLIC, PRIVATE) if is_bridged(peer) else (PUBLIC,)


def alike(spec: MachineSpec, name: str) -> list[tuple[str, MachineSpec]]:
    """A declared machine as often as it counts, with names."""
    if spec.count == 1:
        return [(name, spec.number(0))]
    return [(f"{name}-{at + 1}", spec.number(at)) for at in range(spec.count)]
