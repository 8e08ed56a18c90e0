"""Importing a HAR file (a browser's record of a visit) as a workload of one's own, to be edited.

Pages become operations, and so does everything that changes something, with the redirects that followed; what pages
load from the same site becomes their embedded files, the order of the visit a sequence, the gaps between operations the
think time. What a workload cannot repeat is left out, and said to be; what only this visit could send is taken from the
answers that it came with (`correlation`), or pointed at.
"""

import html
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from urllib.parse import quote

import tomlkit

from loadstone.model.errors import UsageError
from loadstone.model.target import encoded
from loadstone.workloads.check import ACCEPTED, CODINGS
from loadstone.workloads.importers.accounts import accounts
from loadstone.workloads.importers.answers import json_places
from loadstone.workloads.importers.correlation import LONG_PASSWORD, SIMPLE, Correlation, correlate, places
from loadstone.workloads.importers.har import REDIRECTS, HarExchange, HarMessage, read
from loadstone.workloads.importers.imported import Imported
from loadstone.workloads.importers.leaves import AUTHORIZATION, BODY, cookies_of, cookies_set_by, message_leaf, steps_of
from loadstone.workloads.importers.naming import give_names
from loadstone.workloads.importers.recorded_request import (
    all_parts,
    body_text,
    files_of,
    foreign_spans,
    form_text,
    keyed,
    pair_list,
    pairs_of,
    parts_of,
    token_of,
)
from loadstone.workloads.importers.sockets import SOCKET_ANSWER_S, framed, sign, waits
from loadstone.workloads.importers.steps import Kind, Leaf, Step, aligned
from loadstone.workloads.importers.visit import REVALIDATED, Page, site_visited, visited
from loadstone.workloads.writing import literal, table_of, written

ADDRESS_ENDS = r"(?![A-Za-z0-9.-]|:[0-9]|%3A[0-9])"
"""Behind the address of a site: a longer name, or another port, is another site's."""
LONGEST_PREFIX = 40
"""Letters of a workload's name in that of a variable."""
LEAST_SHARED = 8
"""Letters of a text that tells an answer: a shorter one stands anywhere."""
KEPT_HEADERS = ("Accept-Language", "User-Agent")
"""What browsers say of themselves and sites answer by."""
MOST_COOKIES = 5
"""Cookies that are named."""
MOST_FILES = 5
"""Files of a form that are named."""
MOST_UPLOAD_BYTES = 1 << 26
"""Length of a file that a workload can send."""
MOST_SITES = 3
"""Other sites that are named."""
PARALLEL = 6
"""Connections a browser opens to one site over HTTP/1.1."""
ADDRESS = "{target}"
"""The address of the site that is played, whichever it is."""
TEMPLATE = re.compile(r"(?P<brace>[{}])(?P=brace)|(?P<value>\{[\w.]+\})|[^{}]+")
"""Parts of a text of a workload: an escaped brace, a value, other text."""
SUB_DELIMS = "!$&'()*+,;=:@~"
"""Letters that a segment of a path holds as they are, besides letters, digits and `-._` (RFC 3986, section 3.3)."""
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
    steps: Sequence[Step] = ()
    doubts: tuple[str, ...] = ()

    def variables(self, name: str) -> dict[str, str]:
        """Variables of the environment that the workload of this name reads passwords from, by value."""
        return {value: _variable(name, value) for value in self.correlation.passwords.values()}

    def secrets(self, name: str) -> dict[str, str]:
        """What these variables held when the visit was recorded."""
        escaped = self._escaped
        return {_variable(name, value): escaped.get(value, text) for text, value in self.correlation.passwords.items()}

    @property
    def _escaped(self) -> dict[str, str]:
        """Passwords that stand in JSON and are written otherwise there, by value: values go into bodies as they are."""
        in_json = {
            value.value
            for value in self.correlation.values
            if value.is_password and value.leaf.kind in ("JSON", "message")
        }
        forms = {
            value: json.dumps(text, ensure_ascii=False)[1:-1] for text, value in self.correlation.passwords.items()
        }
        plain = {value: text for text, value in self.correlation.passwords.items()}
        return {value: form for value, form in forms.items() if value in in_json and form != plain[value]}

    def workload(self, name: str, as_recorded: frozenset[str] = frozenset()) -> Imported:
        """The workload of this name; values of the names `as_recorded` are sent as they were recorded."""
        values = self.correlation.without(as_recorded)
        variables = self.variables(name)
        text = _document(name, self.site, self.pages, self.operations, (values, variables))
        escaped = (
            f"{variables[value]} must contain the password in JSON notation, with escaped quotes"
            for value in self._escaped
        )
        doubts = (*escaped, *self.doubts, *_doubts(self.operations), *accounts(self.steps, values))
        correlated = tuple(value for value in values.values if not value.is_password)
        where = {value: "a body" for value in variables if f"{{{value}}}" in text}
        where |= {
            place.correlated.value: str(place)
            for place in places([place for place in values.values if place.is_password])
        }
        passwords = tuple((variables[value], place) for value, place in where.items())
        by_status = sum(not _is_checked(page) for page in self.operations.values())
        return Imported(
            text, self.site, len(self.operations), tuple(self.left_out), doubts, correlated, passwords, by_status
        )


