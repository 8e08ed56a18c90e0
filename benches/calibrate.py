"""Do studies keep what they say? Coverage of intervals, false alarms and power, in virtual time.

`make calibrate` asks each question many times of systems whose behaviour is known, and prints one line for each: of how
many trials, how often an interval held what it is about. `docs/evidence/trust.md` keeps the figures that were measured.
Trials take minutes each: with `--keep FOLDER` each is kept as it ends, and a later call goes on from there.
"""

import argparse
import asyncio
import json
import math
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from loadstone.model.load import Population
from loadstone.model.profile import PROFILES
from loadstone.model.system import Clock, Station, UserSpread
from loadstone.run.spec import RunSpec, WorkloadLoad
from loadstone.store.read import read_result
from loadstone.study.base import WorkloadRuns
from loadstone.study.difference import FoundDifference
from loadstone.study.kinds.compare.loads.question import Compare
from loadstone.study.kinds.predict.question import Predict
from loadstone.study.kinds.repeat.question import Repeat
from loadstone.study.question import Question
from loadstone.study.search.question import Search
from loadstone.study.service_model import ModelLimits
from loadstone.study.summary import RunRequest, RunSummary
from loadstone.study.until import Until
from loadstone.workloads import load

STEADY_S = 60.0
"""Length of each run's measured window, in virtual seconds."""
PAGE = """[workload]
name = "page"
title = "One page"
[pacing]
kind = "think"
mean_s = 0
[connections]
parallel = 1
[limits]
good_s = {good}
tolerable_s = {tolerable}
[mix]
kind = "flat"
shares = {{ page = 1 }}
operations_per_session = 1
[operations.page]
path = "/"
"""
GOOD_S, TOLERABLE_S = 0.05, 0.08
"""Limits of the 95th and the 99th percentile."""
SYSTEMS = {
    "M/M/1": Station(workers=1, service=0.004),
    "M/M/4": Station(workers=4, service=0.008),
    "M/D/4": Station(workers=4, service=0.008, spread=UserSpread.FIXED),
    "cv 3": Station(workers=4, service=0.004, spread=UserSpread.LOG_NORMAL, cv=3),
    "stalls": Station(workers=4, service=0.008, stall=0.02, stall_every=1.0),
    "queue of 4": Station(workers=4, service=0.008, queue=4),
    "at its limit": Station(workers=4, service=0.016),
}
"""What is asked about. The percentiles' limits are far above the service times of all but the last, whose operations
take 48 ms at the 95th percentile when nobody waits: a little more load hardly moves it."""
COUNTED = 40
"""Runs at each load that are counted to find where half pass."""
AWAY = (-2.0, -1.33, -0.67, 0.0, 0.67, 1.33, 2.0)
"""At how many standard deviations of the edges found from their median."""
SURE = Until("response_mean", 10)
"""How sure predictions are asked to be."""
PLANTED = 1.05
"""By how much slower B is made where a difference is planted."""


@dataclass(frozen=True)
class Line:
    """What came of one question asked many times."""

    question: str
    system: str
    trials: int
    said: str
    measured: float
    claimed: str


def base_of(station: Station, seed: int, folder: Path) -> WorkloadRuns:
    """Runs of one page, at arrivals, in virtual time."""
    parts = (WorkloadLoad(load(str(page(folder))), Population(1)),)
    profile = replace(PROFILES["standard"].with_phases(ramp_up_s=1, warm_up_s=5, steady_s=STEADY_S, ramp_down_s=1))
    return WorkloadRuns(RunSpec("page", parts, profile, seed, 1, station, folder, clock=Clock.VIRTUAL))


def page(folder: Path) -> Path:
    """A workload of one page with our limits."""
    made = folder / "page"
    made.mkdir(exist_ok=True)
    (made / "workload.toml").write_text(PAGE.format(good=GOOD_S, tolerable=TOLERABLE_S))
    return made


def ask(station: Station, seed: int, question: Question[Any]) -> Any:
    """The answer of a study; its runs are forgotten."""
    with tempfile.TemporaryDirectory(prefix="loadstone-calibrate-") as name:
        return asyncio.run(_ask(base_of(station, seed, Path(name)), question, Path(name)))


async def _ask(base: WorkloadRuns, question: Question[Any], folder: Path) -> Any:
    runs: list[RunSummary] = []
    while (request := question.plan_next(runs)) is not None:
        runs.append(await _play(base, request, folder))
    return question.answer(runs)


def _ignore(_: object) -> None:
    """Nobody watches."""


async def _play(base: WorkloadRuns, request: RunRequest, folder: Path) -> RunSummary:
    path = await base.run(request, folder, _ignore, _ignore)
    summary = base.summarize(request, read_result(path))
    shutil.rmtree(path)
    return summary


