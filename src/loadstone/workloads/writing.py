"""Writing workloads that were imported: what all importers share."""

import re
from collections.abc import Mapping

import tomlkit

from loadstone.model.workload.mix import END

LONGEST_NAME = 60
"""Characters of a text that a name is made of."""


def build_table(content: Mapping[str, object]) -> tomlkit.items.Table:
    """A table with this content."""
    table = tomlkit.table()
    table.update(content)
    return table


def write_table(name: str, content: Mapping[str, object], comment: str = "") -> str:
    """A table with a header as TOML: in time that grows with its length, as that of an editable document does not."""
    header = f"[{'.'.join(tomlkit.key(part).as_string() for part in name.split('.'))}]"
    return f"{header}{f' # {comment}' if comment else ''}\n{write_entries(content)}"


def _key(key: str) -> str:
    return tomlkit.key(key).as_string() if key else '""'


def _value(value: object) -> str:
    """A value in one line, but for a list of tables, which has a line for each."""
    match value:
        case Mapping():
            return f"{{{', '.join(f'{_key(str(key))} = {_value(entry)}' for key, entry in value.items())}}}"
        case list() | tuple() if len(value) > 1 and isinstance(value[0], Mapping):
            return "[\n" + "".join(f"    {_value(entry)},\n" for entry in value) + "]"
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case _:
            return tomlkit.item(value).as_string()


def escape_braces(text: str) -> str:
    """Braces of a recorded text are no values."""
    return text.replace("{", "{{").replace("}", "}}")


def name_of(text: str, otherwise: str, prefix: str) -> str:
    """A name for an operation: of the letters and digits of a text, or another where it has none; with the prefix where
    it would be none, or mean the end of a session.
    """
    name = re.sub(r"[^A-Za-z0-9]+", "_", text[:LONGEST_NAME]).strip("_") or otherwise
    return name if name[0].isalpha() and name != END else f"{prefix}_{name}"


def write_entries(content: Mapping[str, object]) -> str:
    """Lines of a table, tables in it inline. It takes time by their number alone, which tomlkit's tables do not."""
    return "".join(f"{_key(key)} = {_value(value)}\n" for key, value in content.items())
