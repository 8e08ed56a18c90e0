"""Composing machines and services into a system under test: up, ready, down."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from loadstone.fleet.open import OpenFleet
from loadstone.host.http import is_here
from loadstone.measure.agent import AgentGauge
from loadstone.measure.station import Meter
from loadstone.measure.status import StatusMeter
from loadstone.model.errors import ServiceError
from loadstone.model.machine import PLAIN, PRIVATE, PUBLIC, MachineSpec, Placement
from loadstone.model.records.manifest import MachineFacts
from loadstone.model.role import ProcessRole
from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.model.system import Clock, FileServer, Reference, Station, System
from loadstone.model.target import Target
from loadstone.model.topology import topology_of
from loadstone.model.workload import WEB_NEEDS, ServerNeeds
from loadstone.platforms.contract import Machine
from loadstone.platforms.registry import described
from loadstone.services import nginx, station
from loadstone.services.kind import ServiceKind
from loadstone.services.registry import service_kind, web_server
from loadstone.testbed import roles
from loadstone.testbed.context import LOOPBACK, networks_beside, open_testbed
from loadstone.testbed.data import DataSet
from loadstone.testbed.kept_data import copy_kept
from loadstone.testbed.machines import machines_of, planned_machines
from loadstone.testbed.running import Running, target_of
from loadstone.testbed.shared_folder import mounting, share, sharing
from loadstone.testbed.software import with_software


@dataclass(frozen=True)
class Testbed:
    """A system under test that is up."""

    __test__ = False  # its name begins like a test's

    targets: tuple[Target, ...]
    """Where its machines answer; users are dealt to them in turn."""
    about: str
    processes: Callable[[], dict[str, int]] = dict
    """Process ids by role as they are now, for the monitors; empty when the system is not ours to watch."""
    dead: Callable[[], str] = lambda: ""
    """Says which part of the system has died; empty while all is well."""
    meters: dict[str, Meter] = field(default_factory=dict)
    """Services that say themselves how busy they are, by role."""
    machines: Mapping[str, Machine] = field(default_factory=dict)
    """Its machines by name."""
    status: Mapping[str, StatusMeter] = field(default_factory=dict)
    """What services say of themselves, by machine and part."""
    hosts: Mapping[str, AgentGauge] = field(default_factory=dict)
    """Hosts that others run, and that agents there tell of."""
    is_unseen: bool = False
    """Whether it runs on this host, and none of our business says which processes it is."""
    unseen_ports: tuple[int, ...] = ()
    """Ports of this host at which a system listens that others set up."""
    simulated: Station | None = None
    """The station that only exists in virtual time."""
    data: DataSet | None = None
    """What its application's database holds, and was filled with already."""

    def facts(self) -> dict[str, MachineFacts]:
        """What its machines are made of, for the disclosure."""
        told = {name: _facts_of_host(host) for name, host in self.hosts.items()}
        return told | {name: _facts_of(machine) for name, machine in self.machines.items()}


def _facts_of_host(host: AgentGauge) -> MachineFacts:
    facts = {"kernel": host.first.get("kernel"), "cpus": host.first["cores"]}
    memory = host.first.get("memory", {}).get("total")
    return MachineFacts(host.about, host.platform, facts=facts | {"memory_mib": (memory or 0) >> 20})


def _facts_of(machine: Machine) -> MachineFacts:
    named = ("platform", "accelerator", "networks")
    rest = {key: value for key, value in machine.facts.items() if key not in named and value is not None}
    known = {key: machine.facts[key] for key in named if machine.facts.get(key)}
    return MachineFacts(about=machine.about, **known, facts=rest)


