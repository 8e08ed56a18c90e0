"""`predict`: from a few measured loads to throughput, response time and peak beyond them; then checked. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from loadstone.model.errors import UsageError
from loadstone.model.reading import Flag
from loadstone.model.records.manifest import StudiedWorkload
from loadstone.model.records.verdict import Verdict
from loadstone.model.workload import RateLimit, TimeLimit, Workload
from loadstone.page.blocks import Block, Column, ColumnKind, Figure, Gallery, Heading, Paragraph, Row, Table, Tone
from loadstone.page.numbers import number, rounded
from loadstone.page.plot import Plot
from loadstone.study.curves import AXIS
from loadstone.study.kind import StudyContext, StudyKind, StudySection
from loadstone.study.metrics import METRICS
from loadstone.study.parameters import Point, Points, points_text
from loadstone.study.question import Answer, first_missing, key_of, missing
from loadstone.study.queueing import Centre, Scalability, fit_scalability
from loadstone.study.service_model import Limits, Model, fit, is_saturated, peak, quantile, resampled, resource_of
from loadstone.study.summary import Purpose, RunRequest, RunSummary

NAMES = {"busy_workers": "a worker", "server_cpu": "a core of the server", "host_cpu": "a core of the machine"}
STEPS = 24
"""Loads at which the predicted curve is drawn."""
PREDICTED_PCT = (95.0, 99.0)
"""Shares of good and of tolerable operations for which a peak can be predicted."""
NOTE = (
    "Intervals: the measured runs drawn anew a hundred times at each load, and all fitted again. They know of chance "
    "between runs, not of what the model leaves out."
)


def read_loads(text: str) -> tuple[str, ...]:
    """Reads `20,40,60`."""
    return tuple(word for word in text.split(",") if word)


class PredictSection(StudySection):
    """`[predict]`: from measured loads to others."""

    load: Annotated[Literal["sessions", "rate"], Flag("What the load is: sessions or rate.")] = Field(
        default="sessions", description="`sessions` or `rate`"
    )
    at: Annotated[Points, Flag("Loads to measure, as 20,40,60.", metavar="LOADS", read=read_loads)] = Field(
        description="the loads to measure, at least two, as [20, 40, 60]"
    )
    check: Annotated[
        tuple[Point, ...], Flag("Loads to measure afterwards, to check by.", metavar="LOADS", read=read_loads)
    ] = Field(default=(), description="loads to measure afterwards, to check by")
    rounds: Annotated[int, Field(ge=1, le=100), Flag("Times each load is run.", kind=int, min=1, max=100)] = Field(
        default=2, description="times each load is run, 1 or more"
    )

    @property
    def brings_load(self) -> bool:
        """It says at which loads to measure."""
        return True


@dataclass(frozen=True)
class MeasuredPoint:
    """A run at a load; None for what it does not have."""

    load: float
    purpose: Purpose
    verdict: Verdict
    throughput: float | None
    response_mean: float | None
    response_p95: float | None
    response_p99: float | None


@dataclass(frozen=True)
class Predicted:
    """A value with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class PredictedPoint:
    """What the model says of a load."""

    load: float
    throughput: Predicted
    response_mean: Predicted
    utilisation: Predicted
    scalability: float | None
    """Throughput by the universal scalability law."""


@dataclass(frozen=True)
class Checked:
    """A measured value beside its prediction."""

    measured: float
    predicted: float
    off_pct: float

    @property
    def in_words(self) -> str:
        """How far off."""
        return f"{abs(self.off_pct):.1f} % too {'high' if self.off_pct > 0 else 'low'}"


@dataclass(frozen=True)
class CheckedPoint:
    """A measurement beside its prediction."""

    load: float
    folder: str
    throughput: Checked
    response_mean: Checked


@dataclass(frozen=True)
class PredictedPeak:
    """The predicted peak, with its interval."""

    load: float
    low: float
    high: float


@dataclass(frozen=True)
class LearnedModel:
    """What was learned of the system, as it is kept."""

    load: str
    resource: str
    centre: Centre
    fixed_s: float
    think_s: float
    per_unit: float
    capacity: float
    """Operations per second at which all workers are busy."""


@dataclass(frozen=True)
class LearnedScalability:
    """The universal scalability law as fitted, as it is kept."""

    alone: float
    contention: float
    coherency: float
    peak_sessions: float | None


