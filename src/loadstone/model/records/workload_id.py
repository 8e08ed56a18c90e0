"""Which workload of a run is meant: structure is data here, and the label is only for people and names of folders.

The workloads of a tile lie in one result folder as those of a mixed run do; which tile one is of stands here, and the
label `tile1-web` is never taken apart.
"""

from dataclasses import dataclass
from enum import StrEnum


class TileLoadKind(StrEnum):
    """What a workload of a tile counts as."""

    WEB = "web"
    DEALERS = "dealers"
    LINES = "lines"
    MAIL = "mail"
    IDLE = "idle"
    POLL = "poll"
    """Heartbeats to every machine of a tile, for active idle."""


class LoadPhase(StrEnum):
    """In which phase of a run a workload is played."""

    LOADED = "loaded"
    ACTIVE_IDLE = "active_idle"
    """After the load, with heartbeats alone, for power meters."""


@dataclass(frozen=True)
class WorkloadId:
    """One workload of a run; for tiles also the tile, the kind of load, and the phase."""

    workload: str
    """Name of the workload as declared."""
    tile: int | None = None
    """Number of the tile, counted from 1; None outside tiles."""
    kind: TileLoadKind | None = None
    phase: LoadPhase = LoadPhase.LOADED

    @property
    def label(self) -> str:
        """What it is called in plans, events, folders and at the terminal; unique in its run, never taken apart."""
        return self.workload if self.tile is None else f"tile{self.tile}-{self.kind}"
