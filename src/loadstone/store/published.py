"""Published iterations: others' printed tables read into figures, as far as they were disclosed.

The form is a CSV of `workload,table,page,column,value`; each column with a request count is an iteration. Tables are
known by how their names begin: `requests counted in N s`, `average response time`, `average bytes`, `QoS counts` (good
/ tolerable only / fail), `validation errors`. The last may be missing, or a `Total` of 0. Others are passed over.
"""

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from loadstone.model.errors import StoreError
from loadstone.model.figures import NO_TALLY, NOTHING, Distribution, IterationFigures, OperationFigures
from loadstone.store.documents import open_regular

Cells = dict[tuple[str, str, str], str]
"""Values by table, page and column."""

SHIPPED_NAMES = {"ecommerce": "shopping"}
"""Workloads that have another name here."""
TOTAL = "Total"
PRINTED_ERRORS = "validation errors"
WRONG_CONTENT = "content"
"""Kind of error that a printed validation error counts as."""
LARGEST_PUBLISHED = 1e12
"""No count, time or length that is published is larger."""
LONGEST_NUMBER = 40
"""Letters of a number."""
PUBLISHED_COLUMNS = ["workload", "table", "page", "column", "value"]


def read_published(file: Path) -> dict[str, dict[str, IterationFigures]]:
    """Iterations by workload and column. Raises StoreError."""
    cells: dict[str, Cells] = {}
    for workload, table, page, column, value in _rows(file):
        table_cells = cells.setdefault(SHIPPED_NAMES.get(workload, workload), {})
        table_cells[_kind(table), page, column] = value
        if _kind(table) == "requests":
            table_cells["seconds", TOTAL, column] = _seconds(file, table)
    read = {workload: _iterations(file, workload, table_cells) for workload, table_cells in cells.items()}
    if not any(read.values()):
        raise StoreError(f"{file} contains no table `requests counted in N s`, so it has no iteration.")
    return read


def _rows(file: Path) -> Iterator[list[str]]:
    """The rows below the names of the columns. Raises StoreError."""
    try:
        with open_regular(file) as content:
            rows = csv.reader(io.TextIOWrapper(content, encoding="utf-8", newline=""))
            names = next(rows, [])
            if names != PUBLISHED_COLUMNS:
                raise StoreError(f"{file} has the columns {','.join(names)[:200]}, not {','.join(PUBLISHED_COLUMNS)}.")
            for row in rows:
                if row and len(row) != len(PUBLISHED_COLUMNS):
                    where = f"line {rows.line_num} of {file} has {len(row)} values"
                    raise StoreError(f"{where}, not the {len(PUBLISHED_COLUMNS)} of {','.join(PUBLISHED_COLUMNS)}.")
                if row:
                    yield row
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise StoreError(f"{file} cannot be read: {error}.") from None


def _seconds(file: Path, table: str) -> str:
    """How long was counted, out of a table's name. Raises StoreError."""
    match = re.fullmatch(r"requests.* in ([0-9]+(?:\.[0-9]+)?) s", table.strip())
    if match is None or not float(match.group(1)) > 0:
        raise StoreError(f"{file}: the table `{table[:100]}` is not called `requests counted in N s`, N above 0.")
    return match.group(1)


def _kind(table: str) -> str:
    known = {
        "requests": "requests",
        "average response": "response",
        "average bytes": "bytes",
        "QoS": "grades",
        "validation errors": PRINTED_ERRORS,
    }
    return next((kind for beginning, kind in known.items() if table.startswith(beginning)), "")


def _iterations(file: Path, workload: str, cells: Cells) -> dict[str, IterationFigures]:
    columns = dict.fromkeys(column for table, _, column in cells if table == "requests")
    pages = list(dict.fromkeys(page for table, page, _ in cells if table == "requests" and page != TOTAL))
    try:
        return {column: _iteration(cells, pages, column) for column in columns}
    except KeyError as error:
        table, page, column = error.args[0]
        problem = f"the table `{table}` has no `{page[:60]}` in the column `{column[:60]}`"
        raise StoreError(f"{file}: `{workload[:60]}` lacks a figure: {problem}.") from None
    except ValueError as error:
        raise StoreError(f"{file}: `{workload}` lacks a figure or has one that is not valid: {error}.") from None


def _iteration(cells: Cells, pages: list[str], column: str) -> IterationFigures:
    has_errors = any((PRINTED_ERRORS, page, column) in cells for page in (TOTAL, *pages))
    is_total_alone = has_errors and not any((PRINTED_ERRORS, page, column) in cells for page in pages)
    if is_total_alone and _number(cells[PRINTED_ERRORS, TOTAL, column]):
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
    def figure(table: str) -> float:
        return _number(cells[table, page, column].rstrip("*"))

    requests, mean_s = int(figure("requests")), figure("response")
    good, tolerable, fail = (int(_number(part)) for part in cells["grades", page, column].split("/"))
    wrong = int(figure(PRINTED_ERRORS)) if has_errors else 0
    return OperationFigures(
        **vars(NO_TALLY),
        name=page,
        requests=requests,
        good=good,
        tolerable=tolerable,
        fail=fail,
        bytes=round(requests * figure("bytes")),
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


def _number(text: str) -> float:
    """A figure of a table; raises ValueError for one that no iteration can have."""
    value = float(text[:LONGEST_NUMBER])
    if not 0 <= value <= LARGEST_PUBLISHED:
        raise ValueError(f"`{text[:LONGEST_NUMBER]}` is not between 0 and {LARGEST_PUBLISHED:g}")
    return value
