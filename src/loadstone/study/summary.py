"""A run that a study asks for, and what came of it: the metrics that studies reckon with. Pure."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import fmean

from loadstone.judge.usage import (
    compute_host_usage,
    compute_inside_usage,
    compute_outside_usage,
    compute_printed_cores,
    compute_tree_usage,
    is_support,
    list_measured_machines,
)
from loadstone.model.fault import PlannedFault
from loadstone.model.figures import Blame, IterationFigures
from loadstone.model.machine import PROCESS
from loadstone.model.records.check import DRIVER_CHECKS, Check, CheckId, Outcome
from loadstone.model.records.manifest import SystemKind
from loadstone.model.records.pair_status import READS_IN_LOG
from loadstone.model.records.result import Iteration, Result
from loadstone.model.records.sample import Sample
from loadstone.model.records.verdict import Verdict
from loadstone.model.service import EMBEDDED
from loadstone.study.answers import AnswerMeans, answer_means
from loadstone.study.conditions import list_conditions
from loadstone.study.failure import Failure, find_failure, find_faulty_platform
from loadstone.study.metrics import METRICS
from loadstone.study.run_figures import (
    MachineTraffic,
    OperationTimes,
    PairLog,
    ProcessUse,
    compute_log,
    compute_operation_times,
    compute_process_uses,
    compute_traffic,
)
from loadstone.study.settings import StoredSettings, write_settings

FAULT_METRIC = "fault"
"""The setting that plans a fault."""
INTERRUPTS = ("irq", "softirq")
"""Modes of a processor that belong to no process: mostly the network's."""
IDLE_MODES = ("idle", "iowait")
"""Modes of a processor in which it does nothing."""


class Purpose(StrEnum):
    """Why a run is asked for."""

    MEASURE = "measure"
    PROBE = "probe"
    """To find out whether a load passes."""
    CONFIRM = "confirm"
    """To make sure that it did, or did not."""
    VERIFY = "verify"
    """To prove a peak; runs made for finding it do not count for that."""


class ComparedSide(StrEnum):
    """Of a comparison."""

    NONE = ""
    A = "a"
    B = "b"


@dataclass(frozen=True)
class RunRequest:
    """A run that a study asks for."""

    key: str
    workload: str
    settings: StoredSettings
    seed: int
    """Added to the study's own seed."""
    purpose: Purpose = Purpose.MEASURE
    side: ComparedSide = ComparedSide.NONE
    search: str = ""
    """Which of a study's searches it belongs to."""
    duet: str = ""
    """Runs of the same name are made at the same time."""

    @property
    def load(self) -> float:
        """Sessions, or arrivals per second, where the settings say."""
        value = self.settings.get("sessions") or self.settings.get("rate")
        assert value is None or isinstance(value, int | float), f"a load is a number, not `{value}`"
        return float(value or 0)

    @property
    def fault(self) -> PlannedFault | None:
        """The fault that is injected into it, where the settings plan one."""
        planned = self.settings.get(FAULT_METRIC)
        return planned if isinstance(planned, PlannedFault) else None

    def __str__(self) -> str:
        settings = write_settings(self.settings, " ")
        purpose = "" if self.purpose is Purpose.MEASURE else f" ({self.purpose})"
        return f"{self.workload} {self.side} {settings}{purpose}".replace("  ", " ").strip()


