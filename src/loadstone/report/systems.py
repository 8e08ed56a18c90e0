"""A page that compares the scores of several systems."""

from collections.abc import Iterator, Sequence

from loadstone.judge.score import DISCLAIMER
from loadstone.judge.systems import RankedSystem, SystemScore
from loadstone.model.numbers import format_number
from loadstone.page.blocks import Block, Cell, Column, ColumnKind, Figure, Gallery, Heading, Paragraph, Row, Table, Tone
from loadstone.page.plot import BarPlot
from loadstone.report.audited import list_audits
from loadstone.report.html import render_html

TITLE = "Scores of systems"
PRINTED = "printed"
"""Stands in place of the verdict on a score that others published."""
SYSTEM_REPORT_COLUMNS = (
    Column("system", ColumnKind.TEXT),
    Column("score"),
    Column("divided by the first"),
    Column("size", ColumnKind.TEXT),
    Column("QoS, %"),
    Column("worst tile, %"),
    Column("verdict", ColumnKind.TEXT),
)
NOTE = (
    "The figure behind ± is a standard error by chance alone. A printed score was not measured here, and a run that "
    "did not pass has no ratio."
)


def render_systems(ranked: Sequence[RankedSystem]) -> str:
    """Returns the page as HTML that loads nothing from elsewhere."""
    return render_html(TITLE, list(_blocks(ranked)))


def describe_ratio(row: RankedSystem) -> str:
    """Returns a system's score divided by the first one's, with its standard error where it is known."""
    if row.ratio is None:
        return ""
    return f"{row.ratio:.3f}" if row.ratio_error is None else f"{row.ratio:.3f} ± {row.ratio_error:.3f}"


def describe_score(system: SystemScore) -> str:
    """Returns a score with its standard error where it is known."""
    return f"{system.score:.2f}" if system.score_error is None else f"{system.score:.2f} ± {system.score_error:.2f}"


def describe_system(row: RankedSystem) -> list[str]:
    """Returns what every form shows of a system, under the columns before that of the verdict."""
    system = row.system
    shares = (format_number(system.qos_pct, 2), format_number(system.least_qos_pct, 2))
    return [system.name, describe_score(system), describe_ratio(row), system.size, *shares]


def _blocks(ranked: Sequence[RankedSystem]) -> Iterator[Block]:
    yield Heading(TITLE, 1)
    for kind in dict.fromkeys(row.system.kind for row in ranked):
        rows = [row for row in ranked if row.system.kind == kind]
        yield Heading(kind, 2)
        yield Gallery([_picture(rows)])
        yield Table(SYSTEM_REPORT_COLUMNS, [_row(row) for row in rows])
    yield Paragraph(NOTE, Tone.QUIET)
    yield from list_audits({row.system.name: row.system.audits for row in ranked})
    yield Paragraph(DISCLAIMER)


def _picture(rows: Sequence[RankedSystem]) -> Figure:
    bars = [
        {"name": row.system.name, "value": row.system.score, "series": row.system.verdict or PRINTED, "rank": rank}
        for rank, row in enumerate(rows)
    ]
    return Figure("Score of each system", "The color shows the verdict.", BarPlot("score", bars))


def _row(row: RankedSystem) -> Row:
    verdict = row.system.verdict
    tone = Tone.PLAIN if verdict is None else Tone(verdict.value)
    return Row([*describe_system(row), Cell(verdict or PRINTED, tone)])
