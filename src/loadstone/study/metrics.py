"""The metrics that studies reckon with: what each is called, in what unit, which way it improves. Pure."""

from dataclasses import dataclass
from enum import StrEnum


class Better(StrEnum):
    """Which way a metric improves."""

    LOWER = "lower"
    HIGHER = "higher"
    NEITHER = "neither"


@dataclass(frozen=True)
class Metric:
    """What a metric is called, in what unit, and which way it improves."""

    name: str
    title: str
    unit: str
    better: Better
    axis: str = ""
    """Its unit in words, for the axis of a plot."""

    @property
    def axis_title(self) -> str:
        """What stands at an axis."""
        return self.axis or self.unit

    @property
    def plot_title(self) -> str:
        """What stands above a plot."""
        return self.title[:1].upper() + self.title[1:]


METRICS = {
    metric.name: metric
    for metric in (
        Metric("throughput", "throughput", "operations/s", Better.HIGHER, "operations per second"),
        Metric("response_mean", "mean response time", "s", Better.LOWER, "seconds"),
        Metric("response_p50", "median response time", "s", Better.LOWER, "seconds"),
        Metric("response_p90", "90th percentile of response time", "s", Better.LOWER, "seconds"),
        Metric("response_p95", "95th percentile of response time", "s", Better.LOWER, "seconds"),
        Metric("response_p99", "99th percentile of response time", "s", Better.LOWER, "seconds"),
        Metric("response_weighted", "percentile of response time weighted by the mix", "s", Better.LOWER, "seconds"),
        Metric("service_p99", "99th percentile of service time", "s", Better.LOWER, "seconds"),
        Metric("good", "good operations", "%", Better.HIGHER),
        Metric("tolerable", "tolerable operations", "%", Better.HIGHER),
        Metric("errors", "operations in error", "%", Better.LOWER),
        Metric("bytes", "bytes received", "B/s", Better.HIGHER),
        Metric("server_cpu", "CPU of the system under test", "cores", Better.LOWER),
        Metric("server_user", "user CPU of the system under test", "cores", Better.LOWER),
        Metric("server_system", "system CPU of the system under test", "cores", Better.LOWER),
        Metric("host_interrupts", "CPU of the host for interrupts", "cores", Better.LOWER),
        Metric("server_cpu_per_operation", "CPU time an operation", "s", Better.LOWER, "seconds"),
        Metric("busy_workers", "busy workers of the station", "workers", Better.LOWER),
        Metric("host_cpu", "CPU of the whole machine", "cores", Better.LOWER),
        Metric("driver_cpu", "busiest driver thread", "% of a core", Better.NEITHER),
        Metric("driver_lag_p99", "99th percentile of driver lag", "s", Better.NEITHER, "seconds"),
        Metric("score", "consolidation score", "points", Better.HIGHER),
        Metric("tiles_quality", "quality of service of the tiles", "%", Better.HIGHER),
    )
}
"""All metrics by name, in the order they are shown."""

METRIC_ALIASES = {
    "mean": "response_mean",
    **{f"p{percent:g}": f"response_p{percent:g}" for percent in (50, 90, 95, 99)},
    "throughput": "throughput",
    **{name: name for name in METRICS},
}
"""Metrics by the names that users may give them, the short ones of response time first."""

ABBREVIATED = {metric for name, metric in METRIC_ALIASES.items() if name != metric}
FIGURE_NAMES = [name for name in METRIC_ALIASES if name not in ABBREVIATED]
"""The shortest name of each metric, as lists of figures show them."""

SHARES = [name for name, metric in METRICS.items() if metric.unit == "%"]
"""Metrics in percent, which may have limits of their own."""
