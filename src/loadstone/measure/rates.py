"""From counters that only grow to rates between two readings of them."""

from collections.abc import Mapping

Counters = Mapping[str, float]
"""Counters by name, as the kernel has them."""
DISK_COUNTERS = ("read_count", "write_count", "read_time", "write_time")
"""Of an operation's mean time: operations, and milliseconds that they took."""
MODES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
"""What a processor's time goes to; `guest` is part of `user` and left out."""


def compute_rates(before: Counters, after: Counters, keys: tuple[str, ...], seconds: float) -> dict[str, float | None]:
    """Growth a second of the counters that both have."""
    return {f"{key}_per_s": (after[key] - before[key]) / seconds for key in keys if key in before and key in after}


def compute_cpu_cores(before: Counters, after: Counters, seconds: float) -> dict[str, float | None]:
    """Cores spent in each mode."""
    return {mode: (after[mode] - before[mode]) / seconds for mode in MODES if mode in before and mode in after}


def compute_disk_rates(before: Counters, after: Counters, seconds: float) -> dict[str, float | None]:
    """Bytes and operations a second, and the mean time of an operation in milliseconds."""
    per_second = compute_rates(before, after, ("read_bytes", "write_bytes", "read_count", "write_count"), seconds)
    if not set(DISK_COUNTERS) <= before.keys() & after.keys():
        return per_second
    operations = sum(after[key] - before[key] for key in ("read_count", "write_count"))
    busy_ms = sum(after[key] - before[key] for key in ("read_time", "write_time"))
    return {**per_second, "latency_ms": busy_ms / operations if operations else None}


def compute_network_rates(before: Counters, after: Counters, seconds: float) -> dict[str, float | None]:
    """Bytes, packets and dropped packets a second, each way."""
    counters = ("bytes_sent", "bytes_recv", "packets_sent", "packets_recv", "dropin", "dropout")
    return compute_rates(before, after, counters, seconds)
