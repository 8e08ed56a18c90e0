"""Whether a window is told to be no steady state: right ones are left alone, drifts and changes are found."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from heapq import heapreplace

import numpy as np
import pytest

from loadstone.judge.rules import apply_rules
from loadstone.judge.steadiness import Shift, find_shift
from loadstone.judge.verdict import judge_iteration
from loadstone.model.figures import Criteria, IterationFigures, Second
from loadstone.model.records.check import Check, CheckId, Outcome, Weight
from loadstone.model.records.workload_id import WorkloadId
from tests.records import iteration, operation, small_criteria

Level = Callable[[np.ndarray], np.ndarray]
PAGE_BYTES = 8192


def seconds_of(mean_s: Sequence[float], answered: Sequence[int], share: Sequence[float] | None = None) -> list[Second]:
    """Seconds with these figures; all answers of one size unless given otherwise."""
    shares = share if share is not None else [1.0] * len(mean_s)
    return [Second(1.0, count, mean, part) for mean, count, part in zip(mean_s, answered, shares, strict=True)]


def window(seconds: Sequence[Second], errors: int = 0) -> IterationFigures:
    """A run with these seconds; otherwise healthy, unless some operations end in an error."""
    count = sum(one.answered for one in seconds)
    page = replace(operation("page", count, 0.1), errors={"status": errors} if errors else {})
    return replace(iteration((page,), float(len(seconds))), seconds=tuple(seconds))


def criteria_of(length: int, **changes: object) -> Criteria:
    """A population whose window has this length."""
    return small_criteria(**{"steady_s": float(length), "ramp_up_s": 0.0, "warm_up_s": 10.0, **changes})


def found(figures: IterationFigures, **changes: object) -> Check | None:
    """What is said of the window; None where nothing is."""
    judged = apply_rules(criteria_of(len(figures.seconds), **changes), figures)
    return next((one for one in judged if one.id in (CheckId.STEADY, CheckId.STEADY_SAID)), None)


def noisy(level: Level, length: int, seed: int, noise: float = 0.1) -> IterationFigures:
    """Response times in milliseconds along a level, each second with its own scatter."""
    drawn = np.random.default_rng((seed, length))
    at = (np.arange(length) + 0.5) / length
    means_s = level(at) * drawn.lognormal(0, noise, length) / 1000
    return window(seconds_of(means_s.tolist(), (drawn.poisson(40, length) + 1).tolist()))


CHANGES: dict[str, tuple[Level, int]] = {
    "slower every second": (lambda at: 10 + 260 * at, 20),
    "slower every second of a short window": (lambda at: 10 + 260 * at, 15),
    "until the cache is warm": (lambda at: np.where(at < 0.3, 200.0, 5.0), 10),
    "warming up slowly": (lambda at: 20 + 180 * np.exp(-5 * at), 30),
    "twice as slow from the middle on": (lambda at: np.where(at < 0.5, 60.0, 150.0), 60),
    "slow for a third of the window": (lambda at: np.where((at > 0.3) & (at < 0.62), 200.0, 15.0), 25),
    "fast for a third of the window": (lambda at: np.where((at > 0.3) & (at < 0.62), 15.0, 200.0), 60),
    "slower, then as fast again": (lambda at: 20 + 180 * np.maximum(0, 1 - np.abs(at - 0.48) / 0.36), 35),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_window_that_is_none_makes_a_run_invalid(name: str) -> None:
    level, length = CHANGES[name]
    judged = [found(noisy(level, length, seed)) for seed in range(20)]
    grave = [check for check in judged if check is not None and check.weight is Weight.INVALID and check.is_broken]
    assert len(grave) >= 18
    assert all(check.id is CheckId.STEADY for check in grave)
    assert all(check.figure > 2 and "mean response time went from" in check.detail for check in grave)


def test_a_smaller_change_is_told_beside_the_verdict() -> None:
    figures = noisy(lambda at: np.where(at < 0.5, 10.0, 18.0), 30, 1, noise=0.03)
    check = found(figures)
    assert check is not None and check.id is CheckId.STEADY_SAID
    assert (check.weight, check.outcome) == (Weight.NOTE, Outcome.BROKEN)
    verdict = judge_iteration(criteria_of(30), figures)
    assert any("change within the steady state" in note and "15 s after" in note for note in verdict.notes)


def test_another_level_for_a_while_is_told_with_its_begin_and_end() -> None:
    """From 10 to 30; groups of three or four seconds tell it that exactly."""
    figures = noisy(lambda at: np.where((at > 0.25) & (at < 0.75), 200.0, 15.0), 40, 1, noise=0.03)
    check = found(figures)
    assert check is not None and check.id is CheckId.STEADY
    assert "mean response time went from 15" in check.detail and "from second 9 to 31 of the window" in check.detail


@pytest.mark.parametrize(("silent", "is_told"), [(0, False), (1, True), (3, True)])
def test_a_time_without_any_answer_is_told_beside_the_verdict(silent: int, is_told: bool) -> None:
    """A stall that few operations see, since users wait and ask for nothing meanwhile."""
    answered = [134] * 8 + [0] * silent + [134] * (17 - silent)
    times: list[float | None] = [0.02 if count else None for count in answered]
    seconds = [Second(1.0, count, mean, 1.0) for count, mean in zip(answered, times, strict=True)]
    check = found(window(seconds))
    assert check is not None
    assert check.weight is (Weight.NOTE if is_told else Weight.INVALID)
    said = f"no right answer came from second 8 to {8 + silent} of the window"
    assert (check is not None and said in check.detail) is is_told


def test_seconds_without_an_answer_are_no_silence_where_operations_are_rare() -> None:
    answered = np.random.default_rng(1).poisson(3, 60).tolist()
    seconds = [Second(1.0, count, 0.02 if count else None, 1.0) for count in answered]
    check = found(window(seconds))
    assert 0 in answered and check is not None and check.outcome is Outcome.KEPT


def test_pages_that_shrink_are_named_though_nothing_else_changes() -> None:
    share = [1.6] * 12 + [0.013] * 8
    check = found(window(seconds_of([0.02] * 20, [50] * 20, share)))
    assert check is not None and check.weight is Weight.INVALID
    assert check.detail == "bytes of an operation went from 160 to 1 % of their mean 12 s after the window began"


@pytest.mark.parametrize(
    ("answered", "share", "detail"),
    [
        # Of 25 seconds 20 groups are looked at, of which one ends at second 11.
        ([50] * 25, [1.6] * 11 + [0.4] * 14, "bytes of an operation went from 160 to 40 % of their mean 11 s after"),
        ([50] * 8, [1.6] * 4 + [0.4] * 4, "bytes of an operation went from 160 to 40 % of their mean 4 s after"),
        # Of 39 seconds 13 groups.
        ([100] * 18 + [30] * 21, [1.0] * 39, "throughput went from 200 to 60 operations/s 9 s after"),
        ([100] * 12 + [0] * 27, [1.0] * 39, "throughput went from 200 to 0.333 operations/s 6 s after"),
    ],
)
def test_what_changes_while_answers_stay_as_fast_is_named(answered: list[int], share: list[float], detail: str) -> None:
    """Seconds are half a second long where throughput changes. A group without answers counts as half an answer."""
    length_s = 0.5 if "throughput" in detail else 1.0
    seconds = [
        Second(length_s, count, 0.02 if count else None, part) for count, part in zip(answered, share, strict=True)
    ]
    check = found(window(seconds))
    assert check is not None and (check.id, check.weight) == (CheckId.STEADY, Weight.INVALID)
    assert f"{detail} the window began" in check.detail


@pytest.mark.parametrize(
    ("before", "after", "weight"),
    [(0.030, 0.075, Weight.NOTE), (0.030, 0.085, Weight.INVALID), (0.120, 0.175, Weight.NOTE)],
)
def test_a_change_is_grave_from_twice_the_time_and_50_milliseconds_on(
    before: float, after: float, weight: Weight
) -> None:
    check = found(window(seconds_of([before] * 4 + [after] * 4, [50] * 8)))
    assert check is not None and (check.outcome, check.weight) == (Outcome.BROKEN, weight)
    assert check.figure == pytest.approx(after / before)


def test_a_smaller_change_of_throughput_is_told_beside_the_verdict() -> None:
    check = found(window(seconds_of([0.02] * 39, [100] * 18 + [70] * 21)))
    assert check is not None and (check.id, check.figure) == (CheckId.STEADY_SAID, pytest.approx(100 / 70))
    check = found(window(seconds_of([0.02] * 39, [100] * 18 + [85] * 21)))
    assert check is not None and check.outcome is Outcome.KEPT, "less than a quarter"


@pytest.mark.parametrize("split", [2, 5, 8])
def test_two_levels_are_told_apart_from_two_groups_on_each_side_on(split: int) -> None:
    lengths_s = [1.0 + group / 10 for group in range(10)]
    shift = find_shift([10.0] * split + [30.0] * (10 - split), lengths_s)
    assert shift is not None
    assert (shift.before, shift.after) == (pytest.approx(10), pytest.approx(30))
    assert (shift.at_s, shift.until_s) == (sum(lengths_s[:split]), None)


@pytest.mark.parametrize(("begin", "end"), [(2, 4), (3, 7), (6, 8), (2, 8)])
def test_a_level_for_a_while_is_told_from_two_groups_within_the_window_on(begin: int, end: int) -> None:
    lengths_s = [1.0 + group / 10 for group in range(10)]
    levels = [10.0] * begin + [30.0] * (end - begin) + [10.0] * (10 - end)
    assert find_shift(levels, lengths_s) == Shift(
        pytest.approx(10), pytest.approx(30), sum(lengths_s[:begin]), sum(lengths_s[:end])
    )


@pytest.mark.parametrize("at", [0, 4, 9])
def test_one_group_that_stands_out_is_no_change(at: int) -> None:
    levels = [10.0, 10.2, 9.9, 10.1, 10.0, 9.8, 10.1, 9.9, 10.2, 10.0]
    levels[at] = 60.0
    assert find_shift(levels, [1.0] * 10) is None


def test_a_rise_of_any_shape_is_told_with_the_levels_of_its_outer_thirds() -> None:
    """Of 8 values in order chance has 2 of 8! = 40,320 orders, less than the level of 1 in 10,000; one tie is more."""
    logs = [0.0, 0.3, 0.301, 0.302, 0.303, 0.304, 0.305, 5.0]
    for series in (logs, [-value for value in logs]):
        shift = find_shift(np.exp(series).tolist(), [1.0] * 8)
        assert shift is not None and shift.at_s is None
        assert np.log([shift.before, shift.after]) == pytest.approx([np.mean(series[:2]), np.mean(series[-2:])])
    logs[3] = logs[2]
    assert find_shift(np.exp(logs).tolist(), [1.0] * 8) is None
    logs[3] = logs[2] - 0.0005
    assert find_shift(np.exp(logs).tolist(), [1.0] * 8) is None


def test_a_rise_and_a_fall_is_told_with_its_lowest_and_highest_level() -> None:
    logs = 1 - (np.linspace(-1, 1, 12) - 0.2) ** 2
    shift = find_shift(np.exp(logs).tolist(), [1.0] * 12)
    assert shift is not None and shift.at_s is None
    assert np.log([shift.before, shift.after]) == pytest.approx([logs[0], max(logs)])


def test_a_trend_is_told_from_end_to_end_of_the_window() -> None:
    check = found(window(seconds_of([0.1 * 1.1**second for second in range(10)], [50] * 10)))
    assert check is not None
    assert check.detail == "mean response time went from 100 ms to 236 ms over the window"


def test_of_several_silences_the_longest_is_told() -> None:
    for answered, said in (
        ([0] * 5 + [134] * 5 + [0] * 2 + [134] * 8, "no right answer came from second 0 to 5 of the window"),
        ([0] * 2 + [134] * 8 + [0] * 5 + [134] * 5, "no right answer came from second 10 to 15 of the window"),
    ):
        seconds = [Second(1.0, count, 0.02 if count else None, 1.0) for count in answered]
        check = found(window(seconds), due=1742.0, due_dispersion=1.0)
        assert check is not None and check.detail == said
        assert check.figure == pytest.approx(13 * 134 / 20 / (0.5 / 5))


def test_a_run_that_fails_anyway_fails() -> None:
    """Of an overloaded system response times grow: that is no reason to leave its run out."""
    figures = noisy(lambda at: 10 + 900 * at, 20, 3)
    failing = replace(figures, operations=(replace(figures.operations[0], good=1, fail=900),))
    check = found(failing)
    assert check is not None and (check.id, check.weight) == (CheckId.STEADY_SAID, Weight.NOTE)
    assert any("mean response time went" in note for note in judge_iteration(criteria_of(20), failing).notes)


@pytest.mark.parametrize(
    ("figures", "changes"),
    [
        (noisy(lambda at: 10 + 260 * at, 20, 1), {"is_even": False}),
        (noisy(lambda at: 10 + 260 * at, 7, 1), {}),
        (noisy(lambda at: 10 + 260 * at, 20, 1), {"id": WorkloadId("shop", tile=1)}),
        (replace(noisy(lambda at: 10 + 260 * at, 20, 1), is_disclosed=False), {}),
    ],
)
def test_nothing_is_said_of_loads_that_change_short_windows_and_tiles(
    figures: IterationFigures, changes: dict[str, object]
) -> None:
    assert found(figures, **changes) is None


def test_nothing_is_said_of_operations_that_last_as_long_as_the_lead() -> None:
    check = found(noisy(lambda at: 10_000 + 20_000 * at, 20, 1), warm_up_s=0.1)
    assert check is None or check.outcome is Outcome.KEPT


def test_bursts_of_arrivals_are_no_change_of_the_system() -> None:
    figures = noisy(lambda at: np.where(at < 0.5, 10.0, 200.0), 20, 1)
    check = found(figures, due=800.0, due_dispersion=9.0)
    assert check is not None and check.outcome is Outcome.KEPT


def queued(seed: int, length: int, rate: float, service_s: float, cv: float) -> Sequence[Second]:
    """Second by second figures of a queue that is drawn, begun five seconds before the window."""
    drawn = np.random.default_rng((seed, length))
    begun = np.sort(drawn.uniform(0, length + 5, drawn.poisson(rate * (length + 5))))
    spread = np.log(1 + cv**2)
    times = (
        drawn.exponential(service_s, len(begun))
        if cv == 1
        else (drawn.lognormal(np.log(service_s) - spread / 2, np.sqrt(spread), len(begun)))
    )
    free, ends = [0.0] * 4, np.empty(len(begun))
    for at, (begin, takes) in enumerate(zip(begun.tolist(), times.tolist(), strict=True)):
        ends[at] = max(begin, free[0]) + takes
        heapreplace(free, ends[at])
    second = np.floor(ends - 5).astype(int)
    inside = (second >= 0) & (second < length)
    counts = np.bincount(second[inside], minlength=length)
    sums = np.bincount(second[inside], (ends - begun)[inside], minlength=length)
    means = sums / np.maximum(counts, 1)
    return [
        Second(1.0, int(count), float(mean) if count else None, 1.0) for count, mean in zip(counts, means, strict=True)
    ]


QUEUES = {
    "three quarters used": (300.0, 0.01, 1.0),
    "nearly saturated": (47.0, 0.08, 1.0),
    "few operations": (12.0, 0.05, 1.0),
    "a long tail": (280.0, 0.008, 3.0),
}


@pytest.mark.parametrize("name", QUEUES)
def test_a_steady_queue_is_hardly_ever_accused(name: str) -> None:
    rate, service_s, cv = QUEUES[name]
    accused = 0
    for seed in range(40):
        for length in (10, 20):
            figures = window(queued(seed, length, rate, service_s, cv))
            check = found(figures, due=rate * length, due_dispersion=1.0)
            accused += check is not None and check.outcome is Outcome.BROKEN
    assert accused <= 3