def testbed_of(
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
            return external_testbed(system)
        case Station() if clock is Clock.VIRTUAL:
            return simulated_testbed(system)
        case Station():
            return station_testbed(system, logs, placement, fleet)
        case Reference():
            return reference_testbed(system, logs, placement, needs, fleet)
        case FileServer():
            return file_testbed(system, logs, placement, fleet)


testbed_of.__test__ = False  # type: ignore[attr-defined]


@asynccontextmanager
async def reference_testbed(
    system: Reference,
    logs: Path,
    placement: Placement = PLAIN,
    needs: ServerNeeds = WEB_NEEDS,
    fleet: OpenFleet | None = None,
) -> AsyncIterator[Testbed]:
    """Reference servers on their machines, with one back end or database for all of them."""
    async with open_testbed(logs, fleet) as base:
        running = Running(base)
        topology = topology_of(needs.need)
        planned = planned_machines(system, placement, needs)
        machines = {str(machine.name): machine.spec for machine in planned}
        front_specs = {
            str(machine.name): machine.spec for machine in planned if machine.name.role == topology.front.name
        }
        networks = networks_beside(spec for name, spec in machines.items() if name not in {*front_specs, "balancer"})
        fronts = [
            await base.machine(name, _with_programs(spec, system, needs), networks)
            for name, spec in front_specs.items()
        ]
        made = "" if system.services.service == EMBEDDED else f" ({system.services.service})"
        about = f"{needs.need} server{made}, {system.threads} threads, on {described(placement.machine)}"
        if placement.roles:
            about += "".join(f"; {name} on {described(spec)}" for name, spec in front_specs.items())
        targets, data = [], None
        if topology.peers:
            listen = base.hosts[0] if base.hosts else LOOPBACK
            role = topology.peers[0]
            name = role.name
            own = with_software(machines[name], service_kind(role.service, system.service_for(role.choice)))
            behind = await base.machine(name, own, (PRIVATE,), listen)
            about += f"; {name} on {described(machines[name])}"
            put = _web if needs.need == "web" else _application
            asked = Behind(behind, await _beside(running, machines, system, needs))
            if system.services.store != EMBEDDED:
                own = sharing(machines["store"], next(iter(front_specs.values())))
                folder = await base.machine("store", own, (PRIVATE,), listen)
                asked.pictures = await share(running, folder, fronts)
            targets = await put(running, fronts, asked, system, needs)
            data = asked.data
            if system.services.balancer:
                targets = [await _balanced(running, machines["balancer"], system, targets)]
                about += f"; {system.services.balancer} deals users to them"
        else:
            for front in fronts:
                targets.append(await _alone(running, front, system, needs))
        yield Testbed(
            tuple(targets),
            about,
            running.processes,
            running.dead,
            machines=base.machines,
            status=running.status,
            data=data,
        )


def _with_programs(spec: MachineSpec, system: Reference, needs: ServerNeeds) -> MachineSpec:
    """A front machine with the programs of the service that it is for. Raises ServiceError and PlatformError."""
    if needs.need == "webserver":
        return with_software(spec, *web_server(system, needs))
    if (front := topology_of(needs.need).front).choice == "service":
        kind = service_kind(front.service, system.services.service)
        return with_software(spec, mounting(kind, spec) if system.services.store != EMBEDDED else kind)
    return spec


@dataclass
class Behind:
    """What those ask that users reach."""

    machine: Machine
    beside: Mapping[str, tuple[Machine, int]]
    """What else, with its port."""
    pictures: Mapping[str, str] = field(default_factory=dict)
    """Where users' machines have the folder that they share, if they do."""
    data: DataSet | None = None
    """What the database on the machine was filled with."""


BESIDE = {"events": {"geocoder": roles.geocoder, "store": roles.picture_store}}
"""What else applications ask: each on a machine of its own, like the one behind."""


async def _beside(
    running: Running, machines: Mapping[str, MachineSpec], system: Reference, needs: ServerNeeds
) -> dict[str, tuple[Machine, int]]:
    base, found = running.base, {}
    listen = base.hosts[0] if base.hosts else LOOPBACK
    for name, put in BESIDE.get(needs.need, {}).items():
        if name == ServiceRole.STORE and system.services.store != EMBEDDED:
            continue
        machine = await base.machine(name, machines[name], (PRIVATE,), listen)
        found[name] = (machine, await put(running, machine))
    if system.services.cache not in ("", EMBEDDED):
        name, kind = str(ServiceRole.CACHE), service_kind(ServiceRole.CACHE, system.services.cache)
        machine = await base.machine(name, with_software(machines[name], kind), (PRIVATE,), listen)
        found[name] = (machine, await roles.cache(running, machine, system.services.cache, system.threads))
    return found


async def _web(
    running: Running, fronts: list[Machine], asked: Behind, system: Reference, needs: ServerNeeds
) -> list[Target]:
    behind = asked.machine
    port, threads = await roles.backend(running, behind, system.services.backend_service), system.threads
    if system.services.service == EMBEDDED:
        return [await roles.web(running, web, behind, port, threads, roles.Downloads.OWN) for web in fronts]
    kind = service_kind(ServiceRole.WEB, system.services.service)
    which = (kind, system.services.tuning, needs.file_sets)
    return [await roles.web_of(running, web, behind, port, threads, which) for web in fronts]


async def _balanced(running: Running, spec: MachineSpec, system: Reference, targets: list[Target]) -> Target:
    """On this host, which reaches all machines."""
    kind = service_kind(ServiceRole.BALANCER, system.services.balancer)
    machine = await running.base.machine("balancer", with_software(spec, kind), (PUBLIC,))
    return await roles.balancer(running, machine, kind, targets, system.threads)


async def _application(
    running: Running, fronts: list[Machine], asked: Behind, system: Reference, needs: ServerNeeds
) -> list[Target]:
    behind, beside = asked.machine, asked.beside
    copied_s = await copy_kept(behind, system.services.database, needs) if topology_of(needs.need).data else None
    has_data = copied_s is not None
    port = await roles.database(running, behind, system.services.database, system.threads, has_data=has_data)
    if topology_of(needs.need).data:
        url = await roles.database_url(fronts[0], behind, port, system.services.database)
        asked.data = DataSet(needs.need, fronts[0], url, needs.rows, copied_s)
        await asked.data.put()
        front = service_kind(topology_of(needs.need).front.service, system.services.service)
        targets = []
        for app in fronts:
            pictures = asked.pictures.get(app.name, "")
            at = (behind, port)
            targets.append(await roles.application(running, app, at, front, system, needs.rows, beside, pictures))
        if system.services.cache:
            asked.data.keepers = [target.http for target in targets if target.http is not None]
        return targets
    kind, injection_rate, threads = system.services.database, needs.injection_rate, system.threads
    return [await roles.app(running, app, behind, port, kind, injection_rate, threads) for app in fronts]


async def _alone(running: Running, front: Machine, system: Reference, needs: ServerNeeds) -> Target:
    if needs.need == "webserver":
        kind, mechanism = web_server(system, needs)
        return await roles.web_server(running, front, kind, mechanism, system, needs.directories)
    if needs.need == "mail":
        return await roles.mail(running, front, system.imap, system.threads)
    return await roles.heartbeat(running, front, front.name)


@asynccontextmanager
async def station_testbed(
    layout: Station, logs: Path, placement: Placement = PLAIN, fleet: OpenFleet | None = None
) -> AsyncIterator[Testbed]:
    """A station on each of its machines. Its threads only wait, so one is enough. Raises ServiceError."""
    async with open_testbed(logs, fleet) as base:
        running, targets, meters = Running(base), [], {}
        for name, spec in machines_of(layout, placement, WEB_NEEDS).items():
            machine = await base.machine(name, spec, (PUBLIC,))
            target = await target_of(
                machine, await running.ready(machine, ProcessRole(name), station.command(layout, machine.listen, 1))
            )
            if target.http is None:
                raise ServiceError("The station does not say where it answers.")
            targets.append(target)
            meters[name] = Meter(target.http, station.USAGE)
        about = f"{layout}, on {described(placement.machine)}"
        yield Testbed(tuple(targets), about, running.processes, running.dead, meters, base.machines)


@asynccontextmanager
async def file_testbed(
    layout: FileServer, logs: Path, placement: Placement = PLAIN, fleet: OpenFleet | None = None
) -> AsyncIterator[Testbed]:
    """A stock nginx on each of its machines, with a workload's files written there first."""
    async with open_testbed(logs, fleet) as base:
        running, targets = Running(base), []
        for name, spec in machines_of(layout, placement, WEB_NEEDS).items():
            machine = await base.machine(name, spec, (PUBLIC,))
            kind = ServiceKind("nginx", ServiceRole.WEBSERVER, partial(nginx.program, layout=layout), nginx.PORT)
            site = roles.site_on(machine, layout.workers)
            targets.append((await roles.start_service(running, machine, kind, site)).target)
        yield Testbed(
            tuple(targets),
            f"{layout}, on {described(placement.machine)}",
            running.processes,
            running.dead,
            machines=base.machines,
        )


@asynccontextmanager
async def simulated_testbed(layout: Station) -> AsyncIterator[Testbed]:
    """A station in virtual time: there is nothing to start."""
    yield Testbed((), f"{layout}, in virtual time", simulated=layout)


@asynccontextmanager
async def external_testbed(target: Target) -> AsyncIterator[Testbed]:
    """A system someone else set up."""
    sides = [f"{scheme}://{side}" for scheme, side in (("http", target.http), ("https", target.https)) if side]
    ports = tuple(side.port for side in (target.http, target.https) if side and is_here(side.host))
    yield Testbed(
        (target,),
        f"{' and '.join(sides)}, set up by others",
        is_unseen=bool(ports),
        unseen_ports=ports,
    )
