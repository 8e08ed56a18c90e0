"""What every result and study says of itself beside its figures: the one place where manifests are made."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from loadstone.host.environment import ENVIRONMENT
from loadstone.measure import facts
from loadstone.model.machine import MachineSpec, Placement
from loadstone.model.records.manifest import Manifest, Settings, StudyManifest, SystemKind, SystemRecord
from loadstone.model.selector import RoleSettings
from loadstone.model.system import Reference, System
from loadstone.model.tiles import Tiles
from loadstone.model.workload import Workload
from loadstone.platforms.registry import read_machine
from loadstone.testbed.tiles import PlacedTiles


def make_manifest(**fields: Any) -> Manifest:
    """A manifest of a run that begins now on this machine; `what` are its other fields."""
    return Manifest(**_here(), **fields)


def make_study_manifest(**fields: Any) -> StudyManifest:
    """The declaration of a study that begins now on this machine; `what` are its other fields."""
    return StudyManifest(**_here(), **fields)


def _here() -> dict[str, Any]:
    return {
        "started": datetime.now(UTC).isoformat(),
        "command": tuple(
            argument.encode("utf-8", "replace").decode() for argument in (*_set_before(sys.argv), *sys.argv)
        ),
        "versions": facts.read_versions(),
        "host": facts.read_host_facts(),
    }


def _set_before(argv: Sequence[str]) -> list[str]:
    """What the environment says of the command's options."""
    name = next((argument for argument in argv[1:] if not argument.startswith("-")), "")
    prefix = f"{ENVIRONMENT}_{name.upper().replace('-', '_')}_"
    return [f"{key}={value}" for key, value in sorted(os.environ.items()) if name and key.startswith(prefix)]


def record_system(system: System) -> SystemRecord:
    """A system's settings, as kept."""
    settings: Settings
    match system:
        case Reference():
            settings = system.disclose()
        case Tiles():
            settings = dict(system.software)
        case _:
            settings = TypeAdapter(type(system)).dump_python(system, mode="json")
    return SystemRecord(SystemKind(type(system).__name__.lower()), settings)


def record_placement(system: System, placement: Placement) -> dict[str, Settings]:
    """Returns where services run in the form that results store: only declared settings that differ
    from the default. Tiles have settings of their own, and no machine that is declared as back end.
    """
    machine = record_machine(placement.machine)
    if isinstance(system, Tiles):
        return {"machine": machine, **record_roles(PlacedTiles(system, placement).machine_roles)}
    return {"machine": machine, "backend": record_machine(placement.backend), **record_roles(placement.roles)}


def record_roles(roles: RoleSettings) -> dict[str, Settings]:
    """Settings of single machines, as kept."""
    return {
        f"machines.{selector}": read_machine(settings).model_dump(mode="json", include=set(settings))
        for selector, settings in roles.items()
    }


def record_machine(machine: MachineSpec) -> Settings:
    """A declared machine, as kept: only what was declared other than usual."""
    return machine.declared


def read_declarations(workloads: Iterable[tuple[str, Workload]]) -> Mapping[str, str]:
    """The declaration of each workload, by its label."""
    return {label: read_declaration(workload.folder) for label, workload in workloads}


def read_declaration(folder: Path) -> str:
    """A workload's file."""
    return (folder / "workload.toml").read_text(encoding="utf-8")
