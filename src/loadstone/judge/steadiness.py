"""Whether the steady state was one: trends and change points of response time, bytes an answer and throughput. Pure.

Second by second figures scatter, and near saturation one second resembles the next. Both tests take the scatter from
the figures themselves, and widen it by how far neighbours are alike. What is found must also be large to be named.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise
from typing import TypeVar

import numpy as np
import scipy

from loadstone.judge.check import WEB_WORKLOADS_SOURCE, check_at_most
from loadstone.model.figures import Criteria, IterationFigures, Second
from loadstone.model.numbers import format_milliseconds, format_number, format_three_digits
from loadstone.model.records.check import Check, CheckId, Weight

STEADINESS_LEVEL = 1e-4
"""Chance of each test at most, were figures normal and neighbours as alike as they are found to be (measured:
docs/evidence/trust.md)."""
LEAST_SECONDS, FEWEST_GROUPS, STEADINESS_MOST_GROUPS, GROUP_SECONDS = 8, 10, 20, 3
"""Seconds of a window that is tested; groups of them, fewer of short windows, so that neighbours are less alike."""
LEAST_ANSWERS = 100
"""Right answers of a window that is tested."""
SHORTEST_PART = 2
"""Groups on each side of a change point."""
SHORTEST_LINE = 4
"""Groups on each side of a place where a line bends."""
SAID_FACTOR, LIMIT_FACTOR = 1.25, 2.0
"""Change within the window that is named, and that makes the window no steady state."""
LEAST_SLOWER_S = 0.05
"""Least change of response time that makes the window no steady state: a busy host causes smaller ones."""
LEAD_SHARE = 3
"""Times the usual longest operation must fit in the lead before the window: at first only short ones have ended."""
MOST_ALIKE = 0.9
"""Neighbours' likeness that is reckoned with at most."""
EVEN_ARRIVALS = 1.01
"""Dispersion of arrivals at most where response times are tested: bursts of users are no change of the system."""


def check_steadiness(criteria: Criteria, figures: IterationFigures, fails: bool) -> Iterator[Check]:
    """Whether the window is fit to be summed up by one figure; a run that fails anyway is told of it alone.

    Nothing is said of loads that change by declaration, of tiles, of short windows, and of few answers.
    """
    seconds = figures.seconds
    is_testable = criteria.id.tile is None and criteria.is_even and figures.is_disclosed and figures.completed
    if not is_testable or len(seconds) < LEAST_SECONDS or figures.answered < LEAST_ANSWERS:
        return
    changes = [change for change in _changes(criteria, figures) if change is not None]
    is_grave = any(change.is_grave for change in changes)
    factor = max((change.shift.factor for change in changes if change.is_grave or not is_grave), default=1.0)
    detail = "; ".join(change.in_words for change in changes) or "no more than chance explains"
    if not changes or (is_grave and not fails):
        yield check_at_most(CheckId.STEADY, factor, LIMIT_FACTOR, "times", Weight.INVALID, WEB_WORKLOADS_SOURCE, detail)
    else:
        yield check_at_most(
            CheckId.STEADY_SAID, factor, SAID_FACTOR, "times", Weight.NOTE, WEB_WORKLOADS_SOURCE, detail
        )


@dataclass(frozen=True)
class Shift:
    """A change within the window, beyond chance: levels before and after, in the figure's unit."""

    before: float
    after: float
    at_s: float | None
    """Second of the window at which it changed; None for a trend from end to end."""
    until_s: float | None = None
    """Second at which it was as before again; None where it was not."""

    @property
    def factor(self) -> float:
        """By how much the levels differ, 1 or more."""
        return max(self.before, self.after) / max(min(self.before, self.after), 1e-12)


@dataclass(frozen=True)
class SteadinessChange:
    """A change of a figure that is large enough to be named."""

    shift: Shift
    is_grave: bool
    """Whether no one figure sums the window up."""
    in_words: str


def _changes(criteria: Criteria, figures: IterationFigures) -> Iterator[SteadinessChange | None]:
    """The changes of response time, bytes an answer and throughput, where each can be tested."""
    seconds = figures.seconds
    longest_s = figures.response.get_at_most(99.0)
    lead_s = criteria.ramp_up_s + criteria.warm_up_s
    if longest_s is None or LEAD_SHARE * longest_s > lead_s:
        return  # at first only the shortest operations have ended
    is_population = criteria.due is None
    if is_population or (criteria.due_dispersion or math.inf) <= EVEN_ARRIVALS:
        yield _response(seconds)
        yield _silence(seconds)
    yield _bytes(seconds)
    if is_population:
        yield _throughput(seconds)


