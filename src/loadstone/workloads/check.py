"""What must hold between the parts of a workload: names that exist, chains that add up, texts that can be filled in."""

import re
from collections.abc import Iterable

from loadstone.model.reading import Document, suggest
from loadstone.model.workload import Workload
from loadstone.model.workload.mix import MixKind
from loadstone.model.workload.operation import EmbeddedFile, Operation, RateLimit, Request, TimeLimit, list_pairs
from loadstone.model.workload.values import Choice, Exponential, TableValues, Text, Uniform, WordValues, Zipf
from loadstone.workloads.check_mix import check_mix
from loadstone.workloads.templates import TARGET, check_texts, list_extracted_names, list_holes, list_known_names

ACCEPTED = "gzip, deflate, br, zstd"
"""Content codings as browsers ask for them over TLS, all of which the driver decodes."""
CODINGS_KNOWN = frozenset(ACCEPTED.split(", ")) | {"identity", "*"}


SHORT_FORM = re.compile(r"^(\d+)@(0(?:\.\d+)?|1(?:\.0+)?|\.\d+)$")
"""`size@probability` of an embedded file."""

DEEPEST_TEXT = 5
"""Values of texts that may stand in one another, as far as they are looked through."""

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""What cannot stand in a header's value (RFC 9110, section 5.5)."""


def check(workload: Workload, document: Document) -> None:
    """Notes every problem between sections; sections that could not be read are passed over."""
    _check_operations(workload, document)
    _check_values(workload, document)
    for each in (workload, *map(workload.with_mix, workload.mixes)):
        if each.mix is not None:
            check_mix(each, document)
    _check_performed(workload, document)
    if workload.limits is not None and workload.limits.good_s > workload.limits.tolerable_s:
        document.note_problem(("limits", "good_s"), "is above tolerable_s", "Tolerable includes good; swap them.")
    _check_pacing(workload, document)
    _check_published(workload, document)
    _check_header_values(workload, document)
    _check_rules(workload, document)
    _check_data(workload, document)
    _check_tool(workload, document)


def _check_performed(workload: Workload, document: Document) -> None:
    """Each operation belongs to one mix at least."""
    if workload.tool is not None or workload.mix is None:
        return
    mixes = (workload, *map(workload.with_mix, workload.mixes))
    performed = {state.operation for mixed in mixes for state in mixed.list_states().values()}
    for name in workload.operations:
        if name not in performed:
            document.note_problem(("operations", name), "is never performed", "Name it in a mix, or remove it.")


def _check_tool(workload: Workload, document: Document) -> None:
    """A tool's mix has shares only. Whether the tool plays several operations is checked with the tool."""
    if workload.tool is None:
        return
    for mixed in (workload, *map(workload.with_mix, workload.mixes)):
        if mixed.mix is not None and mixed.mix.kind is not MixKind.FLAT:
            remedy = 'Use kind = "flat", and shares.'
            document.note_problem(mixed.mix_section, "a tool plays no sequence and no matrix", remedy)


def _check_operations(workload: Workload, document: Document) -> None:
    known = list_known_names(workload)
    if not document.content.get("operations"):
        document.note_problem(
            ("operations",), "there is no operation", "Add at least one [operations.NAME] with a path."
        )
    for name, operation in workload.operations.items():
        path = ("operations", name)
        check_texts(document, path, _operation_texts(operation), known | {TARGET})
        check_texts(document, (*path, "headers"), operation.headers.values(), known | {TARGET})
        _check_request(workload, document, path, operation)
        for side in ("before", "after"):
            for request in getattr(operation, side):
                check_texts(document, (*path, side), (*_texts(request), *request.when), known | {TARGET})
                check_texts(document, (*path, side), request.headers.values(), known | {TARGET})
                _check_request(workload, document, (*path, side), request)
        if operation.uploads and (operation.body is not None or operation.method in ("GET", "HEAD")):
            remedy = 'Use method = "POST", and no body.'
            document.note_problem((*path, "uploads"), "files are sent with a form", remedy)
        if operation.websocket and workload.connections is not None and workload.connections.protocol != "http1":
            remedy = 'Use protocol = "http1" under [connections], or leave it out.'
            document.note_problem((*path, "websocket"), "a WebSocket starts as HTTP/1.1", remedy)
        _check_limit(workload, document, path, operation)
        _check_embedded(workload, document, path, operation)
    check_texts(document, ("headers",), workload.headers.values(), known | {TARGET})
    _check_headers(document, ("headers",), workload.headers)
    if workload.checks is not None:
        _check_status(document, ("checks", "status"), workload.checks.status)
        check_texts(document, ("checks",), (*workload.checks.contains, *workload.checks.absent), known)


