"""`loadstone score` and `loadstone placement`: arithmetic on tiles that were measured before, here or elsewhere."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from loadstone.cli.consolidation import show_doubt, show_tiles
from loadstone.cli.exits import BY_VERDICT
from loadstone.cli.results import RESULTS, Results, find_result
from loadstone.cli.screen import out
from loadstone.cli.systems import compare_systems
from loadstone.judge.consolidation import CLASSIC, CONSOLIDATION_SCORE_NAME, Consolidation, Maxima, score_tiles
from loadstone.judge.placement import (
    collect_figures,
    compare_groups,
    compute_reach,
    group_by_parity,
    select_worse_groups,
)
from loadstone.judge.score import DISCLAIMER
from loadstone.judge.tiles import StoredTile, get_maxima, list_tiles, record_score
from loadstone.model.errors import UsageError
from loadstone.model.numbers import format_chance
from loadstone.model.records.verdict import Verdict
from loadstone.run.tiles.table import read_systems
from loadstone.store.read import read_result, read_verdict

Scored = dict[str, Any]
"""A score as `--json` prints it."""

app = typer.Typer(no_args_is_help=True, help="Compute scores from stored figures.")
app.command("systems")(compare_systems)

CsvFile = Annotated[
    Path | None,
    typer.Option(
        "--csv",
        exists=True,
        dir_okay=False,
        help="CSV table with the columns app,web,mail,qos_app,qos_web,qos_mail,qos_idle.",
    ),
]
SystemName = Annotated[
    str | None,
    typer.Option(
        "--system", metavar="NAME", help="System of a table that has several, by its column `system` or `board`."
    ),
]
Stored = Annotated[str | None, typer.Argument(metavar="RUN", help="Stored run of tiles, or `latest`.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@app.callback()
def score() -> None:
    """Compute scores from stored figures."""


@app.command("consolidation")
def score_consolidation(
    run: Stored = None,
    file: CsvFile = None,
    system: SystemName = None,
    maxima: Annotated[
        str | None,
        typer.Option(
            metavar="APP,WEB,MAIL",
            help="Maximum of each load. Default: those of the run, or the classic ones for --csv.",
        ),
    ] = None,
    as_json: AsJson = False,
    results: Results = RESULTS,
) -> None:
    """Score tiles: each tile's score and quality of service, and the overall figures.

    [bold]loadstone score consolidation --csv tiles.csv[/] scores a table; [bold]loadstone score consolidation latest[/]
    scores a stored run again.
    """
    held, most = _stored_tiles(run, file, system, results)
    most = most if maxima is None else _maxima(maxima)
    scored = score_tiles([tile.tile for tile in held], most)
    verdict = None if run is None else _verdict(find_result(run, results))
    if as_json:
        typer.echo(json.dumps({**_document([tile.number for tile in held], scored), "verdict": verdict}, indent=1))
    else:
        show_tiles(record_score(held, scored, most))
        if verdict not in (None, Verdict.PASS):
            show_doubt(verdict, f"See `loadstone report {run}`.")
    if verdict is not None:
        raise typer.Exit(BY_VERDICT[verdict])


def _verdict(path: Path) -> Verdict:
    """What the whole run amounts to; one that was never judged is invalid."""
    verdict = read_verdict(path)
    return Verdict.INVALID if verdict is None or verdict.consolidation is None else verdict.whole


def compare_placement(
    run: Stored = None,
    file: CsvFile = None,
    system: SystemName = None,
    by: Annotated[
        str,
        typer.Option(
            help="Grouping to test: parity (even against odd tiles), a column of the table, or a group of the run."
        ),
    ] = "parity",
    as_json: AsJson = False,
    results: Results = RESULTS,
) -> None:
    """Test whether a group of tiles performed worse than the others: by NUMA node, bridge, disk, or parity.

    [bold]loadstone placement --csv tiles.csv --by parity[/] compares even with odd tiles. Every group needs two
    tiles. p is the probability of so large a difference if groups have no effect.
    """
    held, most = _stored_tiles(run, file, system, results)
    tiles = [tile.tile for tile in held]
    groups, figures = _groups(held, by), collect_figures(tiles, score_tiles(tiles, most))
    tested, could = compare_groups(groups, figures), compute_reach(groups, figures)
    worse = select_worse_groups(tested)
    if as_json:
        rows = [
            {
                "group": result.group,
                "figure": result.figure.name,
                "mean": result.mean,
                "others": result.others,
                "p": result.p,
                "worse": result.is_worse,
            }
            for result in tested
        ]
        typer.echo(json.dumps({"by": by, "worse": list(worse), "findings": rows, "reach": asdict(could)}, indent=1))
        return
    table = Table("group", "figure", "its mean", "others", "p", "", box=SIMPLE_HEAD, pad_edge=False)
    for result in tested:
        mark = "[red]worse[/]" if result.is_worse else ""
        table.add_row(
            result.group, result.figure.name, f"{result.mean:.3f}", f"{result.others:.3f}", f"{result.p:.4f}", mark
        )
    out.print(table)
    for group, shown in worse.items():
        named = ", ".join(f"{result.figure.name} ({format_chance(result.p, 4)})" for result in shown)
        out.print(f"[bold red]{group}[/] tiles did worse than the others: {named}.", soft_wrap=True)
    if not worse:
        out.print(f"No group did worse than chance explains; {could.in_words}.", soft_wrap=True)
    out.print("p-values by permutation of tiles over groups, corrected for all tests together (Holm).", style="dim")


def _stored_tiles(
    run: str | None, file: Path | None, system: str | None, results: Path
) -> tuple[list[StoredTile], Maxima]:
    """The tiles asked for and their maxima; every column of a table is a grouping. Raises LoadstoneError."""
    if run is None and file is None:
        raise UsageError("Name a stored run, or a table: `--csv FILE`.")
    if run is not None and file is not None:
        raise UsageError("Name a stored run or a table, not both.")
    if file is not None:
        return take_system(file, system), CLASSIC
    if system is not None:
        raise UsageError("--system chooses a system of a table. Add --csv FILE, or leave it out.")
    result = read_result(find_result(str(run), results))
    return list_tiles(result), get_maxima(result)


def take_system(file: Path, name: str | None) -> list[StoredTile]:
    """Returns the tiles of one system of a table. Raises UsageError where the table has several and none is named."""
    systems = read_systems(file)
    names = ", ".join(systems)
    if name is None and len(systems) > 1:
        raise UsageError(
            f"{file} has the tiles of {len(systems)} systems: {names}. Choose one with --system NAME. "
            f"`loadstone score systems --csv {file}` compares them."
        )
    if name is not None and name not in systems:
        raise UsageError(f"{file} has no system `{name}`. It has {names}.")
    return systems[name] if name is not None else next(iter(systems.values()))


def _groups(held: list[StoredTile], grouping: str) -> list[str]:
    if grouping == "parity":
        return group_by_parity([tile.number for tile in held])
    known = sorted({name for tile in held for name in tile.groups})
    if grouping not in known:
        raise UsageError(f"`{grouping}` is not a grouping of these tiles. Use one of {', '.join(['parity', *known])}.")
    return [tile.groups.get(grouping, "none") for tile in held]


def _maxima(text: str) -> Maxima:
    try:
        app, web, mail = (float(part) for part in text.split(","))
    except ValueError:
        app = web = mail = 0.0
    if not (app > 0 and web > 0 and mail > 0):
        raise UsageError(
            f"`{text}` is not a valid list of maxima. Use three rates above 0, such as --maxima 34.90,54.14,89.88."
        )
    return Maxima.from_scores(app, web, mail)


def _document(numbers: list[int], scored: Consolidation) -> Scored:
    tiles = [
        {"tile": number, "score": float(tile.shown), "qos": float(tile.shown_qos)}
        for number, tile in zip(numbers, scored.tiles, strict=True)
    ]
    return {
        "name": CONSOLIDATION_SCORE_NAME,
        "tiles": tiles,
        "score": float(scored.score),
        "qos_pct": float(scored.qos_pct),
        "least_qos_pct": float(scored.least_qos_pct),
        "headline": scored.headline,
        "disclaimer": DISCLAIMER,
    }
