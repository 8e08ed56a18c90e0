"""`loadstone tiles` and `loadstone tiles search`: consolidation, all workloads of all tiles at once."""

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from loadstone.cli.command import Command
from loadstone.cli.exits import Exit
from loadstone.cli.live import View
from loadstone.cli.options import FitnessOptions, MachineOptions, ResultOptions, make_placement
from loadstone.cli.results import RESULT
from loadstone.cli.run_options import SingleRunOptions, carry_out
from loadstone.cli.screen import out, say, warn
from loadstone.cli.section_options import SectionOptions, declare_options, make_callback
from loadstone.cli.study import say_where, write_study_reports
from loadstone.judge.score import DISCLAIMER
from loadstone.model.errors import UsageError
from loadstone.model.profile import PROFILES, Phases, find_profile
from loadstone.model.records.status import Status
from loadstone.model.selector import merge_roles
from loadstone.model.service import ServiceRole
from loadstone.model.system import Reference
from loadstone.model.tile import Tile
from loadstone.model.tile_services import TileServices
from loadstone.model.tiles import Tiles
from loadstone.run.spec import RunSpec
from loadstone.run.tiles.spec import (
    build_tiles_spec,
    find_tile,
    list_shipped_tiles,
    list_tile_loads,
)
from loadstone.services.registry import get_service_kind, list_service_kinds
from loadstone.store.read import read_manifest
from loadstone.store.study import read_answer, read_study_manifest
from loadstone.study.base import TileRuns
from loadstone.study.kinds import tiles as kind_of_tiles
from loadstone.study.kinds.tiles.answer import TileTrial, describe_tenths
from loadstone.study.kinds.tiles.question import TilesPeak
from loadstone.study.question import QuestionSet
from loadstone.study.resolve import resolve_limits
from loadstone.study.runner import Progress, run_study
from loadstone.study.sections import RUN, SYSTEM_HEADING, DriverSection, ProfileSection, ProgramSettings
from loadstone.study.spec import StudySpec

app = typer.Typer(no_args_is_help=False, help="Run tiles of six machines under all loads at once, and score them.")

DEMO = Phases(ramp_up_s=4, warm_up_s=5, steady_s=21, ramp_down_s=1)
"""Long enough for two heartbeats of every machine that is asked for them."""
TILES_HELP = """Run tiles - web, infra, app, db, mail and idle machines - under all loads at once, and score them.

[bold]loadstone tiles --tiles 2 --last-fraction 0.5 --profile quick[/] runs a full tile and half of one;
[bold]loadstone tiles --platform vm[/] gives each of the six roles its own virtual machine;
[bold]loadstone tiles search[/] adds tiles until a limit is exceeded or the score stops rising.
"""
SEARCH_HELP = (
    "Find how many tiles this host sustains: adds tiles, then a fraction, until a limit is exceeded or the score stops "
    "rising."
)


SERVICE_ROLES = {
    "service": ServiceRole.WEB,
    "backend_service": ServiceRole.BACKEND,
    "app": ServiceRole.DEALERSHIP,
    "database": ServiceRole.DATABASE,
    "imap": ServiceRole.MAIL,
    "store": ServiceRole.STORE,
}
"""Role of the services that an option chooses among."""
SERVICE_NAMES = {option: list(list_service_kinds(role)) for option, role in SERVICE_ROLES.items() if option != "store"}


@dataclass(frozen=True, kw_only=True)
class TileOptions(MachineOptions, FitnessOptions, ResultOptions):
    """What runs and searches of tiles have in common."""

    driver: SectionOptions = declare_options(DriverSection, only=("seed", "foreign_cpu_pct"))
    lengths: SectionOptions = declare_options(ProfileSection, only=("warm_up_s", "steady_s"))
    tile: Annotated[str, typer.Option(help=f"Tile: {', '.join(list_shipped_tiles())}, or a file (.toml).")] = "laptop"
    profile: Annotated[
        str | None,
        typer.Option(
            help=f"Profile (phase lengths): {', '.join(PROFILES)}. Default: from the tile.", rich_help_panel=RUN
        ),
    ] = None
    services: SectionOptions = declare_options(TileServices, SYSTEM_HEADING, SERVICE_NAMES)
    programs: SectionOptions = declare_options(ProgramSettings)

    def build_tiles(self) -> Tiles:
        """Returns one full tile with its services. Raises LoadstoneError."""
        declared = find_tile(self.tile)
        return Tiles(declared, list_tile_loads(1, None), self._services(declared))

    def build_spec(self, name: str, tiles: Tiles, lengths: tuple[Phases, str] | None = None) -> RunSpec:
        """Returns a run of tiles, with the phases and the profile's name of the options where none are given. Raises
        LoadstoneError.
        """
        phases, profile_name = lengths or self._choose_phases(tiles.tile)
        placement = make_placement(self.platform, self.machine or (), None, cold=self.cold)
        driver = self.driver.read(DriverSection)
        spec = build_tiles_spec(
            self.name or name,
            tiles,
            self.results,
            phases=phases,
            profile_name=profile_name,
            seed=driver.seed,
            placement=placement,
        )
        notes = {**spec.notes, **self.tags}
        return replace(spec, driver_limits=resolve_limits(driver), fleet=self.read_hosts(), notes=notes)

    def _choose_phases(self, declared: Tile) -> tuple[Phases, str]:
        """Returns the phases of the run and the name of their profile. Raises UsageError."""
        phases, profile = declared.phases, declared.name
        if self.profile in list_shipped_tiles():
            raise UsageError(
                f"`{self.profile}` is a tile, not a profile. Use --tile {self.profile}, and --profile for the length."
            )
        if self.profile is not None:
            phases, profile = find_profile(self.profile).phases, self.profile
        lengths = {name: seconds for name, seconds in self.lengths.values.items() if seconds is not None}
        if lengths:
            phases, profile = replace(phases, **lengths), f"{profile} (changed)"  # type: ignore[arg-type]
        return phases, profile

    def _services(self, tile: Tile) -> Reference:
        """Returns the services of all tiles: those of the tile, and in their places those of the options. Raises
        UsageError for an unknown one.
        """
        services = tile.services.merge(self.services.read(TileServices))
        for option, role in SERVICE_ROLES.items():
            if name := getattr(services, option):
                get_service_kind(role, name)
        settings = merge_roles(tile.settings, self.programs.read(ProgramSettings).set)
        return services.to_reference(settings)


