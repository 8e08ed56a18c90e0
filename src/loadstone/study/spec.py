"""From what a user declares to a study: questions of one kind, one a workload, and what their runs are made from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from loadstone.model.errors import UsageError
from loadstone.model.load import Load
from loadstone.model.profile import Profile
from loadstone.model.records.manifest import Settings
from loadstone.model.workload import Workload
from loadstone.study.base import StudyBase
from loadstone.study.kind import StudyContext, StudyKind, StudySection
from loadstone.study.question import Answer, QuestionSet

A = TypeVar("A", bound=Answer)


@dataclass(frozen=True)
class StudySpec(Generic[A]):
    """What to find out."""

    name: str
    kind: StudyKind[Any, A]
    questions: QuestionSet[A]
    base: StudyBase
    declaration: Settings
    """The question as it was declared."""
    fresh: bool = False
    """Do not go on with an unfinished study that asks the same."""


def build_questions(
    kind: StudyKind[Any, A], section: StudySection, workloads: Sequence[Workload], profile: Profile, load: Load | None
) -> QuestionSet[A]:
    """A question for each workload; `load` is the study's own, where it has one. Raises UsageError."""
    if load is None and not section.brings_load:
        raise UsageError("Set the load with --sessions or --rate, or vary it.")
    contexts = [StudyContext(workload, profile, load) for workload in workloads]
    return QuestionSet(tuple(kind.make(section, context) for context in contexts))
