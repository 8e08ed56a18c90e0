"""How pairs are, for Prometheus."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

Json = Mapping[str, Any]
GAUGES: dict[str, tuple[str, Callable[[Json], float | None]]] = {
    "protected": ("1 if a secondary follows the active machine", lambda status: status["status"] == "protected"),
    "lag_seconds": ("Replay lag of the secondary, in seconds", lambda status: _s(status["lag_ms"])),
    "round_trip_seconds": (
        "Round trip between both sides, through their agents",
        lambda status: _s(status.get("round_trip_ms")),
    ),
    "lost_frames": ("Frames that there was no room to hold", lambda status: status.get("lost_frames")),
    "log_bits_per_second": (
        "Log of the active machine",
        lambda status: None if status["log_mbit_per_s"] is None else 1e6 * status["log_mbit_per_s"],
    ),
    "slowed_ratio": (
        "Share of time for which the machine is throttled",
        lambda status: None if status["slowed_pct"] is None else status["slowed_pct"] / 100,
    ),
    "output_held_seconds": ("Median delay of outputs", lambda status: _s((status["held_ms"] or {}).get("p50"))),
    "log_recorded_bytes": ("Length of the log", lambda status: status["recorded"]),
    "log_received_bytes": ("Log received by the secondary", lambda status: status["received"]),
    "log_executed_bytes": ("Log replayed by the secondary", lambda status: status["executed"]),
}


def _s(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


class PairFigures(Collector):
    """Some statuses as metrics; what is not known of a pair is left out."""

    def __init__(self, statuses: Sequence[Json]) -> None:
        self.statuses = statuses

    def collect(self) -> Iterator[Metric]:
        """Yields the metrics of all pairs."""
        for name, (about, gauge) in GAUGES.items():
            family = GaugeMetricFamily(f"loadstone_pair_{name}", about, labels=("pair",))
            for status in self.statuses:
                value = gauge(status)
                if value is not None:
                    family.add_metric((status["name"],), float(value))
            yield family


def pair_metrics(statuses: Sequence[Json]) -> str:
    """Statuses of pairs in Prometheus's text format."""
    registry = CollectorRegistry()
    registry.register(PairFigures(statuses))
    return generate_latest(registry).decode()
