"""Of an iteration: machines seen by the host and by themselves, side by side; what one cannot know is marked."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from loadstone.judge.check import UNDISCLOSED
from loadstone.judge.usage import compute_inside_usage, compute_line_usage, compute_outside_usage, compute_tree_usage
from loadstone.model.machine import ALL_PUBLIC_NETWORKS
from loadstone.model.numbers import MBIT_PER_BYTE, MIB_PER_BYTE
from loadstone.model.records.manifest import MachineFacts
from loadstone.model.records.sample import MachineViews, Sample
from loadstone.page.blocks import Block, Cell, Column, ColumnKind, Heading, Paragraph, Row, Table, Tone
from loadstone.report.section import IterationContext, ReportSection

NOTE = (
    "Means over the steady state. A guest counts time with its own clock. It sees neither the host's cost of its "
    "devices nor, without steal accounting, the time that its processors waited for the host."
)
PRINTED_MACHINE_NOTE = (
    "Printed figures in Loadstone's units. A percentage of a processor is shown in cores if the number of processors "
    "was printed."
)
UNKNOWABLE = "it cannot know"
NO_SIDE = "-"
"""Stands for a side that has no figure of this kind."""
NOT_READABLE = "not readable"
SHARED_KERNEL = "shares the host's kernel"
RUN_BY_OTHERS = "run by others"
LEAST_MACHINE_CORES = 0.005
"""Of a process group that is worth a line."""
Known = float | str | None
"""A figure, a text in its place, or nothing."""


@dataclass(frozen=True)
class MachineRow:
    """One figure from both sides; texts where there is no number."""

    title: str
    unit: str
    host: str
    guest: str


@dataclass(frozen=True)
class MachineView:
    """One machine."""

    name: str
    rows: list[MachineRow]


def list_machine_views(
    samples: Sequence[Sample], machines: Mapping[str, MachineFacts] | None = None, is_printed: bool = False
) -> list[MachineView]:
    """The machines that have a view of their own, by name; `machines` have the speeds of their links. Figures that
    others printed have `is_printed`: what is missing was not disclosed.
    """
    if is_printed:
        printed = sorted({name for sample in samples for name in sample.machines})
        views = (MachineView(name, _rows_of_print(samples, name)) for name in printed)
        return [view for view in views if view.rows]
    names = sorted({name for sample in samples for name, views in sample.machines.items() if _is_shown(views)})
    known = machines or {}
    return [MachineView(name, [*_rows(samples, name), *_link_rows(samples, name, known.get(name))]) for name in names]


def _link_rows(samples: Sequence[Sample], name: str, machine: MachineFacts | None) -> list[MachineRow]:
    """Returns what each public link carried where there are several, and which share of its speed that is."""
    speed = machine.facts.get("link_mbit_per_s") if machine else None
    usages = {line: compute_line_usage(samples, name, line) for line in ALL_PUBLIC_NETWORKS}
    used = {line: usage for line, usage in usages.items() if usage is not None}
    rows = []
    if len(used) > 1:
        rows += [
            MachineRow(f"{line} link", "Mbit/s", _text(bytes_per_s, MBIT_PER_BYTE, NOT_READABLE), UNKNOWABLE)
            for line, bytes_per_s in used.items()
        ]
    if isinstance(speed, int | float):
        factor, title = 100 * MBIT_PER_BYTE / speed, f"link used, of {speed:g} Mbit/s"
        rows += [
            MachineRow(f"{line} {title}", "%", _text(bytes_per_s, factor, NOT_READABLE), UNKNOWABLE)
            for line, bytes_per_s in used.items()
        ]
    return rows


def _is_shown(views: MachineViews) -> bool:
    """Machines that the host counts for, and hosts of others whose agent tells of them."""
    return views.outside is not None or (views.inside is not None and views.inside.running is not None)


def render_blocks(context: IterationContext) -> Iterator[Block]:
    """A table for each machine that has a view of its own."""
    manifest = context.report.result.manifest
    views = list_machine_views(context.iteration.steady_samples, manifest.machines, manifest.imported is not None)
    columns = [Column("figure"), Column("host"), Column("guest"), Column("unit", ColumnKind.TEXT)]
    for view in views:
        yield Heading(f"Machine {view.name}: as the host sees it, as it sees itself")
        yield Table(columns, [_table_row(row) for row in view.rows])
    if views:
        yield Paragraph(PRINTED_MACHINE_NOTE if manifest.imported is not None else NOTE, Tone.QUIET)


def _table_row(row: MachineRow) -> Row:
    guest = Cell(row.guest, Tone.QUIET if row.guest == UNKNOWABLE else Tone.PLAIN)
    return Row([row.title, row.host, guest, row.unit])


def _rows(samples: Sequence[Sample], name: str) -> list[MachineRow]:
    outside, inside = compute_outside_usage(samples, name), compute_inside_usage(samples, name)
    tree = compute_tree_usage(samples, name)
    busy = sum(inside.get(f"{mode}_cores", 0.0) for mode in ("user", "system")) if inside else None
    if not outside:
        return _rows_of_host(samples, name, inside)
    if not inside and "vcpu_cores" not in outside:
        return [
            _row("CPU in all", "cores", outside.get("cores", tree.get("cores")), SHARED_KERNEL),
            _row("memory", "MiB", tree.get("resident_bytes"), SHARED_KERNEL, MIB_PER_BYTE),
            _row("network sent", "Mbit/s", outside.get("network_sent_per_s"), SHARED_KERNEL, MBIT_PER_BYTE),
            _row("network received", "Mbit/s", outside.get("network_recv_per_s"), SHARED_KERNEL, MBIT_PER_BYTE),
        ]
    costs = {"used_bytes": tree.get("resident_bytes"), "cores": tree.get("cores"), **outside}
    return _rows_of_both_sides(costs, inside, busy)


def _rows_of_print(samples: Sequence[Sample], name: str) -> list[MachineRow]:
    """Of a machine whose figures others printed, with user and system time apart; without rows of no figure."""
    outside, inside = compute_outside_usage(samples, name), compute_inside_usage(samples, name)
    user, system = inside.get("user_cores"), inside.get("system_cores")
    both = None if user is None or system is None else user + system
    total, *others = _rows_of_both_sides(outside, inside, inside.get("busy_cores", both), UNDISCLOSED, UNDISCLOSED)
    split = [
        _row(f"of it {mode}", "cores", NO_SIDE, cores, 1.0, UNDISCLOSED)
        for mode, cores in (("user", user), ("system", system))
    ]
    return [row for row in (total, *split, *others) if {row.host, row.guest} - {UNDISCLOSED, UNKNOWABLE, NO_SIDE}]


def _rows_of_both_sides(
    outside: Mapping[str, float | None],
    inside: Mapping[str, float],
    busy: float | None,
    missing: str = NOT_READABLE,
    no_access: str = "no access",
) -> list[MachineRow]:
    """Of a machine that host and guest count; `missing` and `no_access` replace a figure."""

    def row(title: str, unit: str, host: Known, guest: Known, factor: float = 1.0) -> MachineRow:
        return _row(title, unit, host, guest, factor, missing)

    return [
        row("CPU in all", "cores", outside.get("cores"), busy),
        row("of virtual processors", "cores", outside.get("vcpu_cores"), UNKNOWABLE),
        row("of threads for disks", "cores", outside.get("io_cores"), UNKNOWABLE),
        row("of devices and network", "cores", outside.get("device_cores"), UNKNOWABLE),
        *([row("of vhost threads", "cores", outside["vhost_cores"], UNKNOWABLE)] if "vhost_cores" in outside else []),
        row("steal", "cores", NO_SIDE, inside.get("steal_cores")),
        row("idle", "cores", NO_SIDE, inside.get("idle_cores")),
        row("memory", "MiB", outside.get("used_bytes"), inside.get("used_bytes"), MIB_PER_BYTE),
        row("active memory", "MiB", outside.get("active_bytes", NO_SIDE), inside.get("active_bytes"), MIB_PER_BYTE),
        row("exits", "1/s", outside.get("exits_per_s"), UNKNOWABLE),
        _row("disk latency", "ms", outside.get("disk_ms"), inside.get("disk_ms"), 1.0, no_access),
        row(
            "network sent", "Mbit/s", outside.get("network_sent_per_s"), inside.get("network_sent_per_s"), MBIT_PER_BYTE
        ),
        row(
            "network received",
            "Mbit/s",
            outside.get("network_recv_per_s"),
            inside.get("network_recv_per_s"),
            MBIT_PER_BYTE,
        ),
    ]


def _row(
    title: str, unit: str, host: Known, guest: Known, factor: float = 1.0, why_not: str = NOT_READABLE
) -> MachineRow:
    return MachineRow(title, unit, _text(host, factor, why_not), _text(guest, factor, why_not))


def _rows_of_host(samples: Sequence[Sample], name: str, inside: Mapping[str, float]) -> list[MachineRow]:
    """Of a host that others run: what its agent told, the process groups that used most at the end."""
    rows = [
        MachineRow(title, unit, RUN_BY_OTHERS, _text(inside.get(key), factor, NOT_READABLE))
        for title, unit, key, factor in (
            ("user CPU", "cores", "user_cores", 1.0),
            ("system CPU", "cores", "system_cores", 1.0),
            ("idle", "cores", "idle_cores", 1.0),
            ("steal", "cores", "steal_cores", 1.0),
            ("memory", "MiB", "used_bytes", MIB_PER_BYTE),
            ("disk latency", "ms", "disk_ms", 1.0),
            ("network sent", "Mbit/s", "network_sent_per_s", MBIT_PER_BYTE),
            ("network received", "Mbit/s", "network_recv_per_s", MBIT_PER_BYTE),
        )
    ]
    views = [view for sample in samples if name in sample.machines and (view := sample.machines[name].inside)]
    running = [view.running for view in views if view.running is not None]
    rows.append(MachineRow("tasks running or waiting", "", RUN_BY_OTHERS, _text(fmean(running), 1.0, NOT_READABLE)))
    for kind in dict.fromkeys(kind for view in views for kind in view.pressure):
        share = fmean(100 * (view.pressure.get(kind) or 0.0) for view in views)
        rows.append(
            MachineRow(f"time in which some waited for {kind}", "%", RUN_BY_OTHERS, _text(share, 1.0, NOT_READABLE))
        )
    for group in dict.fromkeys(group.name for view in views for group in view.groups):
        cores = sum(usage.cores for view in views for usage in view.groups if usage.name == group) / len(views)
        if cores >= LEAST_MACHINE_CORES:
            rows.append(MachineRow(f"process group {group}", "cores", RUN_BY_OTHERS, _text(cores, 1.0, NOT_READABLE)))
    return rows


def _text(value: float | str | None, factor: float, why_not: str) -> str:
    if value is None:
        return why_not
    return (
        value
        if isinstance(value, str)
        else f"{value * factor:.3g}"
        if value * factor < 100
        else f"{value * factor:.0f}"
    )


SECTION = ReportSection(rank=80, of_iteration=render_blocks)
