"""A system as queueing theory sees it, learned from a few measured loads: its fit, and what it says of others. Pure."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np
import scipy

from loadstone.judge.statistics import compute_t_quantile
from loadstone.study.queueing import (
    Centre,
    compute_closed_beyond,
    compute_closed_quantile_s,
    open_beyond,
    open_quantile_s,
    open_wait_s,
    solve_closed,
)
from loadstone.study.summary import RunSummary

RESAMPLES = 100
"""Times the measured runs are drawn anew for the intervals."""
MODEL_ERROR = 0.05
"""Relative error of a predicted response time where nothing else is uncertain: of the approximations for spread service
and of what they leave out, as stalls, by which they were 3.5 to 3.9 % off (measured: docs/evidence/trust.md)."""
MOST_APART = 1000.0
"""By what factor models may differ at most; one that predicts nothing at all says no more."""
PredictionInterval = tuple[float, float]

MOST_VARIABILITY = 10.0
MOST_USED = 0.9
"""Share of what limits that the lowest load may use: beyond, its figures tell of the queue and not of the work."""
MOST_TIMES = 20
"""Populations looked at, by the one that would just keep all workers busy if nobody ever waited."""


@dataclass(frozen=True)
class Model:
    """What was learned of a system: a queueing centre, and time that does not depend on load."""

    load: str
    resource: str
    centre: Centre
    fixed_s: float
    """Response time beside the centre: lines, network, other services."""
    think_s: float
    """Mean time between an answer and the next operation, closed load only."""
    per_unit: float
    """Operations per second for each arrival per second, open load only."""
    base: Mapping[float, tuple[float, float]]
    """By share of operations: the quantile measured at the lowest load, and what the centre alone has there."""

    def predict(self, load: float) -> tuple[float, float]:
        """Throughput and mean response time."""
        if self.load == "rate":
            rate = self._rate(load)
            return rate, self.fixed_s + self.centre.demand_s + open_wait_s(self.centre, rate)
        throughput, response_s = solve_closed(self.centre, *self._population(load))
        return throughput, response_s + self.fixed_s

    def is_beyond(self, load: float) -> bool:
        """Whether an open load brings more than can be served: its response times grow as long as a run lasts."""
        return self.load == "rate" and load * self.per_unit >= self.centre.capacity

    def _rate(self, load: float) -> float:
        """Operations per second of an open load, just below the capacity at most, where waiting is still finite."""
        return min(load * self.per_unit, 0.9999 * self.centre.capacity)

    def _population(self, load: float) -> tuple[int, float]:
        """Sessions of a closed load, and the time that each spends away from the centre."""
        return max(1, round(load)), self.think_s + self.fixed_s

    def is_within(self, load: float, share: float, seconds: float) -> bool:
        """Whether `share` of operations take no longer than `seconds`: as measured at the lowest load, and what
        queueing adds to that.
        """
        measured, queued = self.base[share]
        left_s = seconds - (measured - queued)
        return left_s > 0 and self._beyond(load, left_s) <= 1 - share

    def _beyond(self, load: float, seconds: float) -> float:
        """Share of operations that keep the centre alone for longer."""
        if self.load == "rate":
            return open_beyond(self.centre, load * self.per_unit, seconds)
        return compute_closed_beyond(self.centre, *self._population(load), seconds)

    def compute_queued_s(self, load: float, share: float) -> float:
        """The time within which `share` of operations leave the centre alone."""
        if self.load == "rate":
            return open_quantile_s(self.centre, self._rate(load), share)
        return compute_closed_quantile_s(self.centre, *self._population(load), share)

    def load_of(self, throughput: float) -> float:
        """The load that brings a throughput; for closed load by the response time law."""
        if self.load == "rate":
            return throughput / self.per_unit
        low, high = 1.0, MOST_TIMES * self.centre.capacity * (self.think_s + self.fixed_s + self.centre.demand_s) + 1
        for _ in range(40):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self.predict(middle)[0] < throughput else (low, middle)
        return low


@dataclass(frozen=True)
class ModelLimits:
    """What the 95th and the 99th percentile of response time must keep."""

    good_s: float
    tolerable_s: float


def find_resource(runs: Sequence[RunSummary]) -> tuple[str, str] | None:
    """The figure and the capacity of what limits: a station's workers, else the server's CPU, else the machine's."""
    for figure, capacity in (("busy_workers", "workers"), ("server_cpu", "server_cores"), ("host_cpu", "cores")):
        if runs and all(figure in run.metrics and capacity in run.capacity for run in runs):
            return figure, capacity
    return None


