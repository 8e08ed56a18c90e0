"""All platforms, found by themselves: each module below `kinds/` that declares a `KIND` is one; and machines of them as
users write them.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Literal

from pydantic import Field, create_model

from loadstone.model.errors import UsageError
from loadstone.model.machine import PROCESS, MachineSpec
from loadstone.model.modules import declared_in
from loadstone.model.reading import from_settings, settings_of, suggest
from loadstone.platforms import kinds
from loadstone.platforms.kind import PlatformKind


@cache
def platform_kinds() -> Mapping[str, PlatformKind]:
    """The platforms by name, in the order they are listed."""
    declared: list[PlatformKind] = declared_in(kinds, "KIND")
    return {kind.name: kind for kind in sorted(declared, key=lambda kind: (kind.rank, kind.name))}


def platform_kind(name: str) -> PlatformKind:
    """A platform by name; raises UsageError."""
    known = platform_kinds()
    if name not in known:
        raise UsageError(f"There is no platform `{name}`. {suggest(name, set(known))}")
    return known[name]


@cache
def machine_kind() -> type[MachineSpec]:
    """What can be said of machines of all platforms together, for reading what users wrote."""
    names = tuple(platform_kinds())
    extra_fields: dict[str, Any] = {
        name: (field.annotation, field)
        for kind in platform_kinds().values()
        for name, field in kind.settings_section.model_fields.items()
    }
    described = f"{', '.join(f'`{name}`' for name in names[:-1])} or `{names[-1]}`"
    named: Any = (Literal[names], Field(default=PROCESS, description=described))
    return create_model("MachineSpec", __base__=MachineSpec, platform=named, **extra_fields)


RoleSettings = Mapping[str, Mapping[str, object]]
"""Settings of machines by role, as `db`, or by copy and role, as `2.web`."""


def read_machine(declared: Mapping[str, object] | str) -> MachineSpec:
    """A machine from its settings, or from `platform=vm,cpus=2,memory=1024`. Raises UsageError."""
    settings = settings_of(declared) if isinstance(declared, str) else declared
    if "platform" in settings:
        platform_kind(str(settings["platform"]))
    return from_settings(machine_kind(), "machine", settings)


def changed(machine: MachineSpec, **settings: object) -> MachineSpec:
    """A machine with some other settings, as values or texts; raises UsageError."""
    return read_machine({**machine.declared, **settings})


SHORT_NAMES = {"database": "db"}
"""Short names of roles, as tiles have them."""


def of_role(base: MachineSpec, roles: RoleSettings, role: str) -> MachineSpec:
    """Returns the machine of a role: the base with the role's settings. Raises UsageError."""
    return _with_settings(base, {**roles.get(SHORT_NAMES.get(role, ""), {}), **roles.get(role, {})})


def of_copy(base: MachineSpec, roles: RoleSettings, role: str, number: int) -> MachineSpec:
    """Returns the machine of one copy of a role, counted from 1: the base with the copy's settings. Raises
    UsageError.
    """
    return _with_settings(base, roles.get(f"{number}.{role}", {}))


def _with_settings(base: MachineSpec, settings: Mapping[str, object]) -> MachineSpec:
    if not settings:
        return base
    machine = read_machine({**base.declared, **settings})
    refuse_foreign(machine, settings)
    return machine


def refuse_unknown_roles(roles: RoleSettings, copies: Mapping[str, int]) -> None:
    """Raises UsageError for settings of a machine that is not there; `copies` says how many there are of each role."""
    known = {name: count for role, count in copies.items() for name in (role, SHORT_NAMES.get(role, role))}
    for selector in roles:
        number, _, role = selector.rpartition(".")
        if role not in known:
            raise UsageError(f"There is no machine `{role}` in this system. There are: {', '.join(copies)}.")
        if number and not (number.isdigit() and 1 <= int(number) <= known[role]):
            raise UsageError(f"There is no copy {number} of `{role}`. There are {known[role]}, counted from 1.")


def role_settings(declared: Mapping[str, object]) -> tuple[dict[str, object], dict[str, dict[str, object]]]:
    """Divides settings as users write them: those of all machines, and those of single ones, as `db.disk` or
    `2.web.pin`, by their role.
    """
    common = {name: value for name, value in declared.items() if "." not in name}
    roles: dict[str, dict[str, object]] = {}
    for name, value in declared.items():
        selector, _, key = name.rpartition(".")
        if selector:
            roles.setdefault(selector, {})[key] = value
    for settings in roles.values():
        read_machine(settings)
    return common, roles


def refuse_foreign(machine: MachineSpec, names: Iterable[str]) -> None:
    """Raises UsageError when one of these settings is none of the machine's platform."""
    kind = platform_kind(machine.platform)
    foreign = sorted(set(names) - kind.settings)
    if foreign:
        others = [kind.name for kind in platform_kinds().values() if foreign[0] in kind.settings]
        remedy = f"Use --platform {' or '.join(others)}, or remove the setting."
        raise UsageError(f"A {kind.title} has no `{foreign[0]}`. {remedy}")


def described(machine: MachineSpec) -> str:
    """A machine for people, with all that was declared of it."""
    kind, cpus = platform_kind(machine.platform), machine.cpus
    if kind.shares_host:
        size = f" on {cpus} cores" if cpus else ""
    else:
        size = f" of {cpus or 1} CPU{'s' * ((cpus or 1) != 1)} and {machine.memory} MiB"
    name = kind.title if machine.count == 1 else f"{machine.count} {kind.plural}"
    rest = {key: value for key, value in machine.declared.items() if key not in SIZE}
    return ", ".join([f"{name}{size}", *(f"{key} {value}" for key, value in rest.items())])


SIZE = {"platform", "count", "cpus", "memory"}
