"""Tiles as a system under test: six roles each, on their machines and networks, all up at once."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import product
from math import ceil
from pathlib import Path

from loadstone.fleet.open import OpenFleet
from loadstone.model.choices import NONE, ServiceChoices
from loadstone.model.errors import UsageError
from loadstone.model.machine import MINIMAL, PLAIN, PUBLIC, MachineSpec, Placement
from loadstone.model.reference import Reference
from loadstone.model.role import MachineRole
from loadstone.model.selector import RoleSettings, merge_roles, select_settings
from loadstone.model.service import EMBEDDED, ServiceRole, Tuning
from loadstone.model.tile import NETWORKS, Role, Tile
from loadstone.model.tiles import Tiles
from loadstone.model.workload import ServerNeeds
from loadstone.platforms.registry import describe_machine, get_platform_kind
from loadstone.platforms.roles import get_copy_machine, get_role_machine, has_setting
from loadstone.services.kind import ServiceKind
from loadstone.services.registry import (
    check_system_settings,
    check_tuning,
    get_service_kind,
    refuse_unfit_front,
)
from loadstone.services.settings import compute_least_memory_mib
from loadstone.testbed.context import open_testbed
from loadstone.testbed.deploy import DeploymentChoices
from loadstone.testbed.machines import PlannedMachine
from loadstone.testbed.running import Running
from loadstone.testbed.shared_folder import describe_way, refuse_nfs_settings
from loadstone.testbed.start import build_site_on, start_service
from loadstone.testbed.system import PlacedApplication, PlannedSystem, prepare_machines, start_system
from loadstone.testbed.testbed import Testbed, TileUp
from loadstone.topologies.tile import TileApplication, list_applications

INSTALLED_MIB = 512
"""Least memory of a machine with a distribution."""
INSTALLED_DISK_MIB = 4096
"""Room for a distribution on the disk of such a machine; what is not written takes no space."""
DOWNLOADS_MIB = 20
"""Downloads of up to 6 MB for four sessions of the support site, rounded up (docs/web-workloads.md, File sets)."""


@dataclass(frozen=True)
class PlacedTiles:
    """Tiles with the platform and the settings of their machines."""

    tiles: Tiles
    placement: Placement = PLAIN
    """Sizes of machines come from the tile where it has them; settings of single machines replace those of the tile."""

    @property
    def tile(self) -> Tile:
        """The tile that all are copies of."""
        return self.tiles.tile

    @property
    def services(self) -> Reference:
        """Services of all tiles."""
        return self.tiles.services

    @property
    def machine_roles(self) -> RoleSettings:
        """Settings of single machines without their sizes: those of the tile, and those that replace them."""
        return merge_roles(self.tile.list_settings(self.tiles.count), self.placement.roles)

    def get_machine(self, number: int, role: Role) -> MachineSpec:
        """The machine of a role of a tile, counted from 1; what is pinned in turn goes by tiles. Processes share this
        machine and have no size.
        """
        roles, hosts = self.machine_roles, self.tiles.hosts
        base = get_role_machine(self.placement.machine, roles, role).with_number(number - 1)
        machine, single = get_copy_machine(base, roles, role, number), select_settings(roles, role, number)
        if hosts and "host" not in single:
            machine = machine.model_copy(update={"host": hosts[(number - 1) % len(hosts)]})
        if not has_setting(machine, "memory"):
            return machine
        size, packaged = self.tile.get_size(role, number), self._list_packaged(machine, role)
        sizes: dict[str, object] = dict(size)
        sizes["memory"] = max(
            size.memory,
            self._least_memory_mib(role),
            INSTALLED_MIB if packaged else 0,
            *(kind.memory_mib for kind in self.list_kinds(role)),
        )
        if has_setting(machine, "disk") and machine.image == MINIMAL:
            installed_mib = INSTALLED_DISK_MIB if packaged and size.disk else 0
            sizes["disk"] = (size.disk or 0) + self._files_mib(role) + installed_mib
        else:  # others keep what they write on their root disks
            del sizes["disk"]
        declared = {*single, *self.placement.machine.model_fields_set}
        return machine.model_copy(update={key: size for key, size in sizes.items() if key not in declared})

    def plan_machines(self) -> tuple[PlannedMachine, ...]:
        """Returns the machines of all tiles, one tile after the other. Raises UsageError."""
        return tuple(
            PlannedMachine(MachineRole(role, tile=number), self.get_machine(number, role))
            for number in range(1, self.tiles.count + 1)
            for role in Role
        )

    def _list_packaged(self, machine: MachineSpec, role: Role) -> list[ServiceKind]:
        """Returns the services whose packages the image of a role's machine gets; empty for the reference servers."""
        if not get_platform_kind(machine.platform).installs or machine.image != MINIMAL:
            return []
        return [kind for kind in self.list_kinds(role) if kind.needs]

    def _least_memory_mib(self, role: Role) -> int:
        """Returns the memory that the settings of a role's services need, MiB; 0 where they need no certain amount."""
        services = self.services
        kinds = self.list_kinds(role)
        return max(
            compute_least_memory_mib(kind, services.services.tuning or Tuning.DEFAULT, services.settings)
            for kind in kinds
        )

    def _check_memory(self, number: int, role: Role) -> None:
        """Raises UsageError for a machine whose declared memory is too small for its services."""
        machine, least_mib = self.get_machine(number, role), self._least_memory_mib(role)
        if has_setting(machine, "memory") and machine.memory < least_mib:
            raise UsageError(
                f"The settings of the role {role} need {least_mib} MiB, but its machine in tile {number} has "
                f"{machine.memory} MiB. Use `--machine {role}.memory={least_mib}`, or settings that need less."
            )

    def list_kinds(self, role: Role) -> list[ServiceKind]:
        """Returns the services on the machine of a role. Raises UsageError."""
        named = (
            (topology_role, self.services.get_service(topology_role.choice))
            for application in self.applications
            for topology_role in application.topology.roles
            if application.machines[topology_role.name] == role
        )
        return [get_service_kind(each.service, name) for each, name in named if each.has_machine(name) and name != NONE]

    @property
    def applications(self) -> tuple[TileApplication, ...]:
        """The applications of a tile in the order in which they start."""
        return list_applications(self.has_shared_folder)

    def check_services(self) -> None:
        """Raises LoadstoneError for services that do not fit each other or the tile, for settings that no service has,
        and for machines that cannot have the programs of their services.
        """
        self._check_store()
        for application in self.applications:
            needs = ServerNeeds(application.topology.need, self.tile.loads.injection_rate)
            untuned = replace(self.services, services=self._with_tuning(application))
            refuse_unfit_front(untuned, needs, application.topology)
        if self.has_shared_folder:
            infra, web = self.get_machine(1, Role.INFRA), self.get_machine(1, Role.WEB)
            refuse_nfs_settings(self.services.settings, infra, web)
        check_tuning(self.services, [kind for role in Role for kind in self.list_kinds(role)])
        for number, role in product(range(1, self.tiles.count + 1), Role):
            self._check_memory(number, role)
        for number in range(1, self.tiles.count + 1):
            prepare_machines(plan_tile(self, number))

    def _check_store(self) -> None:
        """Raises UsageError for web sites and back ends that need the downloads in a shared folder."""
        chosen = {"--service": self.services.get_service("service"), "--backend-service": self._backend}
        for option, name in chosen.items():
            if name != EMBEDDED and not self.has_shared_folder:
                raise UsageError(
                    f"{option} {name} does not fetch downloads over HTTP from the infra role. Add --store nfs."
                )

    @property
    def _backend(self) -> str:
        return self.services.get_service("backend_service")

    def _with_tuning(self, application: TileApplication) -> ServiceChoices:
        """Returns the choices with the tuning that the front of an application has: the chosen one, or the default."""
        front, chosen = application.topology.front, self.services.services
        kind = get_service_kind(front.service, self.services.get_service(front.choice))
        tuning = chosen.tuning if chosen.tuning in kind.list_tunings() else Tuning.DEFAULT
        return chosen.model_copy(update={"tuning": tuning})

    def _files_mib(self, role: Role) -> int:
        """What a role's disk has room for beside what its machine keeps."""
        if role is not Role.INFRA or not self.has_shared_folder:
            return 0
        return DOWNLOADS_MIB * ceil(self.tile.loads.web_sessions / 4)

    def build_choices(self, number: int, application: TileApplication) -> DeploymentChoices:
        """The services of one application of a tile: as many threads as its machines have virtual CPUs."""
        topology, places = application.topology, application.machines
        loads = self.tile.loads
        needs = ServerNeeds(topology.need, loads.injection_rate, file_sets={"support": loads.web_sessions})
        settings = check_system_settings(self.services, *(each.topology for each in self.applications))
        services = replace(self.services, services=self._with_tuning(application), settings={})
        choices = replace(DeploymentChoices.from_system(topology, services, needs), settings=settings)
        threads = {role: self.get_machine(number, Role(place)).cpus or 1 for role, place in places.items()}
        if self.has_shared_folder:
            return replace(choices, threads=threads)
        shared = {role.name: NONE for role in topology.roles if role.choice == "store"}
        return replace(choices, threads=threads, services={**choices.services, **shared})

    @property
    def has_shared_folder(self) -> bool:
        """Whether the web role mounts its downloads."""
        return self.services.get_service("store") != EMBEDDED

    @property
    def file_store(self) -> str:
        """How the web role gets its downloads, in words."""
        if not self.has_shared_folder:
            return "HTTP store of the infra role"
        infra, web = self.get_machine(1, Role.INFRA), self.get_machine(1, Role.WEB)
        return f"folder of the infra role, {describe_way(infra, web)}"


