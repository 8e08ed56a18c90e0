"""Of an iteration: what the host, the server and the driver used, over time."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from loadstone.judge.usage import CPU_GROUPS
from loadstone.model.numbers import MBIT_PER_BYTE
from loadstone.model.records.result import Iteration
from loadstone.model.records.sample import InsideView, Rates, Sample, TreeUse
from loadstone.model.records.workload_id import TileLoadKind
from loadstone.page.blocks import Block, Figure, Fold, Gallery, Heading
from loadstone.page.plot import TimePlot
from loadstone.report.section import IterationContext, ReportSection

SeriesRows = list[dict[str, Any]]
HostViews = list[tuple[float, InsideView]]
"""What a host said of itself, by second."""
MOST_UNFOLDED = 2
"""Hosts whose pictures are all shown at once; of more there is one picture, and the rest folded."""
BUSY = ("user", "system", "wait", "steal")
"""Groups of CPU time that are drawn."""
MOST_GROUPS_SHOWN = 6
"""Process groups of a host that are drawn."""
LEAST_CORES_DRAWN = 0.005
"""Use of a second from which a group counts as having done something."""


def render_blocks(context: IterationContext) -> Iterator[Block]:
    """Pictures, where monitors were at work; all workloads of a tile have the same ones, so that one shows them."""
    kind = context.workload.id.kind
    if (
        not context.report.pictures_each
        or kind not in (None, TileLoadKind.WEB)
        or len(context.iteration.records.monitor) < 2
    ):
        return
    yield Heading("Resources")
    hosts = _hosts(context.iteration.records.monitor)
    is_folded = len(hosts) > MOST_UNFOLDED
    host_figures = (
        [_busy_hosts(hosts)]
        if is_folded
        else [figure for name, views in hosts.items() for figure in _of_host(name, views)]
    )
    yield Gallery(_figures(context.iteration, host_figures))
    for name, views in hosts.items() if is_folded else ():
        yield Fold(f"Host {name}", [Gallery(list(_of_host(name, views)))])


def _figures(iteration: Iteration, host_figures: list[Figure]) -> list[Figure]:
    samples = iteration.records.monitor
    cores, memory = _trees(samples, lambda tree: tree.cores), _trees(samples, lambda tree: tree.rss_bytes / 1e6)
    host = TimePlot("cores", _host_cpu(samples), is_stacked=True)
    pictures = [
        Figure("Host CPU", "All cores of the machine together.", host),
        Figure("CPU by role", "User and system time of each process tree.", TimePlot("cores", cores)),
        Figure("Memory by role", "Resident memory of each process tree.", TimePlot("MB", memory)),
        Figure("Network", "All interfaces, loopback included.", TimePlot("Mbit/s", _network(samples))),
    ]
    pictures += [*host_figures, *_status(samples)]
    disk, lag = _disk(samples), _lag(iteration)
    if disk:
        pictures.append(Figure("Disk latency", "Mean time of an operation.", TimePlot("ms", disk)))
    if lag:
        caption = "Delay of the driver against its own schedule, by second."
        pictures.append(Figure("Driver lag", caption, TimePlot("ms", lag)))
    return pictures


def _hosts(samples: Sequence[Sample]) -> dict[str, HostViews]:
    """Hosts beside this one, as their agents tell."""
    hosts: dict[str, HostViews] = {}
    for second, sample in _over_time(samples):
        for name, views in sample.machines.items():
            if views.inside is not None and views.inside.running is not None:
                hosts.setdefault(name, []).append((second, views.inside))
    return hosts


def _cores(view: InsideView, group: str) -> float:
    return sum(view.cpu_cores.get(mode) or 0.0 for mode in CPU_GROUPS[group])


def _busy_hosts(hosts: Mapping[str, HostViews]) -> Figure:
    """All hosts in one picture: which of them is busy."""
    drawn = [
        {"second": second, "value": sum(_cores(view, group) for group in BUSY), "series": name}
        for name, views in hosts.items()
        for second, view in views
    ]
    return Figure("CPU of all hosts", "Reported by their agents; details follow.", TimePlot("cores", drawn))


def _of_host(name: str, views: HostViews) -> Iterator[Figure]:
    cpu = [
        {"second": second, "value": _cores(view, group), "series": group} for second, view in views for group in BUSY
    ]
    yield Figure(f"CPU of {name}", "Reported by its agent.", TimePlot("cores", cpu, is_stacked=True))
    yield from _rest_of_host(name, views)


def _rest_of_host(name: str, views: HostViews) -> Iterator[Figure]:
    """Beside its processors; nothing of what its kernel does not count."""
    percent = [
        (second, {kind: share and 100 * share for kind, share in view.pressure.items()}) for second, view in views
    ]
    memory = [
        (second, {kind: held and held / 1e6 for kind, held in view.memory_bytes.items()}) for second, view in views
    ]
    sent = (("sent", "bytes_sent_per_s"), ("received", "bytes_recv_per_s"))
    moved = (("read", "read_bytes_per_s"), ("written", "write_bytes_per_s"))
    most = Counter(group.name for _, view in views for group in view.groups if group.cores >= LEAST_CORES_DRAWN)
    names = [group for group, _ in most.most_common(MOST_GROUPS_SHOWN)]
    groups = [
        (second, {group.name: group.cores for group in view.groups if group.name in names}) for second, view in views
    ]
    plots: dict[str, tuple[str, str, Iterable[tuple[float, Mapping[str, float | None]]]]] = {
        f"CPU by process group of {name}": ("Process groups with the highest use.", "cores", groups),
        f"Run queue of {name}": (
            "Tasks running or waiting for a processor.",
            "tasks",
            [(second, {"running": view.running}) for second, view in views],
        ),
        f"Pressure of {name}": ("Share of time in which a task waited for the resource.", "%", percent),
        f"Memory of {name}": ("Counted by its kernel.", "MB", memory),
        f"Network of {name}": (
            "All interfaces but loopback.",
            "Mbit/s",
            [(second, _some(view.network, sent, MBIT_PER_BYTE)) for second, view in views],
        ),
        f"Disks of {name}": (
            "All disks together.",
            "MB/s",
            [(second, _some(view.disk, moved, 1e-6)) for second, view in views],
        ),
    }
    for title, (caption, unit, figures) in plots.items():
        drawn = _series(figures)
        if drawn:
            yield Figure(title, caption, TimePlot(unit, drawn))


def _some(rates: Rates, names: Sequence[tuple[str, str]], factor: float) -> dict[str, float | None]:
    return {title: rate * factor for title, key in names if (rate := rates.get(key)) is not None}


def _status(samples: Sequence[Sample]) -> Iterator[Figure]:
    """What services said of themselves; rates, which are of another order, by themselves."""
    for name in dict.fromkeys(name for sample in samples for name in sample.status):
        statuses = [(second, sample.status[name]) for second, sample in _over_time(samples) if name in sample.status]
        counts = _series((second, status.now) for second, status in statuses)
        rates = _series((second, status.per_s) for second, status in statuses)
        if counts:
            yield Figure(f"Status of {name}", "Reported by the server.", TimePlot("", counts))
        if rates:
            named = {str(rate["series"]) for rate in rates}
            unit = "per second" if len(named) > 1 else f"{named.pop()} per second"  # one alone has no legend
            yield Figure(f"Rates of {name}", "Counted by the server.", TimePlot(unit, rates))


def _series(rows: Iterable[tuple[float, Mapping[str, float | None]]]) -> SeriesRows:
    return [
        {"second": second, "value": value, "series": series}
        for second, figures in rows
        for series, value in figures.items()
        if value is not None
    ]


def _over_time(samples: Sequence[Sample]) -> Iterator[tuple[float, Sample]]:
    start_s = samples[0].unix_s - samples[0].seconds
    return ((sample.unix_s - start_s, sample) for sample in samples)


def _host_cpu(samples: Sequence[Sample]) -> SeriesRows:
    return [
        {
            "second": second,
            "value": sum(max(0.0, sample.cpu_cores.get(mode) or 0.0) for mode in CPU_GROUPS[group]),
            "series": group,
        }
        for second, sample in _over_time(samples)
        for group in BUSY
    ]


def _trees(samples: Sequence[Sample], value_of: Callable[[TreeUse], float]) -> SeriesRows:
    return [
        {"second": second, "value": value_of(tree), "series": role}
        for second, sample in _over_time(samples)
        for role, tree in sample.trees.items()
        if tree is not None
    ]


def _network(samples: Sequence[Sample]) -> SeriesRows:
    directions = (("sent", "bytes_sent_per_s"), ("received", "bytes_recv_per_s"))
    return [
        {"second": second, "value": rate * MBIT_PER_BYTE, "series": name}
        for second, sample in _over_time(samples)
        for name, key in directions
        if (rate := sample.network.get(key)) is not None
    ]


def _disk(samples: Sequence[Sample]) -> SeriesRows:
    return [
        {"second": second, "value": latency, "series": "disk"}
        for second, sample in _over_time(samples)
        if (latency := sample.disk.get("latency_ms")) is not None
    ]


def _lag(iteration: Iteration) -> SeriesRows:
    return [
        {"second": interval.middle_s, "value": 1000 * value_s, "series": name}
        for interval in iteration.records.intervals
        if interval.lag.count
        for name, value_s in (("p50", interval.lag.p50_s), ("p99", interval.lag.p99_s))
    ]


SECTION = ReportSection(rank=70, of_iteration=render_blocks)
