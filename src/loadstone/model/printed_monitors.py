"""Monitors' figures that others printed: what each is about, its quantity, and its figure to the last printed digit.

A quantity that a disclosure does not print has no record here, which is another thing than a printed 0.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator

HOST_MACHINE = "host"
"""Name of the physical machine, among the names of machines."""


MOST_DIGITS = 40
"""Digits before or after the point that a printed figure may have."""


def _check_quantity(name: str) -> str:
    """Returns the name of a known quantity; raises ValueError for any other."""
    if name not in QUANTITIES:
        raise ValueError("not a known quantity")
    return name


def _check_printed(text: str) -> str:
    """Returns the text of a finite number, 0 or more; raises ValueError for any other."""
    try:
        value = Decimal(text)
    except ArithmeticError:
        raise ValueError("not a number") from None
    if not value.is_finite() or value < 0 or abs(value.adjusted()) > MOST_DIGITS or len(text) > MOST_DIGITS:
        raise ValueError("not a printed figure")
    return text


class MonitorView(StrEnum):
    """Which side of a machine a monitor counts."""

    INSIDE = "inside"
    """The machine's own kernel."""
    OUTSIDE = "outside"
    """The host, for a virtual machine."""


@dataclass(frozen=True)
class MonitorSubject:
    """A machine or one of its parts, and the side that is counted."""

    machine: str
    view: MonitorView = MonitorView.INSIDE
    part: str = ""
    """A core, a disk or a card; empty for all of the machine."""

    def __str__(self) -> str:
        part = f"/{self.part}" if self.part else ""
        return f"{self.machine}{part} by the host" if self.view is MonitorView.OUTSIDE else f"{self.machine}{part}"


@dataclass(frozen=True)
class PrintedMonitor:
    """One printed figure of a monitor."""

    subject: MonitorSubject
    quantity: Annotated[str, AfterValidator(_check_quantity)]
    unit: str
    """Empty for a count."""
    printed: Annotated[str, AfterValidator(_check_printed)]
    """The figure with the digits that were printed."""
    is_common: bool = False
    """Whether it was printed once, for all iterations."""

    @property
    def place(self) -> tuple[MonitorSubject, str, str]:
        """What it is a figure of, and its unit: a table has one figure of each place."""
        return self.subject, self.quantity, self.unit

    @property
    def value(self) -> Decimal:
        """The figure as a number."""
        return Decimal(self.printed)

    @property
    def half_digit(self) -> Decimal:
        """Half of the last printed digit: rounding may have moved the figure so far."""
        exponent = self.value.as_tuple().exponent
        return Decimal(5).scaleb(int(exponent) - 1)


class MonitorGroup(StrEnum):
    """The part of a monitor's sample that a quantity belongs to."""

    CPU = "cpu"
    MEMORY = "memory"
    SWAP = "swap"
    DISK = "disk"
    NETWORK = "network"
    NONE = "none"
    """Shown as printed alone: samples do not have it."""


@dataclass(frozen=True)
class Quantity:
    """A quantity that monitors print."""

    name: str
    units: Mapping[str, float]
    """Its units, each with the factor to the unit of a sample; 0 where it cannot be converted."""
    group: MonitorGroup = MonitorGroup.NONE
    key: str = ""
    """Its name in a sample."""


MACHINE_PERCENT, CORE_PERCENT, CORE_COUNT, PER_SECOND = "%", "% of a core", "cores", "1/s"
PROCESSORS, EXITS = "processors", "exits"
CPU_UNITS = {MACHINE_PERCENT: 0.0, CORE_PERCENT: 0.01, CORE_COUNT: 1.0}
"""A percentage of the whole machine needs its number of processors."""
BYTE_UNITS = {"B": 1.0, "kB": 1e3, "KiB": 1024.0, "MB": 1e6, "MiB": 1024.0**2, "GB": 1e9, "GiB": 1024.0**3}
BYTE_RATES = {f"{unit}/s": factor for unit, factor in BYTE_UNITS.items()}
BIT_RATES = {"kbit/s": 125.0, "Mbit/s": 125e3, "Gbit/s": 125e6}
COUNT_RATES = {PER_SECOND: 1.0}

