"""The list of commands that the help of the program shows without loading them."""

import inspect
import json
from pathlib import Path
from typing import Any

import typer.main

import loadstone.cli
from loadstone.cli.main import OVERVIEW, build_program

FILE = Path(loadstone.cli.__file__).parent / OVERVIEW


def overview() -> str:
    """Panel, name and first paragraph of each command's help, in the order of the help, as JSON."""
    program: Any = typer.main.get_command(build_program())
    rows = [(command.rich_help_panel, name, _first_paragraph(command)) for name, command in program.commands.items()]
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def _first_paragraph(command: Any) -> str:
    return inspect.cleandoc(command.help or "").partition("\n\n")[0]
