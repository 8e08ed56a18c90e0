"""Importing a HAR file (a browser's record of a visit) as a workload of one's own, to be edited.

Pages become operations, what they load from the same site their embedded files, the order of the visit a sequence, the
gaps between pages the think time. Cookies, credentials and other sites' requests are left out, and said to be.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import tomlkit
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from loadstone.model.errors import UsageError
from loadstone.workloads.writing import Imported, literal, table_of

PARALLEL = 6
"""Connections a browser opens to one site over HTTP/1.1."""
CACHED = 0.8
"""Share of conditional requests noted for a file that the browser itself asked for conditionally."""
LEAST_THINK_S = 0.1
"""Pages closer together than this are parts of one."""


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Pair(_Lenient):
    name: str
    value: str = ""


class _Body(_Lenient):
    mime_type: str = Field(default="", alias="mimeType")
    params: list[_Pair] = Field(default_factory=list)
    text: str = ""


class _Request(_Lenient):
    method: str
    url: str
    headers: list[_Pair] = Field(default_factory=list)
    body: _Body | None = Field(default=None, alias="postData")


class _Content(_Lenient):
    mime_type: str = Field(default="", alias="mimeType")
    text: str = ""


class _Response(_Lenient):
    status: int
    content: _Content = Field(default_factory=_Content)


class _Entry(_Lenient):
    started: datetime = Field(alias="startedDateTime")
    time_ms: float = Field(default=0, alias="time")
    request: _Request
    response: _Response

    @property
    def start_s(self) -> float:
        return self.started.timestamp()

    @property
    def end_s(self) -> float:
        return self.start_s + max(0.0, self.time_ms) / 1000

    @property
    def is_page(self) -> bool:
        return self.request.method == "POST" or self.response.content.mime_type.startswith("text/html")


class _Log(_Lenient):
    entries: list[_Entry]


class _Har(_Lenient):
    log: _Log


@dataclass
class _Page:
    name: str
    entry: _Entry
    redirects: int = 0
    embedded: list[_Entry] = field(default_factory=list)

    @property
    def end_s(self) -> float:
        return max(entry.end_s for entry in (self.entry, *self.embedded))


def from_har(file: Path, name: str) -> Imported:
    """Reads a HAR file; raises UsageError when it is none or holds no page."""
    entries = sorted(_read(file).log.entries, key=lambda entry: entry.started)
    first = next((entry for entry in entries if entry.is_page), None)
    if first is None:
        raise UsageError(f"{file} holds no page: no answer of type text/html.")
    site = _site(first.request.url)
    own = [entry for entry in entries if _site(entry.request.url) == site]
    pages = _pages(own)
    left_out = []
    if len(own) < len(entries):
        left_out.append(f"{len(entries) - len(own)} requests to other sites than {site}")
    if any(header.name.lower() in ("cookie", "authorization") for entry in own for header in entry.request.headers):
        left_out.append("cookies and credentials (cookies the site sets are kept while it runs)")
    operations: dict[str, _Page] = {}
    for page in pages:
        operations.setdefault(page.name, page)
    text = _document(name, site, pages, operations)
    return Imported(text, site, len(operations), tuple(left_out))


def _read(file: Path) -> _Har:
    try:
        return _Har.model_validate_json(file.read_bytes())
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error}") from None
    except ValidationError as error:
        details = error.errors()[0]
        place = ".".join(str(part) for part in details["loc"]) or "the file"
        raise UsageError(f"{file} is no HAR file: {place}: {details['msg']}.") from None


def _site(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _pages(entries: Sequence[_Entry]) -> list[_Page]:
    """Groups a site's requests: a page begins with each HTML answer that does not belong to a redirect."""
    pages: list[_Page] = []
    redirects = 0
    for entry in entries:
        if 300 <= entry.response.status < 400 and entry.response.status != 304:
            redirects += 1
        elif entry.is_page and (not pages or entry.start_s - pages[-1].end_s >= LEAST_THINK_S):
            pages.append(_Page("", entry, redirects))
            redirects = 0
        elif pages:
            pages[-1].embedded.append(entry)
    _give_names(pages)
    return pages