def _check_request(workload: Workload, document: Document, path: tuple[str, ...], request: Request) -> None:
    is_mail = workload.connections is not None and workload.connections.protocol == "imap"
    is_page = not is_mail and workload.tool is None
    if is_page and not request.path.startswith(("/", "{")):
        document.note_problem((*path, "path"), f"`{request.path}` does not begin with /", "Use a path without host.")
    if request.form and request.method in ("GET", "HEAD"):
        document.note_problem((*path, "form"), f"{request.method} has no form", 'Use `query`, or method = "POST".')
    if request.form and request.body is not None:
        document.note_problem((*path, "body"), "is combined with a form", "Use one of the two.")
    _check_headers(document, (*path, "headers"), request.headers)
    _check_status(document, (*path, "status"), request.status)


def _check_headers(document: Document, path: tuple[str, ...], headers: dict[str, str]) -> None:
    for header, text in headers.items():
        if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", header):
            remedy = "Use letters, digits and hyphens, such as Accept-Language."
            document.note_problem(path, f"`{header}` is not a valid header name", remedy)
        if header.lower() == "accept-encoding":
            codings = {coding.partition(";")[0].strip().lower() for coding in text.split(",") if text}
            for coding in sorted(codings - CODINGS_KNOWN):
                document.note_problem(path, f"responses with coding `{coding}` are not supported", f"Use {ACCEPTED}.")


def _check_header_values(workload: Workload, document: Document) -> None:
    """Values that stand in headers have one line: a line break would begin a header of its own."""
    places: list[tuple[tuple[str, ...], dict[str, str]]] = [(("headers",), workload.headers)]
    for name, operation in workload.operations.items():
        places += [(("operations", name, "headers"), request.headers) for request in (operation, *operation.around)]
    for place, headers in places:
        for header, text in headers.items():
            for hole in dict.fromkeys(list_holes(text)):
                bad = next((text for text in _known_texts(workload, hole) if _CONTROL.search(text)), None)
                if bad is not None:
                    message = f"`{{{hole}}}` is used in the header {header}, and one of its values is {bad[:60]!r}"
                    remedy = "A header is one line. Remove line breaks and control characters from the value."
                    document.note_problem(place, message, remedy)


def _known_texts(workload: Workload, name: str, depth: int = 0) -> Iterable[str]:
    """Texts that a value may have, as far as they are declared."""
    table, _, column = name.partition(".")
    value = workload.values.get(table)
    if isinstance(value, TableValues) and column in value.columns:
        place = value.columns.index(column)
        yield from (row[place] for row in value.rows if place < len(row))
    elif isinstance(value, Choice):
        yield from value.values
    elif isinstance(value, WordValues):
        yield from (*value.words, value.separator)
    elif isinstance(value, Text) and depth < DEEPEST_TEXT:
        yield value.text
        for hole in list_holes(value.text):
            yield from _known_texts(workload, hole, depth + 1)


def _texts(request: Request) -> Iterable[str]:
    yield request.path
    yield from (_lines(text) for fields in (request.query, request.form) for _, text in list_pairs(fields))
    yield from request.set.values()
    yield from (request.contains or ())
    yield from (request.absent or ())
    yield from request.json_is.values()
    yield from (extract.pick for extract in request.extract if extract.pick is not None)
    yield from (text for text in (request.title, request.bytes) if isinstance(text, str))
    if request.body is not None:
        yield _lines(request.body)


