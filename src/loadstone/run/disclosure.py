"""What manifests of results and studies disclose: their origin, systems, machines and workloads."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter

from loadstone.host.environment import ENVIRONMENT
from loadstone.measure import facts
from loadstone.model.machine import MachineSpec, Placement
from loadstone.model.records.manifest import HostFacts, Settings, SystemKind, SystemRecord
from loadstone.model.selector import RoleSettings
from loadstone.model.system import Reference, System
from loadstone.model.tiles import Tiles
from loadstone.model.workload import Workload
from loadstone.platforms.registry import read_machine
from loadstone.testbed.tiles import PlacedTiles


@dataclass(frozen=True)
class RunOrigin:
    """When and by which command a result or a study began, with which versions, and on which host."""

    started: str
    """ISO 8601, with its time zone."""
    command: tuple[str, ...]
    versions: Mapping[str, str | None]
    host: HostFacts


def read_origin() -> RunOrigin:
    """Returns the origin of what begins now on this machine."""
    arguments = (*_set_before(sys.argv), *sys.argv)
    command = tuple(argument.encode("utf-8", "replace").decode() for argument in arguments)
    return RunOrigin(datetime.now(UTC).isoformat(), command, facts.read_versions(), facts.read_host_facts())


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
