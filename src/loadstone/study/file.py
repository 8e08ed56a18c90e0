"""What a study file says: which workloads, how much load, for how long, against what."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from loadstone.model.errors import UsageError
from loadstone.model.machine import MachineSpec
from loadstone.model.notes import read_notes
from loadstone.model.profile import PROFILES
from loadstone.model.program_settings import flatten_settings
from loadstone.model.reading import Document, FileTable, suggest
from loadstone.model.selector import read_role_tables
from loadstone.model.system import FileServer, Station
from loadstone.model.target import Target
from loadstone.platforms.registry import build_machine_kind, refuse_foreign
from loadstone.study.declaration import Declaration
from loadstone.study.kind import StudySection
from loadstone.study.override import Override, apply_overrides
from loadstone.study.sections import (
    DriverSection,
    LoadEntry,
    OtherSystems,
    ProfileSection,
    ProgramSettings,
    ServerSection,
    StudyHeader,
    TargetSection,
)

_TABLES = (StudyHeader, LoadEntry, ProfileSection, TargetSection, DriverSection, ServerSection)
_SECTIONS = {
    *(kind.table for kind in _TABLES),
    *OtherSystems.model_fields,
    *ProgramSettings.model_fields,
    *("machine", "machines", "backend", "notes"),
}


def read_study(file: Path, kinds: Mapping[str, type[StudySection]], overrides: Sequence[Override] = ()) -> Declaration:
    """Reads a study file with the sections of these kinds of study; raises StudyError with every problem in it.

    The notes of the result disclose each override with the value that it replaced.
    """
    document = Document.read(file)
    document.refuse_unknown(_SECTIONS | set(kinds))
    replaced = apply_overrides(document, overrides)
    content = document.content
    header, profile = _table_of(document, StudyHeader), _table_of(document, ProfileSection)
    driver, server = _table_of(document, DriverSection), _table_of(document, ServerSection)
    target = _resolve_authority(file, _table_of(document, TargetSection))
    loads = _loads(document, file)
    machine = document.take(("machine",), build_machine_kind(), content.get("machine", {}))
    backend = document.take(("backend",), build_machine_kind(), content.get("backend", {}))
    roles, settings = read_role_tables(document, build_machine_kind()), _settings(document)
    station = document.take(("station",), Station, content["station"]) if "station" in content else None
    nginx = document.take(("nginx",), FileServer, content["nginx"]) if "nginx" in content else None
    sections: dict[str, StudySection | None] = {
        kind: document.take((kind,), section, content[kind]) for kind, section in kinds.items() if kind in content
    }
    _check_names(document, loads, profile, target)
    if not sections:
        _check_loaded(document, loads)
    _check_system(document, header)
    notes = read_notes(document) | replaced
    questions = {kind: section for kind, section in sections.items() if section is not None}
    varied = any(section.varies_platform for section in questions.values())
    for name, declared in (("machine", None if varied else machine), ("backend", backend)):
        _check_machine(document, name, declared)
    document.finish()
    assert header and profile and target and driver and server and machine and backend
    name = header.name or file.stem
    return Declaration(
        name=name,
        together=header.together,
        loads=loads,
        profile=profile,
        target=target,
        driver=driver,
        server=server,
        station=station,
        nginx=nginx,
        settings=settings,
        is_virtual=header.virtual,
        machine=machine,
        backend=backend,
        questions=questions,
        notes=notes,
        roles=roles,
    )


T = TypeVar("T", bound=FileTable)


def _table_of(document: Document, kind: type[T]) -> T | None:
    """A table of the file, with its defaults where the file has none; None where it has problems, which are noted."""
    return document.take((kind.table,), kind, document.content.get(kind.table, {}))


def _settings(document: Document) -> dict[str, dict[str, object]]:
    """`[set.php]` and `[set.apache.prefork]`: settings of programs, by program."""
    tables = document.content.get("set", {})
    settings = flatten_settings(tables) if isinstance(tables, dict) else {}
    if not isinstance(tables, dict) or "" in settings:
        document.note_problem(
            ("set",), "is not a table of settings by program", "Write [set.php] and below it children = 50."
        )
    return settings


def _loads(document: Document, file: Path) -> tuple[LoadEntry, ...]:
    entries = document.content.get("load", [])
    if not isinstance(entries, list) or not entries:
        document.note_problem(("load",), "there is no load", "Add [[load]] with a workload and its sessions.")
        entries = []
    taken: list[LoadEntry | None] = [
        document.take(("load", str(number)), LoadEntry, entry) for number, entry in enumerate(entries)
    ]
    return tuple(_from(file, load) for load in taken if load is not None)


def _check_loaded(document: Document, loads: tuple[LoadEntry, ...]) -> None:
    for number, entry in enumerate(loads):
        if not entry.is_loaded:
            document.note_problem(("load", str(number)), "has no load", "Add sessions, rate or trace.")


def _check_system(document: Document, header: StudyHeader | None) -> None:
    named = [name for name in ("target", "server", "station", "nginx") if name in document.content]
    alone = [name for name in named if name in ("station", "nginx")]
    if alone and len(named) > 1:
        second = next(name for name in named if name != alone[0])
        document.note_problem(
            (alone[0],), f"is combined with [{second}]", "A study measures one system. Keep one of them."
        )
    if header is not None and header.virtual and "station" not in named:
        document.note_problem(("study", "virtual"), "needs a modelled server", "Add a [station].")


def _check_machine(document: Document, name: str, machine: MachineSpec | None) -> None:
    if machine is None or name not in document.content:
        return
    try:
        refuse_foreign(machine, document.content[name])
    except UsageError as error:
        document.note_problem((name,), "has settings that its platform does not support", str(error))


def _from(file: Path, load: LoadEntry) -> LoadEntry:
    """A workload's folder is looked for beside the study file first; a trace's path counts from there."""
    workload = file.parent / load.workload
    changes: dict[str, object] = {"workload": str(workload)} if workload.is_dir() else {}
    if load.trace is not None:
        changes["trace"] = file.parent / load.trace
    return load.model_copy(update=changes)


def _resolve_authority(file: Path, target: TargetSection | None) -> TargetSection | None:
    """A certificate's path counts from the study file."""
    if target is None or target.authority is None:
        return target
    return target.model_copy(update={"authority": file.parent / target.authority})


def _check_names(
    document: Document, loads: tuple[LoadEntry, ...], profile: ProfileSection | None, target: TargetSection | None
) -> None:
    for number, entry in enumerate(loads):
        try:
            entry.load()
        except UsageError as error:
            document.note_problem(("load", str(number)), "has no load", str(error))
    if profile is not None and profile.name not in PROFILES:
        remedy = suggest(profile.name, set(PROFILES))
        document.note_problem(("profile", "name"), f"unknown profile `{profile.name}`", remedy)
    names = [load.workload for load in loads]
    for name in sorted({name for name in names if names.count(name) > 1}):
        document.note_problem(("load",), f"`{name}` is loaded twice", "Use one [[load]] for each workload.")
    if target is not None:
        try:
            Target.parse(list(target.urls))
        except UsageError as error:
            document.note_problem(("target", "urls"), "are not valid addresses", str(error))
        files = {"authority": target.authority, "cert": target.cert, "key": target.key}
        for name, file in files.items():
            if file is not None and not file.is_file():
                document.note_problem(("target", name), f"{file} is not a file", "Use the path of a PEM file.")
