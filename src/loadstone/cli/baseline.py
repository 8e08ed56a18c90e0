"""`loadstone baseline`: keeping a series of runs, and comparing later ones with it."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from loadstone.cli.exits import BY_VERDICT
from loadstone.cli.results import RESULTS, Results, find_result
from loadstone.cli.screen import VERDICT_STYLE, out, say, warn
from loadstone.model.errors import StoreError, UsageError
from loadstone.model.records.verdict import Verdict
from loadstone.store.documents import check_document, read_raw, write_document
from loadstone.store.study import is_study, read_answer, read_study_manifest
from loadstone.study.baseline.comparison import Against, compare_series
from loadstone.study.baseline.condition import EXAMPLE, SHARE_EXAMPLE, read_condition
from loadstone.study.baseline.series import BASELINE_SCHEMA, Baseline, build_baseline
from loadstone.study.metrics import FIGURE_NAMES
from loadstone.study.registry import get_kind

FOLDER = "baselines"
"""Below the results."""
BASELINES: TypeAdapter[Baseline] = TypeAdapter(Baseline)

app = typer.Typer(no_args_is_help=True)
StudyArgument = Annotated[str, typer.Argument(metavar="STUDY", help="Study of `loadstone repeat`, or `latest`.")]


@app.callback()
def explain_baselines() -> None:
    """Store a series of runs as a baseline, and fail later series that are worse.

    [bold]loadstone repeat my-site --target URL --sessions 20 --runs 6 && loadstone baseline save main[/]
    [bold]loadstone baseline check main --fail-if "p95 > +10%"[/]: after the same series of the new version.
    """


@app.command()
def save(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the baseline, or a file for it (NAME.json).")],
    series: StudyArgument = "latest",
    results: Results = RESULTS,
) -> None:
    """Store a series as a baseline: in the results by its name, or in a file (`NAME.json`) for version control."""
    baseline = _of_study(series, results, Path(name).stem)
    file = _file(name, results)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_document(file, BASELINES, baseline)
    say(f"{file}: {', '.join(f'{series.workload}, {series.runs} runs' for series in baseline.series)}")


@app.command("list")
def list_(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False, results: Results = RESULTS
) -> None:
    """List the baselines stored in the results."""
    baselines = list(_stored_baselines(results))
    if as_json:
        out.print_json(json.dumps([asdict(baseline) for baseline in baselines], default=str))
        return
    table = Table(box=SIMPLE_HEAD)
    for title in ("name", "made", "study", "workloads"):
        table.add_column(title)
    for baseline in baselines:
        workloads = ", ".join(f"{series.workload} ({series.runs} runs)" for series in baseline.series)
        table.add_row(*map(escape, (baseline.name, baseline.made[:16].replace("T", " "), baseline.study, workloads)))
    out.print(table if baselines else f"None is kept in {results / FOLDER}. `loadstone baseline save NAME` keeps one.")


@app.command()
def check(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Baseline (name or file).")],
    series: StudyArgument = "latest",
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-if",
            metavar="CHANGE",
            help=f"Change that fails the check, such as '{EXAMPLE}', or limit of a share, such as '{SHARE_EXAMPLE}'. "
            f"Repeatable. Figures: {', '.join(FIGURE_NAMES)}.",
        ),
    ] = None,
    elsewhere: Annotated[
        bool, typer.Option("--elsewhere", help="Compare even if the baseline comes from another machine or system.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    results: Results = RESULTS,
) -> None:
    """Compare a series with a baseline.

    Errors and verdicts are always compared first. Exit code 0 if no change exceeds its limit, 1 if a change certainly
    does, 3 if the runs cannot decide it.
    """
    conditions = [read_condition(text) for text in fail_if or ()]
    baseline, new = _read(name, results), _of_study(series, results, "this")
    answer = compare_series(baseline, new, conditions, elsewhere)
    if as_json:
        out.print_json(json.dumps({**asdict(answer), "verdict": answer.verdict}, default=str))
    else:
        _show(answer, len(conditions) > 0)
    raise typer.Exit(BY_VERDICT[answer.verdict])


def _show(answer: Against, is_judged: bool) -> None:
    for failing in answer.failing:
        say(f"{failing.standing:<10}{failing.workload}: {failing.said}")
    for change in answer.changes:
        standing = f"{change.standing:<10}" if change.condition else ""
        say(f"{standing}{change.workload}: {change.said}")
    for note in answer.notes:
        warn(note)
    if is_judged or answer.verdict is not Verdict.PASS:
        style = VERDICT_STYLE[answer.verdict]
        out.print(f"[{style}]{answer.verdict.upper()}[/]")


def _of_study(series: str, results: Path, name: str) -> Baseline:
    """Raises UsageError for what is no series."""
    path = find_result(series, results, "loadstone repeat WORKLOAD --runs 6")
    if not is_study(path):
        remedy = "Use `loadstone repeat` for a series"
        raise UsageError(f"{path.name} is a single run; a baseline needs several. {remedy}.")
    manifest = read_study_manifest(path)
    answer = read_answer(path, get_kind(manifest.kind).adapter)
    return build_baseline(name, path.name, manifest, answer.runs)


def _file(name: str, results: Path) -> Path:
    return Path(name) if name.endswith(".json") else results / FOLDER / f"{Path(name).name}.json"


def _read(name: str, results: Path) -> Baseline:
    """Raises StoreError, UsageError where there is none."""
    file = _file(name, results)
    if not file.is_file():
        known = ", ".join(baseline.name for baseline in _stored_baselines(results)) or "none"
        raise UsageError(f"There is no {file}. Kept are: {known}. `loadstone baseline save NAME` keeps one.")
    document = read_raw(file)
    if document.get("schema") != BASELINE_SCHEMA:
        raise StoreError(
            f"{file} is of schema {document.get('schema')}, this reads {BASELINE_SCHEMA}: schema 1 lacks the "
            "load, the workload and the failures of a series. "
            "Run the series again with `loadstone repeat`, then `loadstone baseline save`."
        )
    return check_document(file, BASELINES, document)


def _stored_baselines(results: Path) -> Iterator[Baseline]:
    """Those that can be read."""
    for file in sorted((results / FOLDER).glob("*.json")):
        try:
            yield _read(str(file), results)
        except StoreError as error:
            warn(str(error))
