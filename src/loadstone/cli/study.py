"""`loadstone repeat`, `search`, `sweep`, `compare` and `predict`: one question each, put to many runs."""

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from pydantic import ValidationError

from loadstone.cli.exits import BY_VERDICT, Exit
from loadstone.cli.live import StudyView
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
from loadstone.cli.orders import IN_A_FILE, order_of, parts_of, refuse_beside_a_file, study_file
from loadstone.cli.screen import out
from loadstone.judge.score import DISCLAIMER, NAME
from loadstone.judge.verdict import Verdict, worst
from loadstone.model.asked import SECTIONS, Asked, varies_platform
from loadstone.model.errors import UsageError
from loadstone.model.load import MOST_AT_ONCE, Arrivals, Load, Process, make_load
from loadstone.model.machine import PlatformName
from loadstone.model.reading import Section, remedy, suggest
from loadstone.model.study import read_study
from loadstone.report.study import write_run_reports, write_study_report
from loadstone.run.runner import RunOrder
from loadstone.store.folder import Status
from loadstone.store.study import read_answer, read_study_manifest
from loadstone.study.parameters import PARAMETERS, read_points, read_settings
from loadstone.study.runner import StudyOrder, conduct
from loadstone.study.spec import brings_load, questions

Json = dict[str, Any]

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="WORKLOAD...", help="Workloads by name or folder, or one study file (.toml)."),
]
LoadKind = Annotated[str, typer.Option("--load", help="What the load is: sessions or rate.")]
Start = Annotated[
    float | None, typer.Option(min=1e-6, help="First load tried. Default: 100 sessions, or a rate of 50.")
]
Width = Annotated[
    float | None,
    typer.Option(min=0.01, max=50, help="Width of the bracket at which to stop, in %. Default: 1, quick profile 5."),
]


@dataclass(frozen=True)
class Common:
    """Options that all questions have."""

    context: typer.Context
    names: Names = None
    workload: Annotated[str | None, typer.Option("--workload", help="Workloads with commas between.")] = None
    sessions: Sessions = None
    rate: Rate = None
    arrivals: ArrivalProcess = Process.POISSON
    most_sessions: MostSessions = MOST_AT_ONCE
    profile: ProfileName = "quick"
    steady: Steady = None
    target: Targets = None
    authority: Authority = None
    insecure: Insecure = False
    station: StationText = None
    nginx: NginxText = None
    platform: Platform = None
    virtual: Virtual = False
    machine: MachineText = None
    backend: BackendText = None
    seed: Seed = 1
    threads: Threads = None
    server_threads: ServerThreads = None
    name: StudyName = None
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin anew, also where the same study was left.")] = False
    results: Results = RESULTS

    @property
    def workloads(self) -> list[str]:
        """What is named, in either way."""
        return [*(self.names or ()), *filter(None, (self.workload or "").split(","))]


def repeat(runs: Annotated[int, typer.Option(min=2, max=1000, help="How many runs.")] = 5) -> Json:
    """Make the same run several times: mean, spread and interval of every figure, drift, outliers.

    [bold]loadstone repeat support --sessions 50 --runs 5[/]
    """
    return {"runs": runs}


def search(
    load: LoadKind = "sessions",
    start: Start = None,
    width: Width = None,
    verify: Annotated[int, typer.Option(min=1, max=100, help="Fresh runs at the peak that must all pass.")] = 3,
    most: Annotated[float | None, typer.Option(min=1e-6, help="The largest load to try.")] = None,
) -> Json:
    """Find the largest load that passes every rule, and verify it by fresh runs.

    [bold]loadstone search support --profile quick[/] finds the peak of the reference server;
    [bold]loadstone search static --load rate --station workers=4,service=0.004 --virtual[/] that of a modelled one.
    """
    return {"load": load, "start": start, "width_pct": width, "verify": verify, "most": most}


def sweep(
    over: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=POINT,POINT,...", help=f"A parameter and its points: {', '.join(PARAMETERS)}."),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, max=1000, help="Times each point is run.")] = 1,
) -> Json:
    """Vary one or more parameters over given points, in every combination.

    [bold]loadstone sweep support --over sessions=50,100,200,400[/] draws the response time curve;
    [bold]loadstone sweep static --sessions 64 --over server.cores=1,2[/] how throughput grows with cores.
    """
    points = [read_points(text) for text in over or ()]
    if len(dict(points)) < len(points):
        raise UsageError("A parameter is named by two --over. Give all its points in one, with commas between.")
    return {"over": dict(points), "rounds": rounds}


