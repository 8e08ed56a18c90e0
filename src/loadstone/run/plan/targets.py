"""Aiming a compiled plan at the machines of a system: their addresses, schemes and the texts that name them. Pure."""

from collections.abc import Mapping
from dataclasses import asdict
from urllib.parse import quote

from loadstone.model.errors import UsageError
from loadstone.model.load import Arrivals
from loadstone.model.profile import Phases
from loadstone.model.target import Endpoint, Target
from loadstone.model.workload import Workload
from loadstone.model.workload.operation import Operation
from loadstone.run.plan.load import compute_data_sessions
from loadstone.run.plan.workload_load import Json, WorkloadLoad
from loadstone.workloads.templates import TARGET, fill_holes

PORTS_OF_AN_ADDRESS = 28_232
"""Ports that Linux gives to connections from one address (net.ipv4.ip_local_port_range). When half of them are in use,
the search for a free one takes milliseconds.
"""
TIME_WAIT_S = 60.0
"""Seconds for which Linux keeps the port of a connection after its end."""
SPREAD_SOURCES = 16
"""Source addresses where one has too few ports."""
PORTS = {"http": 80, "https": 443}
"""Ports that browsers leave out of addresses."""
SEND_VERB = "SEND"
"""Command of mail users that sends a message."""
SOCKET_TEXTS = ("send", "expect", "await")
"""Texts of the steps of a WebSocket that may name the target."""


def aim_part(compiled: Json, part: WorkloadLoad, phases: Phases) -> Json:
    """A part of a compiled plan with the machines that it goes to. Raises UsageError when they lack a side that the
    workload needs.
    """
    target = part.targets[0] if part.targets else None
    played = compiled["workload"]
    operations = [
        _aim_operation(operation, part.workload, target, name)
        for name, operation in zip(part.workload.operations, played["operations"], strict=True)
    ]
    connections = {**played["connections"], "source_addresses": count_source_addresses(part, phases)}
    is_sender = has_sending(part.workload)
    if is_sender and any(target.delivery is None for target in part.targets):
        raise UsageError(f"`{part.workload.name}` sends mail. Add --target lmtp://HOST:PORT or smtp://HOST:PORT.")
    return {
        **compiled,
        "targets": [plan_target(target, is_sender) for target in part.targets],
        "workload": {**played, "operations": operations, "connections": connections},
    }


def count_source_addresses(part: WorkloadLoad, phases: Phases) -> int:
    """Addresses that users of a server on this host come from: one, as from one machine, unless the target or the
    workload asks for several, or so many connections would leave few ports free.
    """
    target, connections = part.targets[0] if part.targets else None, part.workload.connections
    wanted = (target.source_addresses if target else None) or connections.source_addresses
    if wanted is not None:
        return wanted
    sessions = float(compute_data_sessions(part.workload, part.load, phases))
    if isinstance(part.load, Arrivals):
        sessions = max(sessions, part.load.compute_peak_per_s(phases.steady_s) * TIME_WAIT_S)
    sides = 1 if target is None else sum(side is not None for side in (target.http, target.https))
    each = 1 if connections.protocol == "http2" else connections.parallel
    return SPREAD_SOURCES if sessions * each * sides > PORTS_OF_AN_ADDRESS / 2 else 1


def needs_tls(workload: Workload, operation: Operation, target: Target | None) -> bool:
    """Whether an operation goes over TLS: its own word, the workload's, or what the target has."""
    for has_tls in (operation.tls, workload.target.tls):
        if has_tls is not None:
            return has_tls
    shop_front = any(candidate.tls for candidate in workload.operations.values())
    return not shop_front and target is not None and target.http is None and target.https is not None


def _endpoint(endpoint: Endpoint | None) -> Json | None:
    return None if endpoint is None else asdict(endpoint)


def has_sending(workload: Workload) -> bool:
    """Whether users of a workload send mail, which goes to an address of its own."""
    verbs = (operation.path.partition(" ")[0] for operation in workload.operations.values())
    return workload.connections.protocol == "imap" and SEND_VERB in verbs


def plan_target(target: Target, is_sender: bool = False) -> Json:
    """A machine of the system as the driver reads it; where it accepts mail, if a sender asks."""
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
        **({"delivery": asdict(target.delivery)} if is_sender and target.delivery else {}),
    }


def _aim_operation(compiled: Json, workload: Workload, target: Target | None, name: str) -> Json:
    secure = needs_tls(workload, workload.operations[name], target)
    scheme = "https" if secure else "http"
    unreachable = target is not None and (target.https if secure else target.http) is None
    if unreachable and workload.connections.protocol != "null":
        raise UsageError(f"Operation `{name}` of `{workload.name}` needs {scheme}. Add --target {scheme}://HOST:PORT.")
    texts = {TARGET: _site(target, secure)} if TARGET not in workload.values else {}
    return {
        **_aim_page(compiled, scheme, texts),
        "embedded": [{**file, "path": fill_holes(file["path"], _coded(texts))} for file in compiled["embedded"]],
        "before": [{**request, "page": _aim_page(request["page"], scheme, texts)} for request in compiled["before"]],
        "after": [{**request, "page": _aim_page(request["page"], scheme, texts)} for request in compiled["after"]],
        "websocket": [_aim_step(step, texts) for step in compiled["websocket"]],
    }


def _aim_page(page: Json, scheme: str, texts: Mapping[str, str]) -> Json:
    return {
        **page,
        "scheme": scheme,
        "path": fill_holes(page["path"], _coded(texts)),
        "body": None if page["body"] is None else fill_holes(page["body"], texts),
        **{key: [_aim_field(field, texts) for field in page[key]] for key in ("query", "form", "headers")},
    }


def _aim_field(field: Json, texts: Mapping[str, str]) -> Json:
    return {**field, "value": fill_holes(field["value"], texts)}


def _aim_step(step: str | Json, texts: Mapping[str, str]) -> str | Json:
    if isinstance(step, str):
        return step
    named = {key: fill_holes(text, texts) for key in SOCKET_TEXTS if isinstance(text := step.get(key), str)}
    return {**step, **named}


def _coded(texts: Mapping[str, str]) -> dict[str, str]:
    """Texts as they are part of a path."""
    return {name: quote(text, safe="") for name, text in texts.items()}


def _site(target: Target | None, secure: bool) -> str:
    """The address of a target's side, as `{target}` is filled in; that of the first of several."""
    endpoint = None if target is None else target.https if secure else target.http
    scheme = "https" if secure else "http"
    if endpoint is None:
        return f"{scheme}://target.invalid"
    return f"{scheme}://{endpoint.host if endpoint.port == PORTS[scheme] else endpoint}"
