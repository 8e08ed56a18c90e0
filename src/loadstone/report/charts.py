"""Drawing plots: Vega-Lite specifications turned into SVG that follows the page's colors, in print and in the dark."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import vl_convert

from loadstone.page.plot import (
    AnyPlot,
    BarPlot,
    CrowdPlot,
    DifferencePlot,
    FigureRows,
    HeatPlot,
    PairedBarPlot,
    PercentilePlot,
    Plot,
    TimePlot,
)
from loadstone.report.compact_svg import compact

ChartSpec = dict[str, Any]
"""A part of a Vega-Lite specification, as JSON."""
VEGA_LITE = "6.4"
"""Version of the specifications, as the renderer names it."""
TYPES = {"Q": "quantitative", "N": "nominal"}

INK = "#010203"
"""Stands for the page's text color in a specification; replaced in the picture."""
PALETTE = ["#3b82c4", "#d9822b", "#3a9d5d", "#a05cc4", "#c94f4f", "#8a8f98"]
"""Colors that keep their contrast on white and on black."""
GREY, RED, GREEN = "#8a8f98", "#c94f4f", "#3a9d5d"
OUTCOMES = {"pass": GREEN, "fail": RED, "invalid": "#d9822b"}
"""Colors of points by the verdict of their run."""
CHARTS_WIDTH, HEIGHT = 420, 170
PAIRED_BAR_HEIGHT = 18
PADDING = {"left": 14, "top": 5, "right": 5, "bottom": 5}
"""Points about a picture; on the left more, for browsers' fonts may be wider than the ones it was measured with."""
CHART_PADDING: ChartSpec = {"columnPadding": 30, "labelLimit": 190}
"""Points between series of a legend: browsers' fonts may be wider than the ones it was measured with."""
LEGEND_COLUMNS = 3
"""Series side by side in a legend: more would take the picture's width from it."""
COUNTED = ("run", "pair", "search", "cores", "CPUs of all machines")
"""Axes on which there is nothing between two whole numbers."""
STEADY_LABEL = "steady state"
SHADES = 12
"""Colors of the crowd: cells of the same color are drawn as one path."""
MOST_POINTS = 2000
"""Points of a series; a picture has about a quarter as many columns."""


def draw(plot: AnyPlot, width: int = CHARTS_WIDTH) -> str:
    """The picture as SVG; it scales with the page and takes its text color from it."""
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
        case PairedBarPlot():
            return _svg(_paired_bars(plot), width, height=PAIRED_BAR_HEIGHT * max(2, len(plot.rows)))
        case CrowdPlot():
            return _svg(_crowds(plot), width)
        case HeatPlot():
            return _svg(_heat(plot), 2 * CHARTS_WIDTH, height=17 * max(2, len(plot.names)))


def _svg(chart: ChartSpec, width: int, height: int = HEIGHT) -> str:
    axis = {
        "labelColor": INK,
        "titleColor": INK,
        "domainColor": GREY,
        "tickColor": GREY,
        "gridColor": GREY,
        "gridOpacity": 0.25,
        "titleFontWeight": "normal",
        "labelFont": "sans-serif",
        "titleFont": "sans-serif",
    }
    style = {"view": {"stroke": None}, "axis": axis, "legend": {"labelColor": INK, "labelFont": "sans-serif"}}
    size: ChartSpec = {"width": width, "height": height, "background": "transparent", "padding": PADDING}
    # The page describes a picture by its caption; a description of every mark would be most of the picture's bytes.
    picture: str = vl_convert.vegalite_to_svg(chart | size | {"config": style | {"aria": False}}, vl_version=VEGA_LITE)
    return compact(picture.replace(INK, "currentColor").replace("<svg ", '<svg role="img" ', 1))


def _mark(rows: FigureRows, kind: str, encoding: ChartSpec, **style: Any) -> ChartSpec:
    """A layer: a mark for each row, or through all of them."""
    return {"data": {"values": [dict(row) for row in rows]}, "mark": {"type": kind} | style, "encoding": encoding}


