"""What a run will be held to, derived from its workload, profile and load. Pure."""

import math
from dataclasses import dataclass

from loadstone.model.drawn_pause import DrawnPause
from loadstone.model.figures import (
    DRIVER_CPU_PCT,
    FOREIGN_CPU_PCT,
    LAG_SHARE,
    CountLimit,
    Criteria,
    MeanLimit,
    OwnLimits,
    PercentileLimit,
)
from loadstone.model.load import Arrivals, Load, Population, ProcessKind
from loadstone.model.profile import Profile
from loadstone.model.records.workload_id import WorkloadId
from loadstone.model.workload import CountRule, Pacing, Workload
from loadstone.model.workload.operation import Operation, RateLimit, TimeLimit
from loadstone.model.workload.values import TableValues
from loadstone.run.plan import compute_conditional_share, plan_embedded_files
from loadstone.tools.registry import find_tool
from loadstone.workloads.catalogue import is_shipped_folder
from loadstone.workloads.shares import Shares, compute_dispersion, compute_shares
from loadstone.workloads.templates import list_holes


@dataclass(frozen=True)
class DriverLimits:
    """What the driver may use for a run to be fit to be judged."""

    lag_share: float = LAG_SHARE
    driver_cpu_pct: float = DRIVER_CPU_PCT
    foreign_cpu_pct: float = FOREIGN_CPU_PCT


DRIVER_LIMITS = DriverLimits()


def make_criteria(
    workload: Workload,
    profile: Profile,
    load: Load,
    shipped: bool,
    driver_limits: DriverLimits = DRIVER_LIMITS,
    is_ours: bool = False,
    identity: WorkloadId | None = None,
    is_bent: bool = False,
) -> Criteria:
    """Returns the criteria for the run of one workload. A server that `is_ours` can be asked for its contents. A load
    that `is_bent` follows a curve, and its pauses with it.
    """
    mix = compute_shares(workload)
    return Criteria(
        id=identity or WorkloadId(workload.name),
        title=workload.header.title,
        sessions=load.sessions if isinstance(load, Population) else 0,
        load=_in_words(load, mix, "at most " if workload.is_conditional else ""),
        due=load.count_scheduled(profile.phases.steady_s) if isinstance(load, Arrivals) else None,
        due_dispersion=_due_dispersion(load),
        is_even=load.is_even,
        ramp_up_s=profile.phases.ramp_up_s,
        warm_up_s=profile.phases.warm_up_s,
        steady_s=profile.phases.steady_s,
        iterations=profile.iterations,
        rigor=profile.rigor,
        profile=profile.name,
        shipped=shipped,
        expected_shares={} if workload.is_conditional else mix.operations,
        operations_per_session=mix.operations_per_session,
        paused_share=mix.paused,
        mean_pause_s=compute_mean_pause_s(workload.pacing),
        pacing=workload.pacing.kind,
        drawn_pause=None if is_bent or not workload.pacing.mean_s else _drawn_pause(workload.pacing),
        good_share_pct=workload.limits.good_share_pct,
        tolerable_share_pct=workload.limits.tolerable_share_pct,
        source=workload.header.document if is_shipped_folder(workload.folder) and workload.tool is None else "",
        audited=workload.header.audit is not None and is_ours,
        each_share_pct=workload.limits.each_share_pct,
        shortest_limit_s=_shortest_limit_s(workload),
        longest_operation_s=max(_line_s(workload, operation) for operation in workload.operations.values()),
        published_bytes=dict(workload.published.bytes),
        conditional_shares=_conditional_shares(workload),
        lag_share=driver_limits.lag_share,
        driver_cpu_pct=driver_limits.driver_cpu_pct,
        foreign_cpu_pct=driver_limits.foreign_cpu_pct,
        dispersion=compute_dispersion(workload),
        total_dispersion=_total_dispersion(workload, mix),
        count_limits=tuple(_count_limit(workload, rule) for rule in workload.rules.values()),
        mix_points=workload.limits.mix_points,
        most_cycle_s=workload.limits.most_cycle_s,
        own=_own_limits(workload),
        limits_s=_limits_s(workload),
        tool=workload.tool.name if workload.tool else "",
        tool_operations=workload.tool.count_operations(profile.phases.steady_s) if workload.tool else None,
        is_timed_inside=workload.tool is not None and find_tool(workload.tool.name).is_timed_inside,
    )


def _conditional_shares(workload: Workload) -> dict[str, float]:
    if workload.connections.warm_caches is not None:
        return {}
    shares = {
        name: compute_conditional_share(plan_embedded_files(workload, operation))
        for name, operation in workload.operations.items()
    }
    return {name: share for name, share in shares.items() if share > 0}


def _due_dispersion(load: Load) -> float | None:
    if not isinstance(load, Arrivals):
        return None
    if load.trace_s:
        return 0.0
    known = {ProcessKind.CONSTANT: 0.0, ProcessKind.POISSON: 1.0, ProcessKind.BURSTY: load.process.scatter}
    return known.get(load.process.kind)


