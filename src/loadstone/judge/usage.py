"""What the monitors saw over the steady state, on the mean: of the host, of each machine, from within and from without.

The rows are those that published comparisons print for native and for virtual systems (docs/how-to/machines.md). Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from loadstone.model.records.sample import InsideView, OutsideView, Rates, Sample
from loadstone.model.role import ProcessRole

SUPPORT = ("driver", "backend")
"""Roles that are not what is measured: the load's side, and what stands for other machines."""


def is_support(role: str) -> bool:
    """Whether the processes of a role belong to a machine that is not measured."""
    return ProcessRole.parse(role).machine in SUPPORT


CPU_GROUPS = {
    "user": ("user", "nice"),
    "system": ("system", "irq", "softirq"),
    "idle": ("idle",),
    "wait": ("iowait",),
    "steal": ("steal",),
    "busy": ("busy",),
}
"""Modes by group; `busy` is a total that a published table does not split."""


def compute_host_usage(samples: Sequence[Sample]) -> dict[str, float]:
    """CPU in cores by mode, memory in bytes, swap, disk and network a second, disk service time in milliseconds."""
    return _view(samples)


def compute_inside_usage(samples: Sequence[Sample], machine: str) -> dict[str, float]:
    """The same as a machine's own kernel sees it; empty for one that has none."""
    views = [sample.machines[machine].inside for sample in samples if machine in sample.machines]
    return _view([view for view in views if view is not None])


def compute_outside_usage(samples: Sequence[Sample], machine: str) -> dict[str, float]:
    """Returns the cost of a machine on the host: cores by kind of thread, disk and networks as the hypervisor counts
    them.
    """
    views = [view for view in list_outside_views(samples, machine) if view is not None]
    kinds = dict.fromkeys(kind for view in views for kind in view.cpu_cores)
    usage = {f"{kind}_cores": _mean(view.cpu_cores.get(kind) for view in views) for kind in kinds}
    used = [sum(known) for view in views if (known := _all_known(view.cpu_cores)) is not None]
    usage |= {
        "cores": fmean(used) if used else None,
        "exits_per_s": _mean(view.exits_per_s for view in views),
        "disk_ms": _mean(view.disk.get("latency_ms") for view in views),
        "disk_bytes_per_s": _mean(_disk_bytes(view.disk) for view in views),
    }
    for name in ("used", "active"):
        usage[f"{name}_bytes"] = _mean(view.memory_bytes.get(name) for view in views)
    for direction in ("sent", "recv"):
        usage[f"network_{direction}_per_s"] = _mean(_all_lines(view, direction) for view in views)
    return _known(usage)


def list_outside_views(samples: Sequence[Sample], machine: str) -> list[OutsideView | None]:
    """Lists what the host counted for a machine, one entry a sample."""
    return [sample.machines[machine].outside for sample in samples if machine in sample.machines]


def compute_line_usage(samples: Sequence[Sample], machine: str, line: str) -> float | None:
    """Returns the bytes a second of a machine's line in its busier direction; None where they are unknown."""
    lines = [view.network.get(line, {}) for view in list_outside_views(samples, machine) if view is not None]
    directions = [_mean(rates.get(f"bytes_{direction}_per_s") for rates in lines) for direction in ("sent", "recv")]
    return max((rate for rate in directions if rate is not None), default=None)


def compute_tree_usage(samples: Sequence[Sample], role: str) -> dict[str, float]:
    """Cores and resident bytes of a role's processes."""
    trees = [tree for sample in samples if (tree := sample.trees.get(role)) is not None]
    usage = {
        "cores": _mean(tree.cores for tree in trees),
        "resident_bytes": _mean(tree.rss_bytes for tree in trees),
    }
    return _known(usage)


def compute_printed_cores(samples: Sequence[Sample]) -> dict[str, float]:
    """Returns the cores of the system under test where others printed them: `server_user`, `server_system`, and
    `server_cpu` for both. The host's view of a machine counts, else the machine's own. A figure that one of several
    machines lacks is left out.
    """
    names = sorted({name for sample in samples for name in sample.machines if not is_support(name)})
    each = [_compute_machine_cores(samples, name) for name in names]
    keys = [key for key in dict.fromkeys(key for cores in each for key in cores) if all(key in cores for cores in each)]
    return {key: sum(cores[key] for cores in each) for key in keys}


def _compute_machine_cores(samples: Sequence[Sample], machine: str) -> dict[str, float]:
    inside, outside = compute_inside_usage(samples, machine), compute_outside_usage(samples, machine)
    user, system = inside.get("user_cores"), inside.get("system_cores")
    both = None if user is None or system is None else user + system
    total = outside.get("cores", inside.get("busy_cores", both))
    return _known({"server_user": user, "server_system": system, "server_cpu": total})


def list_measured_machines(samples: Sequence[Sample]) -> list[str]:
    """Names of the roles whose use is the system's own."""
    return sorted({role for sample in samples for role in sample.trees if not is_support(role)})


def _view(sides: Sequence[Sample | InsideView]) -> dict[str, float]:
    usage: dict[str, float | None] = {
        f"{group}_cores": _mean(sum(known) if (known := _list_known(side.cpu_cores, modes)) else None for side in sides)
        for group, modes in CPU_GROUPS.items()
    }
    for name in ("used", "active", "inactive"):
        usage[f"{name}_bytes"] = _mean(side.memory_bytes.get(name) for side in sides)
    usage |= {
        "swap_in_per_s": _mean(side.swap.get("sin_per_s") for side in sides),
        "swap_out_per_s": _mean(side.swap.get("sout_per_s") for side in sides),
        "disk_ms": _mean(side.disk.get("latency_ms") for side in sides),
        "disk_bytes_per_s": _mean(_disk_bytes(side.disk) for side in sides),
        "network_sent_per_s": _mean(side.network.get("bytes_sent_per_s") for side in sides),
        "network_recv_per_s": _mean(side.network.get("bytes_recv_per_s") for side in sides),
    }
    return _known(usage)


def _list_known(rates: Rates, names: Iterable[str]) -> list[float]:
    return [rate for name in names if (rate := rates.get(name)) is not None]


def _all_known(rates: Rates) -> list[float] | None:
    """Returns all rates; None where one of them is not known."""
    known = _list_known(rates, rates)
    return known if len(known) == len(rates) else None


def _disk_bytes(disk: Rates) -> float | None:
    known = _list_known(disk, ("read_bytes_per_s", "write_bytes_per_s"))
    return sum(known) if known else None


def _all_lines(view: OutsideView, direction: str) -> float | None:
    rates = [rate for line in view.network.values() if (rate := line.get(f"bytes_{direction}_per_s")) is not None]
    return sum(rates) if rates else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _known(usage: Mapping[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in usage.items() if value is not None}
