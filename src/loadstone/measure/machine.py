"""Machines seen from both sides: what their own kernel counts, and what the host counts for them."""

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import TypeAdapter

from loadstone.measure.rates import compute_cpu_cores, compute_disk_rates, compute_network_rates, compute_rates
from loadstone.model.records.sample import MachineViews

Json = dict[str, Any]
"""Counters as agents and platforms report them."""

MOST_CPU_GROUPS = 8
"""Process groups of a host that are kept of each look."""
MEMORY_FIGURES = ("total", "used", "available", "active", "inactive", "cached")


class Gauge(Protocol):
    """A machine that can be looked at."""

    async def read_inside(self) -> Json | None:
        """Returns the counters of its own kernel, None when it has none or does not answer."""

    async def read_outside(self) -> Json | None:
        """Returns what the host counts for it, None if it counts nothing."""


@dataclass(frozen=True)
class GaugeReading:
    """The counters of a machine from both sides; None for a side without any."""

    inside: Json | None = None
    outside: Json | None = None
    outside_s: float = 0.0
    """When the host counted, on its own clock: readings of many machines take their time."""


_VIEWS = TypeAdapter(MachineViews)


async def read_gauge(gauge: Gauge) -> GaugeReading:
    """Returns both sides of a machine at this moment. They are read at once, so a slow agent inside takes no time of
    the view outside.
    """

    async def read_outside() -> tuple[Json | None, float]:
        return await gauge.read_outside(), time.monotonic()

    inside, outside = await asyncio.gather(gauge.read_inside(), read_outside())
    return GaugeReading(inside, *outside)


def compute_views(before: GaugeReading | None, after: GaugeReading) -> MachineViews:
    """Returns the growth between two readings, from both sides. A side without a reading is None. Raises
    ValidationError for counters that are no numbers.
    """
    last = before or GaugeReading()
    seconds = max(1e-9, after.outside_s - last.outside_s)
    sides = {"inside": _inside(last.inside, after.inside), "outside": _outside(last.outside, after.outside, seconds)}
    return _VIEWS.validate_python(sides)


def _inside(before: Json | None, after: Json | None) -> Json | None:
    """By the machine's own clock: it is the one that its counters follow."""
    if before is None or after is None or after["unix_ns"] <= before["unix_ns"]:
        return None
    seconds = (after["unix_ns"] - before["unix_ns"]) / 1e9
    return {
        "seconds": seconds,
        "cores": after["cores"],
        "cpu_cores": compute_cpu_cores(before["cpu"], after["cpu"], seconds),
        "memory_bytes": {key: after["memory"].get(key) for key in MEMORY_FIGURES},
        "swap": compute_rates(before["swap"], after["swap"], ("sin", "sout"), seconds),
        "disk": compute_disk_rates(before["disk"], after["disk"], seconds),
        "network": compute_network_rates(before["network"], after["network"], seconds),
        **_of_host(before, after, seconds),
    }


def _of_host(before: Json, after: Json, seconds: float) -> Json:
    """What agents of whole hosts tell beside that; nothing of machines of ours."""
    if "running" not in after:
        return {}
    waited, last = after["pressure_us"], before["pressure_us"]
    used = {group["group"]: group["cpu"] for group in before["groups"]}
    groups = [
        {
            "name": group["name"],
            "cores": (group["cpu"] - used[group["group"]]) / seconds,
            "resident_bytes": group["resident"],
        }
        for group in after["groups"]
        if group["group"] in used and group["cpu"] >= used[group["group"]]  # an agent that began anew counts from 0
    ]
    return {
        "running": after["running"],
        "pressure": {kind: (waited[kind] - last[kind]) / 1e6 / seconds for kind in waited if kind in last},
        "groups": sorted(groups, key=lambda group: -group["cores"])[:MOST_CPU_GROUPS],
    }


def _outside(before: Json | None, after: Json | None, seconds: float) -> Json | None:
    if before is None or after is None:
        return None
    exits = [side.get("exits") for side in (before, after)]
    return {
        "cpu_cores": {kind: (used - before["cpu"].get(kind, 0)) / seconds for kind, used in after["cpu"].items()},
        "disk": compute_disk_rates(before["disk"], after["disk"], seconds),
        "network": {
            name: compute_network_rates(before["network"][name], counted, seconds)
            for name, counted in _both(before["network"], after["network"])
        },
        "exits_per_s": None if None in exits else (after["exits"] - before["exits"]) / seconds,
    }


def _both(before: Json, after: Json) -> Iterable[tuple[str, Json]]:
    return ((name, counted) for name, counted in after.items() if name in before)
