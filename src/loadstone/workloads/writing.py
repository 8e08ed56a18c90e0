"""Writing workloads that were imported: what all importers share."""

from collections.abc import Mapping
from dataclasses import dataclass

import tomlkit


@dataclass(frozen=True)
class Imported:
    """A workload's text, where it is to be played, what was left out, and what wants another look."""

    text: str
    target: str
    operations: int
    left_out: tuple[str, ...]
    doubts: tuple[str, ...] = ()


def table_of(content: Mapping[str, object]) -> tomlkit.items.Table:
    """A table with this content."""
    table = tomlkit.table()
    table.update(content)
    return table


def literal(text: str) -> str:
    """Braces of a recorded text are no values."""
    return text.replace("{", "{{").replace("}", "}}")