@dataclass(frozen=True, kw_only=True)
class PredictAnswer(Answer):
    """The model, its curve, its peak, and how far measurements were from it; no model where nothing can be said."""

    settings: Mapping[str, str]
    load: str
    measured: tuple[MeasuredPoint, ...]
    model: LearnedModel | None = None
    scalability: LearnedScalability | None = None
    curve: tuple[PredictedPoint, ...] = ()
    checks: tuple[CheckedPoint, ...] = ()
    peak: PredictedPeak | None = None


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

    def requests(self) -> list[RunRequest]:
        """All its runs: those to learn from, then those to check by."""
        requests: list[RunRequest] = []
        for turn in range(self.rounds):
            for text in self.measured if turn % 2 == 0 else reversed(self.measured):
                requests.append(self._request(len(requests), text, turn, Purpose.MEASURE))
        for text in self.check:
            first = len(requests)
            requests += [self._request(first + turn, text, 100 + turn, Purpose.VERIFY) for turn in range(self.rounds)]
        return requests

    def _request(self, at: int, text: str, seed: int, purpose: Purpose) -> RunRequest:
        key = key_of(at + 1, self.workload, f"{self.load}-{text}-{purpose}")
        return RunRequest(key, self.workload, {**self.settings, self.load: text}, seed, purpose)

    def next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
        """The next run that is missing."""
        return first_missing(self.requests(), runs)

    def left(self, runs: Sequence[RunSummary]) -> int:
        """Runs that are missing."""
        return len(self.requests()) - len(runs)

    def answer(self, runs: Sequence[RunSummary]) -> PredictAnswer:
        """The model, its curve, its peak, and how far measurements were from it."""
        learned = [run for run in runs if run.request.purpose is Purpose.MEASURE]
        is_whole = not any(one.purpose is Purpose.MEASURE for one in missing(self.requests(), runs))
        resource = resource_of(learned) if is_whole else None
        if resource is None or is_saturated(learned, *resource):
            why = (
                "its use of CPU or workers is not known" if is_whole else "the loads to learn from are not all measured"
            )
            if resource is not None:
                why = "the lowest load already uses nearly all there is. Give smaller ones"
            return self._unanswered(runs, why)
        model, models = fit(learned, self.load, resource), resampled(learned, self.load, resource)
        scalability = self._scalability(learned)
        top = peak(model, self.limits)
        curve = [self._predicted(load, model, models, scalability) for load in self._drawn(model, top)]
        by_load = {point.load: point for point in curve}
        verified = [run for run in runs if run.request.purpose is Purpose.VERIFY]
        checks = [_checked(run, by_load[run.request.load]) for run in verified]
        peaks = [peak(each, self.limits) for each in models]
        return PredictAnswer(
            workload=self.workload,
            settings=dict(self.settings),
            load=self.load,
            is_answered=not self.left(runs),
            measured=tuple(map(_measured, runs)),
            model=_learned(model),
            scalability=_learned_law(scalability),
            curve=tuple(curve),
            checks=tuple(checks),
            peak=PredictedPeak(top, quantile(peaks, 0), quantile(peaks, 1)),
            headline=tuple(_headline(self, model, top, peaks, checks)),
        )

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
        return sorted({*whole.tolist(), *(float(text) for text in self.check)})

    def _scalability(self, learned: Sequence[RunSummary]) -> Scalability | None:
        if self.load == "rate":
            return None  # arrivals bring their own throughput
        return fit_scalability([run.request.load for run in learned], [run.metrics["throughput"] for run in learned])

    def _predicted(
        self, load: float, model: Model, models: Sequence[Model], scalability: Scalability | None
    ) -> PredictedPoint:
        (throughput, response), capacity = model.at(load), model.centre.capacity
        others = [(*each.at(load), each.centre.capacity) for each in models]
        return PredictedPoint(
            load=load,
            throughput=_interval(throughput, [other[0] for other in others]),
            response_mean=_interval(response, [other[1] for other in others]),
            utilisation=_interval(throughput / capacity, [other[0] / other[2] for other in others]),
            scalability=None if scalability is None else scalability.at(load),
        )


def _interval(value: float, values: Sequence[float]) -> Predicted:
    return Predicted(value, quantile(values, 0), quantile(values, 1))


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
    return CheckedPoint(run.request.load, run.folder, throughput, beside("response_mean", predicted.response_mean))


def _headline(
    question: Predict, model: Model, top: float, peaks: Sequence[float], checks: Sequence[CheckedPoint]
) -> Iterator[str]:
    unit = "sessions" if question.load == "sessions" else "arrivals/s"
    centre = model.centre
    interval = f"{quantile(peaks, 0):.4g} to {quantile(peaks, 1):.4g}"
    interval = interval if question.rounds > 1 else "without an interval: one run a load"
    yield (
        f"An operation takes {1000 * centre.demand_s:.3g} ms of {NAMES[model.resource]}; with {centre.workers:g} of "
        f"them the capacity is {centre.capacity:.4g} operations/s."
    )
    yield f"Predicted peak: {top:.4g} {unit} ({interval})."
    for point in checks:
        yield (
            f"Checked at {point.load:g} {unit}: throughput was predicted {point.throughput.in_words}, "
            f"mean response time {point.response_mean.in_words}."
        )


def limits_of(workload: Workload) -> Limits | None:
    """The limits of response time, where all operations have the same."""
    own = [operation.limit for operation in workload.operations.values() if operation.limit is not None]
    if any(isinstance(limit, RateLimit) for limit in own):
        return None
    times = {(limit.good_s, limit.tolerable_s) for limit in own if isinstance(limit, TimeLimit)}
    common = workload.limits
    shares = (common.good_share_pct, common.tolerable_share_pct)
    if times - {(common.good_s, common.tolerable_s)} or shares != PREDICTED_PCT:
        return None
    return Limits(common.good_s, common.tolerable_s)


