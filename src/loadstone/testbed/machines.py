"""Which machines a system under test has, by their names, and what is declared of each."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from loadstone.model.front import find_front
from loadstone.model.machine import MachineSpec, Placement
from loadstone.model.role import MachineRole
from loadstone.model.selector import select_settings, split_selector, write_selector
from loadstone.model.system import FileServer, Reference, Station
from loadstone.model.topology import get_topology
from loadstone.model.workload import ServerNeeds
from loadstone.platforms.registry import describe_machine, get_platform_kind
from loadstone.platforms.roles import get_copy_machine, get_role_machine, refuse_unknown_roles
from loadstone.topologies.topology import TopologyRole


@dataclass(frozen=True)
class PlannedMachine:
    """A machine that a system is to have."""

    name: MachineRole
    spec: MachineSpec

    def has_selector(self, selector: str) -> bool:
        """Returns whether settings of a selector apply to it."""
        number, role = split_selector(selector)
        own_number = self.name.tile or self.name.replica or 1
        return role == write_selector(self.name.role) and number in ("", str(own_number))


def find_machine(machines: Sequence[PlannedMachine], selector: str) -> PlannedMachine:
    """Returns the first machine that a selector applies to, such as `db` or `2.web`. Raises UsageError."""
    refuse_unknown_roles({selector: {}}, Counter(machine.name.role for machine in machines))
    return next(machine for machine in machines if machine.has_selector(selector))


def plan_machines(
    system: Reference | Station | FileServer, placement: Placement, needs: ServerNeeds
) -> tuple[PlannedMachine, ...]:
    """Returns every machine, the ones that users reach first. Raises UsageError for a role that is not there, and for
    settings that its platform lacks.
    """
    front = find_front(system, needs.need)
    other_roles: list[TopologyRole] = []
    if isinstance(system, Reference):
        back_roles = get_topology(needs.need).roles[1:]
        other_roles = [role for role in back_roles if role.has_machine(system.get_service(role.choice))]
    declared = get_role_machine(placement.machine, placement.roles, front)
    copies = {front: declared.count, **dict.fromkeys((role.name for role in other_roles), 1)}
    refuse_unknown_roles(placement.roles, copies, counted=front)
    machines = [
        PlannedMachine(
            MachineRole(front, replica=number if declared.count > 1 else None),
            get_copy_machine(declared.with_number(number - 1), placement.roles, front, number),
        )
        for number in range(1, declared.count + 1)
    ]
    for role in other_roles:
        base = MachineSpec() if role.has_default_machine else placement.backend
        machine = get_copy_machine(get_role_machine(base, placement.roles, role.name), placement.roles, role.name, 1)
        machines.append(PlannedMachine(MachineRole(role.name), machine))
    return tuple(machines)


def list_machines(
    system: Reference | Station | FileServer, placement: Placement, needs: ServerNeeds
) -> Mapping[str, MachineSpec]:
    """Returns what is declared of every machine, by its name. Raises UsageError."""
    return {str(machine.name): machine.spec for machine in plan_machines(system, placement, needs)}


def choose_threads(planned: Sequence[PlannedMachine], placement: Placement, threads: int) -> dict[str, int]:
    """Returns the threads of services by the name of their machine: as many as CPUs on a machine of a back role that
    has a number of CPUs of its own, and on a copy of the front where the other copies have one thread a CPU.
    """
    front = planned[0].name.role
    common = get_role_machine(placement.machine, placement.roles, front)
    is_one_per_cpu = (common.cpus or (0 if get_platform_kind(common.platform).shares_host else 1)) == threads
    by_machine: dict[str, int] = {}
    for machine in planned:
        settings = select_settings(placement.roles, machine.name.role, machine.name.replica or 1)
        is_back = machine.name.role != front
        if "cpus" in settings and machine.spec.cpus and (is_back or is_one_per_cpu):
            by_machine[str(machine.name)] = machine.spec.cpus
    return by_machine


def describe_front(planned: Sequence[PlannedMachine], placement: Placement) -> str:
    """Returns the machines that users reach: those without settings of their own together, the others by name."""
    front = planned[0].name.role
    common = get_role_machine(placement.machine, placement.roles, front)
    if common.count == 1:
        return describe_machine(planned[0].spec)
    selected = {write_selector(front, number) for number in range(1, common.count + 1)} & placement.roles.keys()
    fronts = planned[: common.count]
    single = [machine for machine in fronts if any(map(machine.has_selector, selected))]
    alike = [machine.spec for machine in fronts if machine not in single]
    together = [common.model_copy(update={"count": len(alike), "memory": alike[0].memory})] if alike else []
    return "; ".join([*map(describe_machine, together), *map(_in_words, single)])


def describe_others(planned: Sequence[PlannedMachine], placement: Placement, named: Iterable[str]) -> str:
    """Returns the machines of back roles that are `named` or have settings of their own, each with its size."""
    front, shown = planned[0].name.role, {write_selector(role) for role in named}
    shown |= {split_selector(selector)[1] for selector in placement.roles}
    others = [machine for machine in planned if machine.name.role != front]
    return "".join(f"; {_in_words(machine)}" for machine in others if write_selector(machine.name.role) in shown)


def _in_words(machine: PlannedMachine) -> str:
    return f"{machine.name} on {describe_machine(machine.spec)}"
