"""Options of commands: the fields of the command's type, and those of sections that study files have too."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from pydantic import ValidationError
from pydantic_core import PydanticUndefined

from loadstone.cli.command import Command
from loadstone.model.errors import UsageError
from loadstone.model.reading import Flag, Section, remedy

S = TypeVar("S", bound=Section)


@dataclass(frozen=True)
class SectionOptions:
    """Options that are fields of a section: what was given of them, by the names of the fields."""

    values: Mapping[str, object] = field(default_factory=dict)

    def read(self, section: type[S]) -> S:
        """Returns the section that they declare. Raises UsageError that names the option."""
        try:
            return section.model_validate({name: value for name, value in self.values.items() if value is not None})
        except ValidationError as error:
            where = tuple(str(part) for part in error.errors()[0]["loc"])
            options = {name: option for name, option, _ in flags_of(section)}
            option = options[where[0]].option(where[0]) if where and where[0] in options else "these options"
            raise UsageError(f"{option}: {remedy(section, where)}") from None


def section_of(section: type[Section], panel: str, names: Mapping[str, Sequence[str]] | None = None) -> dict[str, Any]:
    """Metadata of a command's field that holds the options of a section: their heading in the help, and of some of
    them the names that they take.
    """
    return {"section": section, "panel": panel, "names": names or {}}


def flags_of(section: type[Section]) -> Iterator[tuple[str, Flag, Any]]:
    """Yields the fields of a section that are options: name, how they are given, default."""
    for name, info in section.model_fields.items():
        for flag in info.metadata:
            if isinstance(flag, Flag):
                yield name, flag, None if info.default is PydanticUndefined else info.default


def options_of(command: object) -> dict[str, object]:
    """Returns all options of a command with their values, those of sections among them."""
    values: dict[str, object] = {}
    for option in fields(command):  # type: ignore[arg-type]
        value = getattr(command, option.name)
        values |= value.values if isinstance(value, SectionOptions) else {option.name: value}
    return values


C = TypeVar("C", bound=Command)


def callback(
    command: type[C], sections: Mapping[str, type[Section]] | None = None, **fixed: object
) -> Callable[..., C]:
    """Returns what typer calls for a command: its parameters are the options of the command's fields.

    `sections` has the sections of fields that declare none themselves, `fixed` values of fields that are no options. An
    option that two fields have belongs to the later; the earlier keeps its default.
    """
    hints = get_type_hints(command, include_extras=True)
    parameters: dict[str, inspect.Parameter] = {}
    owners: dict[str, tuple[str, Flag | None]] = {}
    for option in fields(command):  # type: ignore[arg-type]
        if option.name in fixed:
            continue
        section = (sections or {}).get(option.name) or option.metadata.get("section")
        if section is None:
            default = inspect.Parameter.empty if option.default is MISSING else option.default
            parameters[option.name] = _parameter(option.name, hints[option.name], default)
            owners[option.name] = option.name, None
            continue
        for name, flag, default in flags_of(section):
            known = option.metadata["names"].get(name, ())
            shown = replace(flag, help=f"{flag.help} One of: {', '.join(known)}.") if known else flag
            kind, usual = _option(shown, default, option.metadata["panel"])
            parameters[name] = _parameter(name, kind, usual)
            owners[name] = option.name, flag

    def build(**arguments: Any) -> C:
        values: dict[str, Any] = dict(fixed)
        sectioned: dict[str, dict[str, object]] = {}
        for name, value in arguments.items():
            owner, flag = owners[name]
            if flag is None:
                values[owner] = value
            else:
                sectioned.setdefault(owner, {})[name] = _value(flag, value)
        return command(**values, **{owner: SectionOptions(options) for owner, options in sectioned.items()})

    build.__doc__ = command.__doc__
    build.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    build.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    return build


def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _option(flag: Flag, default: Any, panel: str) -> tuple[Any, Any]:
    """The type of an option, with its help, and its default."""
    names = (flag.name,) if flag.name else ()
    option = typer.Option(
        *names, help=flag.help, metavar=flag.metavar, min=flag.min, max=flag.max, rich_help_panel=panel
    )
    if flag.read_all is not None:
        return Annotated[list[str] | None, option], None
    if flag.read is not None:
        return Annotated[str | None, option], None
    return Annotated[bool if flag.kind is bool else flag.kind | None, option], default


def _value(flag: Flag, text: Any) -> object:
    if text is None or text == "" or text == []:
        return None
    if flag.read_all is not None:
        return flag.read_all(text)
    return text if flag.read is None else flag.read(text)