@dataclass(frozen=True)
class RunSummary:
    """A finished run of a study."""

    request: RunRequest
    folder: str
    """Name of its result folder, beside those of the study's other runs."""
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    is_driver_bound: bool = False
    metrics: Mapping[str, float] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    """Each rule once, the worst of its iterations."""
    accelerator: str = ""
    """What makes the processors of its machines: `kvm`, `tcg`, or none of their own."""
    monitors: Mapping[str, float] = field(default_factory=dict)
    """Means of what monitors saw: `host.`; of machines `inside.` and `outside.`; of services `process.`."""
    capacity: Mapping[str, float] = field(default_factory=dict)
    """How much there was of what was used: `workers` of a station, `cores` of the machine."""
    windows_unix_s: tuple[tuple[float, float], ...] = ()
    """Begin and end of each iteration's steady state."""
    conditions: Mapping[str, str] = field(default_factory=dict)
    """What the machines of the system under test were given."""
    failure: Failure | None = None
    """What a fault that was injected came to."""
    misses_ended: bool = False
    """Whether CPU of programs that ended, and that nobody waited for, is in none of its figures."""
    answers: Mapping[str, AnswerMeans] = field(default_factory=dict)
    """Mean size and usual status of each operation's answers."""
    load: str = ""
    """The load in words; empty in older answers."""
    platform: str = ""
    """What makes the machines of a system that the lab starts; empty for others, and in older answers."""
    declaration_sha256: str = ""
    """Check sum of the workload's file; empty in older answers."""
    operations: Mapping[str, OperationTimes] = field(default_factory=dict)
    """Each kind of operation that was answered; empty in older answers."""
    processes: Mapping[str, ProcessUse] = field(default_factory=dict)
    """Processes of the system, by name; empty in older answers."""
    traffic: MachineTraffic | None = None
    """Input of the system's machines; None where no host counts it, and in older answers."""
    log: PairLog | None = None
    """Log of a protected pair; None without one."""
    watts: float | None = None
    """Mean power of the loaded window, of the whole system where that was metered; None without a meter."""

    @property
    def was_made(self) -> bool:
        """Whether there is a result of it: a run that could not be made has its reason alone."""
        return bool(self.folder)

    @property
    def passed(self) -> bool:
        """Whether it passed every rule."""
        return self.verdict is Verdict.PASS

    @property
    def is_valid(self) -> bool:
        """Whether anything follows from it."""
        return self.verdict is not Verdict.INVALID

    def list_broken(self) -> list[Check]:
        """The rules it broke; notes are none."""
        return [check for check in self.checks if check.is_broken]


def summarize_unmade(request: RunRequest, reason: str) -> RunSummary:
    """Returns the summary of a run that could not be made."""
    return RunSummary(request, "", Verdict.INVALID, (reason,))


def _read_watts(result: Result) -> float | None:
    by_scope = {meter.scope: meter.loaded_w for meter in result.manifest.power if meter.loaded_w is not None}
    return by_scope.get("system", by_scope.get("server"))


def summarize(request: RunRequest, result: Result) -> RunSummary:
    """Returns the summary of a run of one workload, from its stored and judged result."""
    (workload,) = result.workloads
    verdict = result.verdict.find_workload(workload.id.label) if result.verdict else None
    assert verdict is not None, "a run of a study is judged before it is summarized"
    checks = _each_once(iteration.checks for iteration in verdict.iterations)
    each = [collect_metrics(iteration) for iteration in workload.iterations]
    weighted = [_weighted(iteration.checks) for iteration in verdict.iterations]
    each = [metrics | of_mix for metrics, of_mix in zip(each, weighted, strict=True)]
    known = [name for name in METRICS if each and all(name in metrics for metrics in each)]
    return RunSummary(
        request=request,
        folder=result.path.name,
        verdict=verdict.verdict,
        reasons=verdict.reasons,
        is_driver_bound=any(check.outcome is Outcome.BROKEN and check.id in DRIVER_CHECKS for check in checks),
        metrics={name: fmean(metrics[name] for metrics in each) for name in known},
        checks=checks,
        accelerator=next(
            (machine.accelerator for machine in result.manifest.machines.values() if machine.accelerator), ""
        ),
        monitors=_monitors(workload.iterations),
        capacity=_capacity(result, workload.iterations),
        windows_unix_s=tuple(
            window for iteration in workload.iterations if (window := iteration.window_unix_s) is not None
        ),
        conditions=list_conditions(result.manifest),
        failure=find_failure(workload.iterations[0]) if workload.iterations else None,
        misses_ended=_misses_ended(result, workload.iterations),
        answers=answer_means([iteration.figures for iteration in workload.iterations]),
        load=workload.criteria.load_in_words,
        platform=_platform(result),
        declaration_sha256=_sha256(result.manifest.declarations.get(workload.id.label)),
        operations=compute_operation_times(workload.iterations),
        processes=compute_process_uses(workload.iterations),
        traffic=compute_traffic(workload.iterations, _has_logged_reads(result)),
        log=compute_log(workload.iterations),
        watts=_read_watts(result),
    )


