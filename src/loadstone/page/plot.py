"""Plots as data: what is drawn, not how."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

FigureRows = Sequence[Mapping[str, Any]]
"""Flat records that a plot draws."""


class CurveRow(TypedDict):
    """A point of a curve."""

    x: float
    y: float
    series: str


class MarkRow(TypedDict):
    """An upright line."""

    x: float
    label: str


class LimitRow(TypedDict):
    """A level line."""

    y: float
    label: str


class DifferenceRow(TypedDict):
    """A difference with its interval, in percent; None where it is not known."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    is_found: bool


@dataclass(frozen=True)
class Plot:
    """Lines, points, bands, limits and marks over a load or another parameter."""

    x_title: str
    y_title: str
    lines: FigureRows = ()
    """{x, y, series}"""
    points: FigureRows = ()
    """{x, y, series} or {x, y, verdict}"""
    bands: FigureRows = ()
    """{x, low, high}"""
    spans: FigureRows = ()
    """Intervals of points: {x, low, high}"""
    limits: FigureRows = ()
    """Level lines: {y, label}"""
    marks: FigureRows = ()
    """Upright lines: {x, label}"""
    from_zero: bool = True


@dataclass(frozen=True)
class DifferencePlot:
    """Differences with their intervals, one a line: rows of {name, value, low, high, is_found}, in percent."""

    x_title: str
    rows: FigureRows


@dataclass(frozen=True)
class TimePlot:
    """Lines over the time of a run: rows of {second, value, series}; bands of {from, to, phase} behind them."""

    y_title: str
    rows: FigureRows
    bands: FigureRows = ()
    is_stacked: bool = False


@dataclass(frozen=True)
class PercentilePlot:
    """Time by percentile, with room for the tail: rows of {beyond, value, series}, in seconds."""

    rows: FigureRows
    of: str = "operations"


@dataclass(frozen=True)
class BarPlot:
    """Stacked horizontal bars: rows of {name, value, series, rank}, in the order given."""

    x_title: str
    rows: FigureRows


@dataclass(frozen=True)
class PairedBarPlot:
    """Bars of several series beside each other, with intervals: rows of {name, series, value, low, high}."""

    x_title: str
    rows: FigureRows


@dataclass(frozen=True)
class HeatPlot:
    """Cells over time, one row a name: rows of {from, to, name, value}; 0 is calm, 1 and beyond is red."""

    rows: FigureRows
    names: Sequence[str]
    window: tuple[float, float]


@dataclass(frozen=True)
class CrowdPlot:
    """Where the times of operations lay over the time of a run: rows of {from, to, low, high, value}, times in
    milliseconds, the value how many; on a scale of factors.
    """

    rows: FigureRows
    bands: FigureRows = ()


AnyPlot = CrowdPlot | Plot | DifferencePlot | TimePlot | PercentilePlot | BarPlot | PairedBarPlot | HeatPlot
