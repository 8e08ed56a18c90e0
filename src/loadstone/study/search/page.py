"""A table of several searches. Pure."""

from loadstone.model.numbers import format_ends, format_rounded
from loadstone.page.blocks import Column, ColumnKind
from loadstone.study.search.answer import SearchAnswer

SEARCH_COLUMNS = (
    Column("peak"),
    Column("interval"),
    Column("runs"),
    Column("limit", ColumnKind.TEXT),
    Column("broke first", ColumnKind.LONG),
    Column("bottleneck", ColumnKind.LONG),
)


def search_cells(answer: SearchAnswer) -> list[str]:
    """Returns the cells of a search's row, under `SEARCH_COLUMNS`."""
    interval = " to ".join(format_ends(answer.interval)) if answer.interval else ""
    broke = ", ".join(breach.rule for breach in answer.broke_first)
    return [format_rounded(answer.peak), interval, str(answer.runs), answer.limit, broke, answer.bottleneck]