def _lines(text: str) -> str:
    """A body or a field may have lines."""
    return re.sub(r"[\r\n\t]", " ", text)


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _operation_texts(operation: Operation) -> Iterable[str]:
    yield from _texts(operation)
    yield from (ending.contains for ending in operation.endings.values())
    yield from (ending.ledger for ending in operation.endings.values() if ending.ledger is not None)
    yield from (file.path for file in operation.embedded if isinstance(file, EmbeddedFile))
    yield from (upload.file_name for upload in operation.uploads.values())
    for step in operation.websocket:
        yield from (text for text in (step.expect, step.await_) if text is not None)
        if step.send is not None:
            yield _printable(step.send)  # a message may hold anything


def _check_status(document: Document, path: tuple[str, ...], status: tuple[int, ...] | None) -> None:
    for code in status or ():
        if not 100 <= code <= 599:
            document.note_problem(
                path, f"{code} is not a valid status code", "Use numbers from 100 to 599, such as [200, 404]."
            )


def _check_limit(workload: Workload, document: Document, path: tuple[str, ...], operation: Operation) -> None:
    limit = operation.limit
    if isinstance(limit, TimeLimit) and limit.good_s > limit.tolerable_s:
        document.note_problem((*path, "limit"), "good_s is above tolerable_s", "Tolerable includes good; swap them.")
    by_time = limit if isinstance(limit, TimeLimit) else workload.limits if limit is None else None
    if by_time is not None and operation.timeout_s <= by_time.tolerable_s:
        document.note_problem((*path, "timeout_s"), "is not above the tolerable time", "Use a longer time-out.")
    if isinstance(limit, RateLimit) and limit.good_bytes_per_s < limit.tolerable_bytes_per_s:
        remedy = "A good rate is at least the tolerable one; swap them."
        document.note_problem((*path, "limit"), "good_bytes_per_s is below tolerable_bytes_per_s", remedy)


def _check_embedded(workload: Workload, document: Document, path: tuple[str, ...], operation: Operation) -> None:
    short = [text for text in operation.embedded if isinstance(text, str)]
    for text in short:
        if not SHORT_FORM.match(text):
            remedy = 'Write "SIZE@PROBABILITY", as "806@0.5", or { path = ..., bytes = ..., conditional = ... }.'
            document.note_problem((*path, "embedded"), f"`{text}` is not a valid embedded file", remedy)
    if short and "embedded" not in document.content:
        remedy = 'Add [embedded] with path = "/static/{name}.gif".'
        document.note_problem((*path, "embedded"), "the short form needs a pattern for the path", remedy)
    for file in operation.embedded:
        if isinstance(file, EmbeddedFile) and file.conditional and set(list_holes(file.path)) - {TARGET}:
            remedy = "Leave `conditional` out there: a client remembers dates by fixed path."
            document.note_problem((*path, "embedded"), f"`{file.path}` is conditional but not fixed", remedy)
    if workload.embedded is not None and "{name}" not in workload.embedded.path:
        problem = (("embedded", "path"), "the pattern has no {name}", 'Write it as "/static/{name}.gif".')
        if all(held.place != "embedded.path" for held in document.problems):
            document.note_problem(*problem)


def _check_values(workload: Workload, document: Document) -> None:
    known, extracted = list_known_names(workload), list_extracted_names(workload)
    states = set(workload.list_states()) if workload.mix is not None else None
    for name, value in workload.values.items():
        path = ("values", name)
        if isinstance(value, Text):
            check_texts(document, path, [value.text], known - {name})
        if isinstance(value, Choice | TableValues):
            _check_rows(document, path, value)
        if isinstance(value, Uniform | Zipf | Exponential):
            _check_range(workload, document, path, value)
        if value.redraw == "operation" and name in extracted:
            message = "is generated before every operation, so that extracted values are lost"
            document.note_problem(
                path, message, 'Use redraw = "session": it then lasts until a response sets another value.'
            )
        redraw = () if isinstance(value.redraw, str) else value.redraw
        for state in redraw:
            if states is not None and state not in states:
                document.note_problem(path, f"redraw names the unknown state `{state}`", suggest(state, states))


def _check_rows(document: Document, path: tuple[str, ...], value: Choice | TableValues) -> None:
    rows = value.values if isinstance(value, Choice) else value.rows
    if value.weights is not None and (len(value.weights) != len(rows) or not sum(value.weights) > 0):
        message = f"{len(value.weights)} weights for {len(rows)} rows, or all zero"
        document.note_problem(path, message, "Use one weight for each, at least one above 0.")
    if isinstance(value, TableValues):
        for number, row in enumerate(value.rows, start=1):
            if len(row) != len(value.columns):
                message = f"row {number} has {len(row)} entries for {len(value.columns)} columns"
                document.note_problem(path, message, "Use one entry per column in every row.")


