"""What a report shows of a suite: every cell, and the ratios beside those of the published tests. Pure."""

from collections.abc import Iterator, Sequence

from loadstone.judge.statistics import compute_least_for_unpaired
from loadstone.model.numbers import format_chance, format_number
from loadstone.model.records.manifest import StudiedWorkload
from loadstone.page.blocks import Block, Cell, Column, ColumnKind, Figure, Gallery, Heading, Paragraph, Row, Table, Tone
from loadstone.page.plot import BarPlot, Plot
from loadstone.study.kinds.suite.answer import (
    Ratio,
    SuiteAnswer,
    TuningDifference,
    compute_efficiencies,
    compute_mechanism_ratios,
    compute_tls_costs,
    compute_tuning_differences,
)
from loadstone.study.kinds.suite.cells import CellResult
from loadstone.study.kinds.suite.published import PUBLISHED_TESTS
from loadstone.study.summary import RunSummary

NOTE = (
    "Clients send a request as soon as they have a response. Clients waiting is throughput times response time: by "
    "Little's law all clients, except for the time between a response and the next request. A throughput limited by "
    "the driver, or of a run that cannot be judged, is in brackets and in no ratio."
)
SHAPE = (
    "Published figures are another server's on another machine (Sun Java System Web Server 7, sizing guide). "
    "Compare their shape only, never absolute values. No result here is one of theirs."
)
SUITE_COLUMNS = (
    *("server", "test", "tuning"),
    *("cores", "clients", "operations/s", "mean response, ms", "clients waiting", "CPU of its cores, %"),
)


def render_blocks(answer: SuiteAnswer, workload: StudiedWorkload, runs: Sequence[RunSummary]) -> Iterator[Block]:
    """Every cell; TLS, mechanisms, tunings and cores; the published rows."""
    cells = answer.cells
    yield Gallery([_picture(cells), *_over_cores(cells)] if cells else [])
    columns = [Column(title, ColumnKind.TEXT) for title in SUITE_COLUMNS[:3]] + [
        Column(title) for title in SUITE_COLUMNS[3:]
    ]
    columns += [Column("open: mean response, ms"), Column("bottleneck", ColumnKind.LONG)]
    yield Table(columns, [_row(cell) for cell in cells])
    yield Paragraph(NOTE, Tone.QUIET)
    yield from _ratios(
        "Throughput without TLS, divided by throughput with TLS",
        list(compute_tls_costs(cells)),
        lambda ratio: ratio.over.cell.test,
    )
    yield from _ratios("Mechanisms", list(compute_mechanism_ratios(cells)), _mechanisms)
    yield from _tunings(compute_tuning_differences(cells))
    yield from _cores(list(compute_efficiencies(cells)))
    yield from _published(cells)


def _picture(cells: Sequence[CellResult]) -> Figure:
    rows = [
        {"name": cell.cell.title, "value": cell.mean or 0.0, "series": str(cell.cell.tuning), "rank": index}
        for index, cell in enumerate(cells)
    ]
    return Figure("Throughput of each cell", "Operations per second.", BarPlot("operations per second", rows))


def _over_cores(cells: Sequence[CellResult]) -> Iterator[Figure]:
    """Yields throughput over cores for each test that ran on several numbers of them."""
    for test in dict.fromkeys(cell.cell.test for cell in cells):
        rows = [
            {"x": cell.cell.cores, "y": cell.mean, "series": f"{cell.cell.service}, {cell.cell.tuning}"}
            for cell in cells
            if cell.cell.test == test and cell.is_sound and cell.mean is not None
        ]
        if len({row["x"] for row in rows}) > 1:
            yield Figure(test, "Throughput over cores.", Plot("cores", "operations per second", rows, rows))


def _row(cell: CellResult) -> Row:
    declared, mean = cell.cell, format_number(cell.mean, 1)
    held = "the driver" if cell.is_driver_bound else "; ".join(cell.doubts) or cell.bottleneck
    return Row(
        [
            *(declared.service, declared.test, str(declared.tuning), str(declared.cores), str(cell.clients)),
            Cell(mean if cell.is_sound else f"({mean})", Tone.PLAIN if cell.is_sound else Tone.QUIET),
            _ms(cell.response_s),
            format_number(cell.waiting, 1),
            format_number(None if cell.cpu_share is None else 100 * cell.cpu_share, 0),
            _ms(cell.open_response_s),
            held,
        ]
    )


