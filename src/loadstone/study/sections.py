"""The tables of a study file that are no questions: header, load, profile, target, server, driver and other systems.

Each setting is declared here, once. From a field follow the key of the file, the option of commands, its variable of
the environment, the parameter of studies, what is refused, and the pages of reference.
"""

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from loadstone.model.choices import ServiceChoices
from loadstone.model.errors import UsageError
from loadstone.model.figures import DRIVER_CPU_PCT, FOREIGN_CPU_PCT, LAG_SHARE
from loadstone.model.load import (
    MOST_ARRIVALS_AT_ONCE,
    MOST_SESSIONS,
    POISSON,
    ArrivalProcess,
    Arrivals,
    Load,
    make_load,
    read_process,
    read_sessions,
)
from loadstone.model.profile import PROFILES
from loadstone.model.program_settings import SettingsByProgram, read_settings
from loadstone.model.reading import FileTable, Flag, validate_by
from loadstone.model.system import FileServer, Station
from loadstone.model.target import Addresses
from loadstone.model.workload import MOST_SOURCES
from loadstone.model.workload.bounds import NotNegative, Percent, Positive
from loadstone.model.workload.published import DataScale

LOAD, SYSTEM_HEADING, RUN = "Load", "System under test", "Run"
"""Groups in which help shows options."""
CountAtLeastOne = Annotated[int, Field(ge=1)]


class StudyHeader(FileTable):
    """Name of the study, and how its workloads are run."""

    table: ClassVar[str] = "study"
    panel: ClassVar[str] = RUN

    name: str = Field(default="", description="a short name, used for the result folder")
    together: Annotated[
        bool, Flag("Run all workloads at the same time. Default: one after another.", name="--together", kind=bool)
    ] = Field(default=False, description="true to run all workloads at the same time")
    virtual: Annotated[
        bool,
        Flag(
            "Simulate the run in virtual time, in seconds instead of minutes. It requires --station.",
            name="--virtual",
            kind=bool,
            panel=SYSTEM_HEADING,
        ),
    ] = Field(default=False, description="true to run in virtual time against the [station]")


def _sessions(text: str) -> str:
    """A number of sessions as it is written; raises UsageError where it is none."""
    read_sessions(text)
    return text


class LoadEntry(FileTable):
    """One workload and its load: sessions, a rate of arrivals, or a trace of them."""

    table: ClassVar[str] = "load"
    panel: ClassVar[str] = LOAD

    workload: str = Field(description="the name of a workload, or the folder of your own")
    sessions: Annotated[
        Annotated[str, validate_by(_sessions)] | None,
        Flag("Closed load: simultaneous sessions of each workload. Steps: 50,100,150; ramp: 10-100."),
    ] = Field(default=None, description='sessions at once: 100, "50,100,50" or "10-100"')
    rate: Annotated[
        float | str | None, Flag("Open load: session arrivals per second. Steps: 50,100,150; ramp: 10-100.")
    ] = Field(default=None, description='sessions per second: 100, "50,100,150" or "10-100"')
    arrivals: Annotated[
        ArrivalProcess,
        validate_by(read_process),
        Flag(
            "Arrival process of --rate: poisson, constant, bursty:10 (index of dispersion) or self-similar:0.8 (Hurst "
            "parameter).",
            metavar="KIND",
            parameter="arrivals",
        ),
    ] = Field(
        default=POISSON, description="`poisson`, `constant`, `bursty` or `self-similar`, the latter two as `bursty:25`"
    )
    trace: Annotated[
        Path | None, Flag("Open load: file of arrival times in seconds, one per line.", kind=Path, metavar="FILE")
    ] = Field(default=None, description="path of a file with arrival times in seconds, one per line")
    scale: Annotated[
        DataScale,
        Flag("Size of the application's data: that of the workload, or of the published test.", kind=DataScale),
    ] = Field(default=DataScale.WORKLOAD, description="size of the application's data: `workload` or `published`")
    most_sessions: Annotated[
        CountAtLeastOne,
        Flag(
            "Maximum number of simultaneous sessions under open load.",
            kind=int,
            min=1,
            max=MOST_SESSIONS,
            parameter="most_sessions",
        ),
    ] = Field(default=MOST_ARRIVALS_AT_ONCE, description="largest number of simultaneous sessions, 1 or more")

    @property
    def is_loaded(self) -> bool:
        """Whether it says how much load; what a study varies it need not."""
        return (self.sessions, self.rate, self.trace) != (None, None, None)

    def load(self) -> Load:
        """The load; raises UsageError when it is none."""
        if not self.is_loaded:
            return Arrivals((), process=self.arrivals, most_sessions=self.most_sessions)
        self._refuse_idle()
        return make_load(
            self.sessions,
            str(self.rate) if self.rate is not None else None,
            self.trace,
            self.arrivals,
            self.most_sessions,
        )

    def _refuse_idle(self) -> None:
        """Raises UsageError for a setting that the kind of load does not use."""
        if self.rate is None and self.arrivals != POISSON:
            raise UsageError("--arrivals applies to --rate. Remove one of them.")
        if self.sessions is not None and self.most_sessions != MOST_ARRIVALS_AT_ONCE:
            raise UsageError("--most-sessions applies to --rate and --trace. Remove one of them.")


