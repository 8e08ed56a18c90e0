"""`loadstone report`, `export` and `import`: what can be made of what has been measured, here or by others."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from loadstone.cli.conclude import conclude
from loadstone.cli.exits import Exit
from loadstone.cli.results import RESULTS, Results, find_result
from loadstone.cli.screen import errors, say
from loadstone.model.errors import StoreError, UsageError
from loadstone.report import export as export_module
from loadstone.report.build import Format, write_report
from loadstone.report.study import write_study_report
from loadstone.run.judging import judge
from loadstone.run.published import import_published
from loadstone.run.tiles.published import import_tiles
from loadstone.run.tiles.table import is_tile_table
from loadstone.store.folder import Seal, SealState, seal_of
from loadstone.store.read import read_result
from loadstone.store.study import is_study

ResultName = Annotated[str, typer.Argument(metavar="RUN", help="Result (folder or name), or `latest`.")]


def report(
    result: ResultName,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write. Default: report.html, .md or .json in the result folder."),
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="Format of the report.")] = Format.HTML,
    rejudge: Annotated[
        bool, typer.Option("--rejudge", help="Judge the stored figures again before the report is written.")
    ] = False,
    results: Results = RESULTS,
) -> None:
    """Write the report of a result or a study: one self-contained HTML file, Markdown or JSON.

    Exit code 3 if the seal of a result is broken.
    """
    path = find_result(result, results)
    if is_study(path):
        if rejudge:
            raise UsageError("--rejudge applies to single runs, not to a study. Name one of its runs.")
        say(str(write_study_report(path, form, output)))
        return
    seal = seal_of(path)
    _warn_of(seal)
    if rejudge:
        judge(path)
    say(str(write_report(path, form, output)))
    if seal.state is SealState.BROKEN:
        raise typer.Exit(Exit.INVALID)


def _warn_of(seal: Seal) -> None:
    if seal.state is SealState.BROKEN:
        errors.print(f"[yellow]warning:[/] modified after the measurement: {escape(', '.join(seal.changed))}")


def export(
    result: ResultName,
    form: Annotated[
        export_module.Form,
        typer.Option("--format", help="Format of the export: csv, parquet, hlog (HdrHistogram), k6 or junit."),
    ],
    run: Annotated[str | None, typer.Option(help="Run of the result, such as `banking-1`.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write. Default: standard output.")
    ] = None,
    results: Results = RESULTS,
) -> None:
    """Write a run's records for other tools: CSV or Parquet series, HdrHistogram log, k6-like summary, JUnit XML."""
    path = find_result(result, results)
    if is_study(path):
        raise UsageError(f"{path} is a study. Name one of the runs below it: {path / 'runs'}.")
    content = export_module.export(read_result(path), form, run)
    if output is None and form is export_module.Form.PARQUET and sys.stdout.isatty():
        raise UsageError("Parquet cannot be printed. Use --output FILE.")
    if output is None:
        typer.echo(content, nl=False)
        return
    try:
        output.write_bytes(content)
    except OSError as error:
        raise StoreError(f"Cannot write the export: {error}. Name another file with --output.") from None


def import_table(
    file: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="CSV file of published iterations, or of tiles.")
    ],
    sessions: Annotated[
        str,
        typer.Option(
            help="Number of sessions of each workload of published iterations, such as banking=2300,support=2200."
        ),
    ] = "",
    name: Annotated[str | None, typer.Option(help="Name of the result folder.")] = None,
    results: Results = RESULTS,
) -> None:
    """Import published figures into the results: judged and reported like a run, as far as they were disclosed.

    Iterations have the columns workload,table,page,column,value. A table of tiles has a row for each tile, and becomes
    a result for each of its systems. Both may have figures of monitors (docs/how-to/import.md).
    """
    if is_tile_table(file):
        if sessions:
            raise UsageError("--sessions applies to published iterations. Remove it for a table of tiles.")
        codes = [conclude(path) for path in import_tiles(file, results, name or file.stem)]
        raise typer.Exit(max(codes))
    path = import_published(file, _sessions(sessions), results, name or file.stem)
    raise typer.Exit(conclude(path))


def _sessions(text: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for setting in filter(None, text.split(",")):
        workload, _, count = setting.partition("=")
        if not (count.isascii() and count.isdigit()) or len(count) > LONGEST_COUNT or int(count) < 1:
            raise UsageError(f"`{setting}` is not a valid number of sessions. Use WORKLOAD=N, separated by commas.")
        counts[workload] = int(count)
    return counts


LONGEST_COUNT = 9
"""Digits of a number of sessions."""
