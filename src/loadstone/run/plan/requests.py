"""The operations of a plan, as they are for any target. Pure."""

from collections.abc import Mapping, Sequence

from loadstone.model.records.units import to_nanoseconds
from loadstone.model.workload import Workload
from loadstone.model.workload.operation import (
    EmbeddedFile,
    Fields,
    Operation,
    RateLimit,
    Request,
    RequestAround,
    list_pairs,
)
from loadstone.run.plan.workload_load import Json


def compile_operation(workload: Workload, name: str) -> Json:
    """An operation without the scheme and the address of its target, whose holes are left."""
    operation = workload.operations[name]
    return {
        **_request(workload, operation, name),
        "usual_bytes": operation.document_bytes,
        "embedded": plan_embedded_files(workload, operation),
        "limit": _limit(workload, operation),
        "endings": [{"name": name, **ending.model_dump()} for name, ending in operation.endings.items()],
        "uploads": [upload.to_plan(key) for key, upload in operation.uploads.items()],
        "before": [_around(workload, operation, request, name) for request in operation.before_it],
        "after": [_around(workload, operation, request, name) for request in operation.after_it],
        "images": None if operation.images is None else operation.images.model_dump(),
        "websocket": [step.plan() for step in operation.websocket],
        "timeout_ns": to_nanoseconds(operation.timeout_s),
    }


def _around(workload: Workload, operation: Operation, request: RequestAround, name: str) -> Json:
    """A request beside the page of an operation, which it shares its time with."""
    page = _request(workload, request, f"{name}: {request.name or request.path}")
    nothing = {"embedded": [], "limit": {"kind": "none"}, "timeout_ns": to_nanoseconds(operation.timeout_s)}
    return {"when": list(request.when), "forgets": request.forgets, "page": page | nothing}


def _request(workload: Workload, request: Request, name: str) -> Json:
    checks = workload.checks
    return {
        "name": name,
        "method": request.method,
        "path": request.path,
        "query": _pairs(request.query),
        "form": _pairs(request.form),
        "body": request.body,
        "headers": compile_fields(merge_headers(workload, request)),
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
        "extract": [extract.plan() for extract in request.extract],
        "set": compile_fields(request.set),
    }


def _pairs(fields: Fields) -> list[Json]:
    return [{"name": name, "value": text} for name, text in list_pairs(fields)]


def compile_fields(table: Mapping[str, str]) -> list[Json]:
    """Names with their values, in order."""
    return [{"name": name, "value": value} for name, value in table.items()]


def merge_headers(workload: Workload, request: Request) -> dict[str, str]:
    """Merges the headers of a request with those of all requests, where it has no other of the name."""
    named = {name.lower() for name in request.headers}
    common = {name: text for name, text in workload.headers.items() if name.lower() not in named}
    return {name: text for name, text in {**common, **request.headers}.items() if text}


def plan_embedded_files(workload: Workload, operation: Operation) -> list[Json]:
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


def compute_conditional_share(files: Sequence[Json]) -> float:
    """Share of requests for a page's files that are conditional; 0 for a page without files."""
    return sum(file["conditional"] for file in files) / len(files) if files else 0.0


def _limit(workload: Workload, operation: Operation) -> Json:
    limit = operation.limit
    if isinstance(limit, RateLimit):
        return {"kind": "rate", **limit.model_dump()}
    good, tolerable = (limit or workload.limits).good_s, (limit or workload.limits).tolerable_s
    return {"kind": "time", "good_ns": to_nanoseconds(good), "tolerable_ns": to_nanoseconds(tolerable)}
