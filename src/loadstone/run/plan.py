"""From a workload, a load and a target to the plan the driver reads. Pure: the same input gives the same plan.

A mixed plan is one driver process. Each workload has a record of its own, from the events that name it, so that
everything behind the store knows single workloads only.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from loadstone.model.errors import UsageError
from loadstone.model.load import Arrivals, Curve, Load, Population, Process, ProcessKind
from loadstone.model.profile import SECOND, Phases
from loadstone.model.target import Endpoint, Target
from loadstone.model.workload import (
    END,
    Choice,
    Date,
    EmbeddedFile,
    MixKind,
    Operation,
    RateLimit,
    Table,
    Text,
    Uniform,
    User,
    Value,
    Words,
    Workload,
    Zipf,
)
from loadstone.workloads.shares import shares

PLAN_SCHEMA = 4
"""Version of the plan's schema; `schemas/plan.json` is generated from the driver."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """One workload, its load and the machines it goes to."""

    workload: Workload
    load: Load
    targets: tuple[Target, ...] = ()
    """Machines alike, to which sessions are dealt in turn; none where the plan is only simulated."""
    curve: Curve | None = None
    """How the load varies in time; even without one."""


@dataclass(frozen=True)
class Timing:
    """For how long, from what seed, on how many driver threads."""

    phases: Phases
    seed: int = 1
    threads: int = 1
    log_operations: int = 0
    """How many operations each thread writes down one by one."""


def make_plan(parts: Sequence[Part], timing: Timing, log_starts: int = 0) -> Json:
    """The plan of workloads played together; raises UsageError when a target lacks a side its workload needs."""
    return {
        "schema": PLAN_SCHEMA,
        "name": "-".join(part.workload.name for part in parts),
        "seed": timing.seed,
        "phases": {key.removesuffix("_s") + "_ns": _ns(value) for key, value in asdict(timing.phases).items()},
        "threads": timing.threads,
        "parts": [_part(part, timing.phases) for part in parts],
        "log_starts": log_starts,
        "log_operations": timing.log_operations,
    }


def _part(part: Part, phases: Phases) -> Json:
    workload = part.workload
    target = part.targets[0] if part.targets else None
    states = workload.states()
    index = {name: at for at, name in enumerate(states)}
    operations = {name: at for at, name in enumerate(workload.operations)}
    owners = data_sessions(workload, part.load, phases)
    if isinstance(part.load, Arrivals) and shares(workload).operations_per_session is None:
        remedy = "Give its mix operations_per_session, or a number of sessions as load."
        raise UsageError(f"User sessions of `{workload.name}` never end, so they cannot arrive at a rate. {remedy}")
    return {
        "load": _load(part.load, phases, owners),
        "targets": [_target(one) for one in part.targets],
        "workload": {
            "name": workload.name,
            "values": [_value(name, value, owners, index) for name, value in workload.values.items()],
            "operations": [_operation(workload, name, target) for name in workload.operations],
            "states": [
                {
                    "name": name,
                    "operation": operations[state.operation],
                    "pause": "none" if name in workload.pacing.no_pause_before else "drawn",
                    "set": _fields(state.set),
                }
                for name, state in states.items()
            ],
            "mix": _mix(workload, index),
            "pacing": {
                "kind": workload.pacing.kind,
                "distribution": workload.pacing.distribution,
                "mean_ns": _ns(workload.pacing.mean_s),
                "cap_ns": None if workload.pacing.cap_s is None else _ns(workload.pacing.cap_s),
            },
            "connections": workload.connections.model_dump(),
            "mailboxes": None if workload.mailboxes is None else workload.mailboxes.model_dump(mode="json"),
        },
        "curve": None if part.curve is None else _curve(part.curve),
    }


def _curve(curve: Curve) -> Json:
    return {"step_ns": _ns(curve.step_s), "factors": list(curve.factors), "shift_ns": _ns(curve.shift_s)}


