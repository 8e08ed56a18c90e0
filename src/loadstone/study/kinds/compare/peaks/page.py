"""How a comparison of peaks is shown: each search's peak with its interval. Pure."""

from collections.abc import Iterator

from loadstone.page.blocks import Block, Column, ColumnKind, Figure, Gallery, Row, Table
from loadstone.page.plot import Plot
from loadstone.study.kinds.compare.peaks.answer import PeaksAnswer
from loadstone.study.search.page import SEARCH_COLUMNS, search_cells


def render_blocks(answer: PeaksAnswer) -> Iterator[Block]:
    """Each search's peak with its interval."""
    numbered = list(enumerate(answer.searches, start=1))
    points = [
        {"x": place, "y": search.answer.peak, "series": search.side.upper()}
        for place, search in numbered
        if search.answer.peak is not None
    ]
    spans = [
        {"x": place, "low": search.answer.interval[0], "high": search.answer.interval[1]}
        for place, search in numbered
        if search.answer.interval
    ]
    plot = Plot("search", "peak", points=points, spans=spans, from_zero=False)
    yield Gallery([Figure("Peaks", "Each search's verified peak, with its interval.", plot)])
    columns = [Column("search"), Column("side", ColumnKind.TEXT), *SEARCH_COLUMNS]
    yield Table(
        columns, [Row([str(place), search.side.upper(), *search_cells(search.answer)]) for place, search in numbered]
    )
