"""Blocks of a page as lines of text: all that any form draws from them, but the curves of pictures."""

from collections.abc import Iterator, Sequence
from functools import singledispatch

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
    Table,
    Tone,
    Verbatim,
)


def text_of(blocks: Sequence[Block]) -> str:
    """Returns the blocks as text, one line each for what a reader sees as a line."""
    return "\n".join(_lines(blocks)) + "\n"


def _lines(blocks: Sequence[Block]) -> Iterator[str]:
    for block in blocks:
        yield from ("", *_block(block))


@singledispatch
def _block(block: Block) -> Iterator[str]:
    raise TypeError(f"{type(block).__name__} has no text yet")


@_block.register
def _(block: Heading) -> Iterator[str]:
    yield _joined("#" * block.level, block.text, _mark(block.tone), _in("aside", block.aside))
    yield from [f"  anchor {block.anchor}"] if block.anchor else []


@_block.register
def _(block: Paragraph) -> Iterator[str]:
    yield _joined(_mark(block.tone), _in("strong", block.strong), block.text)


@_block.register
def _(block: Table) -> Iterator[str]:
    yield " | ".join(f"{column.title!r} {column.kind}".strip() for column in block.columns)
    for row in block.rows:
        yield ("= " if row.is_total else "- ") + " | ".join(map(_cell, row.typed))


@_block.register
def _(block: Gallery) -> Iterator[str]:
    for figure in block.figures:
        yield _joined("picture", type(figure.plot).__name__, "wide" if figure.is_wide else "", figure.title)
        yield f"  {figure.caption}"


@_block.register
def _(block: Facts) -> Iterator[str]:
    yield from (f"{term}: {said}" for term, said in block.rows)


@_block.register
def _(block: Verbatim) -> Iterator[str]:
    yield from (f"    {line}" for line in block.text.splitlines())


@_block.register
def _(block: Cards) -> Iterator[str]:
    for card in block.cards:
        yield _joined("card", _mark(card.tone), _in("strong", card.strong), card.title)
        yield from (f"  {_cell(Cell(line) if isinstance(line, str) else line)}" for line in card.lines)


@_block.register
def _(block: Numbers) -> Iterator[str]:
    yield from (f"number {term}: {value}" for term, value in block.items)


@_block.register
def _(block: Fold) -> Iterator[str]:
    yield _joined("open" if block.is_open else "closed", "fold", block.summary)
    yield from (f"  {line}".rstrip() for line in _lines(block.blocks))


def _cell(cell: Cell) -> str:
    return _joined(cell.text, _mark(cell.tone), _in("link", cell.link), _in("aside", cell.aside))


def _mark(tone: Tone) -> str:
    return f"[{tone}]" if tone is not Tone.PLAIN else ""


def _in(name: str, text: str) -> str:
    return f"({name} {text})" if text else ""


def _joined(*parts: str) -> str:
    return " ".join(filter(None, parts))
