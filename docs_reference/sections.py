"""Sections of files that users write, as tables of their keys: type, limits, default, description.

The types of the models are walked, so that every key that a file may have is on the page.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from docs_reference.markdown import anchor, code, documented_fields, listed, paragraph, plural, sentence, summary, table
from loadstone.model.load import ProcessKind
from loadstone.model.reading import Flag, Section

HEAD = ("key", "type", "default", "description")
SCALARS = {bool: "true or false", int: "whole number", float: "number", str: "text", Path: "path"}
FAR = 1e9
"""Limits beyond it are those of numbers at all, which the page states once."""


@dataclass
class Sections:
    """The sections of one kind of file, each written once, in the order in which they are reached."""

    known: dict[type[Section], str] = field(default_factory=dict)
    """Titles of the sections so far."""
    stated: Mapping[str, object] = field(default_factory=dict)
    """Keys that the page states once, with their default: left out of tables where they are as stated."""

    def blocks(self, title: str, kind: type[Section], level: int = 2, about: str = "") -> Iterator[str]:
        """Heading, description and keys of a section, and then the same of all sections below it."""
        self.known[kind] = title
        fields = {info.alias or name: info for name, info in kind.model_fields.items()}
        alike = self._alike(kind)
        shown = {
            name: info
            for name, info in fields.items()
            if not (alike is not None and name in alike[1]) and not self._is_stated(name, info)
        }
        below = [part for name, info in shown.items() for part in _below(title, name, info)]
        fresh: dict[type[Section], str] = {}
        for place, part in below:
            if part not in self.known and part not in fresh:
                is_taken = place in (*self.known.values(), *fresh.values())
                fresh[part] = f"{place} as {_words(part)}" if is_taken else place
        self.known |= fresh
        texts = documented_fields(kind)
        yield f"{'#' * level} {title}"
        yield paragraph(about or sentence(summary(kind)))
        if alike is not None:
            names = ", ".join(code(name) for name in fields if name in alike[1])
            yield paragraph(f"Keys as in [{self.known[alike[0]]}](#{anchor(self.known[alike[0]])}): {names}.")
        yield table(HEAD, (self._row(name, info, texts) for name, info in shown.items()))
        for part, place in fresh.items():
            yield from self.blocks(place, part, min(level + 1, 4))

    def _alike(self, kind: type[Section]) -> tuple[type[Section], set[str]] | None:
        """A section before it that inherits the same fields, with their names."""
        for base in kind.__mro__[1:]:
            if not issubclass(base, Section) or not base.model_fields:
                continue
            for earlier in self.known:
                if earlier is not kind and issubclass(earlier, base) and len(base.model_fields) > 2:
                    return earlier, {info.alias or name for name, info in base.model_fields.items()}
        return None

    def _is_stated(self, name: str, info: FieldInfo) -> bool:
        return name in self.stated and self.stated[name] == default_of(info)

    def _row(self, name: str, info: FieldInfo, texts: Mapping[str, str]) -> tuple[str, ...]:
        kind = self.type_of(info.annotation, tuple(info.metadata))
        return code(name), kind, default_of(info), text_of(info, texts.get(name) or texts.get(f"{name}_") or "", kind)

    def type_of(self, annotation: Any, metadata: tuple[Any, ...] = ()) -> str:
        """A type in words with its limits."""
        limits = limits_of(metadata)
        origin, arguments = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            return self.type_of(arguments[0], (*metadata, *arguments[1:]))
        if origin in (Union, UnionType):
            parts = [self.type_of(argument, metadata) for argument in arguments if argument is not type(None)]
            parts = [part for part in parts if not (part == "whole number" and "number" in parts)]
            return " or ".join(dict.fromkeys(part for part in parts if part))
        if origin is Literal:
            return ", ".join("true" if argument is True else code(argument) for argument in arguments)
        if origin in (tuple, list):
            of = self.type_of(next(argument for argument in arguments if argument is not Ellipsis))
            return f"list of {limits and f'{limits} '}{plural(of)}"
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return f"table of {plural(self.type_of(arguments[1]))}"
        if isinstance(annotation, type) and issubclass(annotation, Enum):
            return ", ".join(code(member.value) for member in annotation)
        if annotation in self.known:
            return f"[{self.known[annotation]}](#{anchor(self.known[annotation])})"
        type_text = SCALARS.get(annotation, "text")
        return f"{type_text}, {limits}" if limits and type_text != "text" else type_text


def default_of(info: FieldInfo) -> str:
    """The default of a field as users would write it."""
    default = info.default_factory() if info.default_factory is not None else info.default  # type: ignore[call-arg]
    if default is PydanticUndefined:
        return "required" if info.is_required() else ""
    if default is None or (isinstance(default, str | tuple | dict) and not default):
        return ""
    return code(written(default)) if not isinstance(default, Section) else "as below"


def written(value: Any) -> str:
    """Returns a value as files have it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Enum):
        return f'"{value.value}"'
    if isinstance(value, tuple):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, str | ProcessKind):
        return f'"{value}"'
    return f"{value:g}" if isinstance(value, float) else str(value)


