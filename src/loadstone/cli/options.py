"""Options that several commands have, each declared once: a command is a dataclass made of such groups."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from loadstone.cli.access import AUTHORITY_HELP, CERTIFICATE_HELP, KEY_HELP, Access
from loadstone.cli.command import Command
from loadstone.cli.overrides import overrides_of
from loadstone.cli.section_options import SectionOptions, options_of, section_of
from loadstone.fleet.inventory import read_fleet
from loadstone.model.choices import CHOICES, ServiceChoices
from loadstone.model.errors import UsageError
from loadstone.model.figures import FOREIGN_CPU_PCT
from loadstone.model.fleet import FleetSpec
from loadstone.model.load import MOST_AT_ONCE, MOST_SESSIONS, Arrivals, Load, make_load, read_process
from loadstone.model.machine import PROCESS, Placement
from loadstone.model.profile import PROFILES, Profile
from loadstone.model.reading import settings_of
from loadstone.model.system import Clock, FileServer, Reference, Station, System
from loadstone.model.target import Addresses
from loadstone.model.topology import roles_chosen_by, topologies
from loadstone.model.workload import MOST_SOURCES
from loadstone.platforms.registry import (
    of_role,
    platform_kind,
    platform_kinds,
    read_machine,
    refuse_foreign,
    role_settings,
)
from loadstone.run.criteria import DriverLimits
from loadstone.run.spec import RunSpec
from loadstone.services.registry import names_of
from loadstone.study.file import Override

RESULTS = Path("results")
LOAD, SYSTEM, MACHINE, RUN, RESULT = "Load", "System under test", "Placement", "Run", "Result"
"""Groups in which help shows options."""
COLD = "cold"
"""Setting of machines that boot although they could be restored."""

Results = Annotated[
    Path, typer.Option(help="Folder of the results.", envvar="LOADSTONE_RESULTS", rich_help_panel=RESULT)
]
Seed = Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Seed of all random values.", rich_help_panel=RUN)]
Rate = Annotated[
    str | None,
    typer.Option(help="Open load: session arrivals per second. Steps: 50,100,150; ramp: 10-100.", rich_help_panel=LOAD),
]
ProcessOption = Annotated[
    str,
    typer.Option(
        metavar="KIND",
        help="Arrival process of --rate: poisson, constant, bursty:10 (index of dispersion) or "
        "self-similar:0.8 (Hurst parameter).",
        rich_help_panel=LOAD,
    ),
]
Sessions = Annotated[
    str | None,
    typer.Option(
        help="Closed load: simultaneous sessions of each workload. Steps: 50,100,150; ramp: 10-100.",
        rich_help_panel=LOAD,
    ),
]


@dataclass(frozen=True, kw_only=True)
class ResultOptions:
    """Where results go, and under what name."""

    name: Annotated[str | None, typer.Option(help="Name of the result folder.", rich_help_panel=RESULT)] = None
    results: Results = RESULTS
    report: Annotated[
        bool,
        typer.Option(
            "--report/--no-report",
            help="Write report.html into the result folder. `loadstone report` can write it later.",
            rich_help_panel=RESULT,
        ),
    ] = True


@dataclass(frozen=True, kw_only=True)
class FitnessOptions:
    """What makes a run fit to be judged."""

    foreign_cpu: Annotated[
        float,
        typer.Option(
            "--foreign-cpu",
            min=0,
            max=100,
            envvar="LOADSTONE_FOREIGN_CPU",
            help="Maximum share of the host's CPU that other processes may use, in %; above it a run is "
            "invalid. A value above the default is disclosed, and the result is never compliant.",
            rich_help_panel=RUN,
        ),
    ] = FOREIGN_CPU_PCT

    @property
    def driver_limits(self) -> DriverLimits:
        """What a run may use and suffer."""
        return DriverLimits(foreign_cpu_pct=self.foreign_cpu)


@dataclass(frozen=True, kw_only=True)
class LengthOptions(FitnessOptions):
    """What changes a profile's length, and what is drawn."""

    steady: Annotated[
        float | None,
        typer.Option(
            "--steady",
            "--seconds",
            min=1,
            help="Length of the steady state, in seconds. Default: as in the profile.",
            rich_help_panel=RUN,
        ),
    ] = None
    warm_up: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Length of the warm-up before the steady state, in seconds. Default: as in the profile.",
            rich_help_panel=RUN,
        ),
    ] = None
    seed: Seed = 1

    @property
    def lengths(self) -> dict[str, float | None]:
        """Phases of the profile that are to have another length; None for its own."""
        return {"steady_s": self.steady, "warm_up_s": self.warm_up}


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """How much load: sessions at once, or sessions that arrive."""

    sessions: Sessions = None
    rate: Rate = None
    arrivals: ProcessOption = "poisson"
    most_sessions: Annotated[
        int,
        typer.Option(
            min=1,
            max=MOST_SESSIONS,
            help="Maximum number of simultaneous sessions under open load.",
            rich_help_panel=LOAD,
        ),
    ] = MOST_AT_ONCE

    @property
    def is_loaded(self) -> bool:
        """Whether it is said how much."""
        return self.sessions is not None or self.rate is not None

    def given_load(self, trace: Path | None = None) -> Load:
        """The load; raises UsageError unless it is said in exactly one way."""
        return make_load(self.sessions, self.rate, trace, read_process(self.arrivals), self.most_sessions)

    def load_or_none(self) -> Load:
        """The load, or arrivals without a rate yet: what varies it says how much, how they are spread stays."""
        none = Arrivals((), process=read_process(self.arrivals), most_sessions=self.most_sessions)
        return self.given_load() if self.is_loaded else none


