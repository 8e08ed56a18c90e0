"""The load of a plan: sessions, arrivals and how they vary in time. Pure."""

import math

from loadstone.model.load import ArrivalProcess, Load, Population, ProcessKind, RateCurve, SessionStage
from loadstone.model.profile import Phases
from loadstone.model.records.units import to_nanoseconds
from loadstone.model.workload import Workload
from loadstone.run.plan.workload_load import Json
from loadstone.workloads.shares import compute_shares


def compute_data_sessions(workload: Workload, load: Load, phases: Phases) -> int:
    """Sessions that the data is scaled by. For arrivals those to be expected at once at the highest rate with answers
    that take no time (Little's law), at least one.
    """
    if isinstance(load, Population):
        return load.sessions
    mix = compute_shares(workload)
    visit_s = (mix.operations_per_session or 1) * mix.paused * workload.pacing.mean_s
    return max(1, math.ceil(load.compute_peak_per_s(phases.steady_s) * visit_s))


def compile_load(load: Load, phases: Phases, owners: int) -> Json:
    """The load of a workload whose data is for so many sessions."""
    if isinstance(load, Population):
        stages = [] if load.is_even else [_session_stage(stage) for stage in load.list_steady_stages(phases.steady_s)]
        return {"kind": "population", "sessions": load.sessions} | ({"path": stages} if stages else {})
    if load.trace_s:
        path: Json = {"kind": "trace", "at_ns": [to_nanoseconds(instant) for instant in load.list_instants(phases)]}
    else:
        stages = [
            {"length_ns": to_nanoseconds(stage.seconds), "from_per_s": stage.from_per_s, "to_per_s": stage.to_per_s}
            for stage in load.list_stages(phases)
        ]
        path = {"kind": "stages", "stages": stages}
    return {
        "kind": "arrivals",
        "process": _process(load.process),
        "path": path,
        "most_sessions": load.most_sessions,
        "data_sessions": owners,
    }


def _session_stage(stage: SessionStage) -> Json:
    return {"length_ns": to_nanoseconds(stage.seconds), "from": stage.from_sessions, "to": stage.to_sessions}


def _process(process: ArrivalProcess) -> Json:
    parameter = {ProcessKind.BURSTY: "dispersion", ProcessKind.SELF_SIMILAR: "hurst"}.get(process.kind)
    return {"kind": process.kind, **({parameter: process.scatter} if parameter else {})}


def compile_curve(curve: RateCurve) -> Json:
    """How a load varies, even without steps of its own."""
    return {
        "step_ns": to_nanoseconds(curve.step_s),
        "factors": list(curve.factors),
        "shift_ns": to_nanoseconds(curve.shift_s),
    }
