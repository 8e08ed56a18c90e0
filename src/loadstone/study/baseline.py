"""A series of runs against one that was kept: what can be said of a change, and whether it breaks what was asked. Pure.

A kept series is one of `repeat`: how far single runs scatter is in it. What was kept is compared with what was measured
another day on the same machine, so that drift between the two is part of the answer; `compare` runs both in turn.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from loadstone.judge.statistics import GroupRatio, least_for_unpaired, ratio_of_groups
from loadstone.model.errors import UsageError
from loadstone.model.numbers import number
from loadstone.model.numbers import signed_percent as signed
from loadstone.model.records.manifest import HostFacts, ProfileRecord, Settings, StudyManifest, SystemKind, SystemRecord
from loadstone.model.records.verdict import Verdict
from loadstone.study.answers import AnswerMeans, changed_answers, changes_in_words
from loadstone.study.conditions import unlike
from loadstone.study.failures import FailureComparison, Failures, compare_groups
from loadstone.study.metrics import METRIC_ALIASES, METRICS
from loadstone.study.summary import RunSummary
from loadstone.study.until import NAMED

BASELINE_SCHEMA = 2
WANTED = re.compile(r"\s*([a-z0-9_]+)\s*([<>])\s*([+-])\s*([0-9.]+)\s*%\s*")
EXAMPLE = "p95 > +10%"
ALIKE = ("cpu_model", "cores", "cores_usable", "architecture")
"""Facts of the host without which figures are of another thing."""
MOST_PCT = 1000.0


@dataclass(frozen=True)
class Condition:
    """A change that is too much: of a figure, beyond so many percent of the kept one."""

    metric: str
    is_rise: bool
    """Whether more is too much."""
    pct: float
    """With its sign."""
    text: str
    """As it was asked."""

    @property
    def limit(self) -> float:
        """The same as a ratio."""
        return 1 + self.pct / 100


def read_condition(text: str) -> Condition:
    """Reads `p95 > +10%` or `throughput < -5%`. Raises UsageError."""
    matched = WANTED.fullmatch(text)
    metric = METRIC_ALIASES.get(matched[1]) if matched else None
    try:
        pct = float(f"{matched[3]}{matched[4]}") if matched else 0.0
    except ValueError:
        metric, pct = None, 0.0
    if metric is None or matched is None or not -100 < pct <= MOST_PCT:
        named = ", ".join([*METRIC_ALIASES][:NAMED])
        raise UsageError(f"`{text}` names no figure and no change of it. Write it as `{EXAMPLE}`. Figures: {named} ...")
    return Condition(metric, matched[2] == ">", pct, " ".join(text.split()))


@dataclass(frozen=True)
class KeptSeries:
    """Valid runs of one workload."""

    workload: str
    settings: Mapping[str, str]
    runs: int
    metrics: Mapping[str, tuple[float, ...]]
    conditions: tuple[Mapping[str, str], ...] = ()
    """What the machines of each run were given."""
    load: str = ""
    """The load in words."""
    declaration_sha256: str = ""
    """Check sum of the workload's file."""
    passed: int = 0
    """How many of the runs passed."""
    invalid: int = 0
    """Runs that were left out, since they were invalid."""
    answers: tuple[Mapping[str, AnswerMeans], ...] = ()
    """Mean size and usual status of each operation's answers, run by run."""

    @property
    def failures(self) -> Failures:
        """How the runs failed."""
        return Failures(self.runs, self.passed, self.metrics.get("errors", ()), self.metrics.get("good", ()))


@dataclass(frozen=True)
class Baseline:
    """What is kept of a series of runs, to be compared with later ones."""

    name: str
    made: str
    """When the series began (ISO 8601)."""
    study: str
    """Its folder's name."""
    versions: Mapping[str, str | None]
    host: HostFacts
    profile: ProfileRecord
    series: tuple[KeptSeries, ...]
    system: SystemRecord
    placement: Mapping[str, Settings]
    """Where services ran, by role."""
    clock: str
    schema: int = BASELINE_SCHEMA


