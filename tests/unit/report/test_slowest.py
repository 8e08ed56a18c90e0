"""What explains an operation's times: which was the slowest, and which of its files held it up."""

from dataclasses import replace

from loadstone.model.figures import FileFigures, OperationFigures, SlowestOperation
from loadstone.report.sections.slowest import describe_longest
from tests.records import operation


def slow(name: str, slowest: SlowestOperation | None, *files: FileFigures) -> OperationFigures:
    return replace(operation(name, 9, 0.1), slowest=slowest, files=files)


def file(path: str, slowest: SlowestOperation) -> FileFigures:
    return FileFigures(path, 3, 0, 300, 0.1, slowest)


def test_the_longest_is_told_with_the_file_that_held_it_up() -> None:
    held, other = file("/a.js", SlowestOperation(0.8, 12.3)), file("/b.js", SlowestOperation(0.2, 12.4))
    operations = [slow("front", SlowestOperation(1.0, 12.0), held, other), slow("cart", SlowestOperation(0.4, 3.0))]
    assert describe_longest(operations) == (
        "The longest response time, 1\u202f000 ms, was that of front, started 12.0 s into the run; "
        "its file /a.js took 800 ms then."
    )


def test_a_file_that_was_slow_at_another_time_is_no_reason() -> None:
    told = describe_longest([slow("front", SlowestOperation(1.0, 12.0), file("/a.js", SlowestOperation(0.9, 3.0)))])
    assert told == "The longest response time, 1\u202f000 ms, was that of front, started 12.0 s into the run."


def test_of_what_was_not_measured_nothing_is_told() -> None:
    assert describe_longest([slow("front", None)]) == ""