CPU_TOTAL, CPU_IDLE, CPU_WAIT, CPU_READY = "CPU", "CPU idle", "CPU wait", "CPU ready"
BUSY_SHARES = {
    "CPU user": "user",
    "CPU nice": "nice",
    "CPU system": "system",
    "CPU interrupts": "irq",
    "CPU soft interrupts": "softirq",
    "CPU steal": "steal",
}
"""Quantities of a processor that works, with their modes in a sample."""
PROCESSOR_SHARES = {**BUSY_SHARES, CPU_IDLE: "idle", CPU_WAIT: "iowait"}
"""Quantities that share the time of a processor."""
THREAD_COSTS = {"CPU of virtual processors": "vcpu", "CPU of disk threads": "io", "CPU of device threads": "device"}
"""Parts of what a virtual machine costs the host, with their kinds in a sample."""


def _list_quantities() -> Iterator[Quantity]:
    yield Quantity(PROCESSORS, {"": 1.0})
    for name, key in {CPU_TOTAL: "busy", **PROCESSOR_SHARES, **THREAD_COSTS}.items():
        yield Quantity(name, CPU_UNITS, MonitorGroup.CPU, key)
    yield Quantity(CPU_READY, CPU_UNITS)
    for key in ("used", "active", "inactive", "cached", "available"):
        yield Quantity(f"memory {key}", {**BYTE_UNITS, MACHINE_PERCENT: 0.0}, MonitorGroup.MEMORY, key)
    yield Quantity("memory free", {**BYTE_UNITS, MACHINE_PERCENT: 0.0})
    for direction, key in (("in", "sin_per_s"), ("out", "sout_per_s")):
        yield Quantity(f"swap {direction}", BYTE_RATES, MonitorGroup.SWAP, key)
    for action, key in (("read", "read"), ("written", "write")):
        yield Quantity(f"disk {action}", BYTE_RATES, MonitorGroup.DISK, f"{key}_bytes_per_s")
    for action, key in (("reads", "read"), ("writes", "write")):
        yield Quantity(f"disk {action}", COUNT_RATES, MonitorGroup.DISK, f"{key}_count_per_s")
    yield Quantity("disk latency", {"ms": 1.0, "s": 1000.0}, MonitorGroup.DISK, "latency_ms")
    yield Quantity("disk busy", {MACHINE_PERCENT: 0.0})
    yield Quantity("network", {**BIT_RATES, **BYTE_RATES})
    for direction, key in (("sent", "sent"), ("received", "recv")):
        yield Quantity(f"network {direction}", {**BIT_RATES, **BYTE_RATES}, MonitorGroup.NETWORK, f"bytes_{key}_per_s")
        yield Quantity(f"packets {direction}", COUNT_RATES, MonitorGroup.NETWORK, f"packets_{key}_per_s")
    for name in ("interrupts", "context switches", EXITS):
        yield Quantity(name, COUNT_RATES)
    yield Quantity("run queue", {"": 1.0})


QUANTITIES = {quantity.name: quantity for quantity in _list_quantities()}
"""All quantities by name, in the order of reports."""


def get_processors(figures: Iterable[PrintedMonitor], machine: str) -> int | None:
    """Returns the printed number of a machine's processors; None where it was not printed."""
    counts = (figure for figure in figures if figure.quantity == PROCESSORS and figure.subject.machine == machine)
    return next((int(figure.value) for figure in counts), None)


def count_capacity(figures: Iterable[PrintedMonitor], subject: MonitorSubject, unit: str) -> Decimal | None:
    """Returns the CPU time that a subject has in a unit of CPU_UNITS; None where it is not known.

    The host pays for a virtual machine, so its own processors bound what it counts. A part may be a core.
    """
    if unit == MACHINE_PERCENT:
        return Decimal(100)
    machine = HOST_MACHINE if subject.view is MonitorView.OUTSIDE else subject.machine
    processors = get_processors(figures, machine)
    if processors is None:
        return None
    return Decimal(processors) * (100 if unit == CORE_PERCENT else 1)
