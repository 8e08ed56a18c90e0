"""Tiles as a system under test: six roles each, on their machines and networks, all up at once."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path

from loadstone.fleet.open import OpenFleet
from loadstone.model.machine import MINIMAL, PUBLIC, MachineSpec
from loadstone.model.role import MachineRole
from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.model.target import Target
from loadstone.model.tile import NETWORKS, Role, Tile
from loadstone.model.workload import ServerNeeds
from loadstone.platforms.contract import Machine
from loadstone.platforms.registry import RoleSettings, described, of_copy, of_role, platform_kind
from loadstone.services.registry import service_kind
from loadstone.testbed.context import LOOPBACK, TestbedContext, is_bridged, open_testbed
from loadstone.testbed.deploy import DeploymentChoices, deploy
from loadstone.testbed.running import Running
from loadstone.testbed.shared_folder import downloads as filling
from loadstone.testbed.shared_folder import mounting, sharing, way_of
from loadstone.testbed.software import with_software
from loadstone.testbed.start import site_on, start_service
from loadstone.testbed.up import Testbed
from loadstone.topologies.tile import APPLICATIONS, TileApplication

DOWNLOADS_MIB = 20
"""Downloads of up to 6 MB for four sessions of the support site, rounded up (docs/web-workloads.md, File sets)."""


@dataclass(frozen=True)
class TilesSystem:
    """What is put up."""

    tile: Tile
    tiles: int
    machine: MachineSpec
    """Platform and settings of all machines; sizes come from the tile where they have one."""
    database: str = EMBEDDED
    """Service that keeps the application's data."""
    imap: str = EMBEDDED
    """Service that keeps the mail."""
    store: str = EMBEDDED
    """How the web role gets its downloads of the infra role: over HTTP, or from a folder it shares."""
    hosts: tuple[str, ...] = ()
    """Hosts of the fleet that tiles are on, in turn; dealt to its hosts without."""
    heartbeats: bool = False
    """Whether every machine answers heartbeats, not only the idle one."""
    machine_roles: RoleSettings = field(default_factory=dict)
    """Settings of single machines, by role or by tile and role."""

    def machine_of(self, number: int, role: Role) -> MachineSpec:
        """The machine of a role of a tile, counted from 1; what is pinned in turn goes by tiles. Processes share this
        machine and have no size.
        """
        settings_of_role = {**self.machine_roles.get(role, {}), **self.machine_roles.get(f"{number}.{role}", {})}
        base = of_role(self.machine, self.machine_roles, role).number(number - 1)
        machine, size = of_copy(base, self.machine_roles, role, number), self.tile.size(role)
        if self.hosts:
            host = machine.host if "host" in settings_of_role else self.hosts[(number - 1) % len(self.hosts)]
            machine = machine.model_copy(update={"host": host})
        settings = platform_kind(machine.platform).settings
        if "memory" not in settings:
            return machine
        sizes = {
            "cpus": machine.cpus or size.cpus,
            "memory": machine.memory if "memory" in settings_of_role else size.memory,
        }
        if "disk" in settings and machine.image == MINIMAL:  # others keep what they write on their root disks
            sizes["disk"] = machine.disk or (size.disk or 0) + self._files_mib(role)
        return machine.model_copy(update=sizes)

    def _files_mib(self, role: Role) -> int:
        """What a role's disk has room for beside what its machine keeps."""
        if role is not Role.INFRA or self.store == EMBEDDED:
            return 0
        return DOWNLOADS_MIB * ceil(self.tile.loads.web_sessions / 4)

    def choices_of(self, number: int, application: TileApplication) -> DeploymentChoices:
        """The services of one application of a tile: as many threads as its machines have virtual CPUs."""
        chosen = {"database": self.database, "imap": self.imap, "store": "" if self.store == EMBEDDED else self.store}
        roles, places = application.topology.roles, application.machines
        return DeploymentChoices(
            services={role.name: chosen.get(role.choice, EMBEDDED) for role in roles},
            threads={role: self.machine_of(number, Role(name)).cpus or 1 for role, name in places.items()},
            needs=ServerNeeds(application.topology.need, self.tile.loads.injection_rate),
        )

    @property
    def file_store(self) -> str:
        """How the web role gets its downloads, in words."""
        if self.store == EMBEDDED:
            return "HTTP store of the infra role"
        return f"folder of the infra role, {way_of(self.machine)}"


