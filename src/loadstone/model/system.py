"""What is measured: the reference servers, tiles, a station whose behaviour theory knows, or a target others set up."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from loadstone.model.reading import Section, from_settings, read_settings
from loadstone.model.reference import Reference as Reference
from loadstone.model.target import Target
from loadstone.model.tiles import Tiles
from loadstone.model.workload.bounds import NotNegative, Positive, Probability


class UserSpread(StrEnum):
    """How a station's service times are spread."""

    FIXED = "fixed"
    EXPONENTIAL = "exponential"
    LOG_NORMAL = "log-normal"


class Clock(StrEnum):
    """In what time a run is played."""

    REAL = "real"
    VIRTUAL = "virtual"
    """Against a modelled station, without sockets and without waiting."""


class Station(Section):
    """k workers that serve requests first come, first served."""

    workers: Annotated[int, Field(ge=1, le=100_000)] = Field(default=1, description="number of workers, 1 or more")
    service: Positive = Field(default=0.01, description="the mean service time in seconds, above 0")
    spread: UserSpread = Field(default=UserSpread.EXPONENTIAL, description="`fixed`, `exponential` or `log-normal`")
    """Distribution of service times."""
    cv: NotNegative = Field(default=1.0, description="coefficient of variation of log-normal times, 0 or more")
    queue: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="largest number of waiting requests, 0 or more"
    )
    stall: NotNegative = Field(default=0.0, description="duration of a stall of all workers, in seconds")
    stall_every: NotNegative = Field(default=0.0, description="seconds between the starts of stalls, more than `stall`")
    error_share: Probability = Field(default=0.0, description="share of requests answered with an error, 0 to 1")
    slow_start: NotNegative = Field(default=0.0, description="seconds of slower service at the start")
    slow_start_factor: Positive = Field(default=1.0, description="factor of the slower service, above 0")

    @model_validator(mode="after")
    def _stalls_end(self) -> Self:
        if self.stall and self.stall >= self.stall_every:
            raise ValueError("a stall must be shorter than `stall_every`, the seconds from stall to stall")
        return self

    @classmethod
    def parse(cls, text: str) -> "Station":
        """Reads a station such as `workers=4,service=0.005,spread=fixed`. Raises UsageError."""
        return from_settings(cls, "station", read_settings(text))

    def __str__(self) -> str:
        workers = f"{self.workers} worker{'s' * (self.workers != 1)}"
        return f"a station of {workers}, {self.spread} service of {self.service:g} s"


class FileSet(StrEnum):
    """Whose files a file server has."""

    BANKING = "banking"
    SHOPPING = "shopping"
    SUPPORT = "support"


class FileServer(Section):
    """A stock nginx that serves a workload's written files."""

    files: FileSet = Field(default=FileSet.SUPPORT, description="workload: `banking`, `shopping` or `support`")
    sessions: Annotated[int, Field(ge=1, le=100_000)] = Field(
        default=4, description="number of sessions that the files support"
    )
    workers: Annotated[int, Field(ge=1, le=1024)] = Field(default=1, description="worker processes, 1 or more")

    @classmethod
    def parse(cls, text: str) -> "FileServer":
        """Reads a file server such as `files=support,sessions=4`. Raises UsageError."""
        return from_settings(cls, "file server", read_settings(text))

    def __str__(self) -> str:
        return f"nginx with the files of {self.files} for {self.sessions} sessions"


System = Reference | Station | Target | FileServer | Tiles