def data_sessions(workload: Workload, load: Load, phases: Phases) -> int:
    """Sessions that the data is scaled by. For arrivals those to be expected at once at the highest rate with answers
    that take no time (Little's law), at least one.
    """
    if isinstance(load, Population):
        return load.sessions
    mix = shares(workload)
    visit_s = (mix.operations_per_session or 1) * mix.paused * workload.pacing.mean_s
    return max(1, math.ceil(load.peak_per_s(phases.steady_s) * visit_s))


def _load(load: Load, phases: Phases, owners: int) -> Json:
    if isinstance(load, Population):
        return {"kind": "population", "sessions": load.sessions}
    if load.trace_s:
        path: Json = {"kind": "trace", "at_ns": [_ns(at) for at in load.instants(phases)]}
    else:
        stages = [
            {"length_ns": _ns(stage.seconds), "from_per_s": stage.from_per_s, "to_per_s": stage.to_per_s}
            for stage in load.stages(phases)
        ]
        path = {"kind": "stages", "stages": stages}
    return {
        "kind": "arrivals",
        "process": _process(load.process),
        "path": path,
        "most_sessions": load.most_sessions,
        "data_sessions": owners,
    }


def _process(process: Process) -> Json:
    own = {ProcessKind.BURSTY: "dispersion", ProcessKind.SELF_SIMILAR: "hurst"}.get(process.kind)
    return {"kind": process.kind, **({own: process.scatter} if own else {})}


def needs_tls(workload: Workload, operation: Operation, target: Target | None) -> bool:
    """Whether an operation goes over TLS: its own word, the workload's, or what the target has."""
    for word in (operation.tls, workload.target.tls):
        if word is not None:
            return word
    shop_front = any(other.tls for other in workload.operations.values())
    return not shop_front and target is not None and target.http is None and target.https is not None


def _ns(seconds: float) -> int:
    return round(seconds * SECOND)


def _fields(table: Mapping[str, str]) -> list[Json]:
    return [{"name": name, "value": value} for name, value in table.items()]


def _endpoint(endpoint: Endpoint | None) -> Json | None:
    return None if endpoint is None else asdict(endpoint)


def _target(target: Target) -> Json:
    trust: Json = {"kind": "system"}
    if not target.verify:
        trust = {"kind": "anything"}
    elif target.authority_pem is not None:
        trust = {"kind": "authority", "pem": target.authority_pem}
    return {"http": _endpoint(target.http), "https": _endpoint(target.https), "trust": trust}


def _operation(workload: Workload, name: str, target: Target | None) -> Json:
    operation, checks = workload.operations[name], workload.checks
    secure = needs_tls(workload, operation, target)
    unreachable = target is not None and (target.https if secure else target.http) is None
    if unreachable and workload.connections.protocol != "null":
        scheme = "https" if secure else "http"
        raise UsageError(f"Operation `{name}` of `{workload.name}` needs {scheme}. Add --target {scheme}://HOST:PORT.")
    markers = checks.markers_every if operation.markers_every is None else operation.markers_every
    return {
        "name": name,
        "scheme": "https" if secure else "http",
        "method": operation.method,
        "path": operation.path,
        "query": _fields(operation.query),
        "form": _fields(operation.form),
        "body": operation.body,
        "headers": _fields(operation.headers),
        "redirects": operation.redirects,
        "usual_bytes": operation.document_bytes,
        "expect": {
            "status": list(checks.status if operation.status is None else operation.status),
            "title": operation.title,
            "contains": list(checks.contains if operation.contains is None else operation.contains),
            "absent": list(checks.absent if operation.absent is None else operation.absent),
            "markers_every": markers,
            "bytes": None if operation.bytes is None else str(operation.bytes),
        },
        "extract": [extract.model_dump() for extract in operation.extract],
        "embedded": embedded_files(workload, operation),
        "limit": _limit(workload, operation),
        "timeout_ns": _ns(operation.timeout_s),
        "endings": [{"name": name, **ending.model_dump()} for name, ending in operation.endings.items()],
    }


