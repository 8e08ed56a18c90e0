"""The live figures pushed to an OpenTelemetry collector: OTLP over HTTP, with the published message types."""

import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AggregationTemporality,
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
)

from loadstone import __version__
from loadstone.model.errors import UsageError
from loadstone.telemetry.tally import BOUNDS_S, Buckets, PartTally, Tally

EVERY_S = 2.0
TIMEOUT_S = 5.0
Points = Mapping[tuple[tuple[str, str], ...], int]
"""Labels and a figure."""
CUMULATIVE = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE


def message(tally: Tally, start_ns: int, now_ns: int) -> ExportMetricsServiceRequest:
    """The tally as one export request; counters and histograms are cumulative from `start_ns` (Unix time)."""
    request = ExportMetricsServiceRequest()
    resource = request.resource_metrics.add()
    resource.resource.attributes.extend(_attributes({"service.name": "loadstone", "service.version": __version__}))
    scope = resource.scope_metrics.add()
    scope.scope.name = "loadstone"
    for name, part in tally.parts():
        scope.metrics.extend(_metrics(name, part, start_ns, now_ns))
    return request


def _metrics(name: str, part: PartTally, start_ns: int, now_ns: int) -> Iterator[Metric]:
    def counter(metric: str, about: str, unit: str, points: Points) -> Metric:
        entry = Metric(name=metric, description=about, unit=unit)
        entry.sum.is_monotonic = True
        entry.sum.aggregation_temporality = CUMULATIVE
        for labels, value in points.items():
            attributes = _attributes({"workload": name, **dict(labels)})
            point = NumberDataPoint(start_time_unix_nano=start_ns, time_unix_nano=now_ns, as_int=value)
            point.attributes.extend(attributes)
            entry.sum.data_points.append(point)
        return entry

    def gauge(metric: str, about: str, unit: str, value: int) -> Metric:
        entry = Metric(name=metric, description=about, unit=unit)
        point = NumberDataPoint(time_unix_nano=now_ns, as_int=value)
        point.attributes.extend(_attributes({"workload": name}))
        entry.gauge.data_points.append(point)
        return entry

    graded: Points = {(("operation", one), ("grade", grade)): count for (one, grade), count in part.counts.items()}
    failed: Points = {(("operation", one), ("kind", kind)): count for (one, kind), count in part.errors.items()}
    received: Points = {(("operation", one),): count for one, count in part.bytes.items()}
    yield counter("loadstone.operations", "Operations performed", "{operation}", graded)
    yield counter("loadstone.errors", "Operations in error", "{operation}", failed)
    yield counter("loadstone.received", "Bytes received", "By", received)
    yield gauge("loadstone.sessions.active", "Sessions under way", "{session}", part.active)
    yield gauge("loadstone.connections.open", "Open connections", "{connection}", part.connections)
    for kind, about in (
        ("response", "From the intended start to the last byte"),
        ("service", "From the send to the last byte"),
        ("lag", "How late the driver acted against its own schedule"),
    ):
        yield _histogram(f"loadstone.{kind}.time", about, name, getattr(part, kind), start_ns, now_ns)


def _histogram(metric: str, about: str, workload: str, buckets: Buckets, start_ns: int, now_ns: int) -> Metric:
    histogram = Metric(name=metric, description=about, unit="s")
    histogram.histogram.aggregation_temporality = CUMULATIVE
    point = HistogramDataPoint(
        start_time_unix_nano=start_ns,
        time_unix_nano=now_ns,
        count=buckets.total,
        sum=buckets.sum_s,
        bucket_counts=buckets.counts,
        explicit_bounds=BOUNDS_S,
    )
    point.attributes.extend(_attributes({"workload": workload}))
    histogram.histogram.data_points.append(point)
    return histogram


def _attributes(pairs: Mapping[str, str]) -> list[KeyValue]:
    return [KeyValue(key=key, value=AnyValue(string_value=value)) for key, value in pairs.items()]


@contextmanager
def push_otlp(url: str, tally: Tally) -> Iterator[None]:
    """Sends the tally to URL/v1/metrics every two seconds and once more at the end.

    Raises UsageError when the first message is not taken; a collector that is lost later does not end the run.
    """
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc:
        raise UsageError(f"`{url}` is no collector. Give its address, as http://127.0.0.1:4318.")
    start_ns, stop = time.time_ns(), threading.Event()

    def send() -> None:
        body = message(tally, start_ns, time.time_ns()).SerializeToString()
        headers = {"Content-Type": "application/x-protobuf"}
        request = urllib.request.Request(f"{url.rstrip('/')}/v1/metrics", data=body, headers=headers)
        with urllib.request.urlopen(request, timeout=TIMEOUT_S):
            pass

    def keep_sending() -> None:
        while not stop.wait(EVERY_S):
            _try(send)

    try:
        send()
    except OSError as error:
        raise UsageError(f"The collector at {url} does not take metrics: {error}.") from None
    sending = threading.Thread(target=keep_sending, name="otlp", daemon=True)
    sending.start()
    try:
        yield
    finally:
        stop.set()
        sending.join()
        _try(send)


def _try(send: Callable[[], None]) -> None:
    with suppress(OSError):  # urllib's errors are OSErrors
        send()
