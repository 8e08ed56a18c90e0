"""The program `loadstone`: its commands, and what each kind of error means to the shell."""

import gc
import importlib
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import typer

from loadstone import __version__
from loadstone.cli.command import Command
from loadstone.cli.exits import Exit
from loadstone.cli.screen import errors, open_patient_streams, warn
from loadstone.host.environment import ENVIRONMENT
from loadstone.model.errors import DriverError, LoadstoneError, PlatformError, ServiceError, StudyError

ABOUT = """Load-test servers and platforms with realistic workloads, and judge whether quality of service was met.

Exit codes: 0 pass, 1 fail, 2 wrong input or set-up, 3 invalid run, 70 internal error, 130 interrupted.

Every option can be set in the environment: LOADSTONE_RUN_SESSIONS=20 is `run --sessions 20`. --install-completion
installs shell completion; --help-all shows the help of every command."""

MEASURING_PANEL, RESULTS_PANEL, TOOLS_PANEL = "Measuring", "Results", "Tools"

OVERVIEW = "overview.json"
"""File next to this one: panel, name and use of each command. `make reference` writes it."""
COMPLETION = "_LOADSTONE_COMPLETE"
"""Set by the shell that asks for completions."""


@dataclass(frozen=True)
class Entry:
    """A command, or a group of commands, in a module that is imported when it is called."""

    name: str
    module: str
    attribute: str
    panel: str
    """Heading that the help shows it under."""

    def register(self, program: typer.Typer) -> None:
        """Adds the command to a program; imports its module."""
        module = importlib.import_module(f"loadstone.cli.{self.module}")
        command = getattr(module, self.attribute)
        if isinstance(command, typer.Typer):
            program.add_typer(command, name=self.name, rich_help_panel=self.panel)
        else:
            text = module.HELP if self.name == "run" else None
            if isinstance(command, type):
                command = importlib.import_module("loadstone.cli.section_options").make_callback(command)
            program.command(self.name, help=text, rich_help_panel=self.panel)(command)


FIRST_ENTRIES = (
    Entry("run", "run", "RunCommand", MEASURING_PANEL),
    Entry("try", "visit", "try_", MEASURING_PANEL),
    Entry("demo", "tiles", "DemoCommand", MEASURING_PANEL),
)
STUDIES_MODULE = "study"
"""The module whose commands are those of the kinds of study."""
LAST = (
    Entry("tiles", "tiles", "app", MEASURING_PANEL),
    Entry("simulate", "simulate", "simulate", MEASURING_PANEL),
    Entry("pair", "pair", "app", MEASURING_PANEL),
    Entry("results", "results", "list_results", RESULTS_PANEL),
    Entry("report", "report", "report", RESULTS_PANEL),
    Entry("explain", "explain", "explain", RESULTS_PANEL),
    Entry("export", "report", "export", RESULTS_PANEL),
    Entry("import", "report", "import_table", RESULTS_PANEL),
    Entry("serve", "serve", "serve", RESULTS_PANEL),
    Entry("baseline", "baseline", "app", RESULTS_PANEL),
    Entry("score", "score", "app", RESULTS_PANEL),
    Entry("placement", "score", "compare_placement", RESULTS_PANEL),
    Entry("doctor", "doctor", "diagnose", TOOLS_PANEL),
    Entry("workloads", "workloads", "app", TOOLS_PANEL),
    Entry("fleet", "fleet", "app", TOOLS_PANEL),
    Entry("fileset", "fileset", "app", TOOLS_PANEL),
)
"""Commands in the order of the help; those of studies stand between these two."""
LEAVES_NOTHING = {"try", "simulate", "pair", *(entry.name for entry in LAST if entry.panel != MEASURING_PANEL)}
"""Commands that leave no result in any case."""


def build_program() -> typer.Typer:
    """Returns the program with all its commands."""
    program = _empty_program()
    for entry in FIRST_ENTRIES:
        entry.register(program)
    _register_studies(program)
    for entry in LAST:
        entry.register(program)
    return program


def build_overview() -> typer.Typer:
    """Returns the program with the names of its commands alone: its help needs no more."""
    program = _empty_program()
    rows = json.loads((Path(__file__).parent / OVERVIEW).read_text(encoding="utf-8"))
    for panel, name, text in rows:
        program.command(name, help=text, rich_help_panel=panel)(_do_nothing)
    return program