def is_saturated(runs: Sequence[RunSummary], figure: str, capacity: str) -> bool:
    """Whether the lowest load already uses nearly all there is."""
    lowest = min(runs, key=lambda run: run.request.load)
    return lowest.metrics[figure] >= MOST_USED * lowest.capacity[capacity]


def fit(runs: Sequence[RunSummary], load: str, resource: tuple[str, str]) -> Model:
    """Demand by the utilisation law, time elsewhere by the response time law, the rest by least squares."""
    figure, capacity = resource
    throughput = np.array([run.metrics["throughput"] for run in runs])
    response_s = np.array([run.metrics["response_mean"] for run in runs])
    loads = np.array([run.request.load for run in runs])
    busy = np.array([run.metrics[figure] for run in runs])
    # Utilisation law: busy workers = throughput x demand, by least squares through the origin.
    demand_s = float(np.sum(busy * throughput) / np.sum(throughput**2))
    centre = Centre(runs[0].capacity[capacity], demand_s)
    think_s = max(0.0, float(np.mean(loads / throughput - response_s))) if load == "sessions" else 0.0
    per_unit = float(np.sum(throughput * loads) / np.sum(loads**2))
    first = Model(load, figure, centre, 0.0, think_s, per_unit, {})

    def off(parameters: np.ndarray) -> np.ndarray:
        model = _with(first, parameters)
        predicted = np.array([min(model.predict(load)[1], 1e6) for load in loads])
        return np.asarray(np.log(predicted / response_s))

    start_s = max(1e-9, float(np.min(response_s)) - demand_s)
    fit = scipy.optimize.least_squares(
        off, (start_s, 1.0), bounds=([0, 0], [np.inf, MOST_VARIABILITY]), x_scale=(start_s, 1.0)
    )
    model = _with(first, fit.x)
    lowest = min(runs, key=lambda run: run.request.load)
    base = {
        share: (lowest.metrics[name], model.compute_queued_s(lowest.request.load, share))
        for name, share in (("response_p95", 0.95), ("response_p99", 0.99))
    }
    return replace(model, base=base)


def _with(model: Model, parameters: np.ndarray) -> Model:
    fixed_s, variability = (float(parameter) for parameter in parameters)
    return replace(model, fixed_s=fixed_s, centre=replace(model.centre, variability=variability))


def resample_models(runs: Sequence[RunSummary], load: str, resource: tuple[str, str]) -> list[Model]:
    """Models of runs drawn anew from those at each load: their spread is that of what one more study would find."""
    chance = np.random.default_rng(1)
    by_load: dict[float, list[RunSummary]] = {}
    for run in runs:
        by_load.setdefault(run.request.load, []).append(run)
    return [
        fit(
            [held[place] for held in by_load.values() for place in chance.integers(0, len(held), len(held))],
            load,
            resource,
        )
        for _ in range(RESAMPLES)
    ]


def compute_interval(
    value: float, values: Sequence[float], runs: Sequence[RunSummary], error: float = 0.0
) -> PredictionInterval:
    """The 95 % interval of a prediction, from what models of runs drawn anew predict; in proportion, so never below 0.

    `own` is a relative error of the model beside them.
    """
    if value <= 0:
        return value, value
    spread = fmean(math.log(max(candidate, value / MOST_APART) / value) ** 2 for candidate in values)
    half = math.hypot(compute_deviations(runs) * math.sqrt(spread), error)
    return value * math.exp(-half), value * math.exp(half)


def compute_deviations(runs: Sequence[RunSummary]) -> float:
    """How many standard deviations of models drawn anew an interval reaches to each side.

    n runs drawn from themselves scatter less by (n - 1) / n, and so few say little of their scatter (Student's t).
    About half of the loads, the higher ones, decide what is said of still higher ones: the freedom is theirs.
    """
    counts = Counter(run.request.load for run in runs)
    freedom = sum(count - 1 for count in counts.values())
    if not freedom:
        return 1.0
    return math.sqrt(len(runs) / freedom) * compute_t_quantile(max(1.0, freedom / 2))


def find_peak(model: Model, limits: ModelLimits | None) -> float:
    """The largest load whose percentiles keep their limits; without such limits that of the capacity."""
    top = model.load_of(0.999 * model.centre.capacity)
    if limits is None:
        return top

    def holds(load: float) -> bool:
        return model.is_within(load, 0.95, limits.good_s) and model.is_within(load, 0.99, limits.tolerable_s)

    if model.load == "sessions":  # beyond the capacity sessions only wait longer, up to the limit
        top = max(top, model.centre.capacity * (model.think_s + limits.tolerable_s))
    low, high = 0.0, top
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low if model.load == "rate" else math.floor(low + 0.5)
