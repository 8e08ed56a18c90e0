"""What a sweep answers: each point, the knee of each curve over load, how throughput grows with cores. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadstone.judge.statistics import Summary, summarize
from loadstone.study.answers import OperationMeans
from loadstone.study.bottleneck import describe_common, is_idle
from loadstone.study.curves import AXIS
from loadstone.study.metrics import METRICS
from loadstone.study.parameters import RunSettings, SettingValue
from loadstone.study.question import Answer, count_verdicts
from loadstone.study.settings import StoredSettings, write_settings
from loadstone.study.summary import RunSummary

MOST_FAILING_POINTS = 6
"""Points that a headline names."""


@dataclass(frozen=True)
class SweptPoint:
    """A point with the means of its runs."""

    at: StoredSettings
    runs: int
    verdicts: Mapping[str, int]
    broken: tuple[str, ...]
    """Titles of the rules that were broken."""
    metrics: Mapping[str, Summary]
    """Of the valid runs."""
    bottleneck: str = ""
    """What was full, in words; empty where nothing was watched."""
    is_idle: bool = False
    """Whether the system had CPU to spare in every run."""

    def read_number(self, name: str) -> float:
        """The value of a parameter that is a number."""
        value = self.at[name]
        assert isinstance(value, int | float), f"{name} is a number"
        return value

    def get_mean(self, metric: str) -> float | None:
        """The mean of a metric, where there is one."""
        return self.metrics[metric].mean if metric in self.metrics else None

    @property
    def worst(self) -> str:
        """The gravest verdict of its runs."""
        return next((name for name in ("invalid", "fail") if self.verdicts.get(name, 0)), "pass")


@dataclass(frozen=True)
class Curve:
    """For one combination of the other parameters the points in order of load."""

    of: StoredSettings
    points: tuple[SweptPoint, ...]
    knee: float | None
    largest_passing: float | None


@dataclass(frozen=True)
class ScaledPoint:
    """Throughput with so many cores, and its efficiency against the fewest."""

    cores: float
    throughput: float | None
    efficiency: float | None
    """Throughput by (throughput of the fewest x factor)."""


@dataclass(frozen=True)
class Scaling:
    """For one combination of the other parameters throughput over cores."""

    of: StoredSettings
    points: tuple[ScaledPoint, ...]


@dataclass(frozen=True, kw_only=True)
class SweepAnswer(Answer):
    """Each point with its metrics, and the knee of each curve over load."""

    settings: StoredSettings
    over: tuple[str, ...]
    points: tuple[SweptPoint, ...]
    curves: tuple[Curve, ...] = ()
    scaling: tuple[Scaling, ...] = ()

    @property
    def is_negative(self) -> bool:
        """Whether no run passes at any point."""
        return bool(self.points) and not any(point.verdicts.get("pass", 0) for point in self.points)

    @property
    def load(self) -> str | None:
        """The parameter that is a load, where one is."""
        return next((name for name in self.over if name in AXIS), None)


def describe_verdicts(runs: Sequence[RunSummary], points: Sequence[SweptPoint]) -> str:
    """How the runs came out, and what broke at points where not all passed."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in count_verdicts(runs).items() if count)
    line = f"{len(runs)} runs at {len(points)} points{': ' if counts else ''}{counts}."
    failing = [
        f"{write_settings(point.at)} ({', '.join(point.broken)})"
        for point in points
        if point.verdicts.get("pass", 0) < point.runs and point.broken
    ]
    more = f" and {len(failing) - MOST_FAILING_POINTS} more" if len(failing) > MOST_FAILING_POINTS else ""
    return f"{line} Did not pass: {'; '.join(failing[:MOST_FAILING_POINTS])}{more}." if failing else line


def group_answers(points: Sequence[SweptPoint], runs: Sequence[RunSummary]) -> dict[str, list[OperationMeans]]:
    """The answers of valid runs at each point."""
    return {
        write_settings(point.at): [run.answers for run in runs if run.is_valid and is_at_point(run, point.at)]
        for point in points
    }


def is_at_point(run: RunSummary, point: RunSettings) -> bool:
    """Whether a run was made at a point."""
    return all(run.request.settings.get(name) == value for name, value in point.items())