@dataclass(frozen=True, kw_only=True)
class TilesCommand(TileOptions, SingleRunOptions, Command):
    """The options of a run of tiles, and the run."""

    context: typer.Context
    tiles: Annotated[int, typer.Option(min=1, max=1000, help="Number of tiles.")] = 1
    last_fraction: Annotated[
        float | None,
        typer.Option(help="Load of the last tile as a fraction of a full one, 0.1 to 0.9. Default: full load."),
    ] = None
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=A,B,...", help="Groups of the tiles, assigned round robin: numa=0,1. Repeatable."),
    ] = None
    power: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SCOPE=METER",
            help="Power meter of the server or the system: rapl, rapl:FOLDER, csv:FILE (seconds,watts) "
            "or command:WORDS. Repeatable.",
        ),
    ] = None

    def execute(self) -> Exit:
        """Runs, judges, scores, reports; returns what the shell is told. Raises LoadstoneError."""
        tiles = replace(
            self.build_tiles(),
            loads=list_tile_loads(self.tiles, self.last_fraction),
            groups=_groups(self.group or []),
            has_heartbeats=bool(self.power),
        )
        spec = self.build_spec(f"tiles-{tiles.tile.name}", tiles)
        spec = replace(spec, power=tuple(self.power or ()), fault=self.planned_fault)
        with self.serve_figures() as listeners:
            return carry_out(spec, self.report, listeners)[1]


@dataclass(frozen=True, kw_only=True)
class DemoCommand(FitnessOptions, ResultOptions, Command):
    """Run one laptop tile of six roles as processes of this machine for half a minute, and score it.

    The exit code is 0 for every completed run, whatever its verdict.
    """

    def execute(self) -> Exit:
        """Runs, judges, scores, reports; returns what the shell is told. Raises LoadstoneError."""
        options = TileOptions(name=self.name, results=self.results, driver=self.driver, tag=self.tag)
        spec = options.build_spec("demo", options.build_tiles(), (DEMO, "demo"))
        path, ended = carry_out(spec, self.report)
        return Exit.PASS if read_manifest(path).status is Status.COMPLETE else ended


@dataclass(frozen=True, kw_only=True)
class TilesSearchCommand(TileOptions, Command):
    """The options of a search of tiles, and the search."""

    most_tiles: Annotated[int, typer.Option(min=1, max=1000, help="Largest number of tiles to try.")] = 64
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh", help="Start from scratch, even if the same search was interrupted.", rich_help_panel=RESULT
        ),
    ] = False

    def execute(self) -> Exit:
        """Searches and reports; returns what the shell is told. Raises LoadstoneError."""
        tiles = self.build_tiles()
        spec = self.build_spec(f"tiles-search-{Path(self.tile).stem}", tiles)
        questions = QuestionSet((TilesPeak(tiles.tile.name, self.most_tiles),))
        base = TileRuns(spec, self.most_tiles)
        kind = kind_of_tiles.KIND
        study = StudySpec(spec.name, kind, questions, base, {"tile": tiles.tile.name}, self.fresh)
        with View() as view:
            path = asyncio.run(run_study(study, view.on_event, view.begin, _tell))
            if self.report:
                view.phase = "writing the reports"
                write_study_reports(path)
        manifest, answer = read_study_manifest(path), read_answer(path, kind.adapter).parts[0]
        for line in answer.headline:
            say(line)
        out.print(DISCLAIMER, style="dim", soft_wrap=True)
        say_where(path, self.report)
        if manifest.status is Status.INTERRUPTED:
            return Exit.INTERRUPTED
        return Exit.PASS if answer.is_answered else Exit.FAIL


def _tell(progress: Progress) -> None:
    if progress.last is not None:
        trial = TileTrial.from_run(progress.last)
        warn(f"{describe_tenths(trial.tenths)}: {trial.verdict}, score {trial.score:g}")


def _groups(texts: list[str]) -> dict[str, tuple[str, ...]]:
    groups = {}
    for text in texts:
        name, _, members = text.partition("=")
        if not name or not all(members.split(",")):
            raise UsageError(
                f"`{text}` is not a valid grouping. Use NAME=A,B,... with a group for each tile, such as numa=0,1,0,1."
            )
        groups[name] = tuple(members.split(","))
    return groups


app.callback(invoke_without_command=True, help=TILES_HELP)(make_callback(TilesCommand))
app.command("search", help=SEARCH_HELP)(make_callback(TilesSearchCommand))
