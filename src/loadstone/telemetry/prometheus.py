"""The live figures as a Prometheus endpoint."""

import hmac
import os
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, make_asgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.responses import PlainTextResponse
from uvicorn import Config, Server

from loadstone.host.bounds import BoundedProtocol
from loadstone.host.secrets import PAGE_TOKEN, check_token, is_loopback
from loadstone.model.errors import UsageError
from loadstone.model.target import LAST_PORT
from loadstone.telemetry.tally import BOUNDS_S, Buckets, Tally

AsgiApplication = Callable[[Any, Any, Any], Awaitable[None]]
"""A page, as the ASGI calls it."""


class Figures(Collector):
    """The tally as metrics, made anew for every scrape."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally

    def collect(self) -> Iterator[Metric]:
        """Yields the metrics of all workloads."""
        operations = CounterMetricFamily(
            "loadstone_operations", "Operations performed", labels=("workload", "operation", "grade")
        )
        errors = CounterMetricFamily(
            "loadstone_errors", "Operations in error", labels=("workload", "operation", "kind")
        )
        received = CounterMetricFamily("loadstone_received_bytes", "Bytes received", labels=("workload", "operation"))
        active = GaugeMetricFamily("loadstone_sessions_active", "Sessions in progress", labels=("workload",))
        connections = GaugeMetricFamily("loadstone_connections_open", "Open connections", labels=("workload",))
        cpu = GaugeMetricFamily(
            "loadstone_driver_core_share", "Share of a core that a driver thread used", labels=("thread",)
        )
        times = {
            "response": "From the intended start to the last byte",
            "service": "From the send to the last byte",
            "lag": "Delay of the driver against its own schedule",
        }
        histograms = {
            kind: HistogramMetricFamily(f"loadstone_{kind}_seconds", about, labels=("workload",))
            for kind, about in times.items()
        }
        for name, part in self.tally.hold_parts():
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
        phase = GaugeMetricFamily("loadstone_phase", "Current phase of the run", labels=("phase",))
        phase.add_metric((self.tally.phase,), 1)
        yield from (operations, errors, received, active, connections, *histograms.values(), cpu, phase)


def _add(family: HistogramMetricFamily, name: str, buckets: Buckets) -> None:
    bounds = [*(f"{bound:g}" for bound in BOUNDS_S), "+Inf"]
    family.add_metric((name,), list(zip(bounds, accumulate(buckets.counts), strict=True)), buckets.sum_s)


@contextmanager
def serve_prometheus(address: str, tally: Tally) -> Iterator[None]:
    """Serves the tally at HOST:PORT/metrics until the block ends: beyond loopback to those alone who bring the token of
    PAGE_TOKEN as `Authorization: Bearer`. Raises UsageError when that is not possible.
    """
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdigit() or int(port) > LAST_PORT:
        raise UsageError(f"`{address}` is not a valid listen address. Use HOST:PORT, such as 127.0.0.1:9464.")
    token = os.environ.get(PAGE_TOKEN)
    if token is None and not is_loopback(host):
        remedy = f"Set {PAGE_TOKEN}, or listen on 127.0.0.1:{port}"
        raise UsageError(f"An address other than loopback requires a token. {remedy}.")
    registry = CollectorRegistry()
    registry.register(Figures(tally))
    app = _guarded(make_asgi_app(registry), None if token is None else check_token(token))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, int(port)), family=family)
    except OSError as error:
        raise UsageError(f"Prometheus cannot be served at {address}: {error.strerror}. Use another port.") from None
    bounds: dict[str, Any] = {"http": BoundedProtocol, "timeout_graceful_shutdown": 1, "lifespan": "off"}
    server = Server(Config(app, log_level="warning", **bounds))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="prometheus", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def _guarded(app: AsgiApplication, token: str | None) -> AsgiApplication:
    """The same page for those alone who bring the token, if there is one."""
    if token is None:
        return app
    expected = f"Bearer {token}".encode()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        brought = dict(scope.get("headers", ())).get(b"authorization", b"")
        if hmac.compare_digest(brought, expected):
            return await app(scope, receive, send)
        return await PlainTextResponse("The token is missing or wrong.\n", 401, {"www-authenticate": "Bearer"})(
            scope, receive, send
        )

    return guarded
