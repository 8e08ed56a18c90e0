"""CPU quota of this process's control group, or of one around it (Linux, cgroup-v1/v2, CPU controller)."""

import contextlib
from dataclasses import dataclass
from pathlib import Path

QUOTA_ROOT = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class CpuQuota:
    """How many cores a group may use on the mean of each period."""

    cores: float
    group: str


def read_cpu_quota(root: Path = QUOTA_ROOT, membership: Path = Path("/proc/self/cgroup")) -> CpuQuota | None:
    """The smallest quota among the group and those around it; None without one, or where it cannot be read."""
    try:
        entries = [line.split(":", 2) for line in membership.read_text().splitlines()]
    except OSError:
        return None
    quotas: list[CpuQuota] = []
    for _, controllers, path in (entry for entry in entries if len(entry) == 3):
        names = controllers.split(",")
        for hierarchy in [root] if not controllers else [root / controllers, root / "cpu"] if "cpu" in names else []:
            # a container may see its own group as the root of the hierarchy, by another path than this
            folders = [hierarchy, *(hierarchy / part for part in _around(path))]
            quotas += [CpuQuota(cores, path) for folder in folders if (cores := _cores(folder)) is not None]
    return min(quotas, key=lambda quota: quota.cores, default=None)


def _around(path: str) -> list[str]:
    parts = [part for part in path.split("/") if part not in ("", "..")]
    return ["/".join(parts[: length + 1]) for length in range(len(parts))]


def _cores(group: Path) -> float | None:
    with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
        quota, period = (group / "cpu.max").read_text().split()
        return int(quota) / int(period)
    with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
        quota, period = ((group / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        return int(quota) / int(period) if int(quota) > 0 else None
    return None
