"""`predict`: measures some loads, fits a model, says what it says of others, holds it against checks. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from loadstone.model.errors import UsageError
from loadstone.model.workload import Workload
from loadstone.model.workload.operation import RateLimit, TimeLimit
from loadstone.study.kind import StudyContext
from loadstone.study.kinds.predict.answer import (
    CheckedPoint,
    PredictAnswer,
    Predicted,
    PredictedPeak,
    PredictedPoint,
    check_point,
    measure_point,
    record_model,
    record_scalability,
)
from loadstone.study.kinds.predict.learning import CHECKED, Fitted, explain_not_learnable, has_metrics, is_informative
from loadstone.study.kinds.predict.refutation import describe_refusals, explain_refuted, find_contradicted_loads
from loadstone.study.kinds.predict.section import MOST_ROUNDS, PredictSection
from loadstone.study.kinds.predict.sentences import (
    UNITS,
    UnfitChecks,
    describe_sureness,
    describe_unchecked,
    summarize_prediction,
)
from loadstone.study.parameters import RunSettings
from loadstone.study.question import find_first_missing, format_key, list_missing
from loadstone.study.queueing import Scalability, fit_scalability
from loadstone.study.service_model import (
    MODEL_ERROR,
    Model,
    ModelLimits,
    compute_interval,
    find_peak,
    find_resource,
    fit,
    is_saturated,
    resample_models,
)
from loadstone.study.settings import parse_loads, write_value
from loadstone.study.summary import Purpose, RunRequest, RunSummary
from loadstone.study.until import Until, list_looks

FEWEST_ROUNDS = 8
"""Rounds after which it first looks whether it is sure: a prediction that looks at fewer stops where chance makes the
interval narrow (measured: docs/evidence/trust.md)."""
PREDICTED_PCT = (95.0, 99.0)
"""Shares of good and of tolerable operations for which a peak can be predicted."""
CURVE_STEPS = 24
"""Loads at which the predicted curve is drawn."""


@dataclass(frozen=True)
class Predict:
    """Measured at some loads, predicted at all, checked at others."""

    workload: str
    settings: RunSettings
    load: str
    measured: tuple[float, ...]
    check: tuple[float, ...]
    limits: ModelLimits | None
    """None where operations have limits of different kinds: the peak is then the capacity alone."""
    rounds: int = 2
    workers: int | None = None
    """How many operations the server can work on at once, where the user knows better than the lab."""
    until: Until | None = None
    """Where it measures on until what it predicts is so sure."""
    most_rounds: int = MOST_ROUNDS

    def plan_runs(self) -> list[RunRequest]:
        """The runs that are made in any case: those to learn from, then those to check by."""
        requests: list[RunRequest] = []
        for turn in range(self.rounds):
            requests += self._round(turn, len(requests))
        for load in self.check:
            first = len(requests)
            requests += [self._request(first + turn, load, 100 + turn, Purpose.VERIFY) for turn in range(self.rounds)]
        return requests

    def _round(self, turn: int, first: int) -> list[RunRequest]:
        """Every load to learn from once, there and back in turn."""
        loads = self.measured if turn % 2 == 0 else self.measured[::-1]
        return [self._request(first + index, load, turn, Purpose.MEASURE) for index, load in enumerate(loads)]

    def _request(self, place: int, load: float, seed: int, purpose: Purpose) -> RunRequest:
        key = format_key(place + 1, self.workload, f"{self.load}-{write_value(load)}-{purpose}")
        return RunRequest(key, self.workload, {**self.settings, self.load: load}, seed, purpose)

    def plan_next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
        """The next run that is missing."""
        more = self._more(runs)
        return find_first_missing(self.plan_runs(), runs) or (more[0] if more else None)

    def estimate_left(self, runs: Sequence[RunSummary]) -> int:
        """Runs that are missing, as far as can be said."""
        return len(list_missing(self.plan_runs(), runs)) + len(self._more(runs))

    def _more(self, runs: Sequence[RunSummary]) -> list[RunRequest]:
        """What is left of about as many rounds as it takes beyond those that are made in any case."""
        sure = len(self.plan_runs())
        if self.until is None or len(runs) < sure:
            return []
        begun = len(runs) - sure
        turn, done = divmod(begun, len(self.measured))
        rounds = self.rounds + turn
        if done:
            return self._round(rounds, sure + begun - done)[done:]
        due = next((planned for planned in self._looks if planned >= rounds), rounds)
        if due == rounds:
            half_pct = self._half_pct(runs)
            if half_pct is None or half_pct <= self.until.pct:
                return []
            due = next((planned for planned in self._looks if planned > rounds), rounds)
        each = len(self.measured)
        return [
            request
            for index, later in enumerate(range(rounds, due))
            for request in self._round(later, len(runs) + index * each)
        ]

    @property
    def _looks(self) -> list[int]:
        """After how many rounds it looks whether it is sure."""
        return list_looks(max(self.rounds, FEWEST_ROUNDS), self.most_rounds)

    def _half_pct(self, runs: Sequence[RunSummary]) -> float | None:
        """How unsure it still is of what it goes on for, in percent; None where nothing is predicted."""
        fitted = self._fitted(runs)
        if self.until is None or isinstance(fitted, str):
            return None
        points = [self._predicted(load, fitted) for load in self._requested_loads]
        if any(self._refuted(runs, points, self._peak(fitted))):
            return None
        if self.until.metric == "peak":
            return self._peak(fitted).half_pct
        return max(point.response_mean.half_pct for point in points)

    @property
    def _requested_loads(self) -> set[float]:
        """Loads that are asked about: those to check by, else the highest that is learned from."""
        return set(self.check or self.measured[-1:])

    def answer(self, runs: Sequence[RunSummary]) -> PredictAnswer:
        """The model, its curve, its peak, how far measurements were from it, and whether it is as sure as asked."""
        answer = self._predict(runs)
        half_pct = self._half_pct(runs)
        if self.until is None or half_pct is None:
            return answer
        rounds = (len(runs) - len(self.check) * self.rounds) // len(self.measured)
        is_sure = half_pct <= self.until.pct
        line = describe_sureness(self.until, half_pct, rounds)
        return replace(answer, is_answered=answer.is_answered and is_sure, headline=(*answer.headline, line))

    def _fitted(self, runs: Sequence[RunSummary]) -> Fitted | str:
        """The model that all runs so far make, or why there is none."""
        measured = [run for run in runs if run.request.purpose is Purpose.MEASURE]
        learned = [self._disclosed(run) for run in measured if is_informative(run)]
        is_whole = not any(request.purpose is Purpose.MEASURE for request in list_missing(self.plan_runs(), runs))
        why = explain_not_learnable(measured, learned) if is_whole else "the loads to learn from are not all measured"
        resource = find_resource(learned)
        if why or resource is None:
            return why or "its use of CPU or workers is not known"
        if is_saturated(learned, *resource):
            return "the lowest load already uses nearly all there is. Give smaller ones"
        return Fitted(learned, fit(learned, self.load, resource), resample_models(learned, self.load, resource))

    def _predict(self, runs: Sequence[RunSummary]) -> PredictAnswer:
        """What all runs so far say."""
        fitted = self._fitted(runs)
        if isinstance(fitted, str):
            return self._unanswered(runs, fitted)
        model, peak = fitted.model, self._peak(fitted)
        scalability = self._scalability(fitted.learned)
        curve = [self._predicted(load, fitted, scalability) for load in self._drawn(model, peak.load)]
        checks = self._checks(runs, curve)
        refuted = list(self._refuted(runs, curve, peak))
        unchecked = [load for load, counts in self._unfit_checks(runs).items() if counts.unfit == counts.checks]
        return PredictAnswer(
            workload=self.workload,
            settings=dict(self.settings),
            load=self.load,
            is_answered=not list_missing(self.plan_runs(), runs) and not refuted and not unchecked,
            measured=tuple(map(measure_point, runs)),
            model=record_model(model),
            scalability=record_scalability(scalability),
            curve=tuple(curve),
            checks=tuple(checks),
            peak=None if refuted else peak,
            headline=(
                *summarize_prediction(self.load, self.rounds, model, peak, checks, refuted),
                *describe_unchecked(self._unfit_checks(runs), UNITS[self.load]),
            ),
        )

    def _unfit_checks(self, runs: Sequence[RunSummary]) -> dict[str, UnfitChecks]:
        """The checks that are invalid, by load."""
        counts = {}
        for load in dict.fromkeys(self.check):
            checks = [run for run in runs if run.request.purpose is Purpose.VERIFY and run.request.load == load]
            unfit = [run for run in checks if not run.is_valid]
            if unfit:
                counts[write_value(load)] = UnfitChecks(len(unfit), len(checks), unfit[0].reasons)
        return counts

    def _peak(self, fitted: Fitted) -> PredictedPeak:
        top = find_peak(fitted.model, self.limits)
        others = [find_peak(each, self.limits) for each in fitted.models]
        return PredictedPeak(top, *compute_interval(top, others, fitted.learned))

    def _checks(self, runs: Sequence[RunSummary], points: Sequence[PredictedPoint]) -> list[CheckedPoint]:
        """What was measured to check by, beside what is predicted there."""
        by_load = {point.load: point for point in points}
        verified = [
            run for run in runs if run.request.purpose is Purpose.VERIFY and run.is_valid and has_metrics(run, CHECKED)
        ]
        return [check_point(run, by_load[run.request.load]) for run in verified]

    def _refuted(
        self, runs: Sequence[RunSummary], curve: Sequence[PredictedPoint], top: PredictedPeak
    ) -> Iterator[str]:
        """What contradicts the model, load by load: figures of its checks, their verdicts, and operations in error."""
        unit = UNITS[self.load]
        if refusing := describe_refusals([run for run in runs if run.request.purpose is Purpose.MEASURE]):
            yield f"{refusing} {unit}"
        checks = self._checks(runs, curve)
        for load in self.check:
            verified = [run for run in runs if run.request.purpose is Purpose.VERIFY and run.request.load == load]
            valid = [run for run in verified if run.is_valid]
            if valid and (why := explain_refuted(valid, top)):
                yield f"{why} at {write_value(load)} {unit}"
            elif load in find_contradicted_loads(checks, curve):
                yield f"the measurement differs at {write_value(load)} {unit}"

    def _disclosed(self, run: RunSummary) -> RunSummary:
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
            measured=tuple(map(measure_point, runs)),
            headline=(f"Nothing can be predicted: {why}.",),
        )

    def _drawn(self, model: Model, peak: float) -> list[float]:
        """Loads of the curve: up to the capacity, or to the predicted peak beyond it; those to check by among them."""
        top = max(model.load_of(0.98 * model.centre.capacity), peak)
        loads = np.linspace(top / CURVE_STEPS, top, CURVE_STEPS)
        rounded = np.maximum(1, np.round(loads)) if self.load == "sessions" else loads
        return sorted({*rounded.tolist(), *self._requested_loads})

    def _scalability(self, learned: Sequence[RunSummary]) -> Scalability | None:
        if self.load == "rate":
            return None  # arrivals bring their own throughput
        return fit_scalability([run.request.load for run in learned], [run.metrics["throughput"] for run in learned])

    def _predicted(self, load: float, fitted: Fitted, scalability: Scalability | None = None) -> PredictedPoint:
        model, models, learned = fitted.model, fitted.models, fitted.learned
        (throughput, response), capacity = model.predict(load), model.centre.capacity
        others = [(*each.predict(load), each.centre.capacity) for each in models]

        def predict(value: float, values: Sequence[float], error: float = 0.0) -> Predicted:
            return Predicted(value, *compute_interval(value, values, learned, error))

        return PredictedPoint(
            load=load,
            throughput=predict(throughput, [values[0] for values in others]),
            response_mean=predict(response, [values[1] for values in others], MODEL_ERROR),
            utilisation=predict(throughput / capacity, [values[0] / values[2] for values in others]),
            scalability=None if scalability is None else scalability.predict(load),
            is_beyond=model.is_beyond(load),
        )


def find_limits(workload: Workload) -> ModelLimits | None:
    """The limits of response time, where all operations have the same."""
    limits = [operation.limit for operation in workload.operations.values() if operation.limit is not None]
    if any(isinstance(limit, RateLimit) for limit in limits):
        return None
    times = {(limit.good_s, limit.tolerable_s) for limit in limits if isinstance(limit, TimeLimit)}
    common = workload.limits
    shares = (common.good_share_pct, common.tolerable_share_pct)
    if times - {(common.good_s, common.tolerable_s)} or shares != PREDICTED_PCT:
        return None
    return ModelLimits(common.good_s, common.tolerable_s)


def make(section: PredictSection, context: StudyContext) -> Predict:
    """The question about one workload; raises UsageError."""
    measured, check = parse_loads(section.load, section.at), parse_loads(section.load, section.check)
    if len(measured) < 2:
        raise UsageError("A prediction requires at least two measured loads, such as --at 20,40,60.")
    workload = context.workload
    limits = find_limits(workload)
    until, most = section.until, max(section.rounds, section.most_rounds)
    if until is not None and until.pct <= 100 * MODEL_ERROR:
        raise UsageError(
            f"No prediction is more precise than its model, {100 * MODEL_ERROR:g} %. "
            "Use a wider goal, such as --until 'mean +-10%'."
        )
    return Predict(
        workload.name, {}, section.load, measured, check, limits, section.rounds, section.workers, until, most
    )
