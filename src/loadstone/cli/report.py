"""`loadstone report` and `loadstone results`."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from loadstone.cli.options import RESULTS, Results
from loadstone.cli.screen import VERDICT_STYLE, errors, out
from loadstone.model.errors import StoreError, UsageError
from loadstone.report import export as export_module
from loadstone.report.build import Format, write_report
from loadstone.store.folder import broken_seal
from loadstone.store.read import catalogue, read_result, read_verdict
from loadstone.study.run import judge


def report(
    result: Annotated[str, typer.Argument(metavar="RUN", help="A result folder, its name, or `latest`.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write it.")] = None,
    form: Annotated[Format, typer.Option("--format", help="What to write.")] = Format.HTML,
    rejudge: Annotated[bool, typer.Option("--rejudge", help="Judge the stored figures anew first.")] = False,
    results: Results = RESULTS,
) -> None:
    """Write the report of a result: one self-contained HTML file, Markdown or JSON."""
    path = find_result(result, results)
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
    content = export_module.export(read_result(find_result(result, results)), form, run)
    if output is None and form is export_module.Form.PARQUET and sys.stdout.isatty():
        raise UsageError("Parquet is nothing to look at. Name a file with --output.")
    if output is None:
        typer.echo(content, nl=False)
        return
    try:
        output.write_bytes(content)
    except OSError as error:
        raise StoreError(f"It cannot be written: {error}. Name another file with --output.") from None


def results(
    results: Results = RESULTS,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the results, newest first."""
    rows = []
    for path, manifest in catalogue(results):
        verdict = read_verdict(path) or {"workloads": []}
        verdicts = {one["workload"]: one["verdict"] for one in verdict["workloads"]}
        rows.append(
            {
                "path": str(path),
                "status": manifest["status"],
                "profile": manifest["profile"]["name"],
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
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    if not rows:
        out.print(f"There is no result in {results}. `loadstone demo` makes one.")
        return
    table = Table("result", "status", "profile", "workloads")
    for row in rows:
        table.add_row(Path(str(row["path"])).name, str(row["status"]), str(row["profile"]), _verdicts(row["workloads"]))
    out.print(table)


def find_result(name: str, results: Path) -> Path:
    """The folder of a result by path, by name below `results`, or `latest`; raises StoreError."""
    if name == "latest":
        newest = next(catalogue(results), None)
        if newest is None:
            raise StoreError(f"There is no result in {results}. `loadstone demo` makes one.")
        return newest[0]
    for path in (Path(name), results / name):
        if path.is_dir():
            return path
    raise StoreError(f"There is no result `{name}`. `loadstone results` lists those there are.")


def _verdicts(workloads: object) -> str:
    assert isinstance(workloads, dict)
    parts = []
    for name, one in workloads.items():
        style = VERDICT_STYLE.get(one["verdict"] or "", "dim")
        parts.append(f"{name} ({one['load']}) [{style}]{one['verdict'] or 'not judged'}[/]")
    return ", ".join(parts)
