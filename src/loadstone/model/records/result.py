"""A result folder as it was read: its manifest, every iteration's figures and records, its verdict."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import Field

from loadstone.model.fault import FaultRecord
from loadstone.model.figures import Criteria, IterationFigures
from loadstone.model.records.events import (
    ConnectionStats,
    End,
    Interval,
    Ledger,
    OperationLine,
    SessionCounts,
    Start,
    StationUse,
    Totals,
    Trouble,
)
from loadstone.model.records.manifest import Manifest
from loadstone.model.records.sample import Sample
from loadstone.model.records.units import RecordedSeconds
from loadstone.model.records.verdict import ResultVerdict
from loadstone.model.records.workload_id import TileLoadKind, WorkloadId

HALF_TICK_S = 0.5e-9
"""Instants that are closer together are the same."""


@dataclass(frozen=True)
class PhaseLengths:
    """Lengths of the phases of a plan."""

    ramp_up_s: Annotated[RecordedSeconds, Field(alias="ramp_up_ns")]
    warm_up_s: Annotated[RecordedSeconds, Field(alias="warm_up_ns")]
    steady_s: Annotated[RecordedSeconds, Field(alias="steady_ns")]
    ramp_down_s: Annotated[RecordedSeconds, Field(alias="ramp_down_ns")]

    @property
    def lead_s(self) -> float:
        """From the start to the steady state."""
        return self.ramp_up_s + self.warm_up_s

    @property
    def steady_end_s(self) -> float:
        """From the start to the end of the steady state."""
        return self.lead_s + self.steady_s

    def is_steady(self, at_s: float) -> bool:
        """Whether an interval that ends then lies in the steady state. Instants are whole nanoseconds, their sums are
        nearly so.
        """
        return self.lead_s + HALF_TICK_S < at_s < self.steady_end_s + HALF_TICK_S


@dataclass(frozen=True)
class IterationRecords:
    """The records of one iteration, second by second and in sum."""

    start: Start | None = None
    intervals: tuple[Interval, ...] = ()
    monitor: tuple[Sample, ...] = ()
    stations: tuple[StationUse, ...] = ()
    """What the modelled station of a simulation did in the steady state."""
    ledger: tuple[Ledger, ...] = ()
    """How operations of several possible endings ended, over the whole run."""
    operations: tuple[OperationLine, ...] = ()
    """Operations one by one, where a fault was planned."""
    totals: Totals | None = None
    """None where the driver died."""
    end: End | None = None
    troubles: tuple[Trouble, ...] = ()
    uncounted: frozenset[str] = frozenset()
    """Counts of sessions and connections that the driver, of an earlier version, did not make; they read as 0."""

    def select_counts(self, counts: SessionCounts | ConnectionStats) -> dict[str, int]:
        """Those of the counts that were made, by name."""
        return {name: count for name, count in vars(counts).items() if name not in self.uncounted}


NO_RECORDS = IterationRecords()


@dataclass(frozen=True)
class Iteration:
    """One iteration as kept: its figures, and its records, which are read when they are first needed."""

    number: int
    figures: IterationFigures
    phases: PhaseLengths | None = None
    """None for figures that were not measured by this program: they are means of the steady state."""
    fault: FaultRecord | None = None
    """What was done to the system on purpose."""
    read_records: Callable[[], IterationRecords] = field(default=lambda: NO_RECORDS, repr=False, compare=False)
    """Raises StoreError."""

    @cached_property
    def records(self) -> IterationRecords:
        """Its records; of figures that were not measured by this program, what monitors saw. Raises StoreError."""
        return self.read_records()

    @property
    def window_unix_s(self) -> tuple[float, float] | None:
        """Begin and end of the steady state on the wall clock, as planned; None where it never began."""
        start = self.records.start
        if start is None or self.phases is None:
            return None
        begin_s = start.start_unix_s + self.phases.lead_s
        return begin_s, begin_s + self.phases.steady_s

    @property
    def steady_samples(self) -> list[Sample]:
        """The monitors' samples that lie in the steady state; those that reach into it where none lies inside."""
        window = self.window_unix_s
        if self.phases is None:
            return list(self.records.monitor)
        if window is None:
            return []
        begin_s, end_s = window
        touching = [sample for sample in self.records.monitor if begin_s <= sample.unix_s <= end_s]
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

    def find_tile_load(self, number: int, kind: TileLoadKind) -> WorkloadResult | None:
        """Returns one load of a tile, with its only iteration; None where nothing was measured."""
        matching = (workload for workload in self.workloads if (workload.id.tile, workload.id.kind) == (number, kind))
        return next((workload for workload in matching if workload.iterations), None)
