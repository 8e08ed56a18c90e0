"""Services that there is a choice of, found by themselves: each module below `kinds/` that declares a `KIND` is one."""

from collections.abc import Mapping
from functools import cache

from loadstone.model.errors import UsageError
from loadstone.model.modules import declared_in
from loadstone.model.reading import suggest
from loadstone.services import kinds
from loadstone.services.kind import EMBEDDED, ServiceKind, ServiceRole


@cache
def service_kinds(role: ServiceRole) -> Mapping[str, ServiceKind]:
    """The services of a role by name, the embedded one first."""
    declared: list[ServiceKind] = declared_in(kinds, "KIND")
    of_role = [kind for kind in declared if kind.role is role]
    return {kind.name: kind for kind in sorted(of_role, key=lambda kind: (kind.name != EMBEDDED, kind.name))}


def service_kind(role: ServiceRole, name: str) -> ServiceKind:
    """A service by role and name; raises UsageError."""
    known = service_kinds(role)
    if name not in known:
        raise UsageError(f"There is no {role} service `{name}`. {suggest(name, set(known))}")
    return known[name]
