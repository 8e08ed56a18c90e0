"""Links of the documentation lead somewhere, and its shell examples are valid command lines."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import typer.main
from docs_reference.markdown import anchor

from loadstone.cli.main import build_program
from tests.places import PROJECT

PAGES = (*sorted(PROJECT.glob("*.md")), *sorted(PROJECT.glob("docs/**/*.md")))
ALL_PAGES = (*PAGES, *sorted(PROJECT.glob("src/**/*.md")))
"""Those that the package ships, too."""
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(loadstone [a-z][^`]*)`")
PLACEHOLDER = re.compile(r"\b[A-Z]{2,}\b|\.\.\.|[<>|]")
"""What marks a line as a pattern of commands, not as a command."""

FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
MOST_COLUMNS = 120
NAME = re.compile(r"loadstone [a-z-]+( [a-z-]+)?")
"""A command without arguments in a sentence: its name."""
FILE = re.compile(r"[\w-]+\.(csv|har|ya?ml|toml|json)")
"""A file that the reader of an example has."""
PROJECT_PATH = re.compile(r"`((?:benches|crates|docs|examples|schemas|scripts|src|tests)/[\w./*-]+)`")
"""A path of the project, or a pattern of paths."""


def name_of(page: Path) -> str:
    return str(page.relative_to(PROJECT))


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    return set(map(anchor, re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text()):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{name_of(page)}: {link}"
        assert not anchor or anchor in anchors(target), f"{name_of(page)}: {link}"


def test_every_page_of_the_documentation_is_linked_from_its_start_page() -> None:
    start = PROJECT / "docs" / "index.md"
    linked = {(start.parent / link.partition("#")[0]).resolve() for link in LINK.findall(start.read_text())}
    assert [name_of(page) for page in sorted(PROJECT.glob("docs/**/*.md")) if page not in {*linked, start}] == []


@pytest.mark.parametrize("page", ALL_PAGES, ids=name_of)
def test_lines_outside_tables_and_code_are_narrow(page: Path) -> None:
    text = FENCE.sub(lambda block: "\n" * block[0].count("\n"), page.read_text(encoding="utf-8"))
    wide = [
        number
        for number, line in enumerate(text.splitlines(), 1)
        if len(line) > MOST_COLUMNS and not line.startswith("|") and " " in line[:MOST_COLUMNS].strip()
    ]
    assert not wide, f"{name_of(page)}: lines {wide}"


@pytest.mark.parametrize("page", ALL_PAGES, ids=name_of)
def test_named_files_exist(page: Path) -> None:
    paths = [path for path in PROJECT_PATH.findall(page.read_text()) if not PLACEHOLDER.search(path)]
    assert [path for path in paths if not any(PROJECT.glob(path.rstrip("/")))] == []


def commands_of(page: Path) -> Iterator[list[str]]:
    """Arguments of each complete `loadstone` command of a page; a command without arguments may be its mere name."""
    text = page.read_text()
    lines = "\n".join(SHELL.findall(text)).replace("\\\n", " ").splitlines()
    inlines = [" ".join(inline.split()) for inline in INLINE.findall(text)]
    for line in (*lines, *(inline for inline in inlines if not NAME.fullmatch(inline))):
        for part in re.split(r"\s(?:&&|;)\s", line):
            arguments = shlex.split(part, comments=True)
            if arguments[:1] == ["loadstone"] and not PLACEHOLDER.search(" ".join(arguments)):
                yield arguments[1:]


@pytest.fixture(scope="module")
def program() -> Any:
    return typer.main.get_command(build_program())


def parse(program: Any, arguments: list[str]) -> None:
    """Parses a command line without executing it; raises what the program would report."""
    command, context, rest = program, typer.Context(program), list(arguments)
    while hasattr(command, "resolve_command") and rest and not rest[0].startswith("-"):
        _, command, rest = command.resolve_command(context, rest)
        context = typer.Context(command, parent=context)
    command.make_context("loadstone", rest)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_are_valid(page: Path, program: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(PROJECT / "examples")
    for arguments in commands_of(page):
        for file in (argument for argument in arguments if FILE.fullmatch(argument)):
            (tmp_path / file).touch()
        try:
            parse(program, arguments)
        except typer.Exit:  # --help and --version
            continue
        except Exception as error:
            pytest.fail(
                f"{name_of(page)}: loadstone {shlex.join(arguments)}: {error!r} {getattr(error, 'message', '')}"
            )


@pytest.mark.parametrize("line", ["run banking --sesions 200", "comparr banking", "run banking --seconds many"])
def test_an_invalid_command_is_noticed(line: str, program: Any) -> None:
    with pytest.raises(Exception, match=r"."):
        parse(program, line.split())
