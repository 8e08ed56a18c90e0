"""What a comparison of platforms answers: peaks, curves over loads that both were given, and where they part. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from loadstone.judge.score import compute_web_index
from loadstone.study.kind import IndexPair
from loadstone.study.kinds.compare.platforms.rows import SideMeans
from loadstone.study.kinds.compare.sides import SideSearch
from loadstone.study.metrics import METRICS
from loadstone.study.question import Answer, count_verdicts
from loadstone.study.settings import StoredSettings
from loadstone.study.summary import ComparedSide, Purpose, RunSummary

NEAR_LOAD = 0.05
"""Two loads closer than this are one."""
APART_PCT = 10.0
"""How much longer B's 90th percentile must be for the curves to have parted."""
APART_METRIC = "response_p90"


@dataclass(frozen=True)
class PlatformPoint:
    """Both platforms at one load."""

    load: float
    a: SideMeans
    b: SideMeans

    @property
    def sides(self) -> tuple[SideMeans, SideMeans]:
        """A, then B."""
        return self.a, self.b


@dataclass(frozen=True)
class PartedAt:
    """Between which loads B's 90th percentile leaves A's; `at` is None where it never does."""

    after: float | None
    at: float | None


@dataclass(frozen=True, kw_only=True)
class PlatformsAnswer(Answer):
    """Peaks, monitors at the peaks, both typical loads, curves, and where they part."""

    a: StoredSettings
    b: StoredSettings
    names: Mapping[str, str]
    """What both sides are called."""
    load: str
    peaks: Mapping[str, float | None]
    ratio: float | None
    at_peak: Mapping[str, SideMeans]
    """Each side at its own peak."""
    typical: PlatformPoint | None
    """At 80 % of A's peak."""
    common: PlatformPoint | None
    """At 80 % of the smaller peak."""
    curve: tuple[PlatformPoint, ...]
    parted: PartedAt | None
    accelerators: Mapping[str, str]
    cost: float | None
    """CPU time an operation takes on B against A."""
    searches: tuple[SideSearch, ...]
    is_worse: bool

    @property
    def is_negative(self) -> bool:
        """Whether B is worse."""
        return self.is_worse

    @property
    def is_unreached(self) -> bool:
        """Whether the driver was the limit of a side at every load."""
        return any(search.answer.is_unreached for search in self.searches)


def find_point_near(curve: Sequence[PlatformPoint], load: float | None) -> PlatformPoint | None:
    """The point of the curve that stands for a load."""
    near = [point for point in curve if load and abs(point.load / load - 1) <= NEAR_LOAD]
    return near[-1] if near else None


def select_side_runs(runs: Sequence[RunSummary], side: ComparedSide) -> list[RunSummary]:
    """All runs of a side, whatever they were made for."""
    return [run for run in runs if side in (run.request.side, run.request.search)]


def select_load_runs(runs: Sequence[RunSummary], side: ComparedSide, load: float | None) -> list[RunSummary]:
    """The runs of a side at a load."""
    return [run for run in select_side_runs(runs, side) if run.request.load == load]


def select_proofs(runs: Sequence[RunSummary], side: ComparedSide, peak: float | None) -> list[RunSummary]:
    """The runs that proved a side's peak: those that found it were chosen for having passed."""
    return [run for run in select_load_runs(runs, side, peak) if run.request.purpose is Purpose.VERIFY]


def compute_side_means(runs: Sequence[RunSummary]) -> SideMeans:
    """A side at a load: means of its runs."""
    metrics = {
        name: fmean(run.metrics[name] for run in runs)
        for name in METRICS
        if runs and all(name in run.metrics for run in runs)
    }
    names = dict.fromkeys(name for run in runs for name in run.monitors)
    monitors = {
        name: fmean(run.monitors[name] for run in runs) for name in names if all(name in run.monitors for run in runs)
    }
    return SideMeans(metrics, monitors, count_verdicts(runs), tuple(run.folder for run in runs))


def find_parting(curve: Sequence[PlatformPoint]) -> PartedAt | None:
    """Between which loads B's 90th percentile leaves A's: from where on it is longer at every higher load."""
    points = [
        (point.load, point.b.metrics[APART_METRIC] / point.a.metrics[APART_METRIC])
        for point in curve
        if all(side.metrics.get(APART_METRIC) for side in point.sides)
    ]
    if not points:
        return None
    is_far = [100 * (ratio - 1) > APART_PCT for _, ratio in points]
    first = next((index for index in range(len(points)) if all(is_far[index:])), None)
    if first is None:
        return PartedAt(points[-1][0], None)
    return PartedAt(points[first - 1][0] if first else None, points[first][0])


def find_accelerator(runs: Sequence[RunSummary], side: ComparedSide) -> str:
    """Returns the accelerator of a side's machines, empty for a side without machines."""
    return next((run.accelerator for run in select_side_runs(runs, side) if run.accelerator), "")


def compute_cost_per_operation(curve: Sequence[PlatformPoint]) -> float | None:
    """CPU time an operation takes on B against A: the median over the loads that both hold."""
    name = "server_cpu_per_operation"
    ratios = [
        point.b.metrics[name] / point.a.metrics[name]
        for point in curve
        if all(side.metrics.get(name) and side.verdicts.get("pass", 0) for side in point.sides)
    ]
    return median(ratios) if ratios else None


def is_peak_lower(searches: Sequence[SideSearch]) -> bool:
    """Whether B's peak lies below A's even when both searches' intervals are allowed for."""
    intervals = {search.side: search.answer.interval for search in searches}
    a, b = intervals[ComparedSide.A], intervals[ComparedSide.B]
    return a is not None and b is not None and b[1] < a[0]


def compute_indices(answers: Sequence[PlatformsAnswer]) -> IndexPair | None:
    """The web index of each side, where all workloads that it needs have a peak on both."""
    values = [
        compute_web_index({answer.workload: round(peak) for answer in answers if (peak := answer.peaks[side])})
        for side in ("a", "b")
    ]
    a, b = values
    return None if a is None or b is None else IndexPair(a, b)
