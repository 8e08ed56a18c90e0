"""Tiles that others printed: their detail tables as far as they were disclosed, and what follows from what."""

from collections.abc import Iterator, Mapping, Sequence

from loadstone.judge.check import UNDISCLOSED
from loadstone.judge.printed_tiles import audit_entries
from loadstone.judge.tiles import get_maxima
from loadstone.model.records.manifest import TileEntry
from loadstone.page.blocks import Block, Cell, Column, Heading, Paragraph, Row, Table, Tone
from loadstone.report.audited import list_audits
from loadstone.report.section import ReportContext, ReportSection

DETAIL_TABLES: Mapping[str, Mapping[str, str]] = {
    "Production lines": {
        "mfg_rps": "work orders/s",
        "mfg_avg": "average, s",
        "mfg_max": "max, s",
        "mfg_p90": "p90, s",
        "mfg_req90": "required p90, s",
    },
    "Dealers": {
        "dealer_rps": "transactions/s",
        **{f"dealer_avg{number}": f"average {number}, s" for number in (1, 2, 3)},
        **{f"dealer_max{number}": f"max {number}, s" for number in (1, 2, 3)},
        **{f"dealer_p90_{number}": f"p90 {number}, s" for number in (1, 2, 3)},
        "dealer_req90": "required p90, s",
    },
    "Web": {
        "web_rps": "pages/s",
        "web_good": "good",
        "web_tol": "tolerable",
        "web_fail": "fail",
        "web_valerr": "validation errors",
    },
    "Mail": {
        f"{command}_{column}": f"{command}: {title}"
        for command in ("append", "fetch")
        for column, title in {"rps": "/s", "total": "total", "pass": "pass", "fail": "fail", "pct": "pass, %"}.items()
    },
    "Idle": {"hb_total": "heartbeats", "hb_avg": "average, ms", "hb_min": "min, ms", "hb_max": "max, ms"},
}
"""Detail tables of a published disclosure: title of each column by its name."""
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
    yield Paragraph(NOTE, Tone.QUIET)
    yield from list_audits({context.result.manifest.name: audit_entries(entries, get_maxima(context.result))})


def _row(entry: TileEntry, columns: Mapping[str, str]) -> Row:
    return Row([str(entry.number), *_cells(entry.printed, tuple(columns))])


def _cells(printed: Mapping[str, str], names: Sequence[str]) -> list[str | Cell]:
    return [printed.get(name) or Cell(UNDISCLOSED, Tone.QUIET) for name in names]


SECTION = ReportSection(rank=51, of_result=render_blocks)