class ProfileSection(FileTable):
    """How long the phases are."""

    table: ClassVar[str] = "profile"
    panel: ClassVar[str] = RUN

    name: Annotated[
        str,
        Flag(
            f"Profile (phase lengths and rigor): {', '.join(PROFILES)}.",
            name="--profile",
            replaces_table=True,
            parameter="profile",
        ),
    ] = Field(default="quick", description=f"one of {', '.join(PROFILES)}")
    ramp_up_s: Annotated[
        NotNegative | None,
        Flag(
            "Length of the ramp-up, in seconds. Default: as in the profile.",
            name="--ramp-up",
            kind=float,
            min=0,
            parameter="profile.ramp_up_s",
        ),
    ] = Field(default=None, description="seconds, 0 or more")
    warm_up_s: Annotated[
        NotNegative | None,
        Flag(
            "Length of the warm-up before the steady state, in seconds. Default: as in the profile.",
            name="--warm-up",
            kind=float,
            min=0,
            parameter="profile.warm_up_s",
        ),
    ] = Field(default=None, description="seconds, 0 or more")
    steady_s: Annotated[
        Positive | None,
        Flag(
            "Length of the steady state, in seconds. Default: as in the profile.",
            name="--steady",
            alias="--seconds",
            kind=float,
            min=1,
            parameter="profile.steady_s",
        ),
    ] = Field(default=None, description="seconds, above 0")
    ramp_down_s: Annotated[
        NotNegative | None,
        Flag(
            "Length of the ramp-down, in seconds. Default: as in the profile.",
            name="--ramp-down",
            kind=float,
            min=0,
            parameter="profile.ramp_down_s",
        ),
    ] = Field(default=None, description="seconds, 0 or more")
    iterations: Annotated[
        CountAtLeastOne | None,
        Flag(
            "Number of times that the run is made. Default: as in the profile.",
            kind=int,
            min=1,
            parameter="profile.iterations",
        ),
    ] = Field(default=None, description="a whole number, 1 or more")


class TargetSection(FileTable):
    """The system under test. Without it, the reference server is started."""

    table: ClassVar[str] = "target"
    panel: ClassVar[str] = SYSTEM_HEADING

    urls: Annotated[
        tuple[str, ...],
        Flag(
            "Address of the system under test: http://HOST:PORT, https://HOST:PORT, or both. Default: the reference "
            "server.",
            name="--target",
            read_all=tuple,
        ),
    ] = Field(default=(), description='a list as ["http://HOST:PORT", "https://HOST:PORT"]')
    """Addresses of the site."""
    authority: Annotated[
        Path | None,
        Flag(
            "CA certificate to trust (PEM file). Default: the authorities of this host.",
            kind=Path,
            is_existing_file=True,
        ),
    ] = Field(default=None, description="path of a private CA's certificate (PEM)")
    verify: Annotated[
        bool,
        Flag("Skip certificate verification (noted in the report).", name="--insecure", kind=bool, is_negated=True),
    ] = Field(default=True, description="true or false")
    """Whether certificates of the target are verified."""
    cert: Annotated[
        Path | None,
        Flag(
            "Client certificate (PEM file) for a target that requires one. It is not copied into the result.",
            kind=Path,
            is_existing_file=True,
        ),
    ] = Field(default=None, description="the path of a client's certificate (PEM)")
    key: Annotated[
        Path | None,
        Flag(
            "Private key of the client certificate (PEM file). Default: the key in the file of --cert.",
            kind=Path,
            is_existing_file=True,
        ),
    ] = Field(default=None, description="path of its key (PEM); default: the key in `cert`")
    addresses: Annotated[
        Addresses,
        Flag(
            "Addresses of the target's host name that receive load: all (round robin) or the first.",
            kind=Addresses,
            parameter="target.addresses",
        ),
    ] = Field(default=Addresses.ALL, description="addresses of the host name that receive load: `all` or `first`")
    source_addresses: Annotated[
        Annotated[int, Field(ge=1, le=MOST_SOURCES)] | None,
        Flag(
            "Number of source addresses for users of a target on this host. Default: 1, or 16 if source ports would "
            "run out.",
            kind=int,
            min=1,
            max=MOST_SOURCES,
            parameter="target.source_addresses",
        ),
    ] = Field(
        default=None, description=f"number of source addresses for users of a target on this host, 1 to {MOST_SOURCES}"
    )
    agents: Annotated[
        tuple[str, ...],
        Flag(
            "Remote host to monitor through `loadstone-server agent`: https://HOST:PORT (token in "
            "LOADSTONE_AGENT_TOKEN) or ssh://HOST. Repeatable.",
            name="--agent",
            metavar="URL",
            read_all=tuple,
        ),
    ] = Field(default=(), description='a list as ["https://HOST:PORT", "ssh://HOST"]')
    """Agents on the hosts of the target, whose monitors are read."""


