"""What is measured: the reference server, a station whose behaviour theory knows, or a target others set up."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, ValidationError, model_validator

from loadstone.model.errors import UsageError
from loadstone.model.reading import Section, suggest
from loadstone.model.target import Target
from loadstone.model.workload import NotNegative, Positive, Probability


class Spread(StrEnum):
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

    workers: Annotated[int, Field(ge=1, le=100_000)] = Field(
        default=1, description="requests served at once, 1 or more"
    )
    service: Positive = Field(default=0.01, description="the mean service time in seconds, above 0")
    spread: Spread = Field(default=Spread.EXPONENTIAL, description="`fixed`, `exponential` or `log-normal`")
    cv: NotNegative = Field(default=1.0, description="standard deviation by mean of log-normal times, 0 or more")
    queue: Annotated[int, Field(ge=0)] | None = Field(default=None, description="most requests that wait, 0 or more")
    stall: NotNegative = Field(default=0.0, description="seconds all workers stand still, each time")
    stall_every: NotNegative = Field(default=0.0, description="seconds from stall to stall, more than `stall`")
    error_share: Probability = Field(default=0.0, description="share of requests answered with an error, 0 to 1")
    slow_start: NotNegative = Field(default=0.0, description="seconds for which service is slower at first")
    slow_start_factor: Positive = Field(default=1.0, description="how many times slower at first, above 0")

    @model_validator(mode="after")
    def _stalls_end(self) -> Self:
        if self.stall and self.stall >= self.stall_every:
            raise ValueError("a stall must be shorter than `stall_every`, the seconds from stall to stall")
        return self

    @classmethod
    def parse(cls, text: str) -> "Station":
        """Reads `workers=4,service=0.005,spread=fixed`. Raises UsageError."""
        given = dict(word.partition("=")[::2] for word in text.split(",") if word)
        return make_station(given)

    def __str__(self) -> str:
        workers = f"{self.workers} worker{'s' * (self.workers != 1)}"
        return f"a station of {workers}, {self.spread} service of {self.service:g} s"


def make_station(given: dict[str, str]) -> Station:
    """A station from its settings as texts; raises UsageError that names what is wrong."""
    try:
        return Station.model_validate(given)
    except ValidationError as error:
        where = error.errors()[0]["loc"]
        if not where:
            raise UsageError(f"{error.errors()[0]['msg'].partition(', ')[2].capitalize()}.") from None
        name = str(where[0])
        if name not in Station.model_fields:
            raise UsageError(f"A station has no `{name}`. {suggest(name, set(Station.model_fields))}") from None
        expected = Station.model_fields[name].description
        raise UsageError(f"`{name}={given.get(name)}` does not fit a station. Expected: {expected}.") from None


@dataclass(frozen=True)
class Reference:
    """The reference web server with its back-end simulator."""

    threads: int


System = Reference | Station | Target
