"""A fleet while a run uses it: its hosts reserved, checked and beating, and everything undone at the end."""

import asyncio
import contextlib
import getpass
import os
import re
import socket
from collections import Counter
from collections.abc import AsyncIterator, Container, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from loadstone.fleet.cluster import find_head_host
from loadstone.fleet.contract import Fleet, FleetError
from loadstone.fleet.dealing import Dealer, Room
from loadstone.fleet.pairs.spread import NO_TWO_HOSTS, Homes, SpreadPair, check_homes, explain_one_host
from loadstone.fleet.remote import RemoteMachine
from loadstone.fleet.requests import (
    AddRoute,
    CollectLogs,
    MakeMachine,
    ReleaseHost,
    StartDriver,
    StopDriver,
    TakeHost,
)
from loadstone.fleet.reserved import BEAT_S, FleetHost
from loadstone.fleet.routes import add_route, compute_block
from loadstone.host.secrets import join_token
from loadstone.host.tasks import end_tasks
from loadstone.model.fleet import COORDINATOR_SPARE_S, FleetSpec, HostRole
from loadstone.model.machine import PUBLIC, MachineSpec
from loadstone.platforms.contract import Attachment
from loadstone.platforms.journal import ResourceJournal
from loadstone.platforms.maker import MachineMaker
from loadstone.platforms.pair.fitness import MOST_PAIRS_A_CORE
from loadstone.platforms.registry import get_platform_kind

ENGINE_FAILURES = 2
"""Looks at the engine in a row that fail before all hosts count as lost: a busy host may miss the time of one."""