def _platform(result: Result) -> str:
    """The platform of the system under test, where the lab started it: of the machine that had the run's fault."""
    if result.manifest.system.kind is not SystemKind.REFERENCE:
        return ""
    return find_faulty_platform(result) or str(result.manifest.placement.get("machine", {}).get("platform") or PROCESS)


def _has_logged_reads(result: Result) -> bool:
    """Whether what a pair reads from its disk comes with its log."""
    return any(machine.facts.get(READS_IN_LOG) for machine in result.manifest.machines.values())


def _sha256(declaration: str | None) -> str:
    return hashlib.sha256(declaration.encode()).hexdigest() if declaration else ""


def _weighted(checks: Sequence[Check]) -> dict[str, float]:
    """What the verdict reckoned by the declared mix, where it did."""
    check = next((check for check in checks if check.id is CheckId.WEIGHTED_PERCENTILE), None)
    return {} if check is None else {"response_weighted": check.figure}


def _misses_ended(result: Result, iterations: Sequence[Iteration]) -> bool:
    """Of processes of this host without a control group; what runs in a machine is all in its processor's time."""
    if result.manifest.placement.get("machine", {}).get("platform") != PROCESS:
        return False
    samples = [sample for iteration in iterations for sample in iteration.steady_samples]
    trees = [tree for sample in samples for role, tree in sample.trees.items() if not is_support(role) and tree]
    return not all(tree.is_whole for tree in trees)


def summarize_tiles(request: RunRequest, result: Result) -> RunSummary:
    """Returns the summary of a run of tiles, from its stored and judged result. At most five reasons are kept."""
    verdict = result.verdict
    assert verdict is not None and verdict.consolidation is not None, "a run of tiles is judged before it is summarized"
    common, total = verdict.consolidation, verdict.whole
    parts = [("the run", common.verdict, common.reasons)]
    parts += [(workload.workload, workload.verdict, workload.reasons) for workload in verdict.workloads]
    reasons = [
        f"{name}: {reason}" for name, consolidated, describe in parts if consolidated is total for reason in describe
    ]
    checks = [
        *common.checks,
        *(check for workload in verdict.workloads for each in workload.iterations for check in each.checks),
    ]
    return RunSummary(
        request=request,
        folder=result.path.name,
        verdict=total,
        reasons=tuple(reasons[:5]),
        is_driver_bound=any(check.outcome is Outcome.BROKEN and check.id in DRIVER_CHECKS for check in checks),
        metrics={"score": common.score, "tiles_quality": common.qos_pct},
    )


def _monitors(iterations: tuple[Iteration, ...]) -> dict[str, float]:
    """Of several machines alike the sum; of several iterations the mean."""
    each = [_seen(iteration.steady_samples) for iteration in iterations]
    names = dict.fromkeys(name for seen in each for name in seen)
    return {name: fmean(seen[name] for seen in each if name in seen) for name in names}


def _seen(samples: list[Sample]) -> dict[str, float]:
    seen = {f"host.{name}": value for name, value in compute_host_usage(samples).items()}
    views = {"inside": compute_inside_usage, "outside": compute_outside_usage, "process": compute_tree_usage}
    for machine in list_measured_machines(samples):
        for side, view in views.items():
            for name, value in view(samples, machine).items():
                seen[f"{side}.{name}"] = seen.get(f"{side}.{name}", 0.0) + value
    return seen


def collect_metrics(iteration: Iteration) -> dict[str, float]:
    """The metrics of one iteration, those that there are."""
    figures = iteration.figures
    metrics: dict[str, float | None] = {
        "throughput": figures.throughput_per_s,
        "response_mean": figures.response.mean_s,
        **{f"response_p{percent:g}": figures.response.get_value_at(percent) for percent in (50.0, 90.0, 95.0, 99.0)},
        "service_p99": figures.service.get_value_at(99.0),
        **compute_shares(figures),
        "driver_cpu": 100 * max(figures.driver_cpu) if figures.driver_cpu else None,
        "driver_lag_p99": figures.lag.get_value_at(99.0),
        **_used(iteration),
    }
    if figures.steady_s:
        metrics["bytes"] = sum(operation.all_bytes for operation in figures.operations) / figures.steady_s
    cpu, throughput = metrics.get("server_cpu"), metrics["throughput"]
    if cpu and throughput:
        metrics["server_cpu_per_operation"] = cpu / throughput
    return {name: value for name, value in metrics.items() if value is not None}


