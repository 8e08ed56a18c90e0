"""Published iterations: others' printed tables read into figures, as far as they were disclosed.

The form is a CSV of `workload,table,page,column,value`; each column with a request count is an iteration. Tables are
known by how their names begin: `requests counted in N s`, `average response time`, `average bytes`, `QoS counts` (good
/ tolerable only / fail), `validation errors`, `monitors of MACHINE`. The last two may be missing. Validation errors may
be a `Total` of 0. A monitor's page is its quantity with its unit, and its column may be `all`: a figure of all
iterations together. Others are passed over.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from loadstone.model.errors import Problem, StoreError
from loadstone.model.figures import NO_TALLY, NOTHING, Distribution, IterationFigures, OperationFigures
from loadstone.model.files import detect_marked_encoding
from loadstone.model.printed_monitors import MonitorSubject, PrintedMonitor
from loadstone.store.documents import read_bytes
from loadstone.store.printed_monitors import find_excess, is_monitor_table, parse_monitor
from loadstone.store.printed_numbers import parse_count, parse_number

Cells = dict[tuple[str, str, str], str]
"""Values by table, page and column."""

SHIPPED_NAMES = {"ecommerce": "shopping"}
"""Workloads that have another name here."""
TOTAL = "Total"
ALL_ITERATIONS = "all"
"""Column of a monitor's figure that is of all iterations together."""
PRINTED_ERRORS = "validation errors"
WRONG_CONTENT = "content"
"""Kind of error that a printed validation error counts as."""
PUBLISHED_COLUMNS = ["workload", "table", "page", "column", "value"]
TABLE_KINDS = {
    "requests": "requests",
    "average response": "response",
    "average bytes": "bytes",
    "QoS": "grades",
    PRINTED_ERRORS: PRINTED_ERRORS,
}
"""Kinds of tables by how their names begin."""
DERIVED_TABLES = ("Weighted ABR", "good share", "share of page requests")
"""Beginnings of tables that are computed here from the others."""


@dataclass(frozen=True)
class PublishedRow:
    """A row of the file, and its line there."""

    line: int
    workload: str
    table: str
    page: str
    column: str
    value: str


@dataclass
class PublishedWorkload:
    """The tables of one workload."""

    name: str
    """As the file names it."""
    cells: Cells = field(default_factory=dict)
    monitors: list[tuple[PublishedRow, PrintedMonitor]] = field(default_factory=list)


def read_published(file: Path) -> dict[str, dict[str, IterationFigures]]:
    """Iterations by workload and column. Raises StoreError."""
    problems: list[Problem] = []
    workloads: dict[str, PublishedWorkload] = {}
    for row in _list_rows(file):
        name = SHIPPED_NAMES.get(row.workload, row.workload)
        workload = workloads.setdefault(name, PublishedWorkload(row.workload))
        if is_monitor_table(row.table):
            _add_monitor(file, row, workload, problems)
        else:
            _add_cell(file, row, workload.cells)
    published = {name: _iterations(file, workload.name, workload.cells) for name, workload in workloads.items()}
    missing = [workloads[name].name for name, iterations in published.items() if not iterations]
    if missing or not published:
        names = f" of `{'`, `'.join(name[:60] for name in missing)}`" if missing else ""
        raise StoreError(f"{file} contains no table `requests counted in N s`{names}, so it has no iteration.")
    for name, workload in workloads.items():
        problems += _check_monitors(file, workload, list(published[name]))
    if problems:
        ordered = sorted(dict.fromkeys(problems), key=lambda problem: problem.line)
        raise StoreError("\n".join(map(str, ordered)))
    return {name: _with_monitors(published[name], workload) for name, workload in workloads.items()}


def list_unread_tables(file: Path) -> list[str]:
    """Names of the tables that are not read, without those that are computed from others. Raises StoreError."""
    names = dict.fromkeys(row.table for row in _list_rows(file))
    return [name for name in names if not (_kind(name) or is_monitor_table(name) or name.startswith(DERIVED_TABLES))]


