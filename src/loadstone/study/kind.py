"""A kind of study: everything the rest of the program knows of it, declared in one module below `kinds/`.

Adding one is adding that module: its command, its section in study files, its question, its answer as it is stored, and
what a report shows of it are all found through this record.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Generic, TypeVar

from pydantic import TypeAdapter

from loadstone.model.load import Load
from loadstone.model.profile import Profile
from loadstone.model.reading import Section
from loadstone.model.records.manifest import ANSWER_SCHEMA, StudiedWorkload
from loadstone.model.records.verdict import Verdict, choose_worst
from loadstone.model.workload import Workload
from loadstone.page.blocks import Block
from loadstone.study.question import Answer, Question
from loadstone.study.summary import RunSummary


class StudySection(Section):
    """What a study may be asked, as users write it: a section of a study file, and the options of a command."""

    @property
    def brings_load(self) -> bool:
        """Whether it says itself how much load there is."""
        return False

    @property
    def varies_platform(self) -> bool:
        """Whether its runs differ in their platform, so that a machine's settings need not fit all of them."""
        return False

    @property
    def is_quick(self) -> bool:
        """Whether its runs are as short as those of the profile `brief`."""
        return False

    @property
    def meters(self) -> tuple[str, ...]:
        """Power meters of its runs."""
        return ()


@dataclass(frozen=True)
class StudyContext:
    """What a question is made about: a workload, how long its runs are, and the study's own load, where it has one."""

    workload: Workload
    profile: Profile
    load: Load | None


S = TypeVar("S", bound=StudySection)
A = TypeVar("A", bound=Answer)


@dataclass(frozen=True)
class IndexPair:
    """The web index of both sides of a comparison."""

    a: float
    b: float

    @property
    def ratio(self) -> float:
        """B by A."""
        return self.b / self.a


@dataclass(frozen=True)
class StudyAnswer(Generic[A]):
    """A study's answer as it is kept: that of each workload, and all runs."""

    kind: str
    parts: tuple[A, ...]
    left: int = 0
    """About how many runs are still to be made."""
    runs: tuple[RunSummary, ...] = ()
    index: float | None = None
    """The web index of the peaks found, where all workloads that it needs have one."""
    indices: IndexPair | None = None
    schema: int = ANSWER_SCHEMA


def skip_index(answers: Sequence[Answer]) -> float | None:
    """Returns None, for kinds that find no peaks."""
    return None


def skip_indices(answers: Sequence[Answer]) -> IndexPair | None:
    """Returns None, for kinds that find no peaks on two sides."""
    return None


def show_no_overview(answers: Sequence[Answer]) -> Iterator[Block]:
    """Yields nothing, for kinds that show each workload separately."""
    return iter(())


def leave_conclusion(runs: Sequence[RunSummary]) -> str:
    """Returns an empty text, for kinds whose answer says everything."""
    return ""


def skip_promise(_: Question[A]) -> str:
    """Most kinds find out by themselves how much they need."""
    return ""


@dataclass(frozen=True)
class StudyKind(Generic[S, A]):
    """One kind of study."""

    name: str
    """Of its command and of its section in files."""
    question: str
    """What it finds out, as a question."""
    help: str
    """Of its command."""
    section: type[S]
    answer: type[A]
    """Of one workload."""
    make: Callable[[S, StudyContext], Question[A]]
    """Raises UsageError when what is asked for does not fit together."""
    blocks: Callable[[A, StudiedWorkload, Sequence[RunSummary]], Iterator[Block]]
    """What a report shows of one workload, beside its headline and its runs."""
    overview: Callable[[Sequence[A]], Iterator[Block]] = show_no_overview
    """What a report shows of all workloads together, before each."""
    workloads: tuple[str, ...] = ()
    """Workloads where none is named; those that cannot run here are left out. Empty where they must be named."""
    in_short: Mapping[str, str] = field(default_factory=dict)
    """Variants that take the place of such workloads in the kind's quick form."""
    instead_of_load: str = ""
    """Of kinds that find or bring their own load: what to say in place of --sessions and --rate."""
    index: Callable[[Sequence[A]], float | None] = skip_index
    indices: Callable[[Sequence[A]], IndexPair | None] = skip_indices
    promise: Callable[[Question[A]], str] = skip_promise
    """What the study is able to find, said before its first run."""
    runs_to_judge: int = 0
    """Valid runs that suffice where the exit code follows from the runs, instead of what was found; else 0."""
    conclusion: Callable[[Sequence[RunSummary]], str] = leave_conclusion
    """The last line in the terminal, from all runs."""
    learns_from_invalid: bool = False
    """Whether runs that are not fit for a verdict of their workload may still answer it."""
    keeps_going: bool = False
    """Whether a run that cannot be made leaves a reason in the answer, instead of ending the study."""
    decides: Mapping[str, str] = field(default_factory=dict)
    """Options of all studies that this kind settles by itself, with what says it instead."""
    rank: int = 100
    """Place among the kinds where they are listed, the smallest first."""

    def conclude(self, part: A, runs: Sequence[RunSummary]) -> Verdict:
        """Returns the verdict of a workload's answer, given all runs of the study: invalid where
        nothing is answered.
        """
        verdicts = [run.verdict for run in runs if run.request.workload == part.workload]
        valid = [verdict for verdict in verdicts if verdict is not Verdict.INVALID]
        is_unfit = set(verdicts) == {Verdict.INVALID} and not self.learns_from_invalid
        if is_unfit or part.is_unreached or not part.is_answered:
            return Verdict.INVALID
        if self.runs_to_judge:
            has_enough = len(valid) >= min(self.runs_to_judge, len(verdicts))
            return choose_worst(valid) if has_enough else Verdict.INVALID
        return Verdict.FAIL if part.is_negative else Verdict.PASS

    @property
    def adapter(self) -> TypeAdapter[StudyAnswer[A]]:
        """Reads and writes its answers."""
        return _adapter(self.answer)  # type: ignore[arg-type]


@cache
def _adapter(answer: type[A]) -> TypeAdapter[StudyAnswer[A]]:
    return TypeAdapter(StudyAnswer[answer])  # type: ignore[valid-type]


AnyKind = StudyKind[StudySection, Answer]
