"""A pair over three hosts: its sides on two, the witness on a third; all hosts are on one network with it."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from loadstone.fleet.cluster import CLUSTER_AUTHORITY, CLUSTER_CERTIFICATE, CLUSTER_KEY
from loadstone.fleet.contract import FleetError, Json
from loadstone.fleet.pairs.remote_side import HalfHost
from loadstone.fleet.pairs.requests import (
    BootSide,
    HalfFacts,
    InstallCredentials,
    JoinNetwork,
    KillWitness,
    MakeHalf,
    RememberBuild,
    StartWitness,
)
from loadstone.fleet.pairs.sides import SpreadSides, connect_host, join_from_here, list_by_address
from loadstone.fleet.reserved import FleetHost
from loadstone.fleet.routes import compute_wide_block
from loadstone.model.fleet import CARRY_NETWORK, LOG_NETWORK
from loadstone.model.machine import MachineSpec
from loadstone.platforms.fabric import Member, WideNetwork
from loadstone.platforms.kind import get_own_settings
from loadstone.platforms.maker import MachineMaker
from loadstone.platforms.pair.disk import Disks, PairSettings
from loadstone.platforms.pair.fitness import find_slow_links, find_unlike
from loadstone.platforms.pair.gate import pass_gate
from loadstone.platforms.pair.machine import PairMachine, run_until_stopped
from loadstone.platforms.pair.side import Side
from loadstone.platforms.subnets import find_free_subnet
from loadstone.services import reference

NO_TWO_HOSTS = (
    "The fleet cannot have a pair over hosts. It needs two hosts of role `system` and one of role `witness`, on three "
    "machines."
)
NUMBERS = 1 << 24
"""Networks are told apart by so many numbers (RFC 7348, section 5)."""


@dataclass(frozen=True)
class Homes:
    """The hosts of one pair."""

    first: FleetHost
    second: FleetHost
    witness: FleetHost

    @property
    def sides(self) -> tuple[FleetHost, FleetHost]:
        """Those that have a side."""
        return self.first, self.second

    @property
    def disclose(self) -> Json:
        """For the report."""
        return {"host": f"{self.first.name}+{self.second.name}", "witness": self.witness.name}


def advise(halves: Mapping[str, HalfFacts]) -> Json:
    """Names what had better be otherwise on the hosts of both sides, for the report; nothing where all is well."""
    clocks = [half.clock_mhz for half in halves.values() if half.clock_mhz]
    findings = find_unlike([half.processor for half in halves.values()], clocks)
    findings += find_slow_links({host: half.link_mbit_per_s for host, half in halves.items()})
    return {"advice": "; ".join(f"{finding.matter}: {finding.detail}" for finding in findings)} if findings else {}


@dataclass(frozen=True)
class SpreadPair:
    """A pair that is to be made over hosts."""

    homes: Homes
    hosts: Mapping[str, FleetHost]
    """All of the fleet."""
    own_address: str
    """Where they reach this machine."""

    async def start_machine(
        self, name: str, spec: MachineSpec, networks: Sequence[str], here: MachineMaker
    ) -> PairMachine:
        """Makes it, on a network of its own; it is gone with what `here` has made. Raises PlatformError."""
        return await here.stack.enter_async_context(self._machine(name, spec, here))

    @asynccontextmanager
    async def _machine(self, name: str, spec: MachineSpec, here: MachineMaker) -> AsyncIterator[PairMachine]:
        halves = {host.name: connect_host(host, name) for host in self._machines()}
        await _install_credentials(halves, self.homes)
        network = await self._network(halves, here)
        sides = [halves[host.name] for host in self.homes.sides]
        witness = halves[self.homes.witness.name]
        where = await witness.ask(StartWitness(get_own_settings(spec, PairSettings).lease_s))
        declared = {key: value for key, value in spec.declared.items() if key != "host"}
        message = MakeHalf(declared, network.name, where)
        both = await asyncio.gather(*(side.ask(message) for side in sides))
        _refuse_unlike(both, self.homes)
        facts = {side.host.name: half for side, half in zip(sides, both, strict=True)}
        maker = SpreadSides(name, spec, network, facts, halves)
        context, guest = maker.build_context(here), maker.build_guest(here)

        async def booted() -> list[Side]:
            first, second = maker.create_side("a", sides[0]), maker.create_side("b", sides[1])
            first.started = await sides[0].ask(BootSide("a"))
            carried = {first.files.state: second.files.state}
            if first.layout.disk.mib:
                carried[first.files.disk] = second.files.disk
            await second.fetch(first, carried, keeps=True)
            return [first, second]

        async def lose_store() -> None:
            await witness.ask(KillWitness())

        async with run_until_stopped(context, guest, booted, maker.make_secondary, lose_store) as machine:
            machine.facts |= advise(facts)
            machine.facts.update({**self.homes.disclose, "addresses": machine.facts.pop("networks")})
            if not all(half.is_known for half in both):
                await pass_gate(machine, both[0].build)
                await asyncio.gather(*(side.ask(RememberBuild()) for side in sides))
            async with machine.keep_running():
                yield machine

    def _machines(self) -> list[FleetHost]:
        """One host of each address, the pair's own first: several may be one machine."""
        return list_by_address((*self.homes.sides, self.homes.witness, *self.hosts.values()))

    async def _network(self, halves: Mapping[str, HalfHost], here: MachineMaker) -> WideNetwork:
        """Makes the network on all hosts, and on this machine where it is none of them: the first of its members, which
        passes on what is for elsewhere.
        """
        at_sides = {host.spec.address for host in self.homes.sides}
        reached = [self.own_address, *(half.address for half in halves.values() if half.address != self.own_address)]
        members = [Member(number, address, address in at_sides) for number, address in enumerate(reached, 1)]
        taken = [network.subnet for network in here.fabric.networks.values()]
        name = f"wide{secrets.token_hex(3)}"
        subnet = await asyncio.to_thread(find_free_subnet, compute_wide_block(), iter(taken))
        wide = WideNetwork(name, subnet, secrets.randbelow(NUMBERS), tuple(members))
        await asyncio.gather(*(half.ask(JoinNetwork(wide)) for half in halves.values()))
        await join_from_here(wide, self.own_address, [half.address for half in halves.values()], here)
        return wide


