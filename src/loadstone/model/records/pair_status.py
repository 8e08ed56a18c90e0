"""Names of what a pair reports about itself each second, as samples keep it."""

PAIR = "pair"
"""The part of a machine whose status it is."""
LOG_BYTES, WIRE_BYTES = "log_bytes", "wire_bytes"
"""Counters of the log before and after compression."""
READS_IN_LOG = "reads_in_log"
"""Fact of a machine: whether the data that it reads from its disk comes with its log."""
LOG_KINDS = ("network", "disk", "clock", "interrupt", "other")
"""Kinds of events in the log: received packets, done disk requests, read clocks and timers, interrupts, others."""
LAG_MS, HELD_MS, SLOWED_PCT, ROUND_TRIP_MS = "lag_ms", "held_ms", "slowed_pct", "round_trip_ms"
"""Lag of the secondary; median time for which outputs were held; share by which the primary is slowed; round trip."""
GUEST_LAG_MS = "guest_lag_ms"
"""Lag of the guest's clock without its corrections: constant while the guest counts seconds as the host does."""
HELD_TAIL_MS = "held_p99_ms"
"""99th percentile of the time for which outputs were held."""


def name_log_counter(kind: str) -> str:
    """Name of the counter of the log's bytes of one kind."""
    return f"log_{kind}_bytes"
