"""Which pictures a study gets, by its kind: small ones beside each other before crowded axes."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from loadstone.report.pictures import Picture
from loadstone.report.plot import Plot, differences, draw

Json = dict[str, Any]

NOTHING_S = 1e-5
"""Driver lag that is none: rehearsals have no more."""
BEYOND = 1.5
"""Loads up to so many times the peak are drawn; all are in the table."""
WIDEST_PCT = 50
"""Intervals that reach further say so little that they would flatten all others."""
UNITS = {"sessions": "sessions", "rate": "arrivals per second"}
TITLES = {
    "throughput": ("Throughput", "operations per second"),
    "response_mean": ("Mean response time", "seconds"),
    "good": ("Good operations", "%"),
    "server_cpu": ("CPU of the system under test", "cores"),
    "server_cpu_per_operation": ("CPU time an operation", "seconds"),
    "busy_workers": ("Busy workers", "workers"),
    "host_cpu": ("CPU of the machine", "cores"),
    "driver_lag_p99": ("Driver lag, 99th percentile", "seconds"),
    "response_p95": ("Response time, 95th percentile", "seconds"),
    "response_p99": ("Response time, 99th percentile", "seconds"),
}


def pictures_of(kind: str, part: Json, workload: Json) -> list[Picture]:
    """The pictures of one workload's answer."""
    makers: dict[str, Callable[[Json, Json], Iterator[Picture]]] = {
        "repeat": _repeat,
        "search": _search,
        "sweep": _sweep,
        "compare": _compare,
        "predict": _predict,
        "platforms": _platforms,
        "tiles": _tiles,
    }
    return list(makers[kind](part, workload))


def _tiles(part: Json, workload: Json) -> Iterator[Picture]:
    points = [{"x": one["tiles"], "y": one["score"], "verdict": one["verdict"]} for one in part["tried"]]
    if points:
        caption = "Each point is a run, colored by its verdict."
        yield Picture("Score by load", caption, draw(Plot("tiles", "score", points=points)))


def _limits(workload: Json) -> list[Json]:
    good, tolerable = workload["good_s"], workload["tolerable_s"]
    return [{"y": good, "label": "good (95 %)"}, {"y": tolerable, "label": "tolerable (99 %)"}]


def _near(limits: Sequence[Json], rows: Sequence[Json]) -> list[Json]:
    """Limits that do not flatten what is drawn: none where all lies far below them."""
    top = max((row["y"] for row in rows), default=0)
    return [limit for limit in limits if limit["y"] <= 3 * top]


def _repeat(part: Json, workload: Json) -> Iterator[Picture]:
    for name, one in part["figures"].items():
        if name not in TITLES:
            continue
        title, unit = TITLES[name]
        rows = [{"x": number, "y": value, "series": "runs"} for number, value in enumerate(one["values"], start=1)]
        bands = []
        if one["low"] is not None:
            bands = [{"x": number, "low": one["low"], "high": one["high"]} for number in (1, len(rows))]
        plot = Plot("run", unit, lines=rows, points=rows, bands=bands, from_zero=False)
        drift = f" Drift: p = {one['drift_p']:.2f}." if one["drift_p"] is not None else ""
        yield Picture(title, f"In order of time; shaded: the interval of the mean.{drift}", draw(plot))


def _search(part: Json, workload: Json) -> Iterator[Picture]:
    verdicts = {at["at"]: _verdict(at) for at in part["loads"]}
    marks = [{"x": part["peak"], "label": "peak"}] if part["peak"] is not None else []
    far = BEYOND * part["peak"] if part["peak"] is not None else math.inf  # what lies far beyond flattens the rest
    points = [(at["at"], at["figures"]) for at in part["loads"] if at["at"] <= far]
    yield from _over_load(points, UNITS[part["load"]], workload, marks, verdicts)


def _verdict(at: Json) -> str:
    outcomes = {run["verdict"] for run in at["runs"]}
    return "pass" if outcomes == {"pass"} else "invalid" if outcomes == {"invalid"} else "fail"


