"""Limits of a user's own: errors allowed, response times by percentile, throughput. Pure."""

from collections.abc import Iterator
from dataclasses import replace

from loadstone.judge.check import DECLARED, check_at_least, check_at_most
from loadstone.model.figures import Blame, Criteria, Distribution, IterationFigures, MeanLimit, PercentileLimit
from loadstone.model.records.check import Check, CheckId, Outcome, Weight


def check_own_limits(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """One for each limit that was declared."""
    limits = criteria.own
    if limits.errors_pct is not None:
        yield _errors(limits.errors_pct, figures)
    for limit in limits.percentiles:
        yield _percentile(limit, figures)
    for mean in limits.means:
        yield _mean(mean, figures)
    if limits.throughput_per_s is not None:
        rate = figures.throughput_per_s or 0.0
        yield check_at_least(CheckId.THROUGHPUT, rate, limits.throughput_per_s, "operations/s", Weight.FAIL, DECLARED)


def _errors(most_pct: float, figures: IterationFigures) -> Check:
    """Operations overdue at the end count as errors: they had no answer when one was due."""
    lost = sum(
        op.count_errors(Blame.VALIDATION) + op.count_errors(Blame.TRANSPORT) + op.overdue for op in figures.operations
    )
    attempts = figures.requests + sum(op.overdue for op in figures.operations)
    kinds = sorted({kind for op in figures.operations for kind in op.errors})
    share_pct = 100 * lost / max(1, attempts)
    return check_at_most(CheckId.ERRORS, share_pct, most_pct, "%", Weight.FAIL, DECLARED, ", ".join(kinds))


def _percentile(limit: PercentileLimit, figures: IterationFigures) -> Check:
    """A percentile that too few samples support is not known: the largest time stands for it, which can keep the limit
    but not break it.
    """
    times = _times(limit.operation, figures)
    title = f"p{limit.percentile:g} of {limit.operation or 'all operations'}"
    known, largest = times.get_value_at(limit.percentile), times.get_at_most(limit.percentile)
    if largest is None:
        check = check_at_most(CheckId.PERCENTILE, 0.0, limit.most_s, "s", Weight.INVALID, DECLARED, "no sample", title)
        return replace(check, outcome=Outcome.BROKEN)
    if known is None:
        detail = f"the largest of {times.count} times: too few to know the percentile"
        return check_at_most(CheckId.PERCENTILE, largest, limit.most_s, "s", Weight.INVALID, DECLARED, detail, title)
    return check_at_most(CheckId.PERCENTILE, known, limit.most_s, "s", Weight.FAIL, DECLARED, "", title)


def _mean(limit: MeanLimit, figures: IterationFigures) -> Check:
    """A mean without a sample is not known."""
    mean_s, title = _times(limit.operation, figures).mean_s, f"mean of {limit.operation}"
    if mean_s is None:
        check = check_at_most(CheckId.MEAN, 0.0, limit.most_s, "s", Weight.INVALID, DECLARED, "no sample", title)
        return replace(check, outcome=Outcome.BROKEN)
    return check_at_most(CheckId.MEAN, mean_s, limit.most_s, "s", Weight.FAIL, DECLARED, "", title)


def _times(operation: str, figures: IterationFigures) -> Distribution:
    return next(
        (candidate.response for candidate in figures.operations if candidate.name == operation), figures.response
    )