def _ms(value_s: float | None) -> str:
    return format_number(None if value_s is None else 1000 * value_s, 2)


def _mechanisms(ratio: Ratio) -> str:
    return f"{ratio.over.cell.test} by {ratio.under.cell.test}"


def _ratios(title: str, ratios: Sequence[Ratio], named: object) -> Iterator[Block]:
    if not ratios:
        return
    assert callable(named)
    yield Heading(title)
    columns = [Column(title, ColumnKind.TEXT) for title in ("server", "tuning", "test")]
    columns += [Column(title) for title in ("cores", "ratio", "published (6 cores)")]
    yield Table(columns, [_ratio_row(ratio, named(ratio)) for ratio in ratios])


def _ratio_row(ratio: Ratio, name: str) -> Row:
    cell = ratio.over.cell
    value = format_number(ratio.value, 2) if ratio.value is not None else "unknown"
    return Row([cell.service, str(cell.tuning), name, str(cell.cores), value, format_number(ratio.published, 2)])


def _tunings(differences: Sequence[TuningDifference]) -> Iterator[Block]:
    if not differences:
        return
    yield Heading("Tuned by default")
    columns = [Column(title, ColumnKind.TEXT) for title in ("server", "test")]
    columns += [Column(title) for title in ("cores", "ratio", "p")] + [Column("difference", ColumnKind.TEXT)]
    yield Table(columns, [_tuning_row(difference) for difference in differences])
    yield Paragraph(
        f"p by permuting the runs of both sides, corrected for all {len(differences)} tests of this table (Holm); "
        f"that needs {compute_least_for_unpaired(len(differences))} further runs of each side (--rounds). "
        "The server's module declares the settings of a tuning; each run's logs contain its files and commands.",
        Tone.QUIET,
    )


def _tuning_row(difference: TuningDifference) -> Row:
    cell, value = difference.ratio.over.cell, difference.ratio.value
    outcome = "not tested: too few runs" if difference.p is None else ("found" if difference.is_found else "none found")
    shown = format_number(value, 2) if value is not None else "unknown"
    return Row(
        [
            cell.service,
            cell.test,
            str(cell.cores),
            shown,
            "" if difference.p is None else format_chance(difference.p),
            outcome,
        ]
    )


def _cores(efficiencies: Sequence[tuple[Ratio, float]]) -> Iterator[Block]:
    if not efficiencies:
        return
    yield Heading("Efficiency by cores")
    columns = [Column(title, ColumnKind.TEXT) for title in ("server", "test", "tuning")]
    columns += [
        Column(title) for title in ("cores", "times the fewest", "efficiency", "published (three times the cores)")
    ]
    rows = []
    for ratio, efficiency in efficiencies:
        cell = ratio.over.cell
        test = PUBLISHED_TESTS.get((cell.mechanism, cell.tls))
        published = format_number(test.efficiency if test else None, 3)
        figures = [str(cell.cores), format_number(ratio.value, 2), format_number(efficiency, 3), published]
        rows.append(Row([cell.service, cell.test, str(cell.tuning), *figures]))
    yield Table(columns, rows)


def _published(cells: Sequence[CellResult]) -> Iterator[Block]:
    tests = dict.fromkeys((cell.cell.mechanism, cell.cell.tls) for cell in cells)
    known = {key: PUBLISHED_TESTS[key] for key in tests if key in PUBLISHED_TESTS}
    if not known:
        return
    yield Heading("The published tests")
    columns = [Column("test", ColumnKind.TEXT), Column("table", ColumnKind.TEXT)]
    columns += [Column(f"{cores} cores: {title}") for cores in (2, 4, 6) for title in ("operations/s", "ms", "clients")]
    columns.append(Column("efficiency"))
    rows = []
    for (mechanism, tls), test in known.items():
        each = zip(test.throughput, test.response_ms, test.clients, strict=True)
        figures = [
            text
            for rate, ms, clients in each
            for text in (format_number(rate), format_number(ms), format_number(clients, 1))
        ]
        name = f"{mechanism} over TLS" if tls else str(mechanism)
        rows.append(Row([name, test.table, *figures, format_number(test.efficiency, 3)]))
    yield Table(columns, rows)
    yield Paragraph(SHAPE, Tone.QUIET)
