"""Rules for tiles that others printed: their figures agree, and what was required was kept. Pure.

What a table does not print is not judged; that is another thing than a printed 0.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from decimal import Decimal

from loadstone.judge.audits import PrintedFigure, audit_tile
from loadstone.judge.check import UNDISCLOSED, check_at_most, withdraw_check
from loadstone.judge.consolidation import Maxima, TileFigures
from loadstone.judge.printed_monitors import MonitorAudit, audit_monitors, check_monitors
from loadstone.model.records.check import Check, CheckId, Weight
from loadstone.model.records.manifest import TileEntry

PRINTED_TABLE_SOURCE = "printed figures, docs/consolidation.md, Audits of a printed table"
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
COUNT_COLUMNS = frozenset(
    {
        *("web_good", "web_tol", "web_fail", "web_valerr", "hb_total"),
        *(f"{command}_{count}" for command in ("append", "fetch") for count in ("total", "pass", "fail")),
    }
)
"""Columns of whole numbers."""
REQUIRED_TIMES = {
    "mfg_p90": ("mfg_req90", 0),
    "dealer_p90_1": ("dealer_req90", 0),
    "dealer_p90_2": ("dealer_req90", 1),
    "dealer_p90_3": ("dealer_req90", 2),
}
"""Columns of 90th percentiles, each with the column of its required time and the place there."""
REQUIRED_COLUMNS = frozenset(column for column, _ in REQUIRED_TIMES.values())
"""Columns of required times, which have several parts behind slashes."""
WRONG_ANSWERS = "web_valerr"
"""Column of validation errors."""


def read_printed(printed: Mapping[str, str]) -> TileFigures:
    """Returns the rates and shares of a printed row. Raises KeyError and InvalidOperation for other rows."""
    return TileFigures(**{each.name: Decimal(printed[each.name]) for each in fields(TileFigures)})


def audit_entries(entries: Sequence[TileEntry], maxima: Maxima) -> tuple[PrintedFigure, ...]:
    """Returns the audits of all printed rows; empty for tiles that were measured here."""
    printed = [entry for entry in entries if entry.printed]
    return tuple(
        audit
        for entry in printed
        for audit in audit_tile(entry.number, entry.printed, read_printed(entry.printed), maxima)
    )


def check_printed(entries: Sequence[TileEntry], maxima: Maxima) -> Iterator[Check]:
    """Yields the rules: figures that contradict others, times above what was required, validation errors."""
    audits = audit_entries(entries, maxima)
    broken = [audit for audit in audits if not audit.agrees]
    detail = "; ".join(f"tile {audit.tile}: {audit.relation.column}" for audit in broken[:5])
    rule = check_at_most(CheckId.PRINTED_FIGURES, len(broken), 0, "", Weight.INVALID, PRINTED_TABLE_SOURCE, detail)
    yield rule if audits else withdraw_check(rule, UNDISCLOSED)
    late = [_is_late(entry, column) for entry in entries for column in REQUIRED_TIMES]
    yield _count(CheckId.PRINTED_TIMES, late, "")
    wrong = [_number(entry.printed.get(WRONG_ANSWERS, "")) for entry in entries]
    yield _count(CheckId.VALIDATION_ERRORS, wrong, "errors")
    yield from check_monitors(list(_audit_monitors(entries)))


def _audit_monitors(entries: Sequence[TileEntry]) -> Iterator[MonitorAudit]:
    for entry in entries:
        for audit in audit_monitors(entry.monitors):
            yield replace(audit, subject=f"tile {entry.number}, {audit.subject}")


def _count(name: CheckId, counts: Sequence[float | None], unit: str) -> Check:
    """Returns the rule that the sum is 0; not judged unless every tile prints it."""
    total = sum(count for count in counts if count is not None)
    rule = check_at_most(name, total, 0, unit, Weight.FAIL, PRINTED_TABLE_SOURCE)
    return withdraw_check(rule, UNDISCLOSED) if None in counts else rule


def _is_late(entry: TileEntry, column: str) -> float | None:
    """Returns 1 where a printed time is above the required one, 0 where it is not; None where one is not printed."""
    required_column, place = REQUIRED_TIMES[column]
    parts = entry.printed.get(required_column, "").split("/")
    required = _number(parts[place]) if place < len(parts) else None
    time = _number(entry.printed.get(column, ""))
    return None if time is None or required is None else float(time > required)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