def _over_load(
    points: Sequence[tuple[float, Json]],
    x_title: str,
    workload: Json,
    marks: Sequence[Json],
    verdicts: Mapping[float, str],
    of: str = "",
) -> Iterator[Picture]:
    """The curves over load: both percentiles, throughput, shares, and who used the CPU."""
    names = (("response_p95", "95th percentile"), ("response_p99", "99th percentile"))
    times = _rows(points, names)
    if times:
        limits = _near(_limits(workload), times)
        plot = Plot(x_title, "seconds", lines=times, points=times, limits=limits, marks=marks)
        yield Picture(f"Response time{of}", "Both percentiles that limits are put on.", draw(plot))
    for name in ("throughput", "good"):
        rows = _rows(points, ((name, name),))
        if rows:
            title, unit = TITLES[name]
            judged = [{**row, "verdict": verdicts[row["x"]]} for row in rows if row["x"] in verdicts]
            limits = [{"y": 95, "label": "95 %"}] if name == "good" else []
            plot = Plot(x_title, unit, rows, judged, limits=limits, marks=marks, from_zero=name != "good")
            yield Picture(f"{title}{of}", "Points are colored by their runs' verdict.", draw(plot))
    used = (("host_cpu", "machine"), ("server_cpu", "system under test"))
    rows = _rows(points, used)
    if rows:
        yield Picture(f"CPU{of}", "In cores.", draw(Plot(x_title, "cores", rows, rows, marks=marks)))
    for name in ("busy_workers", "driver_lag_p99"):
        rows = _rows(points, ((name, name),))
        if rows and max(row["y"] for row in rows) > NOTHING_S:
            title, unit = TITLES[name]
            yield Picture(f"{title}{of}", "", draw(Plot(x_title, unit, rows, rows, marks=marks)))


def _rows(points: Sequence[tuple[float, Json]], names: Sequence[tuple[str, str]]) -> list[Json]:
    return [
        {"x": load, "y": figures[name]["mean"], "series": series}
        for name, series in names
        for load, figures in points
        if name in figures
    ]


def _sweep(part: Json, workload: Json) -> Iterator[Picture]:
    load = next((name for name in part["over"] if name in UNITS), None)
    if len(part.get("curves", ())) > 1:
        yield from _beside(part["curves"], load or "sessions")
    for curve in part.get("curves", ()):
        points = [(float(row["at"][load or ""]), row["figures"]) for row in curve["points"]]
        verdicts = {float(row["at"][load or ""]): _worst(row["verdicts"]) for row in curve["points"]}
        marks = [
            {"x": curve[name], "label": label}
            for name, label in (("knee", "knee"), ("largest_passing", "largest passing"))
            if curve[name] is not None
        ]
        of = "".join(f", {name}={value}" for name, value in curve["of"].items())
        yield from _over_load(points, UNITS[load or "sessions"], workload, marks, verdicts, of)
    for scaling in part.get("scaling", ()):
        of = "".join(f", {name}={value}" for name, value in scaling["of"].items())
        yield from _scaling(scaling["points"], of)
    if not part.get("curves") and not part.get("scaling"):
        yield from _points_by_name(part)


def _beside(curves: Sequence[Json], load: str) -> Iterator[Picture]:
    """The curves of all settings in one plot each, as one large machine is held against several small ones."""
    for figure, title, unit in (
        ("response_p90", "Response time, 90th percentile, of all settings", "seconds"),
        ("throughput", "Throughput of all settings", "operations per second"),
        ("server_cpu", "CPU of the system under test, of all settings", "cores"),
    ):
        rows = [
            {
                "x": float(point["at"][load]),
                "y": point["figures"][figure]["mean"],
                "series": ", ".join(f"{name}={value}" for name, value in curve["of"].items()),
            }
            for curve in curves
            for point in curve["points"]
            if figure in point["figures"]
        ]
        if rows:
            yield Picture(title, "One line a setting.", draw(Plot(UNITS[load], unit, rows, rows)))


def _scaling(points: Sequence[Json], of: str) -> Iterator[Picture]:
    first = points[0]
    rows = [{"x": one["cores"], "y": one["throughput"], "series": "measured"} for one in points]
    ideal = [
        {"x": one["cores"], "y": first["throughput"] * one["cores"] / first["cores"], "series": "in proportion"}
        for one in points
    ]
    plot = Plot("cores, threads or workers", "operations per second", [*rows, *ideal], rows)
    yield Picture(f"Throughput over cores{of}", "Dashed: in proportion to the fewest.", draw(plot))
    shares = [{"x": one["cores"], "y": 100 * one["efficiency"], "series": "efficiency"} for one in points]
    plot = Plot("cores, threads or workers", "%", shares, shares)
    yield Picture(f"Efficiency{of}", "Throughput against that of the fewest, by cores.", draw(plot))


def _points_by_name(part: Json) -> Iterator[Picture]:
    """Of a parameter that is no load and no number of cores: each figure over it, where it is a number."""
    name = part["over"][0]
    try:
        points = [(float(row["at"][name]), row["figures"]) for row in part["points"]]
    except ValueError:
        return
    for figure in ("throughput", "response_p95", "good", "server_cpu"):
        rows = _rows(points, ((figure, figure),))
        if rows:
            title, unit = TITLES[figure]
            yield Picture(title, "", draw(Plot(name, unit, points=rows, from_zero=figure != "good")))


def _worst(verdicts: Mapping[str, int]) -> str:
    return next((name for name in ("invalid", "fail") if verdicts[name]), "pass")


