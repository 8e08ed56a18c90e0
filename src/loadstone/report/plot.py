"""One plot of a study: lines, points, bands, limits and marks over a load or another parameter."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from loadstone.report.charts import INK, PALETTE, WIDTH, color, dash, styled, svg

Json = dict[str, Any]

COUNTED = ("run", "pair", "search")
"""Axes on which there is nothing between two whole numbers."""
GREY = "#8a8f98"
OUTCOMES = {"pass": "#3a9d5d", "fail": "#c94f4f", "invalid": "#d9822b"}
"""Colors of points by the verdict of their run."""


@dataclass(frozen=True)
class Plot:
    """What is drawn. Rows are flat records."""

    x_title: str
    y_title: str
    lines: Sequence[Json] = ()
    """{x, y, series}"""
    points: Sequence[Json] = ()
    """{x, y, series} or {x, y, verdict}"""
    bands: Sequence[Json] = ()
    """{x, low, high}"""
    spans: Sequence[Json] = ()
    """Intervals of points: {x, low, high}"""
    limits: Sequence[Json] = ()
    """Level lines: {y, label}"""
    marks: Sequence[Json] = ()
    """Upright lines: {x, label}"""
    from_zero: bool = True


def draw(plot: Plot, width: int = WIDTH) -> str:
    """The picture as SVG."""
    series = list(dict.fromkeys(row["series"] for row in [*plot.lines, *plot.points] if "series" in row))
    layers = [*_bands(plot), *_lines(plot, series), *_spans(plot), *_points(plot, series), *_marks(plot)]
    return svg(styled(alt.layer(*layers).resolve_scale(color="independent"), width))


def differences(rows: Sequence[Json], x_title: str, width: int = WIDTH) -> str:
    """Differences with their intervals, one a line: rows of {name, value, low, high, found}; in percent."""
    names = [row["name"] for row in rows]
    base = alt.Chart(alt.Data(values=list(rows))).encode(y=alt.Y("name:N", sort=names, title=None))
    found = alt.condition("datum.found", alt.value("#c94f4f"), alt.value("#3b82c4"))
    spans = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=x_title), x2="high:Q", color=found)
    points = base.mark_point(filled=True, size=50, opacity=1).encode(x=alt.X("value:Q", title=x_title), color=found)
    zero = alt.Chart(alt.Data(values=[{"x": 0}])).mark_rule(color=INK, strokeDash=[3, 3]).encode(x="x:Q")
    return svg(styled(alt.layer(zero, spans, points), width, height=22 * max(2, len(names))))


def _x(plot: Plot) -> alt.X:
    whole = alt.Axis(tickMinStep=1) if plot.x_title in COUNTED else alt.Axis()
    return alt.X("x:Q", title=plot.x_title, scale=alt.Scale(zero=False, nice=True), axis=whole)


def _y(plot: Plot, field: str = "y") -> alt.Y:
    return alt.Y(f"{field}:Q", title=plot.y_title, scale=alt.Scale(zero=plot.from_zero))


def _of(rows: Sequence[Json]) -> alt.Chart:
    return alt.Chart(alt.Data(values=list(rows)))


def _bands(plot: Plot) -> list[alt.Chart]:
    if not plot.bands:
        return []
    area = _of(plot.bands).mark_area(color=PALETTE[0], opacity=0.2)
    return [area.encode(x=_x(plot), y=_y(plot, "low"), y2="high:Q")]


def _lines(plot: Plot, series: Sequence[str]) -> list[alt.Chart]:
    if not plot.lines:
        return []
    line = _of(plot.lines).mark_line(strokeWidth=1.6)
    drawn = [name for name in series if any(row["series"] == name for row in plot.lines)]
    return [line.encode(x=_x(plot), y=_y(plot), color=color(series, "stroke", drawn), strokeDash=dash(series))]


def _spans(plot: Plot) -> list[alt.Chart]:
    if not plot.spans:
        return []
    rule = _of(plot.spans).mark_rule(color=GREY, strokeWidth=1.5)
    return [rule.encode(x=_x(plot), y=_y(plot, "low"), y2="high:Q")]


def _points(plot: Plot, series: Sequence[str]) -> list[alt.Chart]:
    plain = [row for row in plot.points if "verdict" not in row]
    judged = [row for row in plot.points if "verdict" in row]
    layers = []
    if plain:
        dots = _of(plain).mark_point(filled=True, size=34, opacity=0.9)
        drawn = {row["series"] for row in plot.lines}
        named = [name for name in series if name not in drawn]
        layers.append(dots.encode(x=_x(plot), y=_y(plot), color=color(series, "circle", named)))
    if judged:
        there = [name for name in OUTCOMES if any(row["verdict"] == name for row in judged)]
        scale = alt.Scale(domain=there, range=[OUTCOMES[name] for name in there])
        legend = alt.Legend(title=None, orient="top", symbolType="circle")
        dots = _of(judged).mark_point(filled=True, size=38, opacity=0.9)
        shown = alt.Color("verdict:N", scale=scale, legend=legend)
        layers.append(dots.encode(x=_x(plot), y=_y(plot), color=shown))
    return layers


def _marks(plot: Plot) -> list[alt.Chart]:
    layers = []
    if plot.limits:
        rule = _of(plot.limits).mark_rule(color="#c94f4f", strokeDash=[6, 3])
        layers.append(rule.encode(y=_y(plot)))
        text = _of(plot.limits).mark_text(align="left", dx=4, dy=-5, color=INK, fontSize=10)
        layers.append(text.encode(y=_y(plot), x=alt.value(0), text="label:N"))
    for number, mark in enumerate(plot.marks):
        layers.append(_of([mark]).mark_rule(color=INK, strokeDash=[2, 2]).encode(x=_x(plot)))
        text = _of([mark]).mark_text(align="right", dx=-4, baseline="top", color=INK, fontSize=10)
        layers.append(text.encode(x=_x(plot), y=alt.value(2 + 13 * number), text="label:N"))
    return layers
