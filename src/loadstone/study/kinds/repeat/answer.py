"""What `repeat` answers: every figure over the series, its interval, drift and outliers. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from loadstone.judge.statistics import (
    CONFIDENCE_LEVEL,
    compute_drift_p,
    compute_least_for_drift,
    correct_by_holm,
    find_heavy_outlier,
    summarize,
)
from loadstone.model.numbers import format_supported
from loadstone.study.metrics import METRICS
from loadstone.study.question import Answer, count_verdicts
from loadstone.study.settings import StoredSettings
from loadstone.study.summary import RunSummary
from loadstone.study.until import Until, estimate_runs_needed

FEWEST_REPEATS = 10
"""Runs after which it first looks whether a figure is sure."""
SURE_AT_ONCE = 3.0
"""By what factor the interval must be narrower than asked to end a study before that."""
WIDENED = 1.15
"""By how much the interval of a figure that was looked at several times is wider than one of a fixed number of runs, so
that it still holds the mean in 95 % (measured: docs/evidence/trust.md)."""


@dataclass(frozen=True)
class Outlier:
    """A value that stands out, and its run's folder."""

    run: str
    value: float


@dataclass(frozen=True)
class Series:
    """A metric over the series of runs; `low` to `high` is the interval of its mean."""

    values: tuple[float, ...]
    count: int
    mean: float
    sd: float | None
    low: float | None
    high: float | None
    spread_pct: float | None
    drift_p: float | None
    """Chance of such a trend, corrected for all metrics; None where the runs are too few to find one."""
    outliers: tuple[Outlier, ...] = ()

    @property
    def half_pct(self) -> float | None:
        """Half of the interval's width, in percent of the mean; None for a single value, and for a mean of 0."""
        return 100 * (self.high - self.mean) / abs(self.mean) if self.high is not None and self.mean else None


@dataclass(frozen=True, kw_only=True)
class RepeatAnswer(Answer):
    """Each metric over the series."""

    settings: StoredSettings
    runs: int
    verdicts: Mapping[str, int]
    metrics: Mapping[str, Series] = field(default_factory=dict)


def widen_series(metric: Series) -> Series:
    """The series with an interval for a study that ends where the interval is narrow."""
    if metric.low is None or metric.high is None:
        return metric
    half = WIDENED * (metric.high - metric.mean)
    return replace(metric, low=metric.mean - half, high=metric.mean + half)


def is_sure(until: Until, metric: Series | None) -> bool:
    """Whether the figure is as sure as asked for; of few runs only where it is much surer."""
    if metric is None or metric.half_pct is None:
        return False
    return metric.half_pct * (1.0 if metric.count >= FEWEST_REPEATS else SURE_AT_ONCE) <= until.pct


def describe_sureness(until: Until | None, metrics: Mapping[str, Series], runs: Sequence[RunSummary]) -> Iterator[str]:
    """How sure the figure is that the study goes on for, or why it cannot be measured."""
    if until is None or len(runs) < 2:
        return
    title, metric = METRICS[until.metric].title, metrics.get(until.metric)
    if metric is None or metric.half_pct is None:
        yield (
            f"The {title} cannot be measured: not every valid run has so many operations that it shows. "
            "Make runs longer with --steady, or give more load."
        )
        return
    half_pct, unit = metric.half_pct, METRICS[until.metric].unit
    mean = f"{format_supported(metric.mean, abs(metric.mean) * half_pct / 100)} {unit}".rstrip()
    line = f"The {title} is {mean} +- {half_pct:.2g} % over {metric.count} runs"
    if is_sure(until, metric):
        yield f"{line}, {until.pct:g} % asked for."
        return
    needed = estimate_runs_needed(metric.count, half_pct, until.pct)
    yield f"{line}; {until.pct:g} % would take about {needed} runs of such scatter."


def collect_series(runs: Sequence[RunSummary]) -> dict[str, Series]:
    """Every metric that all runs have: its values in order, summary, drift and outliers.

    Runs that were not fit to be judged say nothing and are left out.
    """
    valid = [run for run in runs if run.is_valid]
    known = {name: tuple(run.metrics[name] for run in valid if name in run.metrics) for name in METRICS}
    complete = {name: values for name, values in known.items() if valid and len(values) == len(valid)}
    trends = _corrected({name: compute_drift_p(values) for name, values in complete.items()})
    if len(valid) < compute_least_for_drift(len(complete)):
        trends = {}
    far = {name: outlier for name, values in complete.items() if (outlier := find_heavy_outlier(values)) is not None}
    chances = _corrected({name: p for name, (_, p) in far.items()})
    series: dict[str, Series] = {}
    for name, values in complete.items():
        summed = summarize(values)
        places = [far[name][0]] if chances.get(name, 1.0) <= 1 - CONFIDENCE_LEVEL else []
        named = tuple(Outlier(valid[place].folder, values[place]) for place in places)
        spread = summed.spread_pct
        series[name] = Series(values, **asdict(summed), spread_pct=spread, drift_p=trends.get(name), outliers=named)
    return series


def _corrected(chances: Mapping[str, float | None]) -> dict[str, float]:
    """p-values corrected for having been asked together."""
    tested = {name: p for name, p in chances.items() if p is not None}
    return dict(zip(tested, correct_by_holm(list(tested.values())), strict=True))


def summarize_runs(runs: Sequence[RunSummary], metrics: Mapping[str, Series]) -> Iterator[str]:
    """How the runs came out, then drift, runs that were left out, and outliers."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in count_verdicts(runs).items() if count)
    yield f"{len(runs)} runs: {counts}." if runs else "No run was made yet."
    drifting = [
        name
        for name, metric in metrics.items()
        if metric.drift_p is not None and metric.drift_p <= 1 - CONFIDENCE_LEVEL
    ]
    if drifting:
        titles = ", ".join(METRICS[name].title for name in drifting)
        yield f"Drift over the series (p at most {1 - CONFIDENCE_LEVEL:.2f}, corrected for all figures): {titles}."
    valid = sum(run.is_valid for run in runs)
    if valid < len(runs):
        yield f"{len(runs) - valid} invalid runs left out of every figure: nothing follows from them."
    if 2 <= valid < compute_least_for_drift(len(metrics)):
        yield f"{valid} runs are too few to find a drift; it takes {compute_least_for_drift(len(metrics))}."
    named = sum(len(metric.outliers) for metric in metrics.values())
    if named:
        yield f"{named} outlying value{'s' * (named != 1)}, named in the report and kept in every figure."
