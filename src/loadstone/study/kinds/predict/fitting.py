"""A prediction: measure some loads, fit a model, say what it says of others, hold it against checks. Pure."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean

import numpy as np

from loadstone.judge.mix import ERROR_SHARE_PCT
from loadstone.judge.statistics import summary
from loadstone.model.numbers import supported
from loadstone.study.kinds.predict.answer import (
    Checked,
    CheckedPoint,
    LearnedModel,
    LearnedScalability,
    MeasuredPoint,
    PredictAnswer,
    Predicted,
    PredictedPeak,
    PredictedPoint,
)
from loadstone.study.question import first_missing, key_of, missing
from loadstone.study.queueing import Scalability, fit_scalability
from loadstone.study.service_model import (
    MODEL_ERROR,
    Limits,
    Model,
    fit,
    interval_of,
    is_saturated,
    peak,
    resampled,
    resource_of,
)
from loadstone.study.summary import Purpose, RunRequest, RunSummary
from loadstone.study.until import Until, runs_needed

NAMES = {"busy_workers": "a worker", "server_cpu": "a core of the server", "host_cpu": "a core of the machine"}
CHECKED = ("throughput", "response_mean")
"""What predictions are checked by; a run in which too much was left unfinished has no mean."""
LEARNED = (*CHECKED, "response_p95", "response_p99")
"""What a model is learned from."""
CONTRADICTED_PCT = 20.0
"""How far a check may be from its prediction, where that does not lie in its interval either."""
BEGINS_TO_REFUSE_PCT, MORE_REFUSED = 0.1, 3.0
"""Share of operations in error, and how many times that of the lowest load, from which a load is refused users: the
model has everybody wait and knows no limit of a queue."""
UNITS = {"sessions": "sessions", "rate": "arrivals/s"}
FIGURES = {"mean": "response_mean", "peak": "peak"}
"""What a prediction may go on for until it is sure: the mean response time at the loads to check by, and the peak."""
MOST_ROUNDS = 30
"""Times each load is run after which a prediction that goes on until it is sure gives up, unless told otherwise."""
FEWEST_LOOKS, LOOKS_APART = 8, 1.5
"""Rounds after which it first looks whether it is sure, and by how much more it looks again: who looks at a few, and
after each, stops where chance makes the interval narrow (measured: docs/trust.md)."""
STEPS = 24
"""Loads at which the predicted curve is drawn."""


@dataclass(frozen=True)
class Fitted:
    """What was learned, and the model of it; with those of the same runs drawn anew."""

    learned: Sequence[RunSummary]
    model: Model
    models: Sequence[Model]


@dataclass(frozen=True)
class UnfitChecks:
    """How many of the checks at a load are invalid, and why the first of them is."""

    unfit: int
    made: int
    reasons: tuple[str, ...]


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
    workers: int | None = None
    """How many operations the server can work on at once, where the user knows better than the lab."""
    until: Until | None = None
    """Where it measures on until what it predicts is so sure."""
    most_rounds: int = MOST_ROUNDS

    def requests(self) -> list[RunRequest]:
        """The runs that are made in any case: those to learn from, then those to check by."""
        requests: list[RunRequest] = []
        for turn in range(self.rounds):
            requests += self._round(turn, len(requests))
        for text in self.check:
            first = len(requests)
            requests += [self._request(first + turn, text, 100 + turn, Purpose.VERIFY) for turn in range(self.rounds)]
        return requests

    def _round(self, turn: int, first: int) -> list[RunRequest]:
        """Every load to learn from once, there and back in turn."""
        loads = self.measured if turn % 2 == 0 else self.measured[::-1]
        return [self._request(first + at, text, turn, Purpose.MEASURE) for at, text in enumerate(loads)]

    def _request(self, at: int, text: str, seed: int, purpose: Purpose) -> RunRequest:
        key = key_of(at + 1, self.workload, f"{self.load}-{text}-{purpose}")
        return RunRequest(key, self.workload, {**self.settings, self.load: text}, seed, purpose)

    def next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
        """The next run that is missing."""
        more = self._more(runs)
        return first_missing(self.requests(), runs) or (more[0] if more else None)

    def left(self, runs: Sequence[RunSummary]) -> int:
        """Runs that are missing, as far as can be said."""
        return len(missing(self.requests(), runs)) + len(self._more(runs))

    def _more(self, runs: Sequence[RunSummary]) -> list[RunRequest]:
        """What is left of about as many rounds as it takes beyond those that are made in any case."""
        sure = len(self.requests())
        if self.until is None or len(runs) < sure:
            return []
        begun = len(runs) - sure
        turn, done = divmod(begun, len(self.measured))
        rounds = self.rounds + turn
        if done:
            return self._round(rounds, sure + begun - done)[done:]
        due = next((look for look in self._looks if look >= rounds), rounds)
        if due == rounds:
            half_pct = self._half_pct(runs)
            if half_pct is None or half_pct <= self.until.pct:
                return []
            due = next((look for look in self._looks if look > rounds), rounds)
        each = len(self.measured)
        return [
            request
            for at, later in enumerate(range(rounds, due))
            for request in self._round(later, len(runs) + at * each)
        ]

    @property
    def _looks(self) -> list[int]:
        """After how many rounds it looks whether it is sure."""
        looks = [min(self.most_rounds, max(self.rounds, FEWEST_LOOKS))]
        while looks[-1] < self.most_rounds:
            looks.append(min(self.most_rounds, math.ceil(LOOKS_APART * looks[-1])))
        return looks

    def _half_pct(self, runs: Sequence[RunSummary]) -> float | None:
        """How unsure it still is of what it goes on for, in percent; None where nothing is predicted."""
        fitted = self._fitted(runs)
        if self.until is None or isinstance(fitted, str):
            return None
        points = [self._predicted(load, fitted) for load in self._asked]
        if any(self._refuted(runs, points, self._peak(fitted))):
            return None
        if self.until.metric == "peak":
            return self._peak(fitted).half_pct
        return max(point.response_mean.half_pct for point in points)

    @property
    def _asked(self) -> set[float]:
        """Loads that are asked about: those to check by, else the highest that is learned from."""
        return {float(text) for text in (self.check or self.measured[-1:])}

    def answer(self, runs: Sequence[RunSummary]) -> PredictAnswer:
        """The model, its curve, its peak, how far measurements were from it, and whether it is as sure as asked."""
        found = self._predict(runs)
        half_pct = self._half_pct(runs)
        if self.until is None or half_pct is None:
            return found
        rounds = (len(runs) - len(self.check) * self.rounds) // len(self.measured)
        is_sure = half_pct <= self.until.pct
        line = _sureness(self.until, half_pct, rounds)
        return replace(found, is_answered=found.is_answered and is_sure, headline=(*found.headline, line))

    def _fitted(self, runs: Sequence[RunSummary]) -> Fitted | str:
        """The model that all runs so far make, or why there is none."""
        asked = [run for run in runs if run.request.purpose is Purpose.MEASURE]
        learned = [self._told(run) for run in asked if _tells(run)]
        is_whole = not any(one.purpose is Purpose.MEASURE for one in missing(self.requests(), runs))
        why = _why_not(asked, learned) if is_whole else "the loads to learn from are not all measured"
        resource = resource_of(learned)
        if why or resource is None:
            return why or "its use of CPU or workers is not known"
        if is_saturated(learned, *resource):
            return "the lowest load already uses nearly all there is. Give smaller ones"
        return Fitted(learned, fit(learned, self.load, resource), resampled(learned, self.load, resource))

    def _predict(self, runs: Sequence[RunSummary]) -> PredictAnswer:
        """What all runs so far say."""
        fitted = self._fitted(runs)
        if isinstance(fitted, str):
            return self._unanswered(runs, fitted)
        model, found = fitted.model, self._peak(fitted)
        scalability = self._scalability(fitted.learned)
        curve = [self._predicted(load, fitted, scalability) for load in self._drawn(model, found.load)]
        checks = self._checks(runs, curve)
        refuted = list(self._refuted(runs, curve, found))
        unchecked = [load for load, counts in self._unfit_checks(runs).items() if counts.unfit == counts.made]
        return PredictAnswer(
            workload=self.workload,
            settings=dict(self.settings),
            load=self.load,
            is_answered=not missing(self.requests(), runs) and not refuted and not unchecked,
            measured=tuple(map(_measured, runs)),
            model=_learned(model),
            scalability=_learned_law(scalability),
            curve=tuple(curve),
            checks=tuple(checks),
            peak=None if refuted else found,
            headline=(
                *_headline(self, model, found, checks, refuted),
                *_unchecked(self._unfit_checks(runs), UNITS[self.load]),
            ),
        )

    def _unfit_checks(self, runs: Sequence[RunSummary]) -> dict[str, UnfitChecks]:
        """The checks that are invalid, by load."""
        counts = {}
        for text in dict.fromkeys(self.check):
            checks = [run for run in runs if run.request.purpose is Purpose.VERIFY and run.request.load == float(text)]
            unfit = [run for run in checks if not run.is_valid]
            if unfit:
                counts[text] = UnfitChecks(len(unfit), len(checks), unfit[0].reasons)
        return counts

    def _peak(self, fitted: Fitted) -> PredictedPeak:
        top = peak(fitted.model, self.limits)
        others = [peak(each, self.limits) for each in fitted.models]
        return PredictedPeak(top, *interval_of(top, others, fitted.learned))

    def _checks(self, runs: Sequence[RunSummary], points: Sequence[PredictedPoint]) -> list[CheckedPoint]:
        """What was measured to check by, beside what is predicted there."""
        by_load = {point.load: point for point in points}
        made = [run for run in runs if run.request.purpose is Purpose.VERIFY and run.is_valid and _has(run, CHECKED)]
        return [_checked(run, by_load[run.request.load]) for run in made]

    def _refuted(
        self, runs: Sequence[RunSummary], curve: Sequence[PredictedPoint], top: PredictedPeak
    ) -> Iterator[str]:
        """What contradicts the model, load by load: figures of its checks, their verdicts, and operations in error."""
        unit = UNITS[self.load]
        if refusing := _begins_to_refuse([run for run in runs if run.request.purpose is Purpose.MEASURE]):
            yield f"{refusing} {unit}"
        checks = self._checks(runs, curve)
        for text in self.check:
            made = [run for run in runs if run.request.purpose is Purpose.VERIFY and run.request.load == float(text)]
            valid = [run for run in made if run.is_valid]
            if valid and (why := _why_refuted(valid, top)):
                yield f"{why} at {text} {unit}"
            elif float(text) in _contradicted(checks, curve):
                yield f"it was measured otherwise at {text} {unit}"

    def _told(self, run: RunSummary) -> RunSummary:
        """The run with what the user said of the server."""
        if self.workers is None:
            return run
        return replace(run, capacity={name: float(self.workers) for name in ("workers", "server_cores", "cores")})

    def _unanswered(self, runs: Sequence[RunSummary], why: str) -> PredictAnswer:
        return PredictAnswer(
            workload=self.workload,
            settings=dict(self.settings),
            load=self.load,
            is_answered=False,
            measured=tuple(map(_measured, runs)),
            headline=(f"Nothing can be predicted: {why}.",),
        )

    def _drawn(self, model: Model, peak: float) -> list[float]:
        """Loads of the curve: up to the capacity, or to the predicted peak beyond it; those to check by among them."""
        top = max(model.load_of(0.98 * model.centre.capacity), peak)
        loads = np.linspace(top / STEPS, top, STEPS)
        whole = np.maximum(1, np.round(loads)) if self.load == "sessions" else loads
        return sorted({*whole.tolist(), *self._asked})

    def _scalability(self, learned: Sequence[RunSummary]) -> Scalability | None:
        if self.load == "rate":
            return None  # arrivals bring their own throughput
        return fit_scalability([run.request.load for run in learned], [run.metrics["throughput"] for run in learned])

    def _predicted(self, load: float, fitted: Fitted, scalability: Scalability | None = None) -> PredictedPoint:
        model, models, learned = fitted.model, fitted.models, fitted.learned
        (throughput, response), capacity = model.at(load), model.centre.capacity
        others = [(*each.at(load), each.centre.capacity) for each in models]

        def said(value: float, values: Sequence[float], own: float = 0.0) -> Predicted:
            return Predicted(value, *interval_of(value, values, learned, own))

        return PredictedPoint(
            load=load,
            throughput=said(throughput, [other[0] for other in others]),
            response_mean=said(response, [other[1] for other in others], MODEL_ERROR),
            utilisation=said(throughput / capacity, [other[0] / other[2] for other in others]),
            scalability=None if scalability is None else scalability.at(load),
            is_beyond=model.is_beyond(load),
        )


def _unchecked(unfit: Mapping[str, UnfitChecks], unit: str) -> Iterator[str]:
    """The sentences that name checks from which nothing follows."""
    for load, counts in unfit.items():
        why = f" ({counts.reasons[0]})" if counts.reasons else ""
        so = "the prediction is not checked there" if counts.unfit == counts.made else "those are left out"
        yield f"{counts.unfit} of {counts.made} checks at {load} {unit} are invalid{why}: {so}."


def _sureness(until: Until, half_pct: float, rounds: int) -> str:
    """How sure it is of what it went on for."""
    what = "The peak" if until.metric == "peak" else "The mean response time"
    needed = runs_needed(rounds, half_pct, until.pct)
    came = "asked for" if half_pct <= until.pct else f"would take about {needed} rounds of such scatter"
    return f"{what} is predicted within +- {half_pct:.2g} %, from {rounds} rounds; {until.pct:g} % {came}."


def _tells(run: RunSummary) -> bool:
    """Whether a run says how long operations take: it is valid, and the server hardly refused any."""
    return run.is_valid and _has(run, LEARNED) and run.metrics.get("errors", 0.0) <= ERROR_SHARE_PCT


def _has(run: RunSummary, metrics: Sequence[str]) -> bool:
    return all(name in run.metrics for name in metrics)


def _why_not(asked: Sequence[RunSummary], learned: Sequence[RunSummary]) -> str:
    """Why nothing can be learned from these runs; empty when something can."""
    if not any(run.passed for run in learned):
        reasons = next((run.reasons for run in asked if run.reasons), ())
        return f"no measured load passes ({reasons[0]}). Give smaller ones" if reasons else "no measured load passes"
    if len({run.request.load for run in learned}) < 2:
        others = (run for run in asked if not _tells(run) and run.reasons)
        why = next((f" ({run.request.load:g}: {run.reasons[0]})" for run in others), "")
        return f"valid runs without errors were made at one load only{why}"
    return ""


def _why_refuted(checks: Sequence[RunSummary], top: PredictedPeak) -> str:
    """Why checks at one load contradict the model by their errors or verdicts; empty where they do not."""
    load = checks[0].request.load
    errors_pct = fmean(run.metrics.get("errors", 0.0) for run in checks)
    if errors_pct > ERROR_SHARE_PCT:
        return f"{errors_pct:.2g} % of the operations ended in an error"
    failed = [run for run in checks if not run.passed]
    if load < top.load and 2 * len(failed) > len(checks):
        rules = ", ".join(dict.fromkeys(check.rule for run in failed for check in run.broken()))
        return f"{len(failed)} of {len(checks)} checks failed ({rules})"
    if load > top.high and len(checks) > 1 and not failed:
        return f"all {len(checks)} checks passed"
    return ""


def _begins_to_refuse(measured: Sequence[RunSummary]) -> str:
    """From which load on operations end in errors that smaller loads do not have; empty where none do."""
    errors: dict[float, list[float]] = {}
    for run in measured:
        if run.is_valid:
            errors.setdefault(run.request.load, []).append(run.metrics.get("errors", 0.0))
    means = {load: fmean(shares) for load, shares in sorted(errors.items())}
    lowest = next(iter(means.values()), 0.0)
    refusing = (load for load, share in means.items() if share > max(BEGINS_TO_REFUSE_PCT, MORE_REFUSED * lowest))
    first = next(refusing, None)
    return "" if first is None else f"{means[first]:.2g} % of the operations ended in an error at {first:g}"


def _contradicted(checks: Sequence[CheckedPoint], curve: Sequence[PredictedPoint]) -> set[float]:
    """The loads at which measured figures contradict the model."""
    loads = set()
    for point in curve:
        there = [check for check in checks if check.load == point.load]
        pairs = [(point.throughput, [check.throughput.measured for check in there])]
        if not point.is_beyond:
            pairs.append((point.response_mean, [check.response_mean.measured for check in there]))
        if there and any(_contradicts(measured, said) for said, measured in pairs):
            loads.add(point.load)
    return loads


def _contradicts(measured: Sequence[float], said: Predicted) -> bool:
    """Whether a mean lies outside of its prediction's interval, by more than its own scatter, and far from it."""
    found = summary(measured)
    own = 0.0 if found.high is None else found.high - found.mean
    is_far = abs(said.value / found.mean - 1) > CONTRADICTED_PCT / 100
    return is_far and not said.low - own <= found.mean <= said.high + own