@dataclass(frozen=True, kw_only=True)
class MachineOptions:
    """What the system under test runs on."""

    platform: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"Platform of the system under test: {', '.join(platform_kinds())}. Default: process.",
            rich_help_panel=MACHINE,
        ),
    ] = None
    machine: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SETTINGS",
            help="Settings of the machine, such as cpus=2,memory=1024,count=2,cache=none. For one role: "
            "db.disk=4096; for one copy: 2.web.pin=4-7. Repeatable.",
            rich_help_panel=MACHINE,
        ),
    ] = None
    cold: Annotated[
        bool,
        typer.Option(
            "--cold",
            help="Boot virtual machines. Default: restore the saved state of a machine of the same kind.",
            rich_help_panel=MACHINE,
        ),
    ] = False
    fleet: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            envvar="LOADSTONE_FLEET",
            help="Fleet file (TOML): hosts for drivers and machines (docs/how-to/fleet.md). Default: this host alone.",
            rich_help_panel=MACHINE,
        ),
    ] = None

    def hosts(self) -> FleetSpec | None:
        """The fleet of the run; None without one. Raises StudyError."""
        return None if self.fleet is None else read_fleet(self.fleet)


@dataclass(frozen=True, kw_only=True)
class SystemOptions(MachineOptions):
    """What is measured, and on what machines."""

    target: Annotated[
        list[str] | None,
        typer.Option(
            help="Address of the system under test: http://HOST:PORT, https://HOST:PORT, or both. "
            "Default: the reference server.",
            rich_help_panel=SYSTEM,
        ),
    ] = None
    authority: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help=AUTHORITY_HELP,
            rich_help_panel=SYSTEM,
        ),
    ] = None
    insecure: Annotated[
        bool,
        typer.Option("--insecure", help="Skip certificate verification (noted in the report).", rich_help_panel=SYSTEM),
    ] = False
    cert: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help=f"{CERTIFICATE_HELP} It is not copied into the result.",
            rich_help_panel=SYSTEM,
        ),
    ] = None
    key: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help=KEY_HELP,
            rich_help_panel=SYSTEM,
        ),
    ] = None
    addresses: Annotated[
        Addresses,
        typer.Option(
            help="Addresses of the target's host name that receive load: all (round robin) or the first.",
            rich_help_panel=SYSTEM,
        ),
    ] = Addresses.ALL
    source_addresses: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MOST_SOURCES,
            help="Number of source addresses for users of a target on this host. Default: 1, or 16 if "
            "source ports would run out.",
            rich_help_panel=SYSTEM,
        ),
    ] = None
    agent: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="Remote host to monitor through `loadstone-server agent`: https://HOST:PORT (token in "
            "LOADSTONE_AGENT_TOKEN) or ssh://HOST. Repeatable.",
            rich_help_panel=SYSTEM,
        ),
    ] = None
    station: Annotated[
        str | None,
        typer.Option(
            metavar="SETTINGS",
            help="Measure a simulated server whose right answer is known from queueing theory, to test Loadstone "
            "itself. Example with 4 workers, a mean service time of 0.005 s, and room for 100 waiting requests: "
            "workers=4,service=0.005,spread=exponential,queue=100.",
            rich_help_panel=SYSTEM,
        ),
    ] = None
    nginx: Annotated[
        str | None,
        typer.Option(
            metavar="SETTINGS", help="Stock nginx to measure, such as files=support,sessions=4.", rich_help_panel=SYSTEM
        ),
    ] = None
    services: SectionOptions = field(
        default_factory=SectionOptions,
        metadata=section_of(
            ServiceChoices, SYSTEM, {name: names_of(name) for name in CHOICES if roles_chosen_by(name)}
        ),
    )
    virtual: Annotated[
        bool,
        typer.Option(
            "--virtual",
            help="Simulate the run in virtual time, in seconds instead of minutes. It requires --station.",
            rich_help_panel=SYSTEM,
        ),
    ] = False
    backend: Annotated[
        str | None,
        typer.Option(
            metavar="SETTINGS",
            help="Settings of the machine of the back-end simulator, such as platform=vm,memory=256.",
            rich_help_panel=MACHINE,
        ),
    ] = None
    server_threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Threads of the reference server. Default: one per CPU of its machine, or half of the cores.",
            rich_help_panel=SYSTEM,
        ),
    ] = None

    def system(self, placement: Placement) -> System:
        """What is measured; raises UsageError."""
        urls = list(self.target or [])
        is_given = (bool(urls), self.station is not None, self.nginx is not None)
        if sum(is_given) > 1:
            raise UsageError("A run measures one system. Use one of --target, --station and --nginx.")
        if self.nginx is not None:
            return FileServer.parse(self.nginx)
        access = Access(self.authority, not self.insecure, self.cert, self.key, self.addresses, self.source_addresses)
        if not urls and access != Access():
            options = "--authority, --insecure, --cert, --key, --addresses and --source-addresses"
            raise UsageError(f"{options} require --target; the reference server has its own settings.")
        if self.station is not None:
            return Station.parse(self.station)
        return make_system(urls, access, self.server_threads, placement, self.services.read(ServiceChoices))

    @property
    def clock(self) -> Clock:
        """In what time to play; raises UsageError."""
        if self.virtual and self.station is None:
            raise UsageError("--virtual requires a modelled server. Add it, such as --station workers=4,service=0.005.")
        return Clock.VIRTUAL if self.virtual else Clock.REAL


