"""The program `loadstone`: its commands, and what each kind of error means to the shell."""

import asyncio
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from typing import Any

import typer

from loadstone import __version__
from loadstone.cli import (
    baseline,
    doctor,
    fileset,
    fleet,
    pair,
    report,
    run,
    score,
    serve,
    simulate,
    study,
    tiles,
    visit,
    workloads,
)
from loadstone.cli.exits import Exit
from loadstone.cli.screen import errors, patient_streams, warn
from loadstone.model.errors import DriverError, LoadstoneError, PlatformError, ServiceError, StudyError
from loadstone.platforms.journal import reap
from loadstone.run.disclosure import ENVIRONMENT

ABOUT = """Measure what a platform costs: play realistic server workloads with honest timing and judge what held.

Exit codes: 0 pass, 1 fail, 2 wrong input or set-up, 3 invalid run, 70 an error of the program, 130 interrupted.

Every option can be set in the environment: LOADSTONE_RUN_SESSIONS=20 is `run --sessions 20`. --install-completion has
the shell complete commands and options; --help-all shows the help of every command."""

MEASURING, RESULTS, TOOLS = "Measuring", "Results", "Tools"

app = typer.Typer(
    help=ABOUT,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"auto_envvar_prefix": ENVIRONMENT},
)
app.command("run", help=run.HELP, rich_help_panel=MEASURING)(run.RunCommand)
app.command("try", rich_help_panel=MEASURING)(visit.try_)
app.command("demo", rich_help_panel=MEASURING)(tiles.DemoCommand)
for name, command, text in study.commands():
    app.command(name, help=text, rich_help_panel=MEASURING)(command)
app.add_typer(tiles.app, name="tiles", rich_help_panel=MEASURING)
app.command("simulate", rich_help_panel=MEASURING)(simulate.simulate)
app.add_typer(pair.app, name="pair", rich_help_panel=MEASURING)
app.command("results", rich_help_panel=RESULTS)(report.results)
app.command("report", rich_help_panel=RESULTS)(report.report)
app.command("export", rich_help_panel=RESULTS)(report.export)
app.command("import", rich_help_panel=RESULTS)(report.import_table)
app.command("serve", rich_help_panel=RESULTS)(serve.serve)
app.add_typer(baseline.app, name="baseline", rich_help_panel=RESULTS)
app.add_typer(score.app, name="score", rich_help_panel=RESULTS)
app.command("placement", rich_help_panel=RESULTS)(score.placement)
app.command("doctor", rich_help_panel=TOOLS)(doctor.doctor)
app.add_typer(workloads.app, name="workloads", rich_help_panel=TOOLS)
app.add_typer(fleet.app, name="fleet", rich_help_panel=TOOLS)
app.add_typer(fileset.app, name="fileset", rich_help_panel=TOOLS)


def _help_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        for path, command in _commands(context.command, ()):
            own = command.make_context(" ".join(("loadstone", *path)), [], resilient_parsing=True)
            typer.echo(command.get_help(own) or "")
        raise typer.Exit


def _commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """A command and all below it."""
    yield path, command
    for name, below in sorted(getattr(command, "commands", {}).items()):
        yield from _commands(below, (*path, name))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"loadstone {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
    help_all: bool = typer.Option(
        False, "--help-all", callback=_help_all, is_eager=True, help="Print the help of every command."
    ),
) -> None:
    """Options of the program itself."""
    for found in reap():
        warn(f"cleared up after a `loadstone` that was killed: {found}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the program and exits with its code."""
    with patient_streams():
        code = _run(arguments)
    sys.exit(int(code))


def _run(arguments: Sequence[str] | None) -> int:
    try:
        done: Any = app(args=arguments, prog_name="loadstone", standalone_mode=False)
        return done.carry_out() if hasattr(done, "carry_out") else done or Exit.PASS
    except typer.Exit as end:
        return end.exit_code
    except (typer.Abort, KeyboardInterrupt, asyncio.CancelledError):
        return Exit.INTERRUPTED
    except StudyError as error:
        return _problems(error)
    except LoadstoneError as error:
        _error(str(error))
        is_invalid = isinstance(error, DriverError | ServiceError) and not isinstance(error, PlatformError)
        return Exit.INVALID if is_invalid else Exit.WRONG_INPUT
    except Exception as error:
        # What the option parser refuses has a text of its own and an exit code of 2.
        if not hasattr(error, "format_message"):
            return _crashed()
        _error(error.format_message())
        errors.print("`loadstone --help` and `loadstone COMMAND --help` show what there is.", style="dim")
        return Exit.WRONG_INPUT


def _problems(error: StudyError) -> Exit:
    errors.print(f"[red]{len(error.problems)} problem{'s' * (len(error.problems) > 1)}:[/]")
    for problem in error.problems:
        errors.print(f"  {problem}", markup=False)
    return Exit.WRONG_INPUT


def _error(text: str) -> None:
    errors.print("[red]error:[/] ", end="")
    errors.print(text, markup=False)


def _crashed() -> Exit:
    """An error that nobody foresaw: one line for the person at the terminal, everything else in a file."""
    kind, error, _ = sys.exc_info()
    details = "the details could not be written"
    try:
        descriptor, path = tempfile.mkstemp(prefix="loadstone-crash-", suffix=".txt")
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(f"loadstone {__version__}: {' '.join(sys.argv)}\n{traceback.format_exc()}")
        details = f"details are in {path}"
    except OSError:
        pass  # the disk may be full: that may be the very reason
    _error(f"loadstone itself failed: {kind.__name__ if kind else ''}: {error}; {details}. Please report it.")
    return Exit.CRASHED
