"""How a comparison at loads is shown: all differences with intervals, pair by pair, a table of every metric. Pure."""

from collections.abc import Iterator

from loadstone.judge.statistics import CONFIDENCE_LEVEL
from loadstone.model.numbers import format_number, format_rounded, format_signed_percent
from loadstone.page.blocks import Block, Cell, Column, ColumnKind, Figure, Gallery, Heading, Paragraph, Row, Table, Tone
from loadstone.page.plot import DifferencePlot, DifferenceRow, Plot
from loadstone.study.difference import ComparedMetric, FoundDifference
from loadstone.study.kinds.compare.loads.answer import CompareAnswer, ComparedLoad
from loadstone.study.metrics import METRICS
from loadstone.study.summary import ComparedSide

WIDEST_PCT = 50
"""Intervals that reach further say so little that they would flatten all others."""


def render_blocks(answer: CompareAnswer) -> Iterator[Block]:
    """All differences with their intervals, pair by pair, and a table of every metric."""
    yield Gallery([figure for load in answer.loads for figure in _figures(answer, load)])
    for load in answer.loads:
        if load.load:
            yield Heading(", ".join(f"{name}={value}" for name, value in load.load.items()))
        titles = ("figure", "A, mean", "B, mean", "B against A, %", "interval, %", "p")
        columns = [*map(Column, titles), Column("in words", ColumnKind.TEXT)]
        yield Table(columns, [_row(name, metric, name == answer.metric) for name, metric in load.metrics.items()])
    is_duet = any(load.is_duet for load in answer.loads)
    order = (
        "Both runs of a pair run at the same time, each on half of the cores; the halves are swapped between pairs."
        if is_duet
        else "The order within pairs is random: each order occurs once in every two pairs."
    )
    note = (
        f"{order} The test permutes A and B within each pair; its interval contains the ratios that the same test "
        f"does not reject. The question is about {answer.metric.replace('_', ' ')}. Each other figure is tested "
        "separately, so one in twenty is found by chance."
    )
    yield Paragraph(note, Tone.QUIET)


def _row(name: str, compared: ComparedMetric, is_asked: bool) -> Row:
    head = [name.replace("_", " "), format_rounded(compared.a.mean), format_rounded(compared.b.mean)]
    main = compared.difference
    if main is None:
        return Row([*head, "", "", *_p_cells(compared.apart_p)], is_asked)
    interval = "" if main.low is None else f"{format_signed_percent(main.low)} to {format_signed_percent(main.high)}"
    tone = Tone.BROKEN if main.is_found else Tone.PLAIN
    return Row(
        [*head, format_signed_percent(main.ratio), interval, Cell(format_number(main.p, 3), tone), _means(main)],
        is_asked,
    )


def _p_cells(p: float | None) -> tuple[Cell | str, str]:
    """The chance of a difference that has no ratio, and what it amounts to."""
    if p is None:
        return "", "a value is 0"
    is_found = p <= 1 - CONFIDENCE_LEVEL
    means = "a difference" if is_found else "no difference found"
    return Cell(format_number(p, 3), Tone.BROKEN if is_found else Tone.PLAIN), f"{means} (no ratio: a value is 0)"


def _means(difference: FoundDifference) -> str:
    if difference.is_found:
        return "a difference"
    if difference.excluded_pct is None:
        return "too few pairs"
    return f"larger than {format_number(difference.excluded_pct, 1)} % can be excluded"


def _figures(answer: CompareAnswer, load: ComparedLoad) -> Iterator[Figure]:
    suffix = "".join(f", {name}={value}" for name, value in load.load.items())
    percents = [_in_percent(name, metric.difference) for name, metric in load.metrics.items() if metric.difference]
    drawn = [row for row in percents if _is_narrow(row)]
    if drawn:
        caption = f"B against A with intervals; red: found by the test. Beyond {WIDEST_PCT} % only in the table."
        yield Figure(f"Differences{suffix}", caption, DifferencePlot("difference of B, %", drawn))
    compared = load.metrics.get(answer.metric)
    if compared is not None:
        metric = METRICS[answer.metric]
        sides = ((ComparedSide.A, compared.a), (ComparedSide.B, compared.b))
        rows = [
            {"x": pair, "y": value, "series": side.upper()}
            for side, series in sides
            for pair, value in enumerate(series.values, start=1)
        ]
        plot = Plot("pair", metric.axis_title, rows, rows, from_zero=False)
        yield Figure(f"{metric.plot_title}{suffix}", "Pair by pair, in order of time.", plot)


def _is_narrow(row: DifferenceRow) -> bool:
    low, high = row["low"], row["high"]
    return low is not None and high is not None and max(-low, high) <= WIDEST_PCT


def _in_percent(name: str, difference: FoundDifference) -> DifferenceRow:
    return DifferenceRow(
        name=name.replace("_", " "),
        value=_percent(difference.ratio),
        low=_percent(difference.low),
        high=_percent(difference.high),
        is_found=difference.is_found,
    )


def _percent(ratio: float | None) -> float | None:
    return None if ratio is None else 100 * (ratio - 1)
