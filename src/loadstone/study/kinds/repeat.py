"""`repeat`: the same run n times. How far may its metrics be trusted, do they drift, does one stand out? Pure."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Annotated

from pydantic import Field

from loadstone.judge.statistics import LEVEL, drift, heavy_outlier, holm, least_for_drift, summary
from loadstone.model.numbers import chance, number, rounded, supported
from loadstone.model.reading import Flag, refusing
from loadstone.model.records.manifest import StudiedWorkload
from loadstone.page.blocks import Block, Cell, Column, ColumnKind, Figure, Gallery, Paragraph, Row, Table, Tone
from loadstone.page.plot import Plot
from loadstone.study.kind import StudyContext, StudyKind, StudySection
from loadstone.study.metrics import METRIC_ALIASES, METRICS
from loadstone.study.question import Answer, count_verdicts, first_missing, key_of
from loadstone.study.summary import RunRequest, RunSummary
from loadstone.study.until import Until, read_until, runs_needed

DRAWN = (
    *("throughput", "response_mean", "response_p95", "response_p99", "good", "server_cpu"),
    *("server_cpu_per_operation", "busy_workers", "host_cpu", "driver_lag_p99"),
)
"""Metrics that get a picture."""
NOTE = (
    "Intervals are Student's, 95 %. Drift is Kendall's test over the order of the runs; an outlier is farther from "
    "the mean than the farthest value of series with heavy tails (Student's t, 3 degrees). Both are corrected for "
    "asking about every figure (Holm), so that of series without either at most one in twenty has one named."
)
MOST_RUNS = 100
"""Runs after which a study that goes on until a figure is sure gives up, unless told otherwise."""
FEWEST_LOOKS, LOOKS_APART = 10, 1.5
"""Runs after which it first looks whether a figure is sure, and by how much more it looks again: who looks after each
run stops where chance makes the interval narrow."""
SURE_AT_ONCE = 3.0
"""By what factor the interval must be narrower than asked to end a study before that."""
WIDENED = 1.15
"""By how much the interval of a figure that was looked at several times is wider than one of a fixed number of runs, so
that it still holds the mean in 95 % (measured: docs/trust.md)."""


class RepeatSection(StudySection):
    """`[repeat]`: the same run n times."""

    runs: Annotated[int, Field(ge=2, le=1000), Flag("How many runs.", kind=int, min=2, max=1000)] = Field(
        default=5, description="a whole number, 2 or more"
    )
    until: Annotated[
        Annotated[Until, refusing(partial(read_until, names=METRIC_ALIASES))] | None,
        Flag("Go on from there until a figure is so sure, as 'p99 +-5%'.", metavar="FIGURE +-PCT%"),
    ] = Field(default=None, description='a figure and how sure it is to be, as "p99 +-5%"')
    most_runs: Annotated[int, Field(ge=2, le=1000), Flag("Runs after which that ends.", kind=int, min=2, max=1000)] = (
        Field(default=MOST_RUNS, description="a whole number, 2 or more")
    )


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

    settings: Mapping[str, str]
    runs: int
    verdicts: Mapping[str, int]
    metrics: Mapping[str, Series] = field(default_factory=dict)


@dataclass(frozen=True)
class Repeat:
    """n runs of one setting."""

    workload: str
    settings: Mapping[str, str]
    runs: int
    until: Until | None = None
    """Where it goes on until a figure is so sure."""
    most_runs: int = MOST_RUNS

    def requests(self) -> list[RunRequest]:
        """The runs that are made in any case."""
        return [self._request(number) for number in range(1, self.runs + 1)]

    def _request(self, number: int) -> RunRequest:
        return RunRequest(key_of(number, self.workload, ""), self.workload, self.settings, number - 1)

    def next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
        """The next run that is missing."""
        missing = first_missing(self.requests(), runs)
        return missing or (self._request(len(runs) + 1) if self._more(runs) else None)

    def left(self, runs: Sequence[RunSummary]) -> int:
        """Runs that are missing, as far as can be said."""
        return max(0, self.runs - len(runs)) + self._more(runs)

    def _more(self, runs: Sequence[RunSummary]) -> int:
        """About how many runs it takes beyond those, as the scatter so far lets expect; none where that is no use."""
        if self.until is None or len(runs) < self.runs:
            return 0
        later = next((look for look in self._looks if look >= len(runs)), len(runs))
        if len(runs) not in (self.runs, later):
            return later - len(runs)
        metric = self._series(runs).get(self.until.metric)
        if metric is None or metric.half_pct is None or is_sure(self.until, metric):
            return 0
        needed = max(len(runs) + 1, runs_needed(metric.count, metric.half_pct, self.until.pct))
        due = next((look for look in self._looks if look >= needed), self.most_runs)
        return max(0, due - len(runs))

    @property
    def _looks(self) -> list[int]:
        """After how many runs it looks whether the figure is sure."""
        looks = [min(self.most_runs, max(self.runs, FEWEST_LOOKS))]
        while looks[-1] < self.most_runs:
            looks.append(min(self.most_runs, math.ceil(LOOKS_APART * looks[-1])))
        return looks

    def _series(self, runs: Sequence[RunSummary]) -> dict[str, Series]:
        """Every metric over the series; the one that it goes on for with an interval for having been looked at."""
        metrics = series(runs)
        if self.until is not None and self.until.metric in metrics:
            metrics[self.until.metric] = _widened(metrics[self.until.metric])
        return metrics

    def answer(self, runs: Sequence[RunSummary]) -> RepeatAnswer:
        """Each metric over the series."""
        metrics = self._series(runs)
        sure = self.until is None or is_sure(self.until, metrics.get(self.until.metric))
        return RepeatAnswer(
            workload=self.workload,
            settings=dict(self.settings),
            runs=len(runs),
            is_answered=len(runs) >= self.runs and any(run.is_valid for run in runs) and sure,
            verdicts=count_verdicts(runs),
            metrics=metrics,
            headline=(*_headline(runs, metrics), *_sureness(self.until, metrics, runs)),
        )


def _widened(metric: Series) -> Series:
    """The series with an interval for a study that ends where the interval is narrow."""
    if metric.low is None or metric.high is None:
        return metric
    half = WIDENED * (metric.high - metric.mean)
    return replace(metric, low=metric.mean - half, high=metric.mean + half)


def is_sure(until: Until, metric: Series | None) -> bool:
    """Whether the figure is as sure as asked for; of few runs only where it is much surer."""
    if metric is None or metric.half_pct is None:
        return False
    return metric.half_pct * (1.0 if metric.count >= FEWEST_LOOKS else SURE_AT_ONCE) <= until.pct


def _sureness(until: Until | None, metrics: Mapping[str, Series], runs: Sequence[RunSummary]) -> Iterator[str]:
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
    mean = f"{supported(metric.mean, abs(metric.mean) * half_pct / 100)} {unit}".rstrip()
    line = f"The {title} is {mean} +- {half_pct:.2g} % over {metric.count} runs"
    if is_sure(until, metric):
        yield f"{line}, {until.pct:g} % asked for."
        return
    needed = runs_needed(metric.count, half_pct, until.pct)
    yield f"{line}; {until.pct:g} % would take about {needed} runs of such scatter."


def series(runs: Sequence[RunSummary]) -> dict[str, Series]:
    """Every metric that all runs have: its values in order, summary, drift and outliers.

    Runs that were not fit to be judged say nothing and are left out.
    """
    valid = [run for run in runs if run.is_valid]
    known = {name: tuple(run.metrics[name] for run in valid if name in run.metrics) for name in METRICS}
    whole = {name: values for name, values in known.items() if valid and len(values) == len(valid)}
    trends = _corrected({name: drift(values) for name, values in whole.items()})
    if len(valid) < least_for_drift(len(whole)):
        trends = {}
    far = {name: found for name, values in whole.items() if (found := heavy_outlier(values)) is not None}
    chances = _corrected({name: p for name, (_, p) in far.items()})
    series: dict[str, Series] = {}
    for name, values in whole.items():
        summed = summary(values)
        places = [far[name][0]] if chances.get(name, 1.0) <= 1 - LEVEL else []
        named = tuple(Outlier(valid[at].folder, values[at]) for at in places)
        spread = summed.spread_pct
        series[name] = Series(values, **asdict(summed), spread_pct=spread, drift_p=trends.get(name), outliers=named)
    return series


def _corrected(chances: Mapping[str, float | None]) -> dict[str, float]:
    """p-values corrected for having been asked together."""
    asked = {name: p for name, p in chances.items() if p is not None}
    return dict(zip(asked, holm(list(asked.values())), strict=True))


def _headline(runs: Sequence[RunSummary], metrics: Mapping[str, Series]) -> Iterator[str]:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in count_verdicts(runs).items() if count)
    yield f"{len(runs)} runs: {counts}." if runs else "No run was made yet."
    drifting = [name for name, one in metrics.items() if one.drift_p is not None and one.drift_p <= 1 - LEVEL]
    if drifting:
        titles = ", ".join(METRICS[name].title for name in drifting)
        yield f"Drift over the series (p at most {1 - LEVEL:.2f}, corrected for all figures): {titles}."
    valid = sum(run.is_valid for run in runs)
    if valid < len(runs):
        yield f"{len(runs) - valid} invalid runs left out of every figure: nothing follows from them."
    if 2 <= valid < least_for_drift(len(metrics)):
        yield f"{valid} runs are too few to find a drift; it takes {least_for_drift(len(metrics))}."
    named = sum(len(metric.outliers) for metric in metrics.values())
    if named:
        yield f"{named} outlying value{'s' * (named != 1)}, named in the report and kept in every figure."


def blocks(answer: RepeatAnswer, workload: StudiedWorkload, runs: Sequence[RunSummary]) -> Iterator[Block]:
    """Each metric in order of time, and a table of all of them."""
    yield Gallery([_figure(name, answer.metrics[name]) for name in DRAWN if name in answer.metrics])
    titles = ("figure", "mean", "interval of the mean", "standard deviation", "spread, %", "drift, p")
    columns = [*map(Column, titles), Column("outliers (kept)", ColumnKind.LONG)]
    yield Table(columns, [_row(name, one) for name, one in answer.metrics.items()])
    yield Paragraph(NOTE, Tone.QUIET)


def _figure(name: str, one: Series) -> Figure:
    rows = [{"x": place, "y": value, "series": "runs"} for place, value in enumerate(one.values, start=1)]
    bands = []
    if one.low is not None:
        bands = [{"x": place, "low": one.low, "high": one.high} for place in (1, len(rows))]
    plot = Plot("run", METRICS[name].axis_title, lines=rows, points=rows, bands=bands, from_zero=False)
    drifted = f" Drift: {chance(one.drift_p, 2)}." if one.drift_p is not None else ""
    return Figure(METRICS[name].plot_title, f"In order of time; shaded: the interval of the mean.{drifted}", plot)


def _row(name: str, one: Series) -> Row:
    interval = "" if one.low is None else f"{rounded(one.low)} to {rounded(one.high)}"
    drifts = one.drift_p is not None and one.drift_p <= 1 - LEVEL
    far = "; ".join(f"{rounded(outlier.value)} in {outlier.run}" for outlier in one.outliers)
    drift_p = Cell(number(one.drift_p, 2), Tone.INVALID if drifts else Tone.PLAIN)
    spread = number(one.spread_pct, 2)
    return Row([name.replace("_", " "), rounded(one.mean), interval, rounded(one.sd), spread, drift_p, far])


def make(section: RepeatSection, context: StudyContext) -> Repeat:
    """The question about one workload."""
    most = max(section.runs, section.most_runs)
    return Repeat(context.workload.name, {}, section.runs, section.until, most)


KIND = StudyKind(
    name="repeat",
    question="How far may the figures of one run be trusted?",
    help="""Make the same run several times: mean, spread and interval of every figure, drift, outliers.

    [bold]loadstone repeat support --sessions 50 --runs 5[/]
    [bold]loadstone repeat support --sessions 50 --until "p99 +-5%"[/]: as many runs as that takes.
    """,
    section=RepeatSection,
    answer=RepeatAnswer,
    make=make,
    blocks=blocks,
    is_judged_by_runs=True,
    rank=1,
)
