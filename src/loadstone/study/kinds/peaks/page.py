"""How peaks are shown: beside each other, over the load, with their intervals and ratios. Pure."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from loadstone.model.numbers import format_number
from loadstone.model.records.manifest import StudiedWorkload
from loadstone.page.blocks import Block, Column, ColumnKind, Gallery, Heading, Paragraph, Row, Table, Tone
from loadstone.study.kinds.peaks.answer import PeakPoint, PeakRatio, PeaksOverAnswer, list_platforms
from loadstone.study.kinds.peaks.figures import choose_response, count_cpus, draw_figures
from loadstone.study.search.page import SEARCH_COLUMNS, search_cells
from loadstone.study.settings import write_value
from loadstone.study.summary import RunSummary

PUBLISHED_RATIO = 0.90
"""Virtual by native, at least: what the published study found (docs/studies.md)."""
PEAK_LEVELS = (0.5, 0.7, 0.9)
"""Shares of a point's CPUs at which response times are set beside each other; published: alike up to the last
(docs/studies.md).
"""
NOTE = (
    "Each peak is a search of its own: its interval says where a repetition would find it. CPU at 80 % of a peak is of "
    "a run made for that. A ratio's interval is what both searches' intervals allow together, so it is rather "
    "wide; one that holds 1 shows no difference."
)


def render_blocks(answer: PeaksOverAnswer, workload: StudiedWorkload, runs: Sequence[RunSummary]) -> Iterator[Block]:
    """Peaks beside each other, curves over the load, every peak with its interval, the ratios."""
    yield Gallery(list(draw_figures(answer)))
    columns = [*(Column(name, ColumnKind.TEXT) for name in answer.over), *SEARCH_COLUMNS]
    yield Table([*columns, Column("CPU at 80 %, cores")], [_row(answer, point) for point in answer.points])
    yield from _ratios(f"Platforms (published: at least {PUBLISHED_RATIO:.2f})", answer.platforms)
    yield from _ratios("Against the first point", answer.others)
    yield from _up_and_out(answer)
    yield Paragraph(NOTE, Tone.QUIET)


def _up_and_out(answer: PeaksOverAnswer) -> Iterator[Block]:
    """Response times of points that have as many CPUs in other machines, where they use as many of them."""
    metric, title = choose_response(answer)
    rows = []
    for index, over in enumerate(answer.points):
        for under in answer.points[:index]:
            if (
                count_cpus(over)
                and count_cpus(over) == count_cpus(under)
                and list_platforms(over) == list_platforms(under)
            ):
                ratios = [_times(over, under, level * count_cpus(over), metric) for level in PEAK_LEVELS]
                rows.append(
                    Row([over.name, under.name, *(format_number(ratio, 2) or "not measured" for ratio in ratios)])
                )
    if not rows:
        return
    yield Heading("As many CPUs in other machines")
    caption = (
        f"{title}, one by the other, at the loads where both use so much of their CPUs; between two runs by a line."
    )
    yield Paragraph(f"{caption} Published: alike up to {100 * PEAK_LEVELS[-1]:.0f} %.")
    columns = [Column("of", ColumnKind.TEXT), Column("by that of", ColumnKind.TEXT)]
    yield Table([*columns, *(Column(f"at {100 * level:.0f} %") for level in PEAK_LEVELS)], rows)


def _times(over: PeakPoint, under: PeakPoint, used: float, metric: str) -> float | None:
    above, below = (_at_use(point, used, metric) for point in (over, under))
    return above / below if above is not None and below else None


def _at_use(point: PeakPoint, used: float, metric: str) -> float | None:
    """A response time where so many CPUs are used; None beyond what was measured of loads up to the peak."""
    seen = sorted(
        (load.metrics["server_cpu"].mean, load.metrics[metric].mean)
        for load in point.search.loads
        if {"server_cpu", metric} <= load.metrics.keys() and load.at <= (point.search.peak or 0)
    )
    for (low, fast), (high, slow) in pairwise(seen):
        if low <= used <= high:
            return fast + (slow - fast) * (used - low) / (high - low) if high > low else fast
    return None


def _row(answer: PeaksOverAnswer, point: PeakPoint) -> Row:
    return Row(
        [
            *(write_value(point.at[name]) for name in answer.over),
            *search_cells(point.search),
            format_number(point.cpu_below, 2),
        ]
    )


def _ratios(title: str, ratios: Sequence[PeakRatio]) -> Iterator[Block]:
    if not ratios:
        return
    yield Heading(title)
    columns = [Column("peak of", ColumnKind.TEXT), Column("by that of", ColumnKind.TEXT)]
    rows = [
        Row(
            [
                ratio.over,
                ratio.under,
                format_number(ratio.ratio, 2),
                format_number(ratio.low, 2),
                format_number(ratio.high, 2),
            ]
        )
        for ratio in ratios
    ]
    yield Table([*columns, Column("ratio"), Column("at least"), Column("at most")], rows)