def _list_rows(file: Path) -> Iterator[PublishedRow]:
    """The rows below the names of the columns. Raises StoreError."""
    content = read_bytes(file)
    try:
        text = content.decode(detect_marked_encoding(content))
        rows = csv.reader(io.StringIO(text, newline=""))
        names = [name.strip() for name in next(rows, [])]
        if names != PUBLISHED_COLUMNS:
            raise StoreError(f"{file} has the columns {','.join(names)[:200]}, not {','.join(PUBLISHED_COLUMNS)}.")
        for row in rows:
            if row and len(row) != len(PUBLISHED_COLUMNS):
                where = f"line {rows.line_num} of {file} has {len(row)} values"
                remedy = "Put a value with a comma in quotes" if len(row) > len(PUBLISHED_COLUMNS) else "Add the others"
                raise StoreError(
                    f"{where}, not the {len(PUBLISHED_COLUMNS)} of {','.join(PUBLISHED_COLUMNS)}. {remedy}."
                )
            if row:
                yield PublishedRow(rows.line_num, *(part.strip() for part in row))
    except (UnicodeDecodeError, csv.Error) as error:
        raise StoreError(f"{file} cannot be read: {error}. Save it as CSV in UTF-8.") from None


def _add_cell(file: Path, row: PublishedRow, cells: Cells) -> None:
    """Adds a row to its table. Raises StoreError for one that was there before."""
    kind = _kind(row.table)
    place = (kind, row.page, row.column)
    if kind and place in cells:
        where = f"`{row.page[:60]}` in the column `{row.column[:60]}` occurs twice in the table `{row.table[:60]}`"
        raise StoreError(str(Problem(file, row.line, row.workload[:60], where, "Remove one of both rows.")))
    cells[place] = row.value
    if kind == "requests":
        cells["seconds", TOTAL, row.column] = _seconds(file, row.table)


def _add_monitor(file: Path, row: PublishedRow, workload: PublishedWorkload, problems: list[Problem]) -> None:
    try:
        figure = parse_monitor(row.table, row.page, row.value)
        workload.monitors.append((row, replace(figure, is_common=row.column == ALL_ITERATIONS)))
    except ValueError as error:
        problems.append(_describe_problem(file, row, str(error)))


def _describe_problem(file: Path, row: PublishedRow, text: str) -> Problem:
    """Returns a problem of a monitor's row; its text has the remedy as its last sentence, where there is one."""
    message, _, remedy = text.partition(". ")
    return Problem(file, row.line, f"{row.table[:60]}, {row.page[:60]}", message, f"{remedy or 'Correct the cell'}.")


def _check_monitors(file: Path, workload: PublishedWorkload, columns: Sequence[str]) -> Iterator[Problem]:
    """Yields columns that are not iterations, rows that occur twice, and figures beyond the processors."""
    known = ", ".join((*columns, ALL_ITERATIONS))
    for row, _ in workload.monitors:
        if row.column not in (*columns, ALL_ITERATIONS):
            text = f"`{row.column[:60]}` is not an iteration of `{workload.name[:60]}`. Known columns: {known}"
            yield _describe_problem(file, row, text)
    for column in columns:
        rows: dict[tuple[MonitorSubject, str, str], PublishedRow] = {}
        for row, figure in _select_monitors(workload, column):
            earlier = rows.setdefault(figure.place, row)
            if earlier is not row:
                text = f"the figure occurs twice, also in line {earlier.line}. Remove one of both rows"
                yield _describe_problem(file, row, text)
        for excess, text in find_excess([figure for _, figure in _select_monitors(workload, column)]):
            yield _describe_problem(file, rows[excess.subject, excess.quantity, excess.unit], text)


def _select_monitors(workload: PublishedWorkload, column: str) -> list[tuple[PublishedRow, PrintedMonitor]]:
    return [(row, figure) for row, figure in workload.monitors if row.column in (column, ALL_ITERATIONS)]


def _with_monitors(iterations: dict[str, IterationFigures], workload: PublishedWorkload) -> dict[str, IterationFigures]:
    return {
        column: replace(figures, monitors=tuple(figure for _, figure in _select_monitors(workload, column)))
        for column, figures in iterations.items()
    }


