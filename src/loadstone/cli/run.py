"""`loadstone run` and `loadstone demo`."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from loadstone.cli.exits import BY_VERDICT, Exit
from loadstone.cli.live import View
from loadstone.cli.screen import VERDICT_STYLE, errors, out
from loadstone.judge.score import DISCLAIMER, NAME
from loadstone.judge.verdict import Verdict, worst
from loadstone.model.errors import UsageError
from loadstone.model.load import MOST_AT_ONCE, MOST_SESSIONS, Load, Population, Process, make_load
from loadstone.model.profile import PROFILES, Profile
from loadstone.model.study import read_study
from loadstone.model.system import Clock, Reference, Station, System
from loadstone.model.target import Target
from loadstone.report.build import write_report
from loadstone.run.driver import Joining
from loadstone.run.executor import Json, Listener
from loadstone.run.terms import Fitness
from loadstone.store.folder import Status
from loadstone.store.read import read_manifest, read_verdict
from loadstone.study.run import Played, RunOrder
from loadstone.study.run import run as execute
from loadstone.telemetry.otlp import push_otlp
from loadstone.telemetry.prometheus import serve_prometheus
from loadstone.telemetry.tally import Tally
from loadstone.workloads import load

RESULTS = Path("results")
DEMO_SESSIONS = {"banking": 60, "shopping": 40, "support": 40}
"""Few enough for two shared cores, enough to see every page."""

Rate = Annotated[
    str | None,
    typer.Option(help="Open load: sessions that arrive each second; steps as 50,100,150, a ramp as 10-100."),
]
ArrivalProcess = Annotated[Process, typer.Option(help="How arrivals are spread at that rate.")]
StationText = Annotated[
    str | None,
    typer.Option(
        "--station",
        metavar="SETTINGS",
        help="Measure a station instead, whose behaviour theory knows: workers=4,service=0.005,spread=exponential,"
        "queue=100 and the like.",
    ),
]
Virtual = Annotated[
    bool, typer.Option("--virtual", help="In virtual time against the modelled --station: done in a moment.")
]
Seed = Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of everything that is drawn.")]
Results = Annotated[Path, typer.Option(help="Where result folders are made.", envvar="LOADSTONE_RESULTS")]


def run(
    context: typer.Context,
    names: Annotated[
        list[str],
        typer.Argument(metavar="WORKLOAD...", help="Workloads by name or folder, or one study file (.toml)."),
    ],
    sessions: Annotated[
        int | None, typer.Option(min=1, max=MOST_SESSIONS, help="Simultaneous sessions of each workload.")
    ] = None,
    rate: Rate = None,
    arrivals: ArrivalProcess = Process.POISSON,
    trace: Annotated[
        Path | None, typer.Option(help="Open load: a file of arrival instants in seconds, one a line.")
    ] = None,
    most_sessions: Annotated[
        int, typer.Option(min=1, max=MOST_SESSIONS, help="Sessions at once under open load, at most.")
    ] = MOST_AT_ONCE,
    together: Annotated[bool, typer.Option("--together", help="All workloads at the same time.")] = False,
    profile: Annotated[str, typer.Option(help=f"Length and rigor: {', '.join(PROFILES)}.")] = "quick",
    target: Annotated[
        list[str] | None,
        typer.Option(help="http://HOST:PORT, and https://HOST:PORT beside it. Default: the reference server."),
    ] = None,
    authority: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Certificate of a private authority to believe.")
    ] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Believe any certificate (the report says so).")] = False,
    station: StationText = None,
    virtual: Virtual = False,
    seed: Seed = 1,
    threads: Annotated[int | None, typer.Option(min=1, help="Driver threads. Default: half the cores.")] = None,
    server_threads: Annotated[int | None, typer.Option(min=1, help="Threads of the reference server.")] = None,
    steady: Annotated[float | None, typer.Option(min=1, help="Another length of the steady state, in seconds.")] = None,
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
    name: Annotated[str | None, typer.Option(help="Name of the result folder.")] = None,
    results: Results = RESULTS,
) -> None:
    """Run one or more workloads, judge them, and write a report.

    [bold]loadstone run banking --sessions 200[/] plays the bank against the reference server;
    [bold]loadstone run ./my-site --target http://127.0.0.1:8080 --sessions 50[/] plays your own workload;
    [bold]loadstone run static --rate 200[/] lets 200 sessions arrive every second, however fast they are served.
    """
    study = [Path(word) for word in names if word.endswith(".toml") and Path(word).name != "workload.toml"]
    if study and len(names) > 1:
        raise UsageError("Give either one study file or workloads, not both.")
    if study:
        _refuse_beside_a_file(context)
        order = _from_file(study[0], name, threads, server_threads, results)
    else:
        load = make_load(sessions, rate, trace, arrivals, most_sessions)
        order = RunOrder(
            name=name or "-".join(Path(word).name for word in names),
            parts=_parts(names, load),
            profile=_profile(profile).changed(steady_s=steady),
            seed=seed,
            threads=threads or half_the_cores(),
            system=make_system(target or [], authority, not insecure, server_threads, station),
            results=results,
            together=together,
            clock=clock_of(virtual, station),
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


def demo(results: Results = RESULTS) -> None:
    """Play all three web sites for a quarter of a minute each and show what a result looks like."""
    parts = tuple(Played(load(name), Population(sessions)) for name, sessions in DEMO_SESSIONS.items())
    threads = half_the_cores()
    order = RunOrder("demo", parts, PROFILES["demo"], 1, threads, Reference(threads), results)
    raise typer.Exit(_carry_out(order))


def _refuse_beside_a_file(context: typer.Context) -> None:
    """What a study file says is not said again on the command line."""
    for option in (
        *("sessions", "rate", "arrivals", "trace", "most_sessions", "together"),
        *("profile", "target", "authority", "insecure", "seed", "steady"),
    ):
        source = context.get_parameter_source(option)
        if source is not None and source.name == "COMMANDLINE":
            raise UsageError(f"--{option.replace('_', '-')} does not go with a study file. Write it in the file.")


def half_the_cores() -> int:
    """Half of the cores this process may use: driver and server share the machine."""
    return max(1, len(os.sched_getaffinity(0)) // 2)


def _parts(names: list[str], each: Load) -> tuple[Played, ...]:
    loaded = [load(name) for name in names]
    twice = {one.name for one in loaded if [other.name for other in loaded].count(one.name) > 1}
    if twice:
        raise UsageError(f"`{twice.pop()}` is named twice. A run plays each workload once; profiles repeat it.")
    return tuple(Played(workload, each) for workload in loaded)


def _profile(name: str) -> Profile:
    if name not in PROFILES:
        about = "; ".join(f"{profile.name}: {profile.about}" for profile in PROFILES.values())
        raise UsageError(f"There is no profile `{name}`. There are {about}.")
    return PROFILES[name]


def make_system(
    urls: list[str], authority: Path | None, verify: bool, threads: int | None, station: str | None
) -> System:
    """What is measured: a target, a station, or else the reference server. Raises UsageError."""
    if urls and station is not None:
        raise UsageError("Give either --target or --station: a run measures one system.")
    if not urls and (authority or not verify):
        raise UsageError("--authority and --insecure go with --target; the reference server brings its own.")
    if station is not None:
        return Station.parse(station)
    if urls:
        return Target.parse(urls, authority.read_text() if authority else None, verify)
    return Reference(threads or half_the_cores())


def clock_of(virtual: bool, station: str | None) -> Clock:
    """In what time to play; raises UsageError."""
    if virtual and station is None:
        raise UsageError("--virtual needs a modelled server. Give it as --station workers=4,service=0.005.")
    return Clock.VIRTUAL if virtual else Clock.REAL


def _from_file(
    file: Path, name: str | None, threads: int | None, server_threads: int | None, results: Path
) -> RunOrder:
    study = read_study(file)
    wanted = study.profile
    profile = PROFILES[wanted.name].changed(
        ramp_up_s=wanted.ramp_up_s,
        warm_up_s=wanted.warm_up_s,
        steady_s=wanted.steady_s,
        ramp_down_s=wanted.ramp_down_s,
    )
    profile = profile.repeated(wanted.iterations or profile.iterations)
    return RunOrder(
        name=name or study.name,
        parts=tuple(Played(load(entry.workload), entry.load()) for entry in study.loads),
        profile=profile,
        seed=study.driver.seed,
        threads=threads or study.driver.threads or half_the_cores(),
        system=make_system(list(study.target.urls), study.target.authority, study.target.verify, server_threads, None),
        results=results,
        together=study.together,
        fitness=Fitness(study.driver.lag_share_pct / 100, study.driver.cpu_pct),
    )


def _carry_out(order: RunOrder, listeners: Sequence[Listener] = ()) -> Exit:
    with View() as view:

        def hear(event: Json) -> None:
            for listener in (view.hear, *listeners):
                listener(event)

        path = asyncio.run(execute(order, hear, view.begin))
        if errors.is_terminal:
            view.phase = "writing the report"
        report = write_report(path)
    return _conclude(path, report)


def _conclude(path: Path, report: Path) -> Exit:
    manifest, verdict = read_manifest(path), read_verdict(path) or {"workloads": [], "index": None}
    for one in verdict["workloads"]:
        style = VERDICT_STYLE[one["verdict"]]
        load = next(terms["load"] for terms in manifest["terms"] if terms["workload"] == one["workload"])
        claim = "compliant" if one["compliant"] else f"not compliant, profile {manifest['profile']['name']}"
        out.print(f"[{style}]{one['verdict'].upper():8}[/] {one['workload']} with {load} ({claim})")
        for reason in one["reasons"]:
            out.print(f"         {reason}", markup=False, soft_wrap=True)
        if one["not_judged"]:
            out.print(f"         too short to judge: {', '.join(one['not_judged'])}", style="dim")
    if verdict["index"]:
        claim = "" if verdict["index"]["compliant"] else " (from a run that is not compliant)"
        out.print(f"{NAME}: {verdict['index']['value']:.1f}{claim}. {DISCLAIMER}")
    if manifest["status"] != Status.COMPLETE:
        out.print(f"[yellow]{manifest['status']}[/]: {manifest['reason']}")
    out.print(f"report: {report}", soft_wrap=True)
    if manifest["status"] == Status.INTERRUPTED:
        return Exit.INTERRUPTED
    if manifest["status"] == Status.FAILED:
        return Exit.INVALID
    return BY_VERDICT[worst([Verdict(one["verdict"]) for one in verdict["workloads"]])]