def _count_limit(workload: Workload, rule: CountRule) -> CountLimit:
    names = [request.name for request in workload.operations[rule.operation].around]
    place = 0 if rule.request is None else names.index(rule.request)
    return CountLimit(rule.title, rule.operation, rule.of or "", place, rule.at_least, rule.at_most)


def _own_limits(workload: Workload) -> OwnLimits:
    each = [("", workload.limits.percentiles_s)]
    each += [(name, operation.percentiles_s) for name, operation in workload.operations.items()]
    percentiles = tuple(
        PercentileLimit(name, float(key.removeprefix("p")), most_s)
        for name, limits in each
        for key, most_s in limits.items()
    )
    timed = ((name, operation.mean_s) for name, operation in workload.operations.items())
    means = tuple(MeanLimit(name, most_s) for name, most_s in timed if most_s is not None)
    return OwnLimits(workload.limits.errors_pct, percentiles, workload.limits.throughput_per_s, means)


def _limits_s(workload: Workload) -> dict[str, float]:
    limits = {name: operation.limit or workload.limits for name, operation in workload.operations.items()}
    if workload.limits.each_share_pct is None or any(isinstance(limit, RateLimit) for limit in limits.values()):
        return {}
    return {name: limit.good_s for name, limit in limits.items() if not isinstance(limit, RateLimit)}


def _in_words(load: Load, mix: Shares, most: str) -> str:
    """The load as it is reported: where whole visits arrive, each of several operations, it is partly open (Schroeder,
    Wierman and Harchol-Balter 2006).
    """
    if isinstance(load, Arrivals) and mix.operations_per_session and mix.operations_per_session > 1:
        return f"{load}, partly open: visits of {most}{mix.operations_per_session:.1f} operations"
    return str(load)


def _drawn_pause(pacing: Pacing) -> DrawnPause:
    return DrawnPause(pacing.distribution, pacing.mean_s, pacing.cap_s)


def compute_mean_pause_s(pacing: Pacing) -> float:
    """Mean of the pauses as they are drawn: cut off at the cap."""
    mean, cap = pacing.mean_s, pacing.cap_s
    if cap is None or mean == 0:
        return mean
    # E[min(X, cap)] for each distribution.
    match pacing.distribution:
        case "exponential":
            return mean * (1 - math.exp(-cap / mean))
        case "uniform":
            return mean if cap >= 2 * mean else cap - cap**2 / (4 * mean)
        case "fixed":
            return min(mean, cap)


def _shortest_limit_s(workload: Workload) -> float:
    good_s = [op.limit.good_s for op in workload.operations.values() if isinstance(op.limit, TimeLimit)]
    by_time = [op for op in workload.operations.values() if not isinstance(op.limit, RateLimit)]
    return min([*good_s, workload.limits.good_s] if by_time else good_s or [workload.limits.good_s])


def _line_s(workload: Workload, operation: Operation) -> float:
    """Seconds the line needs for an operation's longest declared body."""
    rate = workload.connections.page_bytes_per_s
    return _longest_bytes(workload, operation) / rate if rate else 0.0


def _longest_bytes(workload: Workload, operation: Operation) -> float:
    return max(size for size, _ in _sizes(workload, operation))


def _sizes(workload: Workload, operation: Operation) -> list[tuple[float, float]]:
    """Declared lengths of an operation's body, each with its share."""
    if isinstance(operation.bytes, int):
        return [(float(operation.bytes), 1.0)]
    for hole in list_holes(operation.bytes or ""):
        name, _, column = hole.partition(".")
        table = workload.values.get(name)
        if isinstance(table, TableValues) and column in table.columns:
            texts = [row[table.columns.index(column)] for row in table.rows]
            weights = table.weights or [1.0] * len(texts)
            known = [(float(text), weight) for text, weight in zip(texts, weights, strict=True) if text.isdigit()]
            if known:
                return [(size, weight / sum(weights)) for size, weight in known]
    return [(float(operation.document_bytes or 0), 1.0)]


def _total_dispersion(workload: Workload, mix: Shares) -> float:
    """Variance of the number of operations by its mean: of renewals the squared variation of their cycles (Cox 1962).

    A cycle is a pause and what the line needs for the body.
    """
    pacing, rate = workload.pacing, workload.connections.page_bytes_per_s
    mean_s = compute_mean_pause_s(pacing)
    squared = {"exponential": 2.0, "uniform": 4 / 3, "fixed": 1.0}[pacing.distribution] * mean_s**2
    first, second = mean_s * mix.paused, squared * mix.paused
    for name, share in mix.operations.items() if rate else ():
        for size, weight in _sizes(workload, workload.operations[name]):
            line_s = size / (rate or math.inf)
            first += share * weight * line_s
            second += share * weight * (line_s**2 + 2 * line_s * mean_s * mix.paused)
    return max(1.0, second / first**2 - 1) if first else 1.0
