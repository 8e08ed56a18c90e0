"""`loadstone results`, `report`, `export` and `import`: what has been measured, and what can be made of it."""

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Column, Table

from loadstone.cli.conclude import conclude
from loadstone.cli.exits import Exit
from loadstone.cli.options import RESULTS, Results
from loadstone.cli.screen import VERDICT_STYLE, errors, out, say, warn
from loadstone.model.errors import StoreError, UsageError
from loadstone.model.records.verdict import Verdict
from loadstone.report import export as export_module
from loadstone.report.build import Format, write_report
from loadstone.report.study import write_study_report
from loadstone.run.judging import judge
from loadstone.run.published import import_published
from loadstone.run.tiles.published import import_tiles
from loadstone.run.tiles.table import is_tile_table
from loadstone.store.folder import Seal, SealState, seal_of
from loadstone.store.index import ListedResult, ResultIndex
from loadstone.store.read import read_result
from loadstone.store.refused import find_refusal_since
from loadstone.store.study import is_study

ListEntry = dict[str, Any]
"""A result or study as `results --json` prints it."""
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
    a result for each of its systems (docs/consolidation.md).
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


NEWEST = 50
"""Results that are listed unless all are asked for."""


def list_results(
    results: Results = RESULTS,
    every: Annotated[bool, typer.Option("--all", help=f"List all results. Default: the newest {NEWEST}.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the results and studies, newest first."""
    unreadable: list[str] = []
    index = ResultIndex.load(results)
    listed = index.find_newest(None if every else NEWEST + 1, unreadable)
    index.save()
    shown = listed if every else listed[:NEWEST]
    if as_json:
        typer.echo(json.dumps([_entry(path, result) for path, result in shown], indent=1))
    elif not shown:
        say(f"There is no result in {results}. `loadstone demo` makes one.")
    else:
        _show(shown)
    if len(shown) < len(listed):
        warn(f"older results are not listed: only the newest {NEWEST} are. Use --all for all of them.")
    for reason in unreadable:
        warn(f"passed over: {reason}")


def _entry(path: Path, listed: ListedResult) -> ListEntry:
    common: ListEntry = {"path": str(path), "status": listed.status, "profile": listed.profile}
    if listed.is_study:
        return {**common, "study": listed.study, "workloads": listed.workloads}
    verdicts = _verdicts_by_label(listed)
    workloads = {
        load.workload: {"sessions": load.sessions, "load": load.load, "verdict": verdicts.get(load.workload)}
        for load in listed.loads
    }
    return {**common, **({"tiles": listed.tiles} if listed.tiles else {}), "workloads": workloads}


def _verdicts_by_label(listed: ListedResult) -> dict[str, Verdict]:
    return {each.workload: each.verdict for each in listed.verdicts}


def _show(results: list[tuple[Path, ListedResult]]) -> None:
    result = Column("result", no_wrap=True)
    table = Table(result, "status", "profile", "workloads", box=SIMPLE_HEAD, pad_edge=False)
    for path, listed in results:
        table.add_row(*map(escape, (path.name, listed.status, listed.profile)), _about(listed))
    out.print(table)


def _about(listed: ListedResult) -> str:
    """What a result or a study is about, marked up."""
    if listed.is_study:
        return escape(f"{listed.study} of {', '.join(listed.workloads)}")
    return escape(listed.tiles) if listed.tiles else _loads(listed)


def _loads(listed: ListedResult) -> str:
    """Workloads with load and verdict, marked up."""
    verdicts, parts = _verdicts_by_label(listed), []
    for load in listed.loads:
        verdict = verdicts.get(load.workload)
        style = VERDICT_STYLE.get(verdict or "", "dim")
        parts.append(f"{escape(load.workload)} ({escape(load.load)}) [{style}]{verdict or 'not judged'}[/]")
    return ", ".join(parts)


def find_result(name: str, results: Path, maker: str = "loadstone demo") -> Path:
    """The folder of a result by path, by name below `results`, or `latest`; raises StoreError where there is no such
    one, or `latest` would be older than a command that was refused. `maker` is the command to advise if there is none.
    """
    if name == "latest":
        return _latest(results, maker)
    for path in (Path(name), results / name):
        if path.is_dir():
            return path
    raise StoreError(f"There is no result `{name}`. `loadstone results --all` lists all results.")


def _latest(results: Path, maker: str) -> Path:
    """The newest result or study; raises StoreError where there is none, or a later command was refused."""
    newest = next(ResultIndex(results).sort_newest_first(), None)
    if newest is None:
        raise StoreError(f"There is no result in {results}. `{maker}` makes one.")
    path, listed = newest
    refusal = find_refusal_since(results, datetime.fromisoformat(listed.started))
    if refusal is not None:
        raise StoreError(f"{refusal}. The newest result is {path.name}, from before. Use its name instead of `latest`.")
    return path
