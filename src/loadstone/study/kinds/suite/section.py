"""`suite`: how it is declared. Pure."""

from typing import Annotated

from pydantic import Field

from loadstone.model.reading import Flag
from loadstone.model.service import Tuning
from loadstone.study.kind import StudySection

SUITE_CLIENTS = 50
"""Clients for each core: by Little's law those of seven of the published tables (docs/webserver.md)."""
Names = Annotated[tuple[str, ...], Field(min_length=1)]
Cores = Annotated[tuple[Annotated[int, Field(ge=1, le=4096)], ...], Field(min_length=1)]
Tunings = Annotated[tuple[Tuning, ...], Field(min_length=1)]


def _split_names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


class SuiteSection(StudySection):
    """`[suite]`: servers, their tunings, numbers of cores."""

    server: Annotated[
        Names, Flag("Servers to test. Default: nginx,apache,tomcat.", metavar="NAME,NAME", read=_split_names)
    ] = Field(default=("nginx", "apache", "tomcat"), description='a list as ["nginx", "apache"]')
    cores: Annotated[
        Cores,
        Flag(
            "Number of cores for the server; several numbers are tested one after another. Default: 1.",
            metavar="N,N",
            read=_split_names,
        ),
    ] = Field(default=(1,), description="a list of whole numbers as [1, 2]")
    tuning: Annotated[
        Tunings, Flag("Settings of each server. Default: default,tuned.", metavar="default,tuned", read=_split_names)
    ] = Field(default=(Tuning.DEFAULT, Tuning.TUNED), description='a list as ["default", "tuned"]')
    clients: Annotated[
        int, Field(ge=1, le=10_000), Flag("Initial number of clients per core.", kind=int, min=1, max=10_000)
    ] = Field(default=SUITE_CLIENTS, description="initial number of clients per core, 1 or more")
    doublings: Annotated[
        int,
        Field(ge=0, le=10),
        Flag("Maximum number of times that clients are doubled to saturate a server.", kind=int, min=0, max=10),
    ] = Field(default=4, description="0 to 10")
    rounds: Annotated[
        int,
        Field(ge=0, le=100),
        Flag(
            "Number of further runs of each cell, at the number of clients with the highest throughput.",
            kind=int,
            min=0,
            max=100,
        ),
    ] = Field(default=0, description="number of further runs, 0 or more; enough runs test tunings for a difference")
    open_pct: Annotated[
        Annotated[float, Field(ge=1, le=99)] | None,
        Flag(
            "Rate of additional open-load runs, in % of the throughput found. Default: no open-load runs.",
            name="--open",
            kind=float,
            min=1,
            max=99,
        ),
    ] = Field(default=None, description="load in %, 1 to 99; default: no open-load runs")

    @property
    def brings_load(self) -> bool:
        """It raises its clients by itself."""
        return True
