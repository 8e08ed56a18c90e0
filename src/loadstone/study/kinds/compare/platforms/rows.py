"""The rows of a comparison of platforms, as published comparisons print them; what one side cannot have, says why."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from loadstone.model.numbers import MBIT_PER_BYTE as MBIT
from loadstone.model.numbers import MIB_PER_BYTE

NO_MACHINE = "no machine of its own"
NO_VHOST = "no vhost threads"
NO_DISK_ACCESS = "no disk access"
HIDDEN = "not readable here"
NO_ANSWER = "no answer in time"
NO_FIGURE = "no figure"
ONE_NETWORK = "loopback: not apart from the driver's"


@dataclass(frozen=True)
class SideMeans:
    """One platform at one load: means of its runs' metrics and of what monitors saw."""

    metrics: Mapping[str, float]
    monitors: Mapping[str, float]
    verdicts: Mapping[str, int]
    runs: tuple[str, ...]
    """Folders of the runs."""


class BothSides(Protocol):
    """Both platforms at one load."""

    @property
    def load(self) -> float:
        """The load."""

    @property
    def sides(self) -> tuple[SideMeans, SideMeans]:
        """A, then B."""


@dataclass(frozen=True)
class PlatformRow:
    """One figure of both platforms, each as a number or as the reason why there is none."""

    title: str
    unit: str
    a: float | None
    b: float | None
    digits: int | None
    why_not: tuple[str, str]

    @property
    def ratio(self) -> float | None:
        """B by A."""
        return self.b / self.a if self.a and self.b is not None else None


Reader = Callable[[SideMeans], float | None]


def read_metric(name: str, factor: float = 1.0) -> Reader:
    """Reads a metric of the runs."""
    return lambda side: None if name not in side.metrics else side.metrics[name] * factor


def read_monitored(name: str, factor: float = 1.0) -> Reader:
    """Reads what a monitor saw."""
    return lambda side: None if name not in side.monitors else side.monitors[name] * factor


SPEED = (
    ("operations", "1/s", read_metric("throughput"), 1, NO_FIGURE),
    ("good operations", "%", read_metric("good"), 2, NO_FIGURE),
    ("tolerable operations", "%", read_metric("tolerable"), 2, NO_FIGURE),
    ("operations in error", "%", read_metric("errors"), 2, NO_FIGURE),
    ("response time, mean", "s", read_metric("response_mean"), 4, NO_ANSWER),
    ("response time, p50", "s", read_metric("response_p50"), 4, NO_ANSWER),
    ("response time, p90", "s", read_metric("response_p90"), 4, NO_ANSWER),
    ("response time, p99", "s", read_metric("response_p99"), 4, NO_ANSWER),
    ("CPU of the system under test", "cores", read_metric("server_cpu"), 3, NO_FIGURE),
    ("of it user", "cores", read_metric("server_user"), 3, NO_FIGURE),
    ("of it system", "cores", read_metric("server_system"), 3, NO_FIGURE),
    ("CPU of the host for interrupts", "cores", read_metric("host_interrupts"), 3, HIDDEN),
    ("CPU time an operation", "ms", read_metric("server_cpu_per_operation", 1000), 3, NO_FIGURE),
    ("payload", "Mbit/s", read_metric("bytes", MBIT), 1, NO_FIGURE),
)
"""What users get, and what it takes."""

