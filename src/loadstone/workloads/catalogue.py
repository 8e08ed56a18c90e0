"""Finding workloads by name or folder and reading their declarations, with every problem reported at once."""

import difflib
import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from loadstone.model.errors import UsageError
from loadstone.model.reading import Document, suggest
from loadstone.model.workload import (
    Checks,
    Connections,
    CountRule,
    EmbeddedPattern,
    Header,
    Limits,
    Mailboxes,
    Pacing,
    Rows,
    TargetRules,
    ToolUse,
    Workload,
)
from loadstone.model.workload.mix import Mix
from loadstone.model.workload.operation import Operation
from loadstone.model.workload.published import Published
from loadstone.model.workload.values import Value
from loadstone.workloads.check import check
from loadstone.workloads.tables import with_tables

CATALOGUE_FOLDER = Path(__file__).parent
FILE = "workload.toml"
ADDRESS_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):[0-9]{1,5}(/|$)|www\.")
"""Beginnings of texts that are meant as the address of a page."""
CHECK_SUMS = "sha256sums"
"""SHA-256 of each shipped declaration and its name; `make checksums` writes it."""

Catalogue = Mapping[str, Path]

SUITES = {"webserver": ("static-files", "printenv", "phpinfo")}
"""Workloads that belong together, by the name for all of them."""

WORKLOAD_SECTIONS: Mapping[str, tuple[Any, object]] = {
    "workload": (Header, None),
    "target": (TargetRules, {}),
    "pacing": (Pacing, None),
    "connections": (Connections, {}),
    "limits": (Limits, None),
    "checks": (Checks, {}),
    "scale": (dict[str, float], {}),
    "mix": (Mix, None),
    "published": (Published, {}),
}
"""Sections of a declaration by key: type, and content where the section is left out; None for one that is required."""
OPTIONAL_SECTIONS: Mapping[str, Any] = {"embedded": EmbeddedPattern, "mailboxes": Mailboxes, "tool": ToolUse}
"""Types of sections that a declaration need not have, by key."""
ENTRIES: Mapping[str, Any] = {
    "values": Value,
    "operations": Operation,
    "mixes": Mix,
    "rules": CountRule,
    "data": Rows,
    "headers": str,
}
"""Types of the entries of tables of tables, by key."""


def list_shipped() -> Catalogue:
    """The workloads that come with the program: name to folder."""
    return {path.parent.name: path.parent for path in sorted(CATALOGUE_FOLDER.glob(f"*/{FILE}"))}


def is_shipped_folder(folder: Path) -> bool:
    """Whether a workload's folder is one of those that come with the program."""
    return folder.parent == CATALOGUE_FOLDER


def expand_suites(names: Iterable[str]) -> list[str]:
    """The names, with the workloads of a suite in its place."""
    return [workload for name in names for workload in SUITES.get(name, (name,))]


def is_unchanged(name: str) -> bool:
    """Whether a shipped workload's declaration is the one that was released."""
    digest = hashlib.sha256((CATALOGUE_FOLDER / name / FILE).read_bytes()).hexdigest()
    return f"{digest} {name}" in (CATALOGUE_FOLDER / CHECK_SUMS).read_text(encoding="utf-8").splitlines()


IMPORT = (
    "Import a recording with `loadstone workloads from-har FILE`, or an API description with `loadstone workloads "
    "from-openapi FILE`."
)


def find(name: str) -> Path:
    """The folder of a workload given by its name, its folder or its file; raises UsageError when there is none."""
    if name in (known := list_shipped()):
        return known[name]
    path = Path(name)
    if path.name == FILE and path.is_file():
        return path.parent
    if (path / FILE).is_file():
        return path
    if path.is_dir():
        raise UsageError(
            f"{path} contains no {FILE}. Add one (see docs/reference/workload-file.md) or name another folder."
        )
    if path.is_file():
        raise UsageError(f"`{name}` is not a workload, but a file. {IMPORT}")
    near = difflib.get_close_matches(name, list(known), n=1)
    hint = f"Did you mean `{near[0]}`?" if near else f"Use one of {', '.join(known)}, or the folder of your own."
    raise UsageError(f"There is no workload `{name}`. {hint}")