def _learned(model: Model) -> LearnedModel:
    return LearnedModel(
        load=model.load,
        resource=model.resource,
        centre=model.centre,
        fixed_s=model.fixed_s,
        think_s=model.think_s,
        per_unit=model.per_unit,
        capacity=model.centre.capacity,
    )


def _learned_law(law: Scalability | None) -> LearnedScalability | None:
    return None if law is None else LearnedScalability(**asdict(law), peak_sessions=law.peak_sessions)


def _measured(run: RunSummary) -> MeasuredPoint:
    names = ("throughput", "response_mean", "response_p95", "response_p99")
    metrics = {name: run.metrics.get(name) for name in names}
    return MeasuredPoint(run.request.load, run.request.purpose, run.verdict, **metrics)


def _checked(run: RunSummary, predicted: PredictedPoint) -> CheckedPoint:
    """A measurement beside its prediction: how far off."""

    def beside(name: str, said: Predicted) -> Checked:
        value = run.metrics[name]
        return Checked(value, said.value, 100 * (said.value / value - 1))

    throughput = beside("throughput", predicted.throughput)
    response = beside("response_mean", predicted.response_mean)
    return CheckedPoint(run.request.load, run.folder, throughput, response, predicted.is_beyond)


def _headline(
    question: Predict,
    model: Model,
    top: PredictedPeak,
    checks: Sequence[CheckedPoint],
    refuted: Sequence[str],
) -> Iterator[str]:
    unit = UNITS[question.load]
    centre = model.centre
    half = (top.high - top.low) / 2
    peak, low, high = (supported(value, half) for value in (top.load, top.low, top.high))
    interval = f"{low} to {high}" if question.rounds > 1 else "without an interval: one run a load"
    yield (
        f"An operation takes {1000 * centre.demand_s:.3g} ms of {NAMES[model.resource]}; with {centre.workers:g} of "
        f"them the capacity is {centre.capacity:.4g} operations/s."
    )
    if refuted:
        yield f"No peak is predicted: the model does not hold, since {'; '.join(refuted)}."
    else:
        yield f"Predicted peak: {peak} {unit} ({interval})."
    for point in checks:
        response = f"mean response time {point.response_mean.in_words}"
        if point.is_beyond:
            response = "which is beyond the capacity: response time grows as long as a run lasts"
        yield f"Checked at {point.load:g} {unit}: throughput was predicted {point.throughput.in_words}, {response}."
