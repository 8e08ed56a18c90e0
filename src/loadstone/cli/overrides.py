"""What the command line and the environment change in a study file: each option replaces a value of the file."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import typer

from loadstone.cli.section_options import OptionPlace, PlacedOption
from loadstone.model.errors import UsageError
from loadstone.model.reading import read_settings
from loadstone.model.selector import normalize_selector
from loadstone.study.override import Override


def list_overrides(context: typer.Context, options: Iterable[PlacedOption]) -> list[Override]:
    """Overrides by the options that were given, those that replace whole tables first.

    Raises UsageError for an option that cannot go with a file.
    """
    options_given = [(option, source) for option in options if (source := describe_source(context, option.name))]
    overrides = [override for option, source in options_given for override in _overrides(option, source)]
    return sorted(overrides, key=lambda override: len(override.place) > 1)


def describe_source(context: typer.Context, option: str) -> str:
    """How an option was given, as `--seed` or the variable of the environment; empty where it was not."""
    source = context.get_parameter_source(option)
    if source is None or source.name not in ("COMMANDLINE", "ENVIRONMENT"):
        return ""
    parameter = next(parameter for parameter in context.command.params if parameter.name == option)
    if source.name == "COMMANDLINE":
        return str(parameter.opts[0])
    variable = parameter.envvar or f"{context.auto_envvar_prefix}_{option}".upper()
    return variable if isinstance(variable, str) else variable[0]


def _overrides(option: PlacedOption, source: str) -> Iterator[Override]:
    place, value = option.place, option.value
    if place is None:
        raise UsageError(f"{source} cannot be combined with a study file. Set it in the file.")
    if place.is_table:
        yield from _of_settings(place, source, value)
    elif place.merges_tables and isinstance(value, Mapping):
        yield from _of_mapping(place.path, source, value)
    elif place.replaces_table:
        yield Override(source, place.path[:1], {place.path[-1]: value})
    elif place.path:
        yield Override(source, place.path, value.absolute() if isinstance(value, Path) else value)


def _of_mapping(path: tuple[str, ...], source: str, values: Mapping[str, Any]) -> Iterator[Override]:
    """Yields an override for each value of nested tables; `apache.prefork` is a table within another."""
    for name, value in values.items():
        below = (*path, *name.split("."))
        if isinstance(value, Mapping):
            yield from _of_mapping(below, source, value)
        else:
            yield Override(source, below, value)


def _of_settings(place: OptionPlace, source: str, value: Any) -> Iterator[Override]:
    """One override for each setting of a machine; `web.memory` is of the machine of a role."""
    for key, text in read_settings(value if isinstance(value, str) else ",".join(value)).items():
        selector, _, setting = key.rpartition(".")
        path = ("machines", *normalize_selector(selector).split(".")) if selector else place.path
        yield Override(source, (*path, setting), text)