def limits_of(metadata: tuple[Any, ...]) -> str:
    """Limits of a number, or of a list's length, in words."""
    low = high = ""
    for constraint in _flat(metadata):
        match constraint:
            case annotated_types.Ge(ge=int() | float() as least):
                low = f"{_figure(least)} or more" if abs(least) <= FAR else low
            case annotated_types.Gt(gt=least):
                low = f"above {_figure(least)}"
            case annotated_types.Le(le=int() | float() as most) if most < FAR:
                high = _figure(most)
            case annotated_types.Lt(lt=int() | float() as most) if most < FAR:
                high = f"below {_figure(most)}"
            case annotated_types.MinLen(min_length=least):
                low = f"{least} or more"
            case annotated_types.MaxLen(max_length=most):
                high = _figure(most)
    if low and high and high[0].isdigit():
        low = low.removesuffix(" or more")
        return low if low == high else f"{low} to {high}"
    return " and ".join(part for part in (low, high and (high if high[0] == "b" else f"at most {high}")) if part)


def _flat(metadata: tuple[Any, ...]) -> Iterator[Any]:
    """Constraints, also those within a declaration of a field."""
    for constraint in metadata:
        if isinstance(constraint, FieldInfo):
            yield from _flat(tuple(constraint.metadata))
        else:
            yield constraint


def _figure(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def text_of(info: FieldInfo, docstring: str, kind: str) -> str:
    """Description of a key: its docstring or the help of its option, and how it is written where that is not told by
    its type.
    """
    flag = next((mark for mark in info.metadata if isinstance(mark, Flag)), None)
    described = info.description or ""
    help_text = docstring or (listed(flag.help) if flag else "")
    if help_text and not re.search(r"[\[{]|`peak`", described):
        described = ""
    if help_text and docstring and flag is None and docstring == described:
        described = ""
    known = set(re.findall(r"\w+", f"{kind} {_SHAPE}"))
    if not re.search(r"[\[{(]", described) and known.issuperset(re.findall(r"\w+", described)):
        described = ""
    return " ".join(sentence(coded(text)) for text in (help_text, described) if text)


_SHAPE = "a or of from to list whole numbers number true false texts text above more of one and"
"""Words of a description that say no more than the type."""


def coded(text: str) -> str:
    """A text with its tables and lists, such as { a = 1 }, as code."""
    parts, depth, start, is_code = [], 0, 0, False
    for at, letter in enumerate(text):
        if letter == "`":
            is_code = not is_code
        if is_code or letter not in "{}[]":
            continue
        if letter in "{[":
            if depth == 0:
                if text[:at][-1:].strip(" ("):
                    continue
                parts.append(text[start:at])
                start = at
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                parts.append(code(text[start : at + 1]))
                start = at + 1
    return "".join((*parts, text[start:]))


def _words(kind: type[Section]) -> str:
    """Name of a class in words, with its article."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.__name__).lower()
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _below(title: str, name: str, info: FieldInfo) -> Iterator[tuple[str, type[Section]]]:
    """Sections below a key, with their titles."""
    place = f"{title.strip('`[]')}.{name}" if title.startswith("`") else name
    yield from ((f"`{path}`", kind) for path, kind in _sections_in(info.annotation, place))


def _sections_in(annotation: Any, place: str) -> Iterator[tuple[str, type[Section]]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield place, annotation
        return
    origin, arguments = get_origin(annotation), get_args(annotation)
    is_table = isinstance(origin, type) and issubclass(origin, Mapping)
    for argument in arguments[:1] if origin is Annotated else arguments:
        yield from _sections_in(argument, f"{place}.NAME" if is_table else place)