def _compare(part: Json, workload: Json) -> Iterator[Picture]:
    if "peaks" in part:
        rows = [
            {"x": number, "y": one["peak"], "series": one["side"].upper()}
            for number, one in enumerate(part["searches"], start=1)
            if one["peak"] is not None
        ]
        spans = [
            {"x": number, "low": one["interval"][0], "high": one["interval"][1]}
            for number, one in enumerate(part["searches"], start=1)
            if one["interval"]
        ]
        plot = Plot("search", "peak", points=rows, spans=spans, from_zero=False)
        yield Picture("Peaks", "Each search's verified peak, with its interval.", draw(plot))
        return
    for row in part["loads"]:
        of = "".join(f", {name}={value}" for name, value in row["load"].items())
        shown = [_difference(name, one["difference"]) for name, one in row["figures"].items() if one["difference"]]
        shown = [one for one in shown if one["low"] is not None and max(-one["low"], one["high"]) <= WIDEST_PCT]
        if shown:
            caption = f"B against A with intervals; red: found by the test. Beyond {WIDEST_PCT} % only in the table."
            yield Picture(f"Differences{of}", caption, differences(shown, "difference of B, %"))
        values = row["figures"].get(part["figure"])
        if values:
            title, unit = TITLES.get(part["figure"], (part["figure"], ""))
            rows = [
                {"x": number, "y": value, "series": side.upper()}
                for side in ("a", "b")
                for number, value in enumerate(values[side]["values"], start=1)
            ]
            plot = Plot("pair", unit, rows, rows, from_zero=False)
            yield Picture(f"{title}{of}", "Pair by pair, in order of time.", draw(plot))


def _platforms(part: Json, workload: Json) -> Iterator[Picture]:
    """Response time, throughput and both CPU curves over the loads that both platforms were given."""
    names, unit = part["names"], UNITS[part["load"]]
    smaller = min((peak for peak in part["peaks"].values() if peak), default=math.inf)
    near = [point for point in part["curve"] if point["load"] <= BEYOND * smaller]  # more would flatten the rest
    peaks = [(peak, names[side]) for side, peak in part["peaks"].items() if peak and peak <= BEYOND * smaller]
    marks = [{"x": peak, "label": f"peak of {name}"} for peak, name in peaks]
    parted = part["parted"] and part["parted"]["at"]
    if parted:
        marks.append({"x": parted, "label": "parted"})
    for figure, title in (("response_p90", "Response time, 90th percentile"), ("throughput", "Throughput")):
        rows = _sides(near, ((figure, "{name}"),), names)
        if rows:
            plot = Plot(unit, "seconds" if figure != "throughput" else "operations per second", rows, rows, marks=marks)
            yield Picture(title, "Loads up to the smaller peak and half above; both had each in turn.", draw(plot))
    used = (("server_cpu", "{name}: system"), ("host_cpu", "{name}: whole host"))
    rows = _sides(near, used, names)
    if rows:
        yield Picture(
            "CPU", "In cores; the host carries the driver too.", draw(Plot(unit, "cores", rows, rows, marks=marks))
        )


def _sides(curve: Sequence[Json], figures: Sequence[tuple[str, str]], names: Mapping[str, str]) -> list[Json]:
    return [
        {"x": point["load"], "y": point[side]["figures"][figure], "series": series.format(name=names[side])}
        for figure, series in figures
        for side in ("a", "b")
        for point in curve
        if figure in point[side]["figures"]
    ]


def _difference(name: str, found: Json) -> Json:
    percent = {key: None if found[at] is None else 100 * (found[at] - 1) for key, at in PERCENT}
    return {"name": name.replace("_", " "), **percent, "found": found["is_found"]}


PERCENT = (("value", "ratio"), ("low", "low"), ("high", "high"))


def _predict(part: Json, workload: Json) -> Iterator[Picture]:
    if "curve" not in part:
        return
    top = part["peak"]["load"]
    marks = [{"x": top, "label": "predicted peak"}]
    for name in ("throughput", "response_mean"):
        title, unit = TITLES[name]
        lines = [{"x": one["load"], "y": one[name]["value"], "series": "predicted"} for one in part["curve"]]
        if name == "throughput":
            lines += [
                {"x": one["load"], "y": one["scalability"], "series": "scalability law"}
                for one in part["curve"]
                if one["scalability"] is not None
            ]
        bands = [{"x": one["load"], "low": one[name]["low"], "high": one[name]["high"]} for one in part["curve"]]
        series = {"measure": "measured", "verify": "measured to check"}
        points = [
            {"x": one["load"], "y": one[name], "series": series[one["purpose"]]}
            for one in part["measured"]
            if one[name] is not None
        ]
        plot = Plot(UNITS[part["load"]], unit, lines, points, bands, marks=marks)
        yield Picture(title, "Line and band: predicted from the measured points.", draw(plot))
