"""Tables of values in CSV files beside a workload (RFC 4180): the first line has the names of the columns."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

from loadstone.model.reading import Document

MOST_BYTES = 64 << 20
"""Of one file: all of it goes into the plan."""
REMEDY = "Name a CSV file beside workload.toml whose first line has the columns, as user,password."


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
        columns, rows = _read(_beside(folder, value["file"]))
    except (OSError, ValueError, csv.Error) as error:
        document.problem(("values", name, "file"), f"`{value['file']}` cannot be read: {error}", REMEDY)
        return {**value, "columns": ["unread"], "rows": [["unread"]]}
    return {**value, "columns": columns, "rows": rows}


def _beside(folder: Path, name: str) -> Path:
    """A file of the workload's folder; raises ValueError for one elsewhere, which nobody who shares a workload sees."""
    file = (folder / name).resolve()
    if not file.is_relative_to(folder.resolve()):
        raise ValueError("it is not in the workload's folder")
    return file


def _read(file: Path) -> tuple[list[str], list[list[str]]]:
    """Columns and rows; raises OSError, ValueError, csv.Error."""
    if file.stat().st_size > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES >> 20} MiB")
    with file.open(encoding="utf-8-sig", newline="") as text:
        lines = [line for line in csv.reader(text, strict=True) if line]
    if len(lines) < 2:
        raise ValueError("it has no row below the names of its columns")
    return [column.strip() for column in lines[0]], lines[1:]
