"""What a plan is compiled from: workloads with their loads and machines, and for how long they are played."""

from dataclasses import dataclass, replace
from typing import Any

from loadstone.model.load import Load, RateCurve
from loadstone.model.profile import Phases
from loadstone.model.records.workload_id import LoadPhase, TileLoadKind, WorkloadId
from loadstone.model.target import Target
from loadstone.model.workload import Workload

Json = dict[str, Any]


@dataclass(frozen=True)
class WorkloadLoad:
    """One workload and how much of it is played: what every run has several of, and a driver's plan too."""

    workload: Workload
    """As it is played, named by its label."""
    load: Load
    targets: tuple[Target, ...] = ()
    """Identical machines, to which sessions are dealt in turn; none before their addresses are known."""
    curve: RateCurve | None = None
    """How the load varies in time; even without one."""
    tile_id: WorkloadId | None = None
    """Which load of which tile it is; None outside tiles."""
    role: str = ""
    """Role of the machines that it goes to; empty for the front of the system."""
    driver: str = ""
    """Which driver of its copy plays it; empty for the only one."""

    @property
    def id(self) -> WorkloadId:
        """Which workload of the run it is."""
        return self.tile_id or WorkloadId(self.workload.name)

    @property
    def label(self) -> str:
        """Unique in the run."""
        return self.id.label

    @property
    def kind(self) -> TileLoadKind | None:
        """What it counts as in a tile."""
        return self.id.kind

    @property
    def is_idle(self) -> bool:
        """Whether it is played in active idle, after the load."""
        return self.id.phase is LoadPhase.ACTIVE_IDLE

    def aim(self, targets: tuple[Target, ...]) -> "WorkloadLoad":
        """Returns the same load, on these machines."""
        return replace(self, targets=targets)


@dataclass(frozen=True)
class Timing:
    """For how long, from what seed, on how many driver threads."""

    phases: Phases
    seed: int = 1
    threads: int = 1
    log_operations: int = 0
    """How many operations each thread writes down one by one."""
