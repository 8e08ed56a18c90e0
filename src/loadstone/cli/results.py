"""`loadstone results`: what has been measured; and how other commands find a result by its name."""

import json
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Column, Table

from loadstone.cli.screen import VERDICT_STYLE, out, say, warn
from loadstone.model.errors import StoreError
from loadstone.model.records.listed import ListedResult
from loadstone.model.records.verdict import Verdict
from loadstone.store.index import ResultIndex
from loadstone.store.refused import find_refusal_since

RESULTS = Path("results")
RESULT = "Result"
"""Group of the help with where results go."""
Results = Annotated[
    Path, typer.Option(help="Folder of the results.", envvar="LOADSTONE_RESULTS", rich_help_panel=RESULT)
]
ListEntry = dict[str, Any]
"""A result or study as `results --json` prints it."""
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
