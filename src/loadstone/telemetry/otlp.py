"""The live figures pushed to an OpenTelemetry collector: OTLP over HTTP, with the published message types."""

import asyncio
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
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
from loadstone.host.http import ask
from loadstone.model.errors import UsageError
from loadstone.model.target import Endpoint, encode_path
from loadstone.telemetry.tally import BOUNDS_S, Buckets, PartTally, Tally

EVERY_S = 2.0
COLLECTOR_TIMEOUT_S = 5.0
"""Longest time for one message and its answer, all together."""
MetricPoints = Mapping[tuple[tuple[str, str], ...], int]
"""Labels and a figure."""
CUMULATIVE = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE


def build_message(tally: Tally, start_ns: int, now_ns: int) -> ExportMetricsServiceRequest:
    """The tally as one export request; counters and histograms are cumulative from `start_ns` (Unix time)."""
    request = ExportMetricsServiceRequest()
    resource = request.resource_metrics.add()
    resource.resource.attributes.extend(_attributes({"service.name": "loadstone", "service.version": __version__}))
    scope = resource.scope_metrics.add()
    scope.scope.name = "loadstone"
    for name, part in tally.hold_parts():
        scope.metrics.extend(_metrics(name, part, start_ns, now_ns))
    return request


def _metrics(name: str, part: PartTally, start_ns: int, now_ns: int) -> Iterator[Metric]:
    def counter(metric: str, about: str, unit: str, points: MetricPoints) -> Metric:
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

    graded: MetricPoints = {
        (("operation", operation), ("grade", grade)): count for (operation, grade), count in part.counts.items()
    }
    failed: MetricPoints = {
        (("operation", operation), ("kind", kind)): count for (operation, kind), count in part.errors.items()
    }
    received: MetricPoints = {(("operation", operation),): count for operation, count in part.bytes.items()}
    yield counter("loadstone.operations", "Operations performed", "{operation}", graded)
    yield counter("loadstone.errors", "Operations in error", "{operation}", failed)
    yield counter("loadstone.received", "Bytes received", "By", received)
    yield gauge("loadstone.sessions.active", "Sessions in progress", "{session}", part.active)
    yield gauge("loadstone.connections.open", "Open connections", "{connection}", part.connections)
    for kind, about in (
        ("response", "From the intended start to the last byte"),
        ("service", "From the send to the last byte"),
        ("lag", "Delay of the driver against its own schedule"),
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

    Raises UsageError when the first message is not taken; a collector that is lost later, or answers something else,
    does not end the run, and keeps it for TIMEOUT_S at most.
    """
    collector = _collector(url)
    start_ns = time.time_ns()

    async def send() -> None:
        await collector.take(build_message(tally, start_ns, time.time_ns()).SerializeToString())

    try:
        asyncio.run(send())
    except (OSError, ValueError) as error:
        raise UsageError(f"The collector at {url} does not accept metrics: {error}.") from None
    with _repeatedly(send):
        yield
    with suppress(OSError, ValueError, KeyboardInterrupt):  # an interrupt leaves out the last message, not the verdict
        asyncio.run(send())


@contextmanager
def _repeatedly(send: Callable[[], Awaitable[None]]) -> Iterator[None]:
    """Sends every two seconds, on a thread of its own; what is under way when the block ends is given up."""
    loop = asyncio.new_event_loop()

    async def keep_sending() -> None:
        while True:
            await asyncio.sleep(EVERY_S)
            with suppress(OSError, ValueError):
                await send()

    def run() -> None:
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(task)
        loop.close()

    task = loop.create_task(keep_sending())
    thread = threading.Thread(target=run, name="otlp", daemon=True)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join()


@dataclass(frozen=True)
class _Collector:
    endpoint: Endpoint
    path: str
    trusting: ssl.SSLContext | None

    async def take(self, body: bytes) -> None:
        """Sends a message. Raises OSError, and ValueError for an answer that does not say that it was taken."""
        headers = {"content-type": "application/x-protobuf"}
        answer = await ask("POST", self.endpoint, self.path, COLLECTOR_TIMEOUT_S, headers, body, self.trusting)
        if not 200 <= answer.status < 300:
            raise ValueError(f"it answers {answer.status} {answer.reason}")


def _collector(url: str) -> _Collector:
    """The collector at an address. Raises UsageError for what is none."""
    remedy = "Use its address, such as http://127.0.0.1:4318"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"`{url}` is not a valid collector address: {error}. {remedy}.") from None
    if parts.scheme not in ("http", "https") or not host or parts.username is not None:
        raise UsageError(f"`{url}` is not a valid collector address. {remedy}.")
    is_secure = parts.scheme == "https"
    trusting = ssl.create_default_context() if is_secure else None
    endpoint = Endpoint(f"[{host}]" if ":" in host else host, port or (443 if is_secure else 80))
    return _Collector(endpoint, f"{encode_path(parts.path.rstrip('/'))}/v1/metrics", trusting)
