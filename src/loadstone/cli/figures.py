"""The last lines of a run on the terminal: how much, how fast, what was slow and what failed."""

from collections.abc import Iterator

from loadstone.judge.verdict import choose_headline
from loadstone.model.figures import IterationFigures, OperationFigures
from loadstone.model.numbers import format_milliseconds
from loadstone.model.records.result import WorkloadResult
from loadstone.model.records.verdict import Headline

MOST_FAILING_SHOWN = 3
"""Failing operations that are named; the report has all."""


def format_lines(result: WorkloadResult) -> Iterator[str]:
    """Yields rate, percentiles and share of errors of each iteration, then what was slowest and what failed."""
    for iteration in result.iterations:
        figures = iteration.figures
        headline = choose_headline(figures)
        if headline is None:
            continue
        number = f"iteration {iteration.number}: " if len(result.iterations) > 1 else ""
        yield f"{number}{'; '.join(_summary_lines(figures, headline))}"
        yield from _failing(figures)


def _average(figures: IterationFigures) -> str:
    mean_s = figures.response.mean_s
    return f"average {format_milliseconds(mean_s)}" if mean_s else "no times"


def _summary_lines(figures: IterationFigures, headline: Headline) -> Iterator[str]:
    yield f"{headline.per_s:.4g} operations/s"
    if headline.errors_pct is None:
        yield _average(figures)
        if figures.has_printed_errors:
            yield f"{sum(operation.error_count for operation in figures.operations)} validation errors"
        others = "other errors" if figures.has_printed_errors else "errors"
        yield f"percentiles and {others} not disclosed"
        return
    times = {"p50": headline.p50_s, "p95": headline.p95_s, "p99": headline.p99_s}
    known = ", ".join(f"{name} {format_milliseconds(time)}" for name, time in times.items() if time is not None)
    yield known or _average(figures)
    overdue = sum(operation.overdue for operation in figures.operations)
    late = f" and {overdue} operations without an answer in time" if overdue else ""
    yield f"errors {headline.errors_pct:.2f} %{late}"
    if headline.resent:
        yield f"{headline.resent} requests sent again"
    if headline.reconnects:
        yield f"{headline.reconnects} reconnects"
    slowest = _slowest(figures)
    if slowest:
        yield slowest


def _slowest(figures: IterationFigures) -> str:
    if len(figures.operations) < 2:
        return ""
    times = {operation.name: operation.response.get_value_at(95.0) for operation in figures.operations}
    known = {name: time_s for name, time_s in times.items() if time_s is not None}
    name = max(known, key=lambda name: known[name], default="")
    return f"slowest {name}, p95 {format_milliseconds(known[name])}" if name else ""


def _failing(figures: IterationFigures) -> Iterator[str]:
    failing = sorted(
        (operation for operation in figures.operations if operation.error_count),
        key=lambda operation: -operation.error_count,
    )
    for operation in failing[:MOST_FAILING_SHOWN]:
        yield f"{operation.name}: {operation.error_count} of {operation.requests} failed ({_kinds(operation)})"
    if (failing or figures.connections.trailing) and figures.samples:
        yield f"for example: {figures.samples[0]}"


def _kinds(operation: OperationFigures) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in operation.errors.items() if count)


def list_never_right(result: WorkloadResult) -> tuple[str, ...]:
    """Operations of which every single one failed."""
    operations = [
        operation for iteration in result.iterations for operation in iteration.figures.operations if operation.requests
    ]
    worked = {operation.name for operation in operations if operation.error_count < operation.requests}
    return tuple(dict.fromkeys(operation.name for operation in operations if operation.name not in worked))
