"""Drawing plots: Altair specifications turned into SVG that follows the page's colors, in print and in the dark."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import altair as alt
import vl_convert
from altair.utils.schemapi import debug_mode

from loadstone.page.plot import (
    AnyPlot,
    BarPlot,
    CrowdPlot,
    DifferencePlot,
    HeatPlot,
    PercentilePlot,
    Plot,
    Rows,
    TimePlot,
)

INK = "#010203"
"""Stands for the page's text color in a specification; replaced in the picture."""
PALETTE = ["#3b82c4", "#d9822b", "#3a9d5d", "#a05cc4", "#c94f4f", "#8a8f98"]
"""Colors that keep their contrast on white and on black."""
GREY, RED, GREEN = "#8a8f98", "#c94f4f", "#3a9d5d"
OUTCOMES = {"pass": GREEN, "fail": RED, "invalid": "#d9822b"}
"""Colors of points by the verdict of their run."""
WIDTH, HEIGHT = 420, 170
PADDING = {"left": 14, "top": 5, "right": 5, "bottom": 5}
"""Points about a picture; on the left more, for browsers' fonts may be wider than the ones it was measured with."""
ROOM: Any = {"columnPadding": 30, "labelLimit": 190}
"""Points between series of a legend: browsers' fonts may be wider than the ones it was measured with."""
LEGEND_COLUMNS = 3
"""Series side by side in a legend: more would take the picture's width from it."""
COUNTED = ("run", "pair", "search")
"""Axes on which there is nothing between two whole numbers."""
STEADY = "steady state"
MOST_POINTS = 2000
"""Points of a series; a picture has about a quarter as many columns."""


def draw(plot: AnyPlot, width: int = WIDTH) -> str:
    """The picture as SVG; it scales with the page and takes its text color from it."""
    with debug_mode(False):  # each point would be checked against a schema
        return _drawn(plot, width)


def _drawn(plot: AnyPlot, width: int) -> str:
    match plot:
        case Plot():
            return _svg(_plot(plot), width)
        case DifferencePlot():
            return _svg(_differences(plot), width, height=22 * max(2, len(plot.rows)))
        case TimePlot():
            return _svg(_over_time(plot), width)
        case PercentilePlot():
            return _svg(_percentiles(plot), width)
        case BarPlot():
            return _svg(_bars(plot), width, height=15 * len({row["name"] for row in plot.rows}))
        case CrowdPlot():
            return _svg(_crowds(plot), width)
        case HeatPlot():
            return _svg(_heat(plot), 2 * WIDTH, height=17 * max(2, len(plot.names)))


def _svg(chart: Any, width: int, height: int = HEIGHT) -> str:
    styled = (
        chart.properties(width=width, height=height, background="transparent", padding=PADDING)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=INK,
            titleColor=INK,
            domainColor=GREY,
            tickColor=GREY,
            gridColor=GREY,
            gridOpacity=0.25,
            titleFontWeight="normal",
            labelFont="sans-serif",
            titleFont="sans-serif",
        )
        .configure_legend(labelColor=INK, labelFont="sans-serif")
    )
    picture: str = vl_convert.vegalite_to_svg(styled.to_dict(validate=False))
    return picture.replace(INK, "currentColor").replace("<svg ", '<svg role="img" ', 1)


def _of(rows: Rows) -> alt.Chart:
    return alt.Chart(alt.Data(values=[dict(row) for row in rows]))


def _series(rows: Rows) -> list[str]:
    return list(dict.fromkeys(row["series"] for row in rows if "series" in row))


def _color(series: Sequence[str], symbol: str = "stroke", named: Sequence[str] | None = None) -> alt.Color:
    """Colors of series, with a legend where there are several: of all, or of those to be named."""
    colors = [PALETTE[at % len(PALETTE)] for at in range(len(series))]
    shown = list(series if named is None else named)
    legend = None
    if shown and len(series) > 1:
        legend = alt.Legend(title=None, orient="top", symbolType=symbol, values=shown, columns=LEGEND_COLUMNS, **ROOM)
    return alt.Color("series:N", sort=list(series), scale=alt.Scale(domain=list(series), range=colors), legend=legend)


def _dash(series: Sequence[str]) -> alt.StrokeDash:
    """Dashes for all but the first, so that lines that lie upon each other both show."""
    dashes = [[1, 0], [5, 3], [2, 2], [8, 3, 2, 3]]
    ranges = [dashes[at % len(dashes)] for at in range(len(series))]
    scale = alt.Scale(domain=list(series), range=ranges)
    return alt.StrokeDash("series:N", sort=list(series), scale=scale, legend=None)


