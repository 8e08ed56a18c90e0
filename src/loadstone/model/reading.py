"""Reading a TOML file section by section, collecting every problem with its line and remedy instead of stopping."""

import difflib
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import Any, ClassVar, TypeVar, cast, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticUndefined

from loadstone.model import places
from loadstone.model.errors import Problem, StudyError, UsageError
from loadstone.model.files import read_text

T = TypeVar("T")


class Section(BaseModel):
    """A part of a file users write: no unknown keys, never changed after reading."""

    # A section is compiled when the first is read: most commands read few kinds.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class FileTable(Section):
    """A table of study files. Its fields with a `Flag` are options of commands too."""

    table: ClassVar[str]
    """Its name in files; empty for the top of the file."""
    panel: ClassVar[str]
    """Heading of its options in help texts."""


@dataclass(frozen=True)
class Flag:
    """How a field of a section is given on the command line, where it can be; stands among its annotations."""

    help: str
    name: str = ""
    """As `--width`; the field's own name otherwise."""
    alias: str = ""
    """Another name of the option."""
    kind: type = str
    """What the words are read as, unless `read` reads them."""
    min: float | None = None
    max: float | None = None
    metavar: str | None = None
    read: Callable[[str], object] | None = None
    """From the option's text to the field's value; raises UsageError. Without an option the field has its default."""
    read_all: Callable[[Sequence[str]], object] | None = None
    """The same for an option that may be given several times."""
    variable: str | None = None
    """Variable of the environment that all commands read; None for the one of each command."""
    panel: str = ""
    """Heading in help texts, where it is not that of the table."""
    is_existing_file: bool = False
    """Whether the option takes the path of a file that exists."""
    is_negated: bool = False
    """Whether giving the option sets the field to false."""
    replaces_table: bool = False
    """Whether the option replaces all of the table in a file, and not its key alone."""
    merges_tables: bool = False
    """Whether the option's tables replace single values of the file's, instead of all of them."""
    parameter: str = ""
    """Name of the parameter by which studies vary the field; empty where they do not."""

    def format_option(self, field_name: str) -> str:
        """Returns the option as users write it, for a field of this name."""
        return self.name or f"--{field_name.replace('_', '-')}"

    def make_argument(self, field_name: str) -> str:
        """Returns the name by which the option is passed, and by which its variable of the environment ends."""
        return self.format_option(field_name).removeprefix("--").replace("-", "_")


def list_flags(section: type[Section]) -> Iterator[tuple[str, Flag, Any]]:
    """Yields the fields of a section that are options: name, how they are given, default."""
    for name, info in section.model_fields.items():
        for flag in info.metadata:
            if isinstance(flag, Flag):
                yield name, flag, None if info.default is PydanticUndefined else info.default


DOCUMENT_MOST_BYTES = 256 << 20
"""Of a declaration; those of long recordings have some MiB."""


@dataclass
class Document:
    """A TOML file being checked: its content, its line numbers and the problems found so far."""

    file: Path
    content: dict[str, Any]
    lines: dict[places.Path, int]
    problems: list[Problem] = field(default_factory=list)
    _adapters: dict[int, tuple[object, TypeAdapter[Any]]] = field(default_factory=dict)
    """What checks a type, by its identity, with the type, which lives as long."""

    @classmethod
    def read(cls, file: Path) -> "Document":
        """Reads a file; raises StudyError when it is missing or no TOML at all."""
        try:
            text = read_text(file, DOCUMENT_MOST_BYTES)
        except UsageError as error:
            raise StudyError([Problem(file, 1, "", str(error), "Check the path and the file.")]) from None
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            line = getattr(error, "lineno", None) or _line_in(str(error))
            raise StudyError(
                [Problem(file, line, "", f"is not valid TOML: {error}", "Correct the syntax there.")]
            ) from None
        except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets in thousands
            raise StudyError(
                [Problem(file, 1, "", f"is too large: {error}", "Use smaller numbers and fewer brackets.")]
            ) from None
        return cls(file, content, places.find_places(text))

    def note_problem(self, path: places.Path, message: str, remedy: str) -> None:
        """Notes a problem at a key's path."""
        line = places.find_line(self.lines, path)
        self.problems.append(Problem(self.file, line, ".".join(path), message, remedy))

    def take(self, path: places.Path, kind: type[T] | Any, value: object) -> T | None:
        """Checks one section's value against its type; notes every problem and returns None when there is one."""
        try:
            checked: T = self._adapter(kind).validate_python(value)
        except ValidationError as error:
            for details in _one_a_place(error.errors(), kind):
                self._note(path, kind, details, value)
            return None
        return checked

    def _adapter(self, kind: Any) -> TypeAdapter[Any]:
        """Checks for one type are prepared once, since a file may have thousands of entries of it."""
        if id(kind) not in self._adapters:
            self._adapters[id(kind)] = kind, TypeAdapter(kind)
        return self._adapters[id(kind)][1]

    def refuse_unknown(self, known: set[str]) -> None:
        """Notes every top-level key that is not one of the known ones."""
        for key in self.content:
            if key not in known:
                self.note_problem((key,), "unknown section", suggest(key, known))

    def finish(self) -> None:
        """Raises StudyError when problems were found."""
        if self.problems:
            raise StudyError(self.problems)

    def _note(self, path: places.Path, kind: object, details: ErrorDetails, value: object) -> None:
        loc = tuple(str(part) for part in details["loc"])
        where = (*path, *_as_written(details["loc"], value))
        match details["type"]:
            case "extra_forbidden":
                self.note_problem(where, "unknown key", suggest(loc[-1], set(_fields_at(kind, loc))))
            case "missing":
                self.note_problem(where, "is missing", f"Add `{loc[-1]} = ...`.")
            case _:
                self.note_problem(
                    where, describe_problem(details) + _refused(details.get("input")), describe_remedy(kind, loc)
                )


