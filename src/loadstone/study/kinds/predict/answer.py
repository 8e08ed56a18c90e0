"""What a prediction answers: the model, its curve, its peak, and how far measurements were from it. Pure."""

from dataclasses import asdict, dataclass

from loadstone.model.records.verdict import Verdict
from loadstone.study.question import Answer
from loadstone.study.queueing import Centre, Scalability
from loadstone.study.service_model import Model
from loadstone.study.settings import StoredSettings
from loadstone.study.summary import Purpose, RunSummary


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

    @property
    def half_pct(self) -> float:
        """Half of the interval's width, in percent of the value; 0 where that is 0."""
        return 50 * (self.high - self.low) / self.value if self.value else 0.0


@dataclass(frozen=True)
class PredictedPoint:
    """What the model says of a load."""

    load: float
    throughput: Predicted
    response_mean: Predicted
    utilisation: Predicted
    scalability: float | None
    """Throughput by the universal scalability law."""
    is_beyond: bool = False
    """Whether more arrive than can be served: no mean response time exists there."""


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
    is_beyond: bool = False
    """Whether more arrive than the model can serve: mean response times are of the run's length alone."""


@dataclass(frozen=True)
class PredictedPeak:
    """The predicted peak, with its interval."""

    load: float
    low: float
    high: float

    @property
    def half_pct(self) -> float:
        """Half of the interval's width, in percent of the load."""
        return 50 * (self.high - self.low) / self.load if self.load else 0.0


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

    settings: StoredSettings
    load: str
    measured: tuple[MeasuredPoint, ...]
    model: LearnedModel | None = None
    scalability: LearnedScalability | None = None
    curve: tuple[PredictedPoint, ...] = ()
    checks: tuple[CheckedPoint, ...] = ()
    peak: PredictedPeak | None = None


def record_model(model: Model) -> LearnedModel:
    """A fitted model as it is kept."""
    return LearnedModel(
        load=model.load,
        resource=model.resource,
        centre=model.centre,
        fixed_s=model.fixed_s,
        think_s=model.think_s,
        per_unit=model.per_unit,
        capacity=model.centre.capacity,
    )


def record_scalability(law: Scalability | None) -> LearnedScalability | None:
    """A fitted law as it is kept; None without any."""
    return None if law is None else LearnedScalability(**asdict(law), peak_sessions=law.peak_sessions)


def measure_point(run: RunSummary) -> MeasuredPoint:
    """Returns the figures that a run measured at its load."""
    names = ("throughput", "response_mean", "response_p95", "response_p99")
    metrics = {name: run.metrics.get(name) for name in names}
    return MeasuredPoint(run.request.load, run.request.purpose, run.verdict, **metrics)


def check_point(run: RunSummary, predicted: PredictedPoint) -> CheckedPoint:
    """A measurement beside its prediction: how far off."""

    def check(name: str, prediction: Predicted) -> Checked:
        value = run.metrics[name]
        return Checked(value, prediction.value, 100 * (prediction.value / value - 1))

    throughput = check("throughput", predicted.throughput)
    response = check("response_mean", predicted.response_mean)
    return CheckedPoint(run.request.load, run.folder, throughput, response, predicted.is_beyond)