def recorded(file: Path, second: Path | None = None, *, site: str = "") -> Recording:
    """Reads a HAR file, and a second recording of the same steps where there is one; of the `site` that is asked for,
    or the one that the visit is about. Raises UsageError when the file is no HAR file or holds nothing to play.
    """
    first = read(file)
    entries, twins = first.entries, [] if second is None else read(second).entries
    site = site_visited(file, entries, site)
    pages, left_out = visited(entries, site, twins)
    reasons = (*first.unreadable, *left_out.lines())
    if not pages:
        raise UsageError(f"{file} contains no request to {site} that can be played. Left out: {'; '.join(reasons)}.")
    others = [] if second is None else visited(twins, site, entries, is_compared=True)[0]
    steps, correlation, pairs = _correlated(pages, others)
    if once := _of_first_alone(steps, correlation, pairs):
        reasons = (*reasons, *dict.fromkeys(once.values()))
        pages = [page for page in pages if page.name not in once]
        steps, correlation, pairs = _correlated(pages, others)
    operations: dict[str, Page] = {}
    for page in pages:
        operations.setdefault(page.name, page).learn(page)
    for place, twin in pairs.items():
        operations[pages[place].name].learn(others[twin])
    doubts = (*_unread(entries), *_other_sites(entries, site), *_merged(pages), *_unset_cookies(entries, site))
    return Recording(site, pages, operations, reasons, correlation, steps, doubts)


def _correlated(pages: list[Page], others: list[Page]) -> tuple[list[Step], Correlation, dict[int, int]]:
    """Names the pages, and looks up where the values of their requests come from. Requests are the same operation when
    all that they send is the same, once values that were looked up stand in place of what was recorded.
    """
    nothing = Correlation()
    give_names(others, [_identity(page, nothing) for page in others])
    recorded_as = [_identity(page, nothing) for page in pages]
    give_names(pages, recorded_as)
    again = steps_of(others)
    steps = steps_of(pages)
    pairs = aligned(steps, again)
    correlation = correlate(steps, again, pairs)
    names = [page.name for page in pages]
    played_as = [_identity(page, correlation) for page in pages]
    if len(set(played_as)) < len(set(recorded_as)):
        give_names(pages, played_as)
        merged_steps = steps_of(pages)
        merged = correlate(merged_steps, again, pairs)
        if [_identity(page, merged) for page in pages] == played_as:
            return merged_steps, merged, pairs
        for page, name in zip(pages, names, strict=True):
            page.name = name
    return steps, correlation, pairs


