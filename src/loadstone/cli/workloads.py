"""`loadstone workloads`."""

import asyncio
import contextlib
import json
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from loadstone.cli.access import Authority, Certificate, Insecure, Key
from loadstone.cli.exits import Exit
from loadstone.cli.screen import format_variables, out, say, warn
from loadstone.host.runtime import make_temporary_folder
from loadstone.model.errors import UsageError
from loadstone.model.load import Population
from loadstone.model.profile import Phases
from loadstone.model.target import Access, Target
from loadstone.model.workload import Workload
from loadstone.model.workload.mix import MixKind
from loadstone.model.workload.operation import Operation, RateLimit
from loadstone.run.driver import check_plan
from loadstone.run.plan import Timing, WorkloadLoad, compute_conditional_share, make_plan, plan_embedded_files
from loadstone.run.verify import USERS, Verified, verify
from loadstone.workloads import list_shipped, load
from loadstone.workloads.importers.correlated import Place
from loadstone.workloads.importers.correlation import CREDENTIALS_VALUE
from loadstone.workloads.importers.from_har import Recording, read_recording
from loadstone.workloads.importers.from_openapi import from_openapi
from loadstone.workloads.importers.imported import Imported
from loadstone.workloads.shares import compute_shares

MOST_LINES = 8
"""Lines of one kind that an import shows."""
MOST_PLACES_SHOWN = 4
"""Fields that are named as sent as they were recorded."""
app = typer.Typer(help="List, explain, check or import workloads.")


@app.callback(invoke_without_command=True)
def list_or_show(context: typer.Context) -> None:
    """List the workloads, or explain or check one."""
    if context.invoked_subcommand is None:
        list_()


@app.command("list")
def list_() -> None:
    """List the built-in workloads."""
    table = Table("name", "title", "operations", "about")
    for name in list_shipped():
        workload = load(name)
        table.add_row(name, workload.header.title, str(len(workload.operations)), workload.header.about)
    out.print(table)
    out.print("`loadstone workloads show NAME` explains one; your own is a folder with a workload.toml.", style="dim")


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="Workload (name or folder).")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Explain a workload: operations, mix with its stationary shares, pacing, limits, sources."""
    workload = load(name)
    if as_json:
        mixes = {mix: asdict(compute_shares(workload.with_mix(mix))) for mix in workload.mixes}
        variables = list(workload.variables)
        described = {"name": workload.name, **asdict(compute_shares(workload)), "mixes": mixes, "variables": variables}
        typer.echo(json.dumps(described, indent=1))
        return
    out.print(f"[bold]{workload.header.title}[/] ({workload.name})\n{workload.header.about}\n")
    _print_variables(workload)
    out.print(_operations(workload))
    if workload.mixes:
        out.print(_mixes(workload))
    _print_rules(workload)


@app.command()
def check(name: Annotated[str, typer.Argument(help="Workload to check (folder or name).")]) -> None:
    """Validate a workload's declaration and print every problem with file, line and remedy."""
    workload = load(name)
    if workload.tool is not None:
        from loadstone.run.tool_job import read_tool_settings  # loads numpy, which no other workload needs

        read_tool_settings(workload.tool)
    check_plan(make_plan([WorkloadLoad(workload, Population(1))], Timing(Phases(0, 0, 1, 0))))
    out.print(f"{workload.folder / 'workload.toml'}: no problem, {len(workload.operations)} operations")
    _print_variables(workload)
    if workload.pacing.kind == "think" and workload.pacing.mean_s > 0 and compute_shares(workload).paused <= 0:
        warn(
            f"Its pauses of {workload.pacing.mean_s:g} s never occur with --sessions: each session has "
            "one operation, and the next session starts immediately. Use --rate, or several operations a session."
        )


def _print_variables(workload: Workload) -> None:
    """Says which secrets of the environment a workload sends, if any."""
    if workload.variables:
        say(f"{workload.name} sends {format_variables(workload.variables)} to its target.")


Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Folder of the new workload. Default: named after the file.")
]


@app.command("from-har")
def from_har_(
    file: Annotated[Path, typer.Argument(help="HAR file, as exported from the network view of a browser.")],
    second: Annotated[
        Path | None,
        typer.Argument(help="Second recording of the same steps; values that differ are treated as session-specific."),
    ] = None,
    output: Output = None,
    site: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Site whose requests become the workload, if a visit went to several. Default: the "
            "site of the first page after redirects, or a site of the same owner with more "
            "requests.",
        ),
    ] = "",
    verify_at: Annotated[
        str | None,
        typer.Option(
            "--verify",
            metavar="URL",
            help="Live site for verification: visits that omit one rule each find unnecessary rules, "
            "then two users visit at the same time. Passwords are sent as recorded. Exit code 1 if the site "
            "refuses the visit.",
        ),
    ] = None,
    authority: Authority = None,
    insecure: Insecure = False,
    cert: Certificate = None,
    key: Key = None,
) -> Exit:
    """Create a workload from a recorded visit: pages, their files, their order and the think time between them.

    Session-specific values, such as CSRF tokens, are extracted from the responses that contained them.
    """
    access = Access(authority, not insecure, cert, key)
    if not verify_at and access != Access():
        raise UsageError("--authority, --insecure, --cert and --key apply to a verification visit. Add --verify URL.")
    recording: list[Recording] = []
    verified: list[Verified] = []

    def importer(name: str) -> Imported:
        recording.append(read_recording(file, second, site=site))
        if not verify_at:
            return recording[0].build_workload(name)
        verified.append(_verified(recording[0], access.make_target([verify_at]), name))
        return recording[0].build_workload(name, frozenset(verified[0].needless))

    _import(importer, file, output, lambda: [line for refusal in verified for line in _outcome(refusal, recording[0])])
    return Exit.FAIL if any(refusal.fault for refusal in verified) else Exit.PASS


