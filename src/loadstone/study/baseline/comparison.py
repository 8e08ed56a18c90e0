"""A series against a kept one: each figure, how often both fail, what else differs. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from loadstone.judge.statistics import GroupRatio, Summary, estimate_group_ratio, summarize
from loadstone.model.errors import UsageError
from loadstone.model.numbers import format_number
from loadstone.model.numbers import format_signed_percent as signed
from loadstone.model.records.verdict import Verdict
from loadstone.study.answers import describe_changes, list_changed_answers
from loadstone.study.baseline.condition import Condition
from loadstone.study.baseline.likeness import refuse_unlike
from loadstone.study.baseline.series import Baseline, KeptSeries
from loadstone.study.conditions import describe_unlike
from loadstone.study.failures import FailureComparison, compare_groups
from loadstone.study.metrics import METRICS


class Standing(StrEnum):
    """How a change stands to what was asked."""

    KEPT = "kept"
    BROKEN = "broken"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Change:
    """A figure against the kept one."""

    workload: str
    metric: str
    before: float | None
    """Means; in the metric's unit."""
    now: float | None
    ratio: float | None
    low: float | None
    high: float | None
    standing: Standing
    condition: str
    said: str
    """In words."""


@dataclass(frozen=True)
class FailingSeries:
    """Errors and verdicts of a series against those of the kept one."""

    workload: str
    standing: Standing
    compared: FailureComparison
    said: str
    """In words."""


@dataclass(frozen=True)
class Against:
    """A series against a kept one."""

    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()
    failing: tuple[FailingSeries, ...] = ()
    """How often both series fail, workload by workload: judged whatever was asked."""
    other_answers: tuple[str, ...] = ()
    """Operations that the series answers with an error page, as it seems: their speed shows no gain."""

    @property
    def verdict(self) -> Verdict:
        """Fail where something is worse than allowed for sure, invalid where that cannot be said, else pass."""
        standings = {change.standing for change in self.changes if change.condition}
        standings |= {series.standing for series in self.failing}
        if Standing.BROKEN in standings:
            return Verdict.FAIL
        return Verdict.INVALID if Standing.UNDECIDED in standings or self.other_answers else Verdict.PASS


def compare_series(
    baseline: Baseline, new: Baseline, conditions: Sequence[Condition], may_be_elsewhere: bool = False
) -> Against:
    """Compares; without conditions every figure is told of that both have. Raises UsageError for what is unlike."""
    refuse_unlike(baseline, new, may_be_elsewhere)
    before = {series.workload: series for series in baseline.series}
    pairs = [(before[series.workload], series) for series in new.series if series.workload in before]
    if not pairs:
        known = ", ".join(before)
        raise UsageError(
            f"`{baseline.name}` covers {known}, but this series covers "
            f"{', '.join(series.workload for series in new.series)}."
        )
    _refuse_missing(baseline, new)
    changes = [change for a, b in pairs for change in _changes(a, b, conditions, len(pairs))]
    notes = [note for a, b in pairs for note in _notes(a, b, baseline.name)]
    failing = tuple(_failing(a, b, baseline.name) for a, b in pairs)
    notes = [
        *_itself(baseline, new),
        *_added(baseline, new),
        *notes,
        *_systems(baseline, new),
        *_versions(baseline, new),
    ]
    return Against(tuple(changes), tuple(notes), failing, tuple(_other_answers(pairs)))


def _refuse_missing(baseline: Baseline, new: Baseline) -> None:
    """Raises UsageError where the new series lacks a workload: a check that skips it would pass without a word."""
    known = {series.workload for series in new.series}
    missing = [series.workload for series in baseline.series if series.workload not in known]
    if missing:
        raise UsageError(
            f"`{baseline.name}` also covers {', '.join(missing)}, but this series does not. Run it with the same "
            "workloads, or save a new baseline."
        )


