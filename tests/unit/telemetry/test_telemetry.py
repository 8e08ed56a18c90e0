"""Live figures for other tools: what is told adds up."""

import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import BaseRequestHandler, ThreadingTCPServer

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from loadstone.host.http import find_free_port
from loadstone.host.secrets import PAGE_TOKEN
from loadstone.model.errors import UsageError
from loadstone.model.records.events import EVENT_SCHEMA, CpuShare, OperationCounts, PartNames, PhaseChange, Start
from loadstone.telemetry.otlp import push_otlp
from loadstone.telemetry.prometheus import serve_prometheus
from loadstone.telemetry.tally import BOUNDS_S, Tally
from tests.records import encoded, interval


def heard() -> Tally:
    tally = Tally()
    parts = (PartNames("shop", ("home", "cart")),)
    tally.on_event(Start("start", EVENT_SCHEMA, "0", 1, 1, parts, 0, 0.0, 0))
    tally.on_event(PhaseChange("phase", "steady", 0))
    operations = (OperationCounts(3, 2, 1, 0, 500, {}), OperationCounts(1, 0, 0, 1, 7, {"title": 1}))
    for second in (1, 2):
        tally.on_event(
            interval(
                second,
                part="shop",
                operations=operations,
                response=encoded(900, 3_000, 70_000_000),
                service=encoded(900),
                sessions_active=9,
                connections_open=17,
                cpu=CpuShare((0.25,)),
            )
        )
    return tally


def test_the_prometheus_endpoint_tells_counters_and_cumulative_buckets() -> None:
    address = f"127.0.0.1:{find_free_port()}"
    with serve_prometheus(address, heard()):
        text = urllib.request.urlopen(f"http://{address}/metrics", timeout=60).read().decode()
    for line in (
        'loadstone_operations_total{grade="good",operation="home",workload="shop"} 4.0',
        'loadstone_errors_total{kind="title",operation="cart",workload="shop"} 2.0',
        'loadstone_received_bytes_total{operation="home",workload="shop"} 1000.0',
        'loadstone_response_seconds_bucket{le="0.001",workload="shop"} 2.0',
        'loadstone_response_seconds_bucket{le="0.005",workload="shop"} 4.0',
        'loadstone_response_seconds_bucket{le="60",workload="shop"} 4.0',
        'loadstone_response_seconds_bucket{le="+Inf",workload="shop"} 6.0',
        'loadstone_sessions_active{workload="shop"} 9.0',
        'loadstone_driver_core_share{thread="0"} 0.25',
        'loadstone_phase{phase="steady"} 1.0',
    ):
        assert line in text
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(f"http://{address}/metrics", timeout=60)


