"""What a run of tiles plays: from a declared tile and numbers to workloads, loads, plans and phases. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from loadstone.judge.consolidation import Maxima
from loadstone.measure.power import Scope, Source, source_of
from loadstone.model.errors import UsageError
from loadstone.model.load import Curve, Population
from loadstone.model.machine import Machine
from loadstone.model.profile import Phases, Profile, Rigor
from loadstone.model.software import DatabaseKind, MailKind
from loadstone.model.tile import Role, Tile, TileLoad, read_tile
from loadstone.model.workload import Published, Table, Workload
from loadstone.run.criteria import mean_pause_s
from loadstone.run.plan import Part, Timing, make_plan
from loadstone.testbed.tiles import TilesSystem, TileUp
from loadstone.workloads import load
from loadstone.workloads.shares import shares

SHIPPED = Path(__file__).parent / "shipped"
DEALERS, LINES = 10, 4
"""Of each unit of injection rate: dealers, one transaction in 10 s each, and lines, one work order in 6 s each."""
CAP = 15
"""Longest think time of the web's users, times the mean (docs/web-workloads.md, Pauses)."""
MOST_DOWNLOAD_BYTES = 6_000_000
APP_MAXIMUM = 1.745
"""Transactions and work orders/s of a unit of injection rate: 34.90 at 20 (docs/consolidation.md, Score)."""
IDLE_S = 60.0
"""Longest phase of active idle."""
LEAST_PCT, MOST_PCT, STEP_PCT = 10, 90, 10
"""Loads of a fractional tile."""


def shipped_tiles() -> dict[str, Path]:
    """Tiles that come with the program: name to file."""
    return {file.stem: file for file in sorted(SHIPPED.glob("*.toml"))}


def find_tile(name: str) -> Tile:
    """A tile by its name or file; raises UsageError and StudyError."""
    known = shipped_tiles()
    if name in known:
        return read_tile(known[name])
    if not name.endswith(".toml"):
        raise UsageError(f"There is no tile `{name}`. There are {', '.join(known)}, or give the file of your own.")
    return read_tile(Path(name))


def maxima_of_tile(tile: Tile) -> Maxima:
    """Rates a full tile comes to where answers take no time: those declared, else what its loads make."""
    if tile.maxima is not None:
        return Maxima.of(tile.maxima.app, tile.maxima.web, tile.maxima.mail)
    rates = {}
    for name, workload, sessions in (
        ("web", _web(tile), tile.loads.web_sessions),
        ("mail", load("mail"), tile.loads.mail_users),
    ):
        rates[name] = sessions / (mean_pause_s(workload.pacing) * shares(workload).paused)
    return Maxima.of(APP_MAXIMUM * tile.loads.injection_rate, rates["web"], rates["mail"])


def tile_loads(tiles: int, last_fraction: float | None) -> tuple[TileLoad, ...]:
    """Full tiles, the last one fractional where that is asked for; raises UsageError."""
    if tiles < 1:
        raise UsageError("A run needs a tile. Give --tiles 1 or more.")
    pct = 100 if last_fraction is None else round(last_fraction * 100)
    if last_fraction is not None and not (LEAST_PCT <= pct <= MOST_PCT and pct % STEP_PCT == 0):
        raise UsageError(f"A fractional tile runs at 0.1, 0.2 ... 0.9 of its load, not at {last_fraction}.")
    return (*(TileLoad(number, 100) for number in range(1, tiles)), TileLoad(tiles, pct))


@dataclass(frozen=True)
class TilePart:
    """One workload of one tile."""

    name: str
    """Unique in the run, as `tile1-web`."""
    role: Role
    kind: str
    """What it counts as: web, dealers, lines, mail, idle."""
    workload: Workload
    load: Population
    curve: Curve | None = None