def compare(
    a: Annotated[str, typer.Option("--a", metavar="SETTINGS", help="Settings of A, as server.threads=1.")] = "",
    b: Annotated[str, typer.Option("--b", metavar="SETTINGS", help="Settings of B.")] = "",
    at: Annotated[
        str | None, typer.Option(metavar="LOADS|peak", help="Loads of a curve, as 50,100,150; or `peak`.")
    ] = None,
    load: LoadKind = "sessions",
    pairs: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Pairs of runs at each load (6), or of searches (1).")
    ] = None,
    figure: Annotated[str, typer.Option(help="The figure the question is about.")] = "response_mean",
    platform: Annotated[
        str | None, typer.Option("--platform", metavar="A,B", help="Compare two platforms, as process,vm.")
    ] = None,
    cpus: Annotated[int | None, typer.Option(min=1, help="With --platform: CPUs of each side. Default: 1.")] = None,
    start: Start = None,
    width: Width = None,
) -> Json:
    """Compare two settings in alternation: is there a difference, how large, and what can be excluded?

    Ends with exit code 1 when B is worse than A.

    [bold]loadstone compare support --sessions 50 --a server.threads=1 --b server.threads=2[/]
    [bold]loadstone compare support --platform process,vm[/]: peaks, response times and curves of two platforms.
    """
    loads = at if at in (None, "peak") else tuple(word for word in str(at).split(",") if word)
    sides = {side: read_settings(text) if text else {} for side, text in (("a", a), ("b", b))}
    platforms = platform and [_platform(word.strip()) for word in platform.split(",")]
    if platforms and len(platforms) != 2:
        raise UsageError("A comparison is of two platforms. Write them as --platform process,vm.")
    wanted = {"platform": platforms, "cpus": cpus, "figure": figure, "start": start, "width_pct": width}
    return {**sides, "at": loads, "load": load, "pairs": pairs, **wanted}


def _platform(name: str) -> PlatformName:
    if name not in list(PlatformName):
        raise UsageError(f"There is no platform `{name}`. {suggest(name, set(PlatformName))}")
    return PlatformName(name)


def predict(
    at: Annotated[str, typer.Option(metavar="LOADS", help="Loads to measure, as 20,40,60.")] = "",
    check: Annotated[str, typer.Option(metavar="LOADS", help="Loads to measure afterwards, to check by.")] = "",
    load: LoadKind = "sessions",
    rounds: Annotated[int, typer.Option(min=1, max=100, help="Times each load is run.")] = 2,
) -> Json:
    """From a few measured loads predict throughput, response time and peak of others, with intervals.

    [bold]loadstone predict support --at 20,40,60 --check 120[/]
    """
    loads, checks = (tuple(word for word in text.split(",") if word) for text in (at, check))
    return {"load": load, "at": loads, "check": checks, "rounds": rounds}


FINDING_LOADS = {"search": "--start says where it begins.", "predict": "--at says which loads are measured."}
"""Questions that have no load of their own, and what to say instead."""

COMMANDS: dict[str, Callable[..., Json]] = {
    "repeat": repeat,
    "search": search,
    "sweep": sweep,
    "compare": compare,
    "predict": predict,
}


def command(kind: str) -> Callable[..., None]:
    """The command of a kind of question: its own options and those all have."""
    own = COMMANDS[kind]
    asks = inspect.signature(own).parameters
    # What a question means otherwise, as `--platform` of a comparison, stands in place of what all have.
    common = {field.name for field in fields(Common)} - set(asks)
    shared = [one for name, one in inspect.signature(Common).parameters.items() if name in common]

    def carry_out(**given: Any) -> None:
        options = Common(**{name: given[name] for name in common})
        raise typer.Exit(_ask(kind, {name: given[name] for name in asks}, options))

    # Parameters without a default come first; by keyword their order has no other meaning.
    every = [*shared[:2], *asks.values(), *shared[2:]]
    carry_out.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in every]
    )
    hints = get_type_hints(Common, include_extras=True) | get_type_hints(own, include_extras=True)
    carry_out.__annotations__ = {one.name: hints[one.name] for one in every}
    carry_out.__doc__ = own.__doc__
    return carry_out


