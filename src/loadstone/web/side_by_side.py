"""Two runs side by side: their metrics with differences, and their pictures."""

from dataclasses import dataclass
from pathlib import Path

from loadstone.model.records.result import Result, WorkloadResult
from loadstone.page.blocks import Figure
from loadstone.report.section import IterationContext, ReportContext
from loadstone.report.sections.load_pictures import draw_figures
from loadstone.store.folder import Seal, SealState
from loadstone.store.read import read_result
from loadstone.study.metrics import METRICS
from loadstone.study.summary import collect_metrics


@dataclass(frozen=True)
class MetricPair:
    """A metric of both runs."""

    title: str
    unit: str
    a: float | None
    b: float | None

    @property
    def change_pct(self) -> float | None:
        """B against A."""
        return 100 * (self.b / self.a - 1) if self.a and self.b is not None else None


@dataclass(frozen=True)
class WorkloadPair:
    """A workload that both runs have."""

    workload: str
    loads: tuple[str, str]
    verdicts: tuple[str, str]
    metrics: tuple[MetricPair, ...]
    pictures: tuple[tuple[Figure, Figure], ...]
    """Those that both have, side by side."""


def pair_workloads(a: Path, b: Path) -> list[WorkloadPair]:
    """The first iterations of every workload that both results have."""
    first, second = read_result(a), read_result(b)
    others = {workload.id.label: workload for workload in second.workloads}
    return [
        _pair((first, workload), (second, others[workload.id.label]))
        for workload in first.workloads
        if workload.id.label in others
    ]


def _pair(a: tuple[Result, WorkloadResult], b: tuple[Result, WorkloadResult]) -> WorkloadPair:
    workloads = (a[1], b[1])
    values = [collect_metrics(workload.iterations[0]) if workload.iterations else {} for workload in workloads]
    metrics = tuple(
        MetricPair(metric.title, metric.unit, values[0].get(name), values[1].get(name))
        for name, metric in METRICS.items()
        if name in values[0] or name in values[1]
    )
    drawn = [{figure.title: figure for figure in _figures(*result)} for result in (a, b)]
    pictures = tuple((drawn[0][title], drawn[1][title]) for title in drawn[0] if title in drawn[1])
    loads = (workloads[0].criteria.load_in_words, workloads[1].criteria.load_in_words)
    return WorkloadPair(workloads[0].id.label, loads, (_verdict(*a), _verdict(*b)), metrics, pictures)


def _figures(result: Result, workload: WorkloadResult) -> list[Figure]:
    if not workload.iterations or not workload.iterations[0].records.intervals:
        return []
    report = ReportContext(result, Seal(SealState.ABSENT), has_pictures=True)
    return draw_figures(IterationContext(report, workload, workload.iterations[0], None))


def _verdict(result: Result, workload: WorkloadResult) -> str:
    verdict = result.verdict.find_workload(workload.id.label) if result.verdict else None
    return verdict.verdict if verdict else "not judged"
