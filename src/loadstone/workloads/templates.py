"""Texts with values in braces, as declarations have them: the names that they refer to, and filling them in. Pure."""

import re
from collections.abc import Iterable, Mapping

from loadstone.model.reading import Document, suggest
from loadstone.model.workload import Workload
from loadstone.model.workload.values import TableValues, Value

TARGET = "target"
"""The value that requests have without declaring it: the address of the site, as `http://shop.example:80`."""


_HOLE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")


def list_holes(text: str) -> list[str]:
    """Names of the values a text refers to."""
    return [match.group(1) for match in _HOLE.finditer(text) if match.group(1) is not None]


def fill_holes(text: str, known: Mapping[str, str]) -> str:
    """A text with these values in place of their holes; all others are left."""

    def put(match: re.Match[str]) -> str:
        value = known.get(match.group(1) or "")
        return match.group(0) if value is None else value.replace("{", "{{").replace("}", "}}")

    return _HOLE.sub(put, text)


def list_value_names(values: dict[str, Value]) -> Iterable[str]:
    """Names that generators fill: their own, or `name.column` for tables."""
    for name, value in values.items():
        if isinstance(value, TableValues):
            yield from (f"{name}.{column}" for column in value.columns)
        else:
            yield name


def list_known_names(workload: Workload) -> set[str]:
    """Returns the names that texts of a workload may refer to: generated, extracted from answers, or set."""
    states = workload.mix.states.values() if workload.mix is not None else ()
    set_names = {name for state in states for name in state.set}
    return {*list_value_names(workload.values), *list_extracted_names(workload), *set_names}


def list_extracted_names(workload: Workload) -> set[str]:
    """Returns the names of what is known from answers: extracted from them, or set after them."""
    requests = [request for operation in workload.operations.values() for request in (operation, *operation.around)]
    return {extract.value for request in requests for extract in request.extract} | {
        name for request in requests for name in request.set
    }


def check_texts(document: Document, path: tuple[str, ...], texts: Iterable[str], known: set[str]) -> None:
    """Notes each text with an unknown name, an unmatched brace or a control character."""
    for text in texts:
        if re.search(r"[{}]", _HOLE.sub("", text)):
            document.note_problem(
                path, f"`{text}` has an unmatched brace", "Write values as {name} and a literal brace as {{."
            )
        if not text.isprintable():
            document.note_problem(path, f"{text!r} has a control character", "Take out the control character.")
        for name in list_holes(text):
            if name not in known:
                remedy = suggest(name, known) + " Declare values under [values] or extract them. A literal brace is {{."
                document.note_problem(path, f"unknown value `{{{name}}}` in `{text}`", remedy)