def build_point(point: RunSettings, runs: Sequence[RunSummary]) -> SweptPoint:
    """A point with the means of its valid runs."""
    valid = [run for run in runs if run.is_valid]
    metrics: dict[str, Summary] = {}
    for name in METRICS:
        values = [run.metrics[name] for run in valid if name in run.metrics]
        if values:
            metrics[name] = summarize(values)
    broken = tuple(sorted({check.rule for run in runs for check in run.list_broken()}))
    idle = bool(valid) and all(is_idle(run) for run in valid)
    return SweptPoint(dict(point), len(runs), count_verdicts(runs), broken, metrics, describe_common(valid), idle)


def _groups(points: Sequence[SweptPoint], names: Sequence[str]) -> dict[tuple[SettingValue, ...], list[SweptPoint]]:
    groups: dict[tuple[SettingValue, ...], list[SweptPoint]] = {}
    for point in points:
        groups.setdefault(tuple(point.at[name] for name in names), []).append(point)
    return groups


def build_curves(points: Sequence[SweptPoint], load: str, names: Sequence[str]) -> list[Curve]:
    """Returns a curve for each combination of the other parameters: points in order of load, knee and largest passing
    load.
    """
    shown = []
    for key, group in _groups(points, names).items():
        ordered = sorted(group, key=lambda point: point.read_number(load))
        passing = [point.read_number(load) for point in ordered if point.verdicts.get("pass", 0) == point.runs]
        times = [(point.read_number(load), point.get_mean("response_mean")) for point in ordered]
        settings = dict(zip(names, key, strict=True))
        shown.append(Curve(settings, tuple(ordered), find_knee(times), max(passing, default=None)))
    return shown


def find_knee(points: Sequence[tuple[float, float | None]]) -> float | None:
    """The load beyond which time grows faster than throughput: where load / response time is largest (Kleinrock's
    power). None when it is largest at an end of the curve, where nothing says that it would not go on growing.
    """
    power = [load / seconds if seconds else 0.0 for load, seconds in points]
    best = max(range(len(power)), key=lambda index: power[index], default=0)
    return points[best][0] if 0 < best < len(points) - 1 else None


def compute_scaling(points: Sequence[SweptPoint], scaled: str, names: Sequence[str]) -> list[Scaling]:
    """Throughput over cores, and its efficiency against the fewest: throughput by (throughput there x factor)."""
    shown = []
    for key, group in _groups(points, names).items():
        ordered = sorted(group, key=lambda point: point.read_number(scaled))
        base, fewest = ordered[0].get_mean("throughput"), ordered[0].read_number(scaled)
        scaled_points = []
        for point in ordered:
            cores, throughput = point.read_number(scaled), point.get_mean("throughput")
            idle = point.is_idle or ordered[0].is_idle
            efficiency = (throughput or 0) / (base * cores / fewest) if base and not idle else None
            scaled_points.append(ScaledPoint(cores, throughput, efficiency))
        shown.append(Scaling(dict(zip(names, key, strict=True)), tuple(scaled_points)))
    return shown


def format_settings_suffix(settings: RunSettings) -> str:
    """Settings as they follow a sentence's subject; empty without any."""
    return f", {write_settings(settings)}" if settings else ""


def describe_curve(curve: Curve, load: str) -> list[str]:
    """Knee and largest passing load of a curve, where it has them."""
    lines = []
    if curve.knee is not None:
        best = next(point for point in curve.points if point.read_number(load) == curve.knee)
        full = f" Bottleneck there: {best.bottleneck}." if best.bottleneck else ""
        lines.append(
            f"Knee at {load}={curve.knee:g}{format_settings_suffix(curve.of)}: "
            f"beyond it time grows faster than load.{full}"
        )
    if curve.largest_passing is not None:
        lines.append(f"Largest point that passed: {load}={curve.largest_passing:g}{format_settings_suffix(curve.of)}.")
    return lines


def describe_scaling(scaling: Scaling, name: str) -> str:
    """Efficiency of the most cores against the fewest, or why it is not given."""
    first, last = scaling.points[0], scaling.points[-1]
    idle = "unknown, since the system had idle CPU: use more load"
    efficiency = f"{100 * last.efficiency:.0f} %" if last.efficiency is not None else idle
    suffix = format_settings_suffix(scaling.of)
    return f"Efficiency at {name}={last.cores:g} against {first.cores:g}{suffix}: {efficiency}."