@dataclass
class TileUp:
    """A tile that is up."""

    number: int
    targets: dict[Role, Target] = field(default_factory=dict)
    """Where users reach it: web, app, mail, idle."""
    heartbeats: dict[str, Target] = field(default_factory=dict)
    """Where its machines answer heartbeats, by name."""
    roles: frozenset[str] = frozenset()
    """Names of its machines and of the services on them, as monitors know them."""


@dataclass(frozen=True)
class TilesUp:
    """All tiles, up, and what they have in common."""

    testbed: Testbed
    tiles: tuple[TileUp, ...]


def place_name(number: int, role: Role) -> str:
    """What a role's machine is called."""
    return str(MachineRole(role, tile=number))


@asynccontextmanager
async def tiles_testbed(system: TilesSystem, logs: Path, fleet: OpenFleet | None = None) -> AsyncIterator[TilesUp]:
    """All tiles, one after the other; down when the block ends. Raises PlatformError and ServiceError."""
    async with open_testbed(logs, fleet) as base:
        running = Running(base)
        tiles = [await _tile(running, system, number) for number in range(1, system.tiles + 1)]
        about = f"{system.tiles} x {system.tile.header.title.lower()}, {_machines(system)}"
        testbed = Testbed((), about, running.processes, running.dead, machines=base.machines, status=running.status)
        yield TilesUp(testbed, tuple(tiles))


def _machines(system: TilesSystem) -> str:
    """The machines of the first tile's roles, those alike together."""
    roles_by_machine: dict[str, list[str]] = {}
    for role in Role:
        roles_by_machine.setdefault(described(system.machine_of(1, role)), []).append(str(role))
    if len(roles_by_machine) == 1:
        return f"each role on {next(iter(roles_by_machine))}"
    return "; ".join(f"{', '.join(named)} on {machine}" for machine, named in roles_by_machine.items())


async def _tile(running: Running, system: TilesSystem, number: int) -> TileUp:
    before = set(running.services)
    if running.base.fleet is not None and not system.machine_of(number, Role.WEB).host:
        running.base.fleet.settle(f"tile{number}", [system.machine_of(number, role) for role in Role])
    machines = {role: await _place(running.base, system, number, role) for role in Role}
    tile = TileUp(number)
    for application in APPLICATIONS:
        topology = replace(application.topology, shared_files=filling(system.tile.loads.web_sessions))
        placed = {name: [machines[Role(role)]] for name, role in application.machines.items()}
        choices = system.choices_of(number, application)
        (target,) = (await deploy(running, topology, choices, placed)).targets
        tile.targets[Role(application.machines[topology.front.name])] = target
    tile.heartbeats[machines[Role.IDLE].name] = tile.targets[Role.IDLE]
    idle = service_kind(ServiceRole.IDLE, EMBEDDED)
    for role, machine in machines.items():
        if system.heartbeats and role is not Role.IDLE:
            name = f"{machine.name}-heartbeat"
            heartbeat = await start_service(running, machine, idle, site_on(machine), name=name)
            tile.heartbeats[machine.name] = heartbeat.target
    services = map(str, set(running.services) - before)
    tile.roles = frozenset({*services, *(machine.name for machine in machines.values())})
    return tile


async def _place(base: TestbedContext, system: TilesSystem, number: int, role: Role) -> Machine:
    """All are on the public network, and on the private one of their pair."""
    machine = _with_programs(system, role, system.machine_of(number, role))
    private = [f"t{number}-{NETWORKS[role]}"] if role in NETWORKS and is_bridged(machine) else []
    return await base.machine(place_name(number, role), machine, (PUBLIC, *private), LOOPBACK, f"tile{number}")


def _with_programs(system: TilesSystem, role: Role, machine: MachineSpec) -> MachineSpec:
    """With what it takes to share a folder, or to mount it. Raises ServiceError and PlatformError."""
    if system.store == EMBEDDED or role not in (Role.INFRA, Role.WEB):
        return machine
    if role is Role.INFRA:
        return sharing(machine, machine)
    return with_software(machine, mounting(service_kind(ServiceRole.WEB, EMBEDDED), machine))
