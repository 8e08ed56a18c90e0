"""`loadstone fileset`."""

from pathlib import Path
from typing import Annotated

import typer

from loadstone.host import launch
from loadstone.host.programs import server

app = typer.Typer(help="Files of the web workloads, for servers that serve files.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Keeps `write` a command of its own."""


@app.command()
def write(
    workload: Annotated[str, typer.Argument(help="banking, shopping or support.")],
    folder: Annotated[Path, typer.Argument(help="Where to write them.")],
    sessions: Annotated[int, typer.Option(min=1, help="Number of sessions the files are for.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how much it would be.")] = False,
) -> None:
    """Write a workload's files to disk: the same bytes the reference server computes. Files already there are kept."""
    command = [server(), "fileset", workload, "--sessions", str(sessions), str(folder)]
    done = launch.run([*command, "--dry-run"] if dry_run else command, stdout=None, stderr=None)
    raise typer.Exit(done.returncode)
