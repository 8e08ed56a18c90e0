"""Settings of single machines, by role, as `db.disk`, or by copy and role, as `2.web.pin`. Pure."""

from collections.abc import Mapping
from typing import Any

from loadstone.model.reading import Document, Section

RoleSettings = Mapping[str, Mapping[str, object]]
"""Settings by selector: the role, as `db`, or the copy and the role, as `2.web`."""
SHORT_NAMES = {"database": "db"}
"""Names of roles in selectors, where they are shorter than in topologies."""


def write_selector(role: str, number: int | None = None) -> str:
    """Returns the selector of a role, or of one copy of it, counted from 1."""
    name = SHORT_NAMES.get(role, role)
    return name if number is None else f"{number}.{name}"


def split_selector(selector: str) -> tuple[str, str]:
    """Returns number and role of a selector; the number is empty where it selects all copies of the role."""
    number, _, role = selector.rpartition(".")
    return number, role


def normalize_selector(selector: str) -> str:
    """Returns a selector with the short name of its role, so that each machine has one selector."""
    number, dot, role = selector.rpartition(".")
    return f"{number}{dot}{SHORT_NAMES.get(role, role)}"


def select_settings(roles: RoleSettings, role: str, number: int) -> dict[str, object]:
    """Returns the settings that apply to one copy of a role alone; those of the copy replace those of its role."""
    return {**roles.get(write_selector(role), {}), **roles.get(write_selector(role, number), {})}


def limit_copies(roles: RoleSettings, count: int) -> dict[str, Mapping[str, object]]:
    """Returns the settings without those of copies after the first so many."""
    numbers = {selector: split_selector(selector)[0] for selector in roles}
    return {
        selector: settings
        for selector, settings in roles.items()
        if not numbers[selector].isdigit() or int(numbers[selector]) <= count
    }


def merge_roles(*layers: RoleSettings) -> dict[str, Mapping[str, object]]:
    """Returns the settings of all layers; later ones replace single settings of earlier ones."""
    roles: dict[str, Mapping[str, object]] = {}
    for layer in layers:
        for selector, settings in layer.items():
            roles[selector] = {**roles.get(selector, {}), **settings}
    return roles


def read_role_tables(document: Document, kind: type[Section]) -> dict[str, dict[str, object]]:
    """Reads `[machines.db]` and `[machines.2.web]`: settings of machines of this kind, by their selector. Notes
    problems in the document.
    """
    tables = document.content.get("machines", {})
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        remedy = "Write [machines.db] and below it lines as cpus = 4."
        document.note_problem(("machines",), "is not a table of machines by role", remedy)
        return {}
    roles: dict[str, dict[str, object]] = {}
    for place, settings in _tables_by_place(tables):
        document.take(("machines", *place), kind, settings)
        roles.setdefault(normalize_selector(".".join(place)), {}).update(settings)
    return roles


def _tables_by_place(tables: Mapping[str, dict[str, Any]]) -> list[tuple[tuple[str, ...], dict[str, Any]]]:
    """Divides the tables of roles, as `db`, from those of copies, as `2` and `web`."""
    places: list[tuple[tuple[str, ...], dict[str, Any]]] = []
    for name, table in tables.items():
        below = {key: value for key, value in table.items() if isinstance(value, dict)}
        plain = {key: value for key, value in table.items() if key not in below}
        places += [((name,), plain)] if plain else []
        places += [((name, key), value) for key, value in below.items()]
    return places
