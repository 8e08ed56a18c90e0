"""Options that name the hosts of a pair."""

from pathlib import Path
from typing import Annotated

import typer

from loadstone.fleet.inventory import read_fleet
from loadstone.model.errors import UsageError
from loadstone.model.fleet import FleetSpec

FleetFile = Annotated[
    Path | None,
    typer.Option(
        "--fleet",
        metavar="FILE",
        help="Fleet file (TOML) of a pair over hosts (docs/how-to/fleet.md). Default: both sides on this host.",
    ),
]
PairHosts = Annotated[
    str, typer.Option(metavar="A+B", help="Hosts of both sides, in a fleet. Default: two that the fleet chooses.")
]


def read_pair_fleet(fleet: Path | None, host: str) -> FleetSpec | None:
    """Reads the fleet of a pair whose hosts may be named; None without one. Raises UsageError and StudyError."""
    if host and fleet is None:
        raise UsageError(f"`--host {host}` requires a fleet. Add --fleet FILE.")
    return None if fleet is None else read_fleet(fleet)
