"""`predict`: from a few measured loads to throughput, response time and peak beyond them; then checked. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from loadstone.judge.statistics import LEVEL
from loadstone.study.question import key_of, missing, planned
from loadstone.study.queueing import (
    Centre,
    Scalability,
    closed,
    closed_beyond,
    closed_quantile_s,
    fit_scalability,
    open_beyond,
    open_quantile_s,
    open_wait_s,
)
from loadstone.study.summary import Made, Purpose, Wanted

Json = dict[str, Any]

NAMES = {"busy_workers": "a worker", "server_cpu": "a core of the server", "host_cpu": "a core of the machine"}
RESAMPLES = 100
"""Times the measured runs are drawn anew for the intervals."""
STEPS = 24
"""Loads at which the predicted curve is drawn."""
MOST_VARIABILITY = 10.0
MOST_USED = 0.9
"""Share of what limits that the lowest load may use: beyond, its figures tell of the queue and not of the work."""
MOST_TIMES = 20
"""Populations looked at, by the one that would just keep all workers busy if nobody ever waited."""
PREDICTED_PCT = (95.0, 99.0)
"""Shares of good and of tolerable operations for which a peak can be predicted."""


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

    def at(self, load: float) -> tuple[float, float]:
        """Throughput and mean response time."""
        if self.load == "rate":
            rate = self._rate(load)
            return rate, self.fixed_s + self.centre.demand_s + open_wait_s(self.centre, rate)
        throughput, response_s = closed(self.centre, *self._population(load))
        return throughput, response_s + self.fixed_s

    def _rate(self, load: float) -> float:
        """Operations per second of an open load, just below the capacity at most, where waiting is still finite."""
        return min(load * self.per_unit, 0.9999 * self.centre.capacity)

    def _population(self, load: float) -> tuple[int, float]:
        """Sessions of a closed load, and the time that each spends away from the centre."""
        return max(1, round(load)), self.think_s + self.fixed_s

    def holds(self, load: float, share: float, seconds: float) -> bool:
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
        return closed_beyond(self.centre, *self._population(load), seconds)

    def queued_s(self, load: float, share: float) -> float:
        """The time within which `share` of operations leave the centre alone."""
        if self.load == "rate":
            return open_quantile_s(self.centre, self._rate(load), share)
        return closed_quantile_s(self.centre, *self._population(load), share)

    def load_of(self, throughput: float) -> float:
        """The load that brings a throughput; for closed load by the response time law."""
        if self.load == "rate":
            return throughput / self.per_unit
        low, high = 1.0, MOST_TIMES * self.centre.capacity * (self.think_s + self.fixed_s + self.centre.demand_s) + 1
        for _ in range(40):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self.at(middle)[0] < throughput else (low, middle)
        return low


@dataclass(frozen=True)
class Limits:
    """What the 95th and the 99th percentile of response time must keep."""

    good_s: float
    tolerable_s: float


@dataclass(frozen=True)
class Predict:
    """Measured at some loads, predicted at all, checked at others."""

    workload: str
    settings: Mapping[str, str]
    load: str
    measured: tuple[str, ...]
    check: tuple[str, ...]
    limits: Limits | None
    """None where operations have limits of different kinds: the peak is then the capacity alone."""
    rounds: int = 2
    kind: str = "predict"

    def wanted(self) -> list[Wanted]:
        """All its runs: those to learn from, then those to check by."""
        runs: list[Wanted] = []
        for turn in range(self.rounds):
            for text in self.measured if turn % 2 == 0 else reversed(self.measured):
                runs.append(self._run(len(runs), text, turn, Purpose.MEASURE))
        for text in self.check:
            runs += [self._run(len(runs) + turn, text, 100 + turn, Purpose.VERIFY) for turn in range(self.rounds)]
        return runs

    def _run(self, made: int, text: str, seed: int, purpose: Purpose) -> Wanted:
        key = key_of(made + 1, self.workload, f"{self.load}-{text}-{purpose}")
        return Wanted(key, self.workload, {**self.settings, self.load: text}, seed, purpose)

    def next(self, made: Sequence[Made]) -> Wanted | None:
        """The next run that is missing."""
        return planned(self.wanted(), made)

    def left(self, made: Sequence[Made]) -> int:
        """Runs that are missing."""
        return len(self.wanted()) - len(made)

    def answer(self, made: Sequence[Made]) -> Json:
        """The model, its curve, its peak, and how far measurements were from it."""
        learned = [one for one in made if one.wanted.purpose is Purpose.MEASURE]
        whole = not any(one.purpose is Purpose.MEASURE for one in missing(self.wanted(), made))
        answer: Json = {"settings": dict(self.settings), "load": self.load, "is_answered": not self.left(made)}
        measured = [_point(one) for one in made]
        resource = resource_of(learned) if whole else None
        if resource is None or _is_saturated(learned, *resource):
            why = "its use of CPU or workers is not known" if whole else "the loads to learn from are not all measured"
            if resource is not None:
                why = "the lowest load already uses nearly all there is. Give smaller ones"
            unanswered = {"measured": measured, "is_answered": False, "headline": [f"Nothing can be predicted: {why}."]}
            return {**answer, **unanswered}
        model = fit(learned, self.load, resource)
        models = resampled(learned, self.load, resource)
        scalability = self._scalability(learned)
        top = peak(model, self.limits)
        curve = [self._predicted(load, model, models, scalability) for load in self._drawn(model, top)]
        at = {point["load"]: point for point in curve}
        checks = [_checked(one, at[one.wanted.load]) for one in made if one.wanted.purpose is Purpose.VERIFY]
        peaks = [peak(each, self.limits) for each in models]
        return {
            **answer,
            "measured": measured,
            "model": {**asdict(model), "capacity": model.centre.capacity, "base": None},
            "scalability": scalability and {**asdict(scalability), "peak_sessions": scalability.peak_sessions},
            "curve": curve,
            "checks": checks,
            "peak": {"load": top, "low": _quantile(peaks, 0), "high": _quantile(peaks, 1)},
            "headline": _headline(self, model, top, peaks, checks),
        }

    def _drawn(self, model: Model, peak: float) -> list[float]:
        """Loads of the curve: up to the capacity, or to the predicted peak beyond it; those to check by among them."""
        top = max(model.load_of(0.98 * model.centre.capacity), peak)
        loads = np.linspace(top / STEPS, top, STEPS)
        whole = np.maximum(1, np.round(loads)) if self.load == "sessions" else loads
        return sorted({*whole.tolist(), *(float(text) for text in self.check)})

    def _scalability(self, learned: Sequence[Made]) -> Scalability | None:
        if self.load == "rate":
            return None  # arrivals bring their own throughput
        return fit_scalability([one.wanted.load for one in learned], [one.figures["throughput"] for one in learned])

    def _predicted(self, load: float, model: Model, models: Sequence[Model], scalability: Scalability | None) -> Json:
        own, capacity = model.at(load), model.centre.capacity
        others = [(*each.at(load), each.centre.capacity) for each in models]

        def both(value: float, values: Sequence[float]) -> Json:
            return {"value": value, "low": _quantile(values, 0), "high": _quantile(values, 1)}

        return {
            "load": load,
            "throughput": both(own[0], [one[0] for one in others]),
            "response_mean": both(own[1], [one[1] for one in others]),
            "utilisation": both(own[0] / capacity, [one[0] / one[2] for one in others]),
            "scalability": None if scalability is None else scalability.at(load),
        }


def resource_of(made: Sequence[Made]) -> tuple[str, str] | None:
    """The figure and the capacity of what limits: a station's workers, else the server's CPU, else the machine's."""
    for figure, capacity in (("busy_workers", "workers"), ("server_cpu", "server_cores"), ("host_cpu", "cores")):
        if made and all(figure in one.figures and capacity in one.capacity for one in made):
            return figure, capacity
    return None