def _thinned(rows: Rows, is_stacked: bool) -> Rows:
    """Rows of a long run: of each series the smallest and the largest value of as many spans as a picture can show; of
    values on top of each other the same seconds of all series.
    """
    by_series: dict[str, list[Any]] = {}
    for row in rows:
        by_series.setdefault(row.get("series", ""), []).append(row)
    kept: list[Any] = []
    for held in by_series.values():
        span = -(-2 * len(held) // MOST_POINTS)
        if len(held) <= MOST_POINTS:
            kept += held
        elif is_stacked:
            kept += held[:: -(-len(held) // MOST_POINTS)]
        else:
            for at in range(0, len(held), span):
                part = held[at : at + span]
                places = {part.index(pick(part, key=lambda row: row["value"])) for pick in (min, max)}
                kept += [part[place] for place in sorted(places)]
    return kept


def _over_time(plot: TimePlot) -> Any:
    plot = replace(plot, rows=_thinned(plot.rows, plot.is_stacked))
    series = _series(plot.rows)
    second = alt.X("second:Q", title="seconds since the start")
    if plot.is_stacked:
        value = alt.Y("value:Q", title=plot.y_title, stack="zero")
        return _of(plot.rows).mark_area(opacity=0.85).encode(x=second, y=value, color=_color(series, "square"))
    value = alt.Y("value:Q", title=plot.y_title, scale=alt.Scale(zero=True))
    line = _of(plot.rows).mark_line(strokeWidth=1.4, interpolate="linear")
    chart = line.encode(x=second, y=value, color=_color(series), strokeDash=_dash(series))
    return alt.layer(_shaded(plot.bands), chart) if plot.bands else chart


def _shaded(bands: Rows) -> Any:
    """Shades everything that is not steady state."""
    others = [band for band in bands if band["phase"] != STEADY]
    return _of(others).mark_rect(color=GREY, opacity=0.16).encode(x="from:Q", x2="to:Q")


def _percentiles(plot: PercentilePlot) -> Any:
    series = _series(plot.rows)
    labels = "datum.value <= 0.00001 ? '99.999' : format(100 * (1 - datum.value), '.4~r')"
    ticks = alt.Axis(labelExpr=labels, values=[1, 0.5, 0.1, 0.01, 0.001, 0.0001, 0.00001])
    scale = alt.Scale(type="log", reverse=True, nice=False)
    beyond = alt.X("beyond:Q", title=f"percentile of {plot.of}", scale=scale, axis=ticks)
    line = _of(plot.rows).mark_line(strokeWidth=1.6, interpolate="step-after")
    value = alt.Y("value:Q", title="seconds")
    return line.encode(x=beyond, y=value, color=_color(series), strokeDash=_dash(series))


def _bars(plot: BarPlot) -> Any:
    names = list(dict.fromkeys(row["name"] for row in plot.rows))
    return (
        _of(plot.rows)
        .mark_bar(height=10)
        .encode(
            y=alt.Y("name:N", sort=names, title=None),
            x=alt.X("value:Q", title=plot.x_title, stack="zero"),
            color=_color(_series(plot.rows), "square"),
            order=alt.Order("rank:Q"),
        )
    )


def _heat(plot: HeatPlot) -> Any:
    scale = alt.Scale(domain=[0, 0.25, 0.5, 1], range=[GREEN, "#c9c23a", "#d9822b", "#c0392b"], clamp=True)
    legend = alt.Legend(title="p99 by limit", orient="top", titleColor=INK)
    cells = (
        _of(plot.rows)
        .mark_rect(stroke=None)
        .encode(
            x=alt.X("from:Q", title="seconds since the first start"),
            x2="to:Q",
            y=alt.Y("name:N", sort=list(plot.names), title=None),
            color=alt.Color("value:Q", scale=scale, legend=legend),
        )
    )
    edges = _of([{"x": edge} for edge in plot.window]).mark_rule(color=INK, strokeDash=[4, 3])
    return alt.layer(cells, edges.encode(x="x:Q"))


def _crowds(plot: CrowdPlot) -> Any:
    """The more of a second's operations, the darker."""
    many = alt.Color(
        "value:Q", title="operations", scale=alt.Scale(type="log", range=["#c9dcee", "#0b3a66"]), legend=None
    )
    time = alt.Y("low:Q", title="milliseconds", scale=alt.Scale(type="log", nice=False))
    cells = (
        _of(plot.rows)
        .mark_rect(stroke=None)
        .encode(x=alt.X("from:Q", title="seconds since the start"), x2="to:Q", y=time, y2="high:Q", color=many)
    )
    return alt.layer(_shaded(plot.bands), cells) if plot.bands else cells


def _differences(plot: DifferencePlot) -> Any:
    names = [row["name"] for row in plot.rows]
    base = _of(plot.rows).encode(y=alt.Y("name:N", sort=names, title=None))
    colour = alt.condition("datum.found", alt.value(RED), alt.value(PALETTE[0]))
    spans = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=plot.x_title), x2="high:Q", color=colour)
    points = base.mark_point(filled=True, size=50, opacity=1)
    points = points.encode(x=alt.X("value:Q", title=plot.x_title), color=colour)
    zero = _of([{"x": 0}]).mark_rule(color=INK, strokeDash=[3, 3]).encode(x="x:Q")
    return alt.layer(zero, spans, points)


def _plot(plot: Plot) -> Any:
    series = _series([*plot.lines, *plot.points])
    layers = [*_bands(plot), *_lines(plot, series), *_spans(plot), *_points(plot, series), *_marks(plot)]
    return alt.layer(*layers).resolve_scale(color="independent")


def _x(plot: Plot) -> alt.X:
    whole = alt.Axis(tickMinStep=1) if plot.x_title in COUNTED else alt.Axis()
    return alt.X("x:Q", title=plot.x_title, scale=alt.Scale(zero=False, nice=True), axis=whole)


def _y(plot: Plot, field: str = "y") -> alt.Y:
    return alt.Y(f"{field}:Q", title=plot.y_title, scale=alt.Scale(zero=plot.from_zero))


def _bands(plot: Plot) -> list[Any]:
    if not plot.bands:
        return []
    area = _of(plot.bands).mark_area(color=PALETTE[0], opacity=0.2)
    return [area.encode(x=_x(plot), y=_y(plot, "low"), y2="high:Q")]


def _lines(plot: Plot, series: Sequence[str]) -> list[Any]:
    if not plot.lines:
        return []
    line = _of(plot.lines).mark_line(strokeWidth=1.6)
    drawn = [name for name in series if any(row["series"] == name for row in plot.lines)]
    return [line.encode(x=_x(plot), y=_y(plot), color=_color(series, "stroke", drawn), strokeDash=_dash(series))]


def _spans(plot: Plot) -> list[Any]:
    if not plot.spans:
        return []
    rule = _of(plot.spans).mark_rule(color=GREY, strokeWidth=1.5)
    return [rule.encode(x=_x(plot), y=_y(plot, "low"), y2="high:Q")]


def _points(plot: Plot, series: Sequence[str]) -> list[Any]:
    plain = [row for row in plot.points if "verdict" not in row]
    judged = [row for row in plot.points if "verdict" in row]
    layers = []
    if plain:
        dots = _of(plain).mark_point(filled=True, size=34, opacity=0.9)
        drawn = {row["series"] for row in plot.lines}
        named = [name for name in series if name not in drawn]
        layers.append(dots.encode(x=_x(plot), y=_y(plot), color=_color(series, "circle", named)))
    if judged:
        layers.append(_judged(plot, judged))
    return layers


def _judged(plot: Plot, rows: Sequence[Mapping[str, Any]]) -> Any:
    there = [name for name in OUTCOMES if any(row["verdict"] == name for row in rows)]
    scale = alt.Scale(domain=there, range=[OUTCOMES[name] for name in there])
    legend = alt.Legend(title=None, orient="top", symbolType="circle")
    dots = _of(rows).mark_point(filled=True, size=38, opacity=0.9)
    return dots.encode(x=_x(plot), y=_y(plot), color=alt.Color("verdict:N", scale=scale, legend=legend))


def _marks(plot: Plot) -> list[Any]:
    layers = []
    if plot.limits:
        rule = _of(plot.limits).mark_rule(color=RED, strokeDash=[6, 3])
        layers.append(rule.encode(y=_y(plot)))
        text = _of(plot.limits).mark_text(align="left", dx=4, dy=-5, color=INK, fontSize=10)
        layers.append(text.encode(y=_y(plot), x=alt.value(0), text="label:N"))
    for place, mark in enumerate(plot.marks):
        layers.append(_of([mark]).mark_rule(color=INK, strokeDash=[2, 2]).encode(x=_x(plot)))
        text = _of([mark]).mark_text(align="right", dx=-4, baseline="top", color=INK, fontSize=10)
        layers.append(text.encode(x=_x(plot), y=alt.value(2 + 13 * place), text="label:N"))
    return layers
