"""The live figures as a Prometheus endpoint."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from loadstone.model.errors import UsageError
from loadstone.telemetry.tally import BOUNDS_S, Buckets, Tally


class Figures(Collector):
    """The tally as metrics, made anew for every scrape."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally

    def collect(self) -> Iterator[Metric]:
        """All metrics."""
        operations = CounterMetricFamily(
            "loadstone_operations", "Operations performed", labels=("workload", "operation", "grade")
        )
        errors = CounterMetricFamily(
            "loadstone_errors", "Operations in error", labels=("workload", "operation", "kind")
        )
        received = CounterMetricFamily("loadstone_received_bytes", "Bytes received", labels=("workload", "operation"))
        active = GaugeMetricFamily("loadstone_sessions_active", "Sessions under way", labels=("workload",))
        connections = GaugeMetricFamily("loadstone_connections_open", "Open connections", labels=("workload",))
        cpu = GaugeMetricFamily(
            "loadstone_driver_core_share", "Share of a core a driver thread used", labels=("thread",)
        )
        times = {
            "response": "From the intended start to the last byte",
            "service": "From the send to the last byte",
            "lag": "How late the driver acted against its own schedule",
        }
        histograms = {
            kind: HistogramMetricFamily(f"loadstone_{kind}_seconds", about, labels=("workload",))
            for kind, about in times.items()
        }
        for name, part in self.tally.parts():
            for key, count in part.counts.items():
                operations.add_metric((name, *key), count)
            for key, count in part.errors.items():
                errors.add_metric((name, *key), count)
            for operation, count in part.bytes.items():
                received.add_metric((name, operation), count)
            active.add_metric((name,), part.active)
            connections.add_metric((name,), part.connections)
            for kind, family in histograms.items():
                _add(family, name, getattr(part, kind))
            cpu.samples.clear()  # threads play all workloads, so the last one's figures are everyone's
            for thread, share in enumerate(part.cpu):
                cpu.add_metric((str(thread),), share)
        phase = GaugeMetricFamily("loadstone_phase", "The phase the run is in", labels=("phase",))
        phase.add_metric((self.tally.phase,), 1)
        yield from (operations, errors, received, active, connections, *histograms.values(), cpu, phase)


def _add(family: HistogramMetricFamily, name: str, buckets: Buckets) -> None:
    bounds = [*(f"{bound:g}" for bound in BOUNDS_S), "+Inf"]
    family.add_metric((name,), list(zip(bounds, accumulate(buckets.counts), strict=True)), buckets.sum_s)


@contextmanager
def serve_prometheus(address: str, tally: Tally) -> Iterator[None]:
    """Serves the tally at HOST:PORT/metrics until the block ends; raises UsageError when that is not possible."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise UsageError(f"`{address}` is no place to serve at. Give HOST:PORT, as 127.0.0.1:9464.")
    registry = CollectorRegistry()
    registry.register(Figures(tally))
    try:
        server, thread = start_http_server(int(port), host, registry)
    except OSError as error:
        raise UsageError(f"Prometheus cannot be served at {address}: {error.strerror}. Give another port.") from None
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
