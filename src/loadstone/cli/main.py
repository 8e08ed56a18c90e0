"""The program `loadstone`: its commands, and what each kind of error means to the shell."""

import asyncio
import sys
from collections.abc import Sequence

import typer
from rich.markup import escape

from loadstone import __version__
from loadstone.cli import doctor, fileset, report, run, score, serve, simulate, study, tiles, workloads
from loadstone.cli.exits import Exit
from loadstone.cli.screen import errors
from loadstone.model.errors import DriverError, LoadstoneError, PlatformError, ServiceError, StudyError
from loadstone.platforms.journal import reap

ABOUT = """Measure what a platform costs: play realistic server workloads with honest timing and judge what held.

Exit codes: 0 pass, 1 fail, 2 wrong input or set-up, 3 invalid run, 130 interrupted."""

app = typer.Typer(help=ABOUT, no_args_is_help=True, rich_markup_mode="rich", pretty_exceptions_enable=False)
app.command("run")(run.run)
app.command("demo")(tiles.demo)
app.command("simulate")(simulate.simulate)
for kind in study.COMMANDS:
    app.command(kind)(study.command(kind))
app.command("report")(report.report)
app.command("import")(report.take_in)
app.command("results")(report.results)
app.command("export")(report.export)
app.command("serve")(serve.serve)
app.command("placement")(score.placement)
app.command("doctor")(doctor.doctor)
app.add_typer(tiles.app, name="tiles")
app.add_typer(score.app, name="score")
app.add_typer(workloads.app, name="workloads")
app.add_typer(fileset.app, name="fileset")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"loadstone {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Options of the program itself."""
    for found in reap():
        errors.print(f"[yellow]cleared up[/] after a `loadstone` that was killed: {escape(found)}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the program and exits with its code."""
    try:
        code = app(args=arguments, prog_name="loadstone", standalone_mode=False) or 0
    except typer.Exit as end:
        code = end.exit_code
    except (typer.Abort, KeyboardInterrupt, asyncio.CancelledError):
        code = Exit.INTERRUPTED
    except StudyError as error:
        errors.print(f"[red]{len(error.problems)} problem{'s' * (len(error.problems) > 1)}:[/]")
        for problem in error.problems:
            errors.print(f"  {problem}", markup=False)
        code = Exit.WRONG_INPUT
    except LoadstoneError as error:
        errors.print("[red]error:[/] ", end="")
        errors.print(str(error), markup=False)
        code = Exit.INVALID if isinstance(error, DriverError | ServiceError) else Exit.WRONG_INPUT
        code = Exit.WRONG_INPUT if isinstance(error, PlatformError) else code
    except Exception as error:
        # What the option parser refuses has a text of its own and an exit code of 2.
        if not hasattr(error, "format_message"):
            raise
        errors.print("[red]error:[/] ", end="")
        errors.print(error.format_message(), markup=False)
        errors.print("`loadstone --help` and `loadstone COMMAND --help` show what there is.", style="dim")
        code = Exit.WRONG_INPUT
    sys.exit(int(code))
