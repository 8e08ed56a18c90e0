"""Reading a table of tiles, as published disclosures print it, with the line and the column of every problem."""

import csv
import io
import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

from loadstone.judge.consolidation import TileFigures
from loadstone.model.errors import Problem, StudyError, UsageError
from loadstone.model.files import read_text

COLUMNS = ("app", "web", "mail", "qos_app", "qos_web", "qos_mail", "qos_idle")
"""What a table must have; `pct_load`, `tile` and others may stand beside them."""
SHARES = COLUMNS[3:]


@dataclass(frozen=True)
class TileRow:
    """One tile of a table."""

    number: int
    """From the column `tile`, else its place counted from 1."""
    tile: TileFigures
    pct_load: float
    cells: dict[str, str]


def read_tiles(file: Path) -> list[TileRow]:
    """The tiles of a table, at least one. Raises UsageError and StudyError with every problem."""
    try:
        reader = csv.DictReader(io.StringIO(read_text(file), newline=""), skipinitialspace=True)
        lines = [(reader.line_num, row) for row in reader]
        names = [name.strip() for name in reader.fieldnames or ()]
    except csv.Error as error:
        raise UsageError(f"{file} cannot be read: {error}.") from None
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise UsageError(f"{file} has no column {', '.join(missing)}. It needs {', '.join(COLUMNS)}.")
    if not lines:
        raise UsageError(f"{file} contains no tile: it has no rows below its heading.")
    problems: list[Problem] = []
    rows = [_row(file, line, number, row, problems) for number, (line, row) in enumerate(lines, start=1)]
    if problems:
        raise StudyError(problems)
    return rows


def _row(file: Path, line: int, number: int, row: dict[str, str], problems: list[Problem]) -> TileRow:
    cells = {(key or "").strip(): (value or "").strip() for key, value in row.items() if isinstance(value, str | None)}

    def take(name: str, text: str) -> Decimal:
        try:
            value = Decimal(text)
        except InvalidOperation:
            value = Decimal("nan")
        if not value.is_finite() or value < 0 or (name in SHARES and value > 1):
            wanted = "a share from 0 to 1" if name in SHARES else "a number, 0 or more"
            problems.append(Problem(file, line, name, f"`{text}` is not {wanted}", "Correct the cell."))
            return Decimal(0)
        return value

    tile = TileFigures(**{name: take(name, cells.get(name, "")) for name in COLUMNS})
    pct_load = float(take("pct_load", (cells.get("pct_load") or "100").removesuffix("%").strip()))
    named = float(take("tile", cells.get("tile") or str(number)))
    return TileRow(math.floor(named), tile, pct_load, cells)
