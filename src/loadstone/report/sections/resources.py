"""Of an iteration: what the host, the server and the driver used, over time."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from loadstone.judge.usage import CPU_GROUPS
from loadstone.model.records.result import Iteration
from loadstone.model.records.sample import Sample, TreeUse
from loadstone.model.records.workload_id import TileLoadKind
from loadstone.page.blocks import Block, Figure, Gallery, Heading
from loadstone.page.numbers import MBIT_PER_BYTE
from loadstone.page.plot import TimePlot
from loadstone.report.section import IterationContext, Section

Drawn = list[dict[str, Any]]
BUSY = ("user", "system", "wait", "steal")
"""Groups of CPU time that are drawn."""


def blocks(context: IterationContext) -> Iterator[Block]:
    """Pictures, where monitors were at work; all workloads of a tile have the same ones, so that one shows them."""
    kind = context.workload.id.kind
    if not context.report.pictures_each or kind not in (None, TileLoadKind.WEB) or len(context.iteration.monitor) < 2:
        return
    yield Heading("Resources")
    yield Gallery(_figures(context.iteration))


def _figures(iteration: Iteration) -> list[Figure]:
    samples = iteration.monitor
    cores, memory = _trees(samples, lambda tree: tree.cores), _trees(samples, lambda tree: tree.rss_bytes / 1e6)
    host = TimePlot("cores", _host_cpu(samples), is_stacked=True)
    pictures = [
        Figure("Host CPU", "All cores of the machine together.", host),
        Figure("CPU by role", "User and system time of each process tree.", TimePlot("cores", cores)),
        Figure("Memory by role", "Resident memory of each process tree.", TimePlot("MB", memory)),
        Figure("Network", "All interfaces, loopback included.", TimePlot("Mbit/s", _network(samples))),
    ]
    pictures += [*_hosts(samples), *_status(samples)]
    disk, lag = _disk(samples), _lag(iteration)
    if disk:
        pictures.append(Figure("Disk latency", "Mean time of an operation.", TimePlot("ms", disk)))
    if lag:
        caption = "How late the driver acted against its own schedule, by second."
        pictures.append(Figure("Driver lag", caption, TimePlot("ms", lag)))
    return pictures


def _hosts(samples: Sequence[Sample]) -> Iterator[Figure]:
    """Hosts that others run, as their agents tell."""
    seen = [
        (second, name, views.inside)
        for second, sample in _over_time(samples)
        for name, views in sample.machines.items()
        if views.inside is not None and views.inside.running is not None
    ]
    for name in dict.fromkeys(name for _, name, _ in seen):
        own = [(second, view) for second, of, view in seen if of == name]
        cpu = [
            {
                "second": second,
                "value": sum(view.cpu_cores.get(mode) or 0.0 for mode in CPU_GROUPS[group]),
                "series": group,
            }
            for second, view in own
            for group in BUSY
        ]
        yield Figure(f"CPU of {name}", "As its agent tells.", TimePlot("cores", cpu, is_stacked=True))
        waiting = [
            {"second": second, "value": 100 * share, "series": kind}
            for second, view in own
            for kind, share in view.pressure.items()
            if share is not None
        ]
        if waiting:
            caption = "Share of the time in which some task waited for it."
            yield Figure(f"Pressure of {name}", caption, TimePlot("%", waiting))


def _status(samples: Sequence[Sample]) -> Iterator[Figure]:
    """What services said of themselves; rates, which are of another order, by themselves."""
    for name in dict.fromkeys(name for sample in samples for name in sample.status):
        told = [
            {"second": second, "value": value, "series": series}
            for second, sample in _over_time(samples)
            for series, value in sample.status.get(name, {}).items()
        ]
        counts = [one for one in told if not str(one["series"]).endswith("/s")]
        if counts:
            yield Figure(f"Status of {name}", "As the server itself says.", TimePlot("", counts))


def _over_time(samples: Sequence[Sample]) -> Iterator[tuple[float, Sample]]:
    start_s = samples[0].unix_s - samples[0].seconds
    return ((sample.unix_s - start_s, sample) for sample in samples)


def _host_cpu(samples: Sequence[Sample]) -> Drawn:
    return [
        {
            "second": second,
            "value": sum(max(0.0, sample.cpu_cores.get(mode) or 0.0) for mode in CPU_GROUPS[group]),
            "series": group,
        }
        for second, sample in _over_time(samples)
        for group in BUSY
    ]


def _trees(samples: Sequence[Sample], value_of: Callable[[TreeUse], float]) -> Drawn:
    return [
        {"second": second, "value": value_of(tree), "series": role}
        for second, sample in _over_time(samples)
        for role, tree in sample.trees.items()
        if tree is not None
    ]


def _network(samples: Sequence[Sample]) -> Drawn:
    directions = (("sent", "bytes_sent_per_s"), ("received", "bytes_recv_per_s"))
    return [
        {"second": second, "value": rate * MBIT_PER_BYTE, "series": name}
        for second, sample in _over_time(samples)
        for name, key in directions
        if (rate := sample.network.get(key)) is not None
    ]


def _disk(samples: Sequence[Sample]) -> Drawn:
    return [
        {"second": second, "value": latency, "series": "disk"}
        for second, sample in _over_time(samples)
        if (latency := sample.disk.get("latency_ms")) is not None
    ]


def _lag(iteration: Iteration) -> Drawn:
    return [
        {"second": interval.middle_s, "value": value_ns / 1e6, "series": name}
        for interval in iteration.intervals
        if interval.lag.count
        for name, value_ns in (("p50", interval.lag.p50_ns), ("p99", interval.lag.p99_ns))
    ]


SECTION = Section(rank=70, of_iteration=blocks)
