"""A stored run of tiles: the figures its score is made of, and the verdict on the run as a whole. Pure."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field

from loadstone.judge.check import check_at_least, check_at_most
from loadstone.judge.consolidation import Consolidation, Maxima, TileFigures, estimate_scatter, score_tiles
from loadstone.judge.placement import LEAST_GROUP_TILES, collect_figures, compare_groups, compute_reach, group_by_parity
from loadstone.judge.printed_tiles import check_printed, read_printed
from loadstone.judge.usage import compute_host_usage
from loadstone.model.errors import UsageError
from loadstone.model.figures import IterationFigures, OperationFigures
from loadstone.model.printed_monitors import PrintedMonitor
from loadstone.model.records.check import Check, CheckId, Weight
from loadstone.model.records.manifest import PowerRecord, TileEntry
from loadstone.model.records.result import Iteration, Result, WorkloadResult
from loadstone.model.records.verdict import (
    GroupingFindings,
    PowerScore,
    TileRecord,
    TilesScore,
    TilesVerdict,
    conclude_verdict,
    list_reasons,
)
from loadstone.model.records.workload_id import LoadPhase, TileLoadKind
from loadstone.model.tile import IDLE_S

CONSOLIDATION_SOURCE = "our own, docs/consolidation.md"
WINDOW_S = 1.0
"""How far apart the measured windows of all workloads may begin and end."""
BUSY_PCT = 95.0
"""Use of the host from which the report says so."""
SAMPLED = 0.9
"""Share of the seconds of a phase in which a meter must have been read."""
LEAST_FOR_PLACEMENT = 4
"""Tiles below which no test can find a difference between two groups."""
COUNTED_MAIL = ("append", "fetch")
"""Commands that the quality of the mail store counts (docs/consolidation.md, Quality of service)."""
QUALITIES = (TileLoadKind.WEB, TileLoadKind.DEALERS, TileLoadKind.MAIL, TileLoadKind.IDLE)
"""Loads without a sample of which a share of the tile's quality would be a share of nothing."""
CATEGORIES = {"system": "performance per watt, whole system", "server": "performance per watt, server only"}


@dataclass(frozen=True)
class StoredTile:
    """A tile of a stored run, or a line of a table."""

    number: int
    pct_load: float
    tile: TileFigures
    groups: dict[str, str] = field(default_factory=dict)
    monitors: tuple[PrintedMonitor, ...] = ()
    """Printed figures of monitors of its machines and of their host."""


def list_tiles(result: Result) -> list[StoredTile]:
    """The tiles of a run, with rates of nothing where nothing was measured; raises UsageError when it has none."""
    return [
        StoredTile(entry.number, entry.pct_load, _figures_of(result, entry), dict(entry.groups))
        for entry in _entries(result)
    ]


def _figures_of(result: Result, entry: TileEntry) -> TileFigures:
    """Returns the rates and shares of a tile, as they were measured here or printed elsewhere."""
    return read_printed(entry.printed) if entry.printed else _measured(result, entry.number)


def get_maxima(result: Result) -> Maxima:
    """The maxima of the profile that a run was made with; raises UsageError when it has none."""
    tile = result.manifest.tile
    if tile is None:
        raise _no_tiles(result)
    return Maxima.from_scores(tile.maxima.app, tile.maxima.web, tile.maxima.mail)


def judge_tiles(result: Result) -> TilesVerdict:
    """Score, quality, common rules and placement of a run of tiles; raises UsageError for another run."""
    tiles, maxima = list_tiles(result), get_maxima(result)
    rates = [stored.tile for stored in tiles]
    scored = score_tiles(rates, maxima)
    is_printed = result.manifest.imported is not None
    checks = tuple(check_printed(result.manifest.tiles, maxima) if is_printed else _checks(result))
    return TilesVerdict(
        **vars(record_score(tiles, scored, maxima)),
        verdict=conclude_verdict(checks),
        checks=checks,
        reasons=list_reasons(checks),
        score_error=estimate_scatter(rates, maxima, result.manifest.profile.steady_s),
        placement=tuple(_placement(tiles, scored)),
        power=tuple(_power(result.manifest.power, float(scored.score))),
    )