@asynccontextmanager
async def start_tiles(system: PlacedTiles, logs: Path, fleet: OpenFleet | None = None) -> AsyncIterator[Testbed]:
    """All tiles, one after the other; down when the block ends. Raises PlatformError and ServiceError."""
    async with open_testbed(logs, fleet) as base:
        running = Running(base)
        tiles = [await _start_tile(running, system, number) for number in range(1, system.tiles.count + 1)]
        about = f"{system.tiles.count} x {system.tile.header.title.lower()}, {describe_machines(system)}"
        yield Testbed(
            (),
            about,
            running.list_processes,
            running.describe_dead,
            machines=base.machines,
            status=running.status,
            tiles=tuple(tiles),
        )


def describe_machines(system: PlacedTiles) -> str:
    """Returns the machines of all roles of all tiles, those that are alike together."""
    tiles_by_role: dict[str, dict[Role, list[int]]] = {}
    for role, number in product(Role, range(1, system.tiles.count + 1)):
        machine = describe_machine(system.get_machine(number, role))
        tiles_by_role.setdefault(machine, {}).setdefault(role, []).append(number)
    if len(tiles_by_role) == 1:
        return f"each role on {next(iter(tiles_by_role))}"
    return "; ".join(f"{_roles_in_words(roles, system.tiles.count)} on {text}" for text, roles in tiles_by_role.items())


