"""All kinds of study, found by themselves: each module below `kinds/` that declares a `KIND` is one."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from loadstone.model.errors import StoreError
from loadstone.model.modules import collect_declared
from loadstone.study import kinds
from loadstone.study.kind import StudyKind, StudySection

AnyStudyKind = StudyKind[Any, Any]


@cache
def list_study_kinds() -> Mapping[str, AnyStudyKind]:
    """The kinds that come with the program, by name, in the order they are listed."""
    declared: tuple[AnyStudyKind, ...] = collect_declared(kinds, "KIND")
    return {kind.name: kind for kind in sorted(declared, key=lambda kind: (kind.rank, kind.name))}


def get_kind(name: str) -> AnyStudyKind:
    """A kind by name; raises StoreError, since unknown names come from stored studies alone."""
    if name not in list_study_kinds():
        raise StoreError(f"This version knows no study of kind `{name}`. It knows {', '.join(list_study_kinds())}.")
    return list_study_kinds()[name]


def list_file_sections() -> dict[str, type[StudySection]]:
    """The sections of study files, by kind: of all that have a command."""
    return {name: kind.section for name, kind in list_study_kinds().items() if kind.help}
