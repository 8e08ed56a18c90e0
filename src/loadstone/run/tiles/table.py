"""Reading a table of tiles, as published disclosures print it, with the line and the column of every problem."""

import csv
import difflib
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from loadstone.judge.consolidation import TileFigures
from loadstone.judge.printed_tiles import COUNT_COLUMNS, DETAIL_TABLES, REQUIRED_COLUMNS
from loadstone.judge.tiles import StoredTile
from loadstone.model.errors import Problem, StudyError, UsageError
from loadstone.model.files import read_text
from loadstone.model.printed_monitors import HOST_MACHINE, PrintedMonitor
from loadstone.model.tile import Role
from loadstone.store.printed_monitors import find_excess, is_monitor_table, parse_monitor
from loadstone.store.printed_numbers import parse_count, parse_number

FIGURE_COLUMNS = ("app", "web", "mail", "qos_app", "qos_web", "qos_mail", "qos_idle")
"""What a table must have; `pct_load`, `tile` and others may stand beside them."""
SHARE_COLUMNS = FIGURE_COLUMNS[3:]
SYSTEM_COLUMNS = ("system", "board")
"""Columns that say which system a tile ran on; the first of them that a table has counts."""
DETAIL_COLUMNS = (
    *(column for columns in DETAIL_TABLES.values() for column in columns),
    "seconds",
    "per_tile",
    "qos_tile",
)
"""Figures that a table may have."""
TABLE_COLUMNS = (*FIGURE_COLUMNS, *DETAIL_COLUMNS, *SYSTEM_COLUMNS, "tile", "pct_load")
UNPRINTED = ("", "-", "n/a")
"""Texts of a cell whose figure was not printed."""
TILE_MACHINES = (HOST_MACHINE, *map(str, Role))
"""Machines whose monitors a table may have."""


@dataclass(frozen=True)
class TileRow:
    """A row of a table, by column, and the number of its line."""

    line: int
    cells: Mapping[str, str]
    width: int
    """Its number of values."""


@dataclass
class TileTable:
    """A table as it stands in its file, and what is wrong with it."""

    file: Path
    columns: Sequence[str]
    rows: Sequence[TileRow]
    problems: list[Problem] = field(default_factory=list)

    @property
    def monitor_columns(self) -> list[str]:
        """Columns of figures of monitors."""
        return [name for name in self.columns if is_monitor_table(name)]

    def refuse(self, line: int, place: str, text: str) -> None:
        """Notes a problem; the text after its first sentence is the remedy."""
        message, _, remedy = text.partition(". ")
        self.problems.append(Problem(self.file, line, place[:60], message, f"{remedy or 'Correct the cell'}."))


def is_tile_table(file: Path) -> bool:
    """Returns whether the heading of a table has the columns of tiles. Raises UsageError for a file without text."""
    try:
        heading = next(csv.reader(io.StringIO(read_text(file), newline="")), [])
    except csv.Error:
        return False
    return set(FIGURE_COLUMNS) <= {name.strip() for name in heading}


def read_systems(file: Path) -> dict[str, list[StoredTile]]:
    """Reads a table; returns the tiles of each system, at least one. A table without a column of SYSTEM_COLUMNS is of
    one system, named as the file. Raises UsageError and StudyError with every problem.
    """
    table = _read_table(file)
    _check_heading(table)
    column = next((name for name in SYSTEM_COLUMNS if name in table.columns), None)
    systems: dict[str, list[StoredTile]] = {}
    for row in table.rows:
        system = row.cells.get(column, "") if column else file.stem
        if not system:
            table.refuse(row.line, str(column), "is empty. Write the name of the tile's system")
        tiles = systems.setdefault(system, [])
        tile = _read_row(table, row, len(tiles) + 1)
        if any(tile.number == earlier.number for earlier in tiles):
            remedy = "Correct the number, or name each system in a column `system`"
            table.refuse(row.line, "tile", f"tile {tile.number} occurs twice in `{system}`. {remedy}")
        _check_host(table, row, tiles, tile)
        tiles.append(tile)
    if table.problems:
        raise StudyError(table.problems)
    return systems


def list_unknown_columns(names: Iterable[str]) -> list[str]:
    """Returns those names of columns that are not known: they group tiles."""
    return [name for name in names if not (name in TABLE_COLUMNS or is_monitor_table(name))]


def _read_table(file: Path) -> TileTable:
    """Returns the names of the columns and the rows. Raises UsageError."""
    try:
        reader = csv.reader(io.StringIO(read_text(file), newline=""), skipinitialspace=True)
        names = [name.strip() for name in next(reader, [])]
        rows = [_make_row(reader.line_num, names, values) for values in reader if any(map(str.strip, values))]
    except csv.Error as error:
        raise UsageError(f"{file} cannot be read: {error}. Save it as CSV in UTF-8.") from None
    missing = [name for name in FIGURE_COLUMNS if name not in names]
    if missing:
        raise UsageError(f"{file} has no column {', '.join(missing)}. It needs {', '.join(FIGURE_COLUMNS)}.")
    if not rows:
        raise UsageError(f"{file} contains no tile: it has no rows below its heading.")
    return TileTable(file, names, rows)