@dataclass
class OpenFleet:
    """All hosts of a run."""

    spec: FleetSpec
    hosts: dict[str, FleetHost]
    own_address: str
    """Where the hosts reach this process's machine."""
    dealer: Dealer
    logs: Path
    """Folder that gets what was written on hosts."""
    homes: dict[str, str] = field(default_factory=dict)
    """Hosts of machines that belong together."""
    primaries: Counter[str] = field(default_factory=Counter)
    """Number of pairs whose primary began on a host."""
    sides: Counter[str] = field(default_factory=Counter)
    """Number of pairs with a side on a host."""
    leading: set[str] = field(default_factory=set)
    """Hosts to whose machines all others know a way."""
    unreleased: dict[str, str] = field(default_factory=dict)
    """Hosts that could not be released at the end, with the reason: what ran there may still run."""

    @property
    def driver_hosts(self) -> tuple[str, ...]:
        """Hosts that make load."""
        return self.spec.with_role(HostRole.DRIVER)

    def place_of(self, spec: MachineSpec, together: str = "") -> "_Placed | SpreadPair | None":
        """Returns the host or pair that a machine is made on, None for this host if no host is for systems. Raises
        FleetError.
        """
        if not self.dealer.rooms and not spec.host:
            return None
        homes = self._homes_of(spec, together) if _is_two(spec) else None
        if homes is not None:
            self.primaries[homes.first.name] += 1
            self.sides.update(host.name for host in homes.sides)
            return SpreadPair(homes, self.hosts, self.own_address)
        return _Placed(self, self._system_host(spec.host or self._dealt(spec, together)))

    def choose_pair_hosts(self, spec: MachineSpec) -> list[FleetHost]:
        """Chooses the hosts of a pair's sides. Raises FleetError where the fleet cannot have a pair over hosts."""
        place = self.place_of(spec)
        if not isinstance(place, SpreadPair):
            raise FleetError(NO_TWO_HOSTS)
        return list(place.homes.sides)

    def _system_host(self, name: str) -> FleetHost:
        """A host for systems by its name. Raises FleetError."""
        host = self.hosts.get(name)
        if host is None or HostRole.SYSTEM not in host.spec.roles:
            fitting = ", ".join(self.spec.with_role(HostRole.SYSTEM)) or "none"
            raise FleetError(f"`{name}` is not a host of role `system` in this fleet. Hosts of that role: {fitting}.")
        return host

    def _dealt(self, spec: MachineSpec, together: str, but: Container[str] = ()) -> str:
        """The host of those that it comes together with, where there are any; else one that it is dealt to."""
        name = self.homes.get(together, "")
        if not name or name in but:
            name = self.dealer.choose_host([compute_size(spec)], but)
        if together:
            self.homes.setdefault(together, name)
        return name

    def _homes_of(self, spec: MachineSpec, together: str) -> Homes | None:
        """The hosts of a pair: two that are named, or dealt where the fleet has a witness and two machines apart from
        it; None where it is whole on one. Raises FleetError.
        """
        named = spec.host.split("+") if spec.host else []
        witness = next((self.hosts[name] for name in self.spec.with_role(HostRole.WITNESS) if name not in named), None)
        if len(named) == 1 or (not named and (witness is None or explain_one_host(spec))):
            return None
        if witness is None:
            raise FleetError(f"The fleet has no host of role `witness` besides {' and '.join(named)}. Add one.")
        if named:
            return check_homes(*(self._system_host(name) for name in named), witness=witness, spec=spec)
        witness_hosts = self._hosts_at(witness)
        if len({self.hosts[name].spec.address for name in self.dealer.rooms if name not in witness_hosts}) < 2:
            return None
        taken = witness_hosts | self._find_full_hosts(witness_hosts)
        first = self._system_host(self._dealt(spec, together, taken))
        second = self._system_host(self.dealer.choose_host([compute_size(spec)], taken | self._hosts_at(first)))
        if not together and self.primaries[first.name] > self.primaries[second.name]:
            first, second = second, first  # the primaries of two hosts are crossed: each replays for the other
        return check_homes(first, second, witness=witness, spec=spec)

    def _hosts_at(self, host: FleetHost) -> set[str]:
        """Hosts that are the same machine as one."""
        return {name for name, peer in self.hosts.items() if peer.spec.address == host.spec.address}

    def _find_full_hosts(self, witness_hosts: set[str]) -> set[str]:
        """Hosts with sides of as many pairs as are advised. Raises FleetError where fewer than two others are left."""
        full = {name for name, count in self.sides.items() if count >= MOST_PAIRS_A_CORE}
        free = [name for name in self.dealer.rooms if name not in full | witness_hosts]
        if full and len({self.hosts[name].spec.address for name in free}) < 2:
            raise FleetError(
                f"{', '.join(sorted(full))} have sides of {MOST_PAIRS_A_CORE} pairs each, and more disturb each other. "
                "Add a host of role `system`, or name two hosts with `host=A+B`."
            )
        return full

    def settle(self, together: str, specs: Sequence[MachineSpec]) -> None:
        """Chooses the host of machines that come together before the first is made. Raises FleetError."""
        if self.dealer.rooms:
            self.homes[together] = self.dealer.choose_host([compute_size(spec) for spec in specs])

    async def add_routes(self, host: FleetHost, journal: ResourceJournal) -> None:
        """Shows all other hosts, and this one, the way to a host's machines. Raises FleetError."""
        if host.name in self.leading:
            return
        self.leading.add(host.name)
        block = compute_block(host.number)
        others = [peer for peer in self.hosts.values() if peer.spec.address != host.spec.address]
        await asyncio.gather(*(peer.ask(AddRoute(block, host.spec.address)) for peer in others))
        if host.spec.address != self.own_address:
            await add_route(journal, block, host.spec.address)

    def describe_dead(self) -> str:
        """Which hosts and drivers have ended that should not, and how."""
        ends = list(_losses(list(self.hosts.values())))
        for host in self.hosts.values():
            bad = [(name, state.end) for name, state in host.drivers.items() if state.end and not state.is_well]
            ends += [f"the driver {name} on {host.name} ({end})" for name, end in bad]
        return ", ".join(ends)

    def name_hosts_in(self, text: str) -> str:
        """A text in which drivers have the names of their hosts instead of addresses."""
        for name in self.driver_hosts:
            address = re.escape(self.hosts[name].spec.address)
            text = re.sub(rf"the driver at {address}:[0-9]+", f"the driver on {name}", text)
        return text

    @asynccontextmanager
    async def start_drivers(self, job: str, leader: str, names: Sequence[str]) -> AsyncIterator[None]:
        """Drivers on these hosts that join the one that leads there; gone when the block ends, their logs kept."""
        driver_names = {name: f"{job}-{name}" for name in names}
        try:
            drivers = {host: StartDriver(name, leader, join_token()) for host, name in driver_names.items()}
            await asyncio.gather(*(self.hosts[host].ask(driver) for host, driver in drivers.items()))
            yield
        finally:
            await asyncio.gather(*(self._stop(host, name) for host, name in driver_names.items()))

    async def _stop(self, host: str, name: str) -> None:
        with contextlib.suppress(FleetError):
            self._keep(host, {f"{name}.log": await self.hosts[host].ask(StopDriver(name))})

    async def collect(self) -> None:
        """Fetches what services and machines wrote, from hosts that are still there."""
        for name, host in self.hosts.items():
            with contextlib.suppress(FleetError):
                self._keep(name, await host.ask(CollectLogs()))

    def _keep(self, host: str, logs: dict[str, str]) -> None:
        folder = self.logs / host
        for name, text in logs.items():
            folder.mkdir(parents=True, exist_ok=True)
            (folder / Path(name).name).write_text(text)


