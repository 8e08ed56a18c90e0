"""Which charts a run gets, and from what records."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.report import charts
from loadstone.report.tables import OperationRow
from loadstone.store.read import Iteration

Json = dict[str, Any]


@dataclass(frozen=True)
class Picture:
    """A chart with its caption."""

    title: str
    caption: str
    svg: str


def load_pictures(iteration: Iteration, rows: Sequence[OperationRow]) -> list[Picture]:
    """Throughput, response times and errors over time, and the distribution."""
    if not iteration.intervals:
        return []
    bands = charts.phase_bands(iteration.intervals)
    shaded = "Shaded: outside the steady state."
    figures = iteration.figures
    pictures = [
        Picture("Throughput", shaded, charts.lines(_throughput(iteration), "operations per second", bands)),
        Picture(
            "Response time",
            f"Each second's median and 99th percentile, from the intended start. {shaded}",
            charts.lines(_percentiles(iteration), "seconds", bands),
        ),
    ]
    if figures.response.count:
        both = [("response time (intended start)", figures.response), ("service time (actual send)", figures.service)]
        caption = "Where the two part, operations waited before they could be sent."
        pictures.append(Picture("Distribution", caption, charts.curves(both)))
    if rows and rows[-1].line_s is not None:
        caption = "Mean page time: what the user's line needs, and what is left for server and network."
        pictures.append(Picture("Line and server", caption, charts.bars(_parts(rows), "seconds")))
    if any(sum(counts["errors"].values()) for one in iteration.intervals for counts in one["operations"]):
        pictures.append(Picture("Errors", shaded, charts.lines(_errors(iteration), "errors per second", bands)))
    return pictures


def resource_pictures(iteration: Iteration) -> list[Picture]:
    """What the host, the server and the driver used."""
    samples = iteration.monitor
    if len(samples) < 2:
        return []
    pictures = [
        Picture("Host CPU", "All cores of the machine together.", charts.areas(_host_cpu(samples), "cores")),
        Picture("CPU by role", "User and system time of each process tree.", charts.lines(_trees(samples), "cores")),
        Picture("Memory by role", "Resident memory of each process tree.", charts.lines(_memory(samples), "MB")),
        Picture("Network", "All interfaces, loopback included.", charts.lines(_network(samples), "Mbit/s")),
    ]
    disk = list(_disk(samples))
    if disk:
        pictures.append(Picture("Disk latency", "Mean time of an operation.", charts.lines(disk, "ms")))
    lag = list(_lag(iteration))
    if lag:
        caption = "How late the driver acted against its own schedule, by second."
        pictures.append(Picture("Driver lag", caption, charts.lines(lag, "ms")))
    return pictures


def _second(event: Json) -> float:
    return float((event["at_ns"] - event["length_ns"] / 2) / 1e9)


def _throughput(iteration: Iteration) -> Iterator[Json]:
    for one in iteration.intervals:
        seconds = one["length_ns"] / 1e9
        if seconds > 0.2:
            requests = sum(counts["requests"] for counts in one["operations"])
            yield {"second": _second(one), "value": requests / seconds, "series": "operations"}


def _percentiles(iteration: Iteration) -> Iterator[Json]:
    for one in iteration.intervals:
        if one["response"]["count"]:
            for name, key in (("p50", "p50_ns"), ("p99", "p99_ns")):
                yield {"second": _second(one), "value": one["response"][key] / 1e9, "series": name}


def _errors(iteration: Iteration) -> Iterator[Json]:
    for one in iteration.intervals:
        count = sum(sum(counts["errors"].values()) for counts in one["operations"])
        yield {"second": _second(one), "value": count / max(one["length_ns"] / 1e9, 1e-3), "series": "errors"}


def _parts(rows: Sequence[OperationRow]) -> Iterator[Json]:
    for row in rows:
        if row.line_s is not None and row.server_delay_s is not None:
            yield {"name": row.name, "value": row.line_s, "series": "line", "rank": 0}
            delay = max(0.0, row.server_delay_s)
            yield {"name": row.name, "value": delay, "series": "server and network", "rank": 1}


def _over_time(samples: Sequence[Json]) -> Iterator[tuple[float, Json]]:
    start = samples[0]["unix_s"] - samples[0]["seconds"]
    for sample in samples:
        yield sample["unix_s"] - start, sample


def _host_cpu(samples: Sequence[Json]) -> Iterator[Json]:
    modes = {"user": ("user", "nice"), "system": ("system", "irq", "softirq"), "wait": ("iowait",), "steal": ("steal",)}
    for second, sample in _over_time(samples):
        for name, parts in modes.items():
            value = sum(max(0.0, sample["cpu_cores"].get(part, 0.0)) for part in parts)
            yield {"second": second, "value": value, "series": name}


def _trees(samples: Sequence[Json]) -> Iterator[Json]:
    for second, sample in _over_time(samples):
        for role, tree in sample["trees"].items():
            if tree:
                yield {"second": second, "value": tree["user_cores"] + tree["system_cores"], "series": role}


def _memory(samples: Sequence[Json]) -> Iterator[Json]:
    for second, sample in _over_time(samples):
        for role, tree in sample["trees"].items():
            if tree:
                yield {"second": second, "value": tree["rss_bytes"] / 1e6, "series": role}


def _network(samples: Sequence[Json]) -> Iterator[Json]:
    for second, sample in _over_time(samples):
        for name, key in (("sent", "bytes_sent_per_s"), ("received", "bytes_recv_per_s")):
            if key in sample["network"]:
                yield {"second": second, "value": sample["network"][key] * 8 / 1e6, "series": name}


def _disk(samples: Sequence[Json]) -> Iterator[Json]:
    for second, sample in _over_time(samples):
        if sample["disk"].get("latency_ms") is not None:
            yield {"second": second, "value": sample["disk"]["latency_ms"], "series": "disk"}


def _lag(iteration: Iteration) -> Iterator[Json]:
    for one in iteration.intervals:
        if one["lag"]["count"]:
            for name, key in (("p50", "p50_ns"), ("p99", "p99_ns")):
                yield {"second": _second(one), "value": one["lag"][key] / 1e6, "series": name}
