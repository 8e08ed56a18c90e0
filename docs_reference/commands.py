"""The page of the command line: every command and option, from the program itself."""

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import typer
import typer.main

from docs_reference.markdown import anchor, code, listed, paragraph, sentence, table
from loadstone.cli.main import build_program
from loadstone.host.environment import ENVIRONMENT
from loadstone.study.registry import list_study_kinds

HEAD = ("option", "value", "default", "environment", "description")
OTHER = "Options"
"""Heading of options without a panel."""
COMMON = "Options of all studies"
HERE = Path(__file__).parent
TYPES = {int: "INTEGER", float: "NUMBER", Path: "PATH"}
Option = tuple[str, ...]


def command_line() -> Iterator[str]:
    """Blocks of command-line.md."""
    program: Any = typer.main.get_command(build_program())
    commands = [(path, command) for path, command in commands_below(program, ("loadstone",)) if not _is_group(command)]
    kinds = [name for name, kind in list_study_kinds().items() if kind.help]
    studies = [(path, command) for path, command in commands if path[-1] in kinds and len(path) == 2]
    common = set.intersection(*(set(options_of(path, command, "STUDY")) for path, command in studies))
    yield "# Command line"
    yield paragraph(
        "`loadstone COMMAND --help` prints the options of a command. Every option can be set in the environment: "
        f"`{ENVIRONMENT}_RUN_SESSIONS=20` is `run --sessions 20`. The command line overrides the environment, and the "
        "result discloses it. `make reference` writes this page from the program."
    )
    yield _index(program)
    yield (HERE / "examples.md").read_text(encoding="utf-8")
    yield "## loadstone"
    yield from _tables(options_of(("loadstone",), program, ""))
    for path, command in commands:
        if path == studies[0][0]:
            yield f"## {COMMON}"
            yield paragraph(
                f"`{'`, `'.join(path[-1] for path, _ in studies)}` have these options and those of their own sections "
                f"below. Replace `STUDY` in a variable by the command, as in `{ENVIRONMENT}_SEARCH_SEED`."
            )
            yield from _tables(sorted(common, key=options_of(path, command, "STUDY").index))
        is_study = (path, command) in studies
        yield f"## {' '.join(path)}"
        yield from _about(command)
        yield from _arguments(command)
        if is_study:
            yield f"Further options: [{COMMON.lower()}](#{anchor(COMMON)})."
        word = "STUDY" if is_study else path[-1].upper()
        yield from _tables(
            real
            for option, real in zip(options_of(path, command, word), options_of(path, command, ""), strict=True)
            if not (is_study and option in common)
        )


def commands_below(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All commands below one, each after its group."""
    for name, below in getattr(command, "commands", {}).items():
        yield (*path, name), below
        yield from commands_below(below, (*path, name))


def _is_group(command: Any) -> bool:
    return bool(getattr(command, "commands", {})) and not command.params


def _index(program: Any) -> str:
    rows = []
    for name, command in program.commands.items():
        below = [(name, *path) for path, _ in commands_below(command, ())] if _is_group(command) else [(name,)]
        links = ", ".join(f"[{' '.join(path)}](#{anchor(' '.join(('loadstone', *path)))})" for path in below)
        rows.append((command.rich_help_panel, links, _first(command)))
    panels = list(dict.fromkeys(row[0] for row in rows))
    return table(("group", "command", "use"), sorted(rows, key=lambda row: panels.index(row[0])))


def _first(command: Any) -> str:
    """First sentence of a command's help."""
    text = " ".join(_plain(command.help or "").partition("\n\n")[0].split())
    return re.split(r"(?<=\.) ", text)[0].rstrip(":")


def _about(command: Any) -> Iterator[str]:
    """Help of a command, its examples as a list."""
    for block in (command.help or "").split("\n\n"):
        lines = block.strip().splitlines()
        if lines and lines[0].startswith("[bold]"):
            items = " ".join(line.strip() for line in lines).split(" [bold]")
            yield "\n".join(paragraph(f"- {_example(item)}").replace("\n", "\n  ") for item in _marked(items))
        else:
            yield paragraph(_plain(" ".join(lines)))


def _marked(items: Sequence[str]) -> Iterator[str]:
    """Examples of a block, each with the mark that begins it."""
    yield from (item if item.startswith("[bold]") else f"[bold]{item}" for item in items)


def _example(line: str) -> str:
    return re.sub(r"\[bold\](.*?)\[/\]", r"`\1`", line).replace("\\[", "[")


def _plain(text: str) -> str:
    """A help without its markup."""
    return re.sub(r"\[/?(bold)?\]", "", text).replace("\\[", "[")


def _arguments(command: Any) -> Iterator[str]:
    rows = [
        (code(_metavar(argument)), "" if argument.required else "optional", argument.help or "")
        for argument in command.params
        if argument.param_type_name == "argument"
    ]
    yield table(("argument", "", "description"), rows)


def _metavar(argument: Any) -> str:
    metavar = (argument.metavar or argument.name.upper()).strip("[]").removesuffix("...")
    return f"{metavar}..." if argument.nargs == -1 else metavar


def options_of(path: Sequence[str], command: Any, word: str) -> list[Option]:
    """Rows of the options with their panel first; `word` stands for the command in names of variables."""
    names = [word] if word and word != path[-1].upper() else [part.upper().replace("-", "_") for part in path[1:]]
    rows: list[Option] = []
    for option in command.params:
        if option.param_type_name == "argument" or option.hidden:
            continue
        usual = "_".join((ENVIRONMENT, *names, option.name.upper()))
        is_meta = path == ("loadstone",)
        variable = option.envvar or ("" if is_meta else usual)
        flags = ", ".join(map(code, option.opts)) + "".join(f" / {code(off)}" for off in option.secondary_opts)
        panel = option.rich_help_panel if isinstance(option.rich_help_panel, str) else OTHER
        name = code(variable) if variable else ""
        rows.append((panel, flags, _value(option), _default(option), name, _description(option)))
    return rows


def _value(option: Any) -> str:
    if option.is_flag:
        return ""
    kind = option.type_descriptor.annotation
    is_choice = isinstance(kind, type) and issubclass(kind, Enum)
    values = "|".join(str(choice.value) for choice in kind) if is_choice else option.metavar
    limits = _limits(option)
    shown = code(values or TYPES.get(kind, "TEXT"))
    return f"{shown}{limits and f', {limits}'}{', repeatable' if option.multiple else ''}"


def _limits(option: Any) -> str:
    least, most = option.min, option.max
    if least is not None and most is not None and most < 1e9:
        return f"{least:,} to {most:,}"
    return f"{least:g} or more" if least is not None else ""


def _default(option: Any) -> str:
    value = option.default
    if option.required:
        return "required"
    if value is None or value == "" or value is False or value == () or value == []:
        return ""
    if value is True:
        return "on"
    if isinstance(value, tuple | list):
        return code(",".join(map(str, value)))
    return code(f"{value:g}" if isinstance(value, float) else getattr(value, "value", value))


def _description(option: Any) -> str:
    return sentence(listed(_plain(option.help or "")))


def _tables(options: Iterator[Option] | Sequence[Option]) -> Iterator[str]:
    """Tables of options, one a panel."""
    rows = list(options)
    for panel in dict.fromkeys(row[0] for row in rows):
        yield f"**{panel}**"
        yield table(HEAD, (row[1:] for row in rows if row[0] == panel))
