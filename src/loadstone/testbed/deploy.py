"""Starts an application: every service of a topology on machines that are up, whatever the application."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from loadstone.model.program_settings import SettingsByProgram
from loadstone.model.role import ProcessRole
from loadstone.model.service import Mechanism, ServiceRole, Tuning
from loadstone.model.system import Reference
from loadstone.model.target import Target
from loadstone.model.workload import WEB_NEEDS, ServerNeeds
from loadstone.platforms.contract import Machine
from loadstone.services.kind import ServiceKind, Site
from loadstone.services.registry import check_system_settings, choose_web_server, get_service_kind
from loadstone.testbed.data import DataSet
from loadstone.testbed.kept_data import copy_kept
from loadstone.testbed.running import Running
from loadstone.testbed.shared_folder import share_folder
from loadstone.testbed.start import StartedService, build_site_on, list_targets, start_service
from loadstone.topologies.topology import Topology, TopologyRole

STATIC_FILES = "static-files"
"""File set of web servers alone, whose sessions are directories."""
MachinesByRole = Mapping[str, Sequence[Machine]]
"""Machines that are up, by the name of their role in the topology; two roles may share one."""


@dataclass(frozen=True)
class DeploymentChoices:
    """Services and settings of a topology's roles."""

    services: Mapping[str, str]
    """Name of each role's service, by role; the empty name is no service."""
    threads: Mapping[str, int]
    """Threads of each role's service, by role."""
    machine_threads: Mapping[str, int] = field(default_factory=dict)
    """Threads of the service on single machines, by name, where they differ from those of the role."""
    settings: SettingsByProgram = field(default_factory=dict)
    """What the user changed of programs, checked."""
    tuning: Tuning = Tuning.DEFAULT
    mechanism: Mechanism = Mechanism.STATIC
    needs: ServerNeeds = WEB_NEEDS
    """Amounts of data, by what the workloads need."""

    @classmethod
    def from_system(cls, topology: Topology, system: Reference, needs: ServerNeeds) -> "DeploymentChoices":
        """Returns what users chose. Raises UsageError for a mechanism that workload and web server do not share."""
        has_mechanism = "mechanism" in topology.front.settings
        return cls(
            services={role.name: system.get_service(role.choice) for role in topology.roles},
            threads={role.name: system.threads for role in topology.roles},
            settings=check_system_settings(system, topology),
            tuning=system.services.tuning,
            mechanism=choose_web_server(system, needs)[1] if has_mechanism else Mechanism.STATIC,
            needs=needs,
        )

    def get_kind(self, role: TopologyRole) -> ServiceKind | None:
        """Returns the service of a role with a machine; None for a role that has none. Raises UsageError."""
        name = self.services[role.name]
        return get_service_kind(role.service, name) if role.has_machine(name) else None

    def has_shared_folder(self, topology: Topology) -> bool:
        """Returns whether the front's machines mount a folder of another."""
        kinds = map(self.get_kind, topology.peers)
        return any(kind.shares_folder for kind in kinds if kind is not None)

    def choose_file_sets(self, topology: Topology) -> Mapping[str, int]:
        """Returns the sessions that file sets of the front are written for, by name."""
        if "mechanism" not in topology.front.settings:
            return self.needs.file_sets
        return {STATIC_FILES: self.needs.directories} if self.mechanism is Mechanism.STATIC else {}

    def build_site(self, role: TopologyRole, machine: Machine) -> Site:
        """Returns the site of a role's service on a machine, without addresses of peers."""
        threads = role.threads or self.machine_threads.get(machine.name, self.threads[role.name])
        return replace(build_site_on(machine, threads), settings=self.settings)


@dataclass(frozen=True)
class StartedApplication:
    """An application that is up."""

    targets: tuple[Target, ...]
    """Where users reach it."""
    data: DataSet | None = None


@dataclass
class StartedPeers:
    """Services that the front asks."""

    services: list[tuple[TopologyRole, StartedService]] = field(default_factory=list)
    shared_folders: Mapping[str, str] = field(default_factory=dict)
    """Path of the shared folder, by the name of the front's machine that mounts it."""
    copied_s: float | None = None
    """Time for copying a filled database; None where none was copied."""

    def with_role(self, service: ServiceRole) -> StartedService:
        """Returns the service of a role that is there."""
        return next(started for role, started in self.services if role.service == service)


async def deploy(
    running: Running, topology: Topology, choices: DeploymentChoices, machines: MachinesByRole
) -> StartedApplication:
    """Starts all services, the front after its peers and its load balancer last. Raises ServiceError and
    PlatformError.
    """
    fronts = machines[topology.front.name]
    peers = await _start_peers(running, topology, choices, machines)
    data = None
    if topology.data is not None:
        url = await peers.with_role(ServiceRole.DATABASE).find_address(fronts[0])
        data = DataSet(topology.need, fronts[0], url, choices.needs.rows, peers.copied_s)
        await data.put()
    started = [await _start_front(running, topology, choices, machine, peers) for machine in fronts]
    targets = list_targets(started)
    if data is not None and choices.services.get(ServiceRole.CACHE):
        data.keepers = [service.http for service in started]
    kind = choices.get_kind(topology.balancer) if topology.balancer else None
    if topology.balancer and kind is not None:
        (machine,) = machines[topology.balancer.name]
        servers = tuple(target.http for target in targets if target.http is not None)
        site = replace(choices.build_site(topology.balancer, machine), servers=servers)
        targets = (await start_service(running, machine, kind, site)).targets
    return StartedApplication(targets, data)


async def _start_peers(
    running: Running, topology: Topology, choices: DeploymentChoices, machines: MachinesByRole
) -> StartedPeers:
    peers = StartedPeers()
    for role in topology.peers:
        kind = choices.get_kind(role)
        if kind is None:
            continue
        (machine,) = machines[role.name]
        if kind.shares_folder:
            fronts = machines[topology.front.name]
            peers.shared_folders = await share_folder(running, machine, fronts, topology, choices.settings)
            continue
        is_copied = False
        if topology.data is not None and role.service == ServiceRole.DATABASE:
            peers.copied_s = await copy_kept(machine, kind.name, choices.needs)
            is_copied = peers.copied_s is not None
        # The server of a shared folder may run on the machine already.
        name = f"{machine.name}-{role.peer_names[0]}" if ProcessRole(machine.name) in running.services else ""
        site = choices.build_site(role, machine)
        started = await start_service(running, machine, kind, site, name=name, is_prepared=is_copied)
        peers.services.append((role, started))
    return peers


async def _start_front(
    running: Running, topology: Topology, choices: DeploymentChoices, machine: Machine, peers: StartedPeers
) -> StartedService:
    kind, needs = choices.get_kind(topology.front), choices.needs
    assert kind is not None, "the front of every topology has a machine"
    inner_roles = [role for role in topology.peers if role.is_in_front(choices.services[role.name])]
    addresses = {name: role.embedded_address for role in inner_roles for name in role.peer_names}
    for role, started in peers.services:
        addresses |= dict.fromkeys(role.peer_names, await started.find_address(machine))
    site = replace(
        choices.build_site(topology.front, machine),
        tuning=choices.tuning,
        mechanism=choices.mechanism,
        file_sets=choices.choose_file_sets(topology),
        rows=needs.rows,
        injection_rate=needs.injection_rate,
        peers=addresses,
        shared_folder=peers.shared_folders.get(machine.name, ""),
    )
    return await start_service(running, machine, kind, site)
