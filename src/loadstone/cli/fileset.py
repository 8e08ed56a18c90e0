"""`loadstone fileset`."""

from pathlib import Path
from typing import Annotated

import typer

from loadstone.host import launch
from loadstone.host.programs import find_server

app = typer.Typer(help="Write the files of the web workloads, for file servers.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Keeps `write` a command of its own."""


@app.command()
def write(
    workload: Annotated[str, typer.Argument(help="Web workload: banking, shopping or support.")],
    folder: Annotated[Path, typer.Argument(help="Folder to write to.")],
    sessions: Annotated[int, typer.Option(min=1, help="Number of sessions that the files must support.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the size only; write no files.")] = False,
) -> None:
    """Write a workload's files to disk: the same bytes as from the reference server. Existing files are kept."""
    command = [find_server(), "fileset", workload, "--sessions", str(sessions), str(folder)]
    done = launch.run([*command, "--dry-run"] if dry_run else command, stdout=None, stderr=None)
    raise typer.Exit(done.returncode)
