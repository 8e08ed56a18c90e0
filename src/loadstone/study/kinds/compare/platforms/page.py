"""How a comparison of platforms is shown: curves, rows as published comparisons print them, loads, searches. Pure."""

import math
from collections.abc import Iterator, Mapping, Sequence

from loadstone.model.numbers import format_number, format_places, format_rounded
from loadstone.page.blocks import Block, Cell, Column, ColumnKind, Figure, Gallery, Heading, Paragraph, Row, Table, Tone
from loadstone.page.plot import CurveRow, MarkRow, Plot
from loadstone.study.curves import AXIS
from loadstone.study.kinds.compare.platforms.answer import APART_METRIC, PlatformPoint, PlatformsAnswer
from loadstone.study.kinds.compare.platforms.rows import PlatformTable, build_tables
from loadstone.study.metrics import METRICS
from loadstone.study.search.page import SEARCH_COLUMNS, search_cells

DRAWN_BEYOND_PEAKS = 1.5
"""Loads up to so many times the smaller peak are drawn; all are in the table."""
NOTE = (
    "The curves diverge where the 90th percentile is more than 10 % longer on B at a load and at every higher one. "
    "Both platforms ran the same loads one after another. CPU of the system is that of the server processes, or of "
    "the hypervisor process of a machine. The back-end simulator and the driver are excluded. Payload counts "
    "operations that are completely within the steady state; the line's figure includes those cut by its edges. "
    "The CPU time counted by a machine's own kernel differs from the time that the host spends on it."
)
CURVE_COLUMNS = (
    ("response_p90", "p90, s", 4),
    ("response_mean", "mean, s", 4),
    ("good", "good, %", 2),
    ("server_cpu", "CPU of the system, cores", 3),
    ("host_cpu", "CPU of the host, cores", 3),
)
"""Metrics of the table over loads, with their titles and digits."""


def render_blocks(answer: PlatformsAnswer) -> Iterator[Block]:
    """The curves, the rows that published comparisons print, all loads, and the searches."""
    yield Gallery(list(_figures(answer)))
    text = "Users are distributed over all machines of a platform; response times count from the intended start."
    yield Paragraph(text, Tone.QUIET)
    for table in build_tables(answer.names, answer.load, answer.at_peak, answer.typical, answer.common):
        yield Heading(table.title)
        yield _table(answer, table)
    if answer.curve:
        yield Heading("Over loads that both were given")
        yield _curve_table(answer)
    yield Heading("The searches")
    rows = [Row([answer.names[search.side], *search_cells(search.answer)]) for search in answer.searches]
    yield Table([Column("platform", ColumnKind.TEXT), *SEARCH_COLUMNS], rows)
    yield Paragraph(NOTE, Tone.QUIET)


def _table(answer: PlatformsAnswer, table: PlatformTable) -> Table:
    names = (answer.names["a"], answer.names["b"])
    columns = [Column("figure"), *map(Column, names), Column("B by A"), Column("unit", ColumnKind.TEXT)]
    rows = [Row(["verdicts", *table.verdicts, "", ""])] if table.verdicts else []
    for row in table.rows:
        sides = [
            Cell(why, Tone.QUIET) if value is None else Cell(format_places(value, row.digits))
            for value, why in zip((row.a, row.b), row.why_not, strict=True)
        ]
        rows.append(Row([row.title, *sides, format_number(row.ratio, 3), row.unit]))
    return Table(columns, rows)


def _curve_table(answer: PlatformsAnswer) -> Table:
    sides = (answer.names["a"], answer.names["b"])
    columns = [Column(answer.load)]
    columns += [Column(f"{title},\n{side}") for _, title, _ in CURVE_COLUMNS for side in sides]
    columns += [Column(f"verdicts,\n{side}", ColumnKind.TEXT) for side in sides]
    rows = []
    for point in answer.curve:
        metrics = [
            format_number(side.metrics.get(name), digits) for name, _, digits in CURVE_COLUMNS for side in point.sides
        ]
        verdicts = [", ".join(verdict for verdict, count in side.verdicts.items() if count) for side in point.sides]
        rows.append(Row([format_rounded(point.load), *metrics, *verdicts]))
    return Table(columns, rows)


def _figures(answer: PlatformsAnswer) -> Iterator[Figure]:
    """Response time, throughput and both CPU curves over the loads that both platforms were given."""
    names, axis = answer.names, AXIS[answer.load]
    smaller = min((peak for peak in answer.peaks.values() if peak), default=math.inf)
    near = [
        point for point in answer.curve if point.load <= DRAWN_BEYOND_PEAKS * smaller
    ]  # more would flatten the rest
    peaks = [
        (peak, names[side]) for side, peak in answer.peaks.items() if peak and peak <= DRAWN_BEYOND_PEAKS * smaller
    ]
    marks: list[MarkRow] = [{"x": peak, "label": f"peak of {name}"} for peak, name in peaks]
    if answer.parted and answer.parted.at:
        marks.append({"x": answer.parted.at, "label": "parted"})
    for metric, title in ((APART_METRIC, "Response time, 90th percentile"), ("throughput", "Throughput")):
        rows = _rows(near, ((metric, "{name}"),), names)
        if rows:
            plot = Plot(axis, METRICS[metric].axis_title, rows, rows, marks=marks)
            yield Figure(title, "Loads up to one and a half times the smaller peak.", plot)
    rows = _rows(near, (("server_cpu", "{name}: system"), ("host_cpu", "{name}: whole host")), names)
    if rows:
        plot = Plot(axis, "cores", rows, rows, marks=marks)
        yield Figure("CPU", "In cores; the host also runs the driver.", plot)


def _rows(
    curve: Sequence[PlatformPoint], metrics: Sequence[tuple[str, str]], names: Mapping[str, str]
) -> list[CurveRow]:
    return [
        {"x": point.load, "y": side.metrics[metric], "series": series.format(name=name)}
        for metric, series in metrics
        for index, name in enumerate((names["a"], names["b"]))
        for point in curve
        for side in [point.sides[index]]
        if metric in side.metrics
    ]
