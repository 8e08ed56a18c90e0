"""Where the edge of what passes lies, from how far the runs around it were from their limits. Pure.

Two models of what a repetition at a load would do. Where the rules that bound have a figure on both sides of their
limits, the worst margin of a run is regressed on its load. Where a limit is a count of nothing, as no error at all, the
counts are: a run passes when chance brings none.

A search chooses its loads by what it has seen, and stops where it likes what it sees: what is fitted to its runs lies a
little too low, and surer than it is. So the search is repeated against the fitted model, where the truth is known, and
what was fitted is corrected by how those fits missed it (a parametric bootstrap; Efron and Tibshirani 1993, ch. 12).
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import scipy

from loadstone.judge.statistics import CONFIDENCE_LEVEL
from loadstone.model.records.check import Bound, Check, CheckId
from loadstone.study.summary import RunSummary

AROUND = (0.15, 0.3, 0.6)
"""Runs within this share of the peak are used; within more of it where passing and failing overlap widely."""
SCALE_MARGIN = 4.0
"""The runs that are used reach so many times as far as chance moves a run."""
LEAST_RUNS = 5
REPETITIONS = 200
"""Repeated searches that an estimate is corrected by."""
NEAR_EDGE = 2.0
"""Runs so many times as far from the edge as chance moves them weigh half: the line is straight only near it."""
MOST_OFF = 4.0
"""By what factor a repetition may correct how far chance moves a run."""
LEAST_SCALE = 1e-4
"""How far chance moves a run at least, as a share of its load: nothing is measured better."""
USUAL_GROWTH, GROWTH_SD = 10.0, 15.0
"""By what power of the load counts of errors are expected to grow, and how little is known of it."""
GROWTHS = np.geomspace(1.0, 60.0, 12)
"""More load never brings fewer errors; it may bring no more than in proportion."""
BUNCHES = np.geomspace(1.05, 50.0, 6)
"""Errors that come together: the variance of a run's count by its mean."""
EDGE_LEVELS = np.linspace(-5.0, 5.0, 31)
"""Logarithms of how often errors come in a run in the midst of the loads."""

Passes = Callable[[float], bool]
"""Whether a run at a load passes."""
Again = Callable[[Passes, np.random.Generator], float | None]
"""Repeats a search: the peak it finds."""
LoadedPoint = tuple[float, float]
"""A run's load, and by how much it missed its limit, or how many errors it had: above 0 it failed."""


@dataclass(frozen=True)
class EdgeEstimate:
    """The load at which half of all runs pass, and its 95 % interval."""

    load: float
    low: float
    high: float


@dataclass(frozen=True)
class Fit(ABC):
    """A model of what runs do, fitted to some; loads as logarithms."""

    edge: float
    """Where half of all runs pass."""
    error: float
    """Standard error of it."""
    scale: float
    """How far chance moves a run."""

    def sample_figure(self, load: float, chance: np.random.Generator) -> float:
        """Returns the figure of a run at a load (not its logarithm), sampled. Above 0 the run fails."""
        return self._figure((math.log(load) - self.edge) / self.scale, chance)

    @abstractmethod
    def _figure(self, off: float, chance: np.random.Generator) -> float:
        """The same, so far above the edge in units of the scale."""

    @classmethod
    @abstractmethod
    def fit_points(cls, loads: np.ndarray, figures: np.ndarray) -> Self | None:
        """Fitted to runs; None where they say nothing."""

    def correct(self, refit: Self) -> Self:
        """Returns the fit corrected by the error of `refit`, which was fitted to samples of this fit."""
        missed = (refit.edge - self.edge) / refit.error
        ratio = min(MOST_OFF, max(1 / MOST_OFF, self.scale / refit.scale))
        return replace(self, edge=self.edge - missed * self.error, scale=self.scale * ratio)


@dataclass(frozen=True)
class MarginFit(Fit):
    """A straight line with normal noise, from how far runs were from their limits."""

    def _figure(self, off: float, chance: np.random.Generator) -> float:
        return off + float(chance.standard_normal())

    @classmethod
    def fit_points(cls, loads: np.ndarray, figures: np.ndarray) -> Self | None:
        """Least squares, weighted by how near the edge a run is; None where more load is not worse."""
        centre = float(loads.mean())
        design = np.stack([np.ones(len(loads)), loads - centre], axis=1)
        weights = np.ones(len(loads))
        fit = None
        for _ in range(3):
            inverse = np.linalg.inv(design.T @ (weights[:, None] * design))
            mean, slope = inverse @ design.T @ (weights * figures)
            if slope <= 0:
                return None
            missed = figures - mean - slope * design[:, 1]
            scale = max(math.sqrt(float(weights @ missed**2) / (len(loads) - 2)) / slope, LEAST_SCALE)
            off = -mean / slope
            way = np.array([1.0, off])
            fit = cls(centre + off, scale * math.sqrt(float(way @ inverse @ way)), scale)
            weights = 1 / (1 + ((loads - fit.edge) / (NEAR_EDGE * scale)) ** 2)
        return fit


