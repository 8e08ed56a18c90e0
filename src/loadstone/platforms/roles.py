"""Machines by role and by copy: a machine of all roles, with the settings of single ones. Pure."""

from collections.abc import Mapping

from loadstone.model.errors import UsageError
from loadstone.model.machine import MachineSpec
from loadstone.model.selector import RoleSettings, normalize_selector, split_selector, write_selector
from loadstone.platforms.registry import get_platform_kind, read_machine, refuse_foreign


def get_role_machine(base: MachineSpec, roles: RoleSettings, role: str) -> MachineSpec:
    """Returns the machine of a role: the base with the role's settings. Raises UsageError."""
    return _with_settings(base, roles, write_selector(role))


def get_copy_machine(base: MachineSpec, roles: RoleSettings, role: str, number: int) -> MachineSpec:
    """Returns the machine of one copy of a role, counted from 1: the base with the copy's settings. Raises
    UsageError.
    """
    return _with_settings(base, roles, write_selector(role, number))


def _with_settings(base: MachineSpec, roles: RoleSettings, selector: str) -> MachineSpec:
    settings = roles.get(selector)
    if not settings:
        return base
    machine = read_machine({**base.model_dump(mode="json", exclude_unset=True), **settings})
    refuse_foreign(machine, settings, f"--machine {selector}.platform=")
    return machine


def has_setting(machine: MachineSpec, name: str) -> bool:
    """Returns whether machines of the platform have a setting."""
    return name in get_platform_kind(machine.platform).settings


def refuse_unknown_roles(roles: RoleSettings, copies: Mapping[str, int], counted: str = "") -> None:
    """Raises UsageError for settings of a machine that is not there. `copies` is the number of machines by role;
    `counted` is the role whose number is a setting, empty where there is none.
    """
    known = {write_selector(role): count for role, count in copies.items()}
    for selector, settings in roles.items():
        number, role = split_selector(selector)
        if role not in known:
            raise UsageError(f"There is no machine `{role}` in this system. There are: {', '.join(copies)}.")
        if number and not (number.isdigit() and 1 <= int(number) <= known[role]):
            copies_text = "It has one machine" if known[role] == 1 else f"Its copies are 1 to {known[role]}"
            raise UsageError(f"There is no copy {number} of `{role}`. {copies_text}.")
        if "count" in settings and selector != write_selector(counted):
            remedy = f"Only `{counted}` has several machines" if counted else "Use --tiles for more tiles"
            raise UsageError(f"`{selector}.count` cannot be set: it selects one machine. {remedy}.")


def split_role_settings(declared: Mapping[str, object]) -> tuple[dict[str, object], dict[str, dict[str, object]]]:
    """Divides settings as users write them: those of all machines, and those of single ones, as `db.disk` or
    `2.web.pin`, by their selector. Raises UsageError.
    """
    common = {name: value for name, value in declared.items() if "." not in name}
    roles: dict[str, dict[str, object]] = {}
    for name, value in declared.items():
        selector, _, key = name.rpartition(".")
        if selector:
            roles.setdefault(normalize_selector(selector), {})[key] = value
    for settings in roles.values():
        read_machine(settings)
    return common, roles
