"""Which machines a system under test has, by their names, and what is declared of each."""

from collections.abc import Mapping

from loadstone.model.machine import MachineSpec, Placement
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


def machines_of(
    system: Reference | Station | FileServer, placement: Placement, needs: ServerNeeds
) -> Mapping[str, MachineSpec]:
    """Returns every machine by its name, the ones that users reach first. Raises UsageError for a role that is not
    there, and for settings that its platform lacks.
    """
    if isinstance(system, Reference):
        front = ROLE_NAMES[needs.need]
    else:
        front = STATION if isinstance(system, Station) else FILES
    declared = of_role(placement.machine, placement.roles, front)
    machines = {
        name: of_copy(spec, placement.roles, front, number)
        for number, (name, spec) in enumerate(alike(declared, front), 1)
    }
    behind = _behind(system, needs) if isinstance(system, Reference) else ()
    refuse_unknown_roles(placement.roles, {front: declared.count, **dict.fromkeys(behind, 1)})
    for name in behind:
        base = MachineSpec() if name == BALANCER else placement.backend
        machines[name] = of_role(base, placement.roles, name)
    return machines


def fronts_of(machines: Mapping[str, MachineSpec], needs: ServerNeeds) -> dict[str, MachineSpec]:
    """Returns the machines of the reference servers that users reach."""
    front = ROLE_NAMES[needs.need]
    return {name: spec for name, spec in machines.items() if name == front or name.startswith(f"{front}-")}


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


def alike(spec: MachineSpec, name: str) -> list[tuple[str, MachineSpec]]:
    """A declared machine as often as it counts, with names."""
    if spec.count == 1:
        return [(name, spec.number(0))]
    return [(f"{name}-{at + 1}", spec.number(at)) for at in range(spec.count)]
