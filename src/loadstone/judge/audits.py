"""Audits of a printed table of tiles: figures that follow from other figures of the same row. Pure.

The columns are those of a published disclosure's detail tables (docs/consolidation.md, Audits of a printed table). A
relation is audited in each row that prints all of its figures; the others say nothing.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from loadstone.judge.consolidation import CENT, Maxima, TileFigures, score_tiles

SECONDS = Decimal(7200)
"""Measured window of a published board, unless the row has a column `seconds`."""
HEARTBEAT_S = 10
"""Seconds between two heartbeats of the idle machine; none is at the window's end."""
HALF_CENT = CENT / 2
COUNT = Decimal(0)
"""Counts are exact."""

Values = Mapping[str, Decimal]
"""Figures of a row by column."""


@dataclass(frozen=True)
class Relation:
    """A figure that others determine: its column, the others, and by how much rounding may set them apart."""

    column: str
    others: tuple[str, ...]
    text: str
    """The calculation, for people."""
    compute: Callable[[Values], Decimal]
    tolerance: Decimal = HALF_CENT


@dataclass(frozen=True)
class PrintedFigure:
    """A relation in one row: the printed figure and the computed one."""

    tile: int
    relation: Relation
    printed: Decimal
    computed: Decimal

    @property
    def agrees(self) -> bool:
        """Whether the printed figure is the computed one, as far as rounding allows."""
        return abs(self.printed - self.computed) <= self.relation.tolerance


def _share(passed: tuple[str, ...], all_counts: tuple[str, ...], factor: int = 1) -> Callable[[Values], Decimal]:
    def compute(values: Values) -> Decimal:
        total = sum((values[name] for name in all_counts), Decimal(0))
        return factor * sum((values[name] for name in passed), Decimal(0)) / total if total else Decimal(0)

    return compute


def _rate(*counts: str) -> Callable[[Values], Decimal]:
    return lambda values: sum((values[name] for name in counts), Decimal(0)) / values["seconds"]


SCORE, QUALITY = "computed score", "computed quality"
"""Names beside the columns: what the rates and shares of the row give."""
PAGE_COUNTS = ("web_good", "web_tol", "web_fail")
RELATIONS = (
    # Each of the three rates is rounded by itself.
    Relation(
        "app",
        ("mfg_rps", "dealer_rps"),
        "mfg_rps + dealer_rps",
        lambda row: row["mfg_rps"] + row["dealer_rps"],
        CENT + HALF_CENT,
    ),
    Relation("web", ("web_rps",), "web_rps", lambda row: row["web_rps"], COUNT),
    Relation("web_rps", PAGE_COUNTS, "(web_good + web_tol + web_fail) / seconds", _rate(*PAGE_COUNTS)),
    Relation("qos_web", PAGE_COUNTS, "web_good / (web_good + web_tol + web_fail)", _share(("web_good",), PAGE_COUNTS)),
    Relation("append_rps", ("append_total",), "append_total / seconds", _rate("append_total")),
    Relation("fetch_rps", ("fetch_total",), "fetch_total / seconds", _rate("fetch_total")),
    Relation(
        "append_pct",
        ("append_pass", "append_total"),
        "100 append_pass / append_total",
        _share(("append_pass",), ("append_total",), 100),
    ),
    Relation(
        "fetch_pct",
        ("fetch_pass", "fetch_total"),
        "100 fetch_pass / fetch_total",
        _share(("fetch_pass",), ("fetch_total",), 100),
    ),
    Relation(
        "append_total",
        ("append_pass", "append_fail"),
        "append_pass + append_fail",
        lambda row: row["append_pass"] + row["append_fail"],
        COUNT,
    ),
    Relation(
        "fetch_total",
        ("fetch_pass", "fetch_fail"),
        "fetch_pass + fetch_fail",
        lambda row: row["fetch_pass"] + row["fetch_fail"],
        COUNT,
    ),
    Relation(
        "qos_mail",
        ("append_pass", "fetch_pass", "append_total", "fetch_total"),
        "(append_pass + fetch_pass) / (append_total + fetch_total)",
        _share(("append_pass", "fetch_pass"), ("append_total", "fetch_total")),
    ),
    Relation("hb_total", (), f"seconds / {HEARTBEAT_S} - 1", lambda row: row["seconds"] / HEARTBEAT_S - 1, Decimal(1)),
    Relation("per_tile", (), "score of the rates", lambda row: row[SCORE]),
    Relation("qos_tile", (), "mean of the four shares", lambda row: row[QUALITY]),
)
"""What published boards agree with in every tile, to the last digit that they print."""


def audit_tile(tile: int, cells: Mapping[str, str], figures: TileFigures, maxima: Maxima) -> Iterator[PrintedFigure]:
    """Yields an audit for each relation whose figures a row of a table prints."""
    (scored,) = score_tiles([figures], maxima).tiles
    values = {"seconds": SECONDS, **_numbers(cells), SCORE: scored.score, QUALITY: scored.qos}
    for relation in RELATIONS:
        if {relation.column, *relation.others} <= values.keys() and values["seconds"] > 0:
            yield PrintedFigure(tile, relation, values[relation.column], relation.compute(values))


def _numbers(cells: Mapping[str, str]) -> dict[str, Decimal]:
    numbers = {}
    for name, text in cells.items():
        try:
            value = Decimal(text)
        except InvalidOperation:
            continue
        if value.is_finite():
            numbers[name] = value
    return numbers
