"""`loadstone run` and `loadstone demo`."""

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer

from loadstone.cli.exits import BY_VERDICT, Exit
from loadstone.cli.live import View
from loadstone.cli.screen import VERDICT_STYLE, errors, out
from loadstone.judge.score import DISCLAIMER, NAME
from loadstone.judge.verdict import Verdict, worst
from loadstone.model.errors import UsageError
from loadstone.model.profile import PROFILES, Profile
from loadstone.model.study import read_study
from loadstone.model.target import Target
from loadstone.report.build import write_report
from loadstone.store.folder import Status
from loadstone.store.read import read_manifest, read_verdict
from loadstone.study.run import Part, RunOrder
from loadstone.study.run import run as execute
from loadstone.workloads import load

RESULTS = Path("results")
DEMO_SESSIONS = {"banking": 60, "shopping": 40, "support": 40}
"""Few enough for two shared cores, enough to see every page."""

MOST_SESSIONS = 10_000_000
"""More than any machine plays, and well inside the plan's range."""

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
    profile: Annotated[str, typer.Option(help=f"Length and rigor: {', '.join(PROFILES)}.")] = "quick",
    target: Annotated[
        list[str] | None,
        typer.Option(help="http://HOST:PORT, and https://HOST:PORT beside it. Default: the reference server."),
    ] = None,
    authority: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Certificate of a private authority to believe.")
    ] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Believe any certificate (the report says so).")] = False,
    seed: Seed = 1,
    threads: Annotated[int | None, typer.Option(min=1, help="Driver threads. Default: half the cores.")] = None,
    server_threads: Annotated[int | None, typer.Option(min=1, help="Threads of the reference server.")] = None,
    steady: Annotated[float | None, typer.Option(min=1, help="Another length of the steady state, in seconds.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the result folder.")] = None,
    results: Results = RESULTS,
) -> None:
    """Run one or more workloads, judge them, and write a report.

    [bold]loadstone run banking --sessions 200[/] plays the bank against the reference server;
    [bold]loadstone run ./my-site --target http://127.0.0.1:8080 --sessions 50[/] plays your own workload.
    """
    study = [Path(word) for word in names if word.endswith(".toml") and Path(word).name != "workload.toml"]
    if study and len(names) > 1:
        raise UsageError("Give either one study file or workloads, not both.")
    if study:
        _refuse_beside_a_file(context)
        order = _from_file(study[0], name, threads, server_threads, results)
    else:
        order = RunOrder(
            name=name or "-".join(Path(word).name for word in names),
            parts=_parts(names, sessions),
            profile=_profile(profile).changed(steady_s=steady),
            seed=seed,
            threads=threads or half_the_cores(),
            target=_target(target or [], authority, not insecure),
            server_threads=server_threads or half_the_cores(),
            results=results,
        )
    raise typer.Exit(_carry_out(order))


def demo(results: Results = RESULTS) -> None:
    """Play all three web sites for a quarter of a minute each and show what a result looks like."""
    parts = tuple(Part(load(name), sessions) for name, sessions in DEMO_SESSIONS.items())
    threads = half_the_cores()
    order = RunOrder("demo", parts, PROFILES["demo"], 1, threads, None, threads, results)
    raise typer.Exit(_carry_out(order))


def _refuse_beside_a_file(context: typer.Context) -> None:
    """What a study file says is not said again on the command line."""
    for option in ("sessions", "profile", "target", "authority", "insecure", "seed", "steady"):
        source = context.get_parameter_source(option)
        if source is not None and source.name == "COMMANDLINE":
            raise UsageError(f"--{option} does not go with a study file. Write it in the file.")


def half_the_cores() -> int:
    """Half of the cores this process may use: driver and server share the machine."""
    return max(1, len(os.sched_getaffinity(0)) // 2)


def _parts(names: list[str], sessions: int | None) -> tuple[Part, ...]:
    if sessions is None:
        raise UsageError("Say how many sessions: --sessions N.")
    loaded = [load(name) for name in names]
    twice = {one.name for one in loaded if [other.name for other in loaded].count(one.name) > 1}
    if twice:
        raise UsageError(f"`{twice.pop()}` is named twice. A run plays each workload once; profiles repeat it.")
    return tuple(Part(workload, sessions) for workload in loaded)


def _profile(name: str) -> Profile:
    if name not in PROFILES:
        about = "; ".join(f"{profile.name}: {profile.about}" for profile in PROFILES.values())
        raise UsageError(f"There is no profile `{name}`. There are {about}.")
    return PROFILES[name]


def _target(urls: list[str], authority: Path | None, verify: bool) -> Target | None:
    if not urls:
        if authority or not verify:
            raise UsageError("--authority and --insecure go with --target; the reference server brings its own.")
        return None
    return Target.parse(urls, authority.read_text() if authority else None, verify)


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
        parts=tuple(Part(load(entry.workload), entry.sessions) for entry in study.loads),
        profile=profile,
        seed=study.driver.seed,
        threads=threads or study.driver.threads or half_the_cores(),
        target=_target(list(study.target.urls), study.target.authority, study.target.verify),
        server_threads=server_threads or half_the_cores(),
        results=results,
    )


def _carry_out(order: RunOrder) -> Exit:
    with View() as view:
        path = asyncio.run(execute(order, view.hear, view.begin))
        if errors.is_terminal:
            view.phase = "writing the report"
        report = write_report(path)
    return _conclude(path, report)


def _conclude(path: Path, report: Path) -> Exit:
    manifest, verdict = read_manifest(path), read_verdict(path) or {"workloads": [], "index": None}
    for one in verdict["workloads"]:
        style = VERDICT_STYLE[one["verdict"]]
        sessions = next(terms["sessions"] for terms in manifest["terms"] if terms["workload"] == one["workload"])
        claim = "compliant" if one["compliant"] else f"not compliant, profile {manifest['profile']['name']}"
        out.print(f"[{style}]{one['verdict'].upper():8}[/] {one['workload']} with {sessions} sessions ({claim})")
        for reason in one["reasons"]:
            out.print(f"         {reason}", markup=False)
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
