"""Settings of runs as texts: of the command line and study files, of stored answers, and of reports. Pure.

Everywhere else settings are typed values (`parameters.RunSettings`).
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator

from loadstone.model.errors import UsageError
from loadstone.model.load import ArrivalProcess
from loadstone.study.parameters import Point, RunSettings, SettingValue, find_parameter, get_parameter


def read_settings(text: str) -> dict[str, str]:
    """Reads `server.threads=2,sessions=100`; raises UsageError."""
    settings: dict[str, str] = {}
    for setting in filter(None, text.split(",")):
        name, equals, value = setting.partition("=")
        if not equals or not value:
            raise UsageError(f"`{setting}` is not a setting. Use NAME=VALUE, separated by commas.")
        settings[get_parameter(name).name] = value
    if not settings:
        raise UsageError("The setting is empty. Use NAME=VALUE, separated by commas.")
    return settings


def read_points(text: str) -> tuple[str, tuple[str, ...]]:
    """Reads `sessions=50,100,150`, one parameter with its points; raises UsageError."""
    name, equals, values = text.partition("=")
    points = tuple(dict.fromkeys(value.strip() for value in values.split(",") if value.strip()))
    if not equals or not points:
        raise UsageError(f"`{text}` has no points. Use NAME=VALUE,VALUE,...")
    return get_parameter(name).name, points


def parse_points(name: str, points: Iterable[Point]) -> tuple[SettingValue, ...]:
    """Points of a parameter as its values, each once; raises UsageError."""
    return tuple(dict.fromkeys(get_parameter(name).read(point) for point in points))


def parse_loads(load: str, points: Iterable[Point]) -> tuple[float, ...]:
    """Loads of a kind as numbers, each once; raises UsageError."""
    values = parse_points(load, points)
    return tuple(value for value in values if isinstance(value, int | float))


def parse_settings(settings: Mapping[str, Point]) -> dict[str, SettingValue]:
    """Settings as values, by the names of known parameters; raises UsageError."""
    return {name: get_parameter(name).read(value) for name, value in settings.items()}


def write_value(value: SettingValue) -> str:
    """A value as it is written in settings."""
    match value:
        case bool():
            return str(value).lower()
        case float():
            return repr(value).removesuffix(".0")
        case tuple():
            return "+".join(value)
        case ArrivalProcess():
            return value.written
        case _:
            return str(value)


def write_settings(settings: RunSettings, between: str = ", ") -> str:
    """Settings in one line: `sessions=100, server.threads=2`; empty without any."""
    return between.join(f"{name}={write_value(value)}" for name, value in settings.items())


def _read_stored(stored: Any) -> RunSettings:
    """Settings of a stored answer; what this version does not know stays a text."""
    if not isinstance(stored, Mapping):
        raise ValueError("is not a table of settings")
    return {str(name): _read_value(str(name), value) for name, value in stored.items()}


def _read_value(name: str, value: Any) -> SettingValue:
    known = find_parameter(name)
    try:
        read: SettingValue = value if known is None else known.read(value)
    except UsageError:
        return str(value)
    return read


def _as_texts(settings: RunSettings) -> dict[str, str]:
    return {name: write_value(value) for name, value in settings.items()}


StoredSettings = Annotated[RunSettings, PlainValidator(_read_stored), PlainSerializer(_as_texts)]
"""Settings in a stored document: values in memory, texts in the file."""