def compute_shares(figures: IterationFigures) -> dict[str, float]:
    """Shares in percent. Operations overdue at the end are neither good nor tolerable, as in a verdict."""
    requests, overdue = figures.requests, sum(operation.overdue for operation in figures.operations)
    if not requests:
        return {}
    good = sum(operation.good for operation in figures.operations)
    tolerable = good + sum(operation.tolerable for operation in figures.operations)
    errors = sum(operation.count_errors(blame) for operation in figures.operations for blame in Blame)
    attempts = requests + overdue
    return {"good": 100 * good / attempts, "tolerable": 100 * tolerable / attempts, "errors": 100 * errors / requests}


def _used(iteration: Iteration) -> dict[str, float | None]:
    """Means over the steady state of what the monitors saw, and of what a modelled station did."""
    samples = iteration.steady_samples
    trees = [[tree for role, tree in sample.trees.items() if not is_support(role) and tree] for sample in samples]
    stations = [busy for sample in samples for busy in sample.stations.values() if busy]
    busy = _mean(station.busy_workers for station in stations)
    if iteration.records.stations:
        lengths = sum(use.length_s for use in iteration.records.stations)
        busy = sum(use.busy_s for use in iteration.records.stations) / lengths
    printed: Mapping[str, float] = compute_printed_cores(samples) if iteration.phases is None else {}
    return {
        "server_cpu": _mean(sum(tree.cores for tree in trees) for trees in trees if trees),
        "server_user": _mean(sum(tree.user_cores for tree in trees) for trees in trees if trees),
        "server_system": _mean(sum(tree.system_cores for tree in trees) for trees in trees if trees),
        "host_interrupts": _mean(
            sum(sample.cpu_cores.get(mode) or 0.0 for mode in INTERRUPTS)
            for sample in samples
            if set(INTERRUPTS) & sample.cpu_cores.keys()
        ),
        "host_cpu": _mean(
            sum(used or 0.0 for mode, used in sample.cpu_cores.items() if mode not in IDLE_MODES)
            for sample in samples
            if _is_split(sample)
        ),
        "busy_workers": busy,
        **printed,
    }


def _is_split(sample: Sample) -> bool:
    """Whether the host's CPU is known as a whole: published tables may lack a part of it."""
    return {"user", "system"} <= sample.cpu_cores.keys() or "busy" in sample.cpu_cores


def _capacity(result: Result, iterations: tuple[Iteration, ...]) -> dict[str, float]:
    capacity: dict[str, float] = {}
    for iteration in iterations:
        workers_seen = [
            busy.workers for sample in iteration.records.monitor for busy in sample.stations.values() if busy
        ]
        for workers in [*workers_seen, *(use.workers for use in iteration.records.stations)]:
            capacity["workers"] = float(workers)
    system, machine = result.manifest.system, result.manifest.placement.get("machine", {})
    host = result.manifest.host
    cores = float(host.cores_usable or host.cores or 1)
    if system.kind is SystemKind.REFERENCE:
        count = _number(machine.get("count")) or 1.0
        machine_cores = (_number(machine.get("cpus")) or cores) * count
        threads = _number(system.settings.get("threads")) or 1.0
        is_ours = system.settings.get("web", EMBEDDED) == EMBEDDED
        capacity["server_cores"] = min(cores, machine_cores, threads * count) if is_ours else min(cores, machine_cores)
    capacity["cores"] = cores
    return capacity


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _each_once(iterations: Iterable[tuple[Check, ...]]) -> tuple[Check, ...]:
    """Each rule once: where iterations differ, the broken one, else the first."""
    unique: dict[CheckId, Check] = {}
    for check in (check for checks in iterations for check in checks):
        before = unique.get(check.id)
        if before is None or (check.outcome is Outcome.BROKEN and before.outcome is not Outcome.BROKEN):
            unique[check.id] = check
    return tuple(unique.values())


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return fmean(known) if known else None
