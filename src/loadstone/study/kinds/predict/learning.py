"""Which runs a model is learned from, and what a model of them is. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.judge.mix import ERROR_SHARE_PCT
from loadstone.study.service_model import Model
from loadstone.study.summary import RunSummary

CHECKED = ("throughput", "response_mean")
"""What predictions are checked by; a run in which too much was left unfinished has no mean."""
LEARNED = (*CHECKED, "response_p95", "response_p99")
"""What a model is learned from."""


@dataclass(frozen=True)
class Fitted:
    """What was learned, and the model of it; with those of the same runs drawn anew."""

    learned: Sequence[RunSummary]
    model: Model
    models: Sequence[Model]


def is_informative(run: RunSummary) -> bool:
    """Whether a run says how long operations take: it is valid, and the server hardly refused any."""
    return run.is_valid and has_metrics(run, LEARNED) and run.metrics.get("errors", 0.0) <= ERROR_SHARE_PCT


def has_metrics(run: RunSummary, metrics: Sequence[str]) -> bool:
    """Whether a run has all of these metrics."""
    return all(name in run.metrics for name in metrics)


def explain_not_learnable(runs: Sequence[RunSummary], learned: Sequence[RunSummary]) -> str:
    """Why nothing can be learned from these runs; empty when something can."""
    if not any(run.passed for run in learned):
        reasons = next((run.reasons for run in runs if run.reasons), ())
        return f"no measured load passes ({reasons[0]}). Give smaller ones" if reasons else "no measured load passes"
    if len({run.request.load for run in learned}) < 2:
        others = (run for run in runs if not is_informative(run) and run.reasons)
        why = next((f" ({run.request.load:g}: {run.reasons[0]})" for run in others), "")
        return f"valid runs without errors were made at one load only{why}"
    return ""
