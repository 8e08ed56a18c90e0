"""Options of commands: the fields of the command's type, and those of sections that study files have too.

A field of a command says in its metadata where its options go in a study file: in the table of its section, at a
`OptionPlace`, or nowhere, since they concern this call alone.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from enum import Enum
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from pydantic import ValidationError

from loadstone.cli.command import Command
from loadstone.model.errors import UsageError
from loadstone.model.reading import FileTable, Flag, Section, describe_remedy, find_refusal, list_flags

S = TypeVar("S", bound=Section)
T = TypeVar("T")


@dataclass(frozen=True)
class OptionPlace:
    """Where a study file has what an option sets."""

    path: tuple[str, ...] = ()
    """Table and key, or the table alone; empty for options that concern this call and replace nothing."""
    is_table: bool = False
    """Whether the option has several settings, each of which replaces that of the table."""
    replaces_table: bool = False
    """Whether the option replaces the whole table, which then has its key alone."""
    merges_tables: bool = False
    """Whether the option's tables replace single values of the file's."""


PLACE = "place"


def place_option(default: T, *path: str, is_table: bool = False) -> T:
    """A field of a command, with the place of its option in study files; without a path it concerns this call alone."""
    shown: T = field(default=default, metadata={PLACE: OptionPlace(path, is_table)})
    return shown


@dataclass(frozen=True)
class PlacedOption:
    """An option with its value: the name that it is passed by, and its place; None where no file goes with it."""

    name: str
    value: object
    place: OptionPlace | None


@dataclass(frozen=True)
class SectionOptions:
    """Options that are fields of a section: what was given of them, by the names of the fields."""

    values: Mapping[str, object] = field(default_factory=dict)
    section: type[Section] = Section
    table: str = ""
    """Name of the section in study files; empty for the top of the file."""

    def read(self, section: type[S], **values: object) -> S:
        """Returns the section that they declare, with further values. Raises UsageError that names the option."""
        options = {name: value for name, value in self.values.items() if value is not None}
        try:
            return section.model_validate(options | values)
        except ValidationError as error:
            if refused := find_refusal(error):
                raise UsageError(str(refused)) from None
            where = tuple(str(part) for part in error.errors()[0]["loc"])
            flags = {name: flag for name, flag, _ in list_flags(section)}
            option = flags[where[0]].format_option(where[0]) if where and where[0] in flags else "these options"
            raise UsageError(f"{option}: {describe_remedy(section, where)}") from None

    def with_values(self, **values: object) -> "SectionOptions":
        """The options with other values of some."""
        return replace(self, values={**self.values, **values})

    def list_options(self) -> Iterator[PlacedOption]:
        """Yields the options, each with the key of its field."""
        top = (self.table,) if self.table else ()
        for name, flag, _ in list_flags(self.section):
            if name in self.values:
                place = OptionPlace((*top, name), replaces_table=flag.replaces_table, merges_tables=flag.merges_tables)
                yield PlacedOption(flag.make_argument(name), self.values[name], place)


@dataclass(frozen=True)
class DeclaredOptions:
    """Which options of a section a command has."""

    section: type[Section]
    table: str
    panel: str
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Names that some of them take, by field."""
    only: frozenset[str] = frozenset()
    """Fields whose options the command has; empty for all."""

    def list_flags(self) -> Iterator[tuple[str, Flag, Any]]:
        """Yields its fields: name, how they are given, default."""
        for name, flag, default in list_flags(self.section):
            if not self.only or name in self.only:
                known = self.names.get(name, ())
                yield name, replace(flag, help=f"{flag.help} One of: {', '.join(known)}.") if known else flag, default


SECTION_KEY = "section"


def declare_options(
    section: type[Section], panel: str = "", names: Mapping[str, Sequence[str]] | None = None, only: Sequence[str] = ()
) -> SectionOptions:
    """A field of a command that holds the options of a table of study files, all of them or some."""
    table, usual_panel = (section.table, section.panel) if issubclass(section, FileTable) else ("", "")
    declared = DeclaredOptions(section, table, panel or usual_panel, names or {}, frozenset(only))
    shown: SectionOptions = field(default_factory=SectionOptions, metadata={SECTION_KEY: declared})
    return shown