def _losses(hosts: Sequence[FleetHost]) -> Iterator[str]:
    """Lost hosts in words, those together that one reason took."""
    for why in dict.fromkeys(host.why for host in hosts if host.lost):
        lost = [host for host in hosts if host.why == why]
        if len(lost) == 1:
            yield lost[0].lost
        else:
            yield f"the hosts {', '.join(host.name for host in lost)} were lost: {why}"


@dataclass(frozen=True)
class _Placed:
    """A host that a machine is to be made on."""

    fleet: OpenFleet
    host: FleetHost

    async def start_machine(
        self, name: str, spec: MachineSpec, networks: Sequence[str], here: MachineMaker
    ) -> RemoteMachine:
        """Starts the machine on its host. Raises PlatformError."""
        declared = {key: value for key, value in spec.declared.items() if key != "host"}
        if get_platform_kind(spec.platform).maker.choose_attachment(spec) is not Attachment.NONE:
            await self.fleet.add_routes(self.host, here.journal)
        lines = dict.fromkeys((PUBLIC, *networks))  # other hosts reach it by the public one alone
        machine = RemoteMachine(self.host, name, await self.host.ask(MakeMachine(name, declared, list(lines))))
        self.host.machines[name] = machine
        return machine


def _is_two(spec: MachineSpec) -> bool:
    return get_platform_kind(spec.platform).maker.choose_attachment(spec) is Attachment.TWO_TAPS


def compute_size(spec: MachineSpec) -> Room:
    """Returns the cores and memory that a machine takes of its host. A machine that shares the host takes only its
    pinned cores.
    """
    if get_platform_kind(spec.platform).shares_host:
        return Room(spec.cpus or 0, 0)
    return Room(spec.cpus or 1, spec.memory)


def get_own_name() -> str:
    """Returns the name of this coordinator, which others see who want the same hosts."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # containers have users without a name
        user = f"user {os.getuid()}"
    return f"{user} on {socket.gethostname()}, process {os.getpid()}"


@asynccontextmanager
async def open_fleet(spec: FleetSpec, engine: Fleet, logs: Path) -> AsyncIterator[OpenFleet]:
    """Reserves all hosts of a fleet; they are given free when the block ends, with all on them undone.

    Raises FleetError for hosts that are not there, are in use, or have another version of Loadstone.
    """
    hosts = {
        name: FleetHost(name, host, engine, index, spec.silence_s)
        for index, (name, host) in enumerate(spec.hosts.items())
    }
    try:
        await engine.reserve(list(hosts))
        await asyncio.gather(*(_take(host) for host in hosts.values()))
        rooms = {name: _room(hosts[name]) for name in spec.with_role(HostRole.SYSTEM)}
        fleet = OpenFleet(spec, hosts, find_head_host(spec), Dealer(spec.dealing, rooms), logs)
        beating = [asyncio.create_task(host.beat()) for host in hosts.values()]
        beating.append(asyncio.create_task(_watch(engine, hosts)))
        try:
            yield fleet
            await fleet.collect()
        finally:
            await end_tasks(beating)
            await asyncio.gather(*(_give(host, fleet.unreleased) for host in hosts.values()))
    finally:
        await engine.release()


async def _watch(engine: Fleet, hosts: Mapping[str, FleetHost]) -> None:
    """Gives all hosts up when the engine fails, each time in a row that it is looked at: their supervisors might answer
    on, but nobody would be told of the next death.
    """
    failures = 0
    while failures < ENGINE_FAILURES:
        why = await engine.describe_failure()
        failures = failures + 1 if why else 0
        await asyncio.sleep(BEAT_S)
    for host in hosts.values():
        host.lose(why)


async def _take(host: FleetHost) -> None:
    host.facts = await host.ask(
        TakeHost(get_own_name(), compute_block(host.number), host.silence_s + COORDINATOR_SPARE_S)
    )
    host_version, this_version = host.facts["version"], version("loadstone")
    if host_version != this_version:
        raise FleetError(
            f"{host.name} has Loadstone {host_version}, this is {this_version}. `loadstone fleet up` installs it there."
        )


def _room(host: FleetHost) -> Room:
    return Room(int(host.facts["cores"]), host.spec.memory or int(host.facts["memory_mib"]))


async def _give(host: FleetHost, unreleased: dict[str, str]) -> None:
    try:
        await host.ask(ReleaseHost())
    except FleetError as error:
        unreleased[host.name] = str(error)