def _roles_in_words(tiles_by_role: Mapping[Role, Sequence[int]], tiles: int) -> str:
    """Returns roles with the tiles that they are of, unless they are of all tiles."""
    roles_by_tiles: dict[tuple[int, ...], list[str]] = {}
    for role, numbers in tiles_by_role.items():
        roles_by_tiles.setdefault(tuple(numbers), []).append(role)
    return " and ".join(
        ", ".join(roles) + ("" if len(numbers) == tiles else f" of tile {', '.join(map(str, numbers))}")
        for numbers, roles in roles_by_tiles.items()
    )


async def _start_tile(running: Running, system: PlacedTiles, number: int) -> TileUp:
    planned = plan_tile(system, number)
    if running.base.fleet is not None and not system.get_machine(number, Role.WEB).host:
        running.base.fleet.settle(planned.together, [machine.spec for machine in planned.machines])
    started = await start_system(running, planned)
    machines = {role: started.machines[role][0] for role in Role}
    targets = {Role(role): role_targets for role, role_targets in started.targets.items()}
    tile = TileUp(number, targets, {machines[Role.IDLE].name: targets[Role.IDLE][0]})
    idle = get_service_kind(ServiceRole.IDLE, EMBEDDED)
    heartbeats = set()
    for role, machine in machines.items():
        if system.tiles.has_heartbeats and role is not Role.IDLE:
            name = f"{machine.name}-heartbeat"
            heartbeat = await start_service(running, machine, idle, build_site_on(machine), name=name)
            tile.heartbeats[machine.name] = heartbeat.target
            heartbeats.add(name)
    tile.roles = started.members | heartbeats
    return tile


def plan_tile(system: PlacedTiles, number: int) -> PlannedSystem:
    """Returns one tile, counted from 1: all its machines are on the public network, and some share a private one."""
    downloads = {"downloads": system.tile.loads.web_sessions}
    applications = [
        PlacedApplication(
            replace(application.topology, shared_files=(), shared_file_sets=downloads),
            system.build_choices(number, application),
            application.machines,
        )
        for application in system.applications
    ]
    private = {role: f"t{number}-{network}" for role, network in NETWORKS.items()}
    networks = {str(role): (PUBLIC, *([private[role]] if role in private else [])) for role in Role}
    machines = [machine for machine in system.plan_machines() if machine.name.tile == number]
    return PlannedSystem(applications, machines, networks, f"tile{number}")