def _response(seconds: Sequence[Second]) -> SteadinessChange | None:
    groups = [group for group in _groups(seconds) if any(second.answered for second in group)]
    if len(groups) < LEAST_SECONDS:
        return None
    sums = [(sum((second.mean_s or 0.0) * second.answered for second in group), group) for group in groups]
    shift = find_shift(
        [total_s / sum(second.answered for second in group) for total_s, group in sums], _lengths(groups)
    )
    if shift is None or shift.factor < SAID_FACTOR:
        return None
    is_grave = shift.factor >= LIMIT_FACTOR and abs(shift.after - shift.before) >= LEAST_SLOWER_S
    levels = f"from {format_milliseconds(shift.before)} to {format_milliseconds(shift.after)}"
    return SteadinessChange(shift, is_grave, f"mean response time went {levels}{_when(shift)}")


def _bytes(seconds: Sequence[Second]) -> SteadinessChange | None:
    """Of each second by itself: how much an answer holds does not depend on its neighbours."""
    known = [(second.bytes_share, second.length_s) for second in seconds if second.bytes_share]
    if len(known) < LEAST_SECONDS:
        return None
    groups = _groups(known, STEADINESS_MOST_GROUPS)
    means = [sum(share for share, _ in group) / len(group) for group in groups]
    shift = find_shift(means, [sum(length_s for _, length_s in group) for group in groups])
    if shift is None or shift.factor < SAID_FACTOR:
        return None
    levels = f"from {format_number(100 * shift.before)} to {format_number(100 * shift.after)} % of their mean"
    return SteadinessChange(shift, shift.factor >= LIMIT_FACTOR, f"bytes of an operation went {levels}{_when(shift)}")


def _throughput(seconds: Sequence[Second]) -> SteadinessChange | None:
    groups = _groups(seconds)
    rates = [sum(second.answered for second in group) / sum(second.length_s for second in group) for group in groups]
    # A group without any answer counts as half an answer: its logarithm would be lost.
    rates = [rate or 0.5 / length_s for rate, length_s in zip(rates, _lengths(groups), strict=True)]
    shift = find_shift(rates, _lengths(groups))
    if shift is None or shift.factor < SAID_FACTOR:
        return None
    levels = f"from {format_three_digits(shift.before)} to {format_three_digits(shift.after)} operations/s"
    return SteadinessChange(shift, shift.factor >= LIMIT_FACTOR, f"throughput went {levels}{_when(shift)}")


def _silence(seconds: Sequence[Second]) -> SteadinessChange | None:
    """The longest time without any right answer, where chance is no reason for it. It is named alone: percentiles hold
    the operations that waited, but a population that waits asks for little meanwhile.
    """
    spans: list[tuple[float, float]] = []
    at_s, begin_s = 0.0, 0.0
    for second in seconds:
        at_s += second.length_s
        if second.answered:
            begin_s = at_s
        elif at_s > begin_s:
            spans.append((begin_s, at_s))
    begin_s, end_s = max(spans, key=lambda span: span[1] - span[0], default=(0.0, 0.0))
    rate = sum(second.answered for second in seconds) / at_s
    if rate * (end_s - begin_s) <= -math.log(STEADINESS_LEVEL / len(seconds)):
        return None
    shift = Shift(rate, 0.5 / (end_s - begin_s), begin_s, end_s)
    return SteadinessChange(shift, False, f"no right answer came{_when(shift)}")


def _when(shift: Shift) -> str:
    if shift.at_s is None:
        return " over the window"
    if shift.until_s is None:
        return f" {format_number(shift.at_s)} s after the window began"
    return f" from second {format_number(shift.at_s)} to {format_number(shift.until_s)} of the window"


T = TypeVar("T")


