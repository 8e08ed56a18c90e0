"""Printed tables of monitors: read with the problem of each row, and as the sample that a monitor here would write.

A table is `monitors of MACHINE`, or `monitors of MACHINE by the host`; a core, a disk or a card of the machine follows
it behind a slash. A row is `QUANTITY, UNIT`.
"""

import difflib
import re
from collections.abc import Iterator, Sequence

from loadstone.model.printed_monitors import (
    CORE_COUNT,
    CORE_PERCENT,
    CPU_TOTAL,
    EXITS,
    HOST_MACHINE,
    MACHINE_PERCENT,
    PROCESSORS,
    QUANTITIES,
    THREAD_COSTS,
    MonitorGroup,
    MonitorSubject,
    MonitorView,
    PrintedMonitor,
    count_capacity,
    get_processors,
)
from loadstone.model.records.sample import InsideView, MachineViews, OutsideView, Rates, Sample
from loadstone.store.printed_numbers import parse_count, parse_number

MONITOR_TABLE = "monitors"
"""First word of the name of a monitors' table."""
SUBJECT = re.compile(r"monitors of ([^/\s]+)(?:/([^/]+?))?( by the host)?")
SUBJECT_FORM = "Use `monitors of MACHINE` or `monitors of MACHINE by the host`"
ALL_LINES = "all"
"""Name of a machine's networks together."""
REST_OF_MACHINE = "rest"
"""Kind of CPU time that the host spends on a machine beyond the kinds that were printed."""


def is_monitor_table(table: str) -> bool:
    """Returns whether a name is that of a monitors' table, right or wrong."""
    return table.split(maxsplit=1)[:1] == [MONITOR_TABLE]


def parse_monitor(table: str, row: str, text: str) -> PrintedMonitor:
    """Reads one figure. Raises ValueError that says what is wrong and what to do."""
    figure = PrintedMonitor(_parse_subject(table), *_parse_quantity(row), text.strip())
    if figure.quantity == PROCESSORS:
        if parse_count(text) < 1:
            raise ValueError(f"`{text}` is not a valid number of processors. Use 1 or more")
        return figure
    if parse_number(text) > 100 and figure.unit == MACHINE_PERCENT:
        remedy = f"Write `{CORE_PERCENT}` if the monitor counts each core as 100 %"
        raise ValueError(f"`{text}` is more than 100 % of the machine. {remedy}")
    return figure


def _parse_subject(table: str) -> MonitorSubject:
    match = SUBJECT.fullmatch(" ".join(table.split()))
    if match is None:
        raise ValueError(f"`{table[:60]}` does not name a machine. {SUBJECT_FORM}")
    machine, part, by_host = match.groups()
    if by_host and machine == HOST_MACHINE:
        raise ValueError(f"`{table[:60]}` is the host as the host sees it. Use `monitors of {HOST_MACHINE}`")
    return MonitorSubject(machine, MonitorView.OUTSIDE if by_host else MonitorView.INSIDE, part or "")


def _parse_quantity(row: str) -> tuple[str, str]:
    name, _, unit = (part.strip() for part in row.partition(","))
    quantity = QUANTITIES.get(name)
    if quantity is None:
        similar = difflib.get_close_matches(name, QUANTITIES, 1)
        hint = f"Did you mean `{similar[0]}`? " if similar else ""
        raise ValueError(f"`{name[:60]}` is not a known quantity. {hint}Known quantities: {', '.join(QUANTITIES)}")
    if unit not in quantity.units:
        units = ", ".join(f"`{each}`" for each in quantity.units if each)
        form = f"Write `{name}, UNIT` with one of {units}" if units else f"Write `{name}` without a unit"
        raise ValueError(f"`{unit[:60]}` is not a unit of `{name}`. {form}")
    return name, unit


def find_excess(figures: Sequence[PrintedMonitor]) -> Iterator[tuple[PrintedMonitor, str]]:
    """Yields each figure of more CPU time than its machine has, with what is wrong and what to do."""
    for figure in figures:
        if figure.unit not in (CORE_PERCENT, CORE_COUNT):
            continue
        capacity = count_capacity(figures, figure.subject, figure.unit)
        if capacity is not None and figure.value - figure.half_digit > capacity:
            remedy = f"Correct it, or the row `{PROCESSORS}`"
            yield figure, f"`{figure.printed}` is above {capacity:f}, which is all that its processors have. {remedy}"