@dataclass(frozen=True)
class CountFit(Fit):
    """Errors in bunches (negative binomial), whose rate grows with a power of the load; the scale is 1 / power."""

    bunch: float

    def _figure(self, off: float, chance: np.random.Generator) -> float:
        rate = math.log(2) * math.exp(min(20.0, off))
        return float(chance.negative_binomial(rate / math.log(self.bunch), 1 / self.bunch))

    @classmethod
    def fit_points(cls, loads: np.ndarray, figures: np.ndarray) -> Self | None:
        """Means over a grid of what may be, each by its likelihood and the usual growth; None without any error."""
        if not figures.any():
            return None
        centre = float(loads.mean())
        level, growth, bunch = (grid.ravel() for grid in np.meshgrid(EDGE_LEVELS, GROWTHS, BUNCHES, indexing="ij"))
        logs = -(((growth - USUAL_GROWTH) / GROWTH_SD) ** 2) / 2
        for off, count in zip(loads - centre, figures, strict=True):
            logs = logs + _chance_of(count, np.exp(np.minimum(50.0, level + growth * off)), bunch)
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        edges = np.clip((math.log(math.log(2)) - level) / growth, -1.0, 1.0)
        edge = float(weights @ edges)
        error = math.sqrt(float(weights @ (edges - edge) ** 2))
        return cls(centre + edge, error, 1 / float(weights @ growth), math.exp(float(weights @ np.log(bunch))))


def _chance_of(count: float, bunches: np.ndarray, bunch: np.ndarray) -> np.ndarray:
    """The logarithm of the chance of a count, but for what depends on it alone (negative binomial)."""
    none = -bunches
    if count == 0:
        return none
    size = bunches / np.log(bunch)
    gammaln = scipy.special.gammaln
    return np.asarray(none + gammaln(count + size) - gammaln(size) + count * np.log1p(-1 / bunch))


@dataclass(frozen=True)
class Edge:
    """What a server may be after some runs, each as likely as the others."""

    fits: Sequence[Fit]
    reach: tuple[float, float]
    """The least and the greatest load of a run that was used: beyond it nothing is known."""

    def sample_passes(self, chance: np.random.Generator) -> Passes:
        """A server as this one may be."""
        fit = self.fits[int(chance.integers(len(self.fits)))]
        return lambda load: fit.sample_figure(load, chance) <= 0

    @property
    def estimate(self) -> EdgeEstimate:
        """Where it lies: median and quantiles, as far as runs reach."""
        tail = (1 - CONFIDENCE_LEVEL) / 2
        quantiles = np.exp(np.quantile([fit.edge for fit in self.fits], (0.5, tail, 1 - tail)))
        return EdgeEstimate(*(float(end) for end in np.clip(quantiles, *self.reach)))


def find_edge(runs: Sequence[RunSummary], peak: float, again: Again) -> Edge | None:
    """The edge about a peak; None where too few runs say anything."""
    broken = Counter(check.id for run in runs for check in run.list_broken())
    counts = list(_counts(runs, broken.most_common(1)[0][0])) if broken else []
    model: type[Fit] = CountFit if counts else MarginFit
    points = counts or list(_margins(runs, set(broken)))
    fit = _fitted(model, points, peak)
    if fit is None:
        return None
    chance = np.random.default_rng(1)
    fits = [refit for _ in range(REPETITIONS) if (refit := _once_more(fit, again, chance)) is not None]
    near = [load for load, _ in points if abs(load / peak - 1) <= AROUND[-1]]
    return Edge(fits, (min(near), max(near))) if len(fits) > REPETITIONS / 2 else None


def _once_more(fit: Fit, again: Again, chance: np.random.Generator) -> Fit | None:
    """What may have been true, from one more search of what was found."""
    points: list[LoadedPoint] = []

    def passes(load: float) -> bool:
        points.append((load, fit.sample_figure(load, chance)))
        return points[-1][1] <= 0

    peak = again(passes, chance)
    refit = _fitted(type(fit), points, peak) if peak is not None else None
    return fit.correct(refit) if refit is not None and refit.error > 0 else None


def _fitted(model: type[Fit], points: Sequence[LoadedPoint], peak: float) -> Fit | None:
    """A model of the runs about a peak: of so many that passing and failing lie apart."""
    fit = None
    for around in AROUND:
        near = np.array([point for point in points if abs(point[0] / peak - 1) <= around])
        if len(near) >= LEAST_RUNS and np.ptp(near[:, 0]) > 0:
            loads = np.log(near[:, 0])
            fit = model.fit_points(loads, near[:, 1])
            if fit is not None and not loads.min() <= fit.edge <= loads.max():
                fit = None
        if fit is not None and SCALE_MARGIN * fit.scale <= around:
            break
    return fit


def _counts(runs: Sequence[RunSummary], rule: CheckId) -> Iterator[LoadedPoint]:
    """The counts of a rule whose limit is none at all; of another nothing."""
    for run in runs:
        for check in run.checks:
            if check.id is rule and check.bound is Bound.AT_MOST and check.limit <= 0:
                yield run.request.load, round(check.figure)


def _margins(runs: Sequence[RunSummary], rules: set[CheckId]) -> Iterator[LoadedPoint]:
    """How far each run was beyond that of its limits which it was nearest to breaking, or furthest beyond."""
    for run in runs:
        margins = [margin for check in run.checks if check.id in rules and (margin := _margin(check)) is not None]
        if margins:
            yield run.request.load, max(margins)


def _margin(check: Check) -> float | None:
    """How far a run was beyond a rule's limit, as a logarithm: below 0 it was kept. None where that says nothing."""
    figure, limit = _missed(check)
    return math.log(figure / limit) if figure > 0 and limit > 0 else None


def _missed(check: Check) -> tuple[float, float]:
    """Figure and limit so that more is worse: of shares what is missing to all."""
    if check.bound is Bound.AT_LEAST:
        return 100 - check.figure, 100 - check.limit
    return check.figure, check.limit
