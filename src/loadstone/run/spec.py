"""What to run: workloads with their loads, for how long, against what, and where its results go. Pure."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path

from loadstone.model.errors import UsageError
from loadstone.model.fault import PlannedFault
from loadstone.model.fleet import FleetSpec
from loadstone.model.load import Population
from loadstone.model.machine import PLAIN, Placement
from loadstone.model.profile import Phases, Profile
from loadstone.model.system import Clock, System
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

    @property
    def options(self) -> tuple[str, ...]:
        """What the leading driver is told."""
        merging = ("--merge-only",) if self.lead is Lead.MERGES else ()
        return ("--listen", self.address, "--joining", str(self.drivers), *merging)


def count_rows(part: WorkloadLoad, phases: Phases) -> dict[str, int]:
    """Returns what the database of a workload's application is filled with, by table."""
    fixed = {name: int(count) for name, count in part.workload.scale.items()}
    return fixed | compute_rows(part.workload, compute_data_sessions(part.workload, part.load, phases))


@dataclass(frozen=True, kw_only=True)
class DeploymentSpec:
    """What every run may have, whatever its systems and loads."""

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


@dataclass(frozen=True)
class RunSpec(DeploymentSpec):
    """What to run: workloads on one system."""

    name: str
    parts: tuple[WorkloadLoad, ...]
    profile: Profile
    seed: int
    threads: int
    system: System
    results: Path
    together: bool = False
    """All workloads at the same time instead of one after the other."""
    placement: Placement = PLAIN
    """Where the system's services run."""

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
    def rounds(self) -> tuple[tuple[WorkloadLoad, ...], ...]:
        """What is played at the same time, in order."""
        return (self.parts,) if self.together else tuple((part,) for part in self.parts)


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
