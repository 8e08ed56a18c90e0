"""Blocks of a page: headings, paragraphs, tables, pictures, lists of facts, text as it is. One record, every form."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from loadstone.page.plot import AnyPlot


class Tone(StrEnum):
    """How something is meant; forms color it, or leave it."""

    PLAIN = ""
    QUIET = "quiet"
    PASS = "pass"
    FAIL = "fail"
    INVALID = "invalid"
    BROKEN = "broken"
    KEPT = "kept"
    ALARM = "emulated"
    """In a box that cannot be overlooked."""


class ColumnKind(StrEnum):
    """How a column is set."""

    NUMBER = ""
    TEXT = "text"
    LONG = "long"
    """Text that may take several lines."""


@dataclass(frozen=True)
class Column:
    """A column of a table; a line break in its title saves width."""

    title: str
    kind: ColumnKind = ColumnKind.NUMBER


@dataclass(frozen=True)
class Cell:
    """What stands in a cell, how it is meant, and where it leads; `aside` stands below it, smaller."""

    text: str
    tone: Tone = Tone.PLAIN
    link: str = ""
    aside: str = ""
    anchor: str = ""
    """Anchor of a heading of the same page that it links to."""


@dataclass(frozen=True)
class Row:
    """A line of a table."""

    cells: Sequence[str | Cell]
    is_total: bool = False

    @property
    def typed(self) -> list[Cell]:
        """Its cells, texts among them as cells."""
        return [cell if isinstance(cell, Cell) else Cell(cell) for cell in self.cells]


@dataclass(frozen=True)
class Heading:
    """A heading of a level, 1 to 3, that can be linked to where it has an anchor."""

    text: str
    level: int = 3
    anchor: str = ""
    aside: str = ""
    """Behind it, quieter."""
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True)
class Paragraph:
    """Sentences."""

    text: str
    tone: Tone = Tone.PLAIN
    strong: str = ""
    """Words before them that stand out."""


@dataclass(frozen=True)
class Table:
    """Rows under columns."""

    columns: Sequence[Column]
    rows: Sequence[Row]


@dataclass(frozen=True)
class Figure:
    """A plot with its title and caption."""

    title: str
    caption: str
    plot: AnyPlot
    is_wide: bool = False


@dataclass(frozen=True)
class Gallery:
    """Pictures beside each other."""

    figures: Sequence[Figure]


@dataclass(frozen=True)
class Facts:
    """Terms with what is to be said of each."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Verbatim:
    """Text as it is, in a box."""

    text: str


@dataclass(frozen=True)
class Card:
    """A verdict: a strong word, what it is of, and lines below."""

    tone: Tone
    strong: str
    title: str
    lines: Sequence[str | Cell] = ()


@dataclass(frozen=True)
class Cards:
    """Verdicts beside each other."""

    cards: Sequence[Card]


@dataclass(frozen=True)
class Numbers:
    """A few figures that are looked at first: what each is, and its value with its unit."""

    items: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Fold:
    """Blocks behind a line that opens them."""

    summary: str
    blocks: "Sequence[Block]" = field(default_factory=tuple)
    is_open: bool = False


Block = Heading | Paragraph | Table | Gallery | Facts | Verbatim | Cards | Numbers | Fold
