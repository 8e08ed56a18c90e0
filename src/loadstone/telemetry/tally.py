"""What the driver has said so far, added up: the figures that other tools are told while a run goes on."""

import threading
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

from loadstone.model.records.events import EncodedHistogram, Event, Interval, PhaseChange, Start
from loadstone.store.histograms import read_counts_us

BOUNDS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the buckets in seconds; above the last is one more."""


@dataclass
class Buckets:
    """Times sorted into buckets; not cumulated."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS_S) + 1))
    total: int = 0
    sum_s: float = 0.0

    def add(self, encoded: EncodedHistogram) -> None:
        """Adds one of the driver's histograms."""
        if not encoded.count:
            return
        self.total += encoded.count
        self.sum_s += encoded.count * encoded.mean_s
        for value_us, count in read_counts_us(encoded.hdr):
            self.counts[bisect_left(BOUNDS_S, value_us / 1e6)] += count


@dataclass
class PartTally:
    """One workload so far."""

    operations: tuple[str, ...]
    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    """By operation and grade: good, tolerable, fail."""
    errors: dict[tuple[str, str], int] = field(default_factory=dict)
    """By operation and kind of error."""
    bytes: dict[str, int] = field(default_factory=dict)
    response: Buckets = field(default_factory=Buckets)
    service: Buckets = field(default_factory=Buckets)
    lag: Buckets = field(default_factory=Buckets)
    active: int = 0
    connections: int = 0
    cpu: tuple[float, ...] = ()

    def add(self, interval: Interval) -> None:
        """Adds an interval."""
        for name, counts in zip(self.operations, interval.operations, strict=True):
            for grade, count in (("good", counts.good), ("tolerable", counts.tolerable), ("fail", counts.fail)):
                self.counts[name, grade] = self.counts.get((name, grade), 0) + count
            for kind, count in counts.errors.items():
                self.errors[name, kind] = self.errors.get((name, kind), 0) + count
            self.bytes[name] = self.bytes.get(name, 0) + counts.bytes
        self.response.add(interval.response)
        self.service.add(interval.service)
        self.lag.add(interval.lag)
        self.active, self.connections = interval.sessions_active, interval.connections_open
        self.cpu = interval.cpu.threads


class Tally:
    """All workloads so far. Heard by one thread, read by another; a new iteration adds to the same counters."""

    def __init__(self) -> None:
        self.phase = "starting"
        self._parts: dict[str, PartTally] = {}
        self._lock = threading.Lock()

    def on_event(self, event: Event) -> None:
        """Takes one of the driver's events."""
        with self._lock:
            match event:
                case Start():
                    for part in event.parts:
                        self._parts.setdefault(part.workload, PartTally(part.operations))
                case PhaseChange():
                    self.phase = event.phase
                case Interval():
                    self._parts[event.part].add(event)
                case _:
                    return

    def hold_parts(self) -> Iterator[tuple[str, PartTally]]:
        """The workloads, held still while they are read."""
        with self._lock:
            yield from self._parts.items()
