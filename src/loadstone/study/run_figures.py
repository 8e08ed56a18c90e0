"""Figures of a run beyond its metrics: by kind of operation, by process, of its log. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from loadstone.judge.usage import compute_tree_usage, list_outside_views
from loadstone.model.figures import IterationFigures, OperationFigures
from loadstone.model.numbers import MBIT_PER_BYTE
from loadstone.model.records import pair_status
from loadstone.model.records.result import Iteration
from loadstone.model.records.sample import Sample

DRIVER_ROLE = "driver"
BYTES_PER_MB = 1e6


@dataclass(frozen=True)
class OperationTimes:
    """One kind of operation, over all iterations."""

    per_s: float
    mean_s: float | None
    p95_s: float | None


@dataclass(frozen=True)
class ProcessUse:
    """Cores and resident memory of a process and those that it started."""

    cores: float
    resident_bytes: float


@dataclass(frozen=True)
class MachineTraffic:
    """Input of a machine in the steady state, as its host counts it."""

    received_mbit_per_s: float
    received_frames_per_s: float
    read_mbytes_per_s: float
    logged_mbytes_per_s: float = 0.0
    """Disk reads whose data comes with the log of a pair; 0 in older answers."""

    @property
    def frame_bytes(self) -> float | None:
        """Mean size of a received frame; None where none was received."""
        bytes_per_s = self.received_mbit_per_s / MBIT_PER_BYTE
        return bytes_per_s / self.received_frames_per_s if self.received_frames_per_s else None


@dataclass(frozen=True)
class PairLog:
    """Log of a protected machine in the steady state."""

    log_mbit_per_s: float
    wire_mbit_per_s: float
    """After compression."""
    lag_ms: float | None
    held_ms: float | None
    """Median time for which outputs were held."""
    held_p99_ms: float | None
    slowed_pct: float | None
    mbit_per_s_by_kind: Mapping[str, float] = field(default_factory=dict)
    """Log by the kind of its events; empty in older answers."""


def compute_operation_times(iterations: Sequence[Iteration]) -> dict[str, OperationTimes]:
    """Returns each kind of operation that was answered."""
    each: dict[str, list[tuple[OperationFigures, IterationFigures]]] = {}
    for iteration in iterations:
        for operation in iteration.figures.operations:
            if operation.answered and iteration.figures.steady_s:
                each.setdefault(operation.name, []).append((operation, iteration.figures))
    return {name: _times(same) for name, same in each.items()}


def _times(same: Sequence[tuple[OperationFigures, IterationFigures]]) -> OperationTimes:
    per_s = fmean(operation.answered / figures.steady_s for operation, figures in same)
    return OperationTimes(
        per_s,
        compute_mean(operation.response.mean_s for operation, _ in same),
        compute_mean(operation.response.get_value_at(95.0) for operation, _ in same),
    )


def compute_process_uses(iterations: Sequence[Iteration]) -> dict[str, ProcessUse]:
    """Returns the use of each process of the system, by its name among the samples."""
    samples = [sample for iteration in iterations for sample in iteration.steady_samples]
    roles = sorted({role for sample in samples for role in sample.trees if role != DRIVER_ROLE})
    uses = {role: compute_tree_usage(samples, role) for role in roles}
    return {role: ProcessUse(use["cores"], use["resident_bytes"]) for role, use in uses.items() if "cores" in use}


def compute_traffic(iterations: Sequence[Iteration], has_logged_reads: bool = False) -> MachineTraffic | None:
    """Returns the input of all machines of the system; None where no host counts it."""
    samples = [sample for iteration in iterations for sample in iteration.steady_samples]
    names = dict.fromkeys(name for sample in samples for name in sample.machines)
    views = [view for name in names for view in list_outside_views(samples, name) if view is not None]
    received = [line for view in views for line in view.network.values()]
    per_s = compute_mean(line.get("bytes_recv_per_s") for line in received)
    if per_s is None:
        return None
    read = compute_mean(view.disk.get("read_bytes_per_s") for view in views) or 0.0
    frames = compute_mean(line.get("packets_recv_per_s") for line in received) or 0.0
    read_mbytes_per_s = read / BYTES_PER_MB
    logged = read_mbytes_per_s if has_logged_reads else 0.0
    return MachineTraffic(per_s * MBIT_PER_BYTE, frames, read_mbytes_per_s, logged)


def compute_log(iterations: Sequence[Iteration]) -> PairLog | None:
    """Returns the log of the run's pair; None for a run without one."""
    samples = [sample for iteration in iterations for sample in iteration.steady_samples]
    log, wire = (_growth(samples, name) for name in (pair_status.LOG_BYTES, pair_status.WIRE_BYTES))
    if log is None or wire is None:
        return None
    each = {kind: _growth(samples, pair_status.name_log_counter(kind)) for kind in pair_status.LOG_KINDS}
    by_kind = {kind: rate * MBIT_PER_BYTE for kind, rate in each.items() if rate is not None}
    return PairLog(
        log_mbit_per_s=log * MBIT_PER_BYTE,
        wire_mbit_per_s=wire * MBIT_PER_BYTE,
        lag_ms=_level(samples, pair_status.LAG_MS),
        held_ms=_level(samples, pair_status.HELD_MS),
        held_p99_ms=_level(samples, pair_status.HELD_TAIL_MS),
        slowed_pct=_level(samples, pair_status.SLOWED_PCT),
        mbit_per_s_by_kind=by_kind,
    )


def _growth(samples: Sequence[Sample], name: str) -> float | None:
    return compute_mean(status.per_s.get(name) for sample in samples for status in sample.status.values())


def _level(samples: Sequence[Sample], name: str) -> float | None:
    return compute_mean(status.now.get(name) for sample in samples for status in sample.status.values())


def compute_mean(values: Iterable[float | None]) -> float | None:
    """Returns the mean of the values that are known; None without any."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
