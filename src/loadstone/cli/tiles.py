"""`loadstone tiles` and `loadstone tiles search`: consolidation, all workloads of all tiles at once."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from loadstone.cli.exits import Exit
from loadstone.cli.live import View
from loadstone.cli.options import (
    RESULTS,
    MachineText,
    Platform,
    Results,
    Seed,
    Steady,
    StudyName,
    make_placement,
    profile_of,
)
from loadstone.cli.run import conclude
from loadstone.cli.screen import errors, out
from loadstone.judge.score import DISCLAIMER
from loadstone.model.errors import UsageError
from loadstone.model.profile import PROFILES, Phases
from loadstone.model.software import DatabaseKind, MailKind
from loadstone.report.build import write_report
from loadstone.report.study import write_run_reports, write_study_report
from loadstone.run.tiles.runner import run_tiles
from loadstone.run.tiles.spec import TilesOrder, find_tile, shipped_tiles, tile_loads
from loadstone.store.folder import Status
from loadstone.store.study import read_answer, read_study_manifest
from loadstone.study.kinds.tiles import TilesPeak, Tried, words
from loadstone.study.tiles_search import search_tiles

app = typer.Typer(no_args_is_help=False, help="Run tiles of six machines under all loads at once, and score them.")

TileName = Annotated[str, typer.Option(help=f"What a tile is: {', '.join(shipped_tiles())}, or a file (.toml).")]
Length = Annotated[
    str | None, typer.Option("--profile", help=f"Length: {', '.join(PROFILES)}. Default: the tile's own.")
]
DatabaseOption = Annotated[DatabaseKind, typer.Option(help="What keeps the application's data.")]
ImapOption = Annotated[MailKind, typer.Option(help="What keeps the mail.")]
Groups = Annotated[
    list[str] | None,
    typer.Option("--group", metavar="NAME=A,B,...", help="Groups that tiles are in, one a tile in turn: numa=0,1."),
]


Power = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SCOPE=METER",
        help="server= or system= with rapl, rapl:FOLDER, csv:FILE (seconds,watts), command:WORDS.",
    ),
]


@app.callback(invoke_without_command=True)
def tiles(
    context: typer.Context,
    count: Annotated[int, typer.Option("--tiles", min=1, max=1000, help="How many tiles.")] = 1,
    last_fraction: Annotated[
        float | None, typer.Option(help="Load of the last tile, 0.1 to 0.9 of a full one.")
    ] = None,
    tile: TileName = "laptop",
    profile: Length = None,
    steady: Steady = None,
    platform: Platform = None,
    machine: MachineText = None,
    database: DatabaseOption = DatabaseKind.EMBEDDED,
    imap: ImapOption = MailKind.EMBEDDED,
    group: Groups = None,
    power: Power = None,
    seed: Seed = 1,
    name: StudyName = None,
    results: Results = RESULTS,
) -> None:
    """Run tiles - web, infra, app, db, mail and idle machines - under all loads at once, and score them.

    [bold]loadstone tiles --tiles 2 --last-fraction 0.5 --profile quick[/] runs a full tile and half of one;
    [bold]loadstone tiles --platform vm[/] gives each of the six roles a virtual machine of its own;
    [bold]loadstone tiles search[/] adds tiles until a limit breaks or the score stops rising.
    """
    if context.invoked_subcommand is not None:
        return
    order = make_order(tile, profile, steady, results, name)
    placement = make_placement(platform, machine, None)
    order = replace(
        order,
        loads=tile_loads(count, last_fraction),
        machine=placement.machine,
        database=database,
        imap=imap,
        groups=_groups(group or []),
        power=tuple(power or ()),
        seed=seed,
    )
    raise typer.Exit(carry_out(order))


DEMO = Phases(ramp_up_s=4, warm_up_s=5, steady_s=21, ramp_down_s=1)
"""Long enough for two heartbeats of every machine that is asked for them."""


def demo(results: Results = RESULTS) -> None:
    """Run one laptop tile of six roles as processes of this machine for half a minute, and score it."""
    order = make_order("laptop", None, None, results, "demo")
    raise typer.Exit(carry_out(replace(order, phases=DEMO, profile_name="demo")))


@app.command("search")
def search(
    tile: TileName = "laptop",
    profile: Length = None,
    steady: Steady = None,
    most_tiles: Annotated[int, typer.Option(min=1, max=1000, help="Tiles beyond which no more are tried.")] = 64,
    platform: Platform = None,
    machine: MachineText = None,
    database: DatabaseOption = DatabaseKind.EMBEDDED,
    imap: ImapOption = MailKind.EMBEDDED,
    seed: Seed = 1,
    fresh: Annotated[bool, typer.Option("--fresh", help="Do not go on with a search that was interrupted.")] = False,
    name: StudyName = None,
    results: Results = RESULTS,
) -> None:
    """Find how many tiles this host holds: tiles, then a fraction, until a limit breaks or the score stops rising."""
    placement = make_placement(platform, machine, None)
    order = make_order(tile, profile, steady, results, name or f"tiles-search-{Path(tile).stem}")
    order = replace(order, machine=placement.machine, database=database, imap=imap, seed=seed)
    with View() as view:

        def tell(last: Tried | None, tenths: int | None) -> None:
            if last is not None:
                errors.print(f"{words(last.tenths)}: {last.verdict}, score {last.score:g}", markup=False)

        path = asyncio.run(search_tiles(order, TilesPeak(most_tiles), view.hear, view.begin, tell, fresh))
        view.phase = "writing the reports"
        write_run_reports(path)
        report = write_study_report(path)
    raise typer.Exit(_conclude_search(path, report))


def _conclude_search(path: Path, report: Path) -> Exit:
    manifest, part = read_study_manifest(path), read_answer(path)["parts"][0]
    for line in part["headline"]:
        out.print(line, markup=False, soft_wrap=True)
    out.print(DISCLAIMER, style="dim", soft_wrap=True)
    out.print(f"report: {report}", soft_wrap=True)
    if manifest["status"] == Status.INTERRUPTED:
        return Exit.INTERRUPTED
    return Exit.PASS if part["is_answered"] else Exit.FAIL


def make_order(tile: str, profile: str | None, steady: float | None, results: Path, name: str | None) -> TilesOrder:
    """An order of one full tile, of the tile's own lengths or of those of a profile. Raises LoadstoneError."""
    if profile in shipped_tiles():
        raise UsageError(f"`{profile}` is a tile, not a length. Give --tile {profile}, and --profile for how long.")
    declared = find_tile(tile)
    phases, named = declared.phases, declared.name
    if profile is not None:
        phases, named = profile_of(profile).phases, profile
    if steady is not None:
        phases, named = replace(phases, steady_s=steady), f"{named} (changed)"
    return TilesOrder(name or f"tiles-{declared.name}", declared, tile_loads(1, None), phases, named, results)


def carry_out(order: TilesOrder) -> int:
    """Runs an order, writes its report and says what came of it."""
    with View() as view:
        path = asyncio.run(run_tiles(order, view.hear, view.begin))
        if errors.is_terminal:
            view.phase = "writing the report"
        report = write_report(path)
    return conclude(path, report)


def _groups(texts: list[str]) -> dict[str, tuple[str, ...]]:
    groups = {}
    for text in texts:
        name, _, members = text.partition("=")
        if not name or not all(members.split(",")):
            raise UsageError(f"`{text}` is no grouping. Give a name and a group for each tile, as numa=0,1,0,1.")
        groups[name] = tuple(members.split(","))
    return groups
