"""What a section of a report is, and how sections are found: the modules below `sections/` that declare a `SECTION`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache

from loadstone.model.modules import collect_declared
from loadstone.model.records.result import Iteration, Result, WorkloadResult
from loadstone.model.records.verdict import IterationVerdict, WorkloadVerdict
from loadstone.page.blocks import Block
from loadstone.report import sections
from loadstone.store.folder import Seal

MOST_PICTURED = 30
"""Workloads of a result up to which each has pictures of its own: those of dozens of tiles would take minutes."""


@dataclass(frozen=True)
class ReportContext:
    """What a report is made from."""

    result: Result
    seal: Seal
    has_pictures: bool
    """Whether the form shows pictures at all."""
    verdict_note: str = ""
    """What is to be said of the verdict itself: made anew, or by another version."""

    @property
    def pictures_each(self) -> bool:
        """Whether every workload has pictures of its own."""
        return self.has_pictures and len(self.result.workloads) <= MOST_PICTURED

    def find_verdict(self, workload: WorkloadResult) -> WorkloadVerdict | None:
        """The verdict on a workload; None where there is none."""
        return self.result.verdict.find_workload(workload.id.label) if self.result.verdict else None


@dataclass(frozen=True)
class IterationContext:
    """One iteration of one workload, as sections about iterations see it."""

    report: ReportContext
    workload: WorkloadResult
    iteration: Iteration
    verdict: IterationVerdict | None


class SectionScope(Enum):
    """What a section is about."""

    RESULT = auto()
    ITERATION = auto()


@dataclass(frozen=True)
class ReportSection:
    """One section of a report."""

    rank: int
    """Place among those of its scope, the smallest first."""
    of_result: Callable[[ReportContext], Iterator[Block]] | None = None
    of_iteration: Callable[[IterationContext], Iterator[Block]] | None = None

    @property
    def scope(self) -> SectionScope:
        """What it is about."""
        return SectionScope.RESULT if self.of_result is not None else SectionScope.ITERATION


@cache
def list_shipped_sections() -> Sequence[ReportSection]:
    """The sections that come with the program, in their order."""
    declared: tuple[ReportSection, ...] = collect_declared(sections, "SECTION")
    return sorted(declared, key=lambda section: section.rank)


def render_result_blocks(context: ReportContext, sections: Sequence[ReportSection]) -> Iterator[Block]:
    """The blocks of all sections about the result."""
    for section in sections:
        if section.of_result is not None:
            yield from section.of_result(context)


def render_iteration_blocks(context: IterationContext, sections: Sequence[ReportSection]) -> Iterator[Block]:
    """The blocks of all sections about one iteration."""
    for section in sections:
        if section.of_iteration is not None:
            yield from section.of_iteration(context)
