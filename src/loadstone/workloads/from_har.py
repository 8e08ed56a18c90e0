"""Importing a HAR file (a browser's record of a visit) as a workload of one's own, to be edited.

Pages become operations, and so does everything that changes something, with the redirects that followed; what pages
load from the same site becomes their embedded files, the order of the visit a sequence, the gaps between operations the
think time. What a workload cannot repeat is left out, and said to be; what only this visit could send is taken from the
answers that it came with (`correlation`), or pointed at.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote

import tomlkit

from loadstone.model.errors import UsageError
from loadstone.model.target import encoded
from loadstone.workloads.check import ACCEPTED, CODINGS
from loadstone.workloads.correlation import Correlation, Kind, Leaf, Step, aligned, correlate, is_token, json_leaves
from loadstone.workloads.har import Exchange, Request, read
from loadstone.workloads.imported import Imported
from loadstone.workloads.writing import literal, name_of, table_of

PARALLEL = 6
"""Connections a browser opens to one site over HTTP/1.1."""
LEAST_THINK_S = 0.1
"""Pages closer together than this are parts of one."""
BACKGROUND_S = 1.0
"""What is asked for so long after a page came, or after a redirect, is no part of it."""
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
"""Methods that a workload can have."""
SECRETS = ("cookie", "authorization")
BROWSERS_OWN = frozenset(
    {
        *("host", "connection", "keep-alive", "content-length", "content-type", "transfer-encoding", "te", "upgrade"),
        *("accept-encoding", "accept-language", "user-agent", "cache-control", "pragma", "dnt", "priority", "range"),
        *("upgrade-insecure-requests", "if-modified-since", "if-none-match", "if-range", "expect", "x-client-data"),
        *SECRETS,
    }
)
"""Headers that browsers send by themselves, or the driver does."""
AUTHORIZATION = Leaf("header", "Authorization")
"""Of what follows the scheme in that header, where it is a token that an answer told (RFC 6750, section 2.1)."""
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9_-]* (?! )|")
"""Before the token (RFC 9110, section 11.4); some sites have none."""
PART = re.compile(r"\r\n?(Content-Disposition: form-data[^\r\n]*(?:\r\n[^\r\n]+)*)\r\n\r\n([^\r\n]*)\r\n--")
"""Head and text of a part that is one line."""
ADDRESS = "{target}"
"""In headers, where the site is that is played, whichever it is."""
TITLE_WITHIN = 1 << 16
"""Characters of a page in which its title is looked for."""
UNKNOWN_KIND = "application/octet-stream"
"""Of a body of which the recording tells no type (RFC 9110, section 8.3)."""


@dataclass
class _Page:
    """An operation to be: the request it begins with, and the answer it ends with."""

    first: Exchange
    last: Exchange
    redirects: int = 0
    embedded: list[Exchange] = field(default_factory=list)
    name: str = ""
    is_part: bool = False
    """Whether a page asked for it, and no user."""
    titles: set[str] = field(default_factory=set)
    """Of the answers to it, in all visits."""
    statuses: set[int] = field(default_factory=set)

    def learn(self, visit: "_Page") -> None:
        """Takes over how it was answered in a visit, as far as the browser kept that."""
        self.statuses.add(visit.status)
        if visit.last.response.content.text:
            self.titles.add(_title(visit.last))

    @property
    def end_s(self) -> float:
        return max(one.end_s for one in (self.last, *self.embedded))

    @property
    def status(self) -> int:
        return self.last.response.status


def from_har(file: Path, name: str, second: Path | None = None, as_recorded: frozenset[str] = frozenset()) -> Imported:
    """Reads a HAR file, and a second recording of the same steps where there is one; values of these names are sent as
    they were recorded. Raises UsageError when it is none or holds no page.
    """
    entries, twins = read(file), [] if second is None else read(second)
    site, pages, left_out = _visit(file, entries, twins)
    others = [] if second is None else _visit(second, twins, entries)[1]
    steps, again = _steps(pages), _steps(others)
    operations: dict[str, _Page] = {}
    for page in pages:
        operations.setdefault(page.name, page).learn(page)
    pairs = aligned(steps, again)
    for at, other in pairs.items():
        operations[pages[at].name].learn(others[other])
    correlation = correlate(steps, again, pairs).without(as_recorded)
    text = _document(name, site, pages, operations, correlation)
    told = tuple(map(_counted, left_out.items()))
    return Imported(text, site, len(operations), told, tuple(_doubts(operations)), tuple(correlation.found))


def _visit(file: Path, entries: Sequence[Exchange], twins: Sequence[Exchange]) -> tuple[str, list[_Page], Counter[str]]:
    """The site, what was visited there, and what was left out; `twins` are those of another visit, if there is one."""
    first = next((entry for entry in entries if entry.is_html and entry.site.startswith("http")), None)
    if first is None:
        raise UsageError(f"{file} holds no page: no answer of type text/html.")
    site = first.site
    known = frozenset(entry.request.url for entry in twins) or None
    left_out: Counter[str] = Counter()
    own = [entry for entry in entries if _is_played(entry, site, left_out)]
    pages = _pages(own, left_out, known)
    _give_names(pages)
    return site, pages, left_out


def _steps(pages: Sequence[_Page]) -> list[Step]:
    """Pages as their values are looked up."""
    held: set[str] = set()
    steps = []
    for page in pages:
        sent = {name: text for name, text in _cookies(page.first).items() if name in held}
        steps.append(_step(page, sent))
        for exchange in (page.first, page.last, *page.embedded):
            told = (one.value for one in exchange.response.headers if one.name.lower() == "set-cookie")
            held |= {line.partition("=")[0].strip() for text in told for line in text.split("\n")}
    return steps


def _cookies(exchange: Exchange) -> dict[str, str]:
    told = (one.value for one in exchange.request.headers if one.name.lower() == "cookie")
    pairs = (pair.partition("=") for text in told for pair in text.split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def _step(page: _Page, cookies: Mapping[str, str]) -> Step:
    """A page as its values are looked up."""
    segments = enumerate(page.first.parts.path.split("/"))
    leaves = {Leaf("path", str(at)): unquote(text) for at, text in segments if re.search(r"[0-9]", text)}
    leaves |= {Leaf("query", key): text for key, text in _pairs(page.first.parts.query).items()}
    leaves |= {Leaf("field", key): text for key, text in _pairs(_form_text(page.first.request)).items()}
    leaves |= {Leaf("header", key): text for key, text in _headers(page)}
    leaves |= {AUTHORIZATION: token} if (token := _token(page)[1]) else {}
    leaves |= {Leaf("part", name): text for name, text in _parts(page.first.request)}
    if not _form_text(page.first.request):
        leaves |= {Leaf("JSON", pointer): text for pointer, text in json_leaves(_body_text(page.first.request))}
    return Step(page.name, page.first.method, page.first.parts.path, leaves, page.last, cookies)


def _counted(told: tuple[str, int]) -> str:
    what, times = told
    return what if times == 1 else f"{what} ({times} times)"


def _is_played(entry: Exchange, site: str, left_out: Counter[str]) -> bool:
    """Whether it can be repeated; if not, why is noted."""
    reason = _unplayable(entry, site)
    if reason:
        left_out[reason] += 1
        return False
    if any(header.name.lower() in SECRETS for header in entry.request.headers):
        left_out.setdefault("cookies and credentials (cookies the site sets are kept while it runs)", 1)
    return True


def _unplayable(entry: Exchange, site: str) -> str:
    if not entry.site:
        return "a request without a readable address"
    if entry.site != site and not entry.is_upgrade:
        return f"a request to another site than {site}"
    what = f"{entry.method[:20]} {entry.parts.path[:100]}"
    if entry.is_upgrade:
        return f"{what}: it became something else than HTTP, such as a WebSocket"
    if entry.response.status < 100:
        return f"{what}: it was never answered"
    if entry.method not in METHODS:
        return f"{what}: no method of a workload"
    if entry.is_kept:
        return f"{what}: the browser had it already"
    if entry.response.status >= 400 and entry.method == "GET" and not entry.is_html and not entry.is_background:
        return f"{what}: answered {entry.response.status}"
    return ""


def _pages(entries: Sequence[Exchange], left_out: Counter[str], known: frozenset[str] | None) -> list[_Page]:
    """Groups a site's exchanges: operations, and what each page among them loads. `known` are the addresses of another
    visit.
    """
    operations: list[_Page] = []
    page: _Page | None = None
    for made in _joined(entries):
        made.is_part = not _begins(made, page)
        if not made.is_part or (page is not None and _needs_more(made, known)):
            operations.append(made)
            page = made if page is None or made.last.is_html else page
        elif page is None:
            left_out[f"{made.first.method} {made.first.parts.path[:100]}: it came before the first page"] += 1
        else:
            page.embedded.append(made.last)
    return operations


def _begins(made: _Page, page: _Page | None) -> bool:
    """Whether it is an operation of its own, and no part of the latest page."""
    if made.first.method != "GET":
        return True
    if made.last.is_html or made.last.goal:
        return page is None or made.first.start_s - page.end_s >= LEAST_THINK_S
    late = page is not None and made.first.start_s - page.last.end_s >= BACKGROUND_S
    return made.last.is_background and late


def _needs_more(made: _Page, known: frozenset[str] | None) -> bool:
    """Whether it is more than an embedded file, which is asked for as it is declared: a page or what a program asked
    for, with headers of its own, or at an address that is another in each visit.
    """
    if not (made.last.is_html or made.last.is_background):
        return False
    if made.status >= 400:
        return True
    own = [name for name, _ in _headers(made) if name.lower() != "accept"]
    if own or made.first.request.header("authorization"):
        return True
    if known is not None:
        return made.first.request.url not in known
    parts = made.first.parts
    leaves = [*parse_qsl(parts.query), *(("", segment) for segment in parts.path.split("/"))]
    return any(is_token(key, text) for key, text in leaves)


def _joined(entries: Sequence[Exchange]) -> list[_Page]:
    """Each redirect with what it led to."""
    made: list[_Page] = []
    waiting: dict[str, _Page] = {}
    for entry in entries:
        address = entry.request.url.partition("#")[0]
        page = waiting.pop(address, None)
        if page is None or entry.start_s - page.last.end_s >= BACKGROUND_S:
            page = _Page(entry, entry)
            made.append(page)
        else:
            page.last, page.redirects = entry, page.redirects + 1
        if entry.goal:
            waiting[entry.goal] = page
    return made


def _give_names(pages: list[_Page]) -> None:
    """The same request has the same name wherever it comes in the visit; another of that name gets a number."""
    known: dict[str, dict[object, str]] = {}
    for page in pages:
        parts = page.first.parts
        keys = tuple(sorted({key for key, _ in parse_qsl(parts.query, keep_blank_values=True)}))
        files = tuple(sorted(one.request.url for one in page.embedded))
        identity = (page.first.method, parts.path, keys, page.redirects, page.status, files)
        base = name_of(parts.path, "home", "page")
        same = known.setdefault(base, {})
        page.name = same.setdefault(identity, base if not same else f"{base}_{len(same) + 1}")


def _pairs(text: str) -> dict[str, str]:
    """Fields by name; empty where a table of texts would lose one, or send others than were recorded."""
    pairs = parse_qsl(text, keep_blank_values=True)
    is_whole = all("=" in field for field in text.split("&")) and len(dict(pairs)) == text.count("&") + 1
    is_text = all(word.isprintable() and "\ufffd" not in word for pair in pairs for word in pair)
    return dict(pairs) if is_whole and is_text else {}


def _form_text(request: Request) -> str:
    """A form as it was sent; empty where there was none."""
    body = request.body
    if body is None or "x-www-form-urlencoded" not in body.mime_type:
        return ""
    if body.text:
        return body.text
    return "&".join(f"{quote(pair.name, safe='')}={quote(pair.value, safe='')}" for pair in body.params)


def _body_text(request: Request) -> str:
    """What was sent, if it is text."""
    text = _form_text(request) or (request.body.text if request.body else "")
    return text if re.sub(r"[\r\n\t]", "", text).isprintable() else ""


def _document(
    name: str, site: str, pages: Sequence[_Page], operations: dict[str, _Page], correlation: Correlation
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


def _codings(pages: Sequence[_Page]) -> str:
    """Content codings that the browser asked for, as far as a driver decodes them."""
    headers = [header for page in pages for header in page.first.request.headers]
    asked = next((header.value for header in headers if header.name.lower() == "accept-encoding"), ACCEPTED)
    return ", ".join(one for one in (word.strip() for word in asked.split(",")) if one in CODINGS) or "identity"


def _kept_open(pages: Sequence[_Page]) -> dict[str, str]:
    """What browsers say of connections by HTTP/1.1: there are servers that close them otherwise, without a word."""
    is_kept = pages[0].first.request.header("connection").lower() == "keep-alive"
    return {"Connection": "keep-alive"} if is_kept else {}


def _operation(page: _Page, correlation: Correlation) -> tomlkit.items.Table:
    fill = partial(_filled, page, correlation)
    request, parts = page.first.request, page.first.parts
    table = table_of({"method": page.first.method} if page.first.method != "GET" else {})
    query, form = _pairs(parts.query), _form_text(request)
    table["path"] = _filled_path(_path(page.first, has_query=not query), page, correlation)
    if query:
        table["query"] = fill("query", query)
    allowed = {AUTHORIZATION.key: ""} if correlation.text(page.name, AUTHORIZATION) else {}
    headers = {**dict(_headers(page)), **allowed}
    if fields := _pairs(form):
        table["form"] = fill("field", fields)
    elif text := _body_text(request):
        table["body"] = _filled_body(page, text, correlation)
        kind = request.body.mime_type if request.body else ""
        headers["Content-Type"] = kind if kind.isprintable() and kind.isascii() and kind else UNKNOWN_KIND
    if headers:
        table["headers"] = fill("header", headers)
    if extracts := correlation.extracts(page.name):
        table["extract"] = _list(map(_inline, extracts))
    if page.redirects:
        table["redirects"] = page.redirects
    if page.statuses != {200}:
        table["status"] = sorted(page.statuses)
    if len(page.titles) == 1 and (title := min(page.titles)):
        table["title"] = literal(title)
    if page.embedded:
        table["embedded"] = _list(map(_embedded, page.embedded))
    return table


def _list(entries: Iterable[tomlkit.items.InlineTable]) -> tomlkit.items.Array:
    """An entry a line, where there are several."""
    listed = list(entries)
    array = tomlkit.array().multiline(len(listed) > 1)
    array.extend(listed)
    return array


def _filled(page: _Page, correlation: Correlation, kind: Kind, pairs: Mapping[str, str]) -> tomlkit.items.InlineTable:
    """Texts by name, values in place of those that are of this visit alone."""
    filled = {}
    for key, text in pairs.items():
        leaf = Leaf(kind, key)
        scheme = _token(page)[0] if leaf == AUTHORIZATION else ""
        written = scheme + (correlation.text(page.name, leaf) or literal(text))
        site = page.first.site
        filled[key] = ADDRESS + written[len(site) :] if kind == "header" and written.startswith(site) else written
    return _inline(filled)


def _filled_path(path: str, page: _Page, correlation: Correlation) -> str:
    """A path with values in place of its segments."""
    bare, mark, query = path.partition("?")
    texts = [correlation.text(page.name, Leaf("path", str(at))) for at in range(bare.count("/") + 1)]
    segments = [found or text for text, found in zip(bare.split("/"), texts, strict=True)]
    return "/".join(segments) + mark + query


def _filled_body(page: _Page, text: str, correlation: Correlation) -> str:
    """A body with values in place of texts of its JSON."""
    filled = literal(text)
    for pointer, value in json_leaves(text):
        found = correlation.text(page.name, Leaf("JSON", pointer))
        if not found:
            continue
        for written in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
            filled = filled.replace(literal(written), f'"{found}"', 1)
        key = re.escape(literal(json.dumps(pointer.rpartition("/")[2])))
        number = re.search(rf"{key}\s*:\s*({re.escape(value)})(?![0-9.eE])", filled)
        filled = filled[: number.start(1)] + found + filled[number.end(1) :] if number else filled
    for name, value in _parts(page.first.request):
        if found := correlation.text(page.name, Leaf("part", name)):
            filled = filled.replace(f"\r\n\r\n{literal(value)}\r\n", f"\r\n\r\n{found}\r\n", 1)
    return filled


def _inline(pairs: Mapping[str, str]) -> tomlkit.items.InlineTable:
    inline = tomlkit.inline_table()
    inline.update(pairs)
    return inline


def _path(entry: Exchange, *, has_query: bool = True) -> str:
    """As it was asked for; what cannot stand in a request is encoded."""
    parts = entry.parts
    query = f"?{parts.query}" if has_query and parts.query else ""
    return literal(encoded((parts.path or "/") + query))


def _headers(page: _Page) -> Iterator[tuple[str, str]]:
    """What the page's program, and no browser by itself, has put into the request."""
    is_change = page.first.method != "GET"
    for header in page.first.request.headers:
        name = header.name.lower()
        if name in BROWSERS_OWN or name.startswith((":", "sec-", "proxy-")):
            continue
        if name in ("origin", "referer") and not is_change:
            continue
        if name == "accept" and (page.last.is_html or header.value.strip() == "*/*"):
            continue
        if re.fullmatch(r"[A-Za-z0-9_-]+", header.name) and header.value.isprintable() and header.value.isascii():
            yield header.name, header.value


