"""A pair over hosts whose coordinator is gone, taken over by the next one."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from loadstone.fleet.contract import FleetError
from loadstone.fleet.open import OpenFleet
from loadstone.fleet.pairs.remote_side import HalfHost
from loadstone.fleet.pairs.requests import (
    AdoptedHalf,
    AdoptHalf,
    HalfFacts,
    InstallCredentials,
    JoinNetwork,
    KillWitness,
    LeaveHalf,
    MakeHalf,
    ReadCredentials,
)
from loadstone.fleet.pairs.sides import SpreadSides, connect_host, join_from_here, list_by_address
from loadstone.fleet.requests import ListPairs
from loadstone.model.machine import MachineSpec
from loadstone.platforms.maker import MachineMaker
from loadstone.platforms.pair.adoption import adopt_machine
from loadstone.platforms.pair.machine import PairMachine
from loadstone.platforms.pair.record import read_number
from loadstone.platforms.pair.side import Side
from loadstone.platforms.registry import read_machine


class PairEndedError(FleetError):
    """No machine of the pair lives on any host."""


@asynccontextmanager
async def adopt_spread_pair(fleet: OpenFleet, name: str, here: MachineMaker) -> AsyncIterator[PairMachine]:
    """Takes over a pair that lives on hosts of a fleet, and ends it when the block ends. Raises PlatformError where it
    has ended; where the takeover fails otherwise, the pair continues.
    """
    halves = {host.name: connect_host(host, name) for host in list_by_address([*fleet.hosts.values()])}
    async with leave_unless_adopted(halves) as living:
        adopted = await adopt_halves(name, living)
        network = next(iter(adopted.values())).network
        addresses = [half.address for half in living.values()]
        members = {member.underlay for member in network.members}
        at_sides = {member.underlay for member in network.members if member.is_side}
        others = [half for half in halves.values() if half.address in members - {*at_sides, *addresses}]
        await asyncio.gather(*(half.ask(JoinNetwork(network)) for half in others))
        await join_from_here(network, fleet.own_address, [half.address for half in halves.values()], here)
        facts = {host: half.facts for host, half in adopted.items() if half.facts is not None}
        facts |= await restore_halves(halves, adopted)
        sides = SpreadSides(name, _find_declared(name, adopted), network, facts, halves)
        machine = await _adopt_machine(sides, adopted, here)
    try:
        async with machine.keep_running():
            yield machine
    finally:
        await machine.agent.close()
        await machine.end_sides()


@asynccontextmanager
async def leave_unless_adopted(halves: Mapping[str, HalfHost]) -> AsyncIterator[dict[str, HalfHost]]:
    """Hosts with a part of the pair that lives, by name. Where the block does not take the pair over, they leave it to
    its lease, but where no machine of it lives. Raises PairEndedError where no part does.
    """
    names_by_host = await asyncio.gather(*(half.host.ask(ListPairs()) for half in halves.values()))
    living = {
        host: half for (host, half), names in zip(halves.items(), names_by_host, strict=True) if half.pair in names
    }
    try:
        yield living
    except PairEndedError:
        raise
    except BaseException:
        await asyncio.gather(*(half.ask(LeaveHalf()) for half in living.values()), return_exceptions=True)
        raise


async def adopt_halves(name: str, living: Mapping[str, HalfHost]) -> dict[str, AdoptedHalf]:
    """Takes over the parts of a pair, by host. Raises PairEndedError where none has a machine."""
    answers = await asyncio.gather(*(half.ask(AdoptHalf()) for half in living.values()))
    adopted = dict(zip(living, answers, strict=True))
    if not any(half.sides for half in adopted.values()):
        raise PairEndedError(
            f"No host of the fleet has a machine of the pair `{name}`: it has ended, or its lease is over."
        )
    return adopted


async def restore_halves(halves: Mapping[str, HalfHost], adopted: Mapping[str, AdoptedHalf]) -> dict[str, HalfFacts]:
    """Makes the parts of hosts that had a side and have lost it, from those that live; what sides there are made of,
    by host. Such a host is in the pair's network already. Raises PlatformError.
    """
    living = next(host for host, half in adopted.items() if half.machine is not None)
    machine, network, witness = adopted[living].machine, adopted[living].network, adopted[living].witness
    at_sides = {member.underlay for member in network.members if member.is_side}
    lost = {host: half for host, half in halves.items() if half.address in at_sides and host not in adopted}
    if machine is None or not lost:
        return {}
    known = await halves[living].ask(ReadCredentials())
    facts = {}
    for host, half in lost.items():
        addresses = (half.log_address, half.carry_address)
        await half.ask(InstallCredentials(known.certificate, known.key, known.authority, *addresses))
        await half.ask(JoinNetwork(network))
        facts[host] = await half.ask(MakeHalf(machine, network.name, witness))
    return facts


def _find_declared(name: str, adopted: Mapping[str, AdoptedHalf]) -> MachineSpec:
    machine = next((half.machine for half in adopted.values() if half.machine is not None), None)
    if machine is None:
        raise FleetError(f"No host knows what the machine of the pair `{name}` is made of.")
    return read_machine(machine)


async def _adopt_machine(maker: SpreadSides, adopted: Mapping[str, AdoptedHalf], here: MachineMaker) -> PairMachine:
    sides: list[Side] = []
    numbered = [(side, host) for host, half in adopted.items() for side in half.sides]
    for known, host in sorted(numbered, key=lambda entry: (read_number(entry[0].name), entry[0].name)):
        side = maker.create_side(known.name, maker.halves[host])
        await side.adopt(known.started)
        sides.append(side)

    async def lose_store() -> None:
        await asyncio.gather(*(maker.halves[host].ask(KillWitness()) for host in adopted))

    sides_made = max(read_number(side.files.name) + 1 for side in sides)
    return await adopt_machine(
        maker.build_context(here), maker.build_guest(here), sides, maker.make_secondary, lose_store, sides_made
    )
