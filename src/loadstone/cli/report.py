"""`loadstone report` and `loadstone results`."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Column, Table

from loadstone.cli.options import RESULTS, Results
from loadstone.cli.run import conclude
from loadstone.cli.screen import VERDICT_STYLE, errors, out
from loadstone.judge.tiles import is_of_tiles, whole_verdict
from loadstone.model.errors import StoreError, UsageError
from loadstone.report import export as export_module
from loadstone.report.build import Format, write_report
from loadstone.report.study import write_study_report
from loadstone.run.published import take_in as take_published
from loadstone.run.runner import judge
from loadstone.store.folder import broken_seal
from loadstone.store.read import catalogue, read_result, read_verdict
from loadstone.store.study import STUDY, studies

Json = dict[str, Any]


def report(
    result: Annotated[str, typer.Argument(metavar="RUN", help="A result folder, its name, or `latest`.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write it.")] = None,
    form: Annotated[Format, typer.Option("--format", help="What to write.")] = Format.HTML,
    rejudge: Annotated[bool, typer.Option("--rejudge", help="Judge the stored figures anew first.")] = False,
    results: Results = RESULTS,
) -> None:
    """Write the report of a result or a study: one self-contained HTML file, Markdown or JSON."""
    path = find_result(result, results)
    if (path / STUDY).is_file():
        if rejudge:
            raise UsageError("A study's runs are judged one by one. Name a run of it.")
        out.print(str(write_study_report(path, form, output)), soft_wrap=True)
        return
    changed = broken_seal(path)
    if changed:
        errors.print(f"[yellow]warning:[/] not what was measured any more: {', '.join(changed)}")
    if rejudge or read_verdict(path) is None:
        judge(path)
    out.print(str(write_report(path, form, output)), soft_wrap=True)


def export(
    result: Annotated[str, typer.Argument(metavar="RUN", help="A result folder, its name, or `latest`.")],
    form: Annotated[export_module.Form, typer.Option("--format", help="csv, parquet, hlog (HdrHistogram) or k6.")],
    run: Annotated[str | None, typer.Option(help="Which run of the result, as `banking-1`.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write it, if not here.")] = None,
    results: Results = RESULTS,
) -> None:
    """Write a run's records for other tools: CSV or Parquet series, HdrHistogram interval log, k6-like summary."""
    path = find_result(result, results)
    if (path / STUDY).is_file():
        raise UsageError(f"{path} is a study. Name one of the runs below it: {path / 'runs'}.")
    content = export_module.export(read_result(path), form, run)
    if output is None and form is export_module.Form.PARQUET and sys.stdout.isatty():
        raise UsageError("Parquet is nothing to look at. Name a file with --output.")
    if output is None:
        typer.echo(content, nl=False)
        return
    try:
        output.write_bytes(content)
    except OSError as error:
        raise StoreError(f"It cannot be written: {error}. Name another file with --output.") from None


def take_in(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A CSV of published iterations.")],
    sessions: Annotated[str, typer.Option(help="Sessions of each workload, as banking=2300,support=2200.")],
    name: Annotated[str | None, typer.Option(help="Name of the result folder.")] = None,
    results: Results = RESULTS,
) -> None:
    """Take published iterations into the store: judged and reported like a run, as far as they were disclosed.

    The file has the columns workload,table,page,column,value.
    """
    path = take_published(file, _sessions(sessions), results, name or file.stem)
    raise typer.Exit(conclude(path, write_report(path)))


def _sessions(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for word in filter(None, text.split(",")):
        workload, _, count = word.partition("=")
        if not count.isdigit() or int(count) < 1:
            raise UsageError(f"`{word}` is no number of sessions. Write WORKLOAD=N, several with commas between.")
        found[workload] = int(count)
    return found


def results(
    results: Results = RESULTS,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the results and studies, newest first."""
    rows: list[Json] = [
        {
            "path": str(path),
            "status": manifest["status"],
            "profile": manifest["profile"]["name"],
            "study": manifest["kind"],
            "workloads": [one["workload"] for one in manifest["workloads"]],
        }
        for path, manifest in studies(results)
    ]
    for path, manifest in catalogue(results):
        verdict = read_verdict(path) or {"workloads": []}
        verdicts = {one["workload"]: one["verdict"] for one in verdict["workloads"]}
        rows.append(
            {
                "path": str(path),
                "status": manifest["status"],
                "profile": manifest["profile"]["name"],
                **({"tiles": _tiles(manifest, verdict)} if is_of_tiles(manifest) else {}),
                "workloads": {
                    terms["workload"]: {
                        "sessions": terms["sessions"],
                        "load": terms.get("load") or f"{terms['sessions']} sessions",
                        "verdict": verdicts.get(terms["workload"]),
                    }
                    for terms in manifest["terms"]
                },
            }
        )
    rows.sort(key=lambda row: Path(row["path"]).name, reverse=True)
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    if not rows:
        out.print(f"There is no result in {results}. `loadstone demo` makes one.")
        return
    result = Column("result", no_wrap=True)
    table = Table(result, "status", "profile", "workloads", box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        about = row.get("tiles") or _verdicts(row["workloads"])
        if "study" in row:
            about = f"{row['study']} of {', '.join(row['workloads'])}"
        table.add_row(Path(row["path"]).name, row["status"], row["profile"], about)
    out.print(table)


def find_result(name: str, results: Path) -> Path:
    """The folder of a result by path, by name below `results`, or `latest`; raises StoreError."""
    if name == "latest":
        everything = [path for path, _ in (*catalogue(results), *studies(results))]
        if not everything:
            raise StoreError(f"There is no result in {results}. `loadstone demo` makes one.")
        return max(everything, key=lambda path: path.name)
    for path in (Path(name), results / name):
        if path.is_dir():
            return path
    raise StoreError(f"There is no result `{name}`. `loadstone results` lists those there are.")


def _tiles(manifest: Json, verdict: Json) -> str:
    """A run of tiles in a line."""
    count, common = len(manifest["tiles"]), verdict.get("consolidation")
    what = f"{count} {manifest['tile']['name']} tile{'s' * (count != 1)}"
    if common is None:
        return f"{what}: not judged"
    return f"{what}: {common['score']:g}, {whole_verdict(verdict)}"


def _verdicts(workloads: Json) -> str:
    parts = []
    for name, one in workloads.items():
        style = VERDICT_STYLE.get(one["verdict"] or "", "dim")
        parts.append(f"{name} ({one['load']}) [{style}]{one['verdict'] or 'not judged'}[/]")
    return ", ".join(parts)
