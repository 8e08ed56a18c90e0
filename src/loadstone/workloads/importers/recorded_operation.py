"""A recorded page as an operation of a workload: its request, with values in place of what differs, and its answer."""

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from urllib.parse import quote

from loadstone.model.target import encode_path
from loadstone.workloads.importers.answers import find_json_places
from loadstone.workloads.importers.correlated import Correlation
from loadstone.workloads.importers.correlation import LONG_PASSWORD, SIMPLE
from loadstone.workloads.importers.har import REDIRECTS, HarExchange, HarMessage
from loadstone.workloads.importers.leaves import AUTHORIZATION, BODY, build_message_leaf
from loadstone.workloads.importers.recorded_request import (
    BodyPart,
    find_foreign_spans,
    find_token,
    index_fields,
    is_encoded_as_usual,
    list_unsendable_files,
    pair_list,
    read_all_parts,
    read_body_text,
    read_form_text,
    read_pairs,
    read_text_parts,
)
from loadstone.workloads.importers.sockets import plan_waits, sign, split_frame
from loadstone.workloads.importers.steps import Kind, Leaf
from loadstone.workloads.importers.visit import REVALIDATED, Page
from loadstone.workloads.writing import escape_braces

ADDRESS_ENDS = r"(?![A-Za-z0-9.-]|:[0-9]|%3A[0-9])"
"""Behind the address of a site: a longer name, or another port, is another site's."""


LEAST_SHARED = 8
"""Letters of a text that tells an answer: a shorter one stands anywhere."""


MOST_UPLOAD_BYTES = 1 << 26
"""Length of a file that a workload can send."""


ADDRESS = "{target}"
"""The address of the site that is played, whichever it is."""
TEMPLATE = re.compile(r"(?P<brace>[{}])(?P=brace)|(?P<value>\{[\w.]+\})|[^{}]+")
"""Parts of a text of a workload: an escaped brace, a value, other text."""
SUB_DELIMS = "!$&'()*+,;=:@~"
"""Letters that a segment of a path holds as they are, besides letters, digits and `-._` (RFC 3986, section 3.3)."""
UNKNOWN_KIND = "application/octet-stream"
"""Of a body of which the recording tells no type (RFC 9110, section 8.3)."""


def write_operation(page: Page, correlation: Correlation) -> dict[str, object]:
    """Returns the table of a page's operation."""
    table = write_request(page, correlation)
    if extracts := correlation.declare_extracts(page.name):
        table["extract"] = extracts
    if page.first.is_socket:
        table["websocket"] = list(_messages(page, correlation))
    else:
        table.update(write_answer(page))
    return table


def write_request(page: Page, correlation: Correlation) -> dict[str, object]:
    """Returns what an operation sends, as workloads declare it."""
    fill = partial(_filled, page, correlation)
    request, parts = page.first.request, page.first.parts
    table: dict[str, object] = {"method": page.first.method} if page.first.method != "GET" else {}
    query, form = parts.query, read_form_text(request)
    fields = fill("query", query)
    table["path"] = _filled_path(write_path(page.first, has_query=not fields), page, correlation)
    if fields:
        table["query"] = fields
    headers = dict(page.list_own_headers())
    headers |= {AUTHORIZATION.key: ""} if correlation.fill_leaf(page.name, AUTHORIZATION) else {}
    if files := _with_files(page, correlation):
        table |= files
    elif fields := fill("field", form):
        table["form"] = fields
    elif text := read_body_text(request):
        table["body"] = _filled_body(page, text, correlation)
        kind = request.body.mime_type if request.body else ""
        headers["Content-Type"] = kind if kind.isprintable() and kind.isascii() and kind else UNKNOWN_KIND
    elif kind := request.get_header("content-type"):
        headers["Content-Type"] = kind
    if headers:
        table["headers"] = _filled_headers(page, correlation, headers)
    return table


def write_answer(page: Page) -> dict[str, object]:
    """Returns what the answers to a page are known by, and what it loads."""
    table: dict[str, object] = {"redirects": page.redirects} if page.redirects else {}
    if page.statuses != {200}:
        table["status"] = sorted(page.statuses)
    if len(page.titles) == 1 and (title := min(page.titles)):
        table["title"] = escape_braces(title)
    elif shared := find_shared_text(page):
        table["contains"] = [escape_braces(shared)]
    if page.embedded:
        table["embedded"] = [write_embedded(file) for file in page.embedded]
    return table


