"""How much log a protected machine sends to its secondary: the published rule, and a model of our own measurements.
Pure.
"""

from dataclasses import asdict, dataclass
from typing import Any

RULE_FACTOR = 1.2
"""VMware 2009, "VMware vSphere 4 Fault Tolerance: Architecture and Performance": Mbit/s of log are 1.2 times the sum of
the disk reads and of the received network traffic, both in Mbit/s."""
MEASURED_MBIT_PER_S = 12.0
"""Highest received rate that the model was compared with; docs/fault-tolerance.md has the points."""
IDLE_BYTES_PER_S = 1340.0
"""Log of a machine that only keeps its clock and is looked at once a second."""
FRAME_BYTES, WAKE_UP_BYTES, WAKE_UPS_PER_S = 20.0, 80.0, 1100.0
"""Beside its own bytes a received frame costs an event, and a share of the event that wakes the machine: frames that
come faster than it wakes up share that."""
DISK_FACTOR = 1.02
"""Bytes that a read of a shared disk takes in the channel, by bytes read; lz4 does not shorten what is random."""


@dataclass(frozen=True)
class LogBandwidth:
    """Log of a machine under one load, in Mbit/s, before compression."""

    rule_mbit_per_s: float
    """By the published rule."""
    model_mbit_per_s: float
    """By our model; the sum of the following three."""
    network_mbit_per_s: float
    disk_mbit_per_s: float
    idle_mbit_per_s: float
    link_share: float
    """Of the link's speed, by the larger of rule and model."""
    is_extrapolated: bool
    """Whether the received rate is beyond those that the model was compared with."""

    @property
    def as_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)


def compute_log_bandwidth(
    disk_read_mbytes_per_s: float, received_mbit_per_s: float, frame_bytes: float, link_mbit_per_s: float
) -> LogBandwidth:
    """Returns the log of a machine that reads from a shared disk and receives frames of a mean size.

    Disk reads count where they come with the log (`disks=shared,reads=log`); replicas read their own disks.
    """
    rule = RULE_FACTOR * (8 * disk_read_mbytes_per_s + received_mbit_per_s)
    frames_per_s = received_mbit_per_s * 1e6 / 8 / frame_bytes
    overhead_bytes = FRAME_BYTES + WAKE_UP_BYTES / (1 + frames_per_s / WAKE_UPS_PER_S)
    network = received_mbit_per_s + 8e-6 * frames_per_s * overhead_bytes
    disk, idle = 8 * DISK_FACTOR * disk_read_mbytes_per_s, 8e-6 * IDLE_BYTES_PER_S
    model = network + disk + idle
    return LogBandwidth(
        rule_mbit_per_s=rule,
        model_mbit_per_s=model,
        network_mbit_per_s=network,
        disk_mbit_per_s=disk,
        idle_mbit_per_s=idle,
        link_share=max(rule, model) / link_mbit_per_s,
        is_extrapolated=received_mbit_per_s > MEASURED_MBIT_PER_S,
    )
