"""A tile: one set of all roles, their machines, their loads and what rates they would come to with ideal answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from loadstone.model.load import RateCurve
from loadstone.model.machine import MachineSpec
from loadstone.model.notes import read_notes
from loadstone.model.profile import Phases
from loadstone.model.program_settings import SettingsByProgram, flatten_settings
from loadstone.model.reading import Document, Section, suggest
from loadstone.model.selector import (
    RoleSettings,
    limit_copies,
    read_role_tables,
    select_settings,
    split_selector,
)
from loadstone.model.tile_services import TileServices
from loadstone.model.workload.bounds import Name, Positive

IDLE_S = 60.0
"""Longest phase of active idle."""


class Role(StrEnum):
    """A machine of a tile."""

    WEB = "web"
    INFRA = "infra"
    APP = "app"
    DB = "db"
    MAIL = "mail"
    IDLE = "idle"


NETWORKS = {Role.WEB: "web", Role.INFRA: "web", Role.APP: "app", Role.DB: "app"}
"""Private networks: web and infra share one, app and db another (docs/consolidation.md, Tile)."""


KEEPING = frozenset({Role.INFRA, Role.APP, Role.DB, Role.MAIL})
"""Roles that keep something: published tiles gave each of them a disk for it."""
DATA_MIB = 1024
"""Size of that disk; what is not written takes no space."""


class Size(Section):
    """How large a role's machine is where it has a size of its own."""

    cpus: Annotated[int, Field(ge=1, le=4096)] = Field(default=1, description="virtual CPUs, 1 or more")
    memory: Annotated[int, Field(ge=64, le=1 << 22)] = Field(default=256, description="MiB of memory, 64 or more")
    disk: Annotated[int, Field(ge=0, le=1 << 24)] | None = Field(
        default=None,
        description="MiB of a disk for its data, 0 for none; usually 1024 for infra, app, db and mail",
    )


SIZE_KEYS = frozenset(Size.model_fields)
"""Settings of a machine that are its size; platforms whose machines have no size leave them out."""


class TileHeader(Section):
    """Name and title of the tile."""

    name: Name = Field(description="a short name of letters, digits, `_` and `-`")
    title: str = Field(description="a title in a few words")
    about: str = Field(default="", description="a sentence about it")


class TileLoads(Section):
    """Load of a full tile."""

    injection_rate: Annotated[int, Field(ge=1, le=100_000)] = Field(
        description="ten dealers and four production lines for each unit, 1 or more"
    )
    web_sessions: Annotated[int, Field(ge=1, le=1_000_000)] = Field(description="sessions of the support site")
    web_think_s: Positive = Field(default=10.0, description="mean think time on the support site, in seconds")
    mail_users: Annotated[int, Field(ge=1, le=1_000_000)] = Field(description="users of the mail store")
    heartbeat_s: Positive = Field(default=10.0, description="seconds between heartbeats")


class TileMaxima(Section):
    """Rates per second of a full tile if answers take no time."""

    app: Positive = Field(description="transactions and work orders/s")
    web: Positive = Field(description="pages and downloads/s")
    mail: Positive = Field(description="commands/s")


class TileCurve(Section):
    """How the application's load varies; each tile begins at another place, so that they do not peak together."""

    factors: Annotated[tuple[Positive, ...], Field(min_length=2)] = Field(
        description="multiples of the mean load, one after another; their mean is 1"
    )
    periods: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=2, description="repetitions of the curve in the measured window"
    )


class TileRun(Section):
    """Lengths of the phases, in seconds."""

    ramp_up_s: Positive
    """Length of the ramp-up."""
    warm_up_s: Positive
    """Length of the warm-up."""
    steady_s: Positive
    """Length of the steady state."""
    ramp_down_s: Positive
    """Length of the ramp-down."""
    stagger_s: Annotated[float, Field(ge=0)] = Field(default=2.0, description="seconds between the starts of two tiles")