def record_score(tiles: Sequence[StoredTile], scored: Consolidation, maxima: Maxima) -> TilesScore:
    """A score as it is kept and shown."""
    return TilesScore(
        maxima=maxima.record,
        score=float(scored.score),
        qos_pct=float(scored.qos_pct),
        least_qos_pct=float(scored.least_qos_pct),
        headline=scored.headline,
        tiles=tuple(_record(stored, scored, index) for index, stored in enumerate(tiles)),
    )


def _no_tiles(result: Result) -> UsageError:
    return UsageError(f"{result.path} is not a run of tiles. `loadstone tiles` creates one.")


def _entries(result: Result) -> Sequence[TileEntry]:
    if not (result.manifest.is_of_tiles and result.manifest.tiles):
        raise _no_tiles(result)
    return result.manifest.tiles


def _measured(result: Result, number: int) -> TileFigures:
    figures = {kind: _figures(result, number, kind) for kind in TileLoadKind}
    web, dealers, lines, mail, idle = (
        figures[kind]
        for kind in (TileLoadKind.WEB, TileLoadKind.DEALERS, TileLoadKind.LINES, TileLoadKind.MAIL, TileLoadKind.IDLE)
    )
    rates = {
        "app": sum(_per_s(part, right_only=True) for part in (dealers, lines)),
        "web": _per_s(web, right_only=False),
        "mail": _per_s(mail, right_only=True),
    }
    shares = {
        "app": _share([*_operations(dealers), *_operations(lines)]),
        "web": _share(_operations(web)),
        "mail": _share([operation for operation in _operations(mail) if operation.name in COUNTED_MAIL]),
        "idle": _share(_operations(idle)),
    }
    return TileFigures.from_figures(rates, shares)


def _figures(result: Result, number: int, kind: TileLoadKind) -> IterationFigures | None:
    workload = result.find_tile_load(number, kind)
    return None if workload is None else workload.iterations[0].figures


def _operations(figures: IterationFigures | None) -> Sequence[OperationFigures]:
    return figures.operations if figures is not None else ()


def _per_s(figures: IterationFigures | None, right_only: bool) -> float:
    """Operations a second that ended in the steady state; with `right_only` those with a right answer, however late."""
    if figures is None or not figures.steady_s:
        return 0.0
    return (figures.answered if right_only else figures.ended) / figures.steady_s


def _share(operations: Sequence[OperationFigures]) -> float:
    """Share of good operations; overdue ones are not good. Without any there is no quality to speak of: 0."""
    counted = sum(operation.requests + operation.overdue for operation in operations)
    return sum(operation.good for operation in operations) / counted if counted else 0.0


def _power(meters: Sequence[PowerRecord], score: float) -> Iterator[PowerScore]:
    """The three categories: the score alone, by the watts of the whole system, by those of the server."""
    if meters:
        yield PowerScore("performance", None, None, None, "none")
    for meter in sorted(meters, key=lambda meter: list(CATEGORIES).index(meter.scope)):
        ratio = score / meter.loaded_w if meter.loaded_w else None
        yield PowerScore(CATEGORIES[meter.scope], meter.loaded_w, meter.idle_w, ratio, meter.about)


def _record(stored: StoredTile, scored: Consolidation, index: int) -> TileRecord:
    tile_score = scored.tiles[index]
    figures = {name: float(value) for name, value in asdict(stored.tile).items()}
    return TileRecord(
        number=stored.number,
        pct_load=stored.pct_load,
        groups=stored.groups,
        **figures,
        score=float(tile_score.shown),
        qos=float(tile_score.shown_qos),
    )


def _placement(tiles: Sequence[StoredTile], scored: Consolidation) -> Iterator[GroupingFindings]:
    """Every grouping of the run tested, where there are tiles enough of the same load."""
    full = [index for index, stored in enumerate(tiles) if stored.pct_load == 100]
    if len(full) < LEAST_FOR_PLACEMENT:
        return
    compared = collect_figures([stored.tile for stored in tiles], scored)
    values = {name: [series[index] for index in full] for name, series in compared.items()}
    groupings = {"parity": group_by_parity([tiles[index].number for index in full])}
    for name in sorted({name for index in full for name in tiles[index].groups}):
        groupings[name] = [tiles[index].groups.get(name, "none") for index in full]
    for grouping, groups in groupings.items():
        if len(set(groups)) > 1 and min(map(groups.count, groups)) >= LEAST_GROUP_TILES:
            yield GroupingFindings(
                grouping, tuple(compare_groups(groups, values)), compute_reach(groups, values).in_words
            )


