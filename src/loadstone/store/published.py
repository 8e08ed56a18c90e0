"""Published iterations: others' printed tables read into figures, as far as they were disclosed.

The form is a CSV of `workload,table,page,column,value`; each column with a request count is an iteration. Tables are
known by how their names begin: `requests counted in N s`, `average response time`, `average bytes`, `QoS counts` (good
/ tolerable only / fail). Others are passed over.
"""

import csv
import io
import re
from pathlib import Path

from pydantic import TypeAdapter

from loadstone.model.errors import StoreError
from loadstone.model.figures import NOTHING, Distribution, IterationFigures, OperationFigures
from loadstone.model.files import read_text
from loadstone.store.documents import Raw, checked

Cells = dict[tuple[str, str, str], str]
"""Values by table, page and column."""

OURS = {"ecommerce": "shopping"}
"""Workloads that have another name here."""
TOTAL = "Total"
COLUMNS = ["workload", "table", "page", "column", "value"]
LARGEST = 1e15
"""No figure that anybody published is beyond it."""
FIGURES = "figures.json"
"""File of an iteration that was not measured by this program."""


def read_published(file: Path) -> dict[str, dict[str, IterationFigures]]:
    """Iterations by workload and column. Raises StoreError."""
    cells: dict[str, Cells] = {}
    try:
        rows = csv.DictReader(io.StringIO(read_text(file), newline=""))
        if rows.fieldnames != COLUMNS:
            raise StoreError(f"{file} has the columns {rows.fieldnames}, not {','.join(COLUMNS)}.")
        for row in rows:
            if any(not isinstance(row.get(name), str) for name in COLUMNS) or len(row) > len(COLUMNS):
                raise StoreError(f"{file}:{rows.line_num}: a line needs {len(COLUMNS)} cells: {','.join(COLUMNS)}.")
            of = cells.setdefault(OURS.get(row["workload"], row["workload"]), {})
            of[_kind(row["table"]), row["page"], row["column"]] = row["value"]
            if _kind(row["table"]) == "requests":
                of["seconds", TOTAL, row["column"]] = _seconds(file, rows.line_num, row["table"])
    except csv.Error as error:
        raise StoreError(f"{file} cannot be read: {error}.") from None
    read = {workload: _iterations(file, workload, of) for workload, of in cells.items()}
    if not any(read.values()):
        raise StoreError(f"{file} holds no table `requests counted in N s`, so there is no iteration in it.")
    return read


def _seconds(file: Path, line: int, table: str) -> str:
    """For how long a table of requests counted. Raises StoreError."""
    found = re.search(r" ([0-9.]+) s\b", table)
    if found is None:
        raise StoreError(f"{file}:{line}: `{table[:80]}` does not say for how long: `requests counted in N s`.")
    return found[1]


def _number(text: str) -> float:
    """A figure. Raises ValueError for one that none can be."""
    value = float(text)
    if not 0 <= value <= LARGEST:
        raise ValueError(f"`{text[:40]}` is not a number from 0 to {LARGEST:g}")
    return value


def _whole(text: str) -> int:
    value = _number(text)
    if value != int(value):
        raise ValueError(f"`{text[:40]}` is not a whole number")
    return int(value)


def _kind(table: str) -> str:
    known = {"requests": "requests", "average response": "response", "average bytes": "bytes", "QoS": "grades"}
    return next((kind for beginning, kind in known.items() if table.startswith(beginning)), "")


def _iterations(file: Path, workload: str, cells: Cells) -> dict[str, IterationFigures]:
    columns = dict.fromkeys(column for table, _, column in cells if table == "requests")
    pages = list(dict.fromkeys(page for table, page, _ in cells if table == "requests" and page != TOTAL))
    try:
        return {column: _iteration(cells, pages, column) for column in columns}
    except KeyError as error:
        raise StoreError(f"{file}: `{workload}` lacks the figure {error}.") from None
    except ValueError as error:
        raise StoreError(f"{file}: a figure of `{workload}` is wrong: {error}.") from None


def _iteration(cells: Cells, pages: list[str], column: str) -> IterationFigures:
    operations = tuple(_operation(cells, page, column) for page in pages)
    count = sum(operation.requests for operation in operations)
    seconds = _number(cells["seconds", TOTAL, column])
    if not count or not seconds:
        raise ValueError(f"`{column}` counts {count} requests in {seconds:g} s, but needs more than 0 of both")
    response = Distribution(count, sum(operation.ended_s for operation in operations) / count, {})
    return IterationFigures(
        steady_s=seconds,
        operations=operations,
        response=response,
        service=NOTHING,
        lag=NOTHING,
        completed=True,
        is_disclosed=False,
    )


def _operation(cells: Cells, page: str, column: str) -> OperationFigures:
    def figure(table: str) -> float:
        return _number(cells[table, page, column].rstrip("*"))

    requests, mean_s = _whole(cells["requests", page, column].rstrip("*")), figure("response")
    good, tolerable, fail = (_whole(part) for part in cells["grades", page, column].split("/"))
    return OperationFigures(
        name=page,
        requests=requests,
        good=good,
        tolerable=tolerable,
        fail=fail,
        bytes=round(requests * figure("bytes")),
        errors={},
        cut_at_start=0,
        cut_at_end=0,
        cycles=0,
        cycle_drawn_s=0,
        cycle_actual_s=0,
        ended_s=requests * mean_s,
        overdue=0,
        embedded=0,
        conditional=0,
        not_modified=0,
        redirects=0,
        line_mean_s=None,
        response=Distribution(requests, mean_s, {}),
        service=NOTHING,
        first_byte=NOTHING,
        inside=Distribution(requests, mean_s, {}),
    )


FIGURES_OF: TypeAdapter[IterationFigures] = TypeAdapter(IterationFigures)


def as_document(figures: IterationFigures) -> Raw:
    """Figures as they are kept."""
    document: Raw = FIGURES_OF.dump_python(figures, mode="json")
    return document


def from_document(file: Path, document: Raw) -> IterationFigures:
    """Figures as they were kept; what was called `wires` are connections. Raises StoreError."""
    connections = document.get("connections") or document.get("wires") or {}
    operations = [{"inside": one.get("response"), **one} for one in document.get("operations", ())]
    known = {"is_disclosed": bool((document.get("lag") or {}).get("count")), **document}
    return checked(file, FIGURES_OF, {**known, "connections": connections, "operations": operations})