def _make_row(line: int, names: Sequence[str], values: Sequence[str]) -> TileRow:
    texts = (text.strip() for text in values)
    cells = {name: text for name, text in zip(names, texts, strict=False) if name}
    return TileRow(line, cells, len(values))


def _check_heading(table: TileTable) -> None:
    """Notes columns that occur twice, columns of figures without a name, and monitors that are not known."""
    for name in dict.fromkeys(name for name in table.columns if name and table.columns.count(name) > 1):
        table.refuse(1, name, f"{table.columns.count(name)} columns have this name. Rename or remove all but one")
    for column in table.monitor_columns:
        try:
            subject = _parse_monitor(column, "1").subject
        except ValueError as error:
            table.refuse(1, column, str(error))
            continue
        if subject.machine not in TILE_MACHINES:
            machines = ", ".join(TILE_MACHINES)
            table.refuse(1, column, f"`{subject.machine}` is not a machine of a tile. Known machines: {machines}")


def _parse_monitor(column: str, text: str) -> PrintedMonitor:
    """Reads a figure of a column `monitors of MACHINE: QUANTITY, UNIT`. Raises ValueError."""
    table, _, quantity = column.partition(":")
    return parse_monitor(table, quantity.strip(), text)


def _read_row(table: TileTable, row: TileRow, number: int) -> StoredTile:
    if row.width != len(table.columns):
        is_long = row.width > len(table.columns)
        remedy = f"{'Put values' if is_long else 'Add empty cells, or put names'} with a comma in quotes"
        text = f"there are {row.width} values, and {len(table.columns)} columns in the heading. {remedy}"
        table.refuse(row.line, "", text)
    figures = {name: _read_figure(table, row, name, row.cells.get(name, "")) for name in FIGURE_COLUMNS}
    for name in DETAIL_COLUMNS:
        text = row.cells.get(name, "")
        if text.lower() not in UNPRINTED:
            for part in text.split("/") if name in REQUIRED_COLUMNS else (text,):
                _read_figure(table, row, name, part.strip())
    load = (row.cells.get("pct_load") or "100").removesuffix("%").strip()
    pct_load = float(_read_figure(table, row, "pct_load", load))
    named = _read_figure(table, row, "tile", row.cells.get("tile") or str(number))
    monitors = tuple(_read_monitors(table, row))
    return StoredTile(math.floor(named), pct_load, TileFigures(**figures), dict(row.cells), monitors)


def _read_figure(table: TileTable, row: TileRow, name: str, text: str) -> Decimal:
    """Returns a figure; 0 for one that is not valid, whose problem is noted."""
    try:
        value = parse_count(text) if name in COUNT_COLUMNS else parse_number(text)
        if name in SHARE_COLUMNS and value > 1:
            raise ValueError(f"`{text}` is not a share from 0 to 1")
        if name == "seconds" and not value:
            raise ValueError(f"`{text}` is not a number above 0")
    except ValueError as error:
        table.refuse(row.line, name, str(error))
        return Decimal(0)
    return Decimal(text)


def _read_monitors(table: TileTable, row: TileRow) -> Iterator[PrintedMonitor]:
    """Yields the printed figures of monitors; notes those that are not valid."""
    figures = []
    for column in table.monitor_columns:
        text = row.cells.get(column, "")
        try:
            if text.lower() not in UNPRINTED:
                figures.append(_parse_monitor(column, text))
        except ValueError as error:
            if all((problem.line, problem.place) != (1, column[:60]) for problem in table.problems):
                table.refuse(row.line, column, str(error))
    for figure, text in find_excess(figures):
        table.refuse(row.line, f"monitors of {figure.subject}", text)
    yield from figures


def _check_host(table: TileTable, row: TileRow, earlier: Sequence[StoredTile], tile: StoredTile) -> None:
    """Notes a figure of the host that another tile of its system has otherwise: they share the host."""
    known = {figure.place: figure for before in earlier for figure in before.monitors}
    for figure in tile.monitors:
        previous = known.get(figure.place)
        if figure.subject.machine == HOST_MACHINE and previous is not None and previous.value != figure.value:
            text = f"`{figure.printed}` is `{previous.printed}` in another tile of this host. Correct one of both"
            table.refuse(row.line, f"monitors of {figure.subject}", text)


def describe_unknown(names: Sequence[str]) -> str:
    """Returns a sentence about columns that are not known, with names that they may stand for; empty without any."""
    if not names:
        return ""
    similar = {name: difflib.get_close_matches(name, TABLE_COLUMNS, 1, 0.8) for name in names}
    texts = (
        f"`{name[:60]}` (did you mean `{near[0]}`?)" if near else f"`{name[:60]}`" for name, near in similar.items()
    )
    return f"Columns that are not known group tiles, and no table shows them: {', '.join(texts)}."
