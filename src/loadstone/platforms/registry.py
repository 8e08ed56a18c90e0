"""All platforms, found by themselves: each module below `kinds/` that declares a `KIND` is one; and machines of them as
users write them.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Literal

from pydantic import Field, create_model

from loadstone.model.errors import UsageError
from loadstone.model.machine import PROCESS, MachineSpec
from loadstone.model.modules import collect_declared
from loadstone.model.reading import from_settings, read_settings, suggest
from loadstone.platforms import kinds
from loadstone.platforms.kind import PlatformKind


@cache
def list_platform_kinds() -> Mapping[str, PlatformKind]:
    """The platforms by name, in the order they are listed."""
    declared: tuple[PlatformKind, ...] = collect_declared(kinds, "KIND")
    return {kind.name: kind for kind in sorted(declared, key=lambda kind: (kind.rank, kind.name))}


def get_platform_kind(name: str) -> PlatformKind:
    """A platform by name; raises UsageError."""
    known = list_platform_kinds()
    if name not in known:
        raise UsageError(f"There is no platform `{name}`. {suggest(name, set(known))}")
    return known[name]


@cache
def build_machine_kind() -> type[MachineSpec]:
    """Returns the type that has the settings of all platforms, for reading files and options."""
    names = tuple(list_platform_kinds())
    extra_fields: dict[str, Any] = {
        name: (field.annotation, field)
        for kind in list_platform_kinds().values()
        for name, field in kind.settings_section.model_fields.items()
    }
    described = f"{', '.join(f'`{name}`' for name in names[:-1])} or `{names[-1]}`"
    named: Any = (Literal[names], Field(default=PROCESS, description=described))
    return create_model("MachineSpec", __base__=MachineSpec, platform=named, **extra_fields)


def read_machine(declared: Mapping[str, object] | str) -> MachineSpec:
    """A machine from its settings, or from `platform=vm,cpus=2,memory=1024`. Raises UsageError."""
    settings = read_settings(declared) if isinstance(declared, str) else declared
    if "platform" in settings:
        get_platform_kind(str(settings["platform"]))
    return from_settings(build_machine_kind(), "machine", settings)


def replace_settings(machine: MachineSpec, **settings: object) -> MachineSpec:
    """A machine with some other settings, as values or texts; raises UsageError."""
    return read_machine({**machine.declared, **settings})


def refuse_foreign(machine: MachineSpec, names: Iterable[str], option: str = "--platform ") -> None:
    """Raises UsageError when one of these settings is none of the machine's platform, which `option` sets."""
    kind = get_platform_kind(machine.platform)
    foreign = sorted(set(names) - kind.settings)
    if foreign:
        others = [kind.name for kind in list_platform_kinds().values() if foreign[0] in kind.settings]
        remedy = f"Use {option}{' or '.join(others)}, or remove the setting."
        raise UsageError(f"A {kind.title} has no `{foreign[0]}`. {remedy}")


def describe_machine(machine: MachineSpec) -> str:
    """A machine for people, with all that was declared of it."""
    kind, cpus = get_platform_kind(machine.platform), machine.cpus
    if kind.shares_host:
        size = f" on {cpus} core{'s' * (cpus != 1)}" if cpus else ""
    else:
        size = f" of {cpus or 1} CPU{'s' * ((cpus or 1) != 1)} and {machine.memory} MiB"
    name = kind.title if machine.count == 1 else f"{machine.count} {kind.plural}"
    rest = {key: value for key, value in machine.declared.items() if key not in SIZE}
    return ", ".join([f"{name}{size}", *(f"{key} {value}" for key, value in rest.items())])


SIZE = {"platform", "count", "cpus", "memory"}
