"""Of an iteration that others published: what their monitors saw, as printed, and what they did not print."""

from collections.abc import Iterator, Sequence

from loadstone.judge.check import UNDISCLOSED
from loadstone.judge.printed_monitors import audit_monitors
from loadstone.model.printed_monitors import QUANTITIES, MonitorSubject, PrintedMonitor
from loadstone.page.blocks import Block, Cell, Column, ColumnKind, Heading, Paragraph, Row, Table, Tone
from loadstone.report.section import IterationContext, ReportSection

USUAL_QUANTITIES = (
    *("CPU user", "CPU system", "CPU idle", "CPU wait", "memory used", "disk latency"),
    *("network sent", "network received", "interrupts", "context switches"),
)
"""Quantities that have a row even if nothing of them was printed."""
UNIT_COLUMN = Column("unit", ColumnKind.TEXT)
NOTE = "A cell without a figure was not printed. It says nothing about the system, unlike a printed 0."


def render_blocks(context: IterationContext) -> Iterator[Block]:
    """Yields a table of machines, one of their parts, and the audits; nothing of an iteration that was measured."""
    if context.iteration.figures.is_disclosed:
        return
    figures = context.iteration.figures.monitors
    yield Heading("Monitors, as printed")
    if not figures:
        yield Paragraph(f"Figures of monitors: {UNDISCLOSED}.", Tone.QUIET)
        return
    of_machines = [figure for figure in figures if not figure.subject.part]
    if of_machines:
        yield _list_figures(of_machines, USUAL_QUANTITIES)
    of_parts = [figure for figure in figures if figure.subject.part]
    if of_parts:
        yield _list_parts(of_parts)
    yield Paragraph(f"{NOTE}{_describe_common(figures)}", Tone.QUIET)
    yield from _list_audits(figures)


def _describe_common(figures: Sequence[PrintedMonitor]) -> str:
    """Returns which figures were printed once, for all iterations, as a sentence; empty where none were."""
    common = [figure for figure in figures if figure.is_common]
    if not common:
        return ""
    names = ", ".join(f"{figure.quantity} of {figure.subject}" for figure in common)
    return f" Printed once, for all iterations: {'all figures' if len(common) == len(figures) else names}."


def _list_figures(figures: Sequence[PrintedMonitor], usual: Sequence[str]) -> Table:
    """Returns a row for each quantity and unit, and a column for each machine."""
    subjects = list(dict.fromkeys(figure.subject for figure in figures))
    rows = [
        Row([name, *(_cell(figures, subject, name, unit) for subject in subjects), unit])
        for name, unit in _list_quantities(figures, usual)
    ]
    return Table([Column("figure"), *(Column(str(subject)) for subject in subjects), UNIT_COLUMN], rows)


def _list_parts(figures: Sequence[PrintedMonitor]) -> Table:
    """Returns a row for each core, disk or card, and a column for each quantity and unit."""
    subjects = list(dict.fromkeys(figure.subject for figure in figures))
    quantities = list(_list_quantities(figures))
    rows = [
        Row([str(subject), *(_cell(figures, subject, *quantity) for quantity in quantities)]) for subject in subjects
    ]
    titles = (f"{name}, {unit}" if unit else name for name, unit in quantities)
    return Table([Column("part"), *map(Column, titles)], rows)


def _list_quantities(figures: Sequence[PrintedMonitor], usual: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """Yields the printed quantities with their units, and the usual ones without a unit where none was printed."""
    for name in QUANTITIES:
        units = dict.fromkeys(figure.unit for figure in figures if figure.quantity == name)
        if not units and name in usual:
            units = {"": None}
        for unit in units:
            yield name, unit


def _cell(figures: Sequence[PrintedMonitor], subject: MonitorSubject, name: str, unit: str) -> Cell:
    place = (subject, name, unit)
    printed = (figure.printed for figure in figures if figure.place == place)
    text = next(printed, None)
    return Cell(UNDISCLOSED, Tone.QUIET) if text is None else Cell(text)


def _list_audits(figures: Sequence[PrintedMonitor]) -> Iterator[Block]:
    audits = list(audit_monitors(figures))
    if not audits:
        return
    agreeing = sum(audit.agrees for audit in audits)
    yield Paragraph(f"{agreeing} of {len(audits)} relations between the printed figures of monitors hold.", Tone.QUIET)
    broken = [audit for audit in audits if not audit.agrees]
    if broken:
        texts = [Column(title, ColumnKind.TEXT) for title in ("machine", "relation")]
        rows = [
            Row([audit.subject, audit.text, f"{audit.computed:f}", Cell(audit.bounds, Tone.BROKEN), audit.unit])
            for audit in broken
        ]
        yield Table([*texts, Column("computed"), Column("required"), UNIT_COLUMN], rows)


SECTION = ReportSection(rank=75, of_iteration=render_blocks)