@dataclass(frozen=True)
class Tile:
    """A tile as declared."""

    header: TileHeader
    loads: TileLoads
    run: TileRun
    curve: TileCurve
    maxima: TileMaxima | None
    """None where they follow from the loads."""
    machines: RoleSettings
    """Settings of machines by role, as `db`, or by tile and role, as `2.web`; their sizes among them."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """Facts that its author discloses, by name."""
    services: TileServices = field(default_factory=TileServices)
    settings: SettingsByProgram = field(default_factory=dict)
    """Settings of the programs of its services."""

    @property
    def name(self) -> str:
        """Its short name."""
        return self.header.name

    @property
    def phases(self) -> Phases:
        """Its own lengths."""
        run = self.run
        return Phases(run.ramp_up_s, run.warm_up_s, run.steady_s, run.ramp_down_s)

    def get_size(self, role: Role, number: int = 1) -> Size:
        """How large the machine of a role is in tile `number`, counted from 1."""
        settings = select_settings(self.machines, role, number)
        size = Size.model_validate({key: value for key, value in settings.items() if key in SIZE_KEYS})
        usual = DATA_MIB if role in KEEPING else 0
        return size if size.disk is not None else size.model_copy(update={"disk": usual})

    def list_settings(self, tiles: int) -> RoleSettings:
        """Settings of machines of the first so many tiles, without their sizes."""
        others = {
            selector: {key: value for key, value in settings.items() if key not in SIZE_KEYS}
            for selector, settings in limit_copies(self.machines, tiles).items()
        }
        return {selector: settings for selector, settings in others.items() if settings}

    def build_curve(self, number: int, tiles: int, phases: Phases) -> RateCurve:
        """The curve of tile `number` of so many, counted from 1: whole periods in the steady state."""
        period_s = phases.steady_s / self.curve.periods
        lead_s = phases.ramp_up_s + phases.warm_up_s
        shift_s = (period_s * (number - 1) / tiles - lead_s) % period_s
        return RateCurve(period_s / len(self.curve.factors), tuple(self.curve.factors), shift_s)


@dataclass(frozen=True)
class TileLoad:
    """What one tile of a run bears."""

    number: int
    """Counted from 1."""
    pct: int
    """100, or 10 to 90 for a fractional one."""

    def compute_share(self, full: float) -> int:
        """So much of a full tile's load, at least one."""
        return max(1, round(full * self.pct / 100))


TILE_SECTIONS: Mapping[str, type[Section]] = {
    "tile": TileHeader,
    "loads": TileLoads,
    "run": TileRun,
    "curve": TileCurve,
    "maxima": TileMaxima,
    "services": TileServices,
}
"""Types of a declaration's sections, by key; `[machines]` has a table for each role, `[set]` one for each program, and
`[notes]` has texts.
"""


def read_tile(file: Path, machine_kind: type[MachineSpec] = MachineSpec) -> Tile:
    """Reads a tile's declaration, whose machines have the settings of this kind; raises StudyError with every
    problem.
    """
    document = Document.read(file)
    document.refuse_unknown({*TILE_SECTIONS, "machines", "set", "notes"})
    for key in ("tile", "loads", "run", "curve"):
        if key not in document.content:
            document.note_problem(
                (key,), "the section is missing", f"Add [{key}]; docs/consolidation.md shows a complete file."
            )
    parts: dict[str, Any] = {
        key: document.take((key,), kind, document.content[key]) if key in document.content else None
        for key, kind in TILE_SECTIONS.items()
    }
    curve = parts["curve"]
    if curve is not None and abs(sum(curve.factors) / len(curve.factors) - 1) > 1e-6:
        mean = sum(curve.factors) / len(curve.factors)
        document.note_problem(("curve", "factors"), f"their mean is {mean:.4f}", "Use factors whose mean is 1.")
    machines, notes, settings = _read_machines(document, machine_kind), read_notes(document), _read_settings(document)
    document.finish()
    header, loads, run, maxima = parts["tile"], parts["loads"], parts["run"], parts["maxima"]
    return Tile(header, loads, run, curve, maxima, machines, notes, parts["services"] or TileServices(), settings)


def _read_settings(document: Document) -> SettingsByProgram:
    """Reads the tables of programs below `[set]`; notes problems in the document."""
    settings = document.content.get("set", {})
    if isinstance(settings, dict) and all(isinstance(table, dict) for table in settings.values()):
        return flatten_settings(settings)
    document.note_problem(
        ("set",), "is not a table for each program", "Write [set.php] and below it lines as children = 50."
    )
    return {}


def _read_machines(document: Document, machine_kind: type[MachineSpec]) -> RoleSettings:
    """Reads the tables of machines; notes problems in the document."""
    machines = read_role_tables(document, machine_kind)
    for selector, settings in machines.items():
        number, role = split_selector(selector)
        place = ("machines", *selector.split("."))
        if role not in set(Role):
            document.note_problem(place, "unknown role", suggest(role, set(Role)))
        if number and (not number.isdigit() or int(number) < 1):
            document.note_problem(place, f"`{number}` is not the number of a tile", "Use 1, 2, ...")
        if "count" in settings:
            document.note_problem((*place, "count"), "a tile has one machine of each role", "Remove it.")
    return machines
