"""`loadstone score systems`: scores of several systems beside each other."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from loadstone.cli.results import RESULTS, Results, find_result
from loadstone.cli.screen import VERDICT_STYLE, out, say
from loadstone.judge.consolidation import CLASSIC
from loadstone.judge.score import DISCLAIMER
from loadstone.judge.systems import RankedSystem, SystemScore, rank_systems, score_printed, score_result
from loadstone.model.errors import UsageError
from loadstone.report.systems import PRINTED, describe_system, render_systems
from loadstone.run.tiles.table import read_systems
from loadstone.store.documents import write_atomic
from loadstone.store.read import read_result

SCORED_COLUMNS = ("system", "score", "by the first", "size", "QoS, %", "worst tile, %", "verdict")


def compare_systems(
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN]...", help="Stored runs with a score, by name or path.")
    ] = None,
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--csv",
            exists=True,
            dir_okay=False,
            help="CSV table of tiles. A column `system` or `board` names the system of each tile. Repeatable.",
        ),
    ] = None,
    page: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page with bars as well.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    results: Results = RESULTS,
) -> None:
    """Compare the scores of several systems: stored runs, and tables that others published.

    [bold]loadstone score systems latest --csv published.csv[/] compares the newest run with the systems of a table.
    Printed figures that do not follow from the others are named.
    """
    scored = [*_measured(runs or (), results), *_printed(files or ())]
    if not scored:
        raise UsageError("Name the systems to compare: stored runs, tables with `--csv FILE`, or both.")
    ranked = list(rank_systems(scored))
    if page is not None:
        write_atomic(page, render_systems(ranked).encode())
    if as_json:
        typer.echo(json.dumps({"systems": [_document(row) for row in ranked], "disclaimer": DISCLAIMER}, indent=1))
    else:
        _show(ranked)


def _measured(runs: Sequence[str], results: Path) -> Iterator[SystemScore]:
    for run in runs:
        path = find_result(run, results)
        yield score_result(path.name, read_result(path))


def _printed(files: Sequence[Path]) -> Iterator[SystemScore]:
    for file in files:
        for name, tiles in read_systems(file).items():
            yield score_printed(name, tiles, CLASSIC)


def _show(ranked: Sequence[RankedSystem]) -> None:
    for kind in dict.fromkeys(row.system.kind for row in ranked):
        table = Table(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False, title=kind, title_justify="left")
        for index, title in enumerate(SCORED_COLUMNS):
            table.add_column(title, justify="right" if 0 < index < len(SCORED_COLUMNS) - 1 else "left")
        for row in ranked:
            if row.system.kind == kind:
                table.add_row(*_cells(row))
        out.print(table)
    for row in ranked:
        _show_audits(row.system)
    out.print(DISCLAIMER, style="dim", soft_wrap=True)


def _cells(row: RankedSystem) -> list[str]:
    verdict = row.system.verdict
    return [*describe_system(row), PRINTED if verdict is None else f"[{VERDICT_STYLE[verdict]}]{verdict}[/]"]


def _show_audits(system: SystemScore) -> None:
    if not system.audits:
        return
    broken = system.broken_audits
    say(f"{system.name}: {len(system.audits) - len(broken)} of {len(system.audits)} printed figures follow from others")
    for audit in broken:
        computed = f"{audit.relation.text} gives {audit.computed:.4f}"
        say(f"         tile {audit.tile}: {audit.relation.column} is printed as {audit.printed}, but {computed}")


def _document(row: RankedSystem) -> dict[str, Any]:
    system = row.system
    return {
        "system": system.name,
        "kind": system.kind,
        "score": system.score,
        "score_error": system.score_error,
        "size": system.size,
        "qos_pct": system.qos_pct,
        "least_qos_pct": system.least_qos_pct,
        "verdict": system.verdict,
        "ratio": row.ratio,
        "ratio_error": row.ratio_error,
        "audits": len(system.audits),
        "broken_audits": [
            {
                "tile": audit.tile,
                "column": audit.relation.column,
                "printed": float(audit.printed),
                "computed": float(audit.computed),
                "relation": audit.relation.text,
            }
            for audit in system.broken_audits
        ],
    }
