"""Settings of the programs that the lab starts, as users write them. Which there are, services declare."""

from collections.abc import Iterator, Mapping, Sequence

from loadstone.model.errors import UsageError

SettingsByProgram = Mapping[str, Mapping[str, object]]
"""Values by program and setting, such as {"php": {"children": 50}}."""


def read_settings(texts: Sequence[str]) -> dict[str, dict[str, str]]:
    """Reads `php.children=50` and `apache.prefork.max=400`; returns texts by program and setting. Raises UsageError."""
    settings: dict[str, dict[str, str]] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        program, dot, setting = name.strip().rpartition(".")
        if not (separator and dot and program and setting and value.strip()):
            raise UsageError(f"`{text}` is not a valid setting. Use PROGRAM.SETTING=VALUE, such as php.children=50.")
        if setting in settings.setdefault(program, {}):
            raise UsageError(f"`{name}` is set twice. Remove one of them.")
        settings[program][setting] = value.strip()
    return settings


def flatten_settings(table: Mapping[str, object], program: str = "") -> dict[str, dict[str, object]]:
    """Returns the settings of a table of a file by program: `[apache.prefork]` is of the program `apache.prefork`."""
    flat: dict[str, dict[str, object]] = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            flat |= flatten_settings(value, f"{program}.{name}" if program else name)
        else:
            flat.setdefault(program, {})[name] = value
    return flat


def merge_settings(settings: SettingsByProgram, program: str, name: str, value: object) -> SettingsByProgram:
    """Returns settings with another value of one."""
    return {**settings, program: {**settings.get(program, {}), name: value}}


def write_settings_of_programs(settings: SettingsByProgram) -> str:
    """Returns settings as `php.children=50, tomcat.threads=64`."""
    return ", ".join(_written(settings))


def _written(settings: SettingsByProgram) -> Iterator[str]:
    for program, values in settings.items():
        for name, value in values.items():
            yield f"{program}.{name}={str(value).lower() if isinstance(value, bool) else value}"