def _groups(items: Sequence[T], most: int = 0) -> list[Sequence[T]]:
    """The items in order, in groups of about one size: at most `most`, or as many as seconds are far enough apart."""
    most = most or min(STEADINESS_MOST_GROUPS, max(FEWEST_GROUPS, len(items) // GROUP_SECONDS))
    count = min(most, len(items))
    ends = [round(index * len(items) / count) for index in range(count + 1)]
    return [items[begin:end] for begin, end in pairwise(ends)]


def _lengths(groups: Sequence[Sequence[Second]]) -> list[float]:
    return [sum(second.length_s for second in group) for group in groups]


def find_shift(values: Sequence[float], lengths_s: Sequence[float]) -> Shift | None:
    """The change that explains most of a series of values above 0; None where chance may.

    Five shapes are held against a constant: a line, a parabola, two levels, another level for a while, and two lines
    that meet or not.
    """
    logs = np.log(np.asarray(values))
    change = min(
        (_ranked(logs), _line(logs), _parabola(logs), *_halves(logs), *_whiles(logs)), key=lambda candidate: candidate.p
    )
    if change.p > STEADINESS_LEVEL:
        return None
    begin, end = (None if edge is None else float(sum(lengths_s[:edge])) for edge in (change.split, change.end))
    return Shift(math.exp(change.levels[0]), math.exp(change.levels[1]), begin, end)


@dataclass(frozen=True)
class _Fit:
    """A shape fitted to a series: its chance, levels before and after, and where it changes."""

    p: float
    levels: tuple[float, float]
    split: int | None
    end: int | None = None
    """Where the first level comes back."""


def _ranked(logs: np.ndarray) -> _Fit:
    """A rise or a fall of any shape (Kendall's tau, exact); levels are those of the outer thirds."""
    third = len(logs) // 3
    levels = float(np.mean(logs[:third])), float(np.mean(logs[-third:]))
    pairs = [(early, late) for early, late in combinations(logs.tolist(), 2) if early != late]
    falls = sum(early > late for early, late in pairs)
    fewest = min(falls, len(pairs) - falls) + (len(logs) * (len(logs) - 1) // 2 - len(pairs))
    return _Fit(min(1.0, 2 * _in_order(len(logs), fewest)), levels, None)


@cache
def _in_order(count: int, most: int) -> float:
    """Share of all orders of so many values in which at most so many pairs stand the wrong way round.

    scipy's own test takes a second to load, which each run would pay.
    """
    orders = np.ones(1)
    for size in range(2, count + 1):
        orders = np.convolve(orders, np.full(size, 1 / size))
    return float(np.sum(orders[: most + 1]))


def _line(logs: np.ndarray) -> _Fit:
    """A straight line from end to end."""
    fitted = _fitted(logs, 1)
    return _Fit(_chance(logs, fitted, 2), (float(fitted[0]), float(fitted[-1])), None)


def _parabola(logs: np.ndarray) -> _Fit:
    """A rise and a fall."""
    times = np.linspace(-1, 1, len(logs))
    fitted = np.polyval(np.polyfit(times, logs, 2), times)
    return _Fit(_chance(logs, fitted, 3), _extremes(fitted), None)


def _extremes(fitted: np.ndarray) -> tuple[float, float]:
    """The lowest and the highest level of a shape, in order of time."""
    first, second = sorted((int(np.argmin(fitted)), int(np.argmax(fitted))))
    return float(fitted[first]), float(fitted[second])


def _halves(logs: np.ndarray) -> Iterator[_Fit]:
    """Two levels, and two lines, changing at each place."""
    count = len(logs)
    for degree, shortest in ((0, SHORTEST_PART), (1, SHORTEST_LINE)):
        splits = range(shortest, count - shortest + 1)
        for split in splits:
            fitted = np.concatenate((_fitted(logs[:split], degree), _fitted(logs[split:], degree)))
            p = min(1.0, len(splits) * _chance(logs, fitted, 2 * (degree + 1)))
            if degree:
                yield _Fit(p, _extremes(fitted), None)
            else:
                yield _Fit(p, (float(fitted[0]), float(fitted[-1])), split)


def _whiles(logs: np.ndarray) -> Iterator[_Fit]:
    """Another level for a while, begun and ended at each two places."""
    count = len(logs)
    places = list(combinations(range(SHORTEST_PART, count - SHORTEST_PART + 1), 2))
    spans = [(begin, end) for begin, end in places if end - begin >= SHORTEST_PART]
    for begin, end in spans:
        is_within = np.zeros(count, bool)
        is_within[begin:end] = True
        usual, unusual = float(np.mean(logs[~is_within])), float(np.mean(logs[is_within]))
        p = min(1.0, len(spans) * _chance(logs, np.where(is_within, unusual, usual), 3))
        yield _Fit(p, (usual, unusual), begin, end)


def _fitted(logs: np.ndarray, degree: int) -> np.ndarray:
    """A level or a line through a part of a series, by least squares."""
    mean = float(np.mean(logs))
    if not degree:
        return np.full(len(logs), mean)
    times = np.arange(len(logs)) - (len(logs) - 1) / 2
    return mean + float(times @ logs / (times @ times)) * times


def _chance(logs: np.ndarray, fitted: np.ndarray, parameters: int) -> float:
    """p-value of a constant against a fitted shape (F test); neighbours that are alike widen the scatter."""
    residuals, constant = logs - fitted, logs - np.mean(logs)
    left, total = float(residuals @ residuals), float(constant @ constant)
    freedom, explained = len(logs) - parameters, total - left
    if explained <= 1e-12:
        return 1.0
    if left <= 1e-12 * total:
        return 0.0
    # Few residuals, and those of a shape that bends with them, look less alike than they are.
    alike = float(residuals[:-1] @ residuals[1:]) / left + parameters / len(logs)
    alike = min(MOST_ALIKE, max(0.0, alike))
    statistic = explained / (parameters - 1) / (left / freedom * (1 + alike) / (1 - alike))
    return float(scipy.special.fdtrc(parameters - 1, freedom, statistic))
