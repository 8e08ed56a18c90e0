"""Values of the command line and the environment that replace those of a study file. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from loadstone.model.errors import UsageError
from loadstone.model.reading import Document

TableContent = dict[str, object]
"""A table of a file, as it is parsed."""


@dataclass(frozen=True)
class Override:
    """A value of the command line or the environment that replaces one of a study file."""

    source: str
    """The option or variable as its user wrote it, such as `--service`."""
    place: tuple[str, ...]
    """Section and key; the section alone where all of it is replaced. `load` is the only workload's load."""
    value: object


EXCLUDED: Mapping[tuple[str, ...], tuple[tuple[str, ...], ...]] = {
    ("load", "sessions"): (("load", "rate"), ("load", "trace")),
    ("load", "rate"): (("load", "sessions"), ("load", "trace")),
    ("load", "trace"): (("load", "sessions"), ("load", "rate")),
    ("station",): (("target",), ("server",), ("nginx",)),
    ("nginx",): (("target",), ("server",), ("station",)),
    ("target", "urls"): (("station",), ("nginx",)),
}
"""Places whose values a replacement excludes."""


def apply_overrides(document: Document, overrides: Sequence[Override]) -> dict[str, str]:
    """Replaces values of the file; returns a note for each value that is another than the file's, by its place.

    Raises UsageError where two overrides exclude each other.
    """
    _refuse_exclusive(overrides)
    return {name: text for override in overrides for name, text in _apply(document, override)}


def _refuse_exclusive(overrides: Sequence[Override]) -> None:
    sources = {override.place: override.source for override in overrides}
    for override in overrides:
        for place in EXCLUDED.get(override.place, ()):
            if place in sources:
                raise UsageError(f"{override.source} cannot be combined with {sources[place]}. Remove one of them.")


def _apply(document: Document, override: Override) -> Iterator[tuple[str, str]]:
    for place in EXCLUDED.get(override.place, ()):
        if before := _replace(document, override, place, None):
            yield _note(override, place, "none", before)
    before = _replace(document, override, override.place, override.value)
    if before != override.value:
        yield _note(override, override.place, override.value, before)


def _note(override: Override, place: tuple[str, ...], value: object, before: object) -> tuple[str, str]:
    stated = "none" if before is None else str(before)
    return f"overridden: {'.'.join(place)}", f"{value} by {override.source}; in the file: {stated}"


def _replace(document: Document, override: Override, place: tuple[str, ...], value: object) -> object:
    """Sets the value at a place, or removes it where the value is None; returns the value before, None without any."""
    *path, key = place
    table = _table(document, override, path)
    if table is None:
        return None
    before = table.pop(key, None)
    if value is not None:
        table[key] = value
    return before


def _table(document: Document, override: Override, path: Sequence[str]) -> TableContent | None:
    """The table at a path, made where the file has none; None where it cannot be changed, which is noted."""
    table: object = document.content
    for name in path:
        if not isinstance(table, dict):
            return None
        below = table.setdefault(name, [] if name == "load" else {})
        table = _only_load(document, override, below) if name == "load" else below
    return table if isinstance(table, dict) else None


def _only_load(document: Document, override: Override, loads: object) -> object:
    """The load of a file with one workload; None for several, which is noted once."""
    if isinstance(loads, list) and len(loads) == 1:
        return loads[0]
    count = len(loads) if isinstance(loads, list) else 0
    message = f"has {count} workloads, and {override.source} sets the load of one"
    if not any(problem.message == message for problem in document.problems):
        document.note_problem(("load",), message, "Write it in the file.")
    return None