def _channel(shorthand: str, **options: Any) -> ChartSpec:
    """A column of the rows as `name:Q` (quantitative) or `name:N` (nominal), with the channel's options."""
    field, _, kind = shorthand.partition(":")
    return {"field": field, "type": TYPES[kind]} | options


def _end(field: str) -> ChartSpec:
    """The column in which a mark ends that begins in another."""
    return {"field": field}


def _layers(*layers: ChartSpec) -> ChartSpec:
    return {"layer": list(layers)}


def _series(rows: FigureRows) -> list[str]:
    return list(dict.fromkeys(row["series"] for row in rows if "series" in row))


def _color(series: Sequence[str], symbol: str = "stroke", named: Sequence[str] | None = None) -> ChartSpec:
    """Colors of series, with a legend where there are several: of all, or of those to be named."""
    colors = [PALETTE[index % len(PALETTE)] for index in range(len(series))]
    shown = list(series if named is None else named)
    legend = None
    if shown and len(series) > 1:
        legend = _legend(symbol) | {"values": shown, "columns": LEGEND_COLUMNS} | CHART_PADDING
    return _channel("series:N", sort=list(series), scale={"domain": list(series), "range": colors}, legend=legend)


def _legend(symbol: str) -> ChartSpec:
    return {"title": None, "orient": "top", "symbolType": symbol}


def _dash(series: Sequence[str]) -> ChartSpec:
    """Dashes for all but the first, so that lines that lie upon each other both show."""
    dashes = [[1, 0], [5, 3], [2, 2], [8, 3, 2, 3]]
    ranges = [dashes[index % len(dashes)] for index in range(len(series))]
    return _channel("series:N", sort=list(series), scale={"domain": list(series), "range": ranges}, legend=None)


