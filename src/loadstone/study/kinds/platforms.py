"""`compare --platform`: what a platform costs against another. Peaks of both, response times at a share of A's peak and
of the smaller one, curves over loads that both were given, and the load where they part. Pure.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from loadstone.study.kinds.compare import A, B
from loadstone.study.kinds.repeat import verdicts
from loadstone.study.kinds.search import Search, State
from loadstone.study.question import key_of, missing
from loadstone.study.summary import FIGURES, Made, Wanted

Json = dict[str, Any]
Settings = Mapping[str, str]

TYPICAL = 0.8
"""Share of the native peak at which response times are compared (published comparison: 78 to 85 %)."""
STEPS = (0.2, 0.4, 0.6, 1.0)
"""Shares of the smaller peak at which curves have points on both sides, besides TYPICAL."""
NEAR = 0.05
"""Two loads closer than this are one."""
APART_PCT = 10.0
"""How much longer B's 90th percentile must be for the curves to have parted."""
APART_FIGURE = "response_p90"
SEEDS_APART = 1000


@dataclass(frozen=True)
class Platforms:
    """One workload on two platforms."""

    workload: str
    a: Settings
    b: Settings
    search: Callable[[Settings, str, int], Search]
    """Makes a search from settings, the beginning of its runs' keys and the first seed."""
    pairs: int = 1
    """Runs of each side at each load of the curves."""
    kind: str = "platforms"

    def searches(self) -> dict[str, Search]:
        """The search of each side."""
        return {A: self.search(self.a, A, 0), B: self.search(self.b, B, SEEDS_APART)}

    def wanted(self) -> list[Wanted]:
        """The first run of both searches."""
        return [wanted for search in self.searches().values() for wanted in search.wanted()]

    def next(self, made: Sequence[Made]) -> Wanted | None:
        """The next run: first the searches, then the loads that follow from their peaks."""
        searching = (search.next(search.own(made)) for search in self.searches().values())
        found = next((wanted for wanted in searching if wanted is not None), None)
        return found or next(iter(missing(self._planned(made), made)), None)

    def left(self, made: Sequence[Made]) -> int:
        """About how many runs are left."""
        searching = sum(search.left(search.own(made)) for search in self.searches().values())
        points = len(missing(self._planned(made), made)) if not searching else 2 * self.pairs * (len(STEPS) + 2)
        return searching + points

    def peaks(self, made: Sequence[Made]) -> dict[str, float]:
        """The peaks found so far."""
        found = {side: State(search, search.own(made)).peak for side, search in self.searches().items()}
        return {side: peak for side, peak in found.items() if peak}

    def loads(self, made: Sequence[Made]) -> list[float]:
        """Loads that both sides are given, the smallest first; none before both peaks are known."""
        peaks = self.peaks(made)
        if len(peaks) < 2:
            return []
        smaller, rounded = min(peaks.values()), self.searches()[A].rounded
        wanted = [*(rounded(share * smaller) for share in (*STEPS, TYPICAL)), rounded(TYPICAL * peaks[A])]
        kept: list[float] = []
        for load in sorted(wanted):
            if not kept or load > kept[-1] * (1 + NEAR):
                kept.append(load)
        return kept

    def _planned(self, made: Sequence[Made]) -> list[Wanted]:
        """Each load on A and B, then on B and A, and so on."""
        runs: list[Wanted] = []
        search = self.searches()[A]
        for load in self.loads(made):
            text = search.text(load)
            for pair in range(self.pairs):
                for side in (A, B) if pair % 2 == 0 else (B, A):
                    settings = {**(self.a if side == A else self.b), search.load: text}
                    key = f"c-{key_of(len(runs) + 1, self.workload, f'{side}-{text}')}"
                    runs.append(Wanted(key, self.workload, settings, 2 * SEEDS_APART + len(runs), side=side))
        return runs

    def answer(self, made: Sequence[Made]) -> Json:
        """Peaks, monitors at the peaks, both typical loads, curves, and where they part."""
        answers = {side: search.answer(search.own(made)) for side, search in self.searches().items()}
        peaks, loads = self.peaks(made), self.loads(made)
        whole = self.next(made) is None
        row = {side: _at(self._runs(made, side, peaks.get(side))) for side in (A, B)}
        smaller = self.searches()[A].rounded(TYPICAL * min(peaks.values())) if len(peaks) == 2 else None
        curve = [self._point(made, load) for load in loads]
        parted = _parting(curve)
        accelerators = {side: _accelerator(made, side) for side in (A, B)}
        return {
            "a": dict(self.a),
            "b": dict(self.b),
            "names": _names(self),
            "load": self.searches()[A].load,
            "peaks": {side: peaks.get(side) for side in (A, B)},
            "ratio": peaks[B] / peaks[A] if len(peaks) == 2 else None,
            "at_peak": row,
            "typical": self._near(curve, self.searches()[A].rounded(TYPICAL * peaks[A]) if loads else None),
            "common": self._near(curve, smaller),
            "curve": curve,
            "parted": parted,
            "accelerators": accelerators,
            "cost": _cost(curve),
            "searches": [{"side": side, **one} for side, one in answers.items()],
            "is_worse": len(peaks) == 2 and _is_lower(answers),
            "is_answered": whole and len(peaks) == 2,
            "headline": _headline(self, answers, peaks, curve, parted, accelerators),
        }

    def _runs(self, made: Sequence[Made], side: str, load: float | None) -> list[Made]:
        """All passing and failing runs of a side at a load, whatever they were made for."""
        prefix = f"{side}-"
        own = [one for one in made if one.wanted.side == side or one.wanted.key.startswith(prefix)]
        return [one for one in own if one.wanted.load == load]

    def _point(self, made: Sequence[Made], load: float) -> Json:
        return {"load": load, **{side: _at(self._runs(made, side, load)) for side in (A, B)}}

    def _near(self, curve: Sequence[Json], load: float | None) -> Json | None:
        """The point of the curve that stands for a load."""
        near = [point for point in curve if load and abs(point["load"] / load - 1) <= NEAR]
        return near[-1] if near else None


