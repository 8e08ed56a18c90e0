"""What to run: workloads with their loads, for how long, against what, and where its results go. Pure."""

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from enum import Enum, auto
from pathlib import Path

from loadstone.model.errors import UsageError
from loadstone.model.fault import PlannedFault
from loadstone.model.fleet import COORDINATOR_SPARE_S, DEFAULT_SILENCE_S, FleetSpec
from loadstone.model.load import Population
from loadstone.model.machine import PLAIN, Placement
from loadstone.model.profile import Phases, Profile
from loadstone.model.system import Clock, System
from loadstone.model.tile import IDLE_S
from loadstone.model.tiles import Tiles
from loadstone.model.topology import get_topology
from loadstone.model.workload import ServerNeeds
from loadstone.run.criteria import DRIVER_LIMITS, DriverLimits
from loadstone.run.plan import WorkloadLoad as WorkloadLoad
from loadstone.run.plan import compute_data_sessions
from loadstone.workloads.scaling import compute_rows


class Lead(Enum):
    """What the driver that leads others does beside."""

    PLAYS = auto()
    """It plays a share too."""
    MERGES = auto()
    """Nothing: it merges what the others tell."""


@dataclass(frozen=True)
class Joining:
    """Other drivers that play a share of the plan: how many, and where they join (HOST:PORT)."""

    drivers: int
    address: str
    lead: Lead = Lead.PLAYS
    silence_s: float = DEFAULT_SILENCE_S + COORDINATOR_SPARE_S
    """Seconds of silence after which a driver counts as lost."""

    @property
    def options(self) -> tuple[str, ...]:
        """What the leading driver is told."""
        merging = ("--merge-only",) if self.lead is Lead.MERGES else ()
        silence = ("--silence-s", f"{self.silence_s:g}")
        return ("--listen", self.address, "--joining", str(self.drivers), *silence, *merging)


def count_rows(part: WorkloadLoad, phases: Phases) -> dict[str, int]:
    """Returns what the database of a workload's application is filled with, by table."""
    return compute_rows(part.workload, compute_data_sessions(part.workload, part.load, phases))


@dataclass(frozen=True)
class RunSpec:
    """What to run: workloads on a system, which may have several copies. Tiles are a system of copies."""

    name: str
    parts: tuple[WorkloadLoad, ...]
    """All loads; those of a copy name it."""
    profile: Profile
    seed: int
    threads: int
    """Threads of each driver."""
    system: System
    results: Path
    together: bool = False
    """All workloads at the same time instead of one after the other."""
    placement: Placement = PLAIN
    """Where the system's services run."""
    _: KW_ONLY
    stagger_s: float = 0.0
    """Seconds between the starts of the loads of two copies."""
    driver_limits: DriverLimits = DRIVER_LIMITS
    joining: Joining | None = None
    """Other drivers that join."""
    clock: Clock = Clock.REAL
    """Virtual time needs a station."""
    key: str = ""
    """Key of the run in its study; empty for a single run."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """Facts that the user discloses, by name."""
    agents: tuple[str, ...] = ()
    """Addresses of agents on hosts that others run."""
    fleet: FleetSpec | None = None
    """Hosts for its drivers and machines; None for this host alone."""
    fault: PlannedFault | None = None
    """Fault that is injected in the steady state."""
    power: tuple[str, ...] = ()
    """Power meters, such as `server=rapl`."""

    @property
    def need(self) -> str:
        """The application that its workloads want; raises UsageError when they want different ones."""
        needs = {part.workload.header.needs for part in self.parts}
        if len(needs) > 1:
            named = ", ".join(f"{part.workload.name} ({part.workload.header.needs})" for part in self.parts)
            raise UsageError(f"These workloads need different servers: {named}. Run them separately, or as a tile.")
        return needs.pop()

    @property
    def needs(self) -> ServerNeeds:
        """What its workloads want of the reference servers; raises UsageError when they want different ones."""
        need = self.need
        # Companions follow the workload that brings them, so it is the one that says how much data there is.
        leading = [part for part in self.parts if part.workload.header.companions] or list(self.parts)
        sessions = max(part.load.sessions if isinstance(part.load, Population) else 1 for part in leading)
        return ServerNeeds(
            need,
            max(1, math.ceil(sessions / (get_topology(need).users_per_rate or sessions))),
            directories=max(int(part.workload.scale.get("directories", 1)) for part in self.parts),
            rows={name: count for part in self.parts for name, count in count_rows(part, self.profile.phases).items()},
            mechanisms=tuple(mechanism for part in self.parts for mechanism in part.workload.header.mechanisms),
        )

    @property
    def copies(self) -> int:
        """The number of copies of its system."""
        return self.system.count if isinstance(self.system, Tiles) else 1

    @property
    def rounds(self) -> tuple[tuple[WorkloadLoad, ...], ...]:
        """What is played at the same time, in order."""
        loaded = tuple(part for part in self.parts if not part.is_idle)
        idle = tuple(part for part in self.parts if part.is_idle)
        rounds = (loaded,) if self.together else tuple((part,) for part in loaded)
        return (*rounds, idle) if idle else rounds

    def compute_phases(self, part: WorkloadLoad) -> Phases:
        """Returns the phases of a load. Copies that start earlier warm up longer, so that all windows are one. Active
        idle is as long as the loaded window, a minute at most.
        """
        phases = self.profile.phases
        if part.is_idle:
            return Phases(1, 1, min(IDLE_S, phases.steady_s), 1)
        return defer_window(phases, self.stagger_s * (self.copies - (part.id.tile or 1)))


def defer_window(phases: Phases, seconds: float) -> Phases:
    """Returns phases whose window begins so much later, after a longer warm-up."""
    return replace(phases, warm_up_s=phases.warm_up_s + seconds) if seconds else phases


@dataclass(frozen=True)
class Beginning:
    """Told to the listener before each iteration."""

    workload: str
    load: str
    iteration: int
    iterations: int
    seconds: float
    waits_for: str = ""
    """Where other drivers are waited for."""


Begin = Callable[[Beginning], object]
"""Told before each iteration."""