def _check_range(
    workload: Workload, document: Document, path: tuple[str, ...], value: Uniform | Zipf | Exponential
) -> None:
    largest = {
        name: getattr(value, name)
        for name in ("max", "max_per_session", "max_of", "n", "n_per_session")
        if name in type(value).model_fields
    }
    if sum(bound is not None for bound in largest.values()) != 1:
        names = list(largest)
        listed = f"{', '.join(names[:-1])} or {names[-1]}"
        document.note_problem(path, f"needs either {listed}", "Use exactly one of them.")
    if isinstance(value, Uniform) and value.max is not None and value.min > value.max:
        document.note_problem(path, f"min {value.min} is above max {value.max}", "Swap them.")
    rows = {*workload.data, *workload.scale}
    if isinstance(value, Uniform | Exponential) and value.max_of is not None and value.max_of not in rows:
        remedy = suggest(value.max_of, rows) + " Declare it under [data] or [scale]."
        document.note_problem(path, f"there are no rows `{value.max_of}`", remedy)


def _check_data(workload: Workload, document: Document) -> None:
    known: set[str] = set()
    for name, rows in workload.data.items():
        if rows.of is not None and rows.of not in known:
            message = f"`{rows.of}` is not declared before it"
            document.note_problem(
                ("data", name, "of"), message, suggest(rows.of, known) if known else "Declare it first."
            )
        known.add(name)


def _check_pacing(workload: Workload, document: Document) -> None:
    pacing = workload.pacing
    if pacing is None:
        return
    if pacing.cap_s is not None and pacing.cap_s < pacing.mean_s:
        document.note_problem(
            ("pacing", "cap_s"), "is below the mean", "The cap cuts off long pauses. Use a larger value."
        )
    states = set(workload.list_states()) if workload.mix is not None else set(pacing.no_pause_before)
    for name in pacing.no_pause_before:
        if name not in states:
            document.note_problem(("pacing", "no_pause_before"), f"unknown state `{name}`", suggest(name, states))
    for name, least_s in pacing.least_s.items():
        if workload.mix is not None and name not in workload.list_states():
            document.note_problem(
                ("pacing", "least_s"), f"unknown state `{name}`", suggest(name, set(workload.list_states()))
            )
        if least_s > pacing.mean_s:
            document.note_problem(("pacing", "least_s"), f"{least_s:g} s is above the mean", "Use a shorter pause.")
        if pacing.kind != "cycle":
            document.note_problem(
                ("pacing", "least_s"), "applies to cycle times only", 'Use kind = "cycle", or leave it out.'
            )


def _check_published(workload: Workload, document: Document) -> None:
    if workload.published is None:
        return
    for key in ("response_s", "bytes"):
        for name in getattr(workload.published, key):
            if name not in workload.operations and name not in document.content.get("operations", {}):
                remedy = suggest(name, set(workload.operations))
                document.note_problem(("published", key, name), f"unknown operation `{name}`", remedy)
    for name in workload.published.scale:
        if name not in workload.scale:
            remedy = suggest(name, set(workload.scale)) + " Declare it under [scale]."
            document.note_problem(("published", "scale", name), f"there is no `{name}` in [scale]", remedy)


def _check_rules(workload: Workload, document: Document) -> None:
    for name, rule in workload.rules.items():
        path = ("rules", name)
        operation = workload.operations.get(rule.operation)
        if operation is None:
            message = f"unknown operation `{rule.operation}`"
            document.note_problem((*path, "operation"), message, suggest(rule.operation, set(workload.operations)))
            continue
        named = {request.name for request in operation.around if request.name is not None}
        if rule.request is not None and rule.request not in named:
            message = f"`{rule.operation}` sends no request named `{rule.request}`"
            document.note_problem((*path, "request"), message, suggest(rule.request, named))
        if rule.of is not None and operation.images is None:
            message = f"`{rule.operation}` declares no images"
            document.note_problem((*path, "of"), message, "Add images = { after, before } to the operation.")