def list_options(command: object) -> Iterator[PlacedOption]:
    """Yields all options of a command with their values, those of sections among them."""
    for option in fields(command):  # type: ignore[arg-type]
        value = getattr(command, option.name)
        if isinstance(value, SectionOptions):
            yield from value.list_options()
        else:
            yield PlacedOption(option.name, value, option.metadata.get(PLACE))


C = TypeVar("C", bound=Command)


def make_callback(
    command: type[C], sections: Mapping[str, tuple[str, type[Section]]] | None = None, **fixed: object
) -> Callable[..., C]:
    """Returns what typer calls for a command: its parameters are the options of the command's fields.

    `sections` has the table and the section of fields that declare none themselves, `fixed` values of fields that are
    no options. An option that two fields have belongs to the later; the earlier keeps its default.
    """
    hints = get_type_hints(command, include_extras=True)
    parameters: dict[str, inspect.Parameter] = {}
    owners: dict[str, tuple[str, str, Flag | None]] = {}
    declared: dict[str, DeclaredOptions] = {}
    for option in fields(command):  # type: ignore[arg-type]
        if option.name in fixed:
            continue
        if SECTION_KEY not in option.metadata:
            default = inspect.Parameter.empty if option.default is MISSING else option.default
            parameters[option.name] = _parameter(option.name, hints[option.name], default)
            owners[option.name] = option.name, "", None
            continue
        shown = declared[option.name] = _with_section(option.metadata[SECTION_KEY], (sections or {}).get(option.name))
        for name, flag, default in shown.list_flags():
            argument = flag.make_argument(name)
            parameters[argument] = _parameter(argument, _annotation(name, flag, shown.panel), _default(flag, default))
            owners[argument] = option.name, name, flag

    def build(**arguments: Any) -> C:
        values: dict[str, Any] = dict(fixed)
        fields_of: dict[str, dict[str, object]] = {owner: {} for owner in declared}
        for argument, value in arguments.items():
            owner, name, flag = owners[argument]
            if flag is None:
                values[owner] = value
            else:
                fields_of[owner][name] = _value(flag, value)
        for owner, options in declared.items():
            values[owner] = SectionOptions(fields_of[owner], options.section, options.table)
        return command(**values)

    build.__doc__ = command.__doc__
    build.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    build.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    return build


def _with_section(declared: DeclaredOptions, question: tuple[str, type[Section]] | None) -> DeclaredOptions:
    return declared if question is None else replace(declared, table=question[0], section=question[1])


def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def make_option(section: type[Section], name: str, panel: str | None = None) -> Any:
    """The option of a field, with its help; `panel` is another heading than that of the section's table."""
    flag = next(flag for field_name, flag, _ in list_flags(section) if field_name == name)
    usual = section.panel if issubclass(section, FileTable) else ""
    return _option(name, flag, usual if panel is None else panel)


def _option(name: str, flag: Flag, panel: str) -> Any:
    is_file = {"exists": True, "dir_okay": False} if flag.is_existing_file else {}
    names = (flag.format_option(name), flag.alias) if flag.alias else (flag.name,) if flag.name else ()
    return typer.Option(
        *names,
        help=flag.help,
        metavar=flag.metavar,
        min=flag.min,
        max=flag.max,
        envvar=flag.variable,
        rich_help_panel=flag.panel or panel or None,
        **is_file,  # type: ignore[arg-type]
    )


def _annotation(name: str, flag: Flag, panel: str) -> Any:
    """The type of an option, with its help."""
    option = _option(name, flag, panel)
    if flag.read_all is not None:
        return Annotated[list[str] | None, option]
    if flag.read is not None:
        return Annotated[str | None, option]
    return Annotated[bool if flag.kind is bool else flag.kind | None, option]


def _default(flag: Flag, default: Any) -> Any:
    """The default of an option, as users would give it."""
    if flag.read_all is not None or flag.read is not None:
        return None
    if flag.is_negated:
        return not default
    return default if default is None or isinstance(default, flag.kind | Enum) else str(default)


def _value(flag: Flag, text: Any) -> object:
    if text is None or text == "" or text == []:
        return None
    if flag.read_all is not None:
        return flag.read_all(text)
    if flag.is_negated:
        return not text
    return text if flag.read is None else flag.read(text)
