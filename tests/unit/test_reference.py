"""The generated reference is up to date, and says what the code does."""

import ast
import importlib
import re
import tarfile
from collections.abc import Iterator
from fnmatch import fnmatch
from types import ModuleType
from typing import Any

import pytest
import typer
import typer.main
from docs_reference.commands import ENVIRONMENT, commands_below, options_of
from docs_reference.overview import FILE, overview
from docs_reference.pages import FOLDER, PAGES, pages
from docs_reference.results import OTHER_FILES, RUN_FILES, STUDY_FILES
from docs_reference.rules import RULES
from typer.testing import CliRunner

from loadstone import judge
from loadstone.cli.main import build_overview, build_program
from loadstone.judge.remedies import REMEDIES
from loadstone.model.records.check import CheckId
from tests.places import DATA, PROJECT

JUDGES = PROJECT / "src" / "loadstone" / "judge"
REMEDY = "run `make reference`"


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    return pages()


@pytest.mark.parametrize("name", PAGES)
def test_the_reference_is_what_the_code_says(name: str, generated: dict[str, str]) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == generated[name], REMEDY


def test_the_help_lists_the_commands_that_there_are() -> None:
    assert FILE.read_text(encoding="utf-8") == overview(), REMEDY
    helps = [CliRunner().invoke(program(), ["--help"]).stdout for program in (build_overview, build_program)]
    assert "explain" in helps[0] and helps[0] == helps[1]


def test_every_page_of_the_reference_is_generated() -> None:
    assert {file.name for file in FOLDER.iterdir()} == set(PAGES)


def test_every_rule_is_in_the_reference() -> None:
    assert set(RULES) == set(REMEDIES)


def judgements() -> Iterator[tuple[CheckId, ModuleType, ast.Call]]:
    """Yields calls that make a check of a rule that they name, with their module."""
    for file in JUDGES.glob("*.py"):
        module = importlib.import_module(f"loadstone.judge.{file.stem}") if file.stem != "__init__" else judge
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            is_check = isinstance(call, ast.Call) and ast.unparse(call.func) in ("check_at_least", "check_at_most")
            if is_check and call.args and ast.unparse(call.args[0]).startswith("CheckId."):
                yield CheckId[ast.unparse(call.args[0]).removeprefix("CheckId.")], module, call


def test_rules_have_the_bound_unit_weight_and_source_that_they_are_judged_by() -> None:
    judged = list(judgements())
    assert len({rule for rule, *_ in judged}) > 40
    for rule, module, call in judged:
        stated, (unit, weight, source) = RULES[rule], call.args[3:6]
        if isinstance(source, ast.Name) and source.id.isupper():
            assert stated.source == getattr(module, source.id), rule
        assert stated.bound == ast.unparse(call.func).removeprefix("check_").replace("_", " "), rule
        assert not isinstance(unit, ast.Constant) or unit.value == stated.unit, rule
        if ast.unparse(weight).startswith("Weight.") and rule not in (CheckId.PERCENTILE, CheckId.MEAN):
            assert ast.unparse(weight) == f"Weight.{stated.weight.name}", rule


def test_every_file_of_a_stored_result_is_in_the_reference() -> None:
    patterns = [re.sub("WORKLOAD-N|NAME", "*", name) for name, *_ in (*RUN_FILES, *STUDY_FILES, *OTHER_FILES)]
    with tarfile.open(DATA / "schema-1.tar.xz") as stored:
        names = [entry.name.removeprefix("./") for entry in stored if entry.isfile()]
    assert len(names) > 20
    for name in names:
        below = re.sub(r"^.*?/", "", name)
        below = re.sub(r"^runs/[^/]+/(?=manifest|verdict|seal|runs|logs|report|rejudged)", "", below)
        assert any(fnmatch(below, pattern) for pattern in patterns), name


def test_every_option_is_read_from_the_variable_that_the_reference_names(monkeypatch: pytest.MonkeyPatch) -> None:
    program: Any = typer.main.get_command(build_program())
    for path, command in commands_below(program, ("loadstone",)):
        context = typer.Context(program, info_name="loadstone", auto_envvar_prefix=ENVIRONMENT)
        below = program
        for name in path[1:]:
            below = below.commands[name]
            context = typer.Context(below, info_name=name, parent=context)
        assert below is command
        named = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
        for option, row in zip(named, options_of(path, command, ""), strict=True):
            with monkeypatch.context() as environment:
                environment.setenv(row[4].strip("`"), "7")
                assert option.resolve_envvar_value(context) == "7", (path, option.name, row[4])
