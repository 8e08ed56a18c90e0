"""The sides of a pair over hosts, as its coordinator makes and knows them, and the network that they are in."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadstone.fleet.contract import FleetError
from loadstone.fleet.pairs.remote_side import HalfHost, RemoteSide
from loadstone.fleet.pairs.requests import HalfFacts
from loadstone.fleet.reserved import FleetHost
from loadstone.fleet.routes import forward
from loadstone.model.fleet import CARRY_NETWORK, LOG_NETWORK
from loadstone.model.machine import MINIMAL, PUBLIC, MachineSpec
from loadstone.platforms.contract import MachineContext
from loadstone.platforms.fabric import NetworkInterface, WideNetwork
from loadstone.platforms.maker import MachineMaker
from loadstone.platforms.pair.command import PairLayout, SideFiles
from loadstone.platforms.pair.disk import PairDisk
from loadstone.platforms.pair.side import Side
from loadstone.platforms.registry import describe_machine
from loadstone.platforms.vm.command import Layout, Sockets
from loadstone.platforms.vm.image import Image
from loadstone.platforms.vm.settings import Accelerator


def list_by_address(hosts: Sequence[FleetHost]) -> list[FleetHost]:
    """The first host of each address: several may be one machine."""
    return list({host.spec.address: host for host in reversed(hosts)}.values())


def connect_host(host: FleetHost, pair: str) -> HalfHost:
    """A host as one that may have a part of a pair."""
    spec = host.spec
    return HalfHost(host, pair, spec.address, spec.find_address(LOG_NETWORK), spec.find_address(CARRY_NETWORK))


async def join_from_here(wide: WideNetwork, own_address: str, hosted: Collection[str], here: MachineMaker) -> None:
    """Joins this machine to a pair's network where none of its hosts, at the addresses `hosted`, is this machine. It is
    the first member then, which passes on what is for elsewhere. Raises FleetError.
    """
    if own_address in hosted:
        return
    if wide.members[0].underlay != own_address:
        raise FleetError(
            f"The pair was created on the machine {wide.members[0].underlay}, and this is {own_address}. Run the "
            "command on that machine or on a host of the fleet."
        )
    await here.fabric.join(wide, wide.members[0])
    await forward(here.journal)


@dataclass
class SpreadSides:
    """Makes the sides of one pair, as they are known here."""

    name: str
    spec: MachineSpec
    network: WideNetwork
    halves_by_host: Mapping[str, HalfFacts]
    """What sides are made of, by host."""
    halves: Mapping[str, HalfHost]

    def build_nic(self, half: HalfFacts) -> NetworkInterface:
        """The machine's line, as its network knows it."""
        return NetworkInterface(self.network.name, half.tap, "", half.address, half.mac, half.gateway)

    def build_image(self, half: HalfFacts) -> Image:
        """The machine's image, whose files are on the hosts of its sides."""
        root = None if self.spec.image == MINIMAL else Path()
        return Image(self.spec.image, half.image, Path(), half.kernel, Path(), root)

    def create_side(self, name: str, home: HalfHost) -> RemoteSide:
        """A side of this name there, not started yet."""
        half = self.halves_by_host[home.host.name]
        disk = PairDisk(half.disk_mib)
        layout = PairLayout(
            self.name, self.spec.memory, self.build_image(half), self.build_nic(half), half.is_locked, disk
        )
        return RemoteSide(layout, SideFiles(Path(half.folder), name), half.tap, home=home)

    def make_secondary(self, name: str, primary: Side) -> RemoteSide:
        """A side on the other host. Raises FleetError where that has lost its part of the pair."""
        secondary = next((host for host in self.halves_by_host if host != primary.place), None)
        if secondary is None:
            raise FleetError(f"No host besides {primary.place} has a part of the pair {self.name} for a secondary.")
        return self.create_side(name, self.halves[secondary])

    def build_context(self, here: MachineMaker) -> MachineContext:
        """Builds what a machine here would be created from."""
        nics = {PUBLIC: self.build_nic(next(iter(self.halves_by_host.values())))}
        return MachineContext(self.name, self.spec, here.logs, here.journal, nics, describe_machine(self.spec))

    def build_guest(self, here: MachineMaker) -> Layout:
        """The same for what is told of it."""
        half = next(iter(self.halves_by_host.values()))
        nowhere = Sockets(Path(), Path(), here.logs / f"{self.name}-a-console.log")
        return Layout(self.name, self.spec, Accelerator.TCG, self.build_image(half), nowhere, ())