def _seconds(file: Path, table: str) -> str:
    """How long was counted, out of a table's name. Raises StoreError."""
    match = re.fullmatch(r"requests.* in ([0-9]+(?:\.[0-9]+)?) s", table.strip())
    if match is None or not float(match.group(1)) > 0:
        raise StoreError(f"{file}: the table `{table[:100]}` is not called `requests counted in N s`, N above 0.")
    return match.group(1)


def _kind(table: str) -> str:
    return next((kind for beginning, kind in TABLE_KINDS.items() if table.startswith(beginning)), "")


def _iterations(file: Path, workload: str, cells: Cells) -> dict[str, IterationFigures]:
    columns = dict.fromkeys(column for table, _, column in cells if table == "requests")
    pages = list(dict.fromkeys(page for table, page, _ in cells if table == "requests" and page != TOTAL))
    for table, page, column in cells:
        if table and columns and (page not in (TOTAL, *pages) or column not in columns):
            problem = f"`{page[:60]}` in the column `{column[:60]}`, which the table of requests does not have"
            raise StoreError(f"{file}: the table `{table}` of `{workload[:60]}` has {problem}. Correct one of both.")
    try:
        return {column: _iteration(cells, pages, column) for column in columns}
    except KeyError as error:
        table, page, column = error.args[0]
        problem = f"the table `{table}` has no `{page[:60]}` in the column `{column[:60]}`"
        raise StoreError(f"{file}: `{workload[:60]}` lacks a figure: {problem}.") from None
    except ValueError as error:
        raise StoreError(f"{file}: `{workload}` lacks a figure or has one that is not valid: {error}.") from None


def _iteration(cells: Cells, pages: Sequence[str], column: str) -> IterationFigures:
    has_errors = any((PRINTED_ERRORS, page, column) in cells for page in (TOTAL, *pages))
    is_total_alone = has_errors and not any((PRINTED_ERRORS, page, column) in cells for page in pages)
    if is_total_alone and parse_count(cells[PRINTED_ERRORS, TOTAL, column]):
        raise ValueError(f"validation errors in the column `{column[:60]}` are a total, and the pages are missing")
    operations = tuple(_operation(cells, page, column, has_errors and not is_total_alone) for page in pages)
    count = sum(operation.requests for operation in operations)
    if not count:
        raise ValueError(f"there is no request in the column `{column[:60]}`")
    response = Distribution(count, sum(operation.ended_s for operation in operations) / count, {})
    return IterationFigures(
        steady_s=float(cells["seconds", TOTAL, column]),
        operations=operations,
        response=response,
        service=NOTHING,
        lag=NOTHING,
        completed=True,
        is_disclosed=False,
        has_printed_errors=has_errors,
    )


def _operation(cells: Cells, page: str, column: str, has_errors: bool) -> OperationFigures:
    def read(table: str) -> str:
        return cells[table, page, column].rstrip("*")

    try:
        requests, mean_s, mean_bytes = (
            parse_count(read("requests")),
            parse_number(read("response")),
            parse_number(read("bytes")),
        )
        good, tolerable, fail = _parse_grades(read("grades"))
        wrong = parse_count(read(PRINTED_ERRORS)) if has_errors else 0
    except ValueError as error:
        raise ValueError(f"`{page[:60]}` in the column `{column[:60]}`: {error}") from None
    return OperationFigures(
        **vars(NO_TALLY),
        name=page,
        requests=requests,
        good=good,
        tolerable=tolerable,
        fail=fail,
        bytes=round(requests * mean_bytes),
        errors={WRONG_CONTENT: wrong} if wrong else {},
        cycles=0,
        cycle_drawn_s=0,
        cycle_actual_s=0,
        ended_s=requests * mean_s,
        line_mean_s=None,
        response=Distribution(requests, mean_s, {}),
        service=NOTHING,
        first_byte=NOTHING,
        inside=Distribution(requests, mean_s, {}),
    )


def _parse_grades(text: str) -> list[int]:
    """Reads good, tolerable and failed requests. Raises ValueError."""
    grades = text.split("/")
    if len(grades) != 3:
        raise ValueError(f"`{text[:60]}` is not of the form GOOD / TOLERABLE / FAIL")
    return [parse_count(grade.strip()) for grade in grades]