def _of_first_alone(steps: Sequence[Step], correlation: Correlation, pairs: Mapping[int, int]) -> dict[str, str]:
    """Operations of the first recording alone that send a value which the second one's answers do not hold, with the
    reason to leave them out: a site asked for them once, and the next visit cannot send them.
    """
    repeated = {steps[number].operation for number in pairs}
    sent = {step.operation: f"{step.method} {step.path[:100]}" for step in steps}
    reason = "the second recording has no such request, and no answer with a"
    return {
        value.operation: f"{sent[value.operation]}: {reason} `{value.leaf.name[:40]}` for it"
        for value in correlation.values
        if value.why == "first recording alone" and value.operation not in repeated
    }


def _identity(page: Page, correlation: Correlation) -> tuple[object, ...]:
    """What tells an operation from others: all that is sent, what it loads, and how it was answered."""
    files = tuple(sorted(file.request.url for file in page.embedded))
    unwritable = page.first.request.body.text if page.first.request.body else ""
    sent = "" if body_text(page.first.request) else unwritable
    turns = ((number, turn.sent) for number, turn in enumerate(page.talk) if turn.sent)
    messages = [_sent(page, number, message, correlation) for number, message in turns]
    return repr(_without_random_headers(page, correlation)), sent, page.redirects, page.status, files, repr(messages)


def _without_random_headers(page: Page, correlation: Correlation) -> dict[str, object]:
    """What an operation sends, less the texts of headers that the page's program makes anew for each request."""
    request = _request(page, correlation)
    headers = request.get("headers")
    if isinstance(headers, dict):
        random = [key for key, text in page.own_headers() if _is_random(page, correlation, key, text)]
        request["headers"] = {key: "" if key in random else text for key, text in headers.items()}
    return request


def _is_random(page: Page, correlation: Correlation, key: str, text: str) -> bool:
    return correlation.is_made_anew(page.name, Leaf("header", key), text)


def _merged(pages: Sequence[Page]) -> Iterator[str]:
    """Operations whose requests were not the same in the recording, for people."""
    sent: dict[str, set[object]] = {}
    for page in pages:
        sent.setdefault(page.name, set()).add(_identity(page, Correlation()))
    for name, ways in sent.items():
        if len(ways) > 1:
            reason = "requests that differ only in extracted, random or generated values"
            yield f"{name} replaces {len(ways)} {reason}"


def _unread(entries: Sequence[HarExchange]) -> Iterator[str]:
    """That a recording has no texts of answers, for people."""
    if not any(entry.response.content.text for entry in entries):
        remedy = "save the list as HAR with content to check titles and find tokens"
        yield f"the recording contains no responses: {remedy}"


def _other_sites(entries: Sequence[HarExchange], site: str) -> Iterator[str]:
    """Sites that a workload of their own could play, for people."""
    counts = Counter(entry.site for entry in entries if entry.site != site and (entry.is_html or entry.is_background))
    for address, count in counts.most_common(MOST_SITES):
        if count > 1 and address.startswith("http"):
            reason = f"{count} pages or requests of programs went to {address}: a workload uses one site"
            yield f"{reason}; use `--site {address}` for that site"


def _unset_cookies(entries: Sequence[HarExchange], site: str) -> Iterator[str]:
    """Cookies that the browser sent and no answer had set, for people."""
    known: set[str] = set()
    missing: dict[str, None] = {}
    for entry in (entry for entry in entries if entry.site == site):
        missing |= dict.fromkeys(name for name in cookies_of(entry) if name and name not in known)
        known |= cookies_set_by(entry)
    if missing:
        names = ", ".join(name[:LONGEST_PREFIX] for name in list(missing)[:MOST_COOKIES])
        more = f" and {len(missing) - MOST_COOKIES} more" if len(missing) > MOST_COOKIES else ""
        reason = "set by a page's script or an earlier visit, not by a response, are not sent"
        yield f"cookies {reason}: {names}{more}. If the site needs one, add `Cookie` to the operation's headers"


def _variable(name: str, value: str) -> str:
    """The variable of the environment for a value of a workload."""
    plain = re.sub(r"[^A-Z0-9]+", "_", name.upper()).strip("_")[:LONGEST_PREFIX]
    is_taken = not plain or not plain[0].isalpha() or plain.startswith("LOADSTONE")
    return f"{f'SITE_{plain}'.rstrip('_') if is_taken else plain}_{value.upper()}"