@pytest.mark.parametrize("address", ["9464", "localhost:", "localhost:99999", "localhost:x"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="HOST:PORT"), serve_prometheus(address, Tally()):
        pass


@pytest.mark.parametrize(("address", "why"), [("0.0.0.0:0", "requires a token"), ("[::]:0", "requires a token")])
def test_figures_beyond_loopback_need_a_token(address: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PAGE_TOKEN, raising=False)
    with pytest.raises(UsageError, match=why), serve_prometheus(address, Tally()):
        pass
    monkeypatch.setenv(PAGE_TOKEN, "short")
    with pytest.raises(UsageError, match="16 or more letters"), serve_prometheus(address, Tally()):
        pass


def test_figures_with_a_token_are_shown_to_those_who_bring_it(monkeypatch: pytest.MonkeyPatch) -> None:
    token = "0123456789abcdef"
    monkeypatch.setenv(PAGE_TOKEN, token)
    address = f"127.0.0.1:{find_free_port()}"
    with serve_prometheus(address, heard()):
        for brought in ({}, {"Authorization": "Bearer 0123456789abcdeg"}, {"Authorization": token}):
            with pytest.raises(urllib.error.HTTPError, match="401"):
                urllib.request.urlopen(urllib.request.Request(f"http://{address}/metrics", headers=brought), timeout=50)
        request = urllib.request.Request(f"http://{address}/metrics", headers={"Authorization": f"Bearer {token}"})
        assert b"loadstone_operations_total" in urllib.request.urlopen(request, timeout=50).read()


def test_a_collector_is_told_at_once_and_at_the_end() -> None:
    taken: list[ExportMetricsServiceRequest] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = ExportMetricsServiceRequest()
            request.ParseFromString(self.rfile.read(int(self.headers["Content-Length"])))
            taken.append(request)
            self.send_response(200 if self.path == "/v1/metrics" else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        tally = Tally()
        with push_otlp(f"http://127.0.0.1:{server.server_port}", tally):
            assert len(taken) == 1
            source = heard()
            tally._parts = source._parts
        server.shutdown()
    metrics = {metric.name: metric for metric in taken[-1].resource_metrics[0].scope_metrics[0].metrics}
    points = {
        tuple(one.value.string_value for one in point.attributes): point.as_int
        for point in metrics["loadstone.operations"].sum.data_points
    }
    assert points["shop", "home", "good"] == 4
    times = metrics["loadstone.response.time"].histogram.data_points[0]
    assert (times.count, list(times.explicit_bounds), times.bucket_counts[-1]) == (6, list(BOUNDS_S), 2)
    assert times.sum == pytest.approx(2 * (0.0009 + 0.003 + 70))


@pytest.mark.parametrize(
    "url", ["127.0.0.1:4318", "ftp://x", "http://", "http://[::1", "http://a:99999", "http://u:p@a"]
)
def test_what_is_no_collector_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="not a valid collector"), push_otlp(url, Tally()):
        pass


def test_a_collector_that_is_not_there_is_said_before_the_run() -> None:
    with pytest.raises(UsageError, match="does not accept"), push_otlp(f"http://127.0.0.1:{find_free_port()}", Tally()):
        pass


GARBAGE = (b"garbage\r\n\r\n", b"", b"HTTP/1.1 500 Broken\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000)


class LaterWrong(BaseRequestHandler):
    """Takes the first message; answers the others with garbage, or a byte at a time."""

    asked = 0
    later: bytes = b""
    pause_s = 0.0

    def handle(self) -> None:
        self.request.recv(1 << 16)
        kind = type(self)
        kind.asked += 1
        if kind.asked == 1:
            self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            return
        with suppress(OSError):
            if not kind.pause_s:
                self.request.sendall(kind.later)
            for byte in b"HTTP/1.1 200 OK" * 100 if kind.pause_s else b"":
                self.request.sendall(bytes([byte]))
                time.sleep(kind.pause_s)


@pytest.mark.parametrize(("later", "pause_s"), [*((one, 0.0) for one in GARBAGE), (b"", 0.02)])
def test_a_collector_that_goes_wrong_later_ends_no_run(
    later: bytes, pause_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loadstone.telemetry.otlp.EVERY_S", 0.05)
    kind = type("Playing", (LaterWrong,), {"later": later, "pause_s": pause_s})
    with ThreadingTCPServer(("127.0.0.1", 0), kind) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        begun = time.monotonic()
        with push_otlp(f"http://127.0.0.1:{server.server_address[1]}", heard()):
            monkeypatch.setattr("loadstone.telemetry.otlp.COLLECTOR_TIMEOUT_S", 0.5)
            while kind.asked < 2:
                time.sleep(0.01)
        assert time.monotonic() - begun < 10
        server.shutdown()


def test_a_collector_that_answers_nothing_useful_at_first_is_refused() -> None:
    kind = type("Playing", (LaterWrong,), {"asked": 1, "later": b"garbage\r\n\r\n"})
    with ThreadingTCPServer(("127.0.0.1", 0), kind) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        with pytest.raises(UsageError, match="does not accept metrics"), push_otlp(address, Tally()):
            pass
        server.shutdown()
