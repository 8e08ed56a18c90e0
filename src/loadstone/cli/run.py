"""`loadstone run`."""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from loadstone.cli.consolidation import show_common, show_tiles, show_workloads
from loadstone.cli.exits import BY_VERDICT, Exit
from loadstone.cli.live import View
from loadstone.cli.options import (
    RESULTS,
    ArrivalProcess,
    Authority,
    BackendText,
    Insecure,
    MachineText,
    MostSessions,
    NginxText,
    Platform,
    ProfileName,
    Rate,
    Results,
    Seed,
    ServerThreads,
    Sessions,
    StationText,
    Steady,
    StudyName,
    Targets,
    Threads,
    Virtual,
    clock_of,
    half_the_cores,
    make_placement,
    make_system,
    profile_of,
)
from loadstone.cli.orders import IN_A_FILE, order_of, parts_of, refuse_beside_a_file, study_file, with_companions
from loadstone.cli.screen import VERDICT_STYLE, errors, out
from loadstone.judge.consolidation import consolidation
from loadstone.judge.score import DISCLAIMER, NAME
from loadstone.judge.tiles import maxima_of, tiles_of, whole_verdict
from loadstone.model.errors import UsageError
from loadstone.model.load import MOST_AT_ONCE, Process, make_load
from loadstone.model.study import read_study
from loadstone.report.build import write_report
from loadstone.run.driver import Joining
from loadstone.run.executor import Json, Listener
from loadstone.run.runner import RunOrder
from loadstone.run.runner import run as execute
from loadstone.store.folder import Status
from loadstone.store.read import read_manifest, read_result, read_verdict
from loadstone.telemetry.otlp import push_otlp
from loadstone.telemetry.prometheus import serve_prometheus
from loadstone.telemetry.tally import Tally


def run(
    context: typer.Context,
    names: Annotated[
        list[str],
        typer.Argument(metavar="WORKLOAD...", help="Workloads by name or folder, or one study file (.toml)."),
    ],
    sessions: Sessions = None,
    rate: Rate = None,
    arrivals: ArrivalProcess = Process.POISSON,
    trace: Annotated[
        Path | None, typer.Option(help="Open load: a file of arrival instants in seconds, one a line.")
    ] = None,
    most_sessions: MostSessions = MOST_AT_ONCE,
    together: Annotated[bool, typer.Option("--together", help="All workloads at the same time.")] = False,
    profile: ProfileName = "quick",
    target: Targets = None,
    authority: Authority = None,
    insecure: Insecure = False,
    station: StationText = None,
    nginx: NginxText = None,
    virtual: Virtual = False,
    platform: Platform = None,
    machine: MachineText = None,
    backend: BackendText = None,
    seed: Seed = 1,
    threads: Threads = None,
    server_threads: ServerThreads = None,
    steady: Steady = None,
    drivers: Annotated[int, typer.Option(min=1, max=1000, help="Drivers that play together, this one included.")] = 1,
    join_at: Annotated[
        str, typer.Option(help="Where the other drivers join: `loadstone-driver join HOST:PORT` there.")
    ] = "127.0.0.1:7700",
    prometheus: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Serve the live figures to Prometheus here.")
    ] = None,
    otlp: Annotated[
        str | None, typer.Option(metavar="URL", help="Send the live figures to an OpenTelemetry collector (HTTP).")
    ] = None,
    name: StudyName = None,
    results: Results = RESULTS,
) -> None:
    """Run one or more workloads, judge them, and write a report.

    [bold]loadstone run banking --sessions 200[/] plays the bank against the reference server;
    [bold]loadstone run ./my-site --target http://127.0.0.1:8080 --sessions 50[/] plays your own workload;
    [bold]loadstone run static --rate 200[/] lets 200 sessions arrive every second, however fast they are served.
    """
    file = study_file(names)
    if file is not None:
        refuse_beside_a_file(context, "sessions", "rate", "arrivals", "trace", "most_sessions", "together", *IN_A_FILE)
        study = read_study(file)
        if not study.is_loaded:
            raise UsageError(f"{file} leaves the load to its questions. Ask one: {', '.join(study.asked)}.")
        order = order_of(study, name, threads, server_threads, results)
    else:
        load = make_load(sessions, rate, trace, arrivals, most_sessions)
        placement = make_placement(platform, machine, backend)
        alone = parts_of(names, load)
        parts = with_companions(alone)
        order = RunOrder(
            name=name or "-".join(Path(word).name for word in names),
            parts=parts,
            profile=profile_of(profile).changed(steady_s=steady),
            seed=seed,
            threads=threads or half_the_cores(),
            system=make_system(target or [], authority, not insecure, server_threads, station, placement, nginx),
            results=results,
            together=together or len(parts) > len(alone),
            clock=clock_of(virtual, station),
            placement=placement,
        )
    if drivers > 1:
        order = replace(order, joining=Joining(drivers - 1, join_at))
    tally = Tally()
    with ExitStack() as stack:
        if prometheus is not None:
            stack.enter_context(serve_prometheus(prometheus, tally))
        if otlp is not None:
            stack.enter_context(push_otlp(otlp, tally))
        code = _carry_out(order, [tally.hear] if prometheus or otlp else [])
    raise typer.Exit(code)