def _verified(recording: Recording, target: Target, name: str) -> Verified:
    """Which of its rules a live site needs, and how the visit went."""
    values: dict[str, bool] = {}
    for value in recording.correlation.values:
        if value.rule is not None:
            values[value.value] = values.get(value.value, False) or value.differs
    with make_temporary_folder("verify") as folder, _set(recording.list_secrets(name)):
        arguments = values, lambda left: recording.build_workload(name, left).text, target, folder
        return asyncio.run(verify(*arguments))


def _outcome(verified: Verified, recording: Recording) -> Iterator[str]:
    """What the live site did, the worst first."""
    refusal = verified.fault
    if refusal is None:
        yield f"verified: {USERS} new users completed the visit at the same time"
    else:
        fixed = [
            value for value in recording.correlation.values if value.operation == refusal.operation and not value.value
        ]
        places = ", ".join(str(value.leaf) for value in fixed[:MOST_PLACES_SHOWN])
        remedy = f" Sent as recorded: {places}. Replace them with values." if fixed else ""
        yield f"failed: the site refused the visit: {refusal}{remedy}"
    for value in verified.needless:
        yield f"needless: {value}: the site accepts the recorded value"
    for value in verified.unnoticed:
        yield f"kept: {value}: the site accepts the recorded value, too, but it differs between visits"


@contextlib.contextmanager
def _set(variables: Mapping[str, str]) -> Iterator[None]:
    """Sets variables of the environment that are not set, for a while."""
    missing = {name: text for name, text in variables.items() if name not in os.environ}
    os.environ.update(missing)
    try:
        yield
    finally:
        for name in missing:
            os.environ.pop(name, None)


@app.command("from-openapi")
def from_openapi_(
    file: Annotated[Path, typer.Argument(help="OpenAPI 3 document (JSON or YAML).")],
    output: Output = None,
) -> None:
    """Create a workload from an OpenAPI document: its operations with their parameters and bodies."""
    _import(partial(from_openapi, file), file, output)


def _import(
    importer: Callable[[str], Imported],
    file: Path,
    output: Path | None,
    outcome: Callable[[], Sequence[str]] = lambda: (),
) -> None:
    """Writes a workload and says what to do with it: what must be acted on first, what was left out last."""
    folder = output or Path(file.stem)
    declaration = folder / "workload.toml"
    if declaration.exists():
        raise UsageError(f"{declaration} already exists. Name another folder with --output.")
    if any(place.exists() and not place.is_dir() for place in (folder, *folder.parents)):
        raise UsageError(f"Cannot create folder {folder}: a file of that name exists. Name another with --output.")
    imported = importer(re.sub(r"[^A-Za-z0-9_-]+", "-", folder.name).strip("-") or "site")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        declaration.write_text(imported.text, encoding="utf-8")
    except OSError as error:
        remedy = "Name another folder with --output"
        raise UsageError(f"Cannot write {declaration}: {error.strerror}. {remedy}.") from None
    load(str(folder))
    by_status = f", {imported.by_status} of them checked by status alone" if imported.by_status else ""
    say(f"{declaration}: {imported.operations} operations{by_status}")
    for line in outcome():
        say(line)
    for variable, place in imported.passwords:
        problem = "holds name:password in base64" if CREDENTIALS_VALUE in variable.lower() else "is a password"
        say(f"look at: {place} {problem}; it is read from the variable {variable} and never stored")
    missing = [place.missed for place in imported.places if not place.correlated.value]
    _say_some("look at", [*imported.doubts, *missing])
    if any(value.rule for value in imported.correlated):
        out.print(_values_taken(imported.places))
    drawn = [f"{place.correlated.value} in {place}" for place in imported.places if place.correlated.generator]
    _say_some("generated", drawn)
    _say_some("left out", imported.left_out)
    variables = "".join(f"{variable}=... " for variable in dict(imported.passwords))
    say(f"Next: {variables}loadstone try {shlex.quote(str(folder))} --target {shlex.quote(imported.target)}")


