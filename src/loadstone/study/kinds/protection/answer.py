"""What protection cost one workload: throughput and times of both sides, processes, and the log beside its prediction.

Pure. A is the machine alone, B the same machine protected.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from loadstone.model.numbers import format_chance, format_signed_percent
from loadstone.platforms.pair.sizing import LogBandwidth, compute_log_bandwidth
from loadstone.study.difference import LEAST_PAIRS, ComparedMetric, compare_metric
from loadstone.study.question import Answer
from loadstone.study.run_figures import MachineTraffic, OperationTimes, PairLog, ProcessUse, compute_mean
from loadstone.study.summary import ComparedSide, RunSummary

PROTECTION_METRICS = ("throughput", "response_mean", "response_p95", "bytes", "host_cpu")
"""Metrics that are compared."""
USUAL_FRAME_BYTES = 1000.0
"""Frame size of the prediction for a machine that received no frame."""
LINK_MBIT_PER_S = 1000.0
"""Speed of the link in the prediction, which both figures of the log do not depend on."""
RunPairs = Sequence[tuple[RunSummary, RunSummary]]


@dataclass(frozen=True)
class BothTimes:
    """One kind of operation on both sides; None where a side did not answer it."""

    alone: OperationTimes | None
    protected: OperationTimes | None


@dataclass(frozen=True, kw_only=True)
class ProtectionAnswer(Answer):
    """The cost of protection for one workload."""

    pairs: int
    """Valid pairs of runs."""
    left_out: int
    """Pairs with an invalid run."""
    metrics: Mapping[str, ComparedMetric]
    operations: Mapping[str, BothTimes]
    processes_alone: Mapping[str, ProcessUse]
    processes: Mapping[str, ProcessUse]
    """Of the protected machine: primary, secondary and both agents."""
    traffic: MachineTraffic | None
    """Input of the protected machine."""
    log: PairLog | None
    prediction: LogBandwidth | None
    """Log by the published rule and by our model, for this input."""


def answer_of(workload: str, pairs: RunPairs, left_out: int, is_whole: bool) -> ProtectionAnswer:
    """Returns what valid pairs of runs say."""
    alone, protected = [run for run, _ in pairs], [run for _, run in pairs]
    sides = {ComparedSide.A: alone, ComparedSide.B: protected}
    metrics = {name: row for name in PROTECTION_METRICS if (row := compare_metric(name, sides)) is not None}
    traffic, log = _mean_traffic(protected), _mean_log(protected)
    prediction = None if traffic is None else _predicted(traffic)
    return ProtectionAnswer(
        workload=workload,
        is_answered=is_whole,
        headline=tuple(_headline(metrics, log, prediction, left_out)),
        pairs=len(pairs),
        left_out=left_out,
        metrics=metrics,
        operations=_both_times(alone, protected),
        processes_alone=_mean_processes(alone),
        processes=_mean_processes(protected),
        traffic=traffic,
        log=log,
        prediction=prediction,
    )


def _predicted(traffic: MachineTraffic) -> LogBandwidth:
    frame_bytes = traffic.frame_bytes or USUAL_FRAME_BYTES
    return compute_log_bandwidth(traffic.logged_mbytes_per_s, traffic.received_mbit_per_s, frame_bytes, LINK_MBIT_PER_S)


def _both_times(alone: Sequence[RunSummary], protected: Sequence[RunSummary]) -> dict[str, BothTimes]:
    names = dict.fromkeys(name for run in (*alone, *protected) for name in run.operations)
    return {name: BothTimes(_mean_times(alone, name), _mean_times(protected, name)) for name in names}


def _mean_times(runs: Sequence[RunSummary], name: str) -> OperationTimes | None:
    each = [run.operations[name] for run in runs if name in run.operations]
    per_s = compute_mean(times.per_s for times in each)
    if per_s is None:
        return None
    return OperationTimes(
        per_s, compute_mean(times.mean_s for times in each), compute_mean(times.p95_s for times in each)
    )


def _mean_processes(runs: Sequence[RunSummary]) -> dict[str, ProcessUse]:
    names = dict.fromkeys(name for run in runs for name in run.processes)
    each = {name: [run.processes[name] for run in runs if name in run.processes] for name in names}
    return {
        name: ProcessUse(
            compute_mean(use.cores for use in uses) or 0.0, compute_mean(use.resident_bytes for use in uses) or 0.0
        )
        for name, uses in each.items()
    }


def _mean_traffic(runs: Sequence[RunSummary]) -> MachineTraffic | None:
    known = [run.traffic for run in runs if run.traffic is not None]
    if not known:
        return None
    return MachineTraffic(
        compute_mean(traffic.received_mbit_per_s for traffic in known) or 0.0,
        compute_mean(traffic.received_frames_per_s for traffic in known) or 0.0,
        compute_mean(traffic.read_mbytes_per_s for traffic in known) or 0.0,
        compute_mean(traffic.logged_mbytes_per_s for traffic in known) or 0.0,
    )


def _mean_log(runs: Sequence[RunSummary]) -> PairLog | None:
    known = [run.log for run in runs if run.log is not None]
    if not known:
        return None
    return PairLog(
        compute_mean(log.log_mbit_per_s for log in known) or 0.0,
        compute_mean(log.wire_mbit_per_s for log in known) or 0.0,
        compute_mean(log.lag_ms for log in known),
        compute_mean(log.held_ms for log in known),
        compute_mean(log.held_p99_ms for log in known),
        compute_mean(log.slowed_pct for log in known),
        {
            kind: compute_mean(log.mbit_per_s_by_kind.get(kind) for log in known) or 0.0
            for kind in dict.fromkeys(kind for log in known for kind in log.mbit_per_s_by_kind)
        },
    )


def _headline(
    metrics: Mapping[str, ComparedMetric], log: PairLog | None, prediction: LogBandwidth | None, left_out: int
) -> Iterator[str]:
    if left_out:
        yield f"{left_out} pair{'s' * (left_out != 1)} with an invalid run left out: nothing follows from those."
    yield _throughput_sentence(metrics.get("throughput"))
    if log is not None and prediction is not None:
        yield (
            f"Log: {log.log_mbit_per_s:.3g} Mbit/s. The published rule predicts {prediction.rule_mbit_per_s:.3g}, "
            f"our model {prediction.model_mbit_per_s:.3g} Mbit/s."
        )


def _throughput_sentence(throughput: ComparedMetric | None) -> str:
    if throughput is None:
        return "No valid pair of runs yet, so the throughput is not known."
    if throughput.difference is None:
        return (
            f"A run completed no operation, so there is no ratio: {throughput.a.mean:.3g} operations/s without "
            f"protection, {throughput.b.mean:.3g} with it. Use longer runs."
        )
    difference = throughput.difference
    text = f"Protected throughput is {difference.ratio:.3f} of that without protection"
    if difference.low is None or difference.high is None:
        pairs = f"{difference.pairs} pair{'s' * (difference.pairs != 1)}"
        return f"{text} over {pairs}; an interval takes {LEAST_PAIRS} pairs."
    interval = f"{format_signed_percent(difference.low)} to {format_signed_percent(difference.high)} %"
    means = "a difference" if difference.is_found else "no difference was found"
    change, chance = format_signed_percent(difference.ratio), format_chance(difference.p)
    return f"{text} ({change} %, interval {interval}, {chance}: {means})."
