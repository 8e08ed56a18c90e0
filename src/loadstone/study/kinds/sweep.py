"""`sweep`: one or more parameters over given points. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from loadstone.judge.statistics import summary
from loadstone.study.kinds.repeat import verdicts
from loadstone.study.question import key_of, planned
from loadstone.study.summary import FIGURES, Made, Wanted

Json = dict[str, Any]

CORES = ("server.cores", "server.threads", "station.workers")
"""Parameters over which throughput is expected to grow in proportion."""


@dataclass(frozen=True)
class Sweep:
    """Every combination of the points, each so many times; every second round in reverse, so that drift cancels."""

    workload: str
    settings: Mapping[str, str]
    over: tuple[tuple[str, tuple[str, ...]], ...]
    """Parameters with their points."""
    rounds: int = 1
    arrives: bool = False
    """Whether the load comes by itself: throughput then says nothing of cores."""
    kind: str = "sweep"

    def points(self) -> list[dict[str, str]]:
        """All combinations, the last parameter varying fastest."""
        names = [name for name, _ in self.over]
        return [dict(zip(names, values, strict=True)) for values in product(*(points for _, points in self.over))]

    def wanted(self) -> list[Wanted]:
        """All its runs, in order."""
        runs: list[Wanted] = []
        points = self.points()
        for turn in range(self.rounds):
            for point in points if turn % 2 == 0 else reversed(points):
                words = "-".join(f"{name.rpartition('.')[2]}-{value}" for name, value in point.items())
                key = key_of(len(runs) + 1, self.workload, words)
                runs.append(Wanted(key, self.workload, {**self.settings, **point}, turn))
        return runs

    def next(self, made: Sequence[Made]) -> Wanted | None:
        """The next run that is missing."""
        return planned(self.wanted(), made)

    def left(self, made: Sequence[Made]) -> int:
        """Runs that are missing."""
        return len(self.wanted()) - len(made)

    def answer(self, made: Sequence[Made]) -> Json:
        """Each point with its figures, and the knee of each curve over load."""
        rows = [_row(point, [one for one in made if _is_at(one, point)]) for point in self.points()]
        rows = [row for row in rows if row["runs"]]
        swept = [name for name, _ in self.over]
        answer: Json = {
            "settings": dict(self.settings),
            "over": swept,
            "points": rows,
            "is_answered": not self.left(made),
        }
        lines = [f"{len(made)} runs at {len(rows)} points."]
        load = next((name for name in swept if name in ("sessions", "rate")), None)
        if load is not None:
            answer["curves"] = curves(rows, load, [name for name in swept if name != load])
            lines += [line for curve in answer["curves"] for line in _marks(curve, load)]
        scaled = None if self.arrives else next((name for name in swept if name in CORES), None)
        if scaled is not None:
            answer["scaling"] = scaling(rows, scaled, [name for name in swept if name != scaled])
            lines += [_scaled(one, scaled) for one in answer["scaling"] if len(one["points"]) > 1]
        return {**answer, "headline": lines}


def _is_at(made: Made, point: Mapping[str, str]) -> bool:
    return all(made.wanted.settings.get(name) == value for name, value in point.items())


def _row(point: Mapping[str, str], made: Sequence[Made]) -> Json:
    figures: dict[str, Json] = {}
    for name in FIGURES:
        values = [one.figures[name] for one in made if name in one.figures]
        if values:
            figures[name] = asdict(summary(values))
    broken = sorted({rule.name for one in made for rule in one.broken()})
    return {"at": dict(point), "runs": len(made), "verdicts": verdicts(made), "broken": broken, "figures": figures}


def _groups(rows: Sequence[Json], apart: Sequence[str]) -> dict[tuple[str, ...], list[Json]]:
    groups: dict[tuple[str, ...], list[Json]] = {}
    for row in rows:
        groups.setdefault(tuple(row["at"][name] for name in apart), []).append(row)
    return groups


def curves(rows: Sequence[Json], load: str, apart: Sequence[str]) -> list[Json]:
    """For each combination of the other parameters the points in order of load, with knee and largest passing load."""
    made = []
    for key, group in _groups(rows, apart).items():
        points = sorted(group, key=lambda row: float(row["at"][load]))
        passing = [float(row["at"][load]) for row in points if row["verdicts"]["pass"] == row["runs"]]
        made.append(
            {
                "of": dict(zip(apart, key, strict=True)),
                "points": points,
                "knee": knee([(float(row["at"][load]), _mean(row, "response_mean")) for row in points]),
                "largest_passing": max(passing, default=None),
            }
        )
    return made


def knee(points: Sequence[tuple[float, float | None]]) -> float | None:
    """The load beyond which time grows faster than throughput: where load / response time is largest (Kleinrock's
    power). None when it is largest at an end of the curve, where nothing says that it would not go on growing.
    """
    power = [load / seconds if seconds else 0.0 for load, seconds in points]
    best = max(range(len(power)), key=lambda at: power[at], default=0)
    return points[best][0] if 0 < best < len(points) - 1 else None


def scaling(rows: Sequence[Json], scaled: str, apart: Sequence[str]) -> list[Json]:
    """Throughput over cores, and its efficiency against the fewest: throughput by (throughput there x factor)."""
    made = []
    for key, group in _groups(rows, apart).items():
        points = sorted(group, key=lambda row: float(row["at"][scaled]))
        first = points[0]
        base, cores = _mean(first, "throughput"), float(first["at"][scaled])
        held = [
            {
                "cores": float(row["at"][scaled]),
                "throughput": _mean(row, "throughput"),
                "efficiency": (_mean(row, "throughput") or 0) / (base * float(row["at"][scaled]) / cores)
                if base
                else None,
            }
            for row in points
        ]
        made.append({"of": dict(zip(apart, key, strict=True)), "points": held})
    return made


def _mean(row: Json, figure: str) -> float | None:
    return row["figures"][figure]["mean"] if figure in row["figures"] else None


def _named(of: Mapping[str, str]) -> str:
    return "".join(f", {name}={value}" for name, value in of.items())


def _marks(curve: Json, load: str) -> list[str]:
    lines = []
    if curve["knee"] is not None:
        lines.append(f"Knee at {load}={curve['knee']:g}{_named(curve['of'])}: beyond it time grows faster than load.")
    if curve["largest_passing"] is not None:
        lines.append(f"Largest point that passed: {load}={curve['largest_passing']:g}{_named(curve['of'])}.")
    return lines


def _scaled(scaling: Json, name: str) -> str:
    last = scaling["points"][-1]
    efficiency = f"{100 * last['efficiency']:.0f} %" if last["efficiency"] is not None else "unknown"
    first = scaling["points"][0]["cores"]
    return f"Efficiency at {name}={last['cores']:g} against {first:g}{_named(scaling['of'])}: {efficiency}."
