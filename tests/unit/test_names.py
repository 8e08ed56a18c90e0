"""Names of the Python package follow rule 7: types are nouns, functions are verbs, nothing is a filler word.

The tests read syntax trees alone. Each exception has its reason.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "loadstone"
FILLERS = frozenset((Path(__file__).parent / "fillers.txt").read_text().split())
"""Words that say nothing about the value they name. The variable's noun replaces them."""
VERBS = frozenset((Path(__file__).parent / "verbs.txt").read_text().split())
"""First words of public functions; `as`, `from`, `is`, `has`, `may`, `to` and `with` name conversions and tests."""
PREPOSITIONS = ("Of", "As", "By", "Where", "What", "Who", "Whose", "Whom", "In", "At", "Its", "It", "From", "For")
"""First words of docstrings that are fragments."""

STORED = "field of a stored document, whose name stays"
DECLARED = "key of a file that users write"
FILLER_EXCEPTIONS = {
    ("cli/score.py", "by"): "name of the option --by",
    ("model/figures.py", "of"): STORED,
    ("model/figures.py", "own"): STORED,
    ("model/figures.py", "what"): STORED,
    ("model/figures.py", "words"): STORED,
    ("model/machine.py", "OWN"): DECLARED,
    ("model/records/check.py", "KEPT"): STORED,
    ("model/records/events.py", "words"): STORED,
    ("model/records/manifest.py", "what"): STORED,
    ("model/records/verdict.py", "by"): STORED,
    ("model/records/verdict.py", "whole"): "verdict of the whole run, beside those of its workloads",
    ("model/workload/__init__.py", "of"): DECLARED,
    ("model/workload/values.py", "own"): DECLARED,
    ("model/workload/values.py", "words"): DECLARED,
    ("page/blocks.py", "KEPT"): "class of the pages' style sheet",
    ("page/plot.py", "of"): "the percentiles' population, a word of the axis title",
    ("platforms/fabric.py", "own"): "the host's own address, beside `host`",
    ("report/sections/endings.py", "whole"): STORED,
    ("study/answers.py", "words"): STORED,
    ("study/baseline/comparison.py", "KEPT"): STORED,
    ("study/baseline/comparison.py", "said"): STORED,
    ("study/baseline/series.py", "made"): STORED,
    ("study/kinds/compare/platforms/answer.py", "at"): STORED,
    ("study/kinds/compare/section.py", "at"): DECLARED,
    ("study/kinds/failover/section.py", "at"): DECLARED,
    ("study/kinds/peaks/answer.py", "at"): STORED,
    ("study/kinds/predict/section.py", "at"): DECLARED,
    ("study/kinds/sweep/answer.py", "at"): STORED,
    ("study/kinds/sweep/answer.py", "of"): STORED,
    ("study/search/answer.py", "at"): STORED,
    ("study/search/answer.py", "of"): STORED,
    ("web/listing.py", "what"): "read by the template of the list",
}
"""Filler words that stay, by module and name, each with its reason."""
FOREIGN = "name that a library calls"
VERB_EXCEPTIONS = {
    ("cli/main.py", "main"): "entry point of the program, named by the package",
    ("host/bounds.py", "connection_made"): FOREIGN,
    ("host/bounds.py", "data_received"): FOREIGN,
    ("host/bounds.py", "connection_lost"): FOREIGN,
    ("workloads/importers/schema_values.py", "choice"): FOREIGN,
}
"""Public functions without a verb, by module and name, each with its reason."""
ENTRY_POINT = "part of each module's contract, found by its name"
SHARED_CONSTANTS = {
    "KIND": ENTRY_POINT,
    "SECTION": ENTRY_POINT,
    "TOPOLOGY": ENTRY_POINT,
    "NOTE": "text below the table that the module writes",
}
"""Public constants that several modules define, each with the reason."""
SHARED_TYPES = {"Json": "alias of an object of JSON, in modules of several layers", "app": ENTRY_POINT}
"""Public types that several modules define, each with the reason."""


@cache
def trees() -> dict[Path, ast.Module]:
    return {path.relative_to(PACKAGE): ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}


def bound_names(node: ast.AST) -> Iterator[str]:
    """Yields the names that a node binds: variables, parameters, attributes, functions, captures."""
    if isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.attr
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.MatchAs | ast.MatchStar | ast.ExceptHandler):
        yield node.name or ""


def fillers(tree: ast.Module) -> Iterator[str]:
    names = (name for node in ast.walk(tree) for name in bound_names(node))
    return (name for name in names if name.strip("_").lower() in FILLERS)


def public_functions(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yields public functions and methods; properties are nouns, and stay out."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from public_functions(node.body)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            decorators = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
            if not decorators & {"property", "cached_property", "overload", "setter"}:
                yield node


def is_fragment(docstring: str | None) -> bool:
    if docstring is None:
        return False
    first = docstring.split(". ")[0].split()
    return len(first) < 3 or first[0] in PREPOSITIONS


def module_names(tree: ast.Module) -> Iterator[str]:
    """Yields names of public types and constants that a module defines itself."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith(("TypeVar(", "ParamSpec(")):
            continue
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            for name in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(name, ast.Name):
                    yield name.id


@cache
def shared_names() -> dict[str, list[str]]:
    """Maps each public name to the modules that define it, where these are several."""
    places: dict[str, list[str]] = defaultdict(list)
    for path, tree in trees().items():
        for name in dict.fromkeys(module_names(tree)):
            if not name.startswith("_"):
                places[name].append(str(path))
    return {name: modules for name, modules in places.items() if len(modules) > 1}


def is_constant(name: str) -> bool:
    return name.isupper()


def test_no_name_is_a_filler() -> None:
    assert {(path.as_posix(), name) for path, tree in trees().items() for name in fillers(tree)} == set(
        FILLER_EXCEPTIONS
    )


def test_public_functions_begin_with_a_verb() -> None:
    left = {
        (path.as_posix(), function.name)
        for path, tree in trees().items()
        for function in public_functions(tree.body)
        if function.name.split("_")[0] not in VERBS
    }
    assert left == set(VERB_EXCEPTIONS)


def test_docstrings_of_public_functions_hold_a_verb_phrase() -> None:
    fragments = [
        (path.as_posix(), function.name)
        for path, tree in trees().items()
        for function in public_functions(tree.body)
        if is_fragment(ast.get_docstring(function))
    ]
    assert fragments == []


@pytest.mark.parametrize(
    ("are_constants", "exceptions"),
    [(False, SHARED_TYPES), (True, SHARED_CONSTANTS)],
    ids=["types", "constants"],
)
def test_a_public_name_has_one_owner(are_constants: bool, exceptions: dict[str, str]) -> None:
    shared = {name: modules for name, modules in shared_names().items() if is_constant(name) is are_constants}
    assert [name for name in exceptions if name not in shared] == [], "exceptions that are not needed any more"
    assert {name: modules for name, modules in shared.items() if name not in exceptions} == {}