def passing(system: str, rate: float, seed: int) -> float:
    """The share of runs that pass at a rate."""
    answer = ask(SYSTEMS[system], seed, Repeat("page", {"rate": f"{rate:.6g}"}, COUNTED))
    return float(answer.verdicts.get("pass", 0) / COUNTED)


def half_passing(system: str, edges: Sequence[float], pool: Executor) -> float:
    """Arrivals per second at which half of all runs pass: a straight line through what was counted about it."""
    middle = median(edges)
    apart = max(0.005 * middle, float(np.std(edges)))
    rates = [middle + away * apart for away in AWAY]
    shares = list(pool.map(partial(passing, system), rates, range(1, 1 + len(rates))))
    slope, level = np.polyfit(rates, shares, 1)
    return float((0.5 - level) / slope)


def search(system: str, seed: int) -> tuple[float, tuple[float, float], tuple[float, float, float] | None] | None:
    """A peak, its interval and the estimate of the edge."""
    start = 0.3 * SYSTEMS[system].workers / SYSTEMS[system].service
    answer = ask(SYSTEMS[system], seed, Search("page", {}, "rate", start, 0.02))
    if answer.peak is None or answer.interval is None:
        return None
    edge = answer.edge and (answer.edge.load, answer.edge.low, answer.edge.high)
    return answer.peak, answer.interval, edge


def searches(system: str, found: Sequence[Any], pool: Executor) -> Iterator[Line]:
    """How often a repetition's peak lies in an interval, and where half of all runs pass in that of the edge."""
    known = [one for one in found if one is not None]
    peaks, spans = [one[0] for one in known], [one[1] for one in known]
    others = [low <= peak <= high for at, (low, high) in enumerate(spans) for of, peak in enumerate(peaks) if of != at]
    yield Line("search", system, len(known), "peaks of repetitions in the interval, %", 100 * fmean(others), "95")
    edges = [one[2] for one in known if one[2] is not None]
    truth = half_passing(system, [at for at, _, _ in edges], pool)
    inside = [low <= truth <= high for _, low, high in edges]
    said = f"where half of all runs pass ({truth:.4g}/s) in the edge's interval, %"
    yield Line("search", system, len(edges), said, 100 * fmean(inside), "95")
    bias = 100 * (fmean(at for at, _, _ in edges) / truth - 1)
    yield Line("search", system, len(edges), "bias of the edge, %", bias, "within 1")
    bias = 100 * (fmean(peaks) / truth - 1)
    yield Line("search", system, len(peaks), "the verified peak from there, %", bias, "below 0")


def repeat(system: str, seed: int) -> tuple[float, float, float] | None:
    """The mean response time of five runs at 70 % of the capacity, with its interval."""
    station = SYSTEMS[system]
    rate = 0.6 * station.workers / station.service
    answer = ask(station, seed, Repeat("page", {"rate": rate}, 5))
    series = answer.metrics.get("response_mean")
    return None if series is None or series.low is None else (series.mean, series.low, series.high)


def repeats(system: str, found: Sequence[Any], _: Executor) -> Iterator[Line]:
    """How often an interval of five runs holds the mean over all trials."""
    known = [one for one in found if one is not None]
    truth = fmean(mean for mean, _, _ in known)
    inside = [low <= truth <= high for _, low, high in known]
    yield Line("repeat", system, len(known), "mean over all trials in the interval, %", 100 * fmean(inside), "95")


def of_pairs(system: str, factor: float, seed: int, pairs: int) -> FoundDifference | None:
    """The difference in mean response time at 60 % of the capacity to a system slower by a factor."""
    station = SYSTEMS[system]
    rate = 0.6 * station.workers / station.service
    settings = {"station.service": station.service * factor}
    answer = ask(station, seed, Compare("page", {"rate": rate}, {}, settings if factor != 1 else {}, ({},), pairs))
    found: FoundDifference | None = answer.loads[0].metrics["response_mean"].difference
    return found


def compare(factor: float, system: str, seed: int) -> bool | None:
    """Whether a difference is found over ten pairs."""
    found = of_pairs(system, factor, seed, 10)
    return None if found is None else found.is_found


def compare_enough(factor: float, system: str, seed: int) -> bool | None:
    """Whether it is found over as many pairs as ten of the system against itself recommend."""
    pilot = of_pairs(system, 1.0, seed + 1, 10)
    enough = None if pilot is None else pilot.enough_pairs
    found = None if enough is None else of_pairs(system, factor, seed, enough)
    return None if found is None else found.is_found


