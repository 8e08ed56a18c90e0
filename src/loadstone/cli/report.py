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
from loadstone.model.records.manifest import Manifest, StudyManifest
from loadstone.model.records.verdict import ResultVerdict
from loadstone.report import export as export_module
from loadstone.report.build import Format, write_report
from loadstone.report.study import write_study_report
from loadstone.run.judging import judge
from loadstone.run.published import import_published
from loadstone.store.folder import Seal, SealState, seal_of
from loadstone.store.read import catalogue, read_result, read_verdict
from loadstone.store.refused import refusal_since
from loadstone.store.study import is_study, studies

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
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="CSV file of published iterations.")],
    sessions: Annotated[
        str, typer.Option(help="Number of sessions of each workload, such as banking=2300,support=2200.")
    ],
    name: Annotated[str | None, typer.Option(help="Name of the result folder.")] = None,
    results: Results = RESULTS,
) -> None:
    """Import published iterations into the results: judged and reported like a run, as far as they were disclosed.

    The file has the columns workload,table,page,column,value.
    """
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


def results(
    results: Results = RESULTS,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the results and studies, newest first."""
    unreadable: list[str] = []
    rows: list[ListEntry] = [
        {
            "path": str(path),
            "status": manifest.status,
            "profile": manifest.profile.name,
            "study": manifest.kind,
            "workloads": [workload.workload for workload in manifest.workloads],
        }
        for path, manifest in studies(results, unreadable)
    ]
    rows += [_listed(path, manifest, unreadable) for path, manifest in catalogue(results, unreadable)]
    rows.sort(key=lambda row: Path(row["path"]).name, reverse=True)
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
    elif not rows:
        say(f"There is no result in {results}. `loadstone demo` makes one.")
    else:
        _show(rows)
    for reason in unreadable:
        warn(f"passed over: {reason}")


def _listed(path: Path, manifest: Manifest, unreadable: list[str]) -> ListEntry:
    try:
        verdict = read_verdict(path)
    except StoreError as error:
        unreadable.append(str(error))
        verdict = None
    verdicts = {workload.workload: workload.verdict for workload in verdict.workloads} if verdict else {}
    return {
        "path": str(path),
        "status": manifest.status,
        "profile": manifest.profile.name,
        **({"tiles": _tiles(manifest, verdict)} if manifest.is_of_tiles else {}),
        "workloads": {
            criteria.workload: {
                "sessions": criteria.sessions,
                "load": criteria.load_in_words,
                "verdict": verdicts.get(criteria.workload),
            }
            for criteria in manifest.criteria
        },
    }


def _show(rows: list[ListEntry]) -> None:
    result = Column("result", no_wrap=True)
    table = Table(result, "status", "profile", "workloads", box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        cells = (Path(row["path"]).name, row["status"], row["profile"])
        table.add_row(*map(escape, cells), _about(row))
    out.print(table)


def _about(row: ListEntry) -> str:
    """What a result or a study is about, marked up."""
    if "study" in row:
        return escape(f"{row['study']} of {', '.join(row['workloads'])}")
    return escape(row["tiles"]) if "tiles" in row else _verdicts(row["workloads"])


def find_result(name: str, results: Path) -> Path:
    """The folder of a result by path, by name below `results`, or `latest`; raises StoreError where there is no such
    one, or `latest` would be older than a command that was refused.
    """
    if name == "latest":
        return _latest(results)
    for path in (Path(name), results / name):
        if path.is_dir():
            return path
    raise StoreError(f"There is no result `{name}`. `loadstone results` lists all results.")


def _latest(results: Path) -> Path:
    """The newest result or study; raises StoreError where there is none, or a later command was refused."""
    everything: list[tuple[Path, Manifest | StudyManifest]] = [*catalogue(results), *studies(results)]
    if not everything:
        raise StoreError(f"There is no result in {results}. `loadstone demo` makes one.")
    path, manifest = max(everything, key=lambda entry: entry[0].name)
    refusal = refusal_since(results, datetime.fromisoformat(manifest.started))
    if refusal is not None:
        raise StoreError(f"{refusal}. The newest result is {path.name}, from before. Use its name instead of `latest`.")
    return path


def _tiles(manifest: Manifest, verdict: ResultVerdict | None) -> str:
    """A run of tiles in a line."""
    count, name = len(manifest.tiles), manifest.tile.name if manifest.tile else ""
    title = f"{count} {name} tile{'s' * (count != 1)}"
    if verdict is None or verdict.consolidation is None:
        return f"{title}: not judged"
    return f"{title}: {verdict.consolidation.score:g}, {verdict.whole}"


def _verdicts(workloads: ListEntry) -> str:
    parts = []
    for name, workload in workloads.items():
        style = VERDICT_STYLE.get(workload["verdict"] or "", "dim")
        parts.append(f"{escape(name)} ({escape(workload['load'])}) [{style}]{workload['verdict'] or 'not judged'}[/]")
    return ", ".join(parts)