def baseline_of(name: str, folder: str, manifest: StudyManifest, runs: Sequence[RunSummary]) -> Baseline:
    """Of a study and its runs; raises UsageError for one that says nothing of how far runs scatter."""
    if manifest.kind != "repeat":
        raise UsageError(
            f"{folder} is a study of the kind `{manifest.kind}`. `loadstone repeat` makes what can be kept."
        )
    series = tuple(_series(runs))
    few = [f"{one.workload} ({one.runs})" for one in series if one.runs < least_for_unpaired(1)]
    if few or not series:
        least = least_for_unpaired(1)
        told = ", ".join(few) or "none"
        raise UsageError(f"Fewer than {least} valid runs: {told}. `loadstone repeat --runs {least + 1}` makes enough.")
    old = [one.workload for one in series if not one.load]
    if old:
        raise UsageError(
            f"{folder} does not record the load of {', '.join(old)}: an older version made it, so nothing can be "
            "compared with it safely. Run the series again with `loadstone repeat`."
        )
    return Baseline(
        name=name,
        made=manifest.started,
        study=folder,
        versions=manifest.versions,
        host=manifest.host,
        profile=manifest.profile,
        series=series,
        system=manifest.system,
        placement=manifest.placement,
        clock=manifest.clock,
    )


def _series(runs: Sequence[RunSummary]) -> Iterable[KeptSeries]:
    for workload in dict.fromkeys(run.request.workload for run in runs):
        valid = [run for run in runs if run.request.workload == workload and run.is_valid]
        names = [name for name in METRICS if valid and all(name in run.metrics for run in valid)]
        metrics = {name: tuple(run.metrics[name] for run in valid) for name in names}
        settings = dict(valid[0].request.settings) if valid else {}
        yield KeptSeries(
            workload=workload,
            settings=settings,
            runs=len(valid),
            metrics=metrics,
            conditions=tuple(run.conditions for run in valid),
            load=valid[0].load if valid else "",
            declaration_sha256=valid[0].declaration_sha256 if valid else "",
            passed=sum(run.passed for run in valid),
            invalid=sum(run.request.workload == workload and not run.is_valid for run in runs),
            answers=tuple(run.answers for run in valid),
        )


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
    failing: tuple["FailingSeries", ...] = ()
    """How often both series fail, workload by workload: judged whatever was asked."""

    @property
    def verdict(self) -> Verdict:
        """Fail where something is worse than allowed for sure, invalid where that cannot be said, else pass."""
        standings = {change.standing for change in self.changes if change.condition}
        standings |= {one.standing for one in self.failing}
        if Standing.BROKEN in standings:
            return Verdict.FAIL
        return Verdict.INVALID if Standing.UNDECIDED in standings else Verdict.PASS


def against(kept: Baseline, new: Baseline, conditions: Sequence[Condition], may_be_elsewhere: bool = False) -> Against:
    """Compares; without conditions every figure is told of that both have. Raises UsageError for what is unlike."""
    _refuse_unlike(kept, new, may_be_elsewhere)
    before = {one.workload: one for one in kept.series}
    pairs = [(before[one.workload], one) for one in new.series if one.workload in before]
    if not pairs:
        known = ", ".join(before)
        raise UsageError(f"`{kept.name}` is of {known}, this is of {', '.join(one.workload for one in new.series)}.")
    changes = [change for a, b in pairs for change in _changes(a, b, conditions, len(pairs))]
    notes = [note for a, b in pairs for note in _notes(a, b, kept.name)]
    failing = tuple(_failing(a, b, kept.name) for a, b in pairs)
    return Against(tuple(changes), (*notes, *_systems(kept, new), *_versions(kept, new)), failing)


def _notes(a: KeptSeries, b: KeptSeries, name: str) -> Iterable[str]:
    """What else differs between two series: answers, machines, runs left out."""
    yield from changes_in_words(changed_answers(a.answers, b.answers), f"`{name}`", "this series")
    yield from unlike(a.conditions, b.conditions, (name, "this"))
    if b.invalid:
        yield f"{b.workload}: {b.invalid} of {b.invalid + b.runs} runs are invalid and left out."


