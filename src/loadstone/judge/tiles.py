"""From a stored run of tiles to the figures its score is made of, and to the verdict on the whole."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from loadstone.judge.check import Check, Weight, at_least, at_most
from loadstone.judge.consolidation import Consolidation, Maxima, Tile, consolidation, scatter
from loadstone.judge.grouping import LEAST, figures_of, findings
from loadstone.judge.placement import parity
from loadstone.judge.usage import host_usage
from loadstone.judge.verdict import Verdict, reasons_of, verdict_on, worst
from loadstone.model.errors import UsageError
from loadstone.model.figures import OperationFigures
from loadstone.store.read import Iteration, Result, WorkloadResult

Json = dict[str, Any]

OURS = "our own, docs/consolidation.md"
WINDOW_S = 1.0
"""How far apart the measured windows of all workloads may begin and end."""
POLL = "-poll"
"""What the names of heartbeats in active idle end with: another phase than the load's."""
BUSY_PCT = 95.0
"""Use of the host from which the report says so."""
LEAST_FOR_PLACEMENT = 4
"""Tiles below which no test can find a difference between two groups."""
COUNTED_MAIL = ("append", "fetch")
"""Commands that the quality of the mail store counts (docs/consolidation.md, Quality of service)."""


@dataclass(frozen=True)
class HeldTile:
    """A tile of a stored run."""

    number: int
    pct_load: float
    tile: Tile
    groups: dict[str, str] = field(default_factory=dict)


def tiles_of(result: Result) -> list[HeldTile]:
    """The tiles of a run, with rates of nothing where nothing was measured; raises UsageError when it has none."""
    held = _by_name(result)
    return [
        HeldTile(one["number"], one["pct_load"], _figures(held, one["number"]), dict(one.get("groups", {})))
        for one in _declared(result)
    ]


def maxima_of(result: Result) -> Maxima:
    """The maxima of the profile that a run was made with; raises UsageError when it has none."""
    _declared(result)
    return Maxima.of(**result.manifest["tile"]["maxima"])


def whole_verdict(verdict: Json) -> Verdict:
    """What a kept verdict amounts to: its workloads, and of tiles the run as a whole."""
    common = verdict.get("consolidation")
    return worst([Verdict(one["verdict"]) for one in [*([common] if common else []), *verdict["workloads"]]])


def is_of_tiles(manifest: Json) -> bool:
    """Whether a result is a run of tiles."""
    return "tiles" in manifest


def _declared(result: Result) -> list[Json]:
    if not is_of_tiles(result.manifest):
        raise UsageError(f"{result.path} is no run of tiles. `loadstone tiles` makes one.")
    declared: list[Json] = result.manifest["tiles"]
    return declared


def _by_name(result: Result) -> dict[str, Iteration]:
    return {one.terms.workload: one.iterations[0] for one in result.workloads if one.iterations}


def _figures(held: Mapping[str, Iteration], number: int) -> Tile:
    figures = {kind: _of(held, number, kind) for kind in ("web", "dealers", "lines", "mail", "idle")}
    app = [*figures["dealers"][0], *figures["lines"][0]]
    rates = {
        "app": sum(_right(one) / seconds for kind in ("dealers", "lines") for one, seconds in _timed(figures[kind])),
        "web": sum(one.requests / seconds for one, seconds in _timed(figures["web"])),
        "mail": sum(_right(one) / seconds for one, seconds in _timed(figures["mail"])),
    }
    mail = [one for one in figures["mail"][0] if one.name in COUNTED_MAIL]
    shares = {
        "app": _share(app),
        "web": _share(figures["web"][0]),
        "mail": _share(mail),
        "idle": _share(figures["idle"][0]),
    }
    return Tile.of(rates, shares)


def _of(held: Mapping[str, Iteration], number: int, kind: str) -> tuple[list[OperationFigures], float]:
    iteration = held.get(f"tile{number}-{kind}")
    if iteration is None:
        return [], 0.0
    return list(iteration.figures.operations), iteration.figures.steady_s


def _timed(figures: tuple[list[OperationFigures], float]) -> Iterator[tuple[OperationFigures, float]]:
    operations, seconds = figures
    return ((one, seconds) for one in operations if seconds)


def _right(operation: OperationFigures) -> int:
    """Operations that did what they were asked to, however late."""
    return operation.requests - sum(operation.errors.values())


def _share(operations: list[OperationFigures]) -> float:
    """Share of good operations; overdue ones are not good. Without any there is no quality to speak of: 0."""
    counted = sum(one.requests + one.overdue for one in operations)
    return sum(one.good for one in operations) / counted if counted else 0.0


def consolidation_verdict(result: Result) -> Json:
    """Score, quality, common rules and placement of a run of tiles, as they are kept."""
    tiles, maxima = tiles_of(result), maxima_of(result)
    scored = consolidation([one.tile for one in tiles], maxima)
    checks = list(_checks(result))
    return {
        "verdict": verdict_on(checks),
        "checks": [asdict(check) for check in checks],
        "reasons": reasons_of(checks),
        "maxima": maxima.document(),
        "score": float(scored.score),
        "qos_pct": float(scored.qos_pct),
        "least_qos_pct": float(scored.least_qos_pct),
        "headline": scored.headline,
        "score_error": scatter([one.tile for one in tiles], maxima, result.manifest["profile"]["steady_s"]),
        "tiles": [_row(one, scored, at) for at, one in enumerate(tiles)],
        "placement": _placement(tiles, scored),
        "power": list(_power(result, float(scored.score))),
    }


CATEGORIES = {"system": "performance per watt, whole system", "server": "performance per watt, server only"}