def embedded_files(workload: Workload, operation: Operation) -> list[Json]:
    """A page's files; the k-th file of one size in a page is named `size-k`."""
    seen: dict[str, int] = {}
    files: list[Json] = []
    default = workload.checks.markers_every
    for file in operation.embedded:
        if isinstance(file, EmbeddedFile):
            every = default if file.markers_every is None else file.markers_every
            files.append({**file.model_dump(), "markers_every": every})
            continue
        size, _, probability = file.partition("@")
        seen[size] = seen.get(size, 0) + 1
        name = size if seen[size] == 1 else f"{size}-{seen[size]}"
        pattern = workload.embedded.path if workload.embedded else "{name}"
        path = pattern.replace("{name}", name)
        files.append(
            {"path": path, "bytes": int(size), "conditional": float(probability), "markers_every": default},
        )
    return files


def _limit(workload: Workload, operation: Operation) -> Json:
    limit = operation.limit
    if isinstance(limit, RateLimit):
        return {"kind": "rate", **limit.model_dump()}
    good, tolerable = (limit or workload.limits).good_s, (limit or workload.limits).tolerable_s
    return {"kind": "time", "good_ns": _ns(good), "tolerable_ns": _ns(tolerable)}


def _mix(workload: Workload, index: dict[str, int]) -> Json:
    mix = workload.mix
    if mix.kind is MixKind.SEQUENCE:
        return {"kind": "sequence", "states": [index[name] for name in mix.sequence]}
    if mix.kind is MixKind.FLAT:
        shares = [mix.shares[name] for name in index]
        return {"kind": "flat", "shares": shares, "operations_per_session": mix.operations_per_session}
    rows = []
    for name in index:
        row = mix.from_[name]
        edges = [{"state": index[to], "probability": share} for to, share in row.items() if to != END]
        rows.append({"to": edges, "finish": row.get(END, 0.0)})
    return {"kind": "matrix", "start": index[str(mix.start)], "rows": rows}


def _value(name: str, value: Value, sessions: int, index: dict[str, int]) -> Json:
    redraw = "session" if isinstance(value, User) else value.redraw
    scope = redraw if isinstance(redraw, str) else "states"
    states = [] if isinstance(redraw, str) else [index[state] for state in redraw]
    return {"name": name, "scope": scope, "states": states, **_generator(value, sessions)}


def _generator(value: Value, sessions: int) -> Json:
    def scaled(fixed: int | None, per_session: float | None) -> int:
        return fixed if fixed is not None else max(1, round((per_session or 0) * sessions))

    match value:
        case Uniform():
            top = scaled(value.max, value.max_per_session)
            return {"kind": "uniform", "min": value.min, "max": max(top, value.min), "digits": value.digits}
        case Zipf():
            n = scaled(value.n, value.n_per_session)
            return {"kind": "zipf", "n": n, "alpha": value.alpha, "first": value.first, "digits": value.digits}
        case Choice():
            return {"kind": "choice", "values": list(value.values), "weights": _list(value.weights)}
        case Table():
            rows = [list(row) for row in value.rows]
            return {"kind": "table", "columns": list(value.columns), "rows": rows, "weights": _list(value.weights)}
        case Words():
            return {"kind": "words", "words": list(value.words), "count": value.count, "separator": value.separator}
        case Date():
            first, last = (_day(text) for text in (value.from_, value.to))
            return {"kind": "date", "from_days": min(first, last), "to_days": max(first, last)}
        case User():
            return {"kind": "user", "per_session": value.per_session, "first": value.first, "digits": value.digits}
        case Text():
            return {"kind": "text", "text": value.text}


def _list(weights: tuple[float, ...] | None) -> list[float] | None:
    return None if weights is None else list(weights)


def _day(text: str) -> int:
    return (date.fromisoformat(text) - date(1970, 1, 1)).days