def _is_saturated(made: Sequence[Made], figure: str, capacity: str) -> bool:
    lowest = min(made, key=lambda one: one.wanted.load)
    return lowest.figures[figure] >= MOST_USED * lowest.capacity[capacity]


def fit(made: Sequence[Made], load: str, resource: tuple[str, str]) -> Model:
    """Demand by the utilisation law, time elsewhere by the response time law, the rest by least squares."""
    figure, capacity = resource
    throughput = np.array([one.figures["throughput"] for one in made])
    response_s = np.array([one.figures["response_mean"] for one in made])
    loads = np.array([one.wanted.load for one in made])
    busy = np.array([one.figures[figure] for one in made])
    # Utilisation law: busy workers = throughput x demand, by least squares through the origin.
    demand_s = float(np.sum(busy * throughput) / np.sum(throughput**2))
    centre = Centre(made[0].capacity[capacity], demand_s)
    think_s = max(0.0, float(np.mean(loads / throughput - response_s))) if load == "sessions" else 0.0
    per_unit = float(np.sum(throughput * loads) / np.sum(loads**2))
    first = Model(load, figure, centre, 0.0, think_s, per_unit, {})

    def off(parameters: np.ndarray) -> np.ndarray:
        model = _with(first, parameters)
        predicted = np.array([min(model.at(one)[1], 1e6) for one in loads])
        return np.asarray(np.log(predicted / response_s))

    start_s = max(1e-9, float(np.min(response_s)) - demand_s)
    found = least_squares(  # type: ignore[operator]
        off, (start_s, 1.0), bounds=([0, 0], [np.inf, MOST_VARIABILITY]), x_scale=(start_s, 1.0)
    )
    model = _with(first, found.x)
    lowest = min(made, key=lambda one: one.wanted.load)
    base = {
        share: (lowest.figures[name], model.queued_s(lowest.wanted.load, share))
        for name, share in (("response_p95", 0.95), ("response_p99", 0.99))
    }
    return replace(model, base=base)