def _power(result: Result, score: float) -> Iterator[Json]:
    """The three categories: the score alone, by the watts of the whole system, by those of the server."""
    meters = result.manifest.get("power") or []
    if meters:
        nothing = {"loaded_w": None, "idle_w": None, "score_per_w": None, "meter": "none"}
        yield {"category": "performance", **nothing}
    for meter in sorted(meters, key=lambda one: list(CATEGORIES).index(one["scope"])):
        watts = {name: meter[name] for name in ("loaded_w", "idle_w")}
        ratio = score / meter["loaded_w"] if meter["loaded_w"] else None
        yield {"category": CATEGORIES[meter["scope"]], **watts, "score_per_w": ratio, "meter": meter["about"]}


def _row(held: HeldTile, scored: Consolidation, at: int) -> Json:
    one = scored.tiles[at]
    figures = {name: float(value) for name, value in asdict(held.tile).items()}
    head = {"number": held.number, "pct_load": held.pct_load, "groups": held.groups}
    return {**head, **figures, "score": float(one.shown), "qos": float(one.shown_qos)}


def _placement(tiles: list[HeldTile], scored: Consolidation) -> list[Json]:
    """Every grouping of the run tested, where there are tiles enough of the same load."""
    full = [at for at, one in enumerate(tiles) if one.pct_load == 100]
    if len(full) < LEAST_FOR_PLACEMENT:
        return []
    values = {name: [held[at] for at in full] for name, held in figures_of([one.tile for one in tiles], scored).items()}
    groupings = {"parity": parity([tiles[at].number for at in full])}
    for name in sorted({name for at in full for name in tiles[at].groups}):
        groupings[name] = [tiles[at].groups.get(name, "none") for at in full]
    return [
        {"by": by, "findings": [{**asdict(one), "is_worse": one.is_worse} for one in findings(groups, values)]}
        for by, groups in groupings.items()
        if len(set(groups)) > 1 and min(map(groups.count, groups)) >= LEAST
    ]


def _checks(result: Result) -> Iterator[Check]:
    held = {one.terms.workload: one for one in result.workloads}
    yield _whole(result)
    for meter in result.manifest.get("power") or []:
        for phase in ("loaded", "idle"):
            rule = f"power samples of the {meter['scope']}, {phase}"
            count = meter[f"{phase}_samples"]
            yield at_least(rule, count, 1, "", Weight.INVALID, OURS, meter["trouble"] or meter["about"])
    held = {name: one for name, one in held.items() if not name.endswith(POLL)}
    windows = [found for one in held.values() for found in [_window(one)] if found is not None]
    if windows:
        apart = max(max(edge) - min(edge) for edge in zip(*windows, strict=True))
        detail = f"{len(windows)} workloads in one window of {windows[0][1] - windows[0][0]:.0f} s"
        yield at_most("measured windows apart", apart, WINDOW_S, "s", Weight.INVALID, OURS, detail)
    yield from _host(result)
    yield from _sampled(result)
    missing = [name for name, one in held.items() if not _is_whole_at_start(one)]
    rule = "workloads not at full load when the window began"
    yield at_most(rule, len(missing), 0, "workloads", Weight.INVALID, OURS, ", ".join(missing))


def _host(result: Result) -> Iterator[Check]:
    """How busy the host was, drivers included where they share it: a host without a spare moment is worth knowing."""
    samples = next((one.iterations[0].steady_samples for one in result.workloads if one.iterations), [])
    usage, cores = host_usage(samples), result.manifest["host"].get("cores_usable")
    if usage and cores:
        busy = 100 * sum(usage.get(f"{mode}_cores", 0.0) for mode in ("user", "system", "steal")) / cores
        detail = f"of {cores} cores, drivers and all else that runs there included"
        yield at_most("host's cores in use", busy, BUSY_PCT, "%", Weight.NOTE, OURS, detail)


def _sampled(result: Result) -> Iterator[Check]:
    """Whether every share of a tile's quality has something to be a share of."""
    held = _by_name(result)
    empty = [
        f"tile {one['number']} {kind}"
        for one in _declared(result)
        for kind in ("web", "dealers", "mail", "idle")
        if not any(_counts(kind, operation) for operation in _of(held, one["number"], kind)[0])
    ]
    rule = "qualities without a sample"
    yield at_most(rule, len(empty), 0, "", Weight.INVALID, OURS, f"{', '.join(empty)}: counted as 0" if empty else "")


def _counts(kind: str, operation: OperationFigures) -> bool:
    counted = kind != "mail" or operation.name in COUNTED_MAIL
    return counted and bool(operation.requests + operation.overdue)


def _whole(result: Result) -> Check:
    trouble = result.manifest.get("reason", "")
    rule = "parts that died or were ended"
    return at_most(
        rule, len(result.manifest.get("troubles", [])) or bool(trouble), 0, "", Weight.INVALID, OURS, trouble
    )


def _window(workload: WorkloadResult) -> tuple[float, float] | None:
    """Beginning and end of a workload's measured window on the wall clock, in seconds."""
    if not workload.iterations or "start_unix_ns" not in workload.iterations[0].start:
        return None
    iteration = workload.iterations[0]
    phases = iteration.plan["phases"]
    begin_s = (iteration.start["start_unix_ns"] + phases["ramp_up_ns"] + phases["warm_up_ns"]) / 1e9
    return begin_s, begin_s + iteration.figures.steady_s


def _is_whole_at_start(workload: WorkloadResult) -> bool:
    """Whether all sessions were at work in the first second of the window."""
    steady = [one for iteration in workload.iterations for one in iteration.intervals if one["phase"] == "steady"]
    return bool(steady) and steady[0]["sessions_active"] >= workload.terms.sessions
