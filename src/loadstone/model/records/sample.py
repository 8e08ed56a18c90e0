"""What the monitors saw about once a second: host, process trees, machines from both sides, stations."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter

Rates = Mapping[str, float | None]
"""Figures by name; None where there was nothing to count."""
CLAIMED = ("user", "nice", "system", "steal")
"""Modes of a processor in which somebody has it."""


@dataclass(frozen=True)
class TreeUse:
    """A process and its descendants: cores used, memory."""

    user_cores: float
    system_cores: float
    rss_bytes: int
    threads: int
    processes: int
    is_whole: bool = False
    """Whether a control group counts: it includes programs that have ended."""

    @property
    def cores(self) -> float:
        """User and system time together."""
        return self.user_cores + self.system_cores


@dataclass(frozen=True)
class StationBusy:
    """Reported use of a station."""

    workers: int
    busy_workers: float


@dataclass(frozen=True)
class InsideView:
    """A machine, counted by its kernel."""

    seconds: float
    cores: int | None
    """None where a published table does not have it."""
    cpu_cores: Rates
    memory_bytes: Rates
    swap: Rates
    disk: Rates
    network: Rates
    running: int | None = None
    """Tasks that ran or waited for a processor."""
    pressure: Rates = field(default_factory=dict)
    """Shares of the time in which some task waited for `cpu`, `memory` or `io`."""
    groups: tuple["GroupUse", ...] = ()
    """Process groups that used most."""


@dataclass(frozen=True)
class GroupUse:
    """A process group, by the name of its leader: cores used, memory."""

    name: str
    cores: float
    resident_bytes: int


@dataclass(frozen=True)
class OutsideView:
    """A machine, counted by the host; network by link."""

    cpu_cores: Rates
    """Cores by kind of thread; None for a rest that a published table does not have."""
    disk: Rates
    network: Mapping[str, Rates]
    exits_per_s: float | None
    memory_bytes: Rates = field(default_factory=dict)
    """Only of published tables: processes of machines here have theirs."""


@dataclass(frozen=True)
class ServiceSample:
    """Status that a service reports, by its own names."""

    now: Mapping[str, float]
    per_s: Mapping[str, float]
    """Its counters, as rates."""


@dataclass(frozen=True)
class MachineViews:
    """Both sides of a machine; None for a side without data."""

    inside: InsideView | None
    outside: OutsideView | None


@dataclass(frozen=True)
class Sample:
    """One sample of everything; rates are those since the previous sample, `seconds` ago."""

    unix_s: float
    seconds: float
    cpu_cores: Rates
    memory_bytes: Rates
    swap: Rates
    disk: Rates
    network: Rates
    trees: Mapping[str, TreeUse | None]
    """Process trees by role; None for a process that has ended."""
    tcp_pressure_s: float | None = None
    """Time in which the machine was short of memory for TCP; None if unknown."""
    stations: Mapping[str, StationBusy | None] = field(default_factory=dict)
    machines: Mapping[str, MachineViews] = field(default_factory=dict)
    status: Mapping[str, ServiceSample] = field(default_factory=dict)
    """Status that services report, by machine and part."""
    ours_cores: float | None = None
    """Cores used by driver, system, back end and Loadstone itself; None if not all of them are known."""
    known_cores: float | None = None
    """Cores of driver, Loadstone and listeners of the target's ports if others may belong to the system; else None."""

    @property
    def foreign_cores(self) -> float | None:
        """Cores that others used, steal included; None where not all of our own are known. Of a single second it may be
        below 0, since the kernel counts in ticks.

        Interrupts belong to nobody in particular, and most of them to the network that is measured.
        """
        if self.ours_cores is None:
            return None
        return self._claimed_cores - self.ours_cores

    @property
    def unattributed_cores(self) -> float | None:
        """Cores that others used, or parts of the system that nobody knows of; None where all of it is known."""
        return None if self.known_cores is None else self._claimed_cores - self.known_cores

    @property
    def _claimed_cores(self) -> float:
        return sum(self.cpu_cores.get(mode) or 0.0 for mode in CLAIMED)

    @property
    def host_cores(self) -> float:
        """Cores of the host, whatever they did."""
        return sum(used or 0.0 for used in self.cpu_cores.values())


SAMPLE: TypeAdapter[Sample] = TypeAdapter(Sample)
