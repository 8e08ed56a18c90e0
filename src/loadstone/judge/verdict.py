"""Judging: pass, fail or invalid, for an iteration and for a workload; each with its reasons. Pure."""

from collections.abc import Sequence

from loadstone.judge.compliance import describe_obstacles
from loadstone.judge.rules import apply_rules
from loadstone.model.figures import Criteria, IterationFigures
from loadstone.model.records.verdict import (
    Headline,
    IterationVerdict,
    Verdict,
    WorkloadVerdict,
    choose_worst,
    conclude_verdict,
)


def judge_iteration(criteria: Criteria, figures: IterationFigures) -> IterationVerdict:
    """Applies all rules to an iteration."""
    judged = apply_rules(criteria, figures)
    return IterationVerdict(conclude_verdict(judged), judged, choose_headline(figures))


def choose_headline(figures: IterationFigures) -> Headline | None:
    """Returns the first figure to report, None where nothing was measured."""
    rate = figures.throughput_per_s
    if rate is None or not (figures.requests or figures.answered):
        return None
    failed = sum(operation.error_count for operation in figures.operations)
    p50_s, p95_s, p99_s = (figures.response.get_value_at(percentile) for percentile in (50.0, 95.0, 99.0))
    reconnects, resent = figures.connections.reconnects, figures.connections.resent
    errors_pct = 100 * failed / max(1, figures.requests) if figures.is_disclosed else None
    return Headline(figures.requests, rate, p50_s, p95_s, p99_s, errors_pct, reconnects, resent)


def judge_workload(
    criteria: Criteria, figures: Sequence[IterationFigures], is_simulated: bool = False
) -> WorkloadVerdict:
    """Judges all iterations of a workload; missing ones make it invalid. What is simulated is never compliant."""
    iterations = tuple(judge_iteration(criteria, figure) for figure in figures)
    reasons = [
        f"iteration {number}: {reason}"
        for number, iteration in enumerate(iterations, start=1)
        for reason in iteration.reasons
    ]
    if len(iterations) < criteria.iterations:
        reasons.insert(0, f"{len(iterations)} of {criteria.iterations} iterations were made")
        verdict = Verdict.INVALID
    else:
        verdict = choose_worst([iteration.verdict for iteration in iterations])
    skipped = tuple(dict.fromkeys(rule for iteration in iterations for rule in iteration.not_judged))
    compliant = not describe_obstacles(criteria, verdict, skipped, is_simulated)
    return WorkloadVerdict(criteria.workload, verdict, compliant, iterations, tuple(reasons), skipped)
