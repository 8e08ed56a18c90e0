"""From a workload, a load and a target to the plan the driver reads. Pure: the same input gives the same plan.

A mixed plan is one driver process. Each workload has a record of its own, from the events that name it, so that
everything behind the store knows single workloads only.
"""

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any
from urllib.parse import quote

from loadstone.model.errors import UsageError
from loadstone.model.load import ArrivalProcess, Arrivals, Load, Population, ProcessKind, RateCurve, SessionStage
from loadstone.model.profile import SECOND, Phases
from loadstone.model.target import Endpoint, Target
from loadstone.model.workload import Workload
from loadstone.model.workload.mix import END, MixKind
from loadstone.model.workload.operation import (
    EmbeddedFile,
    Fields,
    Operation,
    RateLimit,
    Request,
    RequestAround,
    SocketStep,
    pairs_of,
)
from loadstone.model.workload.values import (
    Choice,
    Counter,
    Date,
    Environment,
    Exponential,
    Now,
    TableValues,
    Text,
    Uniform,
    Unique,
    User,
    Uuid,
    Value,
    WordValues,
    Zipf,
)
from loadstone.workloads.check import TARGET, filled
from loadstone.workloads.scaling import rows
from loadstone.workloads.shares import shares

PLAN_SCHEMA = 5
"""Version of the plan's schema; `schemas/plan.json` is generated from the driver."""

PORTS_OF_AN_ADDRESS = 28_232
"""Ports that Linux gives to connections from one address (net.ipv4.ip_local_port_range). When half of them are in use,
the search for a free one takes milliseconds.
"""
TIME_WAIT_S = 60.0
"""Seconds for which Linux keeps the port of a connection after its end."""
SPREAD_SOURCES = 16
"""Source addresses where one has too few ports."""
LOGGED = 200_000
"""Operations that a driver thread logs one by one where a fault is planned: twenty megabytes of records."""
Json = dict[str, Any]
SALT_BITS = 64
"""Of what tells the unique texts of a run from those of another."""
PORTS = {"http": 80, "https": 443}
"""Ports that browsers leave out of addresses."""