def _carry_out(order: RunOrder, listeners: Sequence[Listener] = ()) -> Exit:
    with View() as view:

        def hear(event: Json) -> None:
            for listener in (view.hear, *listeners):
                listener(event)

        path = asyncio.run(execute(order, hear, view.begin))
        if errors.is_terminal:
            view.phase = "writing the report"
        report = write_report(path)
    return conclude(path, report)


def conclude(path: Path, report: Path) -> Exit:
    """Prints the verdict on a result and says where its report is; returns what the shell is told."""
    manifest, verdict = read_manifest(path), read_verdict(path) or {"workloads": [], "index": None}
    common = verdict.get("consolidation")
    if common is not None:
        show_workloads(verdict["workloads"])
        show_common(common)
        _show_score(path)
    for one in () if common else verdict["workloads"]:
        style = VERDICT_STYLE[one["verdict"]]
        load = next(terms["load"] for terms in manifest["terms"] if terms["workload"] == one["workload"])
        claim = "compliant" if one["compliant"] else f"not compliant, profile {manifest['profile']['name']}"
        out.print(f"[{style}]{one['verdict'].upper():8}[/] {one['workload']} with {load} ({claim})")
        for reason in one["reasons"]:
            out.print(f"         {reason}", markup=False, soft_wrap=True)
        if one["not_judged"]:
            out.print(f"         not judged: {', '.join(one['not_judged'])}", style="dim")
    if verdict["index"]:
        claim = "" if verdict["index"]["compliant"] else " (from a run that is not compliant)"
        out.print(f"{NAME}: {verdict['index']['value']:.1f}{claim}. {DISCLAIMER}")
    emulated = [name for name, one in manifest.get("machines", {}).items() if one.get("accelerator") == "tcg"]
    if emulated:
        out.print(f"[yellow]emulated[/] by TCG, not KVM: {', '.join(emulated)}. Nothing here says what KVM costs.")
    if manifest["status"] != Status.COMPLETE:
        out.print(f"[yellow]{manifest['status']}[/]: {manifest['reason']}")
    out.print(f"report: {report}", soft_wrap=True)
    if manifest["status"] == Status.INTERRUPTED:
        return Exit.INTERRUPTED
    if manifest["status"] == Status.FAILED:
        return Exit.INVALID
    return BY_VERDICT[whole_verdict(verdict)]


def _show_score(path: Path) -> None:
    result = read_result(path)
    held = tiles_of(result)
    tiles, maxima = [one.tile for one in held], maxima_of(result)
    scored = consolidation(tiles, maxima)
    show_tiles([one.number for one in held], [one.pct_load for one in held], tiles, scored, maxima)
