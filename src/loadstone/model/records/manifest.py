"""The manifest of a result folder and of a study's: what was to be done, with what, and how far it got."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import JsonValue

from loadstone.model.figures import Criteria
from loadstone.model.printed_monitors import PrintedMonitor
from loadstone.model.profile import Phases, Profile
from loadstone.model.records.status import Status
from loadstone.model.records.verdict import RateMaxima
from loadstone.model.system import Clock

MANIFEST_SCHEMA = 2
STUDY_SCHEMA = 2
ANSWER_SCHEMA = 2
Settings = Mapping[str, JsonValue]
"""Settings as they were declared, by name."""


class SystemKind(StrEnum):
    """What kind of system was measured."""

    REFERENCE = "reference"
    STATION = "station"
    TARGET = "target"
    FILE_SERVER = "fileserver"
    TILES = "tiles"
    PUBLISHED = "published"
    """Others' printed tables; nothing was measured here."""


@dataclass(frozen=True)
class SystemRecord:
    """The system under test, with its settings."""

    kind: SystemKind
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True)
class ProfileRecord:
    """The profile of a run; lengths in seconds."""

    name: str
    about: str
    ramp_up_s: float
    warm_up_s: float
    steady_s: float
    ramp_down_s: float

    @classmethod
    def from_profile(cls, profile: Profile, name: str | None = None) -> "ProfileRecord":
        """Returns the record of a profile, under another name if `name` is given."""
        phases = profile.phases
        lengths = (phases.ramp_up_s, phases.warm_up_s, phases.steady_s, phases.ramp_down_s)
        return cls(name or profile.name, profile.about, *lengths)

    @property
    def phases(self) -> Phases:
        """Its lengths."""
        return Phases(self.ramp_up_s, self.warm_up_s, self.steady_s, self.ramp_down_s)


@dataclass(frozen=True)
class HostFacts:
    """The host of a run; None for facts that cannot be read."""

    cpu_model: str | None = None
    cores: int | None = None
    cores_usable: int | None = None
    memory_bytes: int | None = None
    kernel: str | None = None
    distribution: str | None = None
    architecture: str | None = None
    governor: str | None = None
    clock_source: str | None = None
    mitigations: Mapping[str, str] = field(default_factory=dict)
    cgroup_limits: Mapping[str, str] = field(default_factory=dict)
    virtualization: str | None = None
    load_average: tuple[float, ...] | None = None
    hardware: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Facts by part, such as board, disks and kernel settings."""


HELD_CURVE = "outputs_held_curve"
"""Among a pair's facts: how long it held outputs, as [milliseconds, share of them that were held no longer]."""


@dataclass(frozen=True)
class MachineFacts:
    """A machine of the system under test: a readable line, its platform, and its detected facts."""

    about: str
    platform: str | None = None
    accelerator: str | None = None
    networks: Mapping[str, str] = field(default_factory=dict)
    """Its addresses by network."""
    facts: Settings = field(default_factory=dict)


@dataclass(frozen=True)
class FleetHostRecord:
    """A host of the run's fleet, at the time of its reservation."""

    roles: tuple[str, ...]
    address: str
    kernel: str
    cores: int
    """Cores that drivers and machines may use."""
    memory_mib: int
    undone: tuple[str, ...] = ()
    """Resources that a lost run had left there and that were removed."""


@dataclass(frozen=True)
class ImportedFrom:
    """The file that published figures were taken from."""

    file: str
    sha256: str


@dataclass(frozen=True)
class TileDeclaration:
    """The declaration of the run's tile."""

    name: str
    title: str
    loads: Mapping[str, float]
    maxima: RateMaxima
    stagger_s: float
    file_store: str
    machines: Mapping[str, Settings]


@dataclass(frozen=True)
class TileEntry:
    """One tile of a run: its number, its share of the load, the groups it is in."""

    number: int
    pct_load: float
    groups: Mapping[str, str] = field(default_factory=dict)
    printed: Mapping[str, str] = field(default_factory=dict)
    """Figures by column, as others printed them; empty for a tile that was measured here."""
    monitors: tuple[PrintedMonitor, ...] = ()
    """Figures of monitors that others printed."""


