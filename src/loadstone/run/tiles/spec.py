"""The specification of a run of tiles, from a declared tile: its workloads and loads, which know their copy."""

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from loadstone.judge.consolidation import Maxima
from loadstone.model.errors import UsageError
from loadstone.model.load import Population, RateCurve
from loadstone.model.machine import PLAIN, Placement
from loadstone.model.profile import Phases, Profile, Rigor
from loadstone.model.records.workload_id import LoadPhase, TileLoadKind, WorkloadId
from loadstone.model.tile import Role, Tile, TileLoad, read_tile
from loadstone.model.tile_services import TileServices
from loadstone.model.tiles import Tiles
from loadstone.model.workload import Workload
from loadstone.model.workload.published import Published
from loadstone.model.workload.values import TableValues
from loadstone.platforms.registry import build_machine_kind
from loadstone.run.criteria import compute_mean_pause_s
from loadstone.run.plan import WorkloadLoad
from loadstone.run.spec import RunSpec, defer_window
from loadstone.topologies import dealership
from loadstone.workloads import load
from loadstone.workloads.shares import compute_shares

SHIPPED = Path(__file__).parent / "shipped"
LINES_PER_RATE = 4
"""Production lines of each unit of injection rate, one work order in 6 s each; dealers make one transaction in 10 s."""
CAP = 15
"""Longest think time of the web's users, times the mean (docs/web-workloads.md, Pauses)."""
MOST_DOWNLOAD_BYTES = 6_000_000
APP_MAXIMUM = 1.745
"""Transactions and work orders/s of a unit of injection rate: 34.90 at 20 (docs/consolidation.md, Score)."""
LEAST_PCT, MOST_FRACTION_PCT, STEP_PCT = 10, 90, 10
"""Loads of a fractional tile."""


def list_shipped_tiles() -> dict[str, Path]:
    """Tiles that come with the program: name to file."""
    return {file.stem: file for file in sorted(SHIPPED.glob("*.toml"))}


def find_tile(name: str) -> Tile:
    """A tile by its name or file; raises UsageError and StudyError."""
    known = list_shipped_tiles()
    if name in known:
        return read_tile(known[name], build_machine_kind())
    if not name.endswith(".toml"):
        raise UsageError(f"There is no tile `{name}`. Use one of {', '.join(known)}, or your own file.")
    return read_tile(Path(name), build_machine_kind())


def compute_maxima(tile: Tile) -> Maxima:
    """Rates a full tile comes to where answers take no time: those declared, else what its loads make."""
    if tile.maxima is not None:
        return Maxima.from_scores(tile.maxima.app, tile.maxima.web, tile.maxima.mail)
    rates = {}
    for name, workload, sessions in (
        ("web", _web(tile), tile.loads.web_sessions),
        ("mail", load("mail"), tile.loads.mail_users),
    ):
        rates[name] = sessions / (compute_mean_pause_s(workload.pacing) * compute_shares(workload).paused)
    return Maxima.from_scores(APP_MAXIMUM * tile.loads.injection_rate, rates["web"], rates["mail"])


def list_tile_loads(tiles: int, last_fraction: float | None) -> tuple[TileLoad, ...]:
    """Full tiles, the last one fractional where that is asked for; raises UsageError."""
    if tiles < 1:
        raise UsageError("A run needs at least one tile. Use --tiles 1 or more.")
    pct = 100 if last_fraction is None else round(last_fraction * 100)
    if last_fraction is not None and not (LEAST_PCT <= pct <= MOST_FRACTION_PCT and pct % STEP_PCT == 0):
        raise UsageError(f"`{last_fraction}` is not a valid load of a fractional tile. Use 0.1, 0.2 ... 0.9.")
    return (*(TileLoad(number, 100) for number in range(1, tiles)), TileLoad(tiles, pct))


class DriverRole(StrEnum):
    """The drivers of a tile."""

    WEB = "web"
    APP = "app"
    MAIL = "mail"
    IDLE = "idle"
    POLL = "poll"
    """Heartbeats to every machine, for active idle."""


def build_tiles_spec(
    name: str,
    tiles: Tiles,
    results: Path,
    *,
    profile_name: str = "",
    phases: Phases | None = None,
    seed: int = 1,
    placement: Placement = PLAIN,
) -> RunSpec:
    """Returns a run of tiles: all loads at once, and a round of active idle where all machines answer heartbeats. The
    phases are the tile's where none are given, and so is the profile's name. Raises UsageError.
    """
    tile, phases = tiles.tile, phases or tiles.tile.phases
    return RunSpec(
        name=name,
        parts=list_tile_parts(tiles, phases),
        profile=build_tile_profile(tile, profile_name or tile.name, phases),
        seed=seed,
        threads=1,
        system=tiles,
        results=results,
        together=True,
        placement=placement,
        stagger_s=tile.run.stagger_s,
        notes=tile.notes,
    )


def get_tiles(spec: RunSpec) -> Tiles:
    """Returns the tiles of a run. Raises UsageError where its system is another."""
    if not isinstance(spec.system, Tiles):
        raise UsageError(f"`{spec.name}` is not a run of tiles. Use `loadstone tiles`.")
    return spec.system