async def _install_credentials(halves: Mapping[str, HalfHost], homes: Homes) -> None:
    """Gives the three hosts a certificate of an authority that is of this pair alone."""
    specs = {home.spec.address: home.spec for home in (*homes.sides, homes.witness)}
    others = [spec.find_address(network) for spec in specs.values() for network in (LOG_NETWORK, CARRY_NETWORK)]
    files = await asyncio.to_thread(reference.create_certificate, [*dict.fromkeys([*specs, *others])])

    async def install(half: HalfHost) -> None:
        texts = (files[CLUSTER_CERTIFICATE], files[CLUSTER_KEY], files[CLUSTER_AUTHORITY])
        await half.ask(InstallCredentials(*texts, half.log_address, half.carry_address))

    await asyncio.gather(*(install(half) for half in halves.values() if half.address in specs))


def _refuse_unlike(halves: Sequence[HalfFacts], homes: Homes) -> None:
    """Raises FleetError where sides of these hosts would not be copies of each other."""
    first, second = halves
    unlike = {
        "images for machines": (first.image, second.image),
        "guest kernels": (first.kernel, second.kernel),
        "builds of QEMU": (first.build, second.build),
    }
    for title, (first_value, second_value) in unlike.items():
        if first_value != second_value:
            names = " and ".join(host.name for host in homes.sides)
            remedy = "Install the same packages and the same Loadstone on both."
            raise FleetError(f"{names} have different {title}: {first_value:.40} and {second_value:.40}. {remedy}")


def explain_one_host(spec: MachineSpec) -> str:
    """Why the machine is on one host; empty where its sides may be on two."""
    settings = get_own_settings(spec, PairSettings)
    if settings.disks is Disks.SHARED:
        return "A shared disk requires both sides on one host. Use `disks=replicated`, or name one host."
    if settings.restart:
        return "A pair that is restarted from its disk has both sides on one host. Name one host with `restart=true`."
    if not settings.protected:
        return "A machine without protection runs on one host. Name one host with `protected=false`."
    return ""


def check_homes(*sides: FleetHost, witness: FleetHost, spec: MachineSpec) -> Homes:
    """These hosts, for a pair. Raises FleetError where it would not be one."""
    names = "+".join(host.name for host in sides)
    if len(sides) != 2:
        raise FleetError(f"`host={names}` names {len(sides)} hosts, but a pair has two sides. Name two hosts.")
    if reason := explain_one_host(spec):
        raise FleetError(reason)
    if len({host.spec.address for host in (*sides, witness)}) < 3:
        raise FleetError(
            f"{names} and the witness {witness.name} are not on three machines, so no pair survives a failure. "
            "Use three machines."
        )
    return Homes(*sides, witness)
