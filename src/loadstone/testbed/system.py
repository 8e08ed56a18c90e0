"""One copy of a system: applications, and the machines that their roles are on. A run has one, each tile is one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from loadstone.model.machine import MachineSpec
from loadstone.model.role import MachineRole
from loadstone.model.target import Target
from loadstone.platforms.contract import Machine
from loadstone.testbed.context import TESTBED_LOOPBACK, TestbedContext
from loadstone.testbed.data import DataSet
from loadstone.testbed.deploy import DeploymentChoices, deploy
from loadstone.testbed.machines import PlannedMachine
from loadstone.testbed.running import Running
from loadstone.testbed.shared_folder import add_mounting, add_sharing
from loadstone.testbed.software import with_software
from loadstone.topologies.topology import Topology, TopologyRole


@dataclass(frozen=True)
class PlacedApplication:
    """An application with its services, and which machines its roles are on."""

    topology: Topology
    choices: DeploymentChoices
    places: Mapping[str, str]
    """Role of the machines, by role of the topology."""

    @property
    def peer_places(self) -> frozenset[str]:
        """Roles of the machines that the front asks."""
        return frozenset(self.places[role.name] for role in self.topology.peers)


@dataclass(frozen=True)
class PlannedSystem:
    """A copy of a system that is to be put up."""

    applications: Sequence[PlacedApplication]
    """In the order in which they start."""
    machines: Sequence[PlannedMachine]
    networks: Mapping[str, Sequence[str]]
    """Networks of the machines, by their role; machines without lines of their own leave them out."""
    together: str = ""
    """Name of a group of machines that belong on one host of a fleet; empty where they need not."""

    def select_machines(self, place: str) -> list[PlannedMachine]:
        """Returns the machines of a role."""
        return [machine for machine in self.machines if machine.name.role == place]


@dataclass(frozen=True)
class StartedSystem:
    """A copy of a system that is up."""

    machines: Mapping[str, Sequence[Machine]]
    """Machines by role."""
    targets: Mapping[str, tuple[Target, ...]]
    """Addresses that users reach, by role of the machines that they reach."""
    members: frozenset[str]
    """Names of its machines and of the services on them, as monitors know them."""
    planned: Sequence[PlannedMachine]
    """Its machines as planned, with the memory that their services take."""
    data: DataSet | None = None
    """Contents of its database, where an application fills one."""


async def start_system(running: Running, system: PlannedSystem) -> StartedSystem:
    """Creates the machines with their programs, then starts all applications. Raises ServiceError and PlatformError."""
    before = set(running.services)
    specs = prepare_machines(system)
    machines: dict[str, list[Machine]] = {}
    for planned in system.machines:
        created = await _create(running.base, system, planned.name, specs[planned.name])
        machines.setdefault(planned.name.role, []).append(created)
    targets, data = {}, None
    for application in system.applications:
        placed = {role: machines[place] for role, place in application.places.items() if place in machines}
        started = await deploy(running, application.topology, application.choices, placed)
        targets[application.places[application.topology.front.name]] = started.targets
        data = data or started.data
    names = {machine.name for group in machines.values() for machine in group}
    members = frozenset({*map(str, set(running.services) - before), *names})
    return StartedSystem(machines, targets, members, _with_memory(system.machines, specs), data)


def _with_memory(
    planned: Sequence[PlannedMachine], specs: Mapping[MachineRole, MachineSpec]
) -> tuple[PlannedMachine, ...]:
    """Returns the machines as declared, but for the memory that they have."""
    return tuple(
        replace(machine, spec=machine.spec.model_copy(update={"memory": specs[machine.name].memory}))
        for machine in planned
    )


async def _create(base: TestbedContext, system: PlannedSystem, name: MachineRole, spec: MachineSpec) -> Machine:
    """Creates a machine. Services that fronts ask listen where machines with lines of their own reach this host."""
    is_asked = any(name.role in application.peer_places for application in system.applications)
    listen = base.hosts[0] if base.hosts and is_asked else TESTBED_LOOPBACK
    return await base.start_machine(str(name), spec, system.networks[name.role], listen, system.together)


def prepare_machines(system: PlannedSystem) -> dict[MachineRole, MachineSpec]:
    """Returns the machines with the programs of all services on them. Raises ServiceError and PlatformError."""
    specs = {machine.name: machine.spec for machine in system.machines}
    for application in system.applications:
        front = system.select_machines(application.places[application.topology.front.name])[0].spec
        for role in application.topology.roles:
            for machine in system.select_machines(application.places[role.name]):
                specs[machine.name] = _prepared(specs[machine.name], machine.spec, role, application, front)
    return specs


def _prepared(
    spec: MachineSpec, declared: MachineSpec, role: TopologyRole, application: PlacedApplication, front: MachineSpec
) -> MachineSpec:
    """Returns a role's machine with the programs of its service too. Raises ServiceError and PlatformError."""
    topology, choices = application.topology, application.choices
    kind = choices.get_kind(role)
    if kind is None:
        return spec
    if kind.shares_folder:
        return add_sharing(spec, front, declared)
    if role is topology.front and choices.has_shared_folder(topology):
        kind = add_mounting(kind, spec)
    return with_software(spec, kind, choices.mechanism if kind.mechanisms else None, declared)