MONITORS = (
    ("host: CPU user", "cores", read_monitored("host.user_cores"), 3, HIDDEN),
    ("host: CPU system", "cores", read_monitored("host.system_cores"), 3, HIDDEN),
    ("host: CPU idle", "cores", read_monitored("host.idle_cores"), 3, HIDDEN),
    ("host: CPU wait", "cores", read_monitored("host.wait_cores"), 3, HIDDEN),
    ("host: active memory", "MiB", read_monitored("host.active_bytes", MIB_PER_BYTE), 0, HIDDEN),
    ("host: inactive memory", "MiB", read_monitored("host.inactive_bytes", MIB_PER_BYTE), 0, HIDDEN),
    ("host: swap in (si)", "B/s", read_monitored("host.swap_in_per_s"), 0, HIDDEN),
    ("host: swap out (so)", "B/s", read_monitored("host.swap_out_per_s"), 0, HIDDEN),
    ("host: disk service time", "ms", read_monitored("host.disk_ms"), 2, NO_DISK_ACCESS),
    ("host: disk", "B/s", read_monitored("host.disk_bytes_per_s"), 0, NO_DISK_ACCESS),
    ("host: network sent", "Mbit/s", read_monitored("host.network_sent_per_s", MBIT), 1, HIDDEN),
    ("services: CPU of their processes", "cores", read_monitored("process.cores"), 3, HIDDEN),
    ("services: resident memory", "MiB", read_monitored("process.resident_bytes", MIB_PER_BYTE), 0, HIDDEN),
    ("machine: virtual processors", "cores", read_monitored("outside.vcpu_cores"), 3, NO_MACHINE),
    ("machine: threads for disks", "cores", read_monitored("outside.io_cores"), 3, NO_MACHINE),
    ("machine: devices and network", "cores", read_monitored("outside.device_cores"), 3, NO_MACHINE),
    ("machine: vhost threads", "cores", read_monitored("outside.vhost_cores"), 3, NO_VHOST),
    ("machine: exits", "1/s", read_monitored("outside.exits_per_s"), 0, HIDDEN),
    ("machine: disk latency by the hypervisor", "ms", read_monitored("outside.disk_ms"), 2, NO_DISK_ACCESS),
    (
        "machine: network sent, by its line",
        "Mbit/s",
        read_monitored("outside.network_sent_per_s", MBIT),
        1,
        ONE_NETWORK,
    ),
    (
        "machine: network received, by its line",
        "Mbit/s",
        read_monitored("outside.network_recv_per_s", MBIT),
        1,
        ONE_NETWORK,
    ),
    ("guest: CPU user", "cores", read_monitored("inside.user_cores"), 3, NO_MACHINE),
    ("guest: CPU system", "cores", read_monitored("inside.system_cores"), 3, NO_MACHINE),
    ("guest: CPU idle", "cores", read_monitored("inside.idle_cores"), 3, NO_MACHINE),
    ("guest: steal", "cores", read_monitored("inside.steal_cores"), 3, NO_MACHINE),
    ("guest: active memory", "MiB", read_monitored("inside.active_bytes", MIB_PER_BYTE), 0, NO_MACHINE),
    ("guest: swap in and out", "B/s", read_monitored("inside.swap_in_per_s"), 0, NO_MACHINE),
)
"""What the monitors of host, hypervisor and guest saw."""

RowSpec = tuple[str, str, Reader, int, str]
"""Title, unit, where it is read, digits, and why one side may have none."""


@dataclass(frozen=True)
class PlatformTable:
    """Rows of one kind at one load, and how each side's runs there were judged."""

    title: str
    rows: list[PlatformRow]
    verdicts: tuple[str, ...] = ()


def list_rows(specs: tuple[RowSpec, ...], a: SideMeans, b: SideMeans) -> list[PlatformRow]:
    """The rows of one kind at one load."""
    return [
        PlatformRow(title, unit, read(a), read(b), digits, (_why(title, why, a), _why(title, why, b)))
        for title, unit, read, digits, why in specs
    ]


def _why(title: str, why: str, side: SideMeans) -> str:
    """Why there is no figure: what has no machine has none of a machine's; a machine's may not be readable."""
    has_machine = "outside.vcpu_cores" in side.monitors
    if title.startswith(("machine:", "guest:")) and not has_machine:
        return why if why == ONE_NETWORK else NO_MACHINE
    return HIDDEN if why == NO_MACHINE else why


def build_tables(
    names: Mapping[str, str],
    load: str,
    at_peak: Mapping[str, SideMeans],
    typical: BothSides | None,
    common: BothSides | None,
) -> list[PlatformTable]:
    """All tables of one workload: the peak, the monitors there, and the loads at which response times are compared."""
    a, b = at_peak["a"], at_peak["b"]
    grouped: list[PlatformTable] = []
    if a.metrics and b.metrics:
        grouped += [
            PlatformTable("At each one's own peak", list_rows(SPEED, a, b)),
            PlatformTable("Monitors at the peak", list_rows(MONITORS, a, b)),
        ]
    for point, reference in ((typical, f"the peak of {names['a']}"), (common, "the smaller peak")):
        if point is not None and (point is typical or point != typical):
            title = f"Response time at 80 % of {reference} ({point.load:g} {load})"
            grouped.append(PlatformTable(title, list_rows(SPEED, *point.sides), tuple(map(_verdicts, point.sides))))
    return grouped


def _verdicts(side: SideMeans) -> str:
    """How a side's runs at a load were judged, in words."""
    return ", ".join(f"{count} {verdict}" for verdict, count in side.verdicts.items() if count)
