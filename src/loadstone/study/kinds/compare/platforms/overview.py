"""All workloads of a comparison of platforms in two pictures, normalised to the first platform. Pure."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from loadstone.page.blocks import Block, Figure, Gallery, Heading, Paragraph, Tone
from loadstone.page.plot import PairedBarPlot
from loadstone.study.kinds.compare.platforms.answer import PlatformsAnswer, compute_indices
from loadstone.study.summary import ComparedSide

INDEX = "web index"
"""What the bar of all three web sites is called."""
NOTE = (
    "Each bar is a figure divided by that of the first platform. The line on the second bar of a peak goes from the "
    "smallest to the largest ratio that the intervals of both searches allow. Response times are means at 80 % of the "
    "first platform's peak."
)

Sides = tuple[float | None, float | None]


def show_platforms(answers: Sequence[PlatformsAnswer]) -> Iterator[Block]:
    """Yields the peaks and the response times of all workloads, each normalised; nothing where nothing has a ratio."""
    figures = [figure for figure in (_peaks(answers), _response_times(answers)) if figure is not None]
    if figures:
        yield Heading("All workloads, normalised", 2, "overview")
        yield Gallery(figures)
        yield Paragraph(NOTE, Tone.QUIET)


def _peaks(answers: Sequence[PlatformsAnswer]) -> Figure | None:
    rows = _rows(answers, lambda answer: (answer.peaks["a"], answer.peaks["b"]), _peak_interval)
    index = compute_indices(answers)
    if rows and index is not None:
        rows += _pair(answers[0], INDEX, (index.a, index.b), (None, None))
    caption = "The largest load that passed every rule."
    return _figure("Peaks by the first platform", caption, rows)


def _response_times(answers: Sequence[PlatformsAnswer]) -> Figure | None:
    rows = _rows(answers, _typical_means, lambda answer: (None, None))
    return _figure("Response time by the first platform", "The mean, at 80 % of the first platform's peak.", rows)


def _figure(title: str, caption: str, rows: list[dict[str, Any]]) -> Figure | None:
    return Figure(title, caption, PairedBarPlot("ratio", rows)) if rows else None


def _rows(
    answers: Sequence[PlatformsAnswer],
    sides: Callable[[PlatformsAnswer], Sides],
    interval: Callable[[PlatformsAnswer], Sides],
) -> list[dict[str, Any]]:
    return [row for answer in answers for row in _pair(answer, answer.workload, sides(answer), interval(answer))]


def _pair(answer: PlatformsAnswer, name: str, sides: Sides, interval: Sides) -> Iterator[dict[str, Any]]:
    """Yields the bars of a workload; none where a side has no figure."""
    a, b = sides
    if a and b is not None:
        low, high = interval
        yield {"name": name, "series": answer.names["a"], "value": 1.0, "low": None, "high": None}
        yield {"name": name, "series": answer.names["b"], "value": b / a, "low": low, "high": high}


def _typical_means(answer: PlatformsAnswer) -> Sides:
    if answer.typical is None:
        return None, None
    a, b = (side.metrics.get("response_mean") for side in answer.typical.sides)
    return a, b


def _peak_interval(answer: PlatformsAnswer) -> Sides:
    """Returns the smallest and the largest ratio of the peaks that the intervals of both searches allow."""
    intervals = {search.side: search.answer.interval for search in answer.searches}
    a, b = intervals.get(ComparedSide.A), intervals.get(ComparedSide.B)
    if a is None or b is None or not a[0]:
        return None, None
    return b[0] / a[1], b[1] / a[0]