def _give_names(pages: list[_Page]) -> None:
    """The same request has the same name wherever it comes in the visit; another of that name gets a number."""
    known: dict[str, tuple[str, str, tuple[str, ...]]] = {}
    for page in pages:
        parts = urlsplit(page.entry.request.url)
        keys = tuple(sorted(key for key, _ in parse_qsl(parts.query, keep_blank_values=True)))
        identity = (page.entry.request.method, parts.path, keys)
        base = re.sub(r"[^A-Za-z0-9]+", "_", parts.path).strip("_") or "home"
        base = base if base[0].isalpha() else f"page_{base}"
        number = 1
        while known.get(name := base if number == 1 else f"{base}_{number}", identity) != identity:
            number += 1
        known[name] = identity
        page.name = name


def _form(request: _Request) -> dict[str, str]:
    body = request.body
    if body is None or "x-www-form-urlencoded" not in body.mime_type:
        return {}
    return {pair.name: pair.value for pair in body.params} or dict(parse_qsl(body.text, keep_blank_values=True))


def _document(name: str, site: str, pages: Sequence[_Page], operations: dict[str, _Page]) -> str:
    gaps = [after.entry.start_s - before.end_s for before, after in pairwise(pages)]
    think_s = round(sum(gaps) / len(gaps), 2) if gaps else 1.0
    document = tomlkit.document()
    document.add(tomlkit.comment(f"Imported from a recorded visit to {site}. Edit it: one person's visit is a guess."))
    header = {"name": name, "title": f"A visit to {site}", "about": f"One recorded visit of {len(pages)} pages."}
    document["workload"] = table_of(header)
    document["pacing"] = table_of(
        {"kind": "think", "distribution": "exponential", "mean_s": think_s, "cap_s": round(15 * max(think_s, 0.01), 2)}
    )
    document["connections"] = table_of({"parallel": PARALLEL})
    limits = table_of({"good_s": 2.0, "tolerable_s": 4.0})
    limits.comment("what is good enough for you?")
    document["limits"] = limits
    mix = table_of({"kind": "sequence", "sequence": [page.name for page in pages]})
    mix.comment("or a matrix with chances, or flat shares")
    document["mix"] = mix
    below = tomlkit.table(is_super_table=True)
    for operation, page in operations.items():
        below[operation] = _operation(page)
    document["operations"] = below
    return tomlkit.dumps(document)


def _operation(page: _Page) -> tomlkit.items.Table:
    request, parts = page.entry.request, urlsplit(page.entry.request.url)
    table = table_of({"method": request.method} if request.method != "GET" else {})
    table["path"] = literal(parts.path or "/")
    for key, values in (("query", dict(parse_qsl(parts.query, keep_blank_values=True))), ("form", _form(request))):
        if values:
            inline = tomlkit.inline_table()
            inline.update({field: literal(value) for field, value in values.items()})
            table[key] = inline
    if request.body is not None and request.body.text and not _form(request):
        table["body"] = literal(request.body.text)
        table["headers"] = {"Content-Type": literal(request.body.mime_type or "application/octet-stream")}
    if page.redirects:
        table["redirects"] = page.redirects
    if page.entry.response.status != 200:
        table["status"] = [page.entry.response.status]
    title = re.search(r"<title[^>]*>\s*(.*?)\s*</title>", page.entry.response.content.text, re.S | re.I)
    if title and "&" not in title.group(1) and title.group(1).isprintable():
        table["title"] = literal(title.group(1))
    files = tomlkit.array().multiline(len(page.embedded) > 1)
    for entry in page.embedded:
        files.append(_embedded(entry))
    if page.embedded:
        table["embedded"] = files
    return table


def _embedded(entry: _Entry) -> tomlkit.items.InlineTable:
    parts = urlsplit(entry.request.url)
    inline = tomlkit.inline_table()
    inline["path"] = literal(parts.path + (f"?{parts.query}" if parts.query else ""))
    asked = any(header.name.lower() == "if-modified-since" for header in entry.request.headers)
    if asked or entry.response.status == 304:
        inline["conditional"] = CACHED
    return inline
