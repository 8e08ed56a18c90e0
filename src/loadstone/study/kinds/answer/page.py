"""How the answer is shown: the table, and the peaks as bars. Pure."""

from collections.abc import Iterator, Sequence

from loadstone.model.records.manifest import StudiedWorkload
from loadstone.page.blocks import Block, Cell, Column, ColumnKind, Figure, Gallery, Paragraph, Row, Table, Tone
from loadstone.page.plot import PairedBarPlot
from loadstone.study.kinds.answer.answer import AnswerCell, AnswerRow, TableAnswer
from loadstone.study.search.page import SEARCH_COLUMNS, search_cells
from loadstone.study.summary import RunSummary

NOTE = (
    "Each setup has the same number of CPUs and a search of its own; `restart` shares that of `vm`. Figures at equal "
    "load are of runs at 80 % of the smallest peak. A setup without a peak lowers this load to 80 % of its lowest "
    "failing load, where its smaller loads have too few operations to be judged. A failure is a kill of the process of "
    "the machine, or of its active side. A cell without a figure states the reason."
)


def build_blocks(answer: TableAnswer, workload: StudiedWorkload, runs: Sequence[RunSummary]) -> Iterator[Block]:
    """Yields the table, a picture of the peaks, and each search."""
    columns = [Column("figure", ColumnKind.LONG), Column("unit", ColumnKind.TEXT)]
    yield Table([*columns, *(Column(name, ColumnKind.LONG) for name in answer.setups)], list(map(_row, answer.rows)))
    bars = [
        {"name": name, "series": answer.load, "value": search.peak, "low": low, "high": high}
        for name, search in answer.searches.items()
        if search.peak is not None
        for low, high in [search.interval or (None, None)]
    ]
    if bars:
        figure = Figure("Peaks", "The largest load that passed every rule.", PairedBarPlot(answer.load, bars))
        yield Gallery([figure])
    rows = [Row([name, *search_cells(search)]) for name, search in answer.searches.items()]
    yield Table([Column("setup"), *SEARCH_COLUMNS], rows)
    yield Paragraph(NOTE, Tone.QUIET)


def _row(row: AnswerRow) -> Row:
    return Row([row.title, row.unit, *map(_cell, row.cells)])


def _cell(cell: AnswerCell) -> Cell:
    return Cell(str(cell), Tone.PLAIN if cell.text else Tone.QUIET)
