"""A recorded visit as what a user did: pages with what each loads, and what cannot be played again. Pure.

Pages become operations, and so does everything that changes something, with the redirects that followed; what pages
load from the same site becomes their embedded files.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from urllib.parse import parse_qsl

from loadstone.model.errors import UsageError
from loadstone.workloads.importers.correlation import is_token
from loadstone.workloads.importers.har import Exchange
from loadstone.workloads.importers.recorded_request import SECRETS, own_headers
from loadstone.workloads.importers.sockets import Turn, turns
from loadstone.workloads.writing import name_of

LEAST_THINK_S = 0.1
"""Pages closer together than this are parts of one."""
BACKGROUND_S = 1.0
"""What is asked for so long after a page came, or after a redirect, is no part of it."""
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
"""Methods that a workload can have."""
TITLE_WITHIN = 1 << 16
"""Characters of a page in which its title is looked for."""


@dataclass
class Page:
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
    talks: list[list[Turn]] = field(default_factory=list)
    """What was said over a WebSocket, in all visits."""

    def learn(self, visit: "Page") -> None:
        """Takes over how it was answered in a visit, as far as the browser kept that."""
        self.statuses.add(visit.status)
        if visit.last.response.content.text:
            self.titles.add(_title(visit.last))
        if self.talk and visit.talk:
            self.talks.append(visit.talk)

    @cached_property
    def talk(self) -> list[Turn]:
        """What was said over a WebSocket; empty of all else."""
        return turns(self.first.messages, self.first.start_s) if self.first.is_socket else []

    def own_headers(self) -> Iterator[tuple[str, str]]:
        """What a page's program has put into the request."""
        return own_headers(self.first, is_page=self.last.is_html)

    @property
    def end_s(self) -> float:
        """When it was there with all that it loads."""
        return max(one.end_s for one in (self.last, *self.embedded))

    @property
    def status(self) -> int:
        """Of the answer it ends with."""
        return self.last.response.status


def visited(file: Path, entries: Sequence[Exchange], twins: Sequence[Exchange]) -> tuple[str, list[Page], Counter[str]]:
    """The site, what was visited there, and what was left out; `twins` are those of another visit, if there is one."""
    first = next((entry for entry in entries if entry.is_html and entry.site.startswith("http")), None)
    if first is None:
        raise UsageError(f"{file} holds no page: no answer of type text/html.")
    site = first.site
    known = frozenset(entry.request.url for entry in twins) or None
    left_out: Counter[str] = Counter()
    own = [entry for entry in entries if _is_played(entry, site, left_out)]
    pages = _grouped(own, left_out, known)
    _give_names(pages)
    return site, pages, left_out


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
    if entry.site != site:
        return f"a request to another site than {site}"
    what = f"{entry.method[:20]} {entry.parts.path[:100]}"
    if entry.is_socket:
        return ""
    if entry.is_upgrade:
        return f"{what}: it became something else than HTTP, such as a WebSocket of which no message was recorded"
    if entry.response.status < 100:
        return f"{what}: it was never answered"
    if entry.method not in METHODS:
        return f"{what}: no method of a workload"
    if entry.is_kept:
        return f"{what}: the browser had it already"
    if entry.response.status >= 400 and entry.method == "GET" and not entry.is_html and not entry.is_background:
        return f"{what}: answered {entry.response.status}"
    return ""


def _grouped(entries: Sequence[Exchange], left_out: Counter[str], known: frozenset[str] | None) -> list[Page]:
    """Groups a site's exchanges: operations, and what each page among them loads. `known` are the addresses of another
    visit.
    """
    operations: list[Page] = []
    page: Page | None = None
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


def _begins(made: Page, page: Page | None) -> bool:
    """Whether it is an operation of its own, and no part of the latest page."""
    if made.first.method != "GET":
        return True
    if made.last.is_html or made.last.goal:
        return page is None or made.first.start_s - page.end_s >= LEAST_THINK_S
    late = page is not None and made.first.start_s - page.last.end_s >= BACKGROUND_S
    return late and (made.last.is_background or made.first.is_socket)


def _needs_more(made: Page, known: frozenset[str] | None) -> bool:
    """Whether it is more than an embedded file, which is asked for as it is declared: a page or what a program asked
    for, with headers of its own, or at an address that is another in each visit.
    """
    if made.first.is_socket:
        return True
    if not (made.last.is_html or made.last.is_background):
        return False
    if made.status >= 400:
        return True
    own = [name for name, _ in made.own_headers() if name.lower() != "accept"]
    if own or made.first.request.header("authorization"):
        return True
    if known is not None:
        return made.first.request.url not in known
    parts = made.first.parts
    leaves = [*parse_qsl(parts.query), *(("", segment) for segment in parts.path.split("/"))]
    return any(is_token(key, text) for key, text in leaves)


def _joined(entries: Sequence[Exchange]) -> list[Page]:
    """Each redirect with what it led to."""
    made: list[Page] = []
    waiting: dict[str, Page] = {}
    for entry in entries:
        address = entry.request.url.partition("#")[0]
        page = waiting.pop(address, None)
        if page is None or entry.start_s - page.last.end_s >= BACKGROUND_S:
            page = Page(entry, entry)
            made.append(page)
        else:
            page.last, page.redirects = entry, page.redirects + 1
        if entry.goal:
            waiting[entry.goal] = page
    return made


def _give_names(pages: list[Page]) -> None:
    """The same request has the same name wherever it comes in the visit; another of that name gets a number."""
    known: dict[str, dict[object, str]] = {}
    for page in pages:
        parts = page.first.parts
        keys = tuple(sorted({key for key, _ in parse_qsl(parts.query, keep_blank_values=True)}))
        files = tuple(sorted(one.request.url for one in page.embedded))
        said = tuple(turn.shape for turn in page.talk)
        identity = (page.first.method, parts.path, keys, page.redirects, page.status, files, said)
        base = name_of(_without_tokens(parts.path), "home", "page")
        same = known.setdefault(base, {})
        page.name = same.setdefault(identity, base if not same else f"{base}_{len(same) + 1}")


def _without_tokens(path: str) -> str:
    """A path without segments that look like a value of this visit alone, if others remain."""
    return "/".join(segment for segment in path.split("/") if not is_token("", segment)) or path


def _title(answer: Exchange) -> str:
    """The title of a page, if it is plain text; empty for what is no page."""
    head = answer.response.content.text[:TITLE_WITHIN] if answer.is_html else ""
    lower = head.lower()
    begin = lower.find(">", lower.find("<title")) + 1 if "<title" in lower else 0
    end = lower.find("</title", begin)
    title = head[begin:end].strip() if begin and end > begin else ""
    return title if title.isprintable() and "&" not in title and "<" not in title else ""
