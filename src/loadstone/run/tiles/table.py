"""Reading a table of tiles, as published disclosures print it, with the line and the column of every problem."""

import csv
import io
import math
from decimal import Decimal, InvalidOperation
from pathlib import Path

from loadstone.judge.consolidation import TileFigures
from loadstone.judge.tiles import StoredTile
from loadstone.model.errors import Problem, StudyError, UsageError
from loadstone.model.files import read_text

FIGURE_COLUMNS = ("app", "web", "mail", "qos_app", "qos_web", "qos_mail", "qos_idle")
"""What a table must have; `pct_load`, `tile` and others may stand beside them."""
SHARE_COLUMNS = FIGURE_COLUMNS[3:]
SYSTEM_COLUMNS = ("system", "board")
"""Columns that say which system a tile ran on; the first of them that a table has counts."""


def is_tile_table(file: Path) -> bool:
    """Returns whether the heading of a table has the columns of tiles. Raises UsageError for a file without text."""
    heading = next(iter(read_text(file).splitlines()), "")
    return set(FIGURE_COLUMNS) <= {name.strip() for name in heading.split(",")}


def read_systems(file: Path) -> dict[str, list[StoredTile]]:
    """Reads a table; returns the tiles of each system, at least one. A table without a column of SYSTEM_COLUMNS is of
    one system, named as the file. Raises UsageError and StudyError with every problem.
    """
    names, lines = _lines(file)
    column = next((name for name in SYSTEM_COLUMNS if name in names), None)
    problems: list[Problem] = []
    systems: dict[str, list[StoredTile]] = {}
    for line, cells in lines:
        system = cells.get(column, "") if column else file.stem
        if not system:
            problems.append(Problem(file, line, str(column), "is empty", "Write the name of the tile's system."))
        tiles = systems.setdefault(system, [])
        tile = _row(file, line, len(tiles) + 1, cells, problems)
        if any(tile.number == earlier.number for earlier in tiles):
            remedy = "Correct the number, or name each system in a column `system`."
            problems.append(Problem(file, line, "tile", f"tile {tile.number} occurs twice in `{system}`", remedy))
        tiles.append(tile)
    if problems:
        raise StudyError(problems)
    return systems


def _lines(file: Path) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """Returns the names of the columns, and each row by column with its line. Raises UsageError."""
    try:
        reader = csv.DictReader(io.StringIO(read_text(file), newline=""), skipinitialspace=True)
        lines = [(reader.line_num, _cells(row)) for row in reader]
        names = [name.strip() for name in reader.fieldnames or ()]
    except csv.Error as error:
        raise UsageError(f"{file} cannot be read: {error}.") from None
    missing = [name for name in FIGURE_COLUMNS if name not in names]
    if missing:
        raise UsageError(f"{file} has no column {', '.join(missing)}. It needs {', '.join(FIGURE_COLUMNS)}.")
    if not lines:
        raise UsageError(f"{file} contains no tile: it has no rows below its heading.")
    return names, lines


def _cells(row: dict[str, str]) -> dict[str, str]:
    return {(key or "").strip(): (value or "").strip() for key, value in row.items() if isinstance(value, str | None)}


def _row(file: Path, line: int, number: int, cells: dict[str, str], problems: list[Problem]) -> StoredTile:
    def take(name: str, text: str) -> Decimal:
        try:
            value = Decimal(text)
        except InvalidOperation:
            value = Decimal("nan")
        if not value.is_finite() or value < 0 or (name in SHARE_COLUMNS and value > 1):
            wanted = "a share from 0 to 1" if name in SHARE_COLUMNS else "a number, 0 or more"
            problems.append(Problem(file, line, name, f"`{text}` is not {wanted}", "Correct the cell."))
            return Decimal(0)
        return value

    tile = TileFigures(**{name: take(name, cells.get(name, "")) for name in FIGURE_COLUMNS})
    pct_load = float(take("pct_load", (cells.get("pct_load") or "100").removesuffix("%").strip()))
    named = float(take("tile", cells.get("tile") or str(number)))
    return StoredTile(math.floor(named), pct_load, tile, cells)
