"""Modules of a Rust crate import each other in one direction, as Python packages do."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

CRATES = sorted((Path(__file__).parents[2] / "crates").rglob("Cargo.toml"))

Module = tuple[str, ...]
"""Path of a module in its crate; empty for the crate's root."""

LITERALS = re.compile(r"//[^\n]*|b?r#\"[\s\S]*?\"#|b?\"(?:\\[\s\S]|[^\"\\])*\"|b?'(?:\\[^\n]|[^'\\\n])'")
TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\n]*\]\s*)*(?:pub(?:\(\w+\))? )?mod (\w+)(?:;| \{[\s\S]*?\n\})")
USE = re.compile(r"\buse ([^;]+);")
PATH = re.compile(r"(?<![\w:])((?:\w+::)+)\w")


def sources(folder: Path) -> dict[Module, str]:
    """Code of each module of a crate, without comments, literals and tests."""
    texts, tests = {}, set()
    for file in folder.rglob("*.rs"):
        place = file.relative_to(folder).with_suffix("").parts
        module = place[:-1] if place[-1] in {"mod", "lib", "main"} else place
        text = LITERALS.sub("", file.read_text())
        tests |= {(*module, name) for name in TESTS.findall(text)}
        texts[module] = TESTS.sub("", text)
    return {module: text for module, text in texts.items() if not any(module[: len(test)] == test for test in tests)}


def leaves(tree: str) -> Iterator[Module]:
    """Paths that an import names: `a::{b, c::d}` has `a::b` and `a::c::d`."""
    prefix, _, group = tree.partition("{")
    if not group:
        yield tuple(part.strip() for part in prefix.split(" as ")[0].split("::"))
        return
    start = tuple(part.strip() for part in prefix.split("::")[:-1])
    depth, branch = 0, ""
    for char in group.rstrip()[:-1] + ",":
        depth += (char == "{") - (char == "}")
        if char == "," and not depth:
            yield from ((*start, *leaf) for leaf in leaves(branch) if branch.strip())
            branch = ""
        else:
            branch += char


def resolve(module: Module, path: Module, known: dict[str, Module], modules: set[Module]) -> Module | None:
    """The longest part of a path that is a module, seen from `module`; None for another crate's."""
    first, *rest = path
    if first == "crate":
        base: Module = ()
    elif first == "super":
        base = module[:-1]
        while rest and rest[0] == "super":
            base, rest = base[:-1], rest[1:]
    elif first == "self":
        base = module
    elif (*module, first) in modules:
        base = (*module, first)
    elif first in known:
        base = known[first]
    else:
        return None
    while rest and (*base, rest[0]) in modules:
        base, rest = (*base, rest[0]), rest[1:]
    return base


def imports(module: Module, text: str, modules: set[Module]) -> set[Module]:
    """Modules of the same crate whose items a module names; itself is omitted."""
    used = [leaf for tree in USE.findall(text) for leaf in leaves(tree)]
    found = {leaf: resolve(module, leaf, {}, modules) for leaf in used}
    known = {base[-1]: base for leaf, base in found.items() if base and leaf[-1] in {base[-1], "self"}}
    paths = [tuple(path.split("::")[:-1]) for path in PATH.findall(USE.sub("", text))]
    named = {*found.values(), *(resolve(module, path, known, modules) for path in paths)}
    return {base for base in named if base is not None} - {module}


def circles(graph: dict[Module, set[Module]]) -> list[set[Module]]:
    """Groups of modules each of which reaches all others of its group."""

    def reached(start: Module) -> set[Module]:
        seen: set[Module] = set()
        ahead = [start]
        while ahead:
            ahead += (new := graph[ahead.pop()] - seen)
            seen |= new
        return seen

    reach = {module: reached(module) for module in graph}
    groups = [{other for other in reach[module] if module in reach[other]} for module in graph]
    return [group for at, group in enumerate(groups) if group and group not in groups[:at]]


@pytest.mark.parametrize("crate", CRATES, ids=lambda crate: crate.parent.name)
def test_modules_of_a_crate_import_each_other_in_one_direction(crate: Path) -> None:
    texts = sources(crate.parent / "src")
    graph = {module: imports(module, text, set(texts)) for module, text in texts.items()}
    named = [sorted("::".join(module) or "(root)" for module in group) for group in circles(graph)]
    assert named == []


def test_an_import_names_the_module_that_has_the_item() -> None:
    modules: set[Module] = {(), ("a",), ("a", "b"), ("c",)}
    assert imports(("a", "b"), "use crate::{a::Item, c};", modules) == {("a",), ("c",)}
    assert imports(("a", "b"), "fn f() { super::super::c::g() }", modules) == {("c",)}
    assert imports(("a",), "use b::{Item, other::{self, More}};\nuse std::io;", modules) == {("a", "b")}
    assert imports(("a",), "fn f() { std::mem::take(); b::g() }", modules) == {("a", "b")}
    assert imports(("c",), "use crate::a;\nfn f() { a::b::g() }", modules) == {("a",), ("a", "b")}


def test_circles_are_groups_that_reach_each_other() -> None:
    assert circles({("a",): {("b",)}, ("b",): {("a",)}, ("c",): {("a",)}}) == [{("a",), ("b",)}]
    assert circles({("a",): {("b",)}, ("b",): {("c",)}, ("c",): set()}) == []