def _checks(result: Result) -> Iterator[Check]:
    loaded = [workload for workload in result.workloads if workload.id.phase is LoadPhase.LOADED]
    yield _died_parts(result)
    yield from _power_sampled(result)
    windows = [window for workload in loaded if (window := _window(workload)) is not None]
    if windows:
        spread_s = max(max(edge) - min(edge) for edge in zip(*windows, strict=True))
        detail = f"{len(windows)} workloads in one window of {windows[0][1] - windows[0][0]:.0f} s"
        yield check_at_most(
            CheckId.WINDOWS_APART, spread_s, WINDOW_S, "s", Weight.INVALID, CONSOLIDATION_SOURCE, detail
        )
    yield from _host(result)
    yield _sampled(result)
    missing = [workload.id.label for workload in loaded if not _is_whole_at_start(workload)]
    name = CheckId.NOT_AT_FULL_LOAD
    yield check_at_most(name, len(missing), 0, "workloads", Weight.INVALID, CONSOLIDATION_SOURCE, ", ".join(missing))


def _power_sampled(result: Result) -> Iterator[Check]:
    """Whether each meter was read about once a second: a mean of one sample is the watts of one moment."""
    loaded_s = result.manifest.profile.steady_s
    for meter in result.manifest.power:
        for phase, count, seconds in (
            ("loaded", meter.loaded_samples, loaded_s),
            ("idle", meter.idle_samples, min(IDLE_S, loaded_s)),
        ):
            rule = f"power samples of the {meter.scope}, {phase}"
            detail = meter.trouble or meter.about
            least = max(1, math.floor(SAMPLED * seconds))
            yield check_at_least(
                CheckId.POWER_SAMPLES, count, least, "", Weight.INVALID, CONSOLIDATION_SOURCE, detail, title=rule
            )


def _host(result: Result) -> Iterator[Check]:
    """How busy the host was, drivers included where they share it: a host without a spare moment is worth knowing."""
    samples = next((workload.iterations[0].steady_samples for workload in result.workloads if workload.iterations), [])
    usage, cores = compute_host_usage(samples), result.manifest.host.cores_usable
    if usage and cores:
        busy = 100 * sum(usage.get(f"{mode}_cores", 0.0) for mode in ("user", "system", "steal")) / cores
        detail = f"of {cores} cores, drivers and all else that runs there included"
        yield check_at_most(CheckId.HOST_BUSY, busy, BUSY_PCT, "%", Weight.NOTE, CONSOLIDATION_SOURCE, detail)


def _sampled(result: Result) -> Check:
    """Whether every share of a tile's quality has something to be a share of."""
    empty = [
        f"tile {entry.number} {kind}"
        for entry in _entries(result)
        for kind in QUALITIES
        if not any(_counts(kind, operation) for operation in _operations(_figures(result, entry.number, kind)))
    ]
    detail = f"{', '.join(empty)}: counted as 0" if empty else ""
    return check_at_most(CheckId.QUALITY_UNSAMPLED, len(empty), 0, "", Weight.INVALID, CONSOLIDATION_SOURCE, detail)


def _counts(kind: TileLoadKind, operation: OperationFigures) -> bool:
    counted = kind is not TileLoadKind.MAIL or operation.name in COUNTED_MAIL
    return counted and bool(operation.requests + operation.overdue)


def _died_parts(result: Result) -> Check:
    reason, died = result.manifest.reason, len(result.manifest.troubles)
    return check_at_most(CheckId.PARTS_DIED, died or bool(reason), 0, "", Weight.INVALID, CONSOLIDATION_SOURCE, reason)


def _window(workload: WorkloadResult) -> tuple[float, float] | None:
    """Beginning and end of a workload's measured window on the wall clock, in seconds."""
    if not workload.iterations:
        return None
    planned = workload.iterations[0].window_unix_s
    return planned and (planned[0], planned[0] + workload.iterations[0].figures.steady_s)


def _is_whole_at_start(workload: WorkloadResult) -> bool:
    """Whether all sessions were at work in the first second of the window."""
    active = [active for iteration in workload.iterations for active in _steady_sessions(iteration)]
    return bool(active) and active[0] >= workload.criteria.sessions


def _steady_sessions(iteration: Iteration) -> Iterator[int]:
    return (interval.sessions_active for interval in iteration.records.intervals if interval.phase == "steady")
