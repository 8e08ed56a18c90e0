"""Audits of printed figures of monitors: the shares of a processor's time, its total, and its cores. Pure.

What a disclosure does not print may be the difference. A relation is audited as far as all of its figures are printed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from loadstone.judge.check import check_at_most
from loadstone.model.printed_monitors import (
    BUSY_SHARES,
    CPU_IDLE,
    CPU_TOTAL,
    CPU_UNITS,
    CPU_WAIT,
    MACHINE_PERCENT,
    PROCESSOR_SHARES,
    MonitorSubject,
    MonitorView,
    PrintedMonitor,
    count_capacity,
    get_processors,
)
from loadstone.model.records.check import Check, CheckId, Weight

MONITORS_SOURCE = "printed figures, docs/how-to/import.md, Audits of monitors"
NEEDED_SHARES = ("CPU user", "CPU system", CPU_IDLE, CPU_WAIT)
"""Shares that add up to all of a processor's time; others are a part of them, or are printed as well."""
TOTAL_SHARES = (CPU_TOTAL, CPU_IDLE, CPU_WAIT)
"""The same where the time that it works is printed as a total."""
MOST_BROKEN_NAMED = 5
"""Contradictions that a verdict names; the report has all."""


@dataclass(frozen=True)
class MonitorAudit:
    """A relation between printed figures: their sum or mean, and between which bounds it must be."""

    subject: str
    text: str
    """The calculation, for people."""
    computed: Decimal
    least: Decimal | None
    """None where figures that were not printed may be the rest."""
    most: Decimal
    unit: str
    tolerance: Decimal
    """By how much rounding may move the sum."""

    @property
    def agrees(self) -> bool:
        """Whether the figures do not contradict each other."""
        is_enough = self.least is None or self.computed >= self.least - self.tolerance
        return is_enough and self.computed <= self.most + self.tolerance

    @property
    def bounds(self) -> str:
        """The bounds in words."""
        return f"at most {self.most:f}" if self.least is None else f"{self.most:f}"

    def __str__(self) -> str:
        return f"{self.subject}: {self.text} is {self.computed:f} {self.unit}, not {self.bounds}"


def check_monitors(audits: Sequence[MonitorAudit]) -> Iterator[Check]:
    """Yields the rule that printed figures do not contradict each other; nothing without audits."""
    if not audits:
        return
    broken = [audit for audit in audits if not audit.agrees]
    detail = "; ".join(map(str, broken[:MOST_BROKEN_NAMED]))
    yield check_at_most(CheckId.PRINTED_MONITORS, len(broken), 0, "", Weight.NOTE, MONITORS_SOURCE, detail)


def audit_monitors(figures: Sequence[PrintedMonitor]) -> Iterator[MonitorAudit]:
    """Yields the audits of each machine and part, in each unit of its processor time."""
    for subject in dict.fromkeys(figure.subject for figure in figures):
        for unit in CPU_UNITS:
            shares = {figure.quantity: figure for figure in figures if (figure.subject, figure.unit) == (subject, unit)}
            if subject.view is MonitorView.INSIDE:
                yield from _audit_time(figures, subject, unit, shares)
            yield from _audit_total(subject, unit, shares)
    yield from _audit_cores(figures)


def _audit_time(
    figures: Sequence[PrintedMonitor], subject: MonitorSubject, unit: str, shares: dict[str, PrintedMonitor]
) -> Iterator[MonitorAudit]:
    """Audits that the shares of a processor's time add up to all of it, or to no more where some are missing."""
    has_total = CPU_TOTAL in shares
    names, needed = (TOTAL_SHARES, TOTAL_SHARES) if has_total else (tuple(PROCESSOR_SHARES), NEEDED_SHARES)
    parts = [shares[name] for name in names if name in shares]
    capacity = None if subject.part and unit != MACHINE_PERCENT else count_capacity(figures, subject, unit)
    if len(parts) < 2 or capacity is None:
        return
    is_complete = all(name in shares for name in needed)
    yield _audit_sum(subject, unit, parts, capacity if is_complete else None, capacity)


def _audit_total(subject: MonitorSubject, unit: str, shares: dict[str, PrintedMonitor]) -> Iterator[MonitorAudit]:
    """Audits that the printed shares of a processor that works are no more than its printed total."""
    total = shares.get(CPU_TOTAL)
    parts = [shares[name] for name in BUSY_SHARES if name in shares]
    if total is not None and parts:
        yield _audit_sum(subject, unit, parts, None, total.value, total.half_digit)


def _audit_sum(
    subject: MonitorSubject,
    unit: str,
    parts: Sequence[PrintedMonitor],
    least: Decimal | None,
    most: Decimal,
    rounding: Decimal = Decimal(0),
) -> MonitorAudit:
    return MonitorAudit(
        subject=str(subject),
        text=" + ".join(part.quantity for part in parts),
        computed=sum((part.value for part in parts), Decimal(0)),
        least=least,
        most=most,
        unit=unit,
        tolerance=rounding + sum((part.half_digit for part in parts), Decimal(0)),
    )


def _audit_cores(figures: Sequence[PrintedMonitor]) -> Iterator[MonitorAudit]:
    """Audits that a machine's percentage is the mean of its cores, where all of them are printed."""
    for figure in figures:
        is_share = figure.unit == MACHINE_PERCENT and figure.quantity in (CPU_TOTAL, *PROCESSOR_SHARES)
        if figure.subject.part or not is_share:
            continue
        cores = [core for core in figures if _is_core_of(core, figure)]
        if cores and len(cores) == get_processors(figures, figure.subject.machine):
            mean = round(sum((core.value for core in cores), Decimal(0)) / len(cores), 4).normalize()
            rounding = figure.half_digit + max(core.half_digit for core in cores)
            text = f"mean of {figure.quantity} of {len(cores)} cores"
            yield MonitorAudit(str(figure.subject), text, mean, figure.value, figure.value, MACHINE_PERCENT, rounding)


def _is_core_of(core: PrintedMonitor, figure: PrintedMonitor) -> bool:
    subject = core.subject
    return (
        bool(subject.part)
        and (subject.machine, subject.view) == (figure.subject.machine, figure.subject.view)
        and (core.quantity, core.unit) == (figure.quantity, figure.unit)
    )