@dataclass(frozen=True)
class TilesOrder:
    """What to run."""

    name: str
    tile: Tile
    loads: tuple[TileLoad, ...]
    phases: Phases
    profile_name: str
    results: Path
    seed: int = 1
    machine: Machine = field(default_factory=Machine)
    database: DatabaseKind = DatabaseKind.EMBEDDED
    imap: MailKind = MailKind.EMBEDDED
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of groups that tiles are in, by grouping, one a tile."""
    power: tuple[str, ...] = ()
    """Meters, as `server=rapl`; with one, a phase of active idle follows the load."""
    key: str = ""
    """Which run of a search it is."""

    @property
    def system(self) -> TilesSystem:
        """What is put up."""
        return TilesSystem(
            self.tile, len(self.loads), self.machine, self.database, self.imap, heartbeats=bool(self.power)
        )

    @property
    def idle_phases(self) -> Phases:
        """Of active idle: as long as the loaded window, a minute at most."""
        return Phases(1, 1, min(IDLE_S, self.phases.steady_s), 1)

    def meters(self) -> list[tuple[Scope, Source]]:
        """The power meters; raises UsageError."""
        return [source_of(text) for text in self.power]

    @property
    def stagger_s(self) -> float:
        """Seconds between the starts of two tiles."""
        return self.tile.run.stagger_s

    @property
    def profile(self) -> Profile:
        """What verdicts may claim: all rules where the tile's own lengths are those of the classic one."""
        is_full = self.tile == find_tile("classic") and self.phases == self.tile.phases
        about = f"{self.tile.header.title}, all workloads in one window of {self.phases.steady_s:g} s"
        return Profile(self.profile_name, about, self.phases, 1, Rigor.FULL if is_full else Rigor.REDUCED)

    def phases_of(self, number: int) -> Phases:
        """Phases of tile `number`: those started earlier warm up longer, so that all windows are one."""
        waits_s = self.stagger_s * (len(self.loads) - number)
        return replace(self.phases, warm_up_s=self.phases.warm_up_s + waits_s)

    def group_of(self, number: int) -> dict[str, str]:
        """The groups that a tile is in, by grouping."""
        return {name: members[(number - 1) % len(members)] for name, members in self.groups.items()}


def parts_of_tile(order: TilesOrder, load_of: TileLoad) -> tuple[TilePart, ...]:
    """All workloads of a tile and how much of each is played."""
    tile, number = order.tile, load_of.number
    loads = tile.loads
    curve = tile.curve_of(number, len(order.loads), order.phases_of(number))
    made = (
        ("web", Role.WEB, _web(tile), load_of.share(loads.web_sessions), None),
        ("dealers", Role.APP, load("dealership"), load_of.share(DEALERS * loads.injection_rate), curve),
        ("lines", Role.APP, load("manufacturing"), load_of.share(LINES * loads.injection_rate), curve),
        ("mail", Role.MAIL, load("mail"), load_of.share(loads.mail_users), None),
        ("idle", Role.IDLE, _paced(load("idle"), loads.heartbeat_s), 1, None),
    )
    return tuple(
        TilePart(f"tile{number}-{kind}", role, kind, _named(workload, f"tile{number}-{kind}"), Population(count), bent)
        for kind, role, workload, count, bent in made
    )


def polling(order: TilesOrder, number: int) -> TilePart:
    """Heartbeats to every machine of a tile, for active idle."""
    name = f"tile{number}-poll"
    workload = _named(_paced(load("idle"), order.tile.loads.heartbeat_s), name)
    return TilePart(name, Role.IDLE, "poll", workload, Population(len(Role)))


CREWS = {"web": ("web",), "app": ("dealers", "lines"), "mail": ("mail",), "idle": ("idle",)}
"""What each driver of a tile plays."""


def plan_of(order: TilesOrder, number: int, parts: tuple[TilePart, ...], up: TileUp | None) -> dict[str, object]:
    """The plan of one driver; without targets where the tile is not up yet."""
    timing = Timing(order.phases_of(number), order.seed * 1000 + number, 1)
    made = [Part(part.workload, part.load, (up.targets[part.role],) if up else (), part.curve) for part in parts]
    return make_plan(made, timing)


def _web(tile: Tile) -> Workload:
    """The support site as tiles have it: users on the machine's own network instead of slow lines, downloads of up to
    6 MB (docs/consolidation.md, Web).
    """
    support = load("support")
    lines = {"page_bytes_per_s": None, "embedded_bytes_per_s": None}
    downloads = support.values["download"]
    assert isinstance(downloads, Table) and downloads.weights is not None
    bytes_at = downloads.columns.index("bytes")
    kept = [at for at, row in enumerate(downloads.rows) if int(row[bytes_at]) <= MOST_DOWNLOAD_BYTES]
    rows = {"rows": tuple(downloads.rows[at] for at in kept), "weights": tuple(downloads.weights[at] for at in kept)}
    lighter = replace(
        support,
        connections=support.connections.model_copy(update=lines),
        values={**support.values, "download": downloads.model_copy(update=rows)},
        published=Published(),
    )
    return _paced(lighter, tile.loads.web_think_s, CAP * tile.loads.web_think_s)


def _paced(workload: Workload, mean_s: float, cap_s: float | None = None) -> Workload:
    return replace(workload, pacing=workload.pacing.model_copy(update={"mean_s": mean_s, "cap_s": cap_s}))


def _named(workload: Workload, name: str) -> Workload:
    header = workload.header
    title = f"{name.partition('-')[0].replace('tile', 'Tile ')}: {header.title}"
    return replace(workload, header=header.model_copy(update={"name": name, "title": title}))
