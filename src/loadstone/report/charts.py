"""Charts: Altair specifications turned into SVG that follows the page's colors, in print and in the dark."""

from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt
import vl_convert

from loadstone.model.figures import Distribution

Json = dict[str, Any]

INK = "#010203"
"""Stands for the page's text color in a specification; replaced in the picture."""
PALETTE = ["#3b82c4", "#d9822b", "#3a9d5d", "#a05cc4", "#c94f4f", "#8a8f98"]
"""Colors that keep their contrast on white and on black."""
WIDTH, HEIGHT = 420, 170

PHASES = {"ramp_up": "ramp-up", "warm_up": "warm-up", "steady": "steady state", "ramp_down": "ramp-down"}


def svg(chart: alt.TopLevelMixin) -> str:
    """Draws a chart; the picture scales with the page and takes its text color from it."""
    picture: str = vl_convert.vegalite_to_svg(chart.to_dict(validate=False))
    picture = picture.replace(INK, "currentColor")
    return picture.replace("<svg ", '<svg role="img" ', 1)


def lines(rows: Iterable[Json], y_title: str, bands: Sequence[Json] = (), log: bool = False, width: int = WIDTH) -> str:
    """Lines over time: rows of {second, value, series}; bands of {from, to, phase} behind them."""
    data = list(rows)
    series = list(dict.fromkeys(row["series"] for row in data))
    chart = (
        alt.Chart(alt.Data(values=data))
        .mark_line(strokeWidth=1.4, interpolate="linear")
        .encode(
            x=alt.X("second:Q", title="seconds since the start"),
            y=alt.Y("value:Q", title=y_title, scale=alt.Scale(zero=True)),
            color=color(series),
            strokeDash=dash(series),
        )
    )
    return svg(styled(alt.layer(_bands(bands), chart) if bands else chart, width))


def areas(rows: Iterable[Json], y_title: str, width: int = WIDTH) -> str:
    """Stacked areas over time: rows of {second, value, series}."""
    data = list(rows)
    series = list(dict.fromkeys(row["series"] for row in data))
    chart = (
        alt.Chart(alt.Data(values=data))
        .mark_area(opacity=0.85)
        .encode(
            x=alt.X("second:Q", title="seconds since the start"),
            y=alt.Y("value:Q", title=y_title, stack="zero"),
            color=color(series, "square"),
        )
    )
    return svg(styled(chart, width))


def curves(distributions: Sequence[tuple[str, Distribution]], width: int = WIDTH) -> str:
    """Time by percentile, with room for the tail: the share of operations that take longer, on a log scale."""
    rows = [
        {"beyond": max(1 - share, 0.5 / one.count), "value": seconds, "series": name}
        for name, one in distributions
        for seconds, share in one.curve
        if seconds > 0
    ]
    labels = "datum.value <= 0.00001 ? '99.999' : format(100 * (1 - datum.value), '.4~r')"
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(strokeWidth=1.6, interpolate="step-after")
        .encode(
            x=alt.X(
                "beyond:Q",
                title="percentile of operations",
                scale=alt.Scale(type="log", reverse=True, nice=False),
                axis=alt.Axis(labelExpr=labels, values=[1, 0.5, 0.1, 0.01, 0.001, 0.0001, 0.00001]),
            ),
            y=alt.Y("value:Q", title="seconds"),
            color=color([name for name, _ in distributions]),
            strokeDash=dash([name for name, _ in distributions]),
        )
    )
    return svg(styled(chart, width))


def bars(rows: Iterable[Json], x_title: str, width: int = WIDTH) -> str:
    """Stacked horizontal bars: rows of {name, value, series}, in the order given."""
    data = list(rows)
    names = list(dict.fromkeys(row["name"] for row in data))
    series = list(dict.fromkeys(row["series"] for row in data))
    chart = (
        alt.Chart(alt.Data(values=data))
        .mark_bar(height=10)
        .encode(
            y=alt.Y("name:N", sort=names, title=None),
            x=alt.X("value:Q", title=x_title, stack="zero"),
            color=color(series, "square"),
            order=alt.Order("rank:Q"),
        )
    )
    return svg(styled(chart, width, height=15 * len(names)))