def _failing(a: KeptSeries, b: KeptSeries, name: str) -> FailingSeries:
    """Whether a series fails more than the kept one, beyond chance."""
    compared = compare_groups(a.failures, b.failures)
    said = f"{b.passed} of {b.runs} runs pass, {a.passed} of {a.runs} of `{name}`"
    errors = f"errors {number(compared.errors_b, 2)} %, were {number(compared.errors_a, 2)} %"
    said += f"; {errors}" if compared.errors_a is not None and compared.errors_b is not None else ""
    if compared.is_worse:
        good = f"good operations {number(compared.good_b, 2)} %, were {number(compared.good_a, 2)} %"
        said += f"; {good}" if compared.lacks_good else ""
        return FailingSeries(b.workload, Standing.BROKEN, compared, f"{said}: this series fails more")
    if compared.is_suspect:
        remedy = "too few runs to tell whether by chance; more runs decide"
        return FailingSeries(b.workload, Standing.UNDECIDED, compared, f"{said}: {remedy}")
    return FailingSeries(b.workload, Standing.KEPT, compared, said)


def _changes(a: KeptSeries, b: KeptSeries, conditions: Sequence[Condition], workloads: int) -> Iterable[Change]:
    asked: Sequence[tuple[str, Condition | None]] = [(one.metric, one) for one in conditions]
    asked = asked or [(name, None) for name in METRICS if name in a.metrics and name in b.metrics]
    for name, condition in asked:
        if name not in a.metrics or name not in b.metrics:
            why = f"{METRICS[name].title}: not in both series"
            yield Change(a.workload, name, None, None, None, None, None, Standing.UNDECIDED, _text(condition), why)
            continue
        found = ratio_of_groups(a.metrics[name], b.metrics[name], max(1, len(conditions)) * workloads)
        yield _change(a.workload, name, (a.metrics[name], b.metrics[name]), found, condition)


def _change(
    workload: str,
    name: str,
    values: tuple[Sequence[float], Sequence[float]],
    found: GroupRatio | None,
    condition: Condition | None,
) -> Change:
    before, now = (sum(side) / len(side) for side in values)
    standing, said = _standing(name, values, found, condition)
    ratio, low, high = (found.ratio, found.low, found.high) if found else (None, None, None)
    return Change(workload, name, before, now, ratio, low, high, standing, _text(condition), said)


def _text(condition: Condition | None) -> str:
    return condition.text if condition else ""


def _standing(
    name: str,
    values: tuple[Sequence[float], Sequence[float]],
    found: GroupRatio | None,
    condition: Condition | None,
) -> tuple[Standing, str]:
    title = METRICS[name].plot_title
    if found is None:
        same = values[0] == values[1] or not any((*values[0], *values[1]))
        said = f"{title}: the same in all runs" if same else f"{title}: 0 in some runs, of which there is no ratio"
        return (Standing.KEPT if same else Standing.UNDECIDED), said
    if found.low is None or found.high is None:
        counts = " and ".join(str(len(side)) for side in values)
        return Standing.UNDECIDED, f"{title}: {counts} runs cannot tell a change from chance"
    told = (
        f"{title} {signed_percent(found.ratio)}, between {signed_percent(found.low)} and {signed_percent(found.high)}"
    )
    if condition is None:
        return Standing.KEPT, told
    worst, best = (found.high, found.low) if condition.is_rise else (found.low, found.high)
    sign = 1 if condition.is_rise else -1
    if sign * best > sign * condition.limit:
        return Standing.BROKEN, f"{told}: more than `{condition.text}` allows"
    if sign * worst <= sign * condition.limit:
        most = "at most" if condition.is_rise else "at least"
        return Standing.KEPT, f"{title} changes by {most} {signed_percent(worst)} ({told})"
    return Standing.UNDECIDED, f"{told}: too wide to tell whether `{condition.text}`; more runs narrow it"


def signed_percent(ratio: float) -> str:
    """A ratio as its difference from 1, with its unit."""
    return f"{signed(ratio)} %"