def _names(of: Platforms) -> dict[str, str]:
    """What both sides are called: their platform, with the side where that is the same."""
    names = {A: of.a.get("platform", A), B: of.b.get("platform", B)}
    return names if names[A] != names[B] else {side: f"{name} ({side.upper()})" for side, name in names.items()}


def _at(runs: Sequence[Made]) -> Json:
    """A side at a load: means of its runs."""
    figures = {
        name: fmean(one.figures[name] for one in runs)
        for name in FIGURES
        if runs and all(name in one.figures for one in runs)
    }
    names = dict.fromkeys(name for one in runs for name in one.monitors)
    monitors = {
        name: fmean(one.monitors[name] for one in runs) for name in names if all(name in one.monitors for one in runs)
    }
    return {"figures": figures, "monitors": monitors, "verdicts": verdicts(runs), "runs": [one.folder for one in runs]}


def _parting(curve: Sequence[Json]) -> Json | None:
    """Between which loads B's 90th percentile leaves A's: from where on it is longer at every higher load."""
    points = [
        (point["load"], point[B]["figures"][APART_FIGURE] / point[A]["figures"][APART_FIGURE])
        for point in curve
        if all(point[side]["figures"].get(APART_FIGURE) for side in (A, B))
    ]
    if not points:
        return None
    apart = [100 * (ratio - 1) > APART_PCT for _, ratio in points]
    first = next((at for at in range(len(points)) if all(apart[at:])), None)
    if first is None:
        return {"after": points[-1][0], "at": None}
    return {"after": points[first - 1][0] if first else None, "at": points[first][0]}


def _accelerator(made: Sequence[Made], side: str) -> str:
    """What made the processors of a side's machines; empty for no machine of its own."""
    own = (one for one in made if one.wanted.side == side or one.wanted.key.startswith(f"{side}-"))
    return next((one.accelerator for one in own if one.accelerator), "")


def _cost(curve: Sequence[Json]) -> float | None:
    """CPU time an operation takes on B against A: the median over the loads that both hold."""
    name = "server_cpu_per_operation"
    ratios = [
        point[B]["figures"][name] / point[A]["figures"][name]
        for point in curve
        if all(point[side]["figures"].get(name) and point[side]["verdicts"]["pass"] for side in (A, B))
    ]
    return median(ratios) if ratios else None


def _is_lower(answers: Mapping[str, Json]) -> bool:
    """Whether B's peak lies below A's even when both searches' intervals are allowed for."""
    return bool(answers[B]["interval"][1] < answers[A]["interval"][0])


def _headline(
    of: Platforms,
    answers: Mapping[str, Json],
    peaks: Mapping[str, float],
    curve: Sequence[Json],
    parted: Json | None,
    accelerators: Mapping[str, str],
) -> list[str]:
    names = _names(of)
    lines = [f"{names[side]}: {line}" for side, one in answers.items() for line in one["headline"][:1]]
    if len(peaks) < 2:
        return lines
    share = 100 * peaks[B] / peaks[A]
    emulated = " (emulated by TCG: says nothing of KVM)" if "tcg" in accelerators.values() else ""
    bound = {side: one["limit"] == "driver" for side, one in answers.items()}
    about = "" if bound[A] == bound[B] else "at most " if bound[A] else "at least "
    unsure = " (the driver was the limit of both)" if bound[A] and bound[B] else ""
    lines.insert(0, f"{names[B]} holds {about}{share:.0f} % of the peak of {names[A]}{emulated}{unsure}.")
    cost = _cost(curve)
    if cost is not None:
        lines.append(f"An operation takes {cost:.2f} times the CPU time on {names[B]}, at loads that both hold.")
    if parted is not None:
        lines.append(_parted_in_words(parted))
    return lines


def _parted_in_words(parted: Json) -> str:
    if parted["at"] is None:
        return f"Response times do not part up to a load of {parted['after']:g}."
    if parted["after"] is None:
        return f"Response times (p90) are more than {APART_PCT:g} % apart from the smallest load on, {parted['at']:g}."
    return f"Response times (p90) part between loads of {parted['after']:g} and {parted['at']:g}."
