"""`compare` at one load or over several: A against B, in alternation, with a permutation test. Pure."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import scipy

from loadstone.judge.statistics import (
    LEVEL,
    Difference,
    Summary,
    difference,
    holm,
    paired_apart,
    pairs_needed,
    seen_scatters,
    summary,
)
from loadstone.model.numbers import chance, number, rounded, signed_percent
from loadstone.page.blocks import Block, Cell, Column, ColumnKind, Figure, Gallery, Heading, Paragraph, Row, Table, Tone
from loadstone.page.plot import DifferencePlot, Plot
from loadstone.study.answers import AnswerChange, changed_answers, changes_in_words
from loadstone.study.conditions import unlike
from loadstone.study.failures import FailureComparison, compare_paired
from loadstone.study.metrics import METRICS, Better
from loadstone.study.question import Answer, count_verdicts, first_missing, key_of
from loadstone.study.summary import RunRequest, RunSummary, Side

Settings = Mapping[str, str]

LEAST_PAIRS = 6
"""Fewest pairs with which the test can find anything: 2 of 2^6 sign patterns are 3 %."""
LEAST_OVERLAP = 0.9
"""Share of the longer steady state that two runs at the same time must have in common."""
USUAL_SCATTER = 0.05
"""By how much two runs alike differ on a machine that others use too, for an example."""
SOUGHT_PCT = 5.0
"""The difference for which an answer says how many pairs find it."""
WIDEST_PCT = 50
"""Intervals that reach further say so little that they would flatten all others."""


def promise(question: "Compare") -> str:
    """What so many pairs are able to find, before the first is made."""
    if question.pairs < LEAST_PAIRS:
        return f"{question.pairs} pairs cannot tell a difference from chance; {LEAST_PAIRS} are the fewest that can."
    scatters = seen_scatters(question.pairs)
    found_pct = 100 * math.expm1(scatters * USUAL_SCATTER)
    return (
        f"{question.pairs} pairs find, nine times in ten, a difference of {scatters:.1f} times the scatter of a pair: "
        f"{found_pct:.0f} % where two runs alike differ by {100 * USUAL_SCATTER:.0f} %."
    )


def pairs_for(loads: int) -> int:
    """Fewest pairs with which anything can be found at each of so many loads, corrected for asking several times."""
    return max(LEAST_PAIRS, math.ceil(math.log2(2 * loads / (1 - LEVEL))))


def overlap(a: RunSummary, b: RunSummary) -> float:
    """Which share of the longer steady state both had in common, the least of all iterations; 0 where unknown."""
    pairs = zip(a.windows_unix_s, b.windows_unix_s, strict=False)
    shares = [
        max(0.0, min(one[1], other[1]) - max(one[0], other[0])) / max(one[1] - one[0], other[1] - other[0])
        for one, other in pairs
    ]
    return min(shares, default=0.0)


def side_by_turn(pair: int) -> tuple[Side, Side]:
    """Which side comes first, at random, but once each in every two pairs: drift falls on both alike, and nothing that
    happens regularly falls on one alone.
    """
    is_a_first = (np.random.default_rng(pair // 2).random() < 0.5) == (pair % 2 == 0)
    return (Side.A, Side.B) if is_a_first else (Side.B, Side.A)


@dataclass(frozen=True)
class FoundDifference:
    """B against A as a ratio of means, as it is kept; `p_corrected` over all loads that were asked about."""

    pairs: int
    ratio: float
    low: float | None
    high: float | None
    p: float
    effect: float | None
    is_found: bool
    """Whether chance is an unlikely reason."""
    excluded_pct: float | None
    """The smallest difference that the interval excludes, in percent of A."""
    p_corrected: float | None = None
    seen_pct: float | None = None
    """The difference that so many pairs of such scatter find nine times in ten, in percent of A."""

    @property
    def enough_pairs(self) -> int | None:
        """Pairs of such scatter that find a difference of `SOUGHT_PCT`; None where that is not known."""
        return None if self.seen_pct is None else pairs_needed(self.seen_pct, self.pairs, SOUGHT_PCT)

    @classmethod
    def of(cls, found: Difference) -> "FoundDifference":
        """As it is kept."""
        return cls(**asdict(found), is_found=found.is_found, excluded_pct=found.excluded_pct)


@dataclass(frozen=True)
class SideValues:
    """A metric on one side: its values in order of time, and their summary."""

    values: tuple[float, ...]
    count: int
    mean: float
    sd: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class ComparedMetric:
    """A metric on both sides; no difference where a value is 0."""

    a: SideValues
    b: SideValues
    difference: FoundDifference | None
    apart_p: float | None = None
    """Where a value is 0: chance of such a difference of the means themselves."""


@dataclass(frozen=True)
class Passing:
    """How often each side passed, and whether that is more than chance."""

    a: int
    b: int
    pairs: int
    p: float
    """Sign test of the pairs in which one side passed and the other did not; one-sided where B passed less often."""
    broken: tuple[str, ...]
    """Rules that B broke, the most frequent first."""


@dataclass(frozen=True)
class ComparedLoad:
    """Both sides at one load."""

    load: Settings
    verdicts: Mapping[str, Mapping[str, int]]
    """How the runs of each side came out."""
    metrics: Mapping[str, ComparedMetric]
    left_out: int = 0
    """Pairs that do not count, since a run of them was invalid."""
    passing: Passing | None = None
    is_duet: bool = False
    """Whether both runs of a pair were made at the same time."""
    failures: FailureComparison | None = None
    """Errors, good operations and verdicts of both sides; None in older answers, and without a valid pair."""
    changed_answers: tuple[AnswerChange, ...] = ()
    """Operations whose answers differ between both sides."""

    @property
    def no_better(self) -> str:
        """Why nothing of B may be called better; empty where nothing forbids it."""
        failures = self.failures
        if failures is not None and failures.is_worse:
            return "B fails more"
        if failures is not None and failures.has_fewer_good:
            return "B has fewer good operations"
        if failures is not None and failures.is_suspect:
            return "B may fail more"
        is_less = any(change.is_less for change in self.changed_answers)
        return "B answers with less or something else" if is_less else ""


@dataclass(frozen=True, kw_only=True)
class CompareAnswer(Answer):
    """The difference at each load, and in words."""

    settings: Settings
    a: Settings
    b: Settings
    metric: str
    """The one the question is about."""
    pairs: int
    loads: tuple[ComparedLoad, ...]
    is_worse: bool

    @property
    def is_negative(self) -> bool:
        """Whether B is worse."""
        return self.is_worse


@dataclass(frozen=True)
class Compare:
    """Two settings at one or several loads, run in pairs whose order is drawn, so that drift falls on both alike."""

    workload: str
    settings: Settings
    a: Settings
    b: Settings
    loads: tuple[Settings, ...]
    pairs: int = LEAST_PAIRS
    metric: str = "response_mean"
    """The one the question is about; all others are reported beside it."""
    is_duet: bool = False
    """Whether both runs of a pair are made at the same time, each on cores of its own."""

    def requests(self) -> list[RunRequest]:
        """All its runs, in order: every pair goes through all loads before the next pair begins."""
        requests: list[RunRequest] = []
        for pair in range(self.pairs):
            for load in self.loads:
                for side in side_by_turn(pair):
                    requests.append(self._request(len(requests), side, load))
        return requests

    def _request(self, at: int, side: Side, load: Settings) -> RunRequest:
        settings = {**self.settings, **load, **(self.a if side is Side.A else self.b)}
        words = "-".join([side, *load.values()])
        # Every run has a seed of its own: what is found holds beyond one seed's draw of users.
        duet = f"{self.workload}-{at // 2 + 1}" if self.is_duet else ""
        return RunRequest(key_of(at + 1, self.workload, words), self.workload, settings, at, side=side, duet=duet)

    def next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
        """The next run that is missing."""
        return first_missing(self.requests(), runs)

    def left(self, runs: Sequence[RunSummary]) -> int:
        """Runs that are missing."""
        return len(self.requests()) - len(runs)

    def answer(self, runs: Sequence[RunSummary]) -> CompareAnswer:
        """The difference at each load, and in words."""
        loads = self._corrected([self._at(load, runs) for load in self.loads])
        alike = ["A and B are set alike: what is found here is chance."] if self.a == self.b else []
        lines = [line for load in loads for line in _headline(load, self.metric, len(loads) > 1)]
        is_worse = any(_is_worse(load, self.metric) for load in loads)
        return CompareAnswer(
            workload=self.workload,
            settings=dict(self.settings),
            a=dict(self.a),
            b=dict(self.b),
            metric=self.metric,
            pairs=self.pairs,
            loads=tuple(loads),
            is_answered=not self.left(runs) and (is_worse or all(map(self._is_settled, loads))),
            is_worse=is_worse,
            headline=(*alike, *self._unlike(runs), *lines),
        )

    def _is_settled(self, load: ComparedLoad) -> bool:
        """Whether the runs at a load tell anything: enough pairs are valid, and it is not open whether B fails more."""
        valid = self.pairs - load.left_out
        is_open = load.failures is not None and load.failures.is_suspect and not load.failures.errors_a
        return valid >= min(self.pairs, LEAST_PAIRS) and not is_open

    def _unlike(self, runs: Sequence[RunSummary]) -> list[str]:
        a, b = ([run.conditions for run in runs if run.request.side is side] for side in (Side.A, Side.B))
        return unlike(a, b)

    def _at(self, load: Settings, runs: Sequence[RunSummary]) -> ComparedLoad:
        wanted = [one for one in self.requests() if all(one.settings.get(name) == at for name, at in load.items())]
        by_key = {run.request.key: run for run in runs}
        here = [by_key[request.key] for request in wanted if request.key in by_key]
        made = {side: [run for run in here if run.request.side is side] for side in (Side.A, Side.B)}
        pairs = list(zip(made[Side.A], made[Side.B], strict=False))
        valid = [pair for pair in pairs if all(run.is_valid for run in pair)]
        if self.is_duet:
            valid = [pair for pair in valid if overlap(*pair) >= LEAST_OVERLAP]
        sides = {Side.A: [a for a, _ in valid], Side.B: [b for _, b in valid]}
        compared = {name: row for name in METRICS if (row := _compared(name, sides)) is not None}
        verdicts = {side.value: count_verdicts(own) for side, own in made.items()}
        failures = compare_paired(valid)
        return ComparedLoad(
            load=dict(load),
            verdicts=verdicts,
            metrics=compared,
            left_out=len(pairs) - len(valid),
            passing=_passing(valid, failures),
            is_duet=self.is_duet,
            failures=None if failures is None else failures.corrected(len(self.loads)),
            changed_answers=tuple(changed_answers([a.answers for a, _ in valid], [b.answers for _, b in valid])),
        )

    def _corrected(self, loads: list[ComparedLoad]) -> list[ComparedLoad]:
        """Over the loads of a curve the question is asked several times, and the p-values say so."""
        differences = [one.metrics[self.metric].difference for one in loads if self.metric in one.metrics]
        chances = iter(holm([one.p for one in differences if one is not None]))
        corrected = []
        for load in loads:
            compared = load.metrics.get(self.metric)
            if compared is not None and compared.difference is not None:
                p = next(chances)
                difference = replace(compared.difference, p_corrected=p, is_found=p <= 1 - LEVEL)
                load = replace(load, metrics={**load.metrics, self.metric: replace(compared, difference=difference)})
            corrected.append(load)
        return corrected


def _passing(pairs: Sequence[tuple[RunSummary, RunSummary]], failures: FailureComparison | None) -> Passing | None:
    if not pairs or failures is None:
        return None
    a, b = sum(pair[0].passed for pair in pairs), sum(pair[1].passed for pair in pairs)
    only = [pair[0].passed for pair in pairs if pair[0].passed != pair[1].passed]
    p = float(scipy.stats.binomtest(sum(only), len(only)).pvalue) if only else 1.0
    p = failures.passing_p if b < a else p
    broken = Counter(check.rule for _, run in pairs for check in run.broken())
    return Passing(a, b, len(pairs), p, tuple(rule for rule, _ in broken.most_common()))


def _compared(name: str, sides: Mapping[Side, Sequence[RunSummary]]) -> ComparedMetric | None:
    values = {side: [run.metrics[name] for run in runs if name in run.metrics] for side, runs in sides.items()}
    if any(not own or len(own) < len(sides[side]) for side, own in values.items()):
        return None
    pairs = list(zip(values[Side.A], values[Side.B], strict=False))
    compared = difference(pairs)
    a, b = (_side_values(values[side], summary(values[side])) for side in (Side.A, Side.B))
    if compared is None:
        return ComparedMetric(a, b, None, paired_apart(pairs))
    return ComparedMetric(a, b, FoundDifference.of(compared))


def _side_values(values: Sequence[float], summed: Summary) -> SideValues:
    return SideValues(tuple(values), **asdict(summed))


def _is_worse(load: ComparedLoad, metric: str) -> bool:
    """Whether B was found worse, corrected for all loads that were asked about: it fails more, or is slower."""
    if load.failures is not None and load.failures.is_worse:
        return True
    compared = load.metrics.get(metric)
    main = compared and compared.difference
    if not main or not main.is_found:
        return False
    return {Better.LOWER: main.ratio > 1, Better.HIGHER: main.ratio < 1}.get(METRICS[metric].better, False)


def _headline(load: ComparedLoad, name: str, is_curve: bool) -> list[str]:
    settings = ", ".join(f"{key}={value}" for key, value in load.load.items())
    where = f"At {settings}: " if settings else ""
    lines = [where + line for line in _before_all(load)]
    if name not in load.metrics:
        return [*lines, f"{where}the runs made so far do not all have `{name}`."]
    compared = load.metrics[name].difference
    return [*lines, where + in_words(name, compared, load.no_better, is_curve)]


def _before_all(load: ComparedLoad) -> Iterator[str]:
    """What goes before any figure: who holds the quality of service at all, and what was left out."""
    passing = load.passing
    if passing is not None and passing.a != passing.b:
        broken = f" B broke: {', '.join(passing.broken)}." if passing.b < passing.a else ""
        yield f"A passed {passing.a} of {passing.pairs} runs, B {passing.b} ({chance(passing.p)}).{broken}"
    elif passing is not None and not passing.a:
        yield f"Neither side passed in any of {passing.pairs} pairs. B broke: {', '.join(passing.broken)}."
    if load.failures is not None:
        yield from load.failures.in_words()
    yield from changes_in_words(load.changed_answers)
    if load.left_out:
        pairs = f"{load.left_out} pair{'s' * (load.left_out != 1)}"
        apart = ", or of runs that were not at the same time," if load.is_duet else ""
        yield f"{pairs} with an invalid run{apart} left out: nothing follows from those."


def in_words(name: str, found: FoundDifference | None, no_better: str = "", is_curve: bool = False) -> str:
    """What a difference amounts to, without claiming more than the test found; the p-value is the one that decides."""
    metric = METRICS[name]
    if found is None:
        return f"{metric.title} cannot be compared by its ratio, since a value is 0."
    change = 100 * (found.ratio - 1)
    if found.low is None or found.high is None:
        return (
            f"{metric.title} of B is {change:+.1f} % against A over {found.pairs} pairs, which says nothing yet: "
            f"{LEAST_PAIRS} pairs are the fewest that can tell a difference from chance."
        )
    interval = f"{100 * (found.low - 1):+.1f} to {100 * (found.high - 1):+.1f} %"
    digits = 3 if found.is_found or is_curve else 2
    said = chance(found.p, digits)
    if is_curve and found.p_corrected is not None:
        said = f"{chance(found.p_corrected, digits)} corrected for all loads, {said} by itself"
    if found.is_found:
        worse = {Better.LOWER: change > 0, Better.HIGHER: change < 0}.get(metric.better)
        better = f" (no better: {no_better})" if no_better else " (better)"
        word = {True: " (worse)", False: better, None: ""}[worse]
        return f"{metric.title} of B is {change:+.1f} % against A{word}, interval {interval}, {said}."
    return (
        f"No difference in {metric.title} was found ({said}; B is {change:+.1f} %, interval {interval}). "
        f"A difference larger than {found.excluded_pct:.1f} % can be excluded; a smaller one cannot.{_power(found)}"
    )


def _power(found: FoundDifference) -> str:
    """What such a study could have found."""
    if found.seen_pct is None:
        return ""
    line = f" {found.pairs} pairs of such scatter find a difference of {found.seen_pct:.1f} % nine times in ten"
    enough = found.enough_pairs
    return f"{line}." if enough in (None, found.pairs) else f"{line}; one of {SOUGHT_PCT:g} % would take {enough}."


def blocks(answer: CompareAnswer) -> Iterator[Block]:
    """All differences with their intervals, pair by pair, and a table of every metric."""
    yield Gallery([figure for load in answer.loads for figure in _figures(answer, load)])
    for load in answer.loads:
        if load.load:
            yield Heading(", ".join(f"{name}={value}" for name, value in load.load.items()))
        titles = ("figure", "A, mean", "B, mean", "B against A, %", "interval, %", "p")
        columns = [*map(Column, titles), Column("in words", ColumnKind.TEXT)]
        yield Table(columns, [_row(name, one, name == answer.metric) for name, one in load.metrics.items()])
    is_duet = any(load.is_duet for load in answer.loads)
    order = (
        "Both runs of a pair are made at the same time, each on its half of the cores; the halves change sides."
        if is_duet
        else "The order within pairs is drawn, once each way in every two pairs."
    )
    note = (
        f"{order} The test permutes A and B within each pair; its interval holds the ratios that the same test does "
        f"not refuse. The question is about {answer.metric.replace('_', ' ')}; each other figure is tested by itself, "
        "so one in twenty is found by chance."
    )
    yield Paragraph(note, Tone.QUIET)


def _row(name: str, compared: ComparedMetric, is_asked: bool) -> Row:
    head = [name.replace("_", " "), rounded(compared.a.mean), rounded(compared.b.mean)]
    main = compared.difference
    if main is None:
        return Row([*head, "", "", *_apart(compared.apart_p)], is_asked)
    interval = "" if main.low is None else f"{signed_percent(main.low)} to {signed_percent(main.high)}"
    tone = Tone.BROKEN if main.is_found else Tone.PLAIN
    return Row([*head, signed_percent(main.ratio), interval, Cell(number(main.p, 3), tone), _means(main)], is_asked)


def _apart(p: float | None) -> tuple[Cell | str, str]:
    """The chance of a difference that has no ratio, and what it amounts to."""
    if p is None:
        return "", "a value is 0"
    is_found = p <= 1 - LEVEL
    means = "a difference" if is_found else "no difference found"
    return Cell(number(p, 3), Tone.BROKEN if is_found else Tone.PLAIN), f"{means} (no ratio: a value is 0)"


def _means(found: FoundDifference) -> str:
    if found.is_found:
        return "a difference"
    if found.excluded_pct is None:
        return "too few pairs to tell"
    return f"larger than {number(found.excluded_pct, 1)} % can be excluded"


def _figures(answer: CompareAnswer, load: ComparedLoad) -> Iterator[Figure]:
    of = "".join(f", {name}={value}" for name, value in load.load.items())
    percents = [_in_percent(name, one.difference) for name, one in load.metrics.items() if one.difference]
    drawn = [row for row in percents if _is_narrow(row)]
    if drawn:
        caption = f"B against A with intervals; red: found by the test. Beyond {WIDEST_PCT} % only in the table."
        yield Figure(f"Differences{of}", caption, DifferencePlot("difference of B, %", drawn))
    compared = load.metrics.get(answer.metric)
    if compared is not None:
        metric = METRICS[answer.metric]
        sides = ((Side.A, compared.a), (Side.B, compared.b))
        rows = [
            {"x": pair, "y": value, "series": side.upper()}
            for side, own in sides
            for pair, value in enumerate(own.values, start=1)
        ]
        plot = Plot("pair", metric.axis_title, rows, rows, from_zero=False)
        yield Figure(f"{metric.plot_title}{of}", "Pair by pair, in order of time.", plot)


def _is_narrow(row: Mapping[str, Any]) -> bool:
    low, high = row["low"], row["high"]
    return low is not None and high is not None and max(-low, high) <= WIDEST_PCT


def _in_percent(name: str, found: FoundDifference) -> dict[str, Any]:
    ratios = {"value": found.ratio, "low": found.low, "high": found.high}
    percents = {key: None if ratio is None else 100 * (ratio - 1) for key, ratio in ratios.items()}
    return {"name": name.replace("_", " "), **percents, "found": found.is_found}