def build_sample(figures: Sequence[PrintedMonitor], seconds: float) -> Sample | None:
    """Returns the sample that a monitor would have written of the same means; None where nothing was printed.

    Parts of machines are left out, since others of them may not have been printed.
    """
    of_machines = [figure for figure in figures if not figure.subject.part]
    if not of_machines:
        return None
    names = dict.fromkeys(figure.subject.machine for figure in of_machines)
    host = _select_groups(of_machines, MonitorSubject(HOST_MACHINE))
    return Sample(
        unix_s=0.0,
        seconds=seconds,
        cpu_cores=host[MonitorGroup.CPU],
        memory_bytes=host[MonitorGroup.MEMORY],
        swap=host[MonitorGroup.SWAP],
        disk=host[MonitorGroup.DISK],
        network=host[MonitorGroup.NETWORK],
        trees={},
        machines={
            name: MachineViews(_build_inside(of_machines, name, seconds), _build_outside(of_machines, name))
            for name in names
            if name != HOST_MACHINE
        },
    )


def _build_inside(figures: Sequence[PrintedMonitor], machine: str, seconds: float) -> InsideView | None:
    subject = MonitorSubject(machine)
    if all(figure.subject != subject for figure in figures):
        return None
    groups = _select_groups(figures, subject)
    return InsideView(
        seconds=seconds,
        cores=get_processors(figures, machine),
        cpu_cores=groups[MonitorGroup.CPU],
        memory_bytes=groups[MonitorGroup.MEMORY],
        swap=groups[MonitorGroup.SWAP],
        disk=groups[MonitorGroup.DISK],
        network=groups[MonitorGroup.NETWORK],
    )


def _build_outside(figures: Sequence[PrintedMonitor], machine: str) -> OutsideView | None:
    subject = MonitorSubject(machine, MonitorView.OUTSIDE)
    if all(figure.subject != subject for figure in figures):
        return None
    groups = _select_groups(figures, subject)
    exits = (float(figure.value) for figure in figures if figure.subject == subject and figure.quantity == EXITS)
    return OutsideView(
        cpu_cores=_split_threads(groups[MonitorGroup.CPU]),
        disk=groups[MonitorGroup.DISK],
        network={ALL_LINES: groups[MonitorGroup.NETWORK]},
        exits_per_s=next(exits, None),
        memory_bytes=groups[MonitorGroup.MEMORY],
    )


def _split_threads(cpu_cores: Rates) -> Rates:
    """Returns the kinds of threads and the rest of the total; the rest is None where no total was printed."""
    kinds = {kind: cores for kind in THREAD_COSTS.values() if (cores := cpu_cores.get(kind)) is not None}
    total = cpu_cores.get(QUANTITIES[CPU_TOTAL].key)
    return {**kinds, REST_OF_MACHINE: None if total is None else max(0.0, total - sum(kinds.values()))}


def _select_groups(figures: Sequence[PrintedMonitor], subject: MonitorSubject) -> dict[MonitorGroup, dict[str, float]]:
    """Returns a subject's figures in the units of a sample by their names there, group by group."""
    groups: dict[MonitorGroup, dict[str, float]] = {group: {} for group in MonitorGroup}
    for figure in figures:
        quantity, rate = QUANTITIES[figure.quantity], _convert(figures, figure)
        if figure.subject == subject and rate is not None:
            groups[quantity.group].setdefault(quantity.key, rate)
    return groups


def _convert(figures: Sequence[PrintedMonitor], figure: PrintedMonitor) -> float | None:
    """Returns a figure in the unit of a sample; None for one that cannot be converted."""
    quantity = QUANTITIES[figure.quantity]
    if factor := quantity.units.get(figure.unit, 0.0):
        return float(figure.value) * factor
    processors = count_capacity(figures, figure.subject, CORE_COUNT) if quantity.group is MonitorGroup.CPU else None
    return None if processors is None else float(figure.value * processors / 100)
