"""Settings of programs that users may change, on top of those of a tuning. Pure.

A program declares its settings as a section, whose fields have descriptions and bounds, with the values of each tuning.
From them follow what `--set` accepts, what a file's `[set]` holds, what is refused, and what a result discloses.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from loadstone.model.errors import UsageError
from loadstone.model.reading import Section, from_settings, suggest
from loadstone.model.service import Tuning
from loadstone.services.kind import ServiceKind, Site

S = TypeVar("S", bound=Section)


def resolve_settings(site: Site, program: str, usual: Mapping[Tuning, S]) -> S:
    """Returns a program's settings: those of the site's tuning, with what the user changed, which was checked."""
    return usual[site.tuning].model_copy(update=dict(site.settings.get(program, {})))


def check_settings(
    kinds: Sequence[ServiceKind], tuning: Tuning, changes: Mapping[str, Mapping[str, object]]
) -> dict[str, dict[str, object]]:
    """Checks what the user gave against the services that were chosen; returns the values by program and setting.

    Raises UsageError for a program that none of them runs, for an unknown setting, for a value outside its bounds, and
    for settings that contradict each other.
    """
    known = {program: usual for kind in kinds for program, usual in kind.settings.items()}
    return {program: _checked(program, known, tuning, values) for program, values in changes.items() if values}


def _checked(
    program: str,
    known: Mapping[str, Mapping[Tuning, Section]],
    tuning: Tuning,
    values: Mapping[str, object],
) -> dict[str, object]:
    if program not in known:
        if not known:
            raise UsageError(f"`{program}` cannot be set: none of the chosen services has settings.")
        raise UsageError(
            f"None of the chosen services runs `{program}`. {suggest(program, set(known))} --service, --database and "
            "--backend-service choose others."
        )
    usual = known[program][tuning]
    checked = from_settings(type(usual), f"`{program}` program", {**dict(usual), **values})
    return {name: getattr(checked, name) for name in values}