def replace_tile_loads(spec: RunSpec, loads: tuple[TileLoad, ...]) -> RunSpec:
    """Returns the run with other loads, and as many tiles. Raises UsageError for a run without tiles."""
    tiles = replace(get_tiles(spec), loads=loads)
    return replace(spec, system=tiles, parts=list_tile_parts(tiles, spec.profile.phases))


def build_tile_profile(tile: Tile, name: str, phases: Phases) -> Profile:
    """Returns what verdicts may claim: all rules where the tile's lengths are those of the classic one."""
    bare = replace(tile, notes={}, services=TileServices(), settings={})
    is_full = bare == find_tile("classic") and phases == tile.phases
    about = f"{tile.header.title}, all workloads in one window of {phases.steady_s:g} s"
    return Profile(name, about, phases, 1, Rigor.FULL if is_full else Rigor.REDUCED)


@dataclass(frozen=True)
class _PlayedLoad:
    """One load of a full tile."""

    kind: TileLoadKind
    driver: DriverRole
    role: Role
    workload: Workload
    count: float
    """Users of a full tile."""
    is_curved: bool = False


def list_tile_parts(tiles: Tiles, phases: Phases) -> tuple[WorkloadLoad, ...]:
    """Returns all workloads of all tiles with their loads, then the heartbeats to every machine, for active idle."""
    played, polled = _list_played(tiles.tile), _list_polled(tiles.tile) if tiles.has_heartbeats else []
    loaded = [_load_part(tiles, phases, each, load_of) for load_of in tiles.loads for each in played]
    return (*loaded, *(_part(load_of.number, each, len(Role)) for load_of in tiles.loads for each in polled))


def _list_played(tile: Tile) -> list[_PlayedLoad]:
    loads, idle = tile.loads, _paced(load("idle"), tile.loads.heartbeat_s)
    dealers, lines = dealership.TOPOLOGY.count_users(loads.injection_rate), LINES_PER_RATE * loads.injection_rate
    return [
        _PlayedLoad(TileLoadKind.WEB, DriverRole.WEB, Role.WEB, _web(tile), loads.web_sessions),
        _PlayedLoad(TileLoadKind.DEALERS, DriverRole.APP, Role.APP, load("dealership"), dealers, is_curved=True),
        _PlayedLoad(TileLoadKind.LINES, DriverRole.APP, Role.APP, load("manufacturing"), lines, is_curved=True),
        _PlayedLoad(TileLoadKind.MAIL, DriverRole.MAIL, Role.MAIL, load("mail"), loads.mail_users),
        _PlayedLoad(TileLoadKind.IDLE, DriverRole.IDLE, Role.IDLE, idle, 1),
    ]


def _list_polled(tile: Tile) -> list[_PlayedLoad]:
    idle = _paced(load("idle"), tile.loads.heartbeat_s)
    return [_PlayedLoad(TileLoadKind.POLL, DriverRole.POLL, Role.IDLE, idle, len(Role))]


def _load_part(tiles: Tiles, phases: Phases, played: _PlayedLoad, load_of: TileLoad) -> WorkloadLoad:
    """Returns a load of a tile, as large as its share of a full tile."""
    number, tile = load_of.number, tiles.tile
    deferred = defer_window(phases, tile.run.stagger_s * (tiles.count - number))
    curve = tile.build_curve(number, tiles.count, deferred) if played.is_curved else None
    return _part(number, played, load_of.compute_share(played.count), curve)


def _part(number: int, played: _PlayedLoad, count: int, curve: RateCurve | None = None) -> WorkloadLoad:
    """A workload of a tile, under the label by which plan, events and folders know it."""
    workload = played.workload
    phase = LoadPhase.ACTIVE_IDLE if played.kind is TileLoadKind.POLL else LoadPhase.LOADED
    identity = WorkloadId(workload.name, number, played.kind, phase)
    title = f"Tile {number}: {workload.header.title}"
    header = workload.header.model_copy(update={"name": identity.label, "title": title})
    labelled = replace(workload, header=header)
    return WorkloadLoad(labelled, Population(count), (), curve, identity, played.role, played.driver)


def _web(tile: Tile) -> Workload:
    """The support site as tiles have it: users on the machine's own network instead of slow lines, downloads of up to
    6 MB (docs/consolidation.md, Web).
    """
    support = load("support")
    lines = {"page_bytes_per_s": None, "embedded_bytes_per_s": None}
    downloads = support.values["download"]
    assert isinstance(downloads, TableValues) and downloads.weights is not None
    bytes_at = downloads.columns.index("bytes")
    rows_left = [index for index, row in enumerate(downloads.rows) if int(row[bytes_at]) <= MOST_DOWNLOAD_BYTES]
    rows = {
        "rows": tuple(downloads.rows[index] for index in rows_left),
        "weights": tuple(downloads.weights[index] for index in rows_left),
    }
    lighter = replace(
        support,
        connections=support.connections.model_copy(update=lines),
        values={**support.values, "download": downloads.model_copy(update=rows)},
        published=Published(),
    )
    return _paced(lighter, tile.loads.web_think_s, CAP * tile.loads.web_think_s)


def _paced(workload: Workload, mean_s: float, cap_s: float | None = None) -> Workload:
    return replace(workload, pacing=workload.pacing.model_copy(update={"mean_s": mean_s, "cap_s": cap_s}))