@dataclass(frozen=True)
class Part:
    """One workload, its load and the machines it goes to."""

    workload: Workload
    load: Load
    targets: tuple[Target, ...] = ()
    """Machines alike, to which sessions are dealt in turn; none where the plan is only simulated."""
    curve: RateCurve | None = None
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
    index = {name: index for index, name in enumerate(states)}
    operations = {name: index for index, name in enumerate(workload.operations)}
    owners = data_sessions(workload, part.load, phases)
    size = DataSize(owners, rows(workload, owners))
    if isinstance(part.load, Arrivals) and shares(workload).operations_per_session is None:
        remedy = "Set operations_per_session in its mix, or use --sessions."
        raise UsageError(f"User sessions of `{workload.name}` never end, so they cannot arrive at a rate. {remedy}")
    return {
        "load": _load(part.load, phases, owners),
        "targets": [target_plan(target) for target in part.targets],
        "workload": {
            "name": workload.name,
            "values": [_value(name, value, size, index) for name, value in workload.values.items()],
            "operations": [_operation(workload, name, target) for name in workload.operations],
            "states": [
                {
                    "name": name,
                    "operation": operations[state.operation],
                    "pause": "none" if name in workload.pacing.no_pause_before else "drawn",
                    "set": _fields(state.set),
                    "when": list(state.when),
                    "least_pause_ns": _ns(workload.pacing.least_s.get(name, 0)),
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
            "connections": {**workload.connections.model_dump(), "source_addresses": source_addresses(part, phases)},
            "mailboxes": None if workload.mailboxes is None else workload.mailboxes.model_dump(mode="json"),
        },
        "curve": None if part.curve is None else _curve(part.curve),
    }


def source_addresses(part: Part, phases: Phases) -> int:
    """Addresses that users of a server on this host come from: one, as from one machine, unless the target or the
    workload asks for several, or so many connections would leave few ports free.
    """
    target, connections = part.targets[0] if part.targets else None, part.workload.connections
    wanted = (target.source_addresses if target else None) or connections.source_addresses
    if wanted is not None:
        return wanted
    sessions = float(data_sessions(part.workload, part.load, phases))
    if isinstance(part.load, Arrivals):
        sessions = max(sessions, part.load.peak_per_s(phases.steady_s) * TIME_WAIT_S)
    sides = 1 if target is None else sum(side is not None for side in (target.http, target.https))
    each = 1 if connections.protocol == "http2" else connections.parallel
    return SPREAD_SOURCES if sessions * each * sides > PORTS_OF_AN_ADDRESS / 2 else 1


def _curve(curve: RateCurve) -> Json:
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
        stages = [] if load.is_even else [_session_stage(stage) for stage in load.steady_stages(phases.steady_s)]
        return {"kind": "population", "sessions": load.sessions} | ({"path": stages} if stages else {})
    if load.trace_s:
        path: Json = {"kind": "trace", "at_ns": [_ns(instant) for instant in load.instants(phases)]}
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


def _session_stage(stage: SessionStage) -> Json:
    return {"length_ns": _ns(stage.seconds), "from": stage.from_sessions, "to": stage.to_sessions}


def _process(process: ArrivalProcess) -> Json:
    parameter = {ProcessKind.BURSTY: "dispersion", ProcessKind.SELF_SIMILAR: "hurst"}.get(process.kind)
    return {"kind": process.kind, **({parameter: process.scatter} if parameter else {})}


def needs_tls(workload: Workload, operation: Operation, target: Target | None) -> bool:
    """Whether an operation goes over TLS: its own word, the workload's, or what the target has."""
    for has_tls in (operation.tls, workload.target.tls):
        if has_tls is not None:
            return has_tls
    shop_front = any(candidate.tls for candidate in workload.operations.values())
    return not shop_front and target is not None and target.http is None and target.https is not None


def _ns(seconds: float) -> int:
    return round(seconds * SECOND)


def _fields(table: Mapping[str, str]) -> list[Json]:
    return [{"name": name, "value": value} for name, value in table.items()]


def _endpoint(endpoint: Endpoint | None) -> Json | None:
    return None if endpoint is None else asdict(endpoint)


def target_plan(target: Target) -> Json:
    """A machine of the system as the driver reads it."""
    trust: Json = {"kind": "system"}
    if not target.verify:
        trust = {"kind": "anything"}
    elif target.authority_pem is not None:
        trust = {"kind": "authority", "pem": target.authority_pem}
    return {
        "http": _endpoint(target.http),
        "https": _endpoint(target.https),
        "trust": trust,
        "identity": None if target.identity is None else asdict(target.identity),
        "addresses": target.addresses,
    }


def _operation(workload: Workload, name: str, target: Target | None) -> Json:
    operation = workload.operations[name]
    secure = needs_tls(workload, operation, target)
    unreachable = target is not None and (target.https if secure else target.http) is None
    if unreachable and workload.connections.protocol != "null":
        scheme = "https" if secure else "http"
        raise UsageError(f"Operation `{name}` of `{workload.name}` needs {scheme}. Add --target {scheme}://HOST:PORT.")
    site = _site(target, secure)
    targets = {TARGET: site} if TARGET not in workload.values else {}
    coded = {name: quote(address, safe="") for name, address in targets.items()}
    return {
        **_request(workload, operation, name, site),
        "usual_bytes": operation.document_bytes,
        "embedded": [{**file, "path": filled(file["path"], coded)} for file in embedded_files(workload, operation)],
        "limit": _limit(workload, operation),
        "endings": [{"name": name, **ending.model_dump()} for name, ending in operation.endings.items()],
        "uploads": [{"field": field, **upload.model_dump()} for field, upload in operation.uploads.items()],
        "before": [_around(workload, operation, request, name, site) for request in operation.before_it],
        "after": [_around(workload, operation, request, name, site) for request in operation.after_it],
        "images": None if operation.images is None else operation.images.model_dump(),
        "websocket": [_planned(step, targets) for step in operation.websocket],
        "timeout_ns": _ns(operation.timeout_s),
    }


def _planned(step: SocketStep, targets: Mapping[str, str]) -> str | Json:
    planned = step.planned()
    texts = ("send", "expect", "await")
    if isinstance(planned, str):
        return planned
    return {
        key: filled(text, targets) if key in texts and isinstance(text, str) else text for key, text in planned.items()
    }


def _site(target: Target | None, secure: bool) -> str:
    """The address of a target's side, as `{target}` is filled in; that of the first of several."""
    endpoint = None if target is None else target.https if secure else target.http
    scheme = "https" if secure else "http"
    if endpoint is None:
        return f"{scheme}://target.invalid"
    return f"{scheme}://{endpoint.host if endpoint.port == PORTS[scheme] else endpoint}"


def _around(workload: Workload, operation: Operation, request: RequestAround, name: str, site: str) -> Json:
    """A request beside the page of an operation, which it shares its time with."""
    page = _request(workload, request, f"{name}: {request.name or request.path}", site)
    nothing = {"embedded": [], "limit": {"kind": "none"}, "timeout_ns": _ns(operation.timeout_s)}
    return {"when": list(request.when), "forgets": request.forgets, "page": page | nothing}


def _request(workload: Workload, request: Request, name: str, site: str) -> Json:
    checks = workload.checks
    targets = {TARGET: site} if TARGET not in workload.values else {}
    coded = {name: quote(address, safe="") for name, address in targets.items()}
    return {
        "name": name,
        "scheme": site.partition(":")[0],
        "method": request.method,
        "path": filled(request.path, coded),
        "query": _pairs(request.query, targets),
        "form": _pairs(request.form, targets),
        "body": None if request.body is None else filled(request.body, targets),
        "headers": _fields({key: filled(text, targets) for key, text in headers_of(workload, request).items()}),
        "redirects": request.redirects,
        "expect": {
            "status": list(checks.status if request.status is None else request.status),
            "title": request.title,
            "contains": list(checks.contains if request.contains is None else request.contains),
            "absent": list(checks.absent if request.absent is None else request.absent),
            "markers_every": checks.markers_every if request.markers_every is None else request.markers_every,
            "bytes": None if request.bytes is None else str(request.bytes),
            "json": [
                *({"pointer": pointer, "is": text} for pointer, text in request.json_is.items()),
                *({"pointer": pointer, "is": None} for pointer in request.json_absent),
            ],
        },
        "extract": [extract.planned() for extract in request.extract],
        "set": _fields(request.set),
    }


def _pairs(fields: Fields, targets: Mapping[str, str]) -> list[Json]:
    return [{"name": name, "value": filled(text, targets)} for name, text in pairs_of(fields)]


def headers_of(workload: Workload, request: Request) -> dict[str, str]:
    """What is sent with a request: its own headers, and those of all that it has no other of."""
    named = {name.lower() for name in request.headers}
    common = {name: text for name, text in workload.headers.items() if name.lower() not in named}
    return {name: text for name, text in {**common, **request.headers}.items() if text}


def embedded_files(workload: Workload, operation: Operation) -> list[Json]:
    """A page's files; the k-th file of one size in a page is named `size-k`."""
    seen: dict[str, int] = {}
    files: list[Json] = []
    default = workload.checks.markers_every
    for file in operation.embedded:
        if isinstance(file, EmbeddedFile):
            every = default if file.markers_every is None else file.markers_every
            status = {"status": list(file.status)} if file.status else {}
            files.append({**file.model_dump(exclude={"status"}), "markers_every": every, **status})
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
        return {"kind": "sequence", "states": [index[name] for name in workload.order()]}
    if mix.kind is MixKind.FLAT:
        shares = [mix.shares[name] for name in index]
        return {"kind": "flat", "shares": shares, "operations_per_session": mix.operations_per_session}
    chances = []
    for name in index:
        row = mix.from_[name]
        edges = [{"state": index[to], "probability": share} for to, share in row.items() if to != END]
        chances.append({"to": edges, "finish": row.get(END, 0.0)})
    return {"kind": "matrix", "start": index[str(mix.start)], "rows": chances}


@dataclass(frozen=True)
class DataSize:
    """What values are drawn from."""

    sessions: int
    rows: Mapping[str, int]

    def count_rows(self, fixed: int | None, per_session: float | None, kind: str | None = None) -> int:
        """A number as it is declared: fixed, for each session, or of the rows of a kind."""
        if kind is not None:
            return self.rows[kind]
        return fixed if fixed is not None else max(1, round((per_session or 0) * self.sessions))


def _value(name: str, value: Value, size: DataSize, index: dict[str, int]) -> Json:
    redraw = value.redraw
    scope = redraw if isinstance(redraw, str) else "states"
    states = [] if isinstance(redraw, str) else [index[state] for state in redraw]
    return {"name": name, "scope": scope, "states": states, **_generator(value, size)}


def _generator(value: Value, size: DataSize) -> Json:
    match value:
        case Uniform():
            top = size.count_rows(value.max, value.max_per_session, value.max_of)
            return {"kind": "uniform", "min": value.min, "max": max(top, value.min), "digits": value.digits}
        case Exponential():
            top = size.count_rows(value.max, None, value.max_of)
            return {"kind": "exponential", "max": top, "mean_share": value.mean_share}
        case Zipf():
            n = size.count_rows(value.n, value.n_per_session)
            return {"kind": "zipf", "n": n, "alpha": value.alpha, "first": value.first, "digits": value.digits}
        case User():
            settings = {"per_session": value.per_session, "first": value.first, "digits": value.digits}
            return {"kind": "user", **settings, "any": value.any}
        case TableValues() if value.own and len(value.rows) < size.sessions:
            size_text = f"{len(value.rows)} rows for {size.sessions} sessions, but each session needs its own row"
            raise UsageError(f"A table of values has {size_text}. Add rows, or use fewer sessions.")
        case Date():
            first, last = (_day(text) for text in (value.from_, value.to))
            return {"kind": "date", "from_days": min(first, last), "to_days": max(first, last)}
        case Counter() | Unique() | Uuid() | Now():
            return _new_each_time(value)
        case _:
            return _chosen(value)


def _new_each_time(value: Counter | Unique | Uuid | Now) -> Json:
    """Generators whose texts differ at each draw."""
    match value:
        case Counter():
            return {"kind": "counter", "first": value.first, "digits": value.digits}
        case Unique():
            return {"kind": "unique", "form": "text", "prefix": value.prefix, "salt": secrets.randbits(SALT_BITS)}
        case Uuid():
            return {"kind": "unique", "form": "uuid", "prefix": "", "salt": secrets.randbits(SALT_BITS)}
        case Now():
            return {"kind": "now", "form": value.form}


def _chosen(value: Choice | TableValues | Environment | WordValues | Text) -> Json:
    """Generators of texts that stand in the declaration."""
    match value:
        case Choice():
            return {"kind": "choice", "values": list(value.values), "weights": _list(value.weights)}
        case TableValues():
            table = {"columns": list(value.columns), "rows": [list(row) for row in value.rows]}
            return {"kind": "table", **table, "weights": _list(value.weights), **({"own": True} if value.own else {})}
        case Environment():
            return {"kind": "secret", "variable": value.variable}
        case WordValues():
            return {"kind": "words", "words": list(value.words), "count": value.count, "separator": value.separator}
        case Text():
            return {"kind": "text", "text": value.text}


def _list(weights: tuple[float, ...] | None) -> list[float] | None:
    return None if weights is None else list(weights)


def _day(text: str) -> int:
    return (date.fromisoformat(text) - date(1970, 1, 1)).days