def _say_some(title: str, lines: Sequence[str]) -> None:
    """A screen has no room for all of many lines."""
    for line in lines[: MOST_LINES if len(lines) > MOST_LINES + 1 else None]:
        say(f"{title}: {line}")
    if len(lines) > MOST_LINES + 1:
        say(f"{title}: {len(lines) - MOST_LINES} more such lines")


def _values_taken(places: Sequence[Place]) -> Table:
    """What is taken from answers instead of being sent as it was recorded."""
    table = Table(title="Values taken from answers")
    for column in ("value", "used in", "taken from", "proof"):
        table.add_column(column, overflow="fold")
    for place in places:
        value = place.correlated
        if value.rule is not None:
            proof = "both recordings" if value.recordings > 1 else "this recording only"
            table.add_row(*map(escape, (value.value, str(place), f"{value.rule} of {value.source}", proof)))
    return table


def _operations(workload: Workload) -> Table:
    mix = compute_shares(workload)
    whether = ", if every conditional step occurs" if workload.is_conditional else ""
    table = Table(title=f"Operations and their stationary shares{whether}")
    for column in ("operation", "share %", "request", "files", "bytes", "304 share %", "limit"):
        is_number = column in ("share %", "files", "bytes", "304 share %")
        table.add_column(column, justify="right" if is_number else "left", overflow="fold")
    for name, operation in workload.operations.items():
        files = plan_embedded_files(workload, operation)
        known = sum(file["bytes"] or 0 for file in files)
        secure = " (TLS)" if operation.tls or (operation.tls is None and workload.target.tls) else ""
        table.add_row(
            name,
            _share(mix.operations[name]),
            operation.path if workload.tool else f"{operation.method} {operation.path}{secure}",
            str(len(files)),
            str(known + (operation.document_bytes or 0) or ""),
            f"{100 * compute_conditional_share(files):.0f}" if files else "",
            _limit(operation),
        )
    return table


def _mixes(workload: Workload) -> Table:
    """Shares of operations in each of its mixes."""
    by_mix = {"": compute_shares(workload)} | {mix: compute_shares(workload.with_mix(mix)) for mix in workload.mixes}
    table = Table("operation", title="Stationary shares by mix, %")
    for mix in by_mix:
        table.add_column(f"{workload.name}:{mix}" if mix else workload.name, justify="right")
    for name in (*workload.operations, *workload.left_out):
        shares = (mix.operations.get(name) for mix in by_mix.values())
        table.add_row(name, *map(_share, shares))
    return table


def _share(share: float | None) -> str:
    """A share in percent; empty for an operation that is not in the mix."""
    return f"{100 * share:.2f}" if share else ""


def _limit(operation: Operation) -> str:
    limit = operation.limit
    if isinstance(limit, RateLimit):
        return f"{limit.good_bytes_per_s:g} / {limit.tolerable_bytes_per_s:g} B/s"
    return "" if limit is None else f"{limit.good_s:g} / {limit.tolerable_s:g} s"


def _print_rules(workload: Workload) -> None:
    mix, pacing, limits, line = compute_shares(workload), workload.pacing, workload.limits, workload.connections
    if mix.operations_per_session is not None:
        ends = f"{100 * (mix.finished or 0):.1f} % end as intended, the others leave early"
        out.print(f"Sessions    {mix.operations_per_session:.3f} operations each; {ends}")
    if workload.mix.kind is MixKind.MATRIX:
        out.print("[bold]Mix[/]         from each state to the next, in %")
        for state, row in workload.mix.from_.items():
            gone = 1 - sum(row.values())
            parts = [f"{to} {100 * share:g}" for to, share in row.items()] + (
                [f"leaves {100 * gone:.3g}"] * (gone > 1e-9)
            )
            out.print(f"            {state}: {', '.join(parts)}")
    if workload.tool is not None:
        settings = ", ".join(f"{name} {value}" for name, value in workload.tool.settings.items())
        out.print(f"Tool        {workload.tool.name}{': ' * bool(settings)}{settings}")
    cap = f", at most {pacing.cap_s:g} s" if pacing.cap_s else ""
    kind = "think time" if pacing.kind == "think" else "cycle time"
    paused = f"before {100 * mix.paused:.2f} % of the operations"
    out.print(f"Pacing      {kind}, {pacing.distribution}, mean {pacing.mean_s:g} s{cap}; {paused}")
    speed = [f"{rate:g} B/s" if rate else "unlimited" for rate in (line.page_bytes_per_s, line.embedded_bytes_per_s)]
    out.print(f"Line        page {speed[0]}, embedded files {speed[1]} on each of {line.parallel} connections")
    out.print(
        f"Limits      {limits.good_share_pct:g} % good (within {limits.good_s:g} s), "
        f"{limits.tolerable_share_pct:g} % tolerable (within {limits.tolerable_s:g} s), over all operations together"
    )
    for key, value in workload.scale.items():
        out.print(f"Scale       {key.replace('_', ' ')}: {value:g}")
    for source in workload.header.sources:
        out.print(f"Source      {source}")
