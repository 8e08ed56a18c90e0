"""Blocks as Markdown. What servers and strangers wrote is escaped: nothing in it can look like a part of the report."""

import html
import re
from collections.abc import Iterator, Sequence

from loadstone.page.blocks import (
    Block,
    Cards,
    Cell,
    Facts,
    Fold,
    Gallery,
    Heading,
    Numbers,
    Paragraph,
    Row,
    Table,
    Verbatim,
)

SPECIAL = re.compile(r"([\\`*\[\]|#]|__)")
"""What Markdown would read as more than text."""
UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, which a terminal would obey, overrides of direction, and lone surrogates."""
DEEPEST_HEADING = 6


def render_markdown(title: str, blocks: Sequence[Block]) -> str:
    """A whole page."""
    return "\n\n".join([f"# {escape(title)}", *_parts(blocks)]) + "\n"


def _parts(blocks: Sequence[Block], depth: int = 0) -> Iterator[str]:
    for block in blocks:
        match block:
            case Table():
                yield from _table(block)
            case Fold():
                yield f"{'#' * min(DEEPEST_HEADING, 4 + depth)} {escape(block.summary)}"
                yield from _parts(block.blocks, depth)
            case Gallery():
                continue  # pictures are of the page alone; their figures stand in the tables
            case _:
                yield _part(block, depth)


def _part(block: Heading | Paragraph | Facts | Verbatim | Cards | Numbers, depth: int) -> str:
    match block:
        case Heading():
            aside = f" ({escape(block.aside)})" if block.aside else ""
            return f"{'#' * min(DEEPEST_HEADING, block.level + depth)} {escape(block.text)}{aside}"
        case Paragraph():
            strong = f"**{escape(block.strong)}**" if block.strong else ""
            return " ".join(part for part in (strong, escape(block.text)) if part)
        case Facts():
            return "\n".join(f"- {escape(term)}: {escape(text)}" for term, text in block.rows)
        case Verbatim():
            return _fenced(block.text)
        case Cards():
            return "\n".join(_card(card.strong, card.title, card.lines) for card in block.cards)
        case Numbers():
            return "; ".join(f"{escape(term)} **{escape(value)}**" for term, value in block.items)


def _card(strong: str, title: str, lines: Sequence[str | Cell]) -> str:
    details = "; ".join(escape(line.text if isinstance(line, Cell) else line) for line in lines)
    head = " ".join(part for part in (f"**{escape(strong)}**" if strong else "", escape(title)) if part)
    return f"- {head}" + (f": {details}" if details else "")


def _table(table: Table) -> Iterator[str]:
    if not table.rows:
        return
    head = _line([column.title for column in table.columns])
    rule = "|" + "---|" * len(table.columns)
    yield "\n".join([head, rule, *(_row(row) for row in table.rows)])


def _row(row: Row) -> str:
    cells = [f"{cell.text} ({cell.aside})" if cell.aside else cell.text for cell in row.typed]
    return _line(cells, bold=row.is_total)


def _line(texts: Sequence[str], bold: bool = False) -> str:
    cells = [f"**{escape(text)}**" if bold and text else escape(text) for text in texts]
    return f"| {' | '.join(cells)} |"


def escape(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    plain = UNSEEN.sub("\ufffd", text.replace("\n", " ").replace("\t", " "))
    return SPECIAL.sub(lambda match: "".join(f"\\{letter}" for letter in match[1]), html.escape(plain, quote=False))


def _fenced(text: str) -> str:
    plain = UNSEEN.sub("\ufffd", text)
    longest = max((len(run) for run in re.findall(r"`+", plain)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{plain.rstrip()}\n{fence}"