def _refuse_unlike(kept: Baseline, new: Baseline, may_be_elsewhere: bool) -> None:
    """Raises UsageError where the figures are of another load, workload or system, other lengths or machines."""
    lengths = [(one.profile.ramp_up_s, one.profile.warm_up_s, one.profile.steady_s) for one in (kept, new)]
    if lengths[0] != lengths[1]:
        told = " and ".join(f"{number(steady_s)} s" for _, _, steady_s in lengths)
        raise UsageError(f"`{kept.name}` and this were not run for the same time ({told} of steady state).")
    for a in kept.series:
        for b in new.series:
            if a.workload == b.workload:
                _refuse_unlike_series(kept.name, a, b)
    if may_be_elsewhere:
        return
    _refuse_unlike_system(kept, new)
    differing = [name for name in ALIKE if getattr(kept.host, name) != getattr(new.host, name)]
    if differing:
        told = ", ".join(f"{name} {getattr(kept.host, name)} and {getattr(new.host, name)}" for name in differing)
        raise UsageError(
            f"`{kept.name}` was made on another machine ({told}): its figures say nothing of this one. Keep one "
            "that was made here; --elsewhere compares all the same."
        )


def _refuse_unlike_series(name: str, a: KeptSeries, b: KeptSeries) -> None:
    """Raises UsageError where two series of one workload had another load, other settings or another declaration."""
    remedy = f"Run this series as `{name}` was run, or keep a new one with `loadstone baseline save`."
    if a.load != b.load:
        raise UsageError(f"{a.workload} was under another load: {a.load} in `{name}`, {b.load} here. {remedy}")
    if a.settings != b.settings:
        told = " and ".join(str(dict(one.settings)) for one in (a, b))
        raise UsageError(f"{a.workload} was in another setting: {told}. {remedy}")
    if a.declaration_sha256 != b.declaration_sha256:
        raise UsageError(f"{a.workload} is another workload now: its file changed after `{name}` was kept. {remedy}")


def _refuse_unlike_system(kept: Baseline, new: Baseline) -> None:
    """Raises UsageError where the system is of another kind, at another host, in other settings or elsewhere placed.

    A station stands for a system of any speed: its parameters may differ, as the versions of a server do.
    """
    remedy = "--elsewhere compares all the same."
    if (kept.system.kind, kept.clock) != (new.system.kind, new.clock):
        told = " and ".join(f"{one.system.kind} in {one.clock} time" for one in (kept, new))
        raise UsageError(f"`{kept.name}` was measured on another kind of system: {told}. {remedy}")
    before, now = (_identity(one.system) for one in (kept, new))
    differing = [name for name in before | now if before.get(name) != now.get(name)]
    if differing:
        told = ", ".join(f"{name} {before.get(name)} and {now.get(name)}" for name in differing)
        raise UsageError(f"`{kept.name}` was measured on another system: {told}. {remedy}")
    if kept.placement != new.placement:
        told = f"{_placed(kept.placement)} and {_placed(new.placement)}"
        raise UsageError(f"`{kept.name}` was measured on another placement: {told}. {remedy}")


def _identity(system: SystemRecord) -> dict[str, object]:
    """The settings that make two systems the same; of a target its host, as ports may change with each start."""
    if system.kind is SystemKind.STATION:
        return {}
    settings: dict[str, object] = dict(system.settings)
    if system.kind is SystemKind.TARGET:
        sides = {side: settings.get(side) for side in ("http", "https")}
        settings = {f"{name} host": side["host"] for name, side in sides.items() if isinstance(side, dict)}
    return settings


def _placed(placement: Mapping[str, Settings]) -> str:
    parts = [f"{role} {', '.join(f'{key}={value}' for key, value in of.items())}" for role, of in placement.items()]
    return "; ".join(part.strip() for part in parts) or "this host"


def _systems(kept: Baseline, new: Baseline) -> Iterable[str]:
    """Settings of the system that differ, where they may."""
    before, now = kept.system.settings, new.system.settings
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            yield f"The system's {name} was {before.get(name)}, is {now.get(name)}."


def _versions(kept: Baseline, new: Baseline) -> Iterable[str]:
    for name in kept.versions.keys() & new.versions.keys():
        if kept.versions[name] != new.versions[name]:
            yield f"{name} was {kept.versions[name]}, is {new.versions[name]}."
    for name, what in (("kernel", "The kernel"), ("governor", "The governor"), ("virtualization", "Virtualization")):
        before, now = getattr(kept.host, name), getattr(new.host, name)
        if before != now:
            yield f"{what} was {before}, is {now}."