@dataclass(frozen=True)
class TroubleRecord:
    """Reason and time of a run's early end: seconds after the first start, negative or None before it."""

    who: str
    what: str
    at_s: float | None

    def __str__(self) -> str:
        when = "before the start" if self.at_s is None or self.at_s < 0 else f"{self.at_s:.0f} s after the first start"
        return f"{self.who}, {when}: {self.what}"


@dataclass(frozen=True)
class PowerRecord:
    """Readings of a power meter over the loaded window and over active idle."""

    scope: str
    about: str
    trouble: str
    loaded_w: float | None = None
    loaded_samples: int = 0
    idle_w: float | None = None
    idle_samples: int = 0


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """A result folder's manifest."""

    name: str
    started: str
    """ISO 8601, with its time zone."""
    status: Status = Status.RUNNING
    reason: str = ""
    ended: str | None = None
    command: tuple[str, ...]
    profile: ProfileRecord
    seed: int
    driver_threads: int
    driver_cores: str | None = None
    """Cores of the driver alone; empty if it shares those of the machine, None if they were not recorded."""
    joining_drivers: int = 0
    together: bool = False
    """All workloads at the same time instead of one after the other."""
    clock: Clock = Clock.REAL
    key: str = ""
    """Key of the run within its study."""
    system: SystemRecord
    placement: Mapping[str, Settings] = field(default_factory=dict)
    """Where services ran, by role: only what was declared other than usual."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """Facts that the user discloses in addition to those that Loadstone collects."""
    data: str = ""
    """Content of the application's database, and the time to fill and to restore it; empty without one."""
    target: str
    """Where load went, in words."""
    verify_certificates: bool = True
    notices: tuple[str, ...] = ()
    """Notices about the route to the target: its addresses, those of its users, a proxy that is not used."""
    versions: Mapping[str, str | None]
    host: HostFacts
    criteria: tuple[Criteria, ...]
    """Limits and expectations of each workload, in the order of the report."""
    declarations: Mapping[str, str] = field(default_factory=dict)
    """Each workload's file, by label."""
    machines: Mapping[str, MachineFacts] = field(default_factory=dict)
    hosts: Mapping[str, FleetHostRecord] = field(default_factory=dict)
    """Hosts of the fleet, by name; empty for a run on one host."""
    imported: ImportedFrom | None = None
    tile: TileDeclaration | None = None
    """None outside runs of tiles."""
    tiles: tuple[TileEntry, ...] = ()
    troubles: tuple[TroubleRecord, ...] = ()
    was_alone: bool = True
    """Whether no other measurement ran on this machine at its start."""
    power: tuple[PowerRecord, ...] = ()
    faults: tuple[str, ...] = ()
    """Faults that were injected, a sentence for each iteration."""
    schema: int = MANIFEST_SCHEMA

    @property
    def is_of_tiles(self) -> bool:
        """Whether it is a run of tiles."""
        return self.tile is not None

    @property
    def is_simulated(self) -> bool:
        """Whether it was played in virtual time."""
        return self.clock is Clock.VIRTUAL

    @property
    def emulated(self) -> tuple[str, ...]:
        """Machines whose processors were emulated by TCG: their figures say nothing of hardware."""
        return tuple(name for name, machine in self.machines.items() if machine.accelerator == "tcg")


@dataclass(frozen=True)
class StudiedWorkload:
    """A workload that a study is about, with its limits on response time in seconds."""

    workload: str
    title: str
    good_s: float | None = None
    tolerable_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class StudyManifest:
    """A study folder's declaration."""

    name: str
    kind: str
    """The kind of study, by its registered name."""
    started: str
    status: Status = Status.RUNNING
    reason: str = ""
    ended: str | None = None
    identity: str
    """Identity of the study: an interrupted study of the same identity is continued."""
    declaration: Settings
    command: tuple[str, ...]
    profile: ProfileRecord
    seed: int
    driver_threads: int
    system: SystemRecord
    placement: Mapping[str, Settings] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    clock: Clock = Clock.REAL
    workloads: tuple[StudiedWorkload, ...]
    versions: Mapping[str, str | None]
    host: HostFacts
    schema: int = STUDY_SCHEMA
