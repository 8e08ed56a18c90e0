"""What the report says of a run of tiles: performance, quality, a block for each tile, a heat map, its machines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.judge.consolidation import MACHINES_PER_TILE
from loadstone.judge.usage import host_usage, tree_usage
from loadstone.model.figures import Distribution, OperationFigures
from loadstone.report import charts
from loadstone.report.pictures import Picture
from loadstone.store.read import Iteration, Result

Json = dict[str, Any]

BINS = 60
"""Columns of the heat map at most."""
KINDS = ("web", "dealers", "lines", "mail", "idle")
ROLES = ("web", "infra", "app", "db", "mail", "idle")
MIB = 1024 * 1024


@dataclass(frozen=True)
class DetailRow:
    """One kind of load of a tile, as disclosures print it, with more percentiles. Times in seconds."""

    name: str
    per_s: float
    total: int
    good: int
    tolerable: int
    fail: int
    errors: int
    mean_s: float | None
    p50_s: float | None
    p90_s: float | None
    p99_s: float | None
    p999_s: float | None
    max_s: float | None


@dataclass(frozen=True)
class RoleRow:
    """A role's machine: what it is, and what it used in the mean over the measured window."""

    name: str
    about: str
    address: str
    cores: float | None
    memory_mib: float | None


@dataclass(frozen=True)
class TileView:
    """One tile."""

    number: int
    pct_load: float
    rows: list[DetailRow]
    roles: list[RoleRow]


@dataclass(frozen=True)
class TilesView:
    """Everything the templates need of a run of tiles."""

    score: Json
    machines: int
    tiles: list[TileView]
    heat: list[Picture]
    host_cores: float | None


def tiles_view(result: Result, pictures: bool) -> TilesView | None:
    """What there is to say; None for a run that is not of tiles or not judged."""
    score = (result.verdict or {}).get("consolidation")
    if score is None:
        return None
    held = {one.terms.workload: one.iterations[0] for one in result.workloads if one.iterations}
    samples = next((one.steady_samples for one in held.values()), [])
    tiles = [_tile(result, held, one) for one in score["tiles"]]
    heat = [_heat(result, held)] if pictures and any(one.intervals for one in held.values()) else []
    cores = host_usage(samples)
    busy = sum(cores.get(f"{mode}_cores", 0.0) for mode in ("user", "system")) if cores else None
    return TilesView(score, MACHINES_PER_TILE * len(tiles), tiles, heat, busy)


def _tile(result: Result, held: dict[str, Iteration], score: Json) -> TileView:
    number = score["number"]
    rows: list[DetailRow] = []
    for kind in KINDS:
        iteration = held.get(f"tile{number}-{kind}")
        if iteration is not None and iteration.figures.operations:
            rows += _details(kind, iteration)
    return TileView(number, score["pct_load"], rows, list(_roles(result, held, number)))


SHOWN = {
    "web": ("download",),
    "dealers": ("purchase", "manage", "browse"),
    "lines": (),
    "mail": ("append", "fetch"),
    "idle": (),
}
"""Operations that have a row of their own, beside the row of all, as published disclosures have them."""


def _details(kind: str, iteration: Iteration) -> Iterator[DetailRow]:
    operations, seconds = iteration.figures.operations, iteration.figures.steady_s
    yield _detail(f"{kind}: all", operations, iteration.figures.response, seconds)
    for one in operations:
        if one.name in SHOWN[kind]:
            yield _detail(f"{kind}: {one.name}", [one], one.response, seconds)


def _detail(name: str, members: Sequence[OperationFigures], times: Distribution, seconds: float) -> DetailRow:
    total = sum(one.requests for one in members)
    return DetailRow(
        name=name,
        per_s=total / seconds if seconds else 0.0,
        total=total,
        good=sum(one.good for one in members),
        tolerable=sum(one.tolerable for one in members),
        fail=sum(one.fail for one in members) + sum(one.overdue for one in members),
        errors=sum(sum(one.errors.values()) for one in members),
        mean_s=times.mean_s,
        p50_s=times.at(50.0),
        p90_s=times.at(90.0),
        p99_s=times.at(99.0),
        p999_s=times.at(99.9),
        max_s=times.at(100.0),
    )


def _roles(result: Result, held: dict[str, Iteration], number: int) -> Iterator[RoleRow]:
    samples = next((one.steady_samples for name, one in held.items() if name.startswith(f"tile{number}-")), [])
    for role in ROLES:
        name = f"tile{number}-{role}"
        machine = result.manifest.get("machines", {}).get(name, {})
        used = tree_usage(samples, name)
        networks = ", ".join(f"{network} {address}" for network, address in machine.get("networks", {}).items())
        memory = used.get("resident_bytes")
        yield RoleRow(
            name=name,
            about=machine.get("about", "never up"),
            address=networks or "the host's own network",
            cores=used.get("cores"),
            memory_mib=None if memory is None else memory / MIB,
        )


def _heat(result: Result, held: dict[str, Iteration]) -> Picture:
    """Tile and workload over time: how near the slowest hundredth came to the limit."""
    rows: list[Json] = []
    limits = {one.terms.workload: one.terms.shortest_limit_s for one in result.workloads}
    start_ns = min(one.start.get("start_unix_ns", 0) for one in held.values() if one.start)
    spans = [(one, (one.start["start_unix_ns"] - start_ns) / 1e9) for one in held.values() if one.start]
    length_s = max((after + one.intervals[-1]["at_ns"] / 1e9 for one, after in spans if one.intervals), default=1.0)
    bin_s = max(1.0, length_s / BINS)
    for name, iteration in held.items():
        after_s = (iteration.start.get("start_unix_ns", start_ns) - start_ns) / 1e9
        worst: dict[int, float] = {}
        for one in iteration.intervals:
            if one["response"]["count"]:
                at = int((after_s + (one["at_ns"] - one["length_ns"] / 2) / 1e9) / bin_s)
                worst[at] = max(worst.get(at, 0.0), one["response"]["p99_ns"] / 1e9 / limits[name])
        rows += [{"from": at * bin_s, "to": (at + 1) * bin_s, "name": name, "value": v} for at, v in worst.items()]
    window = _window(held, start_ns)
    caption = (
        "Each cell: the 99th percentile of the response time as a share of the limit, the worst second of it; red "
        "is at or beyond the limit, empty where no operation ended. The lines enclose the measured window."
    )
    names = [name for name in held if limits.get(name)]
    return Picture("Heat map: tiles and workloads over time", caption, charts.heat(rows, names, window))


def _window(held: dict[str, Iteration], start_ns: int) -> tuple[float, float]:
    one = next(one for one in held.values() if one.start)
    phases = one.plan["phases"]
    begin_s = (one.start["start_unix_ns"] - start_ns + phases["ramp_up_ns"] + phases["warm_up_ns"]) / 1e9
    return begin_s, begin_s + phases["steady_ns"] / 1e9