def _filled(page: Page, correlation: Correlation, kind: Kind, text: str) -> object:
    """Fields with values in place of those that are of this visit alone: a table where that says it all, else a list in
    their order. None where it is better sent as it was recorded: it has none, or none of its values is replaced.
    """
    pairs = pair_list(text)
    texts = [correlation.fill_leaf(page.name, Leaf(kind, key)) for key in index_fields(pairs)]
    plain = (_without_passwords(escape_braces(value), correlation) for _, value in pairs)
    addressed = [text or _addressed(value, page.first.site) for text, value in zip(texts, plain, strict=True)]
    is_as_recorded = addressed == [escape_braces(value) for _, value in pairs]
    if read_pairs(text) and (kind == "field" or not is_as_recorded or is_encoded_as_usual(text)):
        return dict(zip(read_pairs(text), addressed, strict=True))
    if is_as_recorded:
        return None
    return [[name, value] for (name, _), value in zip(pairs, addressed, strict=True)]


def _filled_headers(page: Page, correlation: Correlation, headers: Mapping[str, str]) -> dict[str, str]:
    filled = {}
    for key, text in headers.items():
        leaf = Leaf("header", key)
        scheme = find_token(page.first.request)[0] if leaf == AUTHORIZATION else ""
        written = scheme + (correlation.fill_leaf(page.name, leaf) or escape_braces(text))
        filled[key] = _addressed(_without_passwords(written, correlation), page.first.site)
    return filled


def _addressed(written: str, site: str) -> str:
    """A text of a workload with `{target}` in place of the recorded site's address, however that is encoded there."""
    host = site.partition("//")[2].partition(":")[0]
    if host.lower() not in written.lower():
        return written
    for form in dict.fromkeys((site, quote(site, safe=""), quote(site, safe="").lower(), site.replace("/", "\\/"))):
        written = re.sub(re.escape(form) + ADDRESS_ENDS, ADDRESS, written, flags=re.IGNORECASE)
    return written


def _filled_path(path: str, page: Page, correlation: Correlation) -> str:
    """A path with values in place of its segments."""
    bare, mark, query = path.partition("?")
    texts = [correlation.fill_leaf(page.name, Leaf("path", str(index))) for index in range(bare.count("/") + 1)]
    segments = [
        _encoded_segment(filled) if filled else text for text, filled in zip(bare.split("/"), texts, strict=True)
    ]
    return _addressed(_without_passwords("/".join(segments) + mark + query, correlation), page.first.site)


def _encoded_segment(written: str) -> str:
    """A segment of a path as a workload declares it: all but its values encoded (RFC 3986, section 3.3)."""
    return TEMPLATE.sub(
        lambda part: part[0] if part["value"] else quote(part["brace"] or part[0], safe=SUB_DELIMS), written
    )


def _messages(page: Page, correlation: Correlation) -> Iterator[dict[str, str]]:
    """Steps of an exchange over a WebSocket."""
    for number, turn in enumerate(page.talks[0]):
        if turn.sent is not None:
            yield write_message(page, number, turn.sent, correlation)
        for step in plan_waits(page.talks, number):
            yield {how: escape_braces(text) for how, text in step.items()}


def write_message(page: Page, number: int, message: HarMessage, correlation: Correlation) -> dict[str, str]:
    """Returns a message of a WebSocket as a step of its operation."""
    if not message.is_text:
        return {"send_bytes": message.data}
    if text := correlation.fill_leaf(page.name, build_message_leaf(number, "")):
        return {"send": text}
    before, inner, behind = split_frame(message.data)
    filled = _filled_json(inner, lambda pointer: correlation.fill_leaf(page.name, build_message_leaf(number, pointer)))
    written = escape_braces(before) + filled + escape_braces(behind)
    return {"send": _addressed(_without_passwords(written, correlation), page.first.site)}


def _filled_body(page: Page, text: str, correlation: Correlation) -> str:
    """A body with values in place of texts of its JSON, of its parts, or of a form in an older charset."""
    request = page.first.request
    fields = [(part.name, part.span) for part in read_all_parts(request) if part.file_name is None]
    spans = {Leaf("part", key): span for key, span in index_fields(fields).items()}
    spans |= {
        Leaf("field", key): span for key, span in index_fields(find_foreign_spans(read_form_text(request))).items()
    }
    if complete := correlation.fill_leaf(page.name, BODY):
        filled = complete
    elif spans:
        filled = _filled_spans(text, {span: correlation.fill_leaf(page.name, leaf) for leaf, span in spans.items()})
    else:
        filled = _filled_json(text, lambda pointer: correlation.fill_leaf(page.name, Leaf("JSON", pointer)))
    return _addressed(_without_passwords(filled, correlation), page.first.site)


