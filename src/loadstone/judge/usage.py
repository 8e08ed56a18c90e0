"""What the monitors saw over the steady state, on the mean: of the host, of each machine, from within and from without.

The rows are those that published comparisons print for native and for virtual systems (docs/virtual-machines.md).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

Json = dict[str, Any]

SUPPORT = ("driver", "backend")
"""Roles that are not what is measured: the load's side, and what stands for other machines."""

CPU_GROUPS = {
    "user": ("user", "nice"),
    "system": ("system", "irq", "softirq"),
    "idle": ("idle",),
    "wait": ("iowait",),
    "steal": ("steal",),
}


def host_usage(samples: Sequence[Json]) -> dict[str, float]:
    """CPU in cores by mode, memory in bytes, swap, disk and network a second, disk service time in milliseconds."""
    return _view(samples, lambda sample: sample)


def inside_usage(samples: Sequence[Json], machine: str) -> dict[str, float]:
    """The same as a machine's own kernel sees it; empty for one that has none."""
    return _view(samples, lambda sample: _side(sample, machine, "inside"))


def outside_usage(samples: Sequence[Json], machine: str) -> dict[str, float]:
    """What a machine costs the host: cores by kind of thread, disk and lines as the hypervisor counts them."""
    sides = [side for sample in samples if (side := _side(sample, machine, "outside")) is not None]
    found = {f"{kind}_cores": _mean(side["cpu_cores"].get(kind) for side in sides) for kind in _kinds(sides)}
    used = [sum(side["cpu_cores"].values()) for side in sides]
    found |= {
        "cores": fmean(used) if used else None,
        "exits_per_s": _mean(side["exits_per_s"] for side in sides),
        "disk_ms": _mean(side["disk"].get("latency_ms") for side in sides),
        "disk_bytes_per_s": _mean(_disk_bytes(side["disk"]) for side in sides),
    }
    for way in ("sent", "recv"):
        found[f"network_{way}_per_s"] = _mean(_network(side["network"], way) for side in sides)
    return _known(found)


def tree_usage(samples: Sequence[Json], role: str) -> dict[str, float]:
    """Cores and resident bytes of a role's processes."""
    trees = [tree for sample in samples if (tree := sample["trees"].get(role))]
    names = {"cores": ("user_cores", "system_cores"), "resident_bytes": ("rss_bytes",)}
    return _known({name: _mean(sum(tree[key] for key in keys) for tree in trees) for name, keys in names.items()})


def measured_machines(samples: Sequence[Json]) -> list[str]:
    """Names of the roles whose use is the system's own."""
    return sorted({role for sample in samples for role in sample["trees"] if role not in SUPPORT})


def _view(samples: Sequence[Json], side_of: Callable[[Json], Json | None]) -> dict[str, float]:
    sides = [side for sample in samples if (side := side_of(sample)) is not None]
    found: dict[str, float | None] = {
        f"{group}_cores": _mean(sum(side["cpu_cores"].get(mode, 0) for mode in modes) for side in sides)
        for group, modes in CPU_GROUPS.items()
    }
    for name in ("used", "active", "inactive"):
        found[f"{name}_bytes"] = _mean(side["memory_bytes"].get(name) for side in sides)
    found |= {
        "swap_in_per_s": _mean(side["swap"].get("sin_per_s") for side in sides),
        "swap_out_per_s": _mean(side["swap"].get("sout_per_s") for side in sides),
        "disk_ms": _mean(side["disk"].get("latency_ms") for side in sides),
        "disk_bytes_per_s": _mean(_disk_bytes(side["disk"]) for side in sides),
        "network_sent_per_s": _mean(side["network"].get("bytes_sent_per_s") for side in sides),
        "network_recv_per_s": _mean(side["network"].get("bytes_recv_per_s") for side in sides),
    }
    return _known(found)


def _side(sample: Json, machine: str, side: str) -> Json | None:
    held: Json | None = sample.get("machines", {}).get(machine, {}).get(side)
    return held


def _kinds(sides: Sequence[Json]) -> list[str]:
    return list(dict.fromkeys(kind for side in sides for kind in side["cpu_cores"]))


def _disk_bytes(disk: Json) -> float | None:
    held = [disk[key] for key in ("read_bytes_per_s", "write_bytes_per_s") if key in disk]
    return sum(held) if held else None


def _network(networks: Mapping[str, Json], way: str) -> float | None:
    held = [one[f"bytes_{way}_per_s"] for one in networks.values() if f"bytes_{way}_per_s" in one]
    return sum(held) if held else None


def _mean(values: Iterable[float | None]) -> float | None:
    held = [value for value in values if value is not None]
    return fmean(held) if held else None


def _known(found: Mapping[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in found.items() if value is not None}