def _itself(baseline: Baseline, new: Baseline) -> Iterable[str]:
    """The note on a series that is compared with itself."""
    if (baseline.study, baseline.made) == (new.study, new.made):
        yield (
            f"`{baseline.name}` was saved from this series ({new.study}), so the check compares the series with "
            "itself. Run `loadstone repeat` on the new version, then check again."
        )


def _added(baseline: Baseline, new: Baseline) -> Iterable[str]:
    """The note on workloads of which the baseline has nothing."""
    known = {series.workload for series in baseline.series}
    added = [series.workload for series in new.series if series.workload not in known]
    if added:
        yield f"`{baseline.name}` does not cover {', '.join(added)}: these runs are not compared."


def _notes(a: KeptSeries, b: KeptSeries, name: str) -> Iterable[str]:
    """What else differs between two series: answers, machines, runs left out."""
    changes = list_changed_answers(a.answers, b.answers)
    yield from describe_changes(changes, f"`{name}`", "this series")
    if any(change.is_other for change in changes):
        yield f"No speed of {b.workload} is accepted with such answers. If they are right, save a new baseline."
    yield from describe_unlike(a.conditions, b.conditions, (name, "this"))
    if b.invalid:
        yield f"{b.workload}: {b.invalid} of {b.invalid + b.runs} runs are invalid and left out."


def _other_answers(pairs: Sequence[tuple[KeptSeries, KeptSeries]]) -> Iterable[str]:
    """Operations that a series answers with less than half the size, another text or another status."""
    for a, b in pairs:
        changes = list_changed_answers(a.answers, b.answers)
        yield from (f"{b.workload}: {change.operation}" for change in changes if change.is_other)


def _failing(a: KeptSeries, b: KeptSeries, name: str) -> FailingSeries:
    """Whether a series fails more than the kept one, beyond chance."""
    compared = compare_groups(a.failures, b.failures)
    text = f"{b.passed} of {b.runs} runs pass, {a.passed} of {a.runs} of `{name}`"
    errors = f"errors {format_number(compared.errors_b, 2)} %, were {format_number(compared.errors_a, 2)} %"
    text += f"; {errors}" if compared.errors_a is not None and compared.errors_b is not None else ""
    if compared.is_worse:
        good = f"good operations {format_number(compared.good_b, 2)} %, were {format_number(compared.good_a, 2)} %"
        text += f"; {good}" if compared.lacks_good else ""
        return FailingSeries(b.workload, Standing.BROKEN, compared, f"{text}: this series fails more")
    if compared.is_suspect:
        remedy = "too few runs to exclude chance; use more runs"
        return FailingSeries(b.workload, Standing.UNDECIDED, compared, f"{text}: {remedy}")
    return FailingSeries(b.workload, Standing.KEPT, compared, text)


def _changes(a: KeptSeries, b: KeptSeries, conditions: Sequence[Condition], workloads: int) -> Iterable[Change]:
    compared: Sequence[tuple[str, Condition | None]] = [(condition.metric, condition) for condition in conditions]
    compared = compared or [(name, None) for name in METRICS if name in a.metrics and name in b.metrics]
    for name, condition in compared:
        if condition is not None and condition.is_share and name in b.metrics:
            yield _share(a, b, condition)
            continue
        if name not in a.metrics or name not in b.metrics:
            why = f"{METRICS[name].title}: not in both series"
            yield Change(a.workload, name, None, None, None, None, None, Standing.UNDECIDED, _text(condition), why)
            continue
        ratio = estimate_group_ratio(a.metrics[name], b.metrics[name], max(1, len(conditions)) * workloads)
        yield _change(a.workload, name, (a.metrics[name], b.metrics[name]), ratio, condition)


def _share(a: KeptSeries, b: KeptSeries, condition: Condition) -> Change:
    """A share of the new series against its limit, by the interval of its mean; it is no change, so has no ratio."""
    name, before = condition.metric, a.metrics.get(condition.metric)
    now = summarize(b.metrics[name])
    standing, reason = _standing_of_share(now, condition)
    mean_before = summarize(before).mean if before else None
    text = f"{METRICS[name].plot_title} {format_number(now.mean, 2)} %{reason}"
    return Change(b.workload, name, mean_before, now.mean, None, None, None, standing, condition.text, text)


