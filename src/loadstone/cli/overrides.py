"""What the command line and the environment change in a study file: each option replaces a value of the file."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import typer

from loadstone.model.choices import ServiceChoices
from loadstone.model.errors import UsageError
from loadstone.model.reading import settings_of
from loadstone.model.system import FileServer, Station
from loadstone.study.file import Override

OptionPlace = tuple[str, str]
"""Section and key of a study file."""

PLACES: Mapping[str, OptionPlace] = {
    "sessions": ("load", "sessions"),
    "rate": ("load", "rate"),
    "trace": ("load", "trace"),
    "arrivals": ("load", "arrivals"),
    "most_sessions": ("load", "most_sessions"),
    "steady": ("profile", "steady_s"),
    "warm_up": ("profile", "warm_up_s"),
    "seed": ("driver", "seed"),
    "threads": ("driver", "threads"),
    "target": ("target", "urls"),
    "agent": ("target", "agents"),
    "authority": ("target", "authority"),
    "cert": ("target", "cert"),
    "key": ("target", "key"),
    "addresses": ("target", "addresses"),
    "source_addresses": ("target", "source_addresses"),
    **{name: ("server", name) for name in ServiceChoices.model_fields},
    "server_threads": ("server", "threads"),
    "platform": ("machine", "platform"),
    "cold": ("machine", "cold"),
    "virtual": ("study", "virtual"),
    "together": ("study", "together"),
}
"""Options that replace one value."""
SECTIONS: Mapping[str, Callable[[Any], tuple[str, object]]] = {
    "profile": lambda name: ("profile", {"name": name}),
    "station": lambda text: ("station", Station.parse(text)),
    "nginx": lambda text: ("nginx", FileServer.parse(text)),
}
"""Options that replace a whole section."""
MACHINES = ("machine", "backend")
"""Options whose settings replace those of the section of the same name."""
OPTIONS_WITH_A_FILE = frozenset(
    {
        *("names", "workload", "name", "results", "report", "tag", "fresh", "fleet", "foreign_cpu"),
        *("drivers", "join_at", "prometheus", "otlp"),
    }
)
"""Options that apply beside a file: they replace nothing that it declares."""


def overrides_of(
    context: typer.Context, question: Mapping[str, OptionPlace], values: Mapping[str, object]
) -> list[Override]:
    """Overrides by the options that were given, those that replace sections first.

    `question` has the places of the options of a study's kind, `given` the values of all options. Raises UsageError for
    an option that cannot go with a file.
    """
    return [
        override
        for option in sorted(values, key=lambda name: name not in SECTIONS)
        if option not in OPTIONS_WITH_A_FILE and (source := _source(context, option))
        for override in _overrides(option, source, values[option], question)
    ]


def _source(context: typer.Context, option: str) -> str:
    """How an option was given, as `--seed` or the variable of the environment; empty where it was not."""
    source = context.get_parameter_source(option)
    if source is None or source.name not in ("COMMANDLINE", "ENVIRONMENT"):
        return ""
    parameter = next(parameter for parameter in context.command.params if parameter.name == option)
    if source.name == "COMMANDLINE":
        return str(parameter.opts[0])
    variable = parameter.envvar or f"{context.auto_envvar_prefix}_{option}".upper()
    return variable if isinstance(variable, str) else variable[0]


def _overrides(option: str, source: str, value: Any, question: Mapping[str, OptionPlace]) -> Iterator[Override]:
    if option in question:
        yield Override(source, question[option], value)
    elif option in PLACES:
        yield Override(source, PLACES[option], value.absolute() if isinstance(value, Path) else value)
    elif option in SECTIONS:
        section, content = SECTIONS[option](value)
        yield Override(source, (section,), content)
    elif option in MACHINES:
        for key, text in settings_of(value if isinstance(value, str) else ",".join(value)).items():
            selector, _, setting = key.rpartition(".")
            yield Override(source, ("machines", selector, setting) if selector else (option, key), text)
    elif option == "insecure":
        yield Override(source, ("target", "verify"), not value)
    else:
        raise UsageError(f"{source} cannot be combined with a study file. Set it in the file.")