@dataclass(frozen=True, kw_only=True)
class WorkloadOptions(LoadOptions, SystemOptions, LengthOptions, ResultOptions, Command):
    """All that runs of workloads have in common, single ones and those of studies."""

    context: typer.Context
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORKLOAD...", help="Workloads (name or folder), or one study file (.toml)."),
    ] = None
    profile: Annotated[
        str, typer.Option(help=f"Profile (phase lengths and rigor): {', '.join(PROFILES)}.", rich_help_panel=RUN)
    ] = "quick"
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Number of driver threads. Default: half of the cores.", rich_help_panel=RUN),
    ] = None
    tag: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=TEXT",
            help="Label stored with the result and searchable in the list. Repeatable.",
            rich_help_panel=RESULT,
        ),
    ] = None

    def overrides(self, question: Mapping[str, tuple[str, str]], values: Mapping[str, object]) -> list[Override]:
        """What options replace in a study file: `question` has places of a study's own options, `values` their values.

        Raises UsageError for an option that does not go with a file.
        """
        settings = {name: value for name, value in options_of(self).items() if name != "context"}
        return overrides_of(self.context, question, settings | dict(values))

    @property
    def tags(self) -> dict[str, str]:
        """What is noted; raises UsageError for what has no name."""
        parts = [tag.partition("=") for tag in self.tag or ()]
        wrong = [name + mark for name, mark, text in parts if not (name.strip() and mark and text.strip())]
        if wrong:
            raise UsageError(f"`{wrong[0]}` is not NAME=TEXT. Example: --tag release=1.4.")
        return {name.strip(): text.strip() for name, _, text in parts}

    @property
    def driver_threads(self) -> int:
        """Driver threads."""
        return self.threads or half_the_cores()

    def loosened(self, spec: RunSpec) -> RunSpec:
        """What a file declares, with tags, and the limit on other load as environment or command line say it."""
        spec = replace(spec, notes={**spec.notes, **self.tags})
        if self.foreign_cpu == FOREIGN_CPU_PCT:
            return spec
        return replace(spec, driver_limits=replace(spec.driver_limits, foreign_cpu_pct=self.foreign_cpu))


