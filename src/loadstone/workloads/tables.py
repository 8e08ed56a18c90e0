"""Tables of values in CSV files beside a workload (RFC 4180): the first line has the names of the columns."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from loadstone.model.errors import UsageError
from loadstone.model.files import read_text
from loadstone.model.reading import Document

TABLE_MOST_BYTES = 64 << 20
"""Of one file: all of it goes into the plan."""
TABLE_SEPARATORS = (",", ";", "\t", "|")
COLUMN_NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
"""A column's name, which stands in `{table.column}`."""
TABLE_REMEDY = "Use a CSV file in the folder of workload.toml. Its first line names the columns, such as user,password."


def with_tables(document: Document, folder: Path) -> Document:
    """The document with the rows of its files in place; files that cannot be read are problems of it."""
    values = document.content.get("values")
    if not isinstance(values, dict):
        return document
    filled = {name: _filled(document, folder, name, value) for name, value in values.items()}
    return replace(document, content={**document.content, "values": filled})


def _filled(document: Document, folder: Path, name: str, value: Any) -> Any:
    if not isinstance(value, dict) or value.get("kind") != "table" or not isinstance(value.get("file"), str):
        return value
    try:
        columns, rows = _read(_table_file(folder, value["file"]))
    except (OSError, UsageError, ValueError, csv.Error) as error:
        document.note_problem(("values", name, "file"), f"`{value['file']}` cannot be read: {error}", TABLE_REMEDY)
        return {**value, "columns": ["unread"], "rows": [["unread"]]}
    return {**value, "columns": columns, "rows": rows}


def _table_file(folder: Path, name: str) -> Path:
    """A file of the workload's folder; raises ValueError for one elsewhere, which nobody who shares a workload sees."""
    file = (folder / name).resolve()
    if not file.is_relative_to(folder.resolve()):
        raise ValueError("it is not in the workload's folder")
    return file


def _read(file: Path) -> tuple[list[str], list[list[str]]]:
    """Columns and rows; rows and columns without a name that are blank, as spreadsheets leave them, are passed over.
    Raises UsageError, ValueError, csv.Error.
    """
    rows = [row for row in _cells(*_separator(read_text(file, TABLE_MOST_BYTES))) if any(cell.strip() for cell in row)]
    if len(rows) < 2:
        raise ValueError("it has no row below its column names")
    names, rows = [name.strip() for name in rows[0]], rows[1:]
    blank = {
        index
        for index, name in enumerate(names)
        if not name and not any(row[index : index + 1] not in ([], [""]) for row in rows)
    }
    if blank:
        names, rows = _without(blank, names), [_without(blank, row) for row in rows]
    twice = [name for name, count in Counter(names).items() if count > 1]
    rows = [row[: len(names)] if not any(cell.strip() for cell in row[len(names) :]) else row for row in rows]
    if "" in names:
        raise ValueError(f"its column {names.index('') + 1} has no name, but values")
    if twice:
        raise ValueError(f"it has the column `{twice[0][:60]}` twice")
    unfit = next((name for name in names if not re.fullmatch(COLUMN_NAME, name)), None)
    if unfit is not None:
        remedy = "Use letters A to Z, digits, `_` and `-`"
        raise ValueError(f"its column `{unfit[:60]}` is not a valid name in {{table.column}}. {remedy}")
    return names, rows


def _cells(separator: str, text: str) -> Iterator[list[str]]:
    """Rows of cells. Where blanks follow the separators of the first line, they are no part of any cell. Raises
    ValueError with the line of an invalid quote.
    """
    names = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
    is_spaced = any(name.startswith(" ") for name in names[1:])
    source = io.StringIO(text, newline="")
    reader = csv.reader(source, delimiter=separator, strict=True, skipinitialspace=is_spaced)
    try:
        yield from reader
    except csv.Error as error:
        remedy = 'Close each quote, and write a quote within quotes as ""'
        raise ValueError(f"line {reader.line_num}: {error}. {remedy}") from None


def _without(places: set[int], row: list[str]) -> list[str]:
    return [cell for index, cell in enumerate(row) if index not in places]


def _separator(text: str) -> tuple[str, str]:
    """What stands between the columns, and the text without a line that says so, as spreadsheets write it: of those
    known the first by which all columns have a name as values have it; where none fits, the one by which there are
    most columns.
    """
    match = re.match(r"\s*\"?sep=([^\"\r\n])\"?\r?\n", text, re.IGNORECASE)
    if match:
        return match.group(1), text[match.end() :]
    columns: dict[str, int] = {}
    for separator in TABLE_SEPARATORS:
        try:
            names = next(csv.reader(io.StringIO(text.lstrip(), newline=""), delimiter=separator), [])
        except csv.Error:
            continue
        if any(names) and all(re.fullmatch(COLUMN_NAME, name.strip()) for name in names if name.strip()):
            return separator, text
        columns[separator] = len(names)
    return max(columns, key=lambda separator: columns[separator], default=","), text