def make(section: PredictSection, context: StudyContext) -> Predict:
    """The question about one workload; raises UsageError."""
    measured, check = points_text(section.at), points_text(section.check)
    if len(measured) < 2:
        raise UsageError("One load tells nothing about others. Give at least two to measure: --at 20,40,60.")
    workload = context.workload
    return Predict(workload.name, {}, section.load, measured, check, limits_of(workload), section.rounds)


def blocks(answer: PredictAnswer, workload: StudiedWorkload, runs: Sequence[RunSummary]) -> Iterator[Block]:
    """The predicted curve, what was learned, and prediction against later measurement."""
    if answer.model is not None and answer.peak is not None:
        yield Gallery(list(_figures(answer, answer.peak)))
        columns = [Column("learned"), Column("value"), Column("by", ColumnKind.TEXT)]
        yield Table(columns, list(_learned_rows(answer, answer.model, answer.peak)))
    if answer.checks:
        yield Heading("Prediction against later measurement")
        titles = ("operations/s, predicted", "measured", "off, %", "mean response, s, predicted", "measured", "off, %")
        yield Table([Column(answer.load), *map(Column, titles)], [_checked_row(point) for point in answer.checks])
    yield Paragraph(NOTE, Tone.QUIET)


def _learned_rows(answer: PredictAnswer, model: LearnedModel, peak: PredictedPeak) -> Iterator[Row]:
    demand = f"{rounded(1000 * model.centre.demand_s)} ms"
    yield Row([f"demand of {model.resource.replace('_', ' ')}, an operation", demand, "utilisation law"])
    yield Row(["of them there are", rounded(model.centre.workers), "the system's settings"])
    yield Row(["capacity", f"{rounded(model.capacity)} operations/s", "both"])
    yield Row(["time that does not depend on load", f"{number(1000 * model.fixed_s, 3)} ms", "least squares"])
    variability = number(model.centre.variability, 2)
    yield Row(["waiting against that of exponential service", variability, "least squares"])
    if answer.load == "sessions":
        yield Row(["time between answer and next operation", f"{rounded(model.think_s)} s", "response time law"])
    law, source = answer.scalability, "universal scalability law"
    if law is not None:
        yield Row(["contention, coherency", f"{law.contention:.3g}, {law.coherency:.3g}", source])
        largest = f"{number(law.peak_sessions)} sessions" if law.peak_sessions else "no load: it only grows"
        yield Row(["throughput is largest at", largest, source])
    interval = f" ({rounded(peak.low)} to {rounded(peak.high)})" if peak.low != peak.high else ""
    how = "largest load whose percentiles keep their limits, or the capacity"
    yield Row(["predicted peak", f"{rounded(peak.load)}{interval}", how], is_total=True)


def _checked_row(point: CheckedPoint) -> Row:
    throughput, response = point.throughput, point.response_mean
    return Row(
        [
            rounded(point.load),
            number(throughput.predicted, 1),
            number(throughput.measured, 1),
            f"{throughput.off_pct:+.1f}",
            f"{response.predicted:.4f}",
            f"{response.measured:.4f}",
            f"{response.off_pct:+.1f}",
        ]
    )


def _figures(answer: PredictAnswer, peak: PredictedPeak) -> Iterator[Figure]:
    marks = [{"x": peak.load, "label": "predicted peak"}]
    for name in ("throughput", "response_mean"):
        curve = [
            (point.load, point.throughput if name == "throughput" else point.response_mean) for point in answer.curve
        ]
        lines = [{"x": load, "y": said.value, "series": "predicted"} for load, said in curve]
        if name == "throughput":
            lines += [
                {"x": point.load, "y": point.scalability, "series": "scalability law"}
                for point in answer.curve
                if point.scalability is not None
            ]
        bands = [{"x": load, "low": said.low, "high": said.high} for load, said in curve]
        series = {Purpose.MEASURE: "measured", Purpose.VERIFY: "measured to check"}
        measured = [(point, getattr(point, name)) for point in answer.measured]
        points = [
            {"x": point.load, "y": value, "series": series[point.purpose]}
            for point, value in measured
            if value is not None
        ]
        plot = Plot(AXIS[answer.load], METRICS[name].axis_title, lines, points, bands, marks=marks)
        yield Figure(METRICS[name].plot_title, "Line and band: predicted from the measured points.", plot)


KIND = StudyKind(
    name="predict",
    question="What do a few loads say of others?",
    help="""From a few measured loads predict throughput, response time and peak of others, with intervals.

    [bold]loadstone predict support --at 20,40,60 --check 120[/]
    """,
    section=PredictSection,
    answer=PredictAnswer,
    make=make,
    blocks=blocks,
    instead_of_load="--at says which loads are measured.",
    rank=5,
)
