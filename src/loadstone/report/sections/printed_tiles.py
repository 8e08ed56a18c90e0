"""Tiles that others printed: their detail tables as far as they were disclosed, and what follows from what."""

from collections.abc import Iterator, Mapping, Sequence

from loadstone.judge.check import UNDISCLOSED
from loadstone.judge.printed_tiles import DETAIL_TABLES, audit_entries
from loadstone.judge.tiles import get_maxima
from loadstone.model.records.manifest import TileEntry
from loadstone.page.blocks import Block, Cell, Column, Heading, Paragraph, Row, Table, Tone
from loadstone.report.audited import list_audits
from loadstone.report.section import ReportContext, ReportSection

NOTE = "A cell without a figure was not printed. It says nothing about the system, unlike a printed 0."


def render_blocks(context: ReportContext) -> Iterator[Block]:
    """Yields a table for each load, then the audits; nothing of tiles that were measured here."""
    entries = [entry for entry in context.result.manifest.tiles if entry.printed]
    if not entries:
        return
    yield Heading("Tile by tile, as printed", 2, "tiles")
    for title, columns in DETAIL_TABLES.items():
        yield Heading(title)
        yield Table([Column("tile"), *map(Column, columns.values())], [_row(entry, columns) for entry in entries])
    yield from _list_monitors(entries)
    yield Paragraph(NOTE, Tone.QUIET)
    yield from list_audits({context.result.manifest.name: audit_entries(entries, get_maxima(context.result))})


def _list_monitors(entries: Sequence[TileEntry]) -> Iterator[Block]:
    """Yields a table of what monitors saw of each tile, or that none of it was printed."""
    yield Heading("Monitors")
    figures = [figure for entry in entries for figure in entry.monitors]
    places = dict.fromkeys(figure.place for figure in figures)
    if not places:
        yield Paragraph(f"Figures of monitors: {UNDISCLOSED}.", Tone.QUIET)
        return
    titles = [f"{subject}: {quantity}{f', {unit}' if unit else ''}" for subject, quantity, unit in places]
    rows = []
    for entry in entries:
        printed = {figure.place: figure.printed for figure in entry.monitors}
        cells = [printed.get(place) or Cell(UNDISCLOSED, Tone.QUIET) for place in places]
        rows.append(Row([str(entry.number), *cells]))
    yield Table([Column("tile"), *map(Column, titles)], rows)


def _row(entry: TileEntry, columns: Mapping[str, str]) -> Row:
    return Row([str(entry.number), *_cells(entry.printed, tuple(columns))])


def _cells(printed: Mapping[str, str], names: Sequence[str]) -> list[str | Cell]:
    return [printed.get(name) or Cell(UNDISCLOSED, Tone.QUIET) for name in names]


SECTION = ReportSection(rank=51, of_result=render_blocks)