class ServerSection(ServiceChoices, FileTable):
    """How the reference server runs, and which services it has."""

    table: ClassVar[str] = "server"
    panel: ClassVar[str] = SYSTEM_HEADING

    threads: Annotated[
        CountAtLeastOne | None,
        Flag(
            "Threads of the reference server. Default: one per CPU of its machine, or half of the cores.",
            name="--server-threads",
            kind=int,
            min=1,
            parameter="server.threads",
        ),
    ] = Field(default=None, description="a whole number, 1 or more")
    cores: Annotated[
        CountAtLeastOne | None,
        Flag(
            "Number of cores that the reference server may use. Default: all.",
            name="--server-cores",
            kind=int,
            min=1,
            parameter="server.cores",
        ),
    ] = Field(default=None, description="cores it may use, a whole number, 1 or more")

    @property
    def services(self) -> ServiceChoices:
        """Its services alone."""
        return ServiceChoices(**{name: getattr(self, name) for name in ServiceChoices.model_fields})


class ProgramSettings(FileTable):
    """Settings of the programs that the lab starts, on top of those of `tuning`."""

    table: ClassVar[str] = ""
    panel: ClassVar[str] = SYSTEM_HEADING

    set: Annotated[
        SettingsByProgram,
        Flag(
            "Setting of a program that the lab starts, such as php.children=50 or postgresql.shared_buffers=1GB "
            "(docs/reference/settings.md). Repeatable.",
            metavar="PROGRAM.SETTING=VALUE",
            read_all=read_settings,
            merges_tables=True,
        ),
    ] = Field(default_factory=dict, description="a table for each program, such as [set.php] with children = 50")


class OtherSystems(FileTable):
    """Systems that are measured instead of a target or the reference server."""

    table: ClassVar[str] = ""
    panel: ClassVar[str] = SYSTEM_HEADING

    station: Annotated[
        Station | None,
        Flag(
            "Measure a simulated server whose right answer is known from queueing theory, to test Loadstone "
            "itself. Example with 4 workers, a mean service time of 0.005 s, and room for 100 waiting requests: "
            "workers=4,service=0.005,spread=exponential,queue=100.",
            metavar="SETTINGS",
            read=Station.parse,
        ),
    ] = None
    nginx: Annotated[
        FileServer | None,
        Flag("Stock nginx to measure, such as files=support,sessions=4.", metavar="SETTINGS", read=FileServer.parse),
    ] = None


class DriverSection(FileTable):
    """How the driver runs."""

    table: ClassVar[str] = "driver"
    panel: ClassVar[str] = RUN

    seed: Annotated[
        Annotated[int, Field(ge=0, lt=2**63)], Flag("Seed of all random values.", kind=int, min=0, max=2**63 - 1)
    ] = Field(default=1, description="a whole number, 0 or more")
    """Seed of all random values."""
    threads: Annotated[
        CountAtLeastOne | None,
        Flag("Number of driver threads. Default: half of the cores.", kind=int, min=1, parameter="driver.threads"),
    ] = Field(default=None, description="a whole number, 1 or more")
    lag_share_pct: Percent = Field(default=100 * LAG_SHARE, description="largest lag p99, in % of the shortest limit")
    cpu_pct: Percent = Field(default=DRIVER_CPU_PCT, description="largest share of a core that a driver thread may use")
    foreign_cpu_pct: Annotated[
        Percent,
        Flag(
            "Maximum share of the host's CPU that other processes may use, in %; above it a run is invalid. A value "
            "above the default is disclosed, and the result is never compliant.",
            name="--foreign-cpu",
            kind=float,
            min=0,
            max=100,
            variable="LOADSTONE_FOREIGN_CPU",
        ),
    ] = Field(default=FOREIGN_CPU_PCT, description="largest share of the host that other processes may use")
