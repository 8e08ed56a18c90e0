"""What a run of tiles plays: from a declared tile and numbers to workloads, loads, plans and phases."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from loadstone.judge.consolidation import Maxima
from loadstone.model.errors import UsageError
from loadstone.model.load import Population, RateCurve
from loadstone.model.machine import MachineSpec
from loadstone.model.profile import Phases, Profile, Rigor
from loadstone.model.program_settings import write_settings_of_programs
from loadstone.model.records.workload_id import LoadPhase, TileLoadKind, WorkloadId
from loadstone.model.selector import RoleSettings
from loadstone.model.service import EMBEDDED, Tuning
from loadstone.model.system import Reference
from loadstone.model.tile import IDLE_S, Role, Tile, TileLoad, read_tile
from loadstone.model.tile_services import TileServices
from loadstone.model.workload import Published, Workload
from loadstone.model.workload.values import TableValues
from loadstone.platforms.registry import build_machine_kind
from loadstone.run.criteria import compute_mean_pause_s
from loadstone.run.plan import WorkloadLoad
from loadstone.run.spec import DeploymentSpec
from loadstone.testbed.tiles import EMBEDDED_SERVICES, TilesSystem
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


HOST_GROUP = "host"
"""The grouping that says which host of the fleet each tile is on."""


@dataclass(frozen=True)
class TilesSpec(DeploymentSpec):
    """What to run: tiles under all their loads. With a power meter, a phase of active idle follows the load."""

    name: str
    tile: Tile
    loads: tuple[TileLoad, ...]
    phases: Phases
    profile_name: str
    results: Path
    seed: int = 1
    machine: MachineSpec = field(default_factory=MachineSpec)
    services: Reference = EMBEDDED_SERVICES
    """Services of all tiles."""
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of groups that tiles are in, by grouping, one a tile."""
    roles: RoleSettings = field(default_factory=dict)
    """Settings of single machines, by selector, which replace those of the tile."""

    @property
    def software(self) -> dict[str, str]:
        """Services that a tile may choose, by what they are, and what the user set of their programs."""
        services = self.services
        named = {choice: services.get_service(choice) for choice in ("database", "imap", "store")}
        others = {choice: services.get_service(choice) for choice in ("service", "backend_service", "app", "tuning")}
        named |= {choice: name for choice, name in others.items() if name not in (EMBEDDED, Tuning.DEFAULT)}
        return named | ({"set": write_settings_of_programs(services.settings)} if services.settings else {})

    @property
    def system(self) -> TilesSystem:
        """What is put up."""
        return TilesSystem(
            self.tile,
            len(self.loads),
            self.machine,
            self.services,
            heartbeats=bool(self.power),
            hosts=self.groups.get(HOST_GROUP, ()),
            machine_roles=self.roles,
        )

    @property
    def idle_phases(self) -> Phases:
        """Of active idle: as long as the loaded window, a minute at most."""
        return Phases(1, 1, min(IDLE_S, self.phases.steady_s), 1)

    @property
    def stagger_s(self) -> float:
        """Seconds between the starts of two tiles."""
        return self.tile.run.stagger_s

    @property
    def profile(self) -> Profile:
        """What verdicts may claim: all rules where the tile's own lengths are those of the classic one."""
        bare = replace(self.tile, notes={}, services=TileServices(), settings={})
        is_full = bare == find_tile("classic") and self.phases == self.tile.phases
        about = f"{self.tile.header.title}, all workloads in one window of {self.phases.steady_s:g} s"
        return Profile(self.profile_name, about, self.phases, 1, Rigor.FULL if is_full else Rigor.REDUCED)

    def compute_phases(self, number: int) -> Phases:
        """Phases of tile `number`: those started earlier warm up longer, so that all windows are one."""
        waits_s = self.stagger_s * (len(self.loads) - number)
        return replace(self.phases, warm_up_s=self.phases.warm_up_s + waits_s)

    def group_of(self, number: int) -> dict[str, str]:
        """The groups that a tile is in, by grouping."""
        return {name: members[(number - 1) % len(members)] for name, members in self.groups.items()}


def list_tile_parts(spec: TilesSpec, load_of: TileLoad) -> tuple[WorkloadLoad, ...]:
    """All workloads of a tile and how much of each is played."""
    tile, number = spec.tile, load_of.number
    loads = tile.loads
    curve = tile.build_curve(number, len(spec.loads), spec.compute_phases(number))
    played = (
        (TileLoadKind.WEB, Role.WEB, _web(tile), load_of.compute_share(loads.web_sessions), None),
        (
            TileLoadKind.DEALERS,
            Role.APP,
            load("dealership"),
            load_of.compute_share(dealership.TOPOLOGY.count_users(loads.injection_rate)),
            curve,
        ),
        (
            TileLoadKind.LINES,
            Role.APP,
            load("manufacturing"),
            load_of.compute_share(LINES_PER_RATE * loads.injection_rate),
            curve,
        ),
        (TileLoadKind.MAIL, Role.MAIL, load("mail"), load_of.compute_share(loads.mail_users), None),
        (TileLoadKind.IDLE, Role.IDLE, _paced(load("idle"), loads.heartbeat_s), 1, None),
    )
    return tuple(_part(number, kind, role, workload, count, bent) for kind, role, workload, count, bent in played)


def build_polling(spec: TilesSpec, number: int) -> WorkloadLoad:
    """Heartbeats to every machine of a tile, for active idle."""
    workload = _paced(load("idle"), spec.tile.loads.heartbeat_s)
    return _part(number, TileLoadKind.POLL, Role.IDLE, workload, len(Role), phase=LoadPhase.ACTIVE_IDLE)


def _part(
    number: int,
    kind: TileLoadKind,
    role: Role,
    workload: Workload,
    count: int,
    curve: RateCurve | None = None,
    phase: LoadPhase = LoadPhase.LOADED,
) -> WorkloadLoad:
    """A workload of a tile, under the label by which plan, events and folders know it."""
    identity = WorkloadId(workload.name, number, kind, phase)
    title = f"Tile {number}: {workload.header.title}"
    header = workload.header.model_copy(update={"name": identity.label, "title": title})
    return WorkloadLoad(replace(workload, header=header), Population(count), (), curve, identity, role)


class DriverRole(StrEnum):
    """The drivers of a tile."""

    WEB = "web"
    APP = "app"
    MAIL = "mail"
    IDLE = "idle"


PLAYED_BY = {
    DriverRole.WEB: (TileLoadKind.WEB,),
    DriverRole.APP: (TileLoadKind.DEALERS, TileLoadKind.LINES),
    DriverRole.MAIL: (TileLoadKind.MAIL,),
    DriverRole.IDLE: (TileLoadKind.IDLE,),
}
"""What each driver of a tile plays."""


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
