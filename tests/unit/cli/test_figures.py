"""What a run says of its figures on the terminal."""

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

from loadstone.cli.figures import format_lines
from loadstone.model.figures import NO_CONNECTIONS, IterationFigures
from loadstone.model.records.result import WorkloadResult
from tests.records import iteration, operation


def told(*figures: IterationFigures) -> list[str]:
    made = [SimpleNamespace(number=number, figures=one) for number, one in enumerate(figures, 1)]
    return list(format_lines(cast(WorkloadResult, SimpleNamespace(iterations=made))))


def test_rate_percentiles_errors_and_the_slowest() -> None:
    figures = iteration((operation("home", 3000, 0.004), operation("find", 1000, 0.1234)), seconds=100)
    assert told(figures) == [
        "40 operations/s; p50 33.8 ms, p95 33.8 ms, p99 33.8 ms; errors 0.00 %; slowest find, p95 123 ms"
    ]


def test_percentiles_over_too_few_are_not_told() -> None:
    (line,) = told(iteration((operation("home", 15, 0.004),), seconds=100))
    assert line == "0.15 operations/s; p50 4 ms; errors 0.00 %"


def test_times_without_percentiles_are_told_by_their_mean() -> None:
    figures = iteration((operation("read", 3000, 0.004),), seconds=100)
    means = replace(figures, response=replace(figures.response, percentiles_s={}), tool_drift_pct=40.0)
    (line,) = told(means)
    assert line.startswith("30 operations/s; average 4 ms; errors 0.00 %")


def test_reconnects_and_requests_sent_again_stand_in_the_headline() -> None:
    figures = iteration((operation("home", 15, 0.004),), seconds=100)
    (line,) = told(replace(figures, connections=replace(NO_CONNECTIONS, reconnects=7, resent=3)))
    assert line.endswith("errors 0.00 %; 3 requests sent again; 7 reconnects")


def test_bytes_behind_an_answer_are_told_with_an_example() -> None:
    figures = iteration((operation("home", 15, 0.004),), seconds=100)
    lines_told = told(replace(figures, connections=replace(NO_CONNECTIONS, trailing=1), samples=("beacon: bytes",)))
    assert lines_told[1:] == ["for example: beacon: bytes"]


def test_what_failed_is_named_with_an_example() -> None:
    failing = operation("find", 1000, 0.1, errors={"status": 20, "title": 5, "tls": 0})
    figures = replace(iteration((failing,), seconds=100), samples=("/find: status 500",))
    assert told(figures)[1:] == ["find: 25 of 1000 failed (status 20, title 5)", "for example: /find: status 500"]


def test_several_iterations_are_told_apart_and_empty_ones_not_at_all() -> None:
    figures = iteration((operation("home", 1000, 0.004),), seconds=100)
    nothing = iteration((operation("home", 0, 0.0),), seconds=100)
    assert [line.partition(" ")[0] for line in told(figures, nothing, figures)] == ["iteration", "iteration"]
    assert told(figures, nothing)[0].startswith("iteration 1: ")