def _with(model: Model, parameters: np.ndarray) -> Model:
    fixed_s, variability = (float(one) for one in parameters)
    return replace(model, fixed_s=fixed_s, centre=replace(model.centre, variability=variability))


def resampled(made: Sequence[Made], load: str, resource: tuple[str, str]) -> list[Model]:
    """Models of runs drawn anew from those at each load: their spread is that of what one more study would find."""
    chance = np.random.default_rng(1)
    by_load: dict[float, list[Made]] = {}
    for one in made:
        by_load.setdefault(one.wanted.load, []).append(one)
    return [
        fit([held[at] for held in by_load.values() for at in chance.integers(0, len(held), len(held))], load, resource)
        for _ in range(RESAMPLES)
    ]


def peak(model: Model, limits: Limits | None) -> float:
    """The largest load whose percentiles keep their limits; without such limits that of the capacity."""
    top = model.load_of(0.999 * model.centre.capacity)
    if limits is None:
        return top

    def holds(load: float) -> bool:
        return model.holds(load, 0.95, limits.good_s) and model.holds(load, 0.99, limits.tolerable_s)

    if model.load == "sessions":  # beyond the capacity sessions only wait longer, up to the limit
        top = max(top, model.centre.capacity * (model.think_s + limits.tolerable_s))
    low, high = 0.0, top
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low if model.load == "rate" else math.floor(low + 0.5)


def _quantile(values: Sequence[float], end: int) -> float:
    share = (1 - LEVEL) / 2
    return float(np.quantile(values, (share, 1 - share)[end]))


def _point(made: Made) -> Json:
    return {
        "load": made.wanted.load,
        "purpose": made.wanted.purpose,
        "verdict": made.verdict,
        **{name: made.figures.get(name) for name in ("throughput", "response_mean", "response_p95", "response_p99")},
    }


def _checked(made: Made, predicted: Json) -> Json:
    """A measurement beside its prediction: how far off, and whether inside the interval."""
    found: Json = {"load": made.wanted.load, "folder": made.folder}
    for name in ("throughput", "response_mean"):
        value, said = made.figures[name], predicted[name]
        off_pct = 100 * (said["value"] / value - 1)
        found[name] = {"measured": value, "predicted": said["value"], "off_pct": off_pct}
    return found


def _off(checked: Json) -> str:
    off_pct = checked["off_pct"]
    return f"{abs(off_pct):.1f} % too {'high' if off_pct > 0 else 'low'}"


def _headline(question: Predict, model: Model, top: float, peaks: Sequence[float], checks: Sequence[Json]) -> list[str]:
    unit = "sessions" if question.load == "sessions" else "arrivals/s"
    centre = model.centre
    interval = f"{_quantile(peaks, 0):.4g} to {_quantile(peaks, 1):.4g}"
    interval = interval if question.rounds > 1 else "without an interval: one run a load"
    lines = [
        f"An operation takes {1000 * centre.demand_s:.3g} ms of {NAMES[model.resource]}; with {centre.workers:g} of "
        f"them the capacity is {centre.capacity:.4g} operations/s.",
        f"Predicted peak: {top:.4g} {unit} ({interval}).",
    ]
    for one in checks:
        lines.append(
            f"Checked at {one['load']:g} {unit}: throughput was predicted {_off(one['throughput'])}, "
            f"mean response time {_off(one['response_mean'])}."
        )
    return lines