def comparisons(factor: float, system: str, found: Sequence[Any], _: Executor) -> Iterator[Line]:
    """How often a difference is found."""
    known = [bool(one) for one in found if one is not None]
    said = "false alarms, %" if factor == 1 else f"service {100 * (factor - 1):.0f} % slower, found, %"
    claimed = "at most 5" if factor == 1 else "at least 90"
    yield Line("compare", system, len(known), said, 100 * fmean(known), claimed)


def predict(system: str, seed: int) -> tuple[float, float, float, float] | None:
    """The predicted mean response time at 80 % of the capacity, with its interval."""
    station = SYSTEMS[system]
    capacity = station.workers / station.service
    at, check = tuple(share * capacity for share in (0.2, 0.35, 0.5, 0.6)), 0.8 * capacity
    asked = Predict("page", {}, "rate", at, (check,), ModelLimits(GOOD_S, TOLERABLE_S), 3, until=SURE)
    answer = ask(station, seed, asked)
    if not answer.checks:
        return None
    point = next(point for point in answer.curve if point.load == check)
    measured = fmean(check.response_mean.measured for check in answer.checks)
    said = point.response_mean
    return measured, said.value, said.low, said.high


def predictions(system: str, found: Sequence[Any], _: Executor) -> Iterator[Line]:
    """How often a prediction's interval holds what most trials measured."""
    known = [one for one in found if one is not None]
    truth = fmean(measured for measured, _, _, _ in known)
    inside = [low <= truth <= high for _, _, low, high in known]
    yield Line("predict", system, len(known), "mean at 80 % of capacity in the interval, %", 100 * fmean(inside), "95")
    off = [said / truth - 1 for _, said, _, _ in known]
    yield Line("predict", system, len(known), "bias of that mean, %", 100 * fmean(off), "within 5")
    error = 100 * fmean(map(abs, off))
    yield Line("predict", system, len(known), "its mean absolute error, %", error, "at most 5")


Trial = Callable[[str, int], Any]


def trials(trial: Trial, system: str, count: int, kept: Path | None, pool: Executor) -> list[Any]:
    """What came of so many trials of a system; those that a file has already are not asked again."""
    if kept is None:
        return list(pool.map(partial(trial, system), map(seed_of, range(1, count + 1))))
    known = dict(map(json.loads, kept.read_text().splitlines())) if kept.exists() else {}
    due = [at for at in range(1, count + 1) if at not in known]
    with kept.open("a") as lines:
        for at, found in zip(due, pool.map(partial(trial, system), map(seed_of, due)), strict=True):
            known[at] = found
            print(json.dumps([at, found]), file=lines, flush=True)
    return [known[at] for at in range(1, count + 1)]


def seed_of(trial: int) -> int:
    """The seed of a trial, by its number from 1."""
    return int(1e6) + 7919 * trial


QUESTIONS: dict[str, tuple[Trial, Callable[[str, Sequence[Any], Executor], Iterator[Line]]]] = {
    "search": (search, searches),
    "repeat": (repeat, repeats),
    "compare": (partial(compare, 1.0), partial(comparisons, 1.0)),
    "planted": (partial(compare, PLANTED), partial(comparisons, PLANTED)),
    "enough": (partial(compare_enough, PLANTED), partial(comparisons, PLANTED)),
    "predict": (predict, predictions),
}


def main() -> None:
    """Asks, and prints what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=20, help="studies of each kind and system")
    parser.add_argument("--question", action="append", choices=QUESTIONS, help="one kind, several times for several")
    parser.add_argument("--system", action="append", choices=SYSTEMS, help="one system, several times for several")
    parser.add_argument("--processes", type=int, default=2, help="studies at once")
    parser.add_argument("--output", type=Path, help="where to keep the lines as JSON")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep each trial there, and go on from those kept")
    options = parser.parse_args()
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
    lines = []
    with ProcessPoolExecutor(options.processes) as pool:
        for name in options.question or QUESTIONS:
            trial, concluded = QUESTIONS[name]
            for system in options.system or SYSTEMS:
                kept = options.keep and options.keep / f"{name}-{system.replace('/', '').replace(' ', '-')}.jsonl"
                found = trials(trial, system, options.trials, kept, pool)
                for line in concluded(system, found, pool):
                    lines.append(line)
                    error = 100 * math.sqrt(0.25 / max(1, line.trials))
                    print(
                        f"{line.question:8} {line.system:11} n {line.trials:4}  {line.said:68} {line.measured:7.1f}"
                        f"  claimed {line.claimed}  (standard error at most {error:.1f})",
                        flush=True,
                    )
    if options.output is not None:
        options.output.write_text(json.dumps([asdict(line) for line in lines], indent=1) + "\n")


if __name__ == "__main__":
    main()