def _thinned(rows: FigureRows, is_stacked: bool) -> FigureRows:
    """Rows of a long run: of each series the smallest and the largest value of as many spans as a picture can show; of
    values on top of each other the same seconds of all series.
    """
    by_series: dict[str, list[Any]] = {}
    for row in rows:
        by_series.setdefault(row.get("series", ""), []).append(row)
    thinned: list[Any] = []
    for held in by_series.values():
        span = -(-2 * len(held) // MOST_POINTS)
        if len(held) <= MOST_POINTS:
            thinned += held
        elif is_stacked:
            thinned += held[:: -(-len(held) // MOST_POINTS)]
        else:
            for start in range(0, len(held), span):
                part = held[start : start + span]
                places = {part.index(pick(part, key=lambda row: row["value"])) for pick in (min, max)}
                thinned += [part[place] for place in sorted(places)]
    return thinned


def _over_time(plot: TimePlot) -> ChartSpec:
    plot = replace(plot, rows=_thinned(plot.rows, plot.is_stacked))
    series = _series(plot.rows)
    second = _channel("second:Q", title="seconds since the start")
    if plot.is_stacked:
        value = _channel("value:Q", title=plot.y_title, stack="zero")
        area = {"x": second, "y": value, "color": _color(series, "square")}
        return _mark(plot.rows, "area", area, opacity=0.85)
    value = _channel("value:Q", title=plot.y_title, scale={"zero": True})
    line = {"x": second, "y": value, "color": _color(series), "strokeDash": _dash(series)}
    chart = _mark(plot.rows, "line", line, strokeWidth=1.4, interpolate="linear")
    return _layers(_shaded(plot.bands), chart) if plot.bands else chart


def _shaded(bands: FigureRows) -> ChartSpec:
    """Shades everything that is not steady state."""
    others = [band for band in bands if band["phase"] != STEADY_LABEL]
    return _mark(others, "rect", {"x": _channel("from:Q"), "x2": _end("to")}, color=GREY, opacity=0.16)


def _percentiles(plot: PercentilePlot) -> ChartSpec:
    series = _series(plot.rows)
    labels = "datum.value <= 0.00001 ? '99.999' : format(100 * (1 - datum.value), '.4~r')"
    ticks = {"labelExpr": labels, "values": [1, 0.5, 0.1, 0.01, 0.001, 0.0001, 0.00001]}
    scale = {"type": "log", "reverse": True, "nice": False}
    beyond = _channel("beyond:Q", title=f"percentile of {plot.of}", scale=scale, axis=ticks)
    line = {"x": beyond, "y": _channel("value:Q", title="seconds")}
    line |= {"color": _color(series), "strokeDash": _dash(series)}
    return _mark(plot.rows, "line", line, strokeWidth=1.6, interpolate="step-after")


def _bars(plot: BarPlot) -> ChartSpec:
    names = list(dict.fromkeys(row["name"] for row in plot.rows))
    bar = {
        "y": _channel("name:N", sort=names, title=None),
        "x": _channel("value:Q", title=plot.x_title, stack="zero"),
        "color": _color(_series(plot.rows), "square"),
        "order": _channel("rank:Q"),
    }
    return _mark(plot.rows, "bar", bar, height=10)


def _paired_bars(plot: PairedBarPlot) -> ChartSpec:
    """A bar for each series below each other, with a line from end to end of its interval."""
    names, series = list(dict.fromkeys(row["name"] for row in plot.rows)), _series(plot.rows)
    place = {
        "y": _channel("name:N", sort=names, title=None),
        "yOffset": _channel("series:N", sort=series),
    }
    bar = place | {"x": _channel("value:Q", title=plot.x_title), "color": _color(series, "square")}
    known = [row for row in plot.rows if row["low"] is not None]
    span = place | {"x": _channel("low:Q", title=plot.x_title), "x2": _end("high")}
    bars = _mark(plot.rows, "bar", bar)
    return _layers(bars, _mark(known, "rule", span, color=INK, strokeWidth=1.5)) if known else bars


def _heat(plot: HeatPlot) -> ChartSpec:
    scale = {"domain": [0, 0.25, 0.5, 1], "range": [GREEN, "#c9c23a", "#d9822b", "#c0392b"], "clamp": True}
    legend = {"title": "p99 by limit", "orient": "top", "titleColor": INK}
    cell = {
        "x": _channel("from:Q", title="seconds since the first start"),
        "x2": _end("to"),
        "y": _channel("name:N", sort=list(plot.names), title=None),
        "color": _channel("value:Q", scale=scale, legend=legend),
    }
    edges = [{"x": edge} for edge in plot.window]
    return _layers(
        _mark(plot.rows, "rect", cell, stroke=None),
        _mark(edges, "rule", {"x": _channel("x:Q")}, color=INK, strokeDash=[4, 3]),
    )


def _crowds(plot: CrowdPlot) -> ChartSpec:
    """The more of a second's operations, the darker."""
    most = max((row["value"] for row in plot.rows), default=1)
    rows = [{**row, "shade": _shade(row["value"], most)} for row in plot.rows]
    many = {"domain": [0, SHADES - 1], "range": ["#c9dcee", "#0b3a66"]}
    cell = {
        "x": _channel("from:Q", title="seconds since the start"),
        "x2": _end("to"),
        "y": _channel("low:Q", title="milliseconds", scale={"type": "log", "nice": False}),
        "y2": _end("high"),
        "color": _channel("shade:Q", scale=many, legend=None),
    }
    cells = _mark(rows, "rect", cell, stroke=None)
    return _layers(_shaded(plot.bands), cells) if plot.bands else cells


def _shade(count: float, most: float) -> int:
    """The shade of a number of operations, by its logarithm."""
    return round((SHADES - 1) * math.log(max(1, count)) / math.log(max(2, most)))


def _differences(plot: DifferencePlot) -> ChartSpec:
    name = _channel("name:N", sort=[row["name"] for row in plot.rows], title=None)
    color = {"condition": {"test": "datum.is_found", "value": RED}, "value": PALETTE[0]}
    span = {"y": name, "x": _channel("low:Q", title=plot.x_title), "x2": _end("high"), "color": color}
    point = {"y": name, "x": _channel("value:Q", title=plot.x_title), "color": color}
    return _layers(
        _mark([{"x": 0}], "rule", {"x": _channel("x:Q")}, color=INK, strokeDash=[3, 3]),
        _mark(plot.rows, "rule", span, strokeWidth=2),
        _mark(plot.rows, "point", point, filled=True, size=50, opacity=1),
    )


def _plot(plot: Plot) -> ChartSpec:
    series = _series([*plot.lines, *plot.points])
    layers = [*_bands(plot), *_lines(plot, series), *_spans(plot), *_points(plot, series), *_marks(plot)]
    return _layers(*layers) | {"resolve": {"scale": {"color": "independent"}}}


def _x(plot: Plot) -> ChartSpec:
    axis = {"tickMinStep": 1} if plot.x_title in COUNTED else {}
    return _channel("x:Q", title=plot.x_title, scale={"zero": False, "nice": True}, axis=axis)


def _y(plot: Plot, field: str = "y") -> ChartSpec:
    return _channel(f"{field}:Q", title=plot.y_title, scale={"zero": plot.from_zero})


def _bands(plot: Plot) -> list[ChartSpec]:
    if not plot.bands:
        return []
    area = {"x": _x(plot), "y": _y(plot, "low"), "y2": _end("high")}
    return [_mark(plot.bands, "area", area, color=PALETTE[0], opacity=0.2)]


def _lines(plot: Plot, series: Sequence[str]) -> list[ChartSpec]:
    if not plot.lines:
        return []
    drawn = [name for name in series if any(row["series"] == name for row in plot.lines)]
    line = {"x": _x(plot), "y": _y(plot), "color": _color(series, "stroke", drawn), "strokeDash": _dash(series)}
    return [_mark(plot.lines, "line", line, strokeWidth=1.6)]


def _spans(plot: Plot) -> list[ChartSpec]:
    if not plot.spans:
        return []
    rule = {"x": _x(plot), "y": _y(plot, "low"), "y2": _end("high")}
    return [_mark(plot.spans, "rule", rule, color=GREY, strokeWidth=1.5)]


def _points(plot: Plot, series: Sequence[str]) -> list[ChartSpec]:
    plain = [row for row in plot.points if "verdict" not in row]
    judged = [row for row in plot.points if "verdict" in row]
    layers = []
    if plain:
        drawn = {row["series"] for row in plot.lines}
        named = [name for name in series if name not in drawn]
        dots = {"x": _x(plot), "y": _y(plot), "color": _color(series, "circle", named)}
        layers.append(_mark(plain, "point", dots, filled=True, size=34, opacity=0.9))
    if judged:
        layers.append(_judged(plot, judged))
    return layers


def _judged(plot: Plot, rows: Sequence[Mapping[str, Any]]) -> ChartSpec:
    there = [name for name in OUTCOMES if any(row["verdict"] == name for row in rows)]
    scale = {"domain": there, "range": [OUTCOMES[name] for name in there]}
    color = _channel("verdict:N", scale=scale, legend=_legend("circle"))
    dots = {"x": _x(plot), "y": _y(plot), "color": color}
    return _mark(rows, "point", dots, filled=True, size=38, opacity=0.9)


def _marks(plot: Plot) -> list[ChartSpec]:
    layers = []
    label = _channel("label:N")
    if plot.limits:
        layers.append(_mark(plot.limits, "rule", {"y": _y(plot)}, color=RED, strokeDash=[6, 3]))
        text = {"y": _y(plot), "x": {"value": 0}, "text": label}
        layers.append(_mark(plot.limits, "text", text, align="left", dx=4, dy=-5, color=INK, fontSize=10))
    for place, mark in enumerate(plot.marks):
        layers.append(_mark([mark], "rule", {"x": _x(plot)}, color=INK, strokeDash=[2, 2]))
        text = {"x": _x(plot), "y": {"value": 2 + 13 * place}, "text": label}
        layers.append(_mark([mark], "text", text, align="right", dx=-4, baseline="top", color=INK, fontSize=10))
    return layers