def _with_files(page: Page, correlation: Correlation) -> dict[str, object]:
    """Keys of an operation that send a form with files of their recorded length; empty where the form can be sent as it
    was recorded.
    """
    files = list_unsendable_files(page.first.request)
    if not files:
        return {}
    pairs = list(read_text_parts(page.first.request))
    parts = [correlation.fill_leaf(page.name, Leaf("part", key)) for key in index_fields(pairs)]
    plain = (_without_passwords(escape_braces(value), correlation) for _, value in pairs)
    texts = [text or _addressed(value, page.first.site) for text, value in zip(parts, plain, strict=True)]
    fields = [[name, text] for (name, _), text in zip(pairs, texts, strict=True)]
    form = fields if len(dict(pairs)) < len(pairs) else dict(fields)
    uploads = {key: _upload(key, part) for key, part in index_fields([(part.name, part) for part in files]).items()}
    return {**({"form": form} if form else {}), "uploads": uploads}


def _upload(key: str, part: BodyPart) -> dict[str, object]:
    """A file of a form as a workload declares it, under its key."""
    return {
        **({"field": part.name} if key != part.name else {}),
        "file_name": escape_braces(part.file_name or "file"),
        **({"content_type": part.content_type} if part.content_type else {}),
        "bytes": max(1, min(MOST_UPLOAD_BYTES, len(part.text))),
    }


def _without_passwords(written: str, correlation: Correlation) -> str:
    """A body of any kind with values in place of passwords that stand in it, whose places are not known."""
    for text, value in correlation.passwords.items():
        forms = (text, html.escape(text), quote(text, safe=""), json.dumps(text)[1:-1])
        if len(text) >= LONG_PASSWORD or SIMPLE.fullmatch(text) is None:
            for form in dict.fromkeys(forms):
                written = written.replace(escape_braces(form), f"{{{value}}}")
        else:
            pattern = rf"(<(?:\w+:)?\w*pass\w*\b[^<>]*>){re.escape(escape_braces(text))}(?=</)"
            written = re.sub(pattern, rf"\1{{{value}}}", written, flags=re.IGNORECASE)
    return written


def _filled_spans(text: str, spans: Mapping[tuple[int, int], str | None]) -> str:
    """A text with values in place of what stands in its spans, which are in their order."""
    filled, done = "", 0
    for (begin, end), text_of_span in spans.items():
        if text_of_span:
            filled += escape_braces(text[done:begin]) + text_of_span
            done = end
    return filled + escape_braces(text[done:])


def _filled_json(text: str, value_at: Callable[[str], str | None]) -> str:
    """A document with values in place of what stands at their pointers."""
    filled, done = "", 0
    for pointer, (begin, end) in find_json_places(text).items():
        if replacement := value_at(pointer):
            is_text = text[begin] == '"'
            quoted = f'"{json.dumps(replacement, ensure_ascii=False)[1:-1]}"'
            filled += escape_braces(text[done:begin]) + (quoted if is_text else replacement)
            done = end
    return filled + escape_braces(text[done:])


def write_path(entry: HarExchange, *, has_query: bool = True) -> str:
    """Returns the path as it was requested; what cannot stand in a request is encoded."""
    parts = entry.parts
    query = f"?{parts.query}" if has_query and parts.query else ""
    return escape_braces(encode_path((parts.path or "/") + query))


def write_embedded(entry: HarExchange) -> dict[str, object]:
    """Returns the table of a file that a page loads."""
    table: dict[str, object] = {"path": _addressed(write_path(entry), entry.site)}
    if entry.response.status in REDIRECTS:
        table["status"] = [entry.response.status]
    is_conditional = any(header.name.lower() == "if-modified-since" for header in entry.request.headers)
    if is_conditional or entry.response.status == REVALIDATED:
        table["conditional"] = 1.0
    return table


def is_checked(page: Page) -> bool:
    """Whether more than the status of its answer is looked at."""
    has_title = len(page.titles) == 1 and bool(min(page.titles))
    return has_title or page.first.is_socket or bool(find_shared_text(page))


def find_shared_text(page: Page) -> str:
    """A text that the answers of both recordings begin with or hold near their beginning, where a title does not tell
    them; empty where there is but one answer, or none such.
    """
    is_text = page.last.is_html or page.last.is_background
    several = len(page.answers) > 1 and len(page.statuses) == 1 and is_text and page.first.method != "HEAD"
    shared = sign(tuple(page.answers)) if several else ""
    return shared if len(shared) >= LEAST_SHARED else ""
