"""Markdown as the pages have it: paragraphs of 120 columns, tables, texts of declarations as sentences."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

WIDTH = 120
GLUE = "\0"
"""Stands for a space at which no line ends."""


def paragraph(text: str) -> str:
    """A paragraph whose lines have at most 120 columns; code stays on one line."""
    glued = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", GLUE), " ".join(text.split()))
    return textwrap.fill(glued, WIDTH, break_on_hyphens=False, break_long_words=False).replace(GLUE, " ")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; empty columns are left out. Empty where there are no rows."""
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    shown = [at for at in range(len(head)) if any(row[at] for row in cells)]
    lines = [[head[at] for at in shown], ["---"] * len(shown), *([row[at] for at in shown] for row in cells)]
    return "\n".join(re.sub(r"(?<=\|) +(?= \|)", "", f"| {' | '.join(line)} |") for line in lines) if cells else ""


def page(parts: Iterable[str]) -> str:
    """A page of these blocks."""
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def code(text: object) -> str:
    """A value or a name as code."""
    return f"`{text}`"


def sentence(text: str) -> str:
    """A text with a capital letter first and a full stop last."""
    text = " ".join(text.split())
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', ')', '?', ':')) else '.'}" if text else ""


def listed(text: str) -> str:
    """A text whose list of parameters is code."""
    return re.sub(r"(?<=Parameters: )([^`]*?)\.?$", r"`\1`.", text)


def anchor(title: str) -> str:
    """Anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")


def documented_fields(kind: type[Any]) -> dict[str, str]:
    """Text of each field of a class, its own and inherited, that has a docstring below it."""
    texts: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        try:
            (tree,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        except (OSError, TypeError, SyntaxError, ValueError):
            continue
        body = tree.body if isinstance(tree, ast.ClassDef) else []
        for field, text in pairwise(body):
            if isinstance(field, ast.AnnAssign | ast.Assign) and isinstance(text, ast.Expr):
                name = field.target if isinstance(field, ast.AnnAssign) else field.targets[0]
                if isinstance(name, ast.Name) and isinstance(text.value, ast.Constant):
                    texts[name.id] = " ".join(str(text.value.value).split())
    return texts


def summary(kind: type[Any]) -> str:
    """First paragraph of a class's docstring."""
    return " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())


PLURALS = {
    "text": "texts",
    "whole number": "whole numbers",
    "number": "numbers",
    "path": "paths",
    "any": "any values",
}


def plural(type_text: str) -> str:
    """A type in words as that of several."""
    return " or ".join(_plural_of(part) for part in type_text.split(" or "))


def _plural_of(type_text: str) -> str:
    first, comma, rest = type_text.partition(", ")
    first = re.sub("^(list|table|object) of", r"\1s of", first)
    return f"{PLURALS.get(first, first)}{comma}{rest}"