def half_the_cores() -> int:
    """Half of the cores this process may use: driver and server share the machine."""
    return max(1, len(os.sched_getaffinity(0)) // 2)


def profile_of(name: str) -> Profile:
    """A profile by name; raises UsageError."""
    if name not in PROFILES:
        about = "; ".join(f"{profile.name}: {profile.about}" for profile in PROFILES.values())
        raise UsageError(f"`{name}` is not a known profile. Use {about}.")
    return PROFILES[name]


def make_placement(
    platform: str | None, machine: Sequence[str], backend: str | None, varied: bool = False, cold: bool = False
) -> Placement:
    """Where services run; raises UsageError. Where the platform is `varied`, some settings fit one of them alone."""
    declared, roles = role_settings(settings_of(",".join(machine)))
    behind: dict[str, object] = dict(settings_of(backend or ""))
    if platform is not None:
        declared["platform"] = platform
    if cold:
        _make_cold(declared, behind, varied)
    placement = Placement(read_machine(declared), read_machine(behind), roles)
    if not varied:
        refuse_foreign(placement.machine, declared)
    refuse_foreign(placement.backend, behind)
    return placement


def _make_cold(declared: dict[str, Any], behind: dict[str, Any], varied: bool) -> None:
    """Declares those machines `cold` that could be restored. Raises UsageError when there is none of them."""
    cold_platforms = [name for name, kind in platform_kinds().items() if COLD in kind.settings]
    machines = [settings for settings in (declared, behind) if settings.get("platform", PROCESS) in cold_platforms]
    if varied:
        machines.append(declared)
    if not machines:
        raise UsageError(f"--cold applies to machines that are booted. Add --platform {' or '.join(cold_platforms)}.")
    for machine in machines:
        machine[COLD] = "true"


def make_system(
    urls: list[str], access: Access, threads: int | None, placement: Placement, services: ServiceChoices
) -> System:
    """A system that others set up, or else the reference server. Raises UsageError."""
    if not urls:
        return Reference(threads_on(placement, threads), services)
    if changed := services.changed():
        option = next(iter(changed)).replace("_", "-")
        raise UsageError(f"--{option} applies to services that the lab starts, not to --target. Remove one of them.")
    return access.target(urls)


def threads_on(placement: Placement, threads: int | None) -> int:
    """Threads of the reference server: as asked for, one a CPU of its machine, or half of this machine's cores."""
    machine = placement.machine
    for role in {topology.front.name for topology in topologies()} & placement.roles.keys():
        machine = of_role(machine, placement.roles, role)
    alone = None if platform_kind(machine.platform).shares_host else 1
    return threads or machine.cpus or alone or half_the_cores()
