"""Services that there is a choice of, found by themselves: each module below `kinds/` that declares a `KIND` is one."""

from collections.abc import Mapping
from functools import cache

from loadstone.model.errors import UsageError
from loadstone.model.modules import declared_in
from loadstone.model.reading import suggest
from loadstone.model.service import Mechanism, Tuning
from loadstone.model.system import Reference
from loadstone.model.workload import Need, ServerNeeds
from loadstone.services import kinds
from loadstone.services.kind import EMBEDDED, ServiceKind, ServiceRole

OVER_A_DATABASE = (Need.APPLICATION, Need.BOOKSTORE, Need.EVENTS)
"""Whose servers keep their data in a database that there is a choice of."""
FRONTS = {
    Need.WEB: ServiceRole.WEB,
    Need.BOOKSTORE: ServiceRole.BOOKSTORE,
    Need.EVENTS: ServiceRole.EVENTS,
}
"""What there is a choice of where users come, beside web servers alone."""


@cache
def service_kinds(role: ServiceRole) -> Mapping[str, ServiceKind]:
    """The services of a role by name, the embedded one first."""
    declared: list[ServiceKind] = declared_in(kinds, "KIND")
    of_role = [kind for kind in declared if kind.role is role]
    return {kind.name: kind for kind in sorted(of_role, key=lambda kind: (kind.name != EMBEDDED, kind.name))}


def web_server(system: Reference, needs: ServerNeeds) -> tuple[ServiceKind, Mechanism]:
    """What answers for a web server alone, and by what: as asked, or by the first mechanism that the workload and the
    server have in common. Raises UsageError where they have none.
    """
    kind = service_kind(ServiceRole.WEBSERVER, system.web)
    fitting = [mechanism for mechanism in needs.mechanisms if mechanism in kind.mechanisms]
    chosen = system.mechanism or next(iter(fitting), None)
    if chosen is None or chosen not in fitting:
        asked = f"`{system.mechanism}`" if system.mechanism else " or ".join(f"`{one}`" for one in needs.mechanisms)
        able = ", ".join(sorted(kind.mechanisms))
        wanted = ", ".join(needs.mechanisms)
        raise UsageError(f"{kind.name} cannot answer this workload by {asked}: it has {able}, and that wants {wanted}.")
    return kind, chosen


def refuse_unfit(system: Reference, needs: ServerNeeds) -> None:
    """Raises UsageError for a service, settings or a mechanism that the workloads do not need, or that it lacks."""
    _refuse_unfit_front(system, needs)
    backend = service_kind(ServiceRole.BACKEND, system.backend)
    database = service_kind(ServiceRole.DATABASE, system.database)
    needed = f"these workloads need `{needs.need}`."
    if backend.name != EMBEDDED and needs.need is not Need.WEB:
        raise UsageError(f"The back end is what web sites ask; {needed}")
    if database.name != EMBEDDED and needs.need not in OVER_A_DATABASE:
        raise UsageError(f"A database is the dealership's, the bookstore's and the events'; {needed}")
    if system.balancer and service_kind(ServiceRole.BALANCER, system.balancer) and needs.need not in FRONTS:
        raise UsageError(f"A balancer deals the users of web sites, the bookstore and the events; {needed}")
    if system.cache and needs.need is not Need.EVENTS:
        raise UsageError(f"A cache keeps answers of the site of events; {needed}")
    if system.cache not in ("", EMBEDDED):
        service_kind(ServiceRole.CACHE, system.cache)
    if system.store != EMBEDDED:
        service_kind(ServiceRole.STORE, system.store)
        if needs.need is not Need.EVENTS:
            raise UsageError(f"A store keeps pictures of the site of events; {needed}")
    if system.mechanism is not None and needs.need is not Need.WEBSERVER:
        raise UsageError("A mechanism is of a web server alone: of static-files, printenv and phpinfo.")


def _refuse_unfit_front(system: Reference, needs: ServerNeeds) -> None:
    """What users reach."""
    if needs.need is Need.WEBSERVER:
        _refuse_untuned(system, *web_server(system, needs))
    elif needs.need in FRONTS:
        kind = service_kind(FRONTS[needs.need], system.web)
        _refuse_untuned(system, kind)
        if kind.name != EMBEDDED and needs.need in OVER_A_DATABASE and system.database == EMBEDDED:
            raise UsageError(f"`{kind.name}` needs a database of its own. Add --database postgresql, or mariadb.")
    elif system.web != EMBEDDED:
        raise UsageError(f"`{system.web}` gives web pages, and these workloads need a server of kind `{needs.need}`.")
    elif system.tuning is not Tuning.DEFAULT:
        raise UsageError(f"A tuning is of a web server's settings; these workloads need `{needs.need}`.")


def _refuse_untuned(system: Reference, kind: ServiceKind, mechanism: Mechanism | None = None) -> None:
    if system.tuning in kind.tunings(mechanism):
        return
    known = [one.name for one in service_kinds(kind.role).values() if system.tuning in one.tunings(mechanism)]
    by = f" for {mechanism}" if mechanism else ""
    raise UsageError(f"`{kind.name}` has no {system.tuning} settings{by}. These have: {', '.join(known)}.")


def service_kind(role: ServiceRole, name: str) -> ServiceKind:
    """A service by role and name; raises UsageError."""
    known = service_kinds(role)
    if name not in known:
        raise UsageError(f"There is no {role} service `{name}`. {suggest(name, set(known))}")
    return known[name]