def _document(
    name: str,
    site: str,
    pages: Sequence[Page],
    operations: Mapping[str, Page],
    values: tuple[Correlation, Mapping[str, str]],
) -> str:
    correlation, variables = values
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
    document["headers"] = table_of({"Accept-Encoding": _codings(pages)} | _kept_open(pages) | _told_of_browser(pages))
    limits = table_of({"good_s": 2.0, "tolerable_s": 4.0})
    limits.comment("what is good enough for you?")
    document["limits"] = limits
    sequence = {"kind": "sequence", "sequence": [page.name for page in pages]}
    mix = written("mix", sequence, "or a matrix with chances, or flat shares")
    tables = [written(f"operations.{name}", _operation(page, correlation)) for name, page in operations.items()]
    text = "\n".join([tomlkit.dumps(document), mix, *tables])
    secrets = {value: {"kind": "environment", "variable": variable} for value, variable in variables.items()}
    used = {value: secret for value, secret in secrets.items() if f"{{{value}}}" in text}
    generators = {**correlation.generators(), **used}
    return f"{text}\n{written('values', generators)}" if generators else text


def _codings(pages: Sequence[Page]) -> str:
    """Content codings that the browser asked for, as far as a driver decodes them."""
    headers = [header for page in pages for header in page.first.request.headers]
    accepted = next((header.value for header in headers if header.name.lower() == "accept-encoding"), ACCEPTED)
    return (
        ", ".join(coding for coding in (part.strip() for part in accepted.split(",")) if coding in CODINGS)
        or "identity"
    )


def _kept_open(pages: Sequence[Page]) -> dict[str, str]:
    """What browsers say of connections by HTTP/1.1: there are servers that close them otherwise, without a word."""
    is_kept = pages[0].first.request.header("connection").lower() == "keep-alive"
    return {"Connection": "keep-alive"} if is_kept else {}


def _told_of_browser(pages: Sequence[Page]) -> dict[str, str]:
    """What the recording browser said of itself."""
    table = {name: pages[0].first.request.header(name.lower()) for name in KEPT_HEADERS}
    return {name: literal(text) for name, text in table.items() if text and text.isprintable() and text.isascii()}


def _operation(page: Page, correlation: Correlation) -> dict[str, object]:
    table = _request(page, correlation)
    if extracts := correlation.extracts(page.name):
        table["extract"] = extracts
    if page.first.is_socket:
        table["websocket"] = list(_messages(page, correlation))
    else:
        table.update(_answered(page))
    return table


def _request(page: Page, correlation: Correlation) -> dict[str, object]:
    """What an operation sends, as workloads declare it."""
    fill = partial(_filled, page, correlation)
    request, parts = page.first.request, page.first.parts
    table: dict[str, object] = {"method": page.first.method} if page.first.method != "GET" else {}
    query, form = parts.query, form_text(request)
    fields = fill("query", query)
    table["path"] = _filled_path(_path(page.first, has_query=not fields), page, correlation)
    if fields:
        table["query"] = fields
    headers = dict(page.own_headers())
    headers |= {AUTHORIZATION.key: ""} if correlation.text(page.name, AUTHORIZATION) else {}
    if files := _with_files(page, correlation):
        table |= files
    elif fields := fill("field", form):
        table["form"] = fields
    elif text := body_text(request):
        table["body"] = _filled_body(page, text, correlation)
        kind = request.body.mime_type if request.body else ""
        headers["Content-Type"] = kind if kind.isprintable() and kind.isascii() and kind else UNKNOWN_KIND
    if headers:
        table["headers"] = _filled_headers(page, correlation, headers)
    return table


def _answered(page: Page) -> dict[str, object]:
    """What the answers to a page are known by, and what it loads."""
    table: dict[str, object] = {"redirects": page.redirects} if page.redirects else {}
    if page.statuses != {200}:
        table["status"] = sorted(page.statuses)
    if len(page.titles) == 1 and (title := min(page.titles)):
        table["title"] = literal(title)
    elif shared := _shared_text(page):
        table["contains"] = [literal(shared)]
    if page.embedded:
        table["embedded"] = [_embedded(file) for file in page.embedded]
    return table


