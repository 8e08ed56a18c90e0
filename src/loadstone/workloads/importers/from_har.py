"""Importing a HAR file (a browser's record of a visit) as a workload of one's own, to be edited.

Pages become operations, and so does everything that changes something, with the redirects that followed; what pages
load from the same site becomes their embedded files, the order of the visit a sequence, the gaps between operations the
think time. What a workload cannot repeat is left out, and said to be; what only this visit could send is taken from the
answers that it came with (`correlation`), or pointed at.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path

import tomlkit

from loadstone.model.target import encoded
from loadstone.workloads.check import ACCEPTED, CODINGS
from loadstone.workloads.importers.correlation import (
    Correlation,
    Kind,
    Leaf,
    aligned,
    correlate,
    json_places,
)
from loadstone.workloads.importers.har import Exchange, Message, read
from loadstone.workloads.importers.imported import Imported
from loadstone.workloads.importers.leaves import AUTHORIZATION, message_leaf, steps_of
from loadstone.workloads.importers.recorded_request import body_text, form_text, pairs_of, parts_of, token_of
from loadstone.workloads.importers.sockets import ANSWER_S, framed, waits
from loadstone.workloads.importers.visit import Page, visited
from loadstone.workloads.writing import literal, table_of

PARALLEL = 6
"""Connections a browser opens to one site over HTTP/1.1."""
ADDRESS = "{target}"
"""In headers, where the site is that is played, whichever it is."""
UNKNOWN_KIND = "application/octet-stream"
"""Of a body of which the recording tells no type (RFC 9110, section 8.3)."""


@dataclass(frozen=True)
class Recording:
    """What was recorded, with where its values come from: workloads with some of them are written from it."""

    site: str
    pages: Sequence[Page]
    operations: Mapping[str, Page]
    left_out: Sequence[str]
    correlation: Correlation

    def workload(self, name: str, as_recorded: frozenset[str] = frozenset()) -> Imported:
        """The workload of this name; values of the names `as_recorded` are sent as they were recorded."""
        values = self.correlation.without(as_recorded)
        text = _document(name, self.site, self.pages, self.operations, values)
        doubts = tuple(_doubts(self.operations))
        return Imported(text, self.site, len(self.operations), tuple(self.left_out), doubts, tuple(values.found))


def recorded(file: Path, second: Path | None = None) -> Recording:
    """Reads a HAR file, and a second recording of the same steps where there is one; raises UsageError when it is none
    or holds no page.
    """
    entries, twins = read(file), [] if second is None else read(second)
    site, pages, left_out = visited(file, entries, twins)
    others = [] if second is None else visited(second, twins, entries)[1]
    steps, again = steps_of(pages), steps_of(others)
    operations: dict[str, Page] = {}
    for page in pages:
        operations.setdefault(page.name, page).learn(page)
    pairs = aligned(steps, again)
    for at, other in pairs.items():
        operations[pages[at].name].learn(others[other])
    told = tuple(map(_counted, left_out.items()))
    return Recording(site, pages, operations, told, correlate(steps, again, pairs))


def _counted(told: tuple[str, int]) -> str:
    what, times = told
    return what if times == 1 else f"{what} ({times} times)"


def _document(
    name: str, site: str, pages: Sequence[Page], operations: Mapping[str, Page], correlation: Correlation
) -> str:
    ends = list(accumulate((page.end_s for page in pages), max))
    gaps = [max(0.0, page.first.start_s - end) for end, page in zip(ends, pages[1:], strict=False) if not page.is_part]
    at_once = sorted({page.name for page in pages} - {page.name for page in pages if not page.is_part})
    think_s = round(max(0.01, sum(gaps) / len(gaps)), 2) if gaps else 1.0
    document = tomlkit.document()
    document.add(tomlkit.comment(f"Imported from a recorded visit to {site}. Edit it: one person's visit is a guess."))
    header = {"name": name, "title": f"A visit to {site}", "about": f"One recorded visit of {len(pages)} operations."}
    document["workload"] = table_of(header)
    pacing = {"kind": "think", "distribution": "exponential", "mean_s": think_s, "cap_s": round(15 * think_s, 2)}
    document["pacing"] = table_of(pacing | ({"no_pause_before": at_once} if at_once else {}))
    document["connections"] = table_of({"parallel": PARALLEL})
    document["headers"] = table_of({"Accept-Encoding": _codings(pages)} | _kept_open(pages))
    limits = table_of({"good_s": 2.0, "tolerable_s": 4.0})
    limits.comment("what is good enough for you?")
    document["limits"] = limits
    mix = table_of({"kind": "sequence", "sequence": [page.name for page in pages]})
    mix.comment("or a matrix with chances, or flat shares")
    document["mix"] = mix
    below = tomlkit.table(is_super_table=True)
    for operation, page in operations.items():
        below[operation] = _operation(page, correlation)
    document["operations"] = below
    return tomlkit.dumps(document)


def _codings(pages: Sequence[Page]) -> str:
    """Content codings that the browser asked for, as far as a driver decodes them."""
    headers = [header for page in pages for header in page.first.request.headers]
    asked = next((header.value for header in headers if header.name.lower() == "accept-encoding"), ACCEPTED)
    return ", ".join(one for one in (word.strip() for word in asked.split(",")) if one in CODINGS) or "identity"


def _kept_open(pages: Sequence[Page]) -> dict[str, str]:
    """What browsers say of connections by HTTP/1.1: there are servers that close them otherwise, without a word."""
    is_kept = pages[0].first.request.header("connection").lower() == "keep-alive"
    return {"Connection": "keep-alive"} if is_kept else {}


def _operation(page: Page, correlation: Correlation) -> tomlkit.items.Table:
    fill = partial(_filled, page, correlation)
    request, parts = page.first.request, page.first.parts
    table = table_of({"method": page.first.method} if page.first.method != "GET" else {})
    query, form = pairs_of(parts.query), form_text(request)
    table["path"] = _filled_path(_path(page.first, has_query=not query), page, correlation)
    if query:
        table["query"] = fill("query", query)
    allowed = {AUTHORIZATION.key: ""} if correlation.text(page.name, AUTHORIZATION) else {}
    headers = {**dict(page.own_headers()), **allowed}
    if fields := pairs_of(form):
        table["form"] = fill("field", fields)
    elif text := body_text(request):
        table["body"] = _filled_body(page, text, correlation)
        kind = request.body.mime_type if request.body else ""
        headers["Content-Type"] = kind if kind.isprintable() and kind.isascii() and kind else UNKNOWN_KIND
    if headers:
        table["headers"] = fill("header", headers)
    if extracts := correlation.extracts(page.name):
        table["extract"] = _list(map(_inline, extracts))
    if page.first.is_socket:
        table["websocket"] = _list(map(_inline, _messages(page, correlation)))
    else:
        table.update(_answered(page))
    return table


def _answered(page: Page) -> dict[str, object]:
    """What the answers to a page are known by, and what it loads."""
    told: dict[str, object] = {"redirects": page.redirects} if page.redirects else {}
    if page.statuses != {200}:
        told["status"] = sorted(page.statuses)
    if len(page.titles) == 1 and (title := min(page.titles)):
        told["title"] = literal(title)
    if page.embedded:
        told["embedded"] = _list(map(_embedded, page.embedded))
    return told


def _list(entries: Iterable[tomlkit.items.InlineTable]) -> tomlkit.items.Array:
    """An entry a line, where there are several."""
    listed = list(entries)
    array = tomlkit.array().multiline(len(listed) > 1)
    array.extend(listed)
    return array


def _filled(page: Page, correlation: Correlation, kind: Kind, pairs: Mapping[str, str]) -> tomlkit.items.InlineTable:
    """Texts by name, values in place of those that are of this visit alone."""
    filled = {}
    for key, text in pairs.items():
        leaf = Leaf(kind, key)
        scheme = token_of(page.first.request)[0] if leaf == AUTHORIZATION else ""
        written = scheme + (correlation.text(page.name, leaf) or literal(text))
        site = page.first.site
        filled[key] = ADDRESS + written[len(site) :] if kind == "header" and written.startswith(site) else written
    return _inline(filled)


def _filled_path(path: str, page: Page, correlation: Correlation) -> str:
    """A path with values in place of its segments."""
    bare, mark, query = path.partition("?")
    texts = [correlation.text(page.name, Leaf("path", str(at))) for at in range(bare.count("/") + 1)]
    segments = [found or text for text, found in zip(bare.split("/"), texts, strict=True)]
    return "/".join(segments) + mark + query


def _messages(page: Page, correlation: Correlation) -> Iterator[dict[str, str]]:
    """Steps of an exchange over a WebSocket."""
    for number, turn in enumerate(page.talks[0]):
        if turn.sent is not None:
            yield _sent(page, number, turn.sent, correlation)
        for step in waits(page.talks, number):
            yield {how: literal(text) for how, text in step.items()}


def _sent(page: Page, number: int, message: Message, correlation: Correlation) -> dict[str, str]:
    if not message.is_text:
        return {"send_bytes": message.data}
    if whole := correlation.text(page.name, message_leaf(number, "")):
        return {"send": whole}
    before, inner, behind = framed(message.data)
    filled = _filled_json(inner, lambda pointer: correlation.text(page.name, message_leaf(number, pointer)))
    return {"send": literal(before) + filled + literal(behind)}


def _filled_body(page: Page, text: str, correlation: Correlation) -> str:
    """A body with values in place of texts of its JSON, or of its parts."""
    filled = _filled_json(text, lambda pointer: correlation.text(page.name, Leaf("JSON", pointer)))
    for name, value in parts_of(page.first.request):
        if found := correlation.text(page.name, Leaf("part", name)):
            filled = filled.replace(f"\r\n\r\n{literal(value)}\r\n", f"\r\n\r\n{found}\r\n", 1)
    return filled


def _filled_json(text: str, value_at: Callable[[str], str | None]) -> str:
    """A document with values in place of what stands at their pointers."""
    filled, at = "", 0
    for pointer, (begin, end) in json_places(text).items():
        if found := value_at(pointer):
            is_text = text[begin] == '"'
            filled += literal(text[at:begin]) + (f'"{found}"' if is_text else found)
            at = end
    return filled + literal(text[at:])


def _inline(pairs: Mapping[str, str]) -> tomlkit.items.InlineTable:
    inline = tomlkit.inline_table()
    inline.update(pairs)
    return inline


def _path(entry: Exchange, *, has_query: bool = True) -> str:
    """As it was asked for; what cannot stand in a request is encoded."""
    parts = entry.parts
    query = f"?{parts.query}" if has_query and parts.query else ""
    return literal(encoded((parts.path or "/") + query))


def _embedded(entry: Exchange) -> tomlkit.items.InlineTable:
    inline = tomlkit.inline_table()
    inline["path"] = _path(entry)
    asked = any(header.name.lower() == "if-modified-since" for header in entry.request.headers)
    if asked or entry.response.status == 304:
        inline["conditional"] = 1.0
    return inline


def _doubts(operations: Mapping[str, Page]) -> Iterator[str]:
    """What was not recorded, or is played otherwise."""
    for name, page in operations.items():
        body = page.first.request.body
        if body is not None and not body_text(page.first.request):
            yield f"the body of {name} ({body.mime_type[:80] or 'of an unknown type'}) was not recorded as a text"
        said = [turn.sent.at_s for turn in page.talk if turn.sent]
        if said and (took_s := said[-1] - said[0]) > ANSWER_S:
            yield f"{name} sends its {len(said)} messages one after another; the recorded visit took {took_s:.0f} s"
