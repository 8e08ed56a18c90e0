"""Which machines a system under test has, by their names, and what is declared of each."""

from collections.abc import Mapping
from dataclasses import dataclass

from loadstone.model.machine import MachineSpec, Placement
from loadstone.model.role import MachineRole
from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.model.system import FileServer, Reference, Station
from loadstone.model.workload import Need, ServerNeeds
from loadstone.platforms.registry import of_copy, of_role, refuse_unknown_roles

ROLE_NAMES = {
    Need.WEB: "web",
    Need.WEBSERVER: "web",
    Need.APPLICATION: "app",
    Need.BOOKSTORE: "app",
    Need.EVENTS: "app",
    Need.MAIL: "mail",
    Need.IDLE: "idle",
}
"""What the machines of the reference servers are called."""
FRONT_NAMES = frozenset(ROLE_NAMES.values())
BEHIND = {
    Need.WEB: ServiceRole.BACKEND,
    Need.APPLICATION: ServiceRole.DATABASE,
    Need.BOOKSTORE: ServiceRole.DATABASE,
    Need.EVENTS: ServiceRole.DATABASE,
}
"""What is on a machine behind those that users reach, and has its name."""
STORE, GEOCODER, BALANCER, STATION, FILES = "store", "geocoder", "balancer", "station", "web"


@dataclass(frozen=True)
class PlannedMachine:
    """A machine that a system is to have."""

    name: MachineRole
    spec: MachineSpec
    is_front: bool
    """Whether users reach it."""


def planned_machines(
    system: Reference | Station | FileServer, placement: Placement, needs: ServerNeeds
) -> tuple[PlannedMachine, ...]:
    """Returns every machine, the ones that users reach first. Raises UsageError for a role that is not there, and for
    settings that its platform lacks.
    """
    if isinstance(system, Reference):
        front = ROLE_NAMES[needs.need]
    else:
        front = STATION if isinstance(system, Station) else FILES
    declared = of_role(placement.machine, placement.roles, front)
    behind = _behind(system, needs) if isinstance(system, Reference) else []
    refuse_unknown_roles(placement.roles, {front: declared.count, **dict.fromkeys(behind, 1)})
    machines = [
        PlannedMachine(
            MachineRole(front, replica=number if declared.count > 1 else None),
            of_copy(declared.number(number - 1), placement.roles, front, number),
            is_front=True,
        )
        for number in range(1, declared.count + 1)
    ]
    for role in behind:
        base = MachineSpec() if role == BALANCER else placement.backend
        machines.append(PlannedMachine(MachineRole(role), of_role(base, placement.roles, role), is_front=False))
    return tuple(machines)


def machines_of(
    system: Reference | Station | FileServer, placement: Placement, needs: ServerNeeds
) -> Mapping[str, MachineSpec]:
    """Returns what is declared of every machine, by its name. Raises UsageError."""
    return {str(machine.name): machine.spec for machine in planned_machines(system, placement, needs)}


def _behind(system: Reference, needs: ServerNeeds) -> list[str]:
    """Names of the machines that those ask that users reach, and of the one before them."""
    if needs.need not in BEHIND:
        return []
    services = system.services
    is_cached = services.cache not in ("", EMBEDDED)
    return [
        str(BEHIND[needs.need]),
        *([GEOCODER, STORE] if needs.need is Need.EVENTS else []),
        *([str(ServiceRole.CACHE)] if is_cached else []),
        *([BALANCER] if services.balancer else []),
    ]
