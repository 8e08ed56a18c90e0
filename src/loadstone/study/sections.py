"""The sections of a study file that are no questions: header, load, profile, target, server and driver."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from loadstone.model.choices import ServiceChoices
from loadstone.model.figures import DRIVER_CPU_PCT, FOREIGN_CPU_PCT, LAG_SHARE
from loadstone.model.load import (
    MOST_AT_ONCE,
    POISSON,
    ArrivalProcess,
    Arrivals,
    Load,
    make_load,
    read_process,
    read_sessions,
)
from loadstone.model.profile import PROFILES
from loadstone.model.reading import Section, refusing
from loadstone.model.target import Addresses
from loadstone.model.workload import MOST_SOURCES
from loadstone.model.workload.bounds import NotNegative, Percent, Positive

CountAtLeastOne = Annotated[int, Field(ge=1)]


class StudyHeader(Section):
    """Name of the study, and how its workloads are run."""

    name: str = Field(default="", description="a short name, used for the result folder")
    together: bool = Field(default=False, description="true to run all workloads at the same time")
    virtual: bool = Field(default=False, description="true to run in virtual time against the [station]")


def _sessions(text: str) -> str:
    """A number of sessions as it is written; raises UsageError where it is none."""
    read_sessions(text)
    return text


class LoadEntry(Section):
    """One workload and its load: sessions, a rate of arrivals, or a trace of them."""

    workload: str = Field(description="the name of a workload, or the folder of your own")
    sessions: Annotated[str, refusing(_sessions)] | None = Field(
        default=None, description='sessions at once: 100, "50,100,50" or "10-100"'
    )
    rate: float | str | None = Field(default=None, description='sessions per second: 100, "50,100,150" or "10-100"')
    arrivals: Annotated[ArrivalProcess, refusing(read_process)] = Field(
        default=POISSON, description="`poisson`, `constant`, `bursty` or `self-similar`, the latter two as `bursty:25`"
    )
    trace: Path | None = Field(default=None, description="path of a file with arrival times in seconds, one per line")
    most_sessions: CountAtLeastOne = Field(
        default=MOST_AT_ONCE, description="largest number of simultaneous sessions, 1 or more"
    )

    @property
    def is_loaded(self) -> bool:
        """Whether it says how much load; what a study varies it need not."""
        return (self.sessions, self.rate, self.trace) != (None, None, None)

    def load(self) -> Load:
        """The load; raises UsageError when it is none."""
        if not self.is_loaded:
            return Arrivals((), process=self.arrivals, most_sessions=self.most_sessions)
        return make_load(
            self.sessions,
            str(self.rate) if self.rate is not None else None,
            self.trace,
            self.arrivals,
            self.most_sessions,
        )


class ProfileSection(Section):
    """How long the phases are."""

    name: str = Field(default="quick", description=f"one of {', '.join(PROFILES)}")
    ramp_up_s: NotNegative | None = Field(default=None, description="seconds, 0 or more")
    """Length of the ramp-up in seconds. Default: as in the profile."""
    warm_up_s: NotNegative | None = Field(default=None, description="seconds, 0 or more")
    """Length of the warm-up in seconds. Default: as in the profile."""
    steady_s: Positive | None = Field(default=None, description="seconds, above 0")
    """Length of the steady state in seconds. Default: as in the profile."""
    ramp_down_s: NotNegative | None = Field(default=None, description="seconds, 0 or more")
    """Length of the ramp-down in seconds. Default: as in the profile."""
    iterations: CountAtLeastOne | None = Field(default=None, description="a whole number, 1 or more")
    """Number of times that the run is made. Default: as in the profile."""


class TargetSection(Section):
    """The system under test. Without it, the reference server is started."""

    urls: tuple[str, ...] = Field(default=(), description='a list as ["http://HOST:PORT", "https://HOST:PORT"]')
    """Addresses of the site."""
    authority: Path | None = Field(default=None, description="path of a private CA's certificate (PEM)")
    verify: bool = Field(default=True, description="true or false")
    """Whether certificates of the target are verified."""
    cert: Path | None = Field(default=None, description="the path of a client's certificate (PEM)")
    key: Path | None = Field(default=None, description="path of its key (PEM); default: the key in `cert`")
    addresses: Addresses = Field(
        default=Addresses.ALL, description="addresses of the host name that receive load: `all` or `first`"
    )
    source_addresses: Annotated[int, Field(ge=1, le=MOST_SOURCES)] | None = Field(
        default=None, description=f"number of source addresses for users of a target on this host, 1 to {MOST_SOURCES}"
    )
    agents: tuple[str, ...] = Field(default=(), description='a list as ["https://HOST:PORT", "ssh://HOST"]')
    """Agents on the hosts of the target, whose monitors are read."""


class ServerSection(ServiceChoices):
    """How the reference server runs, and which services it has."""

    threads: CountAtLeastOne | None = Field(default=None, description="a whole number, 1 or more")
    """Threads of the reference server."""
    cores: CountAtLeastOne | None = Field(default=None, description="cores it may use, a whole number, 1 or more")

    @property
    def services(self) -> ServiceChoices:
        """Its services alone."""
        return ServiceChoices(**{name: getattr(self, name) for name in ServiceChoices.model_fields})


class DriverSection(Section):
    """How the driver runs."""

    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(default=1, description="a whole number, 0 or more")
    """Seed of all random values."""
    threads: CountAtLeastOne | None = Field(default=None, description="a whole number, 1 or more")
    """Threads of the driver."""
    lag_share_pct: Percent = Field(default=100 * LAG_SHARE, description="largest lag p99, in % of the shortest limit")
    cpu_pct: Percent = Field(default=DRIVER_CPU_PCT, description="largest share of a core that a driver thread may use")
    foreign_cpu_pct: Percent = Field(
        default=FOREIGN_CPU_PCT, description="largest share of the host that other processes may use"
    )
