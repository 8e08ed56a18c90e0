"""A prediction in sentences. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from loadstone.model.numbers import format_supported
from loadstone.study.kinds.predict.answer import CheckedPoint, PredictedPeak
from loadstone.study.service_model import Model
from loadstone.study.until import Until, estimate_runs_needed

NAMES = {"busy_workers": "a worker", "server_cpu": "a core of the server", "host_cpu": "a core of the machine"}
UNITS = {"sessions": "sessions", "rate": "arrivals/s"}


@dataclass(frozen=True)
class UnfitChecks:
    """How many of the checks at a load are invalid, and why the first of them is."""

    unfit: int
    checks: int
    reasons: tuple[str, ...]


def describe_unchecked(unfit: Mapping[str, UnfitChecks], unit: str) -> Iterator[str]:
    """The sentences that name checks from which nothing follows."""
    for load, counts in unfit.items():
        why = f" ({counts.reasons[0]})" if counts.reasons else ""
        so = "the prediction is not checked there" if counts.unfit == counts.checks else "those are left out"
        yield f"{counts.unfit} of {counts.checks} checks at {load} {unit} are invalid{why}: {so}."


def describe_sureness(until: Until, half_pct: float, rounds: int) -> str:
    """How sure it is of what it went on for."""
    subject = "The peak" if until.metric == "peak" else "The mean response time"
    needed = estimate_runs_needed(rounds, half_pct, until.pct)
    came = "asked for" if half_pct <= until.pct else f"would take about {needed} rounds of such scatter"
    return f"{subject} is predicted within +- {half_pct:.2g} %, from {rounds} rounds; {until.pct:g} % {came}."


def summarize_prediction(
    load: str,
    rounds: int,
    model: Model,
    top: PredictedPeak,
    checks: Sequence[CheckedPoint],
    refuted: Sequence[str],
) -> Iterator[str]:
    """Demand and capacity, the peak or why there is none, and each check; `load` is `sessions` or `rate`."""
    unit = UNITS[load]
    centre = model.centre
    half = (top.high - top.low) / 2
    peak, low, high = (format_supported(value, half) for value in (top.load, top.low, top.high))
    interval = f"{low} to {high}" if rounds > 1 else "without an interval: one run a load"
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