def _standing_of_share(share: Summary, condition: Condition) -> tuple[Standing, str]:
    if share.low is None or share.high is None:
        return Standing.UNDECIDED, ": a single run has no interval; use more runs"
    low, high = max(0.0, share.low), min(100.0, share.high)
    interval = f", between {format_number(low, 2)} and {format_number(high, 2)} %"
    is_beyond, is_within = (
        (low > condition.pct, high <= condition.pct)
        if condition.is_rise
        else (high < condition.pct, low >= condition.pct)
    )
    if is_beyond:
        allowed = "more" if condition.is_rise else "less"
        return Standing.BROKEN, f"{interval}: {allowed} than `{condition.text}` allows"
    if is_within:
        return Standing.KEPT, interval
    return Standing.UNDECIDED, f"{interval}: too wide to decide `{condition.text}`; more runs narrow it"


def _change(
    workload: str,
    name: str,
    values: tuple[Sequence[float], Sequence[float]],
    estimate: GroupRatio | None,
    condition: Condition | None,
) -> Change:
    before, now = (sum(side) / len(side) for side in values)
    standing, reason = _standing(name, values, estimate, condition)
    ratio, low, high = (estimate.ratio, estimate.low, estimate.high) if estimate else (None, None, None)
    return Change(workload, name, before, now, ratio, low, high, standing, _text(condition), reason)


def _text(condition: Condition | None) -> str:
    return condition.text if condition else ""


def _standing(
    name: str,
    values: tuple[Sequence[float], Sequence[float]],
    estimate: GroupRatio | None,
    condition: Condition | None,
) -> tuple[Standing, str]:
    title = METRICS[name].plot_title
    if estimate is None:
        same = values[0] == values[1] or not any((*values[0], *values[1]))
        reason = f"{title}: the same in all runs" if same else f"{title}: 0 in some runs, so there is no ratio"
        return (Standing.KEPT if same else Standing.UNDECIDED), reason
    if estimate.low is None or estimate.high is None:
        counts = " and ".join(str(len(side)) for side in values)
        return Standing.UNDECIDED, f"{title}: {counts} runs cannot distinguish a change from chance"
    low, high = format_signed_change(estimate.low), format_signed_change(estimate.high)
    reason = f"{title} {format_signed_change(estimate.ratio)}, between {low} and {high}"
    if condition is None:
        return Standing.KEPT, reason
    worst, best = (estimate.high, estimate.low) if condition.is_rise else (estimate.low, estimate.high)
    sign = 1 if condition.is_rise else -1
    if sign * best > sign * condition.limit:
        return Standing.BROKEN, f"{reason}: more than `{condition.text}` allows"
    if sign * worst <= sign * condition.limit:
        most = "at most" if condition.is_rise else "at least"
        return Standing.KEPT, f"{title} changes by {most} {format_signed_change(worst)} ({reason})"
    return Standing.UNDECIDED, f"{reason}: too wide to decide `{condition.text}`; more runs narrow it"


def format_signed_change(ratio: float) -> str:
    """A ratio as its difference from 1, with its unit."""
    return f"{signed(ratio)} %"


def _systems(baseline: Baseline, new: Baseline) -> Iterable[str]:
    """Settings of the system that differ, where they may."""
    before, now = baseline.system.settings, new.system.settings
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            yield f"The system's {name} was {before.get(name)}, is {now.get(name)}."


def _versions(baseline: Baseline, new: Baseline) -> Iterable[str]:
    for name in baseline.versions.keys() & new.versions.keys():
        if baseline.versions[name] != new.versions[name]:
            yield f"{name} was {baseline.versions[name]}, is {new.versions[name]}."
    for name, title in (("kernel", "The kernel"), ("governor", "The governor"), ("virtualization", "Virtualization")):
        before, now = getattr(baseline.host, name), getattr(new.host, name)
        if before != now:
            yield f"{title} was {before}, is {now}."
