"""Composing machines and services into a system under test: up, ready, down."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from loadstone.fleet.open import OpenFleet
from loadstone.host.http import is_here
from loadstone.measure.station import Meter
from loadstone.model.front import STATION
from loadstone.model.machine import PLAIN, PRIVATE, PUBLIC, Placement
from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.model.system import Clock, FileServer, Reference, Station, System
from loadstone.model.target import Target
from loadstone.model.tiles import Tiles
from loadstone.model.topology import get_topology
from loadstone.model.workload import WEB_NEEDS, ServerNeeds
from loadstone.services import nginx, station
from loadstone.services.kind import Program, ServiceKind
from loadstone.testbed.context import list_front_networks, open_testbed
from loadstone.testbed.deploy import DeploymentChoices
from loadstone.testbed.machine_meter import make_meters
from loadstone.testbed.machines import (
    PlannedMachine,
    choose_threads,
    describe_front,
    describe_others,
    plan_machines,
)
from loadstone.testbed.running import Running
from loadstone.testbed.start import StartedService, build_site_on, list_targets, start_service
from loadstone.testbed.system import PlacedApplication, PlannedSystem, prepare_machines, start_system
from loadstone.testbed.testbed import Testbed
from loadstone.testbed.tiles import PlacedTiles, start_tiles
from loadstone.topologies.topology import Topology


def start_testbed(
    system: System,
    clock: Clock,
    logs: Path,
    placement: Placement = PLAIN,
    needs: ServerNeeds = WEB_NEEDS,
    fleet: OpenFleet | None = None,
) -> AbstractAsyncContextManager[Testbed]:
    """Puts a system up, on hosts of a fleet where there is one; it is down when the block ends."""
    match system:
        case Target():
            return use_external(system)
        case Station() if clock is Clock.VIRTUAL:
            return simulate_testbed(system)
        case Station():
            return start_station(system, logs, placement, fleet)
        case Reference():
            return start_reference(system, logs, placement, needs, fleet)
        case FileServer():
            return start_file_server(system, logs, placement, fleet)
        case Tiles():
            return start_tiles(PlacedTiles(system, placement), logs, fleet)


start_testbed.__test__ = False  # type: ignore[attr-defined]


@asynccontextmanager
async def start_reference(
    system: Reference,
    logs: Path,
    placement: Placement = PLAIN,
    needs: ServerNeeds = WEB_NEEDS,
    fleet: OpenFleet | None = None,
) -> AsyncIterator[Testbed]:
    """An application of reference servers, or of those chosen in their places, on its machines."""
    topology = get_topology(needs.need)
    planned = plan_machines(system, placement, needs)
    machine_threads = choose_threads(planned, placement, system.threads)
    choices = replace(DeploymentChoices.from_system(topology, system, needs), machine_threads=machine_threads)
    application = PlacedApplication(topology, choices, {role.name: role.name for role in topology.roles})
    async with open_testbed(logs, fleet) as base:
        running = Running(base)
        networks = _choose_networks(topology, planned)
        started = await start_system(running, PlannedSystem([application], planned, networks))
        yield Testbed(
            started.targets[topology.front.name],
            _described(topology, choices, started.planned, placement),
            running.list_processes,
            running.describe_dead,
            machines=base.machines,
            status=running.status | make_meters(base.machines),
            data=started.data,
        )


def _choose_networks(topology: Topology, planned: Sequence[PlannedMachine]) -> Mapping[str, Sequence[str]]:
    """Returns the networks of an application's machines, by role."""
    peers = {role.name for role in topology.peers}
    networks: dict[str, Sequence[str]] = dict.fromkeys(peers, (PRIVATE,))
    networks[topology.front.name] = list_front_networks(
        machine.spec for machine in planned if machine.name.role in peers
    )
    if topology.balancer is not None:  # it is on this host's side, which reaches all machines
        networks[topology.balancer.name] = (PUBLIC,)
    return networks


def refuse_unequipped(system: Reference, placement: Placement, needs: ServerNeeds) -> None:
    """Raises ServiceError or PlatformError for a machine that cannot have the programs of its service."""
    topology = get_topology(needs.need)
    choices = DeploymentChoices.from_system(topology, system, needs)
    application = PlacedApplication(topology, choices, {role.name: role.name for role in topology.roles})
    planned = plan_machines(system, placement, needs)
    prepare_machines(PlannedSystem([application], planned, _choose_networks(topology, planned)))