def _as_written(loc: tuple[int | str, ...], value: object) -> Iterator[str]:
    """A place as the document has it: without the names of alternatives, which stand in no document."""
    for number, part in enumerate(loc, start=1):
        is_last = number == len(loc)
        if isinstance(value, dict) and part in value and (is_last or part != value.get("kind")):
            value = value[part]
        elif isinstance(value, list | tuple) and isinstance(part, int):
            value = value[part] if part < len(value) else None
        elif not is_last:
            continue
        yield str(part)


class RefusalError(ValueError):
    """Why a value is refused, in whole sentences with the remedy."""


def validate_by(read: Callable[[str], object]) -> BeforeValidator:
    """Has a field's text read by `read`, whose UsageError becomes what pydantic expects."""

    def convert(value: object) -> object:
        if not isinstance(value, str | int | float):
            return value
        try:
            return read(str(value))
        except UsageError as error:
            raise RefusalError(str(error)) from None

    return BeforeValidator(convert)


def find_refusal(error: ValidationError) -> RefusalError | None:
    """Returns why the first value was refused, where its own reader refused it."""
    cause = error.errors()[0].get("ctx", {}).get("error")
    return cause if isinstance(cause, RefusalError) else None


def suggest(name: str, known: set[str]) -> str:
    """The remedy for an unknown word: the nearest known one, or all of them."""
    near = difflib.get_close_matches(name, sorted(known), n=1)
    if near:
        return f"Did you mean `{near[0]}`?"
    return f"Known are: {', '.join(sorted(known))}."


def _one_a_place(errors: list[ErrorDetails], kind: object) -> list[ErrorDetails]:
    """Errors below a field that takes one of several forms are one: it fits none of them."""
    by_place: dict[places.Path, ErrorDetails] = {}
    for details in errors:
        loc = tuple(str(part) for part in details["loc"])
        field = _fields(kind).get(loc[0]) if loc else None
        is_union = field is not None and isinstance(field.annotation, UnionType) and len(get_args(field.annotation)) > 2
        if is_union and len(loc) > 1:
            merged = {
                **details,
                "type": "value_error",
                "loc": details["loc"][:1],
                "msg": "matches none of the valid forms",
            }
            by_place[loc[:1]] = cast(ErrorDetails, merged)
        else:
            by_place[(*loc, details["type"])] = details
    return list(by_place.values())


def _fields(model: object) -> dict[str, FieldInfo]:
    """A model's fields by the names users write; empty for what is no model."""
    fields: dict[str, FieldInfo] = getattr(model, "model_fields", {})
    return {field.alias or name: field for name, field in fields.items()}


def _fields_at(kind: object, loc: places.Path) -> list[str]:
    """Names of the fields of the model that the last part of `loc` stands in."""
    model = kind
    for part in loc[:-1]:
        model = _below(model, part)
    return list(_fields(model))


def _below(model: object, part: str) -> object:
    """What stands at a part of a model: a field's type, or that of a table's values."""
    fields = _fields(model)
    if part in fields:
        return fields[part].annotation
    origin = get_origin(model)
    return get_args(model)[-1] if isinstance(origin, type) and issubclass(origin, Mapping) else model


def describe_remedy(kind: object, loc: places.Path) -> str:
    """Returns the expected value at a place of a section, from its description."""
    described, model = None, kind
    for part in loc:
        field = _fields(model).get(part)
        described = field.description if field is not None and field.description else described
        model = _below(model, part)
    return f"Expected: {described}." if described else "Correct the value."


def describe_problem(details: ErrorDetails) -> str:
    """Returns pydantic's message as part of a sentence, in TOML's words."""
    text = details["msg"].removeprefix("Value error, ")
    return (text[:1].lower() + text[1:]).replace("valid tuple", "list").replace("valid dictionary", "table")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _refused(value: object) -> str:
    """Returns the end of a message that shows a refused value; a table is refused as a whole and not shown."""
    text = repr(value)
    if isinstance(value, dict):
        return ""
    return f", not {text if len(text) < 60 else text[:57] + '...'}"


def _line_in(message: str) -> int:
    digits = message.rpartition("line ")[2].split(",")[0]
    return int(digits) if digits.isdigit() else 1


Kind = TypeVar("Kind", bound=Section)


def read_settings(text: str) -> dict[str, str]:
    """Reads `workers=4,service=0.005`; raises UsageError for a name without a value."""
    settings = [setting for setting in text.split(",") if setting]
    bare = [setting for setting in settings if "=" not in setting or setting.endswith("=")]
    if bare:
        raise UsageError(f"`{bare[0].rstrip('=')}` needs a value. Use NAME=VALUE, separated by commas.")
    return dict(setting.partition("=")[::2] for setting in settings)


def from_settings(kind: type[Kind], title: str, values: Mapping[str, object]) -> Kind:
    """A section from settings given as texts; raises UsageError that names what is wrong and what is expected."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        where = error.errors()[0]["loc"]
        if not where:
            raise UsageError(f"{_sentence(describe_problem(error.errors()[0]))}") from None
        name = str(where[0])
        if name not in kind.model_fields:
            raise UsageError(f"A {title} has no `{name}`. {suggest(name, set(kind.model_fields))}") from None
        expected = kind.model_fields[name].description
        raise UsageError(f"`{name}={values.get(name)}` is not valid for a {title}. Expected: {expected}.") from None