def _do_nothing() -> None:
    """Stands for a command in the help of the program."""


def build_program_for(arguments: Sequence[str]) -> typer.Typer:
    """Returns the program with the command that is called alone; for a wrong name, with all of them."""
    if COMPLETION in os.environ:
        return build_program()
    if not arguments or arguments[0] == "--help":
        return build_overview()
    program, called = _empty_program(), arguments[0]
    if called == "--version":
        return program
    entry = next((entry for entry in (*FIRST_ENTRIES, *LAST) if entry.name == called), None)
    if entry is not None:
        entry.register(program)
        return program
    if called.isidentifier() and called in _register_studies(program):
        return program
    return build_program()


def _register_studies(program: typer.Typer) -> list[str]:
    """Adds the commands of all kinds of study; returns their names."""
    names = []
    for name, command, text in importlib.import_module(f"loadstone.cli.{STUDIES_MODULE}").list_commands():
        program.command(name, help=text, rich_help_panel=MEASURING_PANEL)(command)
        names.append(name)
    return names


def _empty_program() -> typer.Typer:
    program = typer.Typer(
        help=ABOUT,
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"auto_envvar_prefix": ENVIRONMENT},
    )
    program.callback()(handle_options)
    return program


def _help_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        for path, command in _commands(context.command, ()):
            command_context = command.make_context(" ".join(("loadstone", *path)), [], resilient_parsing=True)
            typer.echo(command.get_help(command_context) or "")
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


def handle_options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
    help_all: bool = typer.Option(
        False, "--help-all", callback=_help_all, is_eager=True, help="Print the help of every command."
    ),
) -> None:
    """Options of the program itself."""
    from loadstone.platforms.journal import reap  # loads what the version and the help do not need

    for leftover in reap():
        warn(f"cleaned up after a `loadstone` process that was killed: {leftover}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the program and exits with its code."""
    argv = sys.argv[1:] if arguments is None else arguments
    _give_home()
    began = datetime.now(UTC)
    with open_patient_streams():
        code = _run(argv)
    if code in (Exit.WRONG_INPUT, Exit.CRASHED) and argv and argv[0] not in LEAVES_NOTHING:
        _note_refusal(argv, began, int(code))
    sys.exit(int(code))


def _give_home() -> None:
    """Sets HOME for a user without a name, as container engines do: libraries ask for it when they are imported."""
    try:
        Path.home()
    except RuntimeError:
        os.environ["HOME"] = "/"


def _note_refusal(arguments: Sequence[str], began: datetime, code: int) -> None:
    """Notes a command that was to leave a result and left none."""
    from loadstone.store.read import list_results
    from loadstone.store.refused import note_refusal
    from loadstone.store.study import list_studies

    results = _results_folder(arguments)
    newest = [manifest.started for _, manifest in islice(list_results(results), 1)]
    newest += [manifest.started for _, manifest in islice(list_studies(results), 1)]
    if all(datetime.fromisoformat(started) < began for started in newest):
        note_refusal(results, arguments[0], code)


def _results_folder(arguments: Sequence[str]) -> Path:
    """The folder that a command was told, read by itself, since the command may have been refused for any option."""
    folders = [argument.partition("=")[2] for argument in arguments if argument.startswith("--results=")]
    folders += [after for argument, after in pairwise(arguments) if argument == "--results"]
    named = os.environ.get(f"{ENVIRONMENT}_RESULTS") or "results"
    return Path(folders[-1] if folders else named)


def _run(arguments: Sequence[str]) -> int:
    try:
        # Loading a command makes many objects that stay: looking for garbage among them takes a tenth of its start.
        gc.disable()
        program = build_program_for(arguments)
        gc.freeze()
        gc.enable()
        done: Any = program(args=arguments, prog_name="loadstone", standalone_mode=False)
        return done.execute() if isinstance(done, Command) else done or Exit.PASS
    except typer.Exit as end:
        return end.exit_code
    except (typer.Abort, KeyboardInterrupt, _cancellation()):
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
        errors.print("`loadstone --help` and `loadstone COMMAND --help` list commands and options.", style="dim")
        return Exit.WRONG_INPUT


def _cancellation() -> type[BaseException]:
    """The error of a task that was cancelled; the library is not loaded for commands that have no tasks."""
    cancelled: type[BaseException] = getattr(sys.modules.get("asyncio"), "CancelledError", KeyboardInterrupt)
    return cancelled


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
