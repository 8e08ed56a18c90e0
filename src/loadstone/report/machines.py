"""Machines of a run, seen by the host and by themselves, side by side; what a machine cannot know is marked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.judge.usage import inside_usage, outside_usage, tree_usage
from loadstone.report.units import MBIT, MIB

Json = dict[str, Any]

UNKNOWABLE = "it cannot know"
HIDDEN = "not readable"
SHARED = "shares the host's kernel"
Known = float | str | None
"""A figure, a text in its place, or nothing."""


@dataclass(frozen=True)
class MachineRow:
    """One figure from both sides; texts where there is no number."""

    title: str
    unit: str
    host: str
    guest: str


@dataclass(frozen=True)
class MachineView:
    """One machine."""

    name: str
    rows: list[MachineRow]


def machine_views(samples: Sequence[Json]) -> list[MachineView]:
    """The machines that have a view of their own, by name."""
    names = sorted({name for sample in samples for name, seen in sample.get("machines", {}).items() if seen["outside"]})
    return [MachineView(name, _rows(samples, name)) for name in names]


def _rows(samples: Sequence[Json], name: str) -> list[MachineRow]:
    outside, inside = outside_usage(samples, name), inside_usage(samples, name)
    tree = tree_usage(samples, name)
    busy = sum(inside.get(f"{mode}_cores", 0.0) for mode in ("user", "system")) if inside else None

    def row(title: str, unit: str, host: Known, guest: Known, by: float = 1.0, why_not: str = HIDDEN) -> MachineRow:
        return MachineRow(title, unit, _text(host, by, why_not), _text(guest, by, why_not))

    if not inside and "vcpu_cores" not in outside:
        return [
            row("CPU in all", "cores", outside.get("cores") or tree.get("cores"), SHARED),
            row("memory", "MiB", tree.get("resident_bytes"), SHARED, MIB),
            row("network sent", "Mbit/s", outside.get("network_sent_per_s"), SHARED, MBIT),
            row("network received", "Mbit/s", outside.get("network_recv_per_s"), SHARED, MBIT),
        ]
    return [
        row("CPU in all", "cores", outside.get("cores") or tree.get("cores"), busy),
        row("of virtual processors", "cores", outside.get("vcpu_cores"), UNKNOWABLE),
        row("of threads for disks", "cores", outside.get("io_cores"), UNKNOWABLE),
        row("of devices and network", "cores", outside.get("device_cores"), UNKNOWABLE),
        row("steal", "cores", "-", inside.get("steal_cores")),
        row("idle", "cores", "-", inside.get("idle_cores")),
        row("memory", "MiB", tree.get("resident_bytes"), inside.get("used_bytes"), MIB),
        row("active memory", "MiB", "-", inside.get("active_bytes"), MIB),
        row("exits", "1/s", outside.get("exits_per_s"), UNKNOWABLE),
        row("disk latency", "ms", outside.get("disk_ms"), inside.get("disk_ms"), why_not="no access"),
        row("network sent", "Mbit/s", outside.get("network_sent_per_s"), inside.get("network_sent_per_s"), MBIT),
        row("network received", "Mbit/s", outside.get("network_recv_per_s"), inside.get("network_recv_per_s"), MBIT),
    ]


def _text(value: float | str | None, by: float, why_not: str) -> str:
    if value is None:
        return why_not
    return value if isinstance(value, str) else f"{value * by:.3g}" if value * by < 100 else f"{value * by:.0f}"
