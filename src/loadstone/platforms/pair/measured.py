"""What the agent of the side that serves measured, as the monitors read it each second. Pure."""

from typing import Any

from loadstone.model.records import pair_status
from loadstone.platforms.contract import MachineStatus

Json = dict[str, Any]


def read_figures(metrics: Json, guest_lag_s: float | None = None) -> MachineStatus:
    """Returns the latest figures: times in ms, log in bytes; the lag of the guest's clock once it was read."""
    named = (pair_status.LAG_MS, pair_status.ROUND_TRIP_MS, pair_status.SLOWED_PCT)
    now = {name: float(metrics[name]) for name in named if metrics.get(name) is not None}
    now |= {} if guest_lag_s is None else {pair_status.GUEST_LAG_MS: 1000 * guest_lag_s}
    held = metrics["held_ms"]
    now |= {pair_status.HELD_MS: held["p50"], pair_status.HELD_TAIL_MS: held["p99"]}
    counters = {name: float(metrics[name]) for name in (pair_status.LOG_BYTES, pair_status.WIRE_BYTES)}
    by_kind = metrics.get("log_bytes_by_kind", {}).items()
    return MachineStatus(
        now, counters | {pair_status.name_log_counter(kind): float(counted) for kind, counted in by_kind}
    )
