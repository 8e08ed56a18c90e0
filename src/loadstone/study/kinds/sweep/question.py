"""`sweep`: every combination of the points, each so many times. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.model.errors import UsageError
from loadstone.model.load import Arrivals
from loadstone.study.answers import describe_between
from loadstone.study.curves import AXIS
from loadstone.study.grid import ParameterPoints, list_combinations, parse_over
from loadstone.study.kind import StudyContext
from loadstone.study.kinds.sweep.answer import (
    Curve,
    Scaling,
    SweepAnswer,
    build_curves,
    build_point,
    compute_scaling,
    describe_curve,
    describe_scaling,
    describe_verdicts,
    group_answers,
    is_at_point,
)
from loadstone.study.kinds.sweep.section import SweepSection
from loadstone.study.parameters import RunSettings, get_parameter
from loadstone.study.question import find_first_missing, format_key
from loadstone.study.settings import write_value
from loadstone.study.summary import RunRequest, RunSummary

CORES = ("server.cores", "server.threads", "station.workers")
"""Parameters over which throughput is expected to grow in proportion."""


@dataclass(frozen=True)
class Sweep:
    """Every combination of the points, each so many times; every second round in reverse, so that drift cancels."""

    workload: str
    settings: RunSettings
    over: tuple[ParameterPoints, ...]
    """Parameters with their points."""
    rounds: int = 1
    arrives: bool = False
    """Whether the load comes by itself: throughput then says nothing of cores."""

    def list_points(self) -> list[RunSettings]:
        """All combinations, the last parameter varying fastest."""
        return list_combinations(self.over)

    def plan_runs(self) -> list[RunRequest]:
        """All its runs, in order."""
        requests: list[RunRequest] = []
        points = self.list_points()
        for turn in range(self.rounds):
            for point in points if turn % 2 == 0 else reversed(points):
                label = "-".join(f"{name.rpartition('.')[2]}-{write_value(value)}" for name, value in point.items())
                key = format_key(len(requests) + 1, self.workload, label)
                requests.append(RunRequest(key, self.workload, {**self.settings, **point}, turn))
        return requests

    def plan_next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
        """The next run that is missing."""
        return find_first_missing(self.plan_runs(), runs)

    def estimate_left(self, runs: Sequence[RunSummary]) -> int:
        """Runs that are missing."""
        return len(self.plan_runs()) - len(runs)

    def answer(self, runs: Sequence[RunSummary]) -> SweepAnswer:
        """Each point with its metrics, and the knee of each curve over load."""
        swept = [build_point(point, [run for run in runs if is_at_point(run, point)]) for point in self.list_points()]
        points = tuple(point for point in swept if point.runs)
        names = tuple(name for name, _ in self.over)
        lines = [describe_verdicts(runs, points)]
        load = next((name for name in names if name in AXIS), None)
        fitted: list[Curve] = []
        if load is not None:
            fitted = build_curves(points, load, [name for name in names if name != load])
            lines += [line for curve in fitted for line in describe_curve(curve, load)]
        scaled = None if self.arrives else next((name for name in names if name in CORES), None)
        scales: list[Scaling] = []
        if scaled is not None:
            scales = compute_scaling(points, scaled, [name for name in names if name != scaled])
            lines += [describe_scaling(scale, scaled) for scale in scales if len(scale.points) > 1]
        return SweepAnswer(
            workload=self.workload,
            settings=dict(self.settings),
            over=names,
            points=points,
            curves=tuple(fitted),
            scaling=tuple(scales),
            is_answered=not self.estimate_left(runs),
            headline=(*lines, *describe_between(group_answers(points, runs))),
        )


def make(section: SweepSection, context: StudyContext) -> Sweep:
    """The question about one workload; raises UsageError."""
    over = dict(parse_over(section.over))
    if sum(get_parameter(name).is_load for name in over) > 1:
        raise UsageError("Sessions and rate exclude each other. Vary only one of them.")
    arrives = "rate" in over or ("sessions" not in over and isinstance(context.load, Arrivals))
    return Sweep(context.workload.name, {}, tuple(over.items()), section.rounds, arrives)