def _token(page: _Page) -> tuple[str, str]:
    """Scheme and token that a request is allowed by; empty where there is none, or the user's own name and password."""
    value = page.first.request.header("authorization")
    matched = SCHEME.match(value)
    scheme = matched.group() if matched else ""
    return ("", "") if scheme.lower() in ("basic ", "digest ") else (scheme, value.removeprefix(scheme))


def _parts(request: Request) -> Iterator[tuple[str, str]]:
    """Names and texts of a form of several parts (RFC 7578), but for files."""
    if request.body is None or "multipart/form-data" not in request.body.mime_type:
        return
    for head, text in PART.findall(request.body.text):
        named = re.search(r'[; ]name="([^"]*)"', head)
        if named and "filename" not in head:
            yield named.group(1), text


def _title(answer: Exchange) -> str:
    """The title of a page, if it is plain text; empty for what is no page."""
    head = answer.response.content.text[:TITLE_WITHIN] if answer.is_html else ""
    lower = head.lower()
    begin = lower.find(">", lower.find("<title")) + 1 if "<title" in lower else 0
    end = lower.find("</title", begin)
    title = head[begin:end].strip() if begin and end > begin else ""
    return title if title.isprintable() and "&" not in title and "<" not in title else ""


def _embedded(entry: Exchange) -> tomlkit.items.InlineTable:
    inline = tomlkit.inline_table()
    inline["path"] = _path(entry)
    asked = any(header.name.lower() == "if-modified-since" for header in entry.request.headers)
    if asked or entry.response.status == 304:
        inline["conditional"] = 1.0
    return inline


def _doubts(operations: dict[str, _Page]) -> Iterator[str]:
    """What was not recorded."""
    for name, page in operations.items():
        body = page.first.request.body
        if body is not None and not _body_text(page.first.request):
            yield f"the body of {name} ({body.mime_type[:80] or 'of an unknown type'}) was not recorded as a text"
