"""A run as its user wrote it, in a file, on the command line or both: settings with their defaults, none resolved."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from loadstone.model.machine import HERE, MachineSpec, Placement
from loadstone.model.program_settings import SettingsByProgram
from loadstone.model.selector import RoleSettings
from loadstone.model.system import FileServer, Station
from loadstone.study.kind import StudySection
from loadstone.study.sections import DriverSection, LoadEntry, ProfileSection, ServerSection, TargetSection


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """A run as it is written: `study/resolve.py` makes its specification."""

    name: str
    loads: tuple[LoadEntry, ...]
    profile: ProfileSection
    target: TargetSection
    driver: DriverSection
    server: ServerSection
    station: Station | None = None
    nginx: FileServer | None = None
    settings: SettingsByProgram = field(default_factory=dict)
    """Settings of the programs that the lab starts."""
    together: bool = False
    is_virtual: bool = False
    machine: MachineSpec = HERE
    backend: MachineSpec = HERE
    roles: RoleSettings = field(default_factory=dict)
    """Settings of single machines, by role or by copy and role."""
    questions: Mapping[str, StudySection] = field(default_factory=dict)
    """What it asks, by kind of study."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """What its author wants to have disclosed, and what replaced values of a file."""

    @property
    def placement(self) -> Placement:
        """Where services run; `cores` of the server are its machine's CPUs."""
        cores = self.server.cores
        machine = self.machine.model_copy(update={"cpus": cores}) if cores else self.machine
        return Placement(machine, self.backend, self.roles)

    @property
    def is_loaded(self) -> bool:
        """Whether every workload has a load of its own."""
        return all(entry.is_loaded for entry in self.loads)