def _described(
    topology: Topology, choices: DeploymentChoices, planned: Sequence[PlannedMachine], placement: Placement
) -> str:
    """Returns the application in one line, as results keep it."""
    front = topology.front
    service = choices.services[front.name]
    by_service = f" ({service})" if front.choice == "service" and service != EMBEDDED else ""
    threads = choices.threads[front.name]
    size = f"{threads} thread{'s' * (threads != 1)}, on {describe_front(planned, placement)}"
    about = f"{topology.need} server{by_service}, {size}"
    about += describe_others(planned, placement, [role.name for role in topology.peers[:1]])
    balancer = choices.services[topology.balancer.name] if topology.balancer else ""
    return f"{about}; {balancer} distributes users over them" if balancer else about


@asynccontextmanager
async def start_station(
    layout: Station, logs: Path, placement: Placement = PLAIN, fleet: OpenFleet | None = None
) -> AsyncIterator[Testbed]:
    """A station on each of its machines. Its threads only wait, so one is enough. Raises ServiceError."""
    kind = ServiceKind("station", STATION, lambda site: Program(station.build_command(layout, site.listen, 1)))
    async with open_testbed(logs, fleet) as base:
        running = Running(base)
        started = await _start_alike(running, layout, placement, kind, threads=1)
        meters = {service.machine.name: Meter(service.http, station.USAGE) for service in started}
        about = _described_alike(layout, placement)
        targets = list_targets(started)
        yield Testbed(targets, about, running.list_processes, running.describe_dead, meters, base.machines)


@asynccontextmanager
async def start_file_server(
    layout: FileServer, logs: Path, placement: Placement = PLAIN, fleet: OpenFleet | None = None
) -> AsyncIterator[Testbed]:
    """A stock nginx on each of its machines, with a workload's files written there first."""
    kind = ServiceKind("nginx", ServiceRole.WEBSERVER, nginx.build_program, nginx.NGINX_PORT, reads_files=True)
    async with open_testbed(logs, fleet) as base:
        running = Running(base)
        started = await _start_alike(running, layout, placement, kind, layout.workers, {layout.files: layout.sessions})
        about = _described_alike(layout, placement)
        targets = list_targets(started)
        yield Testbed(targets, about, running.list_processes, running.describe_dead, machines=base.machines)


def _described_alike(layout: Station | FileServer, placement: Placement) -> str:
    return f"{layout}, on {describe_front(plan_machines(layout, placement, WEB_NEEDS), placement)}"


async def _start_alike(
    running: Running,
    layout: Station | FileServer,
    placement: Placement,
    kind: ServiceKind,
    threads: int,
    file_sets: Mapping[str, int] = WEB_NEEDS.file_sets,
) -> list[StartedService]:
    """Starts the same service on each machine of a system that has no other role."""
    started = []
    for planned in plan_machines(layout, placement, WEB_NEEDS):
        machine = await running.base.start_machine(str(planned.name), planned.spec, (PUBLIC,))
        site = replace(build_site_on(machine, threads), file_sets=file_sets)
        started.append(await start_service(running, machine, kind, site))
    return started


@asynccontextmanager
async def simulate_testbed(layout: Station) -> AsyncIterator[Testbed]:
    """A station in virtual time: there is nothing to start."""
    yield Testbed((), f"{layout}, in virtual time", simulated=layout)


@asynccontextmanager
async def use_external(target: Target) -> AsyncIterator[Testbed]:
    """A system someone else set up."""
    sides = [f"{scheme}://{side}" for scheme, side in (("http", target.http), ("https", target.https)) if side]
    delivery = target.delivery.endpoint if target.delivery else None
    sides += [str(target.delivery)] if target.delivery else []
    ports = tuple(side.port for side in (target.http, target.https, delivery) if side and is_here(side.host))
    yield Testbed(
        (target,),
        f"{' and '.join(sides)}, managed elsewhere",
        is_unseen=bool(ports),
        unseen_ports=ports,
    )
