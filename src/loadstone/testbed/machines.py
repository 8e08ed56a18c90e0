"""Which machines a system under test has, by their names, and what is declared of each."""

from collections.abc import Mapping
from dataclasses import dataclass

from loadstone.model.machine import MachineSpec, Placement
from loadstone.model.role import MachineRole
from loadstone.model.system import FileServer, Reference, Station
from loadstone.model.topology import topology_of
from loadstone.model.workload import ServerNeeds
from loadstone.platforms.registry import of_copy, of_role, refuse_unknown_roles
from loadstone.topologies.topology import TopologyRole

STATION, FILES = "station", "web"
"""Roles of a station and of a file server."""


@dataclass(frozen=True)
class PlannedMachine:
    """A machine that a system is to have."""

    name: MachineRole
    spec: MachineSpec


def planned_machines(
    system: Reference | Station | FileServer, placement: Placement, needs: ServerNeeds
) -> tuple[PlannedMachine, ...]:
    """Returns every machine, the ones that users reach first. Raises UsageError for a role that is not there, and for
    settings that its platform lacks.
    """
    other_roles: list[TopologyRole] = []
    if isinstance(system, Reference):
        topology = topology_of(needs.need)
        front = topology.front.name
        other_roles = [role for role in topology.roles[1:] if role.has_machine(system.service_for(role.choice))]
    else:
        front = STATION if isinstance(system, Station) else FILES
    declared = of_role(placement.machine, placement.roles, front)
    refuse_unknown_roles(
        placement.roles, {front: declared.count, **dict.fromkeys((role.name for role in other_roles), 1)}
    )
    machines = [
        PlannedMachine(
            MachineRole(front, replica=number if declared.count > 1 else None),
            of_copy(declared.number(number - 1), placement.roles, front, number),
        )
        for number in range(1, declared.count + 1)
    ]
    for role in other_roles:
        base = MachineSpec() if role.has_default_machine else placement.backend
        machines.append(PlannedMachine(MachineRole(role.name), of_role(base, placement.roles, role.name)))
    return tuple(machines)


def machines_of(
    system: Reference | Station | FileServer, placement: Placement, needs: ServerNeeds
) -> Mapping[str, MachineSpec]:
    """Returns what is declared of every machine, by its name. Raises UsageError."""
    return {str(machine.name): machine.spec for machine in planned_machines(system, placement, needs)}