def heat(rows: Iterable[Json], names: Sequence[str], window: tuple[float, float], width: int = 2 * WIDTH) -> str:
    """Cells over time, one row a name: rows of {from, to, name, value}; 0 is calm, 1 and beyond is red."""
    scale = alt.Scale(domain=[0, 0.25, 0.5, 1], range=["#3a9d5d", "#c9c23a", "#d9822b", "#c0392b"], clamp=True)
    legend = alt.Legend(title="p99 by limit", orient="top", titleColor=INK)
    cells = (
        alt.Chart(alt.Data(values=list(rows)))
        .mark_rect(stroke=None)
        .encode(
            x=alt.X("from:Q", title="seconds since the first start"),
            x2="to:Q",
            y=alt.Y("name:N", sort=list(names), title=None),
            color=alt.Color("value:Q", scale=scale, legend=legend),
        )
    )
    edges = alt.Chart(alt.Data(values=[{"x": edge} for edge in window])).mark_rule(color=INK, strokeDash=[4, 3])
    return svg(styled(alt.layer(cells, edges.encode(x="x:Q")), width, height=17 * max(2, len(names))))


def phase_bands(intervals: Sequence[Json]) -> list[Json]:
    """Where each phase lies, from the driver's interval records."""
    bands: list[Json] = []
    for interval in intervals:
        start, end = (interval["at_ns"] - interval["length_ns"]) / 1e9, interval["at_ns"] / 1e9
        if bands and bands[-1]["phase"] == PHASES.get(interval["phase"]):
            bands[-1]["to"] = end
        else:
            bands.append({"from": start, "to": end, "phase": PHASES.get(interval["phase"], interval["phase"])})
    return bands


def _bands(bands: Sequence[Json]) -> alt.Chart:
    """Shades everything that is not steady state."""
    shaded = [band for band in bands if band["phase"] != PHASES["steady"]]
    chart: alt.Chart = alt.Chart(alt.Data(values=shaded)).mark_rect(color="#8a8f98", opacity=0.16)
    banded: alt.Chart = chart.encode(x="from:Q", x2="to:Q")
    return banded


def color(series: Sequence[str], symbol: str = "stroke", named: Sequence[str] | None = None) -> alt.Color:
    """Colors of series, with a legend where there are several: of all, or of those to be named."""
    colors = [PALETTE[at % len(PALETTE)] for at in range(len(series))]
    shown = list(series if named is None else named)
    legend = None
    if shown and len(series) > 1:
        legend = alt.Legend(title=None, orient="top", symbolType=symbol, values=shown)
    return alt.Color("series:N", sort=list(series), scale=alt.Scale(domain=list(series), range=colors), legend=legend)


def dash(series: Sequence[str]) -> alt.StrokeDash:
    """Dashes for all but the first, so that lines that lie upon each other both show."""
    dashes = [[1, 0], [5, 3], [2, 2], [8, 3, 2, 3]]
    ranges = [dashes[at % len(dashes)] for at in range(len(series))]
    return alt.StrokeDash(
        "series:N", sort=list(series), scale=alt.Scale(domain=list(series), range=ranges), legend=None
    )


def styled(chart: Any, width: int, height: int = HEIGHT) -> alt.TopLevelMixin:
    """A chart in the house's style."""
    styled: alt.TopLevelMixin = (
        chart.properties(width=width, height=height, background="transparent")
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=INK,
            titleColor=INK,
            domainColor="#8a8f98",
            tickColor="#8a8f98",
            gridColor="#8a8f98",
            gridOpacity=0.25,
            titleFontWeight="normal",
            labelFont="sans-serif",
            titleFont="sans-serif",
        )
        .configure_legend(labelColor=INK, labelFont="sans-serif")
    )
    return styled
