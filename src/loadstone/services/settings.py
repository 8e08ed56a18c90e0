"""Settings of programs that users may change, on top of those of a tuning. Pure.

A program declares its settings as a section, whose fields have descriptions and bounds, with the values of each tuning.
From them follow what `--set` accepts, what a file's `[set]` holds, what is refused, and what a result discloses.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar, runtime_checkable

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


@runtime_checkable
class MemoryBound(Protocol):
    """Settings that need memory of their machine."""

    @property
    def least_memory_mib(self) -> int:
        """Least memory of the machine, MiB; 0 where the program fits any."""


def compute_least_memory_mib(kind: ServiceKind, tuning: Tuning, changes: Mapping[str, Mapping[str, object]]) -> int:
    """Returns the memory that the settings of a service need, MiB, with what the user changed; 0 where they need no
    certain amount. Raises UsageError for a setting that is not valid.
    """
    chosen = tuning if tuning in kind.list_tunings() else Tuning.DEFAULT
    settings = (
        from_settings(type(usual[chosen]), f"`{program}` program", {**dict(usual[chosen]), **changes.get(program, {})})
        for program, usual in kind.settings.items()
    )
    return max((each.least_memory_mib for each in settings if isinstance(each, MemoryBound)), default=0)


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
