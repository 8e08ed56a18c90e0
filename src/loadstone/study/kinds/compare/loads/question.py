"""`compare` at loads: every pair goes through all loads before the next pair begins. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from loadstone.judge.statistics import CONFIDENCE_LEVEL, compute_seen_scatters, correct_by_holm
from loadstone.study.answers import list_changed_answers
from loadstone.study.conditions import describe_unlike
from loadstone.study.difference import LEAST_PAIRS, compare_metric
from loadstone.study.failures import compare_paired
from loadstone.study.kinds.compare.loads.answer import CompareAnswer, ComparedLoad, compare_passing, is_load_worse
from loadstone.study.kinds.compare.loads.sentences import summarize_load
from loadstone.study.metrics import METRICS
from loadstone.study.parameters import RunSettings
from loadstone.study.question import count_verdicts, find_first_missing, format_key
from loadstone.study.settings import write_value
from loadstone.study.sides import order_sides
from loadstone.study.summary import ComparedSide, RunRequest, RunSummary

LEAST_OVERLAP = 0.9
"""Share of the longer steady state that two runs at the same time must have in common."""
USUAL_SCATTER = 0.05
"""By how much two runs alike differ on a machine that others use too, for an example."""


def describe_promise(question: "Compare") -> str:
    """Describes the difference that so many pairs can detect, before the first run."""
    if question.pairs < LEAST_PAIRS:
        return f"{question.pairs} pairs cannot distinguish a difference from chance; {LEAST_PAIRS} are the minimum."
    scatters = compute_seen_scatters(question.pairs)
    found_pct = 100 * math.expm1(scatters * USUAL_SCATTER)
    return (
        f"{question.pairs} pairs find, nine times in ten, a difference of {scatters:.1f} times the scatter of a pair: "
        f"{found_pct:.0f} % where two runs alike differ by {100 * USUAL_SCATTER:.0f} %."
    )


def compute_pairs(loads: int) -> int:
    """Fewest pairs with which anything can be found at each of so many loads, corrected for asking several times."""
    return max(LEAST_PAIRS, math.ceil(math.log2(2 * loads / (1 - CONFIDENCE_LEVEL))))


def compute_overlap(a: RunSummary, b: RunSummary) -> float:
    """Which share of the longer steady state both had in common, the least of all iterations; 0 where unknown."""
    pairs = zip(a.windows_unix_s, b.windows_unix_s, strict=False)
    shares = [
        max(0.0, min(first[1], second[1]) - max(first[0], second[0])) / max(first[1] - first[0], second[1] - second[0])
        for first, second in pairs
    ]
    return min(shares, default=0.0)


@dataclass(frozen=True)
class Compare:
    """Two settings at one or several loads, run in pairs whose order is drawn, so that drift falls on both alike."""

    workload: str
    settings: RunSettings
    a: RunSettings
    b: RunSettings
    loads: tuple[RunSettings, ...]
    pairs: int = LEAST_PAIRS
    metric: str = "response_mean"
    """The one the question is about; all others are reported beside it."""
    is_duet: bool = False
    """Whether both runs of a pair are made at the same time, each on cores of its own."""

    def plan_runs(self) -> list[RunRequest]:
        """All its runs, in order: every pair goes through all loads before the next pair begins."""
        requests: list[RunRequest] = []
        for pair in range(self.pairs):
            for load in self.loads:
                for side in order_sides(pair):
                    requests.append(self._request(len(requests), side, load))
        return requests

    def _request(self, place: int, side: ComparedSide, load: RunSettings) -> RunRequest:
        settings = {**self.settings, **load, **(self.a if side is ComparedSide.A else self.b)}
        label = "-".join([side, *map(write_value, load.values())])
        # Every run has a seed of its own: what is found holds beyond one seed's draw of users.
        duet = f"{self.workload}-{place // 2 + 1}" if self.is_duet else ""
        return RunRequest(
            format_key(place + 1, self.workload, label), self.workload, settings, place, side=side, duet=duet
        )

    def plan_next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
        """The next run that is missing."""
        return find_first_missing(self.plan_runs(), runs)

    def estimate_left(self, runs: Sequence[RunSummary]) -> int:
        """Runs that are missing."""
        return len(self.plan_runs()) - len(runs)

    def answer(self, runs: Sequence[RunSummary]) -> CompareAnswer:
        """The difference at each load, and in words."""
        loads = self._corrected([self._compare_load(load, runs) for load in self.loads])
        alike = ["A and B have the same settings, so any difference is chance."] if self.a == self.b else []
        lines = [line for load in loads for line in summarize_load(load, self.metric, len(loads) > 1)]
        is_worse = any(is_load_worse(load, self.metric) for load in loads)
        return CompareAnswer(
            workload=self.workload,
            settings=dict(self.settings),
            a=dict(self.a),
            b=dict(self.b),
            metric=self.metric,
            pairs=self.pairs,
            loads=tuple(loads),
            is_answered=not self.estimate_left(runs) and (is_worse or all(map(self._is_settled, loads))),
            is_worse=is_worse,
            headline=(*alike, *self._unlike(runs), *lines),
        )

    def _is_settled(self, load: ComparedLoad) -> bool:
        """Whether the runs at a load tell anything: enough pairs are valid, and it is not open whether B fails more."""
        valid = self.pairs - load.left_out
        is_open = load.failures is not None and load.failures.is_suspect and not load.failures.errors_a
        return valid >= min(self.pairs, LEAST_PAIRS) and not is_open

    def _unlike(self, runs: Sequence[RunSummary]) -> list[str]:
        a, b = (
            [run.conditions for run in runs if run.request.side is side] for side in (ComparedSide.A, ComparedSide.B)
        )
        return describe_unlike(a, b)

    def _compare_load(self, load: RunSettings, runs: Sequence[RunSummary]) -> ComparedLoad:
        wanted = [
            request
            for request in self.plan_runs()
            if all(request.settings.get(name) == value for name, value in load.items())
        ]
        by_key = {run.request.key: run for run in runs}
        here = [by_key[request.key] for request in wanted if request.key in by_key]
        by_side = {side: [run for run in here if run.request.side is side] for side in (ComparedSide.A, ComparedSide.B)}
        pairs = list(zip(by_side[ComparedSide.A], by_side[ComparedSide.B], strict=False))
        valid = [pair for pair in pairs if all(run.is_valid for run in pair)]
        if self.is_duet:
            valid = [pair for pair in valid if compute_overlap(*pair) >= LEAST_OVERLAP]
        sides = {ComparedSide.A: [a for a, _ in valid], ComparedSide.B: [b for _, b in valid]}
        compared = {name: row for name in METRICS if (row := compare_metric(name, sides)) is not None}
        verdicts = {side.value: count_verdicts(side_runs) for side, side_runs in by_side.items()}
        failures = compare_paired(valid)
        return ComparedLoad(
            load=dict(load),
            verdicts=verdicts,
            metrics=compared,
            left_out=len(pairs) - len(valid),
            passing=compare_passing(valid, failures),
            is_duet=self.is_duet,
            failures=None if failures is None else failures.correct(len(self.loads)),
            changed_answers=tuple(list_changed_answers([a.answers for a, _ in valid], [b.answers for _, b in valid])),
        )

    def _corrected(self, loads: list[ComparedLoad]) -> list[ComparedLoad]:
        """Over the loads of a curve the question is asked several times, and the p-values say so."""
        differences = [load.metrics[self.metric].difference for load in loads if self.metric in load.metrics]
        chances = iter(correct_by_holm([difference.p for difference in differences if difference is not None]))
        corrected = []
        for load in loads:
            compared = load.metrics.get(self.metric)
            if compared is not None and compared.difference is not None:
                p = next(chances)
                difference = replace(compared.difference, p_corrected=p, is_found=p <= 1 - CONFIDENCE_LEVEL)
                load = replace(load, metrics={**load.metrics, self.metric: replace(compared, difference=difference)})
            corrected.append(load)
        return corrected