def _filled(page: Page, correlation: Correlation, kind: Kind, text: str) -> object:
    """Fields with values in place of those that are of this visit alone: a table where that says it all, else a list in
    their order. None where it is better sent as it was recorded: it has none, or none of its values is replaced.
    """
    pairs = pair_list(text)
    texts = [correlation.text(page.name, Leaf(kind, key)) for key in keyed(pairs)]
    plain = (_without_passwords(literal(value), correlation) for _, value in pairs)
    addressed = [text or _addressed(value, page.first.site) for text, value in zip(texts, plain, strict=True)]
    if pairs_of(text):
        return dict(zip(pairs_of(text), addressed, strict=True))
    if addressed == [literal(value) for _, value in pairs]:
        return None
    return [[name, value] for (name, _), value in zip(pairs, addressed, strict=True)]


def _filled_headers(page: Page, correlation: Correlation, headers: Mapping[str, str]) -> dict[str, str]:
    filled = {}
    for key, text in headers.items():
        leaf = Leaf("header", key)
        scheme = token_of(page.first.request)[0] if leaf == AUTHORIZATION else ""
        written = scheme + (correlation.text(page.name, leaf) or literal(text))
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
    texts = [correlation.text(page.name, Leaf("path", str(index))) for index in range(bare.count("/") + 1)]
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
            yield _sent(page, number, turn.sent, correlation)
        for step in waits(page.talks, number):
            yield {how: literal(text) for how, text in step.items()}


def _sent(page: Page, number: int, message: HarMessage, correlation: Correlation) -> dict[str, str]:
    if not message.is_text:
        return {"send_bytes": message.data}
    if text := correlation.text(page.name, message_leaf(number, "")):
        return {"send": text}
    before, inner, behind = framed(message.data)
    filled = _filled_json(inner, lambda pointer: correlation.text(page.name, message_leaf(number, pointer)))
    written = literal(before) + filled + literal(behind)
    return {"send": _addressed(_without_passwords(written, correlation), page.first.site)}


def _filled_body(page: Page, text: str, correlation: Correlation) -> str:
    """A body with values in place of texts of its JSON, of its parts, or of a form in an older charset."""
    request = page.first.request
    fields = [(part.name, part.span) for part in all_parts(request) if part.file_name is None]
    spans = {Leaf("part", key): span for key, span in keyed(fields).items()}
    spans |= {Leaf("field", key): span for key, span in keyed(foreign_spans(form_text(request))).items()}
    if complete := correlation.text(page.name, BODY):
        filled = complete
    elif spans:
        filled = _filled_spans(text, {span: correlation.text(page.name, leaf) for leaf, span in spans.items()})
    else:
        filled = _filled_json(text, lambda pointer: correlation.text(page.name, Leaf("JSON", pointer)))
    return _addressed(_without_passwords(filled, correlation), page.first.site)


def _with_files(page: Page, correlation: Correlation) -> dict[str, object]:
    """Keys of an operation that send a form with files of their recorded length; empty where the form can be sent as it
    was recorded.
    """
    files = files_of(page.first.request)
    if not files:
        return {}
    pairs = list(parts_of(page.first.request))
    parts = [correlation.text(page.name, Leaf("part", key)) for key in keyed(pairs)]
    plain = (_without_passwords(literal(value), correlation) for _, value in pairs)
    texts = [text or _addressed(value, page.first.site) for text, value in zip(parts, plain, strict=True)]
    fields = [[name, text] for (name, _), text in zip(pairs, texts, strict=True)]
    form = fields if len(dict(pairs)) < len(pairs) else dict(fields)
    lengths = {part.name: max(1, min(MOST_UPLOAD_BYTES, len(part.text))) for part in reversed(files)}
    uploads = {
        part.name: {"file_name": literal(part.file_name or "file"), "bytes": lengths[part.name]}
        for part in reversed(files)
    }
    return {**({"form": form} if form else {}), "uploads": uploads}


