"""How a search is shown: curves over the load, every load that was tried, every rule on the way. Pure."""

import math
from collections.abc import Iterator, Sequence

from loadstone.model.numbers import format_ends, format_places, format_rounded
from loadstone.model.records.manifest import StudiedWorkload
from loadstone.page.blocks import Block, Cell, Column, ColumnKind, Fold, Gallery, Paragraph, Row, Table, Tone
from loadstone.study.curves import AXIS, conclude_common, draw_over_load
from loadstone.study.search.answer import SearchAnswer, SearchedLoad
from loadstone.study.summary import RunSummary

DRAWN_BEYOND_PEAK = 1.5
"""Loads up to so many times the peak are drawn; all are in the table."""
SEARCH_METRICS_SHOWN = (
    ("throughput", "operations/s", 1),
    ("response_p95", "p95, s", None),
    ("response_p99", "p99, s", None),
    ("good", "good, %", 2),
    ("tolerable", "tolerable, %", 2),
    ("errors", "errors, %", 2),
    ("server_cpu", "server CPU", 2),
    ("host_cpu", "machine CPU", 2),
    ("driver_cpu", "driver thread, %", 0),
)
"""Metrics of the table, with their titles and digits."""


def render_blocks(answer: SearchAnswer, workload: StudiedWorkload, runs: Sequence[RunSummary]) -> Iterator[Block]:
    """The curves over load, every load that was tried, and every rule on the way."""
    verdicts = {load.at: conclude_common([run.verdict for run in load.runs]) for load in answer.loads}
    marks = [{"x": answer.peak, "label": "peak"}] if answer.peak is not None else []
    far = (
        DRAWN_BEYOND_PEAK * answer.peak if answer.peak is not None else math.inf
    )  # what lies far beyond flattens the rest
    points = [(load.at, _means(load)) for load in answer.loads if load.at <= far]
    yield Gallery(list(draw_over_load(points, AXIS[answer.load], workload, marks, verdicts)))
    text = [Column("standing", ColumnKind.TEXT), Column("runs", ColumnKind.TEXT)]
    columns = [Column(answer.load), *text, *(Column(title) for _, title, _ in SEARCH_METRICS_SHOWN)]
    yield Table([*columns, Column("broken rules", ColumnKind.LONG)], [_row(answer, load) for load in answer.loads])
    yield Paragraph(_note(answer), Tone.QUIET)
    yield Fold("Every rule on the way", [_rules(answer)])


def _means(load: SearchedLoad) -> dict[str, float]:
    return {name: spread.mean for name, spread in load.metrics.items()}


def _row(answer: SearchAnswer, load: SearchedLoad) -> Row:
    is_peak = load.at == answer.peak
    runs = ", ".join(f"{run.verdict} ({run.purpose})" for run in load.runs)
    means = _means(load)
    metrics = [format_places(means.get(name), digits) for name, _, digits in SEARCH_METRICS_SHOWN]
    tone = Tone(conclude_common([run.verdict for run in load.runs]).value)
    name = f"{format_rounded(load.at)}{' (peak)' * is_peak}"
    return Row([name, load.standing, Cell(runs, tone), *metrics, ", ".join(load.broken)], is_total=is_peak)


def _note(answer: SearchAnswer) -> str:
    text = (
        "A load passes when most of its runs do. The failure above the peak occurred at least twice, or was the "
        f"driver's. The peak is verified when {answer.verify} new runs at it all pass. Narrowed to "
        f"{format_rounded(100 * answer.width)} %."
    )
    if answer.interval is None:
        return text
    low, high = format_ends(answer.interval)
    return f"{text} The interval says where a repetition of this search would find its peak: {low} to {high}."


def _rules(answer: SearchAnswer) -> Table:
    columns = [
        Column("rule"),
        *(Column(format_rounded(load.at)) for load in answer.loads),
        Column("limit", ColumnKind.TEXT),
    ]
    rows = []
    for rule in answer.loads[0].rules if answer.loads else ():
        cells: list[str | Cell] = [rule.rule]
        for load in answer.loads:
            check = next((check for check in load.rules if check.id is rule.id), None)
            tone = Tone.BROKEN if rule.rule in load.broken else Tone.PLAIN
            cells.append(Cell(format_rounded(check.figure) if check else "", tone))
        rows.append(Row([*cells, f"{rule.bound} {format_rounded(rule.limit)} {rule.unit}"]))
    return Table(columns, rows)
