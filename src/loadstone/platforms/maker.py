"""Making machines of all platforms on this host: what they share is a journal of all that is made, and networks."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from pathlib import Path

from loadstone.model.errors import PlatformError
from loadstone.model.machine import ALL_PUBLIC_NETWORKS, PUBLIC, Lines, MachineSpec, list_public_networks
from loadstone.platforms.contract import Attachment, Machine, MachineContext, Platform
from loadstone.platforms.fabric import Fabric, NetworkInterface, TapOptions
from loadstone.platforms.journal import ResourceJournal, open_journal
from loadstone.platforms.kind import get_own_settings
from loadstone.platforms.registry import describe_machine, get_platform_kind
from loadstone.platforms.subnets import BLOCK
from loadstone.platforms.vm.settings import NetworkSettings


@dataclass
class MachineMaker:
    """Makes machines that are up until its block ends."""

    logs: Path
    journal: ResourceJournal
    fabric: Fabric
    stack: AsyncExitStack
    hosts: list[str] = field(default_factory=list)
    """The host's own addresses on the public networks of its machines."""

    async def start_machine(self, name: str, spec: MachineSpec, networks: Sequence[str], listen: str) -> Machine:
        """A machine; without lines of its own its services listen at the host's address `listen`. Raises
        PlatformError.
        """
        platform = await require_platform(spec)
        attachment = platform.choose_attachment(spec)
        linked = _list_lines(spec, networks) if attachment is not Attachment.NONE else ()
        nics = {network: await self._link(name, spec, network, attachment) for network in linked}
        self.hosts += [nics[PUBLIC].host] if PUBLIC in nics else []
        site = MachineContext(name, spec, self.logs, self.journal, nics, describe_machine(spec), listen)
        return await self.stack.enter_async_context(platform.start_machine(site))

    async def _link(self, name: str, spec: MachineSpec, network: str, attachment: Attachment) -> NetworkInterface:
        is_public = network in ALL_PUBLIC_NETWORKS
        speed = spec.mbit_per_s if is_public else None
        settings = get_own_settings(spec, NetworkSettings)
        outer = settings.choose_bridge(ALL_PUBLIC_NETWORKS.index(network)) if is_public else ""
        bridge = self._choose_network(network, spec.lines, outer)
        if attachment in (Attachment.TAP, Attachment.TWO_TAPS):
            options = TapOptions(speed, settings.queues, settings.mtu or 0, outer)
            return await self.fabric.create_tap(bridge, options, has_twin=attachment is Attachment.TWO_TAPS)
        return await self.fabric.link(bridge, f"{self.journal.name}-{name}", speed, is_default_route=network == PUBLIC)

    def _choose_network(self, network: str, lines: Lines, outer: str) -> str:
        """Returns the name of a machine's network. Machines on several bridges of the host are on several networks, so
        that no bridge is connected with another.
        """
        another = f"{network}{len(self.fabric.networks) + 1}"
        if network in ALL_PUBLIC_NETWORKS and lines is Lines.OWN:
            return another
        return (self.fabric.find_joined(outer) or another) if outer else network


def _list_lines(spec: MachineSpec, networks: Sequence[str]) -> list[str]:
    """Returns the networks of a machine: each of its public networks in place of the public one."""
    public = list_public_networks(spec.public_networks)
    return [line for network in networks for line in (public if network == PUBLIC else (network,))]


@asynccontextmanager
async def open_maker(logs: Path, block: IPv4Network = BLOCK) -> AsyncIterator[MachineMaker]:
    """A new one, whose networks are of this block of addresses; all that it made is gone when the block ends."""
    async with open_journal() as journal, AsyncExitStack() as stack:
        yield MachineMaker(logs, journal, Fabric(journal, block), stack)


async def require_platform(spec: MachineSpec) -> Platform:
    """The platform of a machine; raises PlatformError with its reason when it cannot make it here."""
    platform = get_platform_kind(spec.platform).maker
    missing = await platform.explain_missing(spec)
    if missing:
        raise PlatformError(missing)
    return platform