def _without_passwords(written: str, correlation: Correlation) -> str:
    """A body of any kind with values in place of passwords that stand in it, whose places are not known."""
    for text, value in correlation.passwords.items():
        forms = (text, html.escape(text), quote(text, safe=""), json.dumps(text)[1:-1])
        if len(text) >= LONG_PASSWORD or SIMPLE.fullmatch(text) is None:
            for form in dict.fromkeys(forms):
                written = written.replace(literal(form), f"{{{value}}}")
        else:
            pattern = rf"(<(?:\w+:)?\w*pass\w*\b[^<>]*>){re.escape(literal(text))}(?=</)"
            written = re.sub(pattern, rf"\1{{{value}}}", written, flags=re.IGNORECASE)
    return written


def _filled_spans(text: str, spans: Mapping[tuple[int, int], str | None]) -> str:
    """A text with values in place of what stands in its spans, which are in their order."""
    filled, done = "", 0
    for (begin, end), text_of_span in spans.items():
        if text_of_span:
            filled += literal(text[done:begin]) + text_of_span
            done = end
    return filled + literal(text[done:])


def _filled_json(text: str, value_at: Callable[[str], str | None]) -> str:
    """A document with values in place of what stands at their pointers."""
    filled, done = "", 0
    for pointer, (begin, end) in json_places(text).items():
        if replacement := value_at(pointer):
            is_text = text[begin] == '"'
            quoted = f'"{json.dumps(replacement, ensure_ascii=False)[1:-1]}"'
            filled += literal(text[done:begin]) + (quoted if is_text else replacement)
            done = end
    return filled + literal(text[done:])


def _path(entry: HarExchange, *, has_query: bool = True) -> str:
    """As it was asked for; what cannot stand in a request is encoded."""
    parts = entry.parts
    query = f"?{parts.query}" if has_query and parts.query else ""
    return literal(encoded((parts.path or "/") + query))


def _embedded(entry: HarExchange) -> dict[str, object]:
    table: dict[str, object] = {"path": _addressed(_path(entry), entry.site)}
    if entry.response.status in REDIRECTS:
        table["status"] = [entry.response.status]
    is_conditional = any(header.name.lower() == "if-modified-since" for header in entry.request.headers)
    if is_conditional or entry.response.status == REVALIDATED:
        table["conditional"] = 1.0
    return table


def _doubts(operations: Mapping[str, Page]) -> Iterator[str]:
    """What was not recorded, or is played otherwise."""
    for name, page in operations.items():
        body = page.first.request.body
        if files := files_of(page.first.request):
            sent = ", ".join(f"`{part.name[:80]}`" for part in files[:MOST_FILES])
            yield f"files of {name} ({sent}) are sent as fillers of the recorded length: their content was not text"
        elif body is not None and not body_text(page.first.request):
            yield f"the body of {name} ({body.mime_type[:80] or 'of an unknown type'}) was not recorded as text"
        sent_s = [turn.sent.at_s for turn in page.talk if turn.sent]
        if sent_s and (took_s := sent_s[-1] - sent_s[0]) > SOCKET_ANSWER_S:
            yield f"{name} sends its {len(sent_s)} messages one after another; the recorded visit took {took_s:.0f} s"


def _is_checked(page: Page) -> bool:
    """Whether more than the status of its answer is looked at."""
    has_title = len(page.titles) == 1 and bool(min(page.titles))
    return has_title or page.first.is_socket or bool(_shared_text(page))


def _shared_text(page: Page) -> str:
    """A text that the answers of both recordings begin with or hold near their beginning, where a title does not tell
    them; empty where there is but one answer, or none such.
    """
    is_text = page.last.is_html or page.last.is_background
    several = len(page.answers) > 1 and len(page.statuses) == 1 and is_text and page.first.method != "HEAD"
    shared = sign(tuple(page.answers)) if several else ""
    return shared if len(shared) >= LEAST_SHARED else ""
