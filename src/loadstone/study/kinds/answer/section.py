"""`answer`: how it is declared. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field

from loadstone.model.errors import UsageError
from loadstone.model.reading import Flag, suggest
from loadstone.model.workload.bounds import Percent
from loadstone.study.parameters import RunSettings
from loadstone.study.search.section import SearchOptions


@dataclass(frozen=True)
class Setup:
    """What the workload runs on: a column of the table."""

    about: str
    """In sentences, after `on`."""
    settings: RunSettings
    searched_as: str = ""
    """Setup whose peak and figures it shares; empty for one with a search of its own."""


SETUPS: Mapping[str, Setup] = {
    "native": Setup("plain processes", {"platform": "process"}),
    "container": Setup("containers", {"platform": "container"}),
    "vm": Setup("virtual machines", {"platform": "vm"}),
    "restart": Setup("virtual machines with a restart", {"platform": "vm", "machine.restart": True}, "vm"),
    "pair": Setup("protected pairs", {"platform": "pair"}),
}
"""Setups by name. A machine that is restarted costs what one without a restart costs until it fails."""


def read_setups(text: str) -> tuple[str, ...]:
    """Reads `native,vm,pair`; raises UsageError."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in SETUPS:
            raise UsageError(f"There is no setup `{name}`. {suggest(name, set(SETUPS))}")
    return names


def _check(names: tuple[str, ...]) -> tuple[str, ...]:
    return read_setups(",".join(names))


class AnswerSection(SearchOptions):
    """`[answer]`: setups, and how each peak is searched."""

    setups: Annotated[
        Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(_check)],
        Flag(f"Setups to compare. Default: {','.join(SETUPS)}.", metavar="NAMES", read=read_setups),
    ] = Field(default=tuple(SETUPS), description='a list of setups, such as ["native", "vm", "pair"]')
    cpus: Annotated[int, Field(ge=1, le=4096), Flag("Number of CPUs of each setup.", kind=int, min=1)] = Field(
        default=1, description="CPUs of each setup, 1 or more"
    )
    trials: Annotated[int, Field(ge=0, le=100), Flag("Number of failures of each setup.", kind=int, min=0, max=100)] = (
        Field(default=1, description="failures of each setup, 0 or more")
    )
    verify: Annotated[
        int, Field(ge=1, le=100), Flag("Number of new runs at the peak that must all pass.", kind=int, min=1, max=100)
    ] = Field(default=1, description="runs that must all pass, 1 or more")
    width_pct: Annotated[
        Percent | None,
        Flag(
            "Width of the bracket at which to stop, in %. Default: 10, or 1 with --full.",
            name="--width",
            kind=float,
            min=0.01,
            max=50,
        ),
    ] = Field(default=None, description="width of the bracket at which to stop, in %")
    full: Annotated[bool, Flag("Use the lengths of --profile. Default: short runs.", name="--full", kind=bool)] = Field(
        default=False, description="true for runs of the length of the profile"
    )
    power: Annotated[
        tuple[str, ...],
        Flag(
            "Power meter of the server or the system: rapl, rapl:FOLDER, csv:FILE (seconds,watts) or command:WORDS. "
            "Repeatable.",
            metavar="SCOPE=METER",
            read_all=tuple,
        ),
    ] = Field(default=(), description='a list of power meters, such as ["server=rapl"]')

    @property
    def varies_platform(self) -> bool:
        """Its setups are on several platforms."""
        return True

    @property
    def is_quick(self) -> bool:
        """Whether its runs are short."""
        return not self.full

    @property
    def meters(self) -> tuple[str, ...]:
        """Power meters of its runs."""
        return self.power
