"""A result folder as it was read: its manifest, every iteration's figures and records, its verdict."""

from dataclasses import dataclass
from pathlib import Path

from loadstone.model.fault import FaultRecord
from loadstone.model.figures import Criteria, IterationFigures
from loadstone.model.records.events import Interval, Ledger, OperationLine, Start, StationUse
from loadstone.model.records.manifest import Manifest
from loadstone.model.records.sample import Sample
from loadstone.model.records.verdict import ResultVerdict
from loadstone.model.records.workload_id import TileLoadKind, WorkloadId


@dataclass(frozen=True)
class PhaseLengths:
    """Lengths of the phases of a plan, in nanoseconds."""

    ramp_up_ns: int
    warm_up_ns: int
    steady_ns: int
    ramp_down_ns: int

    @property
    def lead_ns(self) -> int:
        """From the start to the steady state."""
        return self.ramp_up_ns + self.warm_up_ns

    def is_steady(self, at_ns: int) -> bool:
        """Whether an interval that ends then lies in the steady state."""
        return self.lead_ns < at_ns <= self.lead_ns + self.steady_ns


@dataclass(frozen=True)
class Iteration:
    """One iteration as kept: its figures and its second-by-second records."""

    number: int
    figures: IterationFigures
    phases: PhaseLengths | None = None
    """None for figures that were not measured by this program."""
    start: Start | None = None
    intervals: tuple[Interval, ...] = ()
    monitor: tuple[Sample, ...] = ()
    stations: tuple[StationUse, ...] = ()
    """What the modelled station of a simulation did in the steady state."""
    ledger: tuple[Ledger, ...] = ()
    """How operations of several possible endings ended, over the whole run."""
    fault: FaultRecord | None = None
    """What was done to the system on purpose."""
    operations: tuple[OperationLine, ...] = ()
    """Operations one by one, where a fault was planned."""

    @property
    def window_unix_s(self) -> tuple[float, float] | None:
        """Begin and end of the steady state on the wall clock, as planned; None where it never began."""
        if self.start is None or self.phases is None:
            return None
        begin_s = (self.start.start_unix_ns + self.phases.lead_ns) / 1e9
        return begin_s, begin_s + self.phases.steady_ns / 1e9

    @property
    def steady_samples(self) -> list[Sample]:
        """The monitors' samples that lie in the steady state; those that reach into it where none lies inside."""
        window = self.window_unix_s
        if window is None:
            return []
        begin_s, end_s = window
        touching = [sample for sample in self.monitor if begin_s <= sample.unix_s <= end_s]
        return [sample for sample in touching if begin_s <= sample.unix_s - sample.seconds] or touching


@dataclass(frozen=True)
class WorkloadResult:
    """All iterations of one workload."""

    criteria: Criteria
    iterations: tuple[Iteration, ...]

    @property
    def id(self) -> WorkloadId:
        """Which workload it is."""
        return self.criteria.id


@dataclass(frozen=True)
class Result:
    """A result folder, read."""

    path: Path
    manifest: Manifest
    workloads: tuple[WorkloadResult, ...]
    verdict: ResultVerdict | None
    changed: tuple[str, ...] = ()
    """Sealed files that are missing or not what they were."""

    def of_tile(self, number: int, kind: TileLoadKind) -> WorkloadResult | None:
        """Returns one load of a tile, with its only iteration; None where nothing was measured."""
        matching = (workload for workload in self.workloads if (workload.id.tile, workload.id.kind) == (number, kind))
        return next((workload for workload in matching if workload.iterations), None)
