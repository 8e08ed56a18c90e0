"""Of an iteration: what explains its times - statuses, the slowest of each operation, embedded files."""

from collections.abc import Iterator, Sequence

from loadstone.model.figures import FileFigures, OperationFigures
from loadstone.model.numbers import format_number, format_three_digits
from loadstone.page.blocks import Block, Column, ColumnKind, Heading, Paragraph, Row, Table, Tone
from loadstone.report.section import IterationContext, ReportSection

MOST_FILES_SHOWN = 25
"""Files that are shown, those that took longest on the mean."""
PART = 0.5
"""Part of a page's time from which one of its files is held for the reason."""
OPERATIONS = (
    Column("operation"),
    Column("statuses", ColumnKind.LONG),
    Column("slowest,\nms"),
    Column("begun at,\ns of the run"),
)
FILE_COLUMNS = (
    Column("operation"),
    Column("file", ColumnKind.LONG),
    *map(Column, ("requests", "not\nmodified", "average\nbytes")),
    *map(Column, ("average,\nms", "slowest,\nms", "begun at,\ns of the run")),
)


def render_blocks(context: IterationContext) -> Iterator[Block]:
    """Tables, where drivers said so much."""
    operations = context.iteration.figures.operations
    if not any(operation.statuses for operation in operations):
        return
    yield Heading("Statuses and the slowest")
    rows = [_operation(operation) for operation in operations if operation.statuses]
    yield Table(OPERATIONS, rows)
    if sentence := describe_longest(operations):
        yield Paragraph(sentence)
    files = [(operation.name, file) for operation in operations for file in operation.files]
    if not files:
        return
    yield Heading("Embedded files")
    files.sort(key=lambda file: -file[1].mean_s)
    yield Table(FILE_COLUMNS, [_file(name, file) for name, file in files[:MOST_FILES_SHOWN]])
    rest = (
        f" The {MOST_FILES_SHOWN} slowest of {format_number(len(files))} are shown."
        if len(files) > MOST_FILES_SHOWN
        else ""
    )
    yield Paragraph(f"From the request to the last byte, of files received in the steady state.{rest}", Tone.QUIET)


def describe_longest(operations: Sequence[OperationFigures]) -> str:
    """The operation that took longest, and the file of it that held it up; empty where nothing was measured."""
    timed = [(operation.slowest.time_s, operation) for operation in operations if operation.slowest is not None]
    if not timed:
        return ""
    time_s, operation = max(timed, key=lambda pair: pair[0])
    assert operation.slowest is not None
    sentence = (
        f"The longest response time, {_ms(time_s)} ms, was that of {operation.name}, "
        f"started {operation.slowest.at_s:.1f} s into the run"
    )
    until_s = operation.slowest.at_s + time_s
    held = [
        file
        for file in operation.files
        if operation.slowest.at_s <= file.slowest.at_s <= until_s and file.slowest.time_s >= PART * time_s
    ]
    if not held:
        return f"{sentence}."
    file = max(held, key=lambda operation: operation.slowest.time_s)
    return f"{sentence}; its file {file.path} took {_ms(file.slowest.time_s)} ms then."


def _operation(operation: OperationFigures) -> Row:
    statuses = (
        f"{status or 'no answer'}: {format_number(count)}" for status, count in sorted(operation.statuses.items())
    )
    slowest = operation.slowest
    times = ("", "") if slowest is None else (_ms(slowest.time_s), f"{slowest.at_s:.1f}")
    return Row([operation.name, ", ".join(statuses), *times])


def _file(operation: str, file: FileFigures) -> Row:
    counts = (file.requests, file.not_modified, file.bytes / file.requests)
    times = (_ms(file.mean_s), _ms(file.slowest.time_s), f"{file.slowest.at_s:.1f}")
    return Row([operation, file.path, *map(format_number, counts), *times])


def _ms(time_s: float) -> str:
    return format_three_digits(1000 * time_s)


SECTION = ReportSection(rank=25, of_iteration=render_blocks)
