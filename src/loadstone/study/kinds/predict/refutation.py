"""What contradicts a model: figures of its checks, their verdicts, operations in error. Pure."""

from collections.abc import Sequence
from statistics import fmean

from loadstone.judge.mix import ERROR_SHARE_PCT
from loadstone.judge.statistics import summarize
from loadstone.study.kinds.predict.answer import CheckedPoint, Predicted, PredictedPeak, PredictedPoint
from loadstone.study.summary import RunSummary

CONTRADICTED_PCT = 20.0
"""How far a check may be from its prediction, where that does not lie in its interval either."""
BEGINS_TO_REFUSE_PCT, MORE_REFUSED = 0.1, 3.0
"""Share of operations in error, and how many times that of the lowest load, from which a load is refused users: the
model has everybody wait and knows no limit of a queue."""


def explain_refuted(checks: Sequence[RunSummary], top: PredictedPeak) -> str:
    """Why checks at one load contradict the model by their errors or verdicts; empty where they do not."""
    load = checks[0].request.load
    errors_pct = fmean(run.metrics.get("errors", 0.0) for run in checks)
    if errors_pct > ERROR_SHARE_PCT:
        return f"{errors_pct:.2g} % of the operations ended in an error"
    failed = [run for run in checks if not run.passed]
    if load < top.load and 2 * len(failed) > len(checks):
        rules = ", ".join(dict.fromkeys(check.rule for run in failed for check in run.list_broken()))
        return f"{len(failed)} of {len(checks)} checks failed ({rules})"
    if load > top.high and len(checks) > 1 and not failed:
        return f"all {len(checks)} checks passed"
    return ""


def describe_refusals(measured: Sequence[RunSummary]) -> str:
    """Describes the load from which operations end in errors that smaller loads do not have, empty
    without such errors.
    """
    errors: dict[float, list[float]] = {}
    for run in measured:
        if run.is_valid:
            errors.setdefault(run.request.load, []).append(run.metrics.get("errors", 0.0))
    means = {load: fmean(shares) for load, shares in sorted(errors.items())}
    lowest = next(iter(means.values()), 0.0)
    refusing = (load for load, share in means.items() if share > max(BEGINS_TO_REFUSE_PCT, MORE_REFUSED * lowest))
    first = next(refusing, None)
    return "" if first is None else f"{means[first]:.2g} % of the operations ended in an error at {first:g}"


def find_contradicted_loads(checks: Sequence[CheckedPoint], curve: Sequence[PredictedPoint]) -> set[float]:
    """The loads at which measured figures contradict the model."""
    loads = set()
    for point in curve:
        there = [check for check in checks if check.load == point.load]
        pairs = [(point.throughput, [check.throughput.measured for check in there])]
        if not point.is_beyond:
            pairs.append((point.response_mean, [check.response_mean.measured for check in there]))
        if there and any(_contradicts(measured, prediction) for prediction, measured in pairs):
            loads.add(point.load)
    return loads


def _contradicts(measured: Sequence[float], prediction: Predicted) -> bool:
    """Whether a mean lies outside of its prediction's interval, by more than its own scatter, and far from it."""
    measurement = summarize(measured)
    half = 0.0 if measurement.high is None else measurement.high - measurement.mean
    is_far = abs(prediction.value / measurement.mean - 1) > CONTRADICTED_PCT / 100
    return is_far and not prediction.low - half <= measurement.mean <= prediction.high + half
