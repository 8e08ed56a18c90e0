"""Options that several commands have, and what they amount to."""

import os
from pathlib import Path
from typing import Annotated

import typer

from loadstone.model.errors import UsageError
from loadstone.model.load import MOST_SESSIONS, Process
from loadstone.model.machine import PLAIN, Machine, Placement, PlatformName
from loadstone.model.profile import PROFILES, Profile
from loadstone.model.reading import from_settings, settings_of
from loadstone.model.system import Clock, FileServer, Reference, Station, System
from loadstone.model.target import Target

RESULTS = Path("results")
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
NginxText = Annotated[
    str | None,
    typer.Option("--nginx", metavar="SETTINGS", help="Measure a stock nginx: files=support,sessions=4."),
]
Virtual = Annotated[
    bool, typer.Option("--virtual", help="In virtual time against the modelled --station: done in a moment.")
]
Platform = Annotated[
    PlatformName | None, typer.Option("--platform", help="Where the system under test runs: a process, a machine.")
]
MachineText = Annotated[
    str | None,
    typer.Option(
        "--machine", metavar="SETTINGS", help="Its machine: cpus=2,memory=1024,count=2,cache=none and the like."
    ),
]
BackendText = Annotated[
    str | None,
    typer.Option("--backend", metavar="SETTINGS", help="The back-end simulator's machine, as platform=vm,memory=256."),
]
Seed = Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of everything that is drawn.")]
Results = Annotated[Path, typer.Option(help="Where result folders are made.", envvar="LOADSTONE_RESULTS")]
Sessions = Annotated[int | None, typer.Option(min=1, max=MOST_SESSIONS, help="Simultaneous sessions of each workload.")]
MostSessions = Annotated[int, typer.Option(min=1, max=MOST_SESSIONS, help="Sessions at once under open load, at most.")]
ProfileName = Annotated[str, typer.Option(help=f"Length and rigor: {', '.join(PROFILES)}.")]
Targets = Annotated[
    list[str] | None,
    typer.Option(help="http://HOST:PORT, and https://HOST:PORT beside it. Default: the reference server."),
]
Authority = Annotated[
    Path | None, typer.Option(exists=True, dir_okay=False, help="Certificate of a private authority to believe.")
]
Insecure = Annotated[bool, typer.Option("--insecure", help="Believe any certificate (the report says so).")]
Threads = Annotated[int | None, typer.Option(min=1, help="Driver threads. Default: half the cores.")]
ServerThreads = Annotated[int | None, typer.Option(min=1, help="Threads of the reference server.")]
Steady = Annotated[float | None, typer.Option(min=1, help="Another length of the steady state, in seconds.")]
StudyName = Annotated[str | None, typer.Option(help="Name of the result folder.")]


def half_the_cores() -> int:
    """Half of the cores this process may use: driver and server share the machine."""
    return max(1, len(os.sched_getaffinity(0)) // 2)


def profile_of(name: str) -> Profile:
    """A profile by name; raises UsageError."""
    if name not in PROFILES:
        about = "; ".join(f"{profile.name}: {profile.about}" for profile in PROFILES.values())
        raise UsageError(f"There is no profile `{name}`. There are {about}.")
    return PROFILES[name]


def make_placement(
    platform: PlatformName | None, machine: str | None, backend: str | None, varied: bool = False
) -> Placement:
    """Where services run; raises UsageError. Where the platform is `varied`, some settings fit one of them alone."""
    given, behind = settings_of(machine or ""), settings_of(backend or "")
    if platform is not None:
        given["platform"] = platform.value
    placement = Placement(from_settings(Machine, "machine", given), from_settings(Machine, "machine", behind))
    if not varied:
        placement.machine.refuse_foreign(given)
    placement.backend.refuse_foreign(behind)
    return placement


def threads_on(machine: Machine, threads: int | None) -> int:
    """Threads of the reference server: as asked for, one a CPU of its machine, or half of this machine's cores."""
    alone = None if machine.platform is PlatformName.PROCESS else 1
    return threads or machine.cpus or alone or half_the_cores()


def make_system(
    urls: list[str],
    authority: Path | None,
    verify: bool,
    threads: int | None,
    station: str | None,
    placement: Placement = PLAIN,
    nginx: str | None = None,
) -> System:
    """What is measured: a target, a station, an nginx, or else the reference server. Raises UsageError."""
    if sum((bool(urls), station is not None, nginx is not None)) > 1:
        raise UsageError("Give one of --target, --station and --nginx: a run measures one system.")
    if nginx is not None:
        return FileServer.parse(nginx)
    if not urls and (authority or not verify):
        raise UsageError("--authority and --insecure go with --target; the reference server brings its own.")
    if station is not None:
        return Station.parse(station)
    if urls:
        return Target.parse(urls, authority.read_text() if authority else None, verify)
    return Reference(threads_on(placement.machine, threads))


def clock_of(virtual: bool, station: str | None) -> Clock:
    """In what time to play; raises UsageError."""
    if virtual and station is None:
        raise UsageError("--virtual needs a modelled server. Give it as --station workers=4,service=0.005.")
    return Clock.VIRTUAL if virtual else Clock.REAL