def _ask(kind: str, given: Json, options: Common) -> Exit:
    if not options.workloads:
        raise UsageError("Name a workload, or a study file. `loadstone workloads` lists what there is.")
    file = study_file(options.workloads)
    if file is None:
        asked = _section(kind, COMMANDS[kind](**given))
        base = _base(options, varies_platform(asked))
        loaded = options.sessions is not None or options.rate is not None
        if loaded and brings_load(_known(asked)):
            remedy = FINDING_LOADS.get(kind, "")
            raise UsageError(f"This study varies the load itself: leave out --sessions and --rate. {remedy}".strip())
    else:
        refuse_beside_a_file(options.context, "sessions", "rate", "arrivals", "most_sessions", *IN_A_FILE, *given)
        study = read_study(file)
        if kind not in study.asked:
            raise UsageError(f"{file} has no [{kind}]. Add it; `loadstone {kind} --help` shows what it takes.")
        asked, base = (
            study.asked[kind],
            order_of(study, options.name, options.threads, options.server_threads, options.results),
        )
        loaded = study.is_loaded
    if base.together:
        raise UsageError("A study plays its workloads one after the other: leave out `together`.")
    question = questions(
        _known(asked), [part.workload for part in base.parts], base.profile, base.parts[0].load if loaded else None
    )
    name = options.name or f"{kind}-{base.name}"
    declaration = {"kind": kind, **asked.model_dump(mode="json")}
    return _carry_out(StudyOrder(name, question, base, declaration, options.fresh))


def _known(section: Section) -> Asked:
    assert isinstance(section, Asked)
    return section


def _section(kind: str, given: Json) -> Section:
    """The question as a file would declare it; raises UsageError that names the option."""
    try:
        return SECTIONS[kind].model_validate({name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        where = tuple(str(part) for part in error.errors()[0]["loc"])
        option = where[0].removesuffix("_pct") if where else kind
        raise UsageError(f"--{option}: {remedy(SECTIONS[kind], where)}") from None


def _base(options: Common, varied: bool) -> RunOrder:
    # What the question says itself comes in place of this; how arrivals are spread stays.
    load: Load = Arrivals((), process=options.arrivals, most_sessions=options.most_sessions)
    if options.sessions is not None or options.rate is not None:
        load = make_load(options.sessions, options.rate, None, options.arrivals, options.most_sessions)
    placement = make_placement(options.platform, options.machine, options.backend, varied)
    return RunOrder(
        name="-".join(Path(word).name for word in options.workloads),
        parts=parts_of(options.workloads, load),
        profile=profile_of(options.profile).changed(steady_s=options.steady),
        seed=options.seed,
        threads=options.threads or half_the_cores(),
        system=make_system(
            options.target or [],
            options.authority,
            not options.insecure,
            options.server_threads,
            options.station,
            placement,
            options.nginx,
        ),
        placement=placement,
        results=options.results,
        clock=clock_of(options.virtual, options.station),
    )


def _carry_out(order: StudyOrder) -> Exit:
    with StudyView() as view:
        path = asyncio.run(conduct(order, view.hear, view.begin, view.tell))
        write_run_reports(path)
        report = write_study_report(path)
    manifest, answer = read_study_manifest(path), read_answer(path)
    for part in answer["parts"]:
        out.print(f"[bold]{part['workload']}[/]")
        for line in part["headline"]:
            out.print(f"  {line}", markup=False, soft_wrap=True)
    if answer.get("index"):
        out.print(f"{NAME} of these peaks: {answer['index']:.1f}. {DISCLAIMER}")
    if manifest["status"] != Status.COMPLETE:
        out.print(f"[yellow]{manifest['status']}[/]: {manifest['reason']}")
    out.print(f"report: {report}", soft_wrap=True)
    return _exit(manifest, answer)


def _exit(manifest: Json, answer: Json) -> Exit:
    if manifest["status"] == Status.INTERRUPTED:
        return Exit.INTERRUPTED
    parts = answer["parts"]
    verdicts = {run["verdict"] for run in answer["runs"]}
    unfit = verdicts == {Verdict.INVALID}  # of all that was made nothing can be said
    unreached = any(part.get("limit") == "driver" and part["peak"] is None for part in parts)
    if unfit or unreached or not all(part["is_answered"] for part in parts):
        return Exit.INVALID
    if answer["kind"] == "repeat":
        return BY_VERDICT[worst([Verdict(verdict) for verdict in verdicts])]
    no_peak = answer["kind"] == "search" and any(part["peak"] is None for part in parts)
    return Exit.FAIL if no_peak or any(part.get("is_worse") for part in parts) else Exit.PASS