def load(name: str) -> Workload:
    """Reads and checks a workload, `NAME:MIX` for one of its other mixes; raises StudyError with every problem in it,
    UsageError where there is no such workload or mix.
    """
    path, _, mix = name.partition(":")
    if ADDRESS_PATTERN.match(name) and path not in list_shipped() and not Path(path).exists():
        scheme, _, rest = name.rpartition("://")
        kind = f"begins with {scheme}://" if scheme else "has no scheme"
        raise UsageError(
            f"`{name}` is not a workload, and as an address it {kind}. Use http://{rest} or https://{rest}."
        )
    workload = _read(find(path))
    if mix and mix not in workload.mixes:
        known = suggest(mix, set(workload.mixes)) if workload.mixes else "It has one mix only."
        raise UsageError(f"`{path}` has no mix `{mix}`. {known}")
    played = workload.with_mix(mix) if mix else workload
    return played.without_operations(_list_foreign_operations(workload, played))


def _list_foreign_operations(workload: Workload, played: Workload) -> set[str]:
    """Operations of a workload that only other mixes than the played one perform; none of those of a tool."""
    if workload.tool is not None:
        return set()
    mixes = [workload, *map(workload.with_mix, workload.mixes)]
    performed = {state.operation for mixed in mixes for state in mixed.list_states().values()}
    return performed - {state.operation for state in played.list_states().values()}


def load_with_users(name: str) -> Workload:
    """Reads a workload that users play, not a tool; raises StudyError and UsageError."""
    workload = load(name)
    if workload.tool is not None:
        raise UsageError(
            f"`{name}` is a load of the tool {workload.tool.name}, not of our driver. Use `loadstone run {name}`."
        )
    return workload


def _read(folder: Path) -> Workload:
    document = Document.read(folder / FILE)
    document.refuse_unknown({*WORKLOAD_SECTIONS, *ENTRIES, *OPTIONAL_SECTIONS})
    parts = {key: _section(document, key, kind, default) for key, (kind, default) in WORKLOAD_SECTIONS.items()}
    optional: dict[str, Any] = {
        key: None if key not in document.content else document.take((key,), kind, document.content[key])
        for key, kind in OPTIONAL_SECTIONS.items()
    }
    values = with_tables(document, folder)
    entries: dict[str, Any] = {
        key: _each(values if key == "values" else document, key, kind) for key, kind in ENTRIES.items()
    }
    workload = Workload(
        folder=folder,
        header=parts["workload"],
        target=parts["target"],
        pacing=parts["pacing"],
        connections=parts["connections"],
        limits=parts["limits"],
        checks=parts["checks"],
        scale=parts["scale"],
        mix=parts["mix"],
        published=parts["published"],
        **optional,
        **entries,
    )
    check(workload, document)
    document.finish()
    return workload


def _section(document: Document, key: str, kind: Any, default: object) -> Any:
    if key not in document.content and default is None:
        document.note_problem(
            (key,), "the section is missing", f"Add [{key}]; docs/reference/workload-file.md lists its keys."
        )
        return None
    return document.take((key,), kind, document.content.get(key, default))


def _each(document: Document, key: str, kind: Any) -> dict[str, Any]:
    """Checks every entry of a table of tables on its own, so that one bad entry hides no other."""
    table = document.content.get(key, {})
    if not isinstance(table, dict):
        document.note_problem((key,), "must be a table", f"Use [{key}] with entries below it.")
        return {}
    taken = {name: document.take((key, name), kind, value) for name, value in table.items()}
    return {name: value for name, value in taken.items() if value is not None}
