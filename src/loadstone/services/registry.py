"""Services that there is a choice of, found by themselves: each module below `kinds/` that declares a `KIND` is one."""

from collections.abc import Mapping, Sequence
from functools import cache

from loadstone.model.choices import CHOICES, NONE
from loadstone.model.errors import UsageError
from loadstone.model.modules import collect_declared
from loadstone.model.program_settings import SettingsByProgram
from loadstone.model.reading import Section, suggest
from loadstone.model.service import EMBEDDED, Mechanism, ServiceRole, Tuning
from loadstone.model.system import Reference
from loadstone.model.topology import get_topology, list_roles_chosen_by, list_topologies_with
from loadstone.model.workload import ServerNeeds
from loadstone.services import kinds
from loadstone.services.kind import ServiceKind
from loadstone.services.settings import check_settings
from loadstone.topologies.topology import Topology


@cache
def list_service_kinds(role: str) -> Mapping[str, ServiceKind]:
    """The services of a role by name, the embedded one first."""
    declared: tuple[ServiceKind, ...] = collect_declared(kinds, "KIND")
    return {kind.name: kind for kind in sorted((kind for kind in declared if kind.role == role), key=_order)}


def list_service_roles() -> list[str]:
    """All roles that a service has, those of the program in the order of their declaration."""
    declared: tuple[ServiceKind, ...] = collect_declared(kinds, "KIND")
    return list(dict.fromkeys((*map(str, ServiceRole), *(kind.role for kind in declared))))


def _order(kind: ServiceKind) -> tuple[bool, str]:
    return kind.name != EMBEDDED, kind.name


def choose_web_server(system: Reference, needs: ServerNeeds) -> tuple[ServiceKind, Mechanism]:
    """Returns the web server and the mechanism of its answers: as requested, or the first that the workload and the
    server have in common. Raises UsageError where they have none.
    """
    kind = get_service_kind(get_topology(needs.need).front.service, system.services.service)
    requested = system.services.mechanism
    fitting = [mechanism for mechanism in needs.mechanisms if mechanism in kind.mechanisms]
    chosen = requested or next(iter(fitting), None)
    if chosen is None or chosen not in fitting:
        possible = (requested,) if requested else needs.mechanisms
        refused = " or ".join(f"`{mechanism}`" for mechanism in possible)
        raise UsageError(
            f"{kind.name} cannot serve this workload with {refused}: it supports {', '.join(sorted(kind.mechanisms))}, "
            f"but the workload needs {', '.join(needs.mechanisms)}."
        )
    return kind, chosen


def list_names(choice: str) -> list[str]:
    """Returns the values that may be chosen, but for that of no service."""
    services = [kind for role in list_roles_chosen_by(choice) for kind in list_service_kinds(role).values()]
    names = (kind.name for kind in sorted(services, key=_order))
    return [name for name in dict.fromkeys((*CHOICES[choice].further, *names)) if name != NONE]


def refuse_unfit(system: Reference, needs: ServerNeeds) -> None:
    """Raises UsageError for a choice that the workloads' systems do not have, and for a name that no service has."""
    topology = get_topology(needs.need)
    refuse_unfit_front(system, needs, topology)
    for name, chosen in system.services.list_changed().items():
        option = name.replace("_", "-")
        if name not in topology.choices:
            fitting = ", ".join(candidate.need for candidate in list_topologies_with(name))
            raise UsageError(
                f"{CHOICES[name].about} applies to workloads of kind {fitting}; these need `{needs.need}`. "
                f"Remove --{option}."
            )
        if chosen not in list_names(name):
            raise UsageError(f"There is no {option} `{chosen}`. {suggest(str(chosen), set(list_names(name)))}")
    check_system_settings(system, topology)


@cache
def list_program_settings() -> Mapping[str, type[Section]]:
    """Returns the settings that users may change, by the program that has them."""
    every = (kind.settings for role in list_service_roles() for kind in list_service_kinds(role).values())
    sections = {program: type(usual[Tuning.DEFAULT]) for settings in every for program, usual in settings.items()}
    return dict(sorted(sections.items()))


def check_system_settings(system: Reference, *topologies: Topology) -> SettingsByProgram:
    """Returns what the user changed of programs, as typed values. Raises UsageError for what no chosen service has."""
    named = ((role, system.get_service(role.choice)) for topology in topologies for role in topology.roles)
    chosen = [get_service_kind(role.service, name) for role, name in named if role.has_machine(name)]
    return check_settings(chosen, system.services.tuning, system.settings)


def refuse_unfit_front(system: Reference, needs: ServerNeeds, topology: Topology) -> None:
    """Raises UsageError for a service that users reach where it lacks settings, a mechanism, or a database."""
    if "mechanism" in topology.front.settings:
        _refuse_untuned(system, *choose_web_server(system, needs))
    elif "tuning" in topology.front.settings:
        kind = get_service_kind(topology.front.service, system.get_service(topology.front.choice))
        _refuse_untuned(system, kind)
        is_embedded = system.services.database == EMBEDDED
        if kind.name != EMBEDDED and "database" in topology.choices and is_embedded:
            raise UsageError(f"`{kind.name}` needs a separate database. Add --database postgresql or mariadb.")


def check_tuning(system: Reference, kinds: Sequence[ServiceKind]) -> None:
    """Raises UsageError for a tuning that none of several services has."""
    tuning = system.services.tuning
    if not any(tuning in kind.list_tunings() for kind in kinds):
        raise UsageError(f"None of the chosen services has {tuning} settings. Remove --tuning, or choose another one.")


def _refuse_untuned(system: Reference, kind: ServiceKind, mechanism: Mechanism | None = None) -> None:
    if system.services.tuning in kind.list_tunings(mechanism):
        return
    kinds_of_role = list_service_kinds(kind.role).values()
    tuned = [
        candidate.name for candidate in kinds_of_role if system.services.tuning in candidate.list_tunings(mechanism)
    ]
    suffix = f" for {mechanism}" if mechanism else ""
    raise UsageError(f"`{kind.name}` has no {system.services.tuning} settings{suffix}. These have: {', '.join(tuned)}.")


def get_service_kind(role: str, name: str) -> ServiceKind:
    """A service by role and name; raises UsageError."""
    services = list_service_kinds(role)
    if name not in services:
        raise UsageError(f"There is no {role} service `{name}`. {suggest(name, set(services))}")
    return services[name]
