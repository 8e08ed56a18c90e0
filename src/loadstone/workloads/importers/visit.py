"""A recorded visit as what a user did: pages with what each loads, and what cannot be played again. Pure.

Pages become operations, and so does everything that changes something, with the redirects that followed; what pages
load from the same site becomes their embedded files.
"""

import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from loadstone.model.errors import UsageError
from loadstone.workloads.importers.har import BACKGROUND, HarExchange, find_site
from loadstone.workloads.importers.recorded_request import SECRET_HEADERS, has_lasting_token, list_own_headers
from loadstone.workloads.importers.sockets import Turn, split_turns
from loadstone.workloads.importers.tokens import find_moment, is_token

LEAST_THINK_S = 0.1
"""Pages closer together than this are parts of one."""
BACKGROUND_S = 1.0
"""What is asked for so long after a page came, or after a redirect, is no part of it."""
LONG_EXCHANGE_S = 5.0
"""A file that takes longer does not delay its page: the user goes on meanwhile."""
LONG_POLL_S = 20.0
"""A request of a page's program that takes longer waits for something to happen, and no user waits for it."""
PLAYED_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
"""Methods that a workload can have."""
CHANGES = ("POST", "PUT", "PATCH", "DELETE")
"""Methods that change something (RFC 9110, section 9.2.1)."""
TITLE_WITHIN = 1 << 16
"""Bytes of a page in which its title is looked for: as many as the driver keeps."""
TITLE_BEGINS = re.compile(r"<title(?:[\s/][^<>]*)?>", re.IGNORECASE)
TITLE_ENDS = re.compile(r"</title[\s/>]", re.IGNORECASE)
"""The first title counts, whatever its case and attributes."""
PAGE_WEIGHT = 3
"""A page counts as much as so many requests of programs, where the site of a visit is chosen."""
SHARED_LABELS = 2
"""Labels at the end of a name that sites of one owner share, as `shop.example` of `api.shop.example`."""
FIRST_STATUS = 100
"""The least status; recorders write less where no answer came."""
REVALIDATED, PARTIAL = 304, 206
"""Statuses of an answer to a browser that had the page already, and to one that asked for a part of it."""


@dataclass
class Page:
    """An operation to be: the request it begins with, and the answer it ends with."""

    first: HarExchange
    last: HarExchange
    passed: list[HarExchange] = field(default_factory=list)
    """Redirects on its way, the last first."""
    embedded: list[HarExchange] = field(default_factory=list)
    name: str = ""
    is_part: bool = False
    """Whether a page asked for it, and no user."""
    titles: set[str] = field(default_factory=set)
    """Of the answers to it, in all visits."""
    statuses: set[int] = field(default_factory=set)
    answers: list[str] = field(default_factory=list)
    """Texts of the answers to it, in all visits, as far as the browser kept them."""
    talks: list[list[Turn]] = field(default_factory=list)
    """What was said over a WebSocket, in all visits."""

    def take_answer(self, visit: "Page") -> None:
        """Takes over how it was answered in a visit, as far as the browser kept that."""
        if visit.status < FIRST_STATUS:
            return
        self.statuses.add(visit.status)
        if visit.last.response.content.text:
            self.titles.add(read_title(visit.last))
            self.answers.append(visit.last.response.content.text)
        if self.talk and visit.talk:
            self.talks.append(visit.talk)

    @cached_property
    def talk(self) -> list[Turn]:
        """What was said over a WebSocket; empty of all else."""
        return split_turns(self.first.messages, self.first.start_s) if self.first.is_socket else []

    def list_own_headers(self) -> Iterator[tuple[str, str]]:
        """Yields the headers that a page's program added to the request."""
        return list_own_headers(self.first, is_page=self.last.is_html)

    @property
    def end_s(self) -> float:
        """When it was there with all that it loads, except for what takes long beside the user's visit."""
        return max(
            entry.end_s for entry in (self.last, *self.embedded) if entry is self.last or entry.took_s < LONG_EXCHANGE_S
        )

    @property
    def redirects(self) -> int:
        """How many led from its request to its answer."""
        return len(self.passed)

    @property
    def status(self) -> int:
        """Of the answer it ends with, as a browser gets it that does not have the page, or parts of it, already."""
        status = self.last.response.status
        is_whole = status == REVALIDATED or (status == PARTIAL and self.last.kind not in BACKGROUND)
        return 200 if is_whole else status


@dataclass
class LeftOut:
    """What is not played."""

    others: Counter[str] = field(default_factory=Counter)
    """Requests to other sites."""
    cached: int = 0
    """Files that the browser had from earlier pages of the visit."""
    reasons: Counter[str] = field(default_factory=Counter)

    def describe_lines(self) -> Iterator[str]:
        """All of it, for people."""
        for reason, times in self.reasons.items():
            yield reason if times == 1 else f"{reason} ({times} times)"
        if self.others:
            count = sum(self.others.values())
            sites = ", ".join(f"{site} ({times})" for site, times in self.others.most_common())
            yield f"{count} request{'s' * (count > 1)} to other sites: {sites}"
        if self.cached:
            files = "1 file" if self.cached == 1 else f"{self.cached} files"
            yield f"{files} that the browser had in its cache from earlier pages, as on real visits"


def collect_visit(
    entries: Sequence[HarExchange], site: str, twins: Sequence[HarExchange], *, is_compared: bool = False
) -> tuple[list[Page], LeftOut]:
    """Returns the visited pages of a site, and what was left out. `twins` are the exchanges of another visit, if there
    is one. A visit that `is_compared` alone, and not played, keeps changes without an answer: they show what was sent.
    """
    known = frozenset(entry.request.url for entry in twins) or None
    left_out = LeftOut()
    documents = [entry.start_s for entry in entries if entry.is_html and entry.site == site and not entry.goal]
    had: set[str] = set()
    site_entries = []
    for entry in entries:
        is_sent = is_compared and entry.site == site and entry.method in CHANGES and not entry.is_upgrade
        if (is_sent and entry.response.status < FIRST_STATUS) or _is_played(entry, site, (documents, had), left_out):
            site_entries.append(entry)
        if entry.site == site and entry.response.status >= FIRST_STATUS:
            had.add(entry.address)
    return _grouped(site_entries, left_out, known), left_out


def choose_site(file: Path, entries: Sequence[HarExchange], wanted: str = "") -> str:
    """The site that a visit is about, or the `wanted` one: that of the first page, where its redirects led to, or one
    of the same owner that more was asked of. Raises UsageError where there is none.
    """
    weights: Counter[str] = Counter()
    for entry in entries:
        if entry.site.startswith("http"):
            weights[entry.site] += _weight(entry)
    if wanted:
        forms = [wanted] if "://" in wanted else [f"https://{wanted}", f"http://{wanted}"]
        site = next((candidate for candidate in map(find_site, forms) if candidate in weights), "")
        if not site:
            known = ", ".join(site for site, _ in weights.most_common()) or "none"
            raise UsageError(f"{file} contains no request to the site `{wanted}`. Sites in it: {known}.")
        return site
    first = next((entry for entry in entries if _is_page(entry) and entry.site in weights), None)
    if first is None:
        site, weight = max(weights.items(), key=lambda weighted: weighted[1], default=("", 0))
        if not weight:
            raise UsageError(f"{file} contains no page: no response of type text/html, and none to a page's script.")
        return site
    ways = _redirected(entries, first)
    owner = [site for site in weights if any(_have_one_owner(site, way) for way in ways)]
    return max(dict.fromkeys([*reversed(ways), *owner]), key=lambda site: weights[site])


def _is_page(entry: HarExchange) -> bool:
    return entry.is_html or bool(entry.goal and entry.kind in ("", "document"))


def _weight(entry: HarExchange) -> int:
    """How much a request says that the visit is about its site."""
    if entry.method not in PLAYED_METHODS or entry.response.status < FIRST_STATUS or entry.goal:
        return 0
    if entry.is_html:
        return PAGE_WEIGHT
    return int(entry.method != "GET" or entry.is_background or entry.is_socket)


def _redirected(entries: Sequence[HarExchange], first: HarExchange) -> list[str]:
    """Sites that the first request came to, redirect by redirect."""
    sites, last = [first.site], first
    for _ in entries:
        led = next((entry for entry in entries if entry.address == last.goal and entry.start_s >= last.start_s), None)
        if not last.goal or led is None:
            break
        sites.append(led.site)
        last = led
    return sites


def _have_one_owner(site: str, second: str) -> bool:
    """Whether two sites are of one owner by their names: the same host, or names that end alike, as `app.shop.example`
    and `api.shop.example`; under endings such as `co.uk` three labels are compared.
    """
    hosts = [urlsplit(site_address).hostname or "" for site_address in (site, second)]
    if hosts[0] == hosts[1]:
        return True
    labels = [host.split(".") for host in hosts]
    if any(":" in host for host in hosts) or any(label.isdigit() for label in (labels[0][-1], labels[1][-1])):
        return False
    is_country = len(labels[0][-1]) == 2 and len(labels[0]) > 1 and len(labels[0][-2]) <= 3
    count = SHARED_LABELS + is_country
    return min(map(len, labels)) >= count and labels[0][-count:] == labels[1][-count:]


def _is_played(
    entry: HarExchange, site: str, visit: tuple[Sequence[float], AbstractSet[str]], left_out: LeftOut
) -> bool:
    """Whether it can be repeated; if not, why is noted. `visit` has the moments of its pages, and what the browser had
    by then: a page that it had from before the visit is asked for by a new user's browser.
    """
    documents, had = visit
    if entry.site and entry.site != site:
        left_out.others[entry.site] += 1
        return False
    if entry.site and entry.is_kept and (not entry.is_html or entry.address in had):
        left_out.cached += 1
        return False
    reason = _unplayable(entry, documents)
    if reason:
        left_out.reasons[reason] += 1
        return False
    secret = {header.name.lower() for header in entry.request.headers}.intersection(SECRET_HEADERS)
    if secret - ({"authorization"} if has_lasting_token(entry.request) else set()):
        left_out.reasons.setdefault("cookies and credentials (cookies the site sets are kept while it runs)", 1)
    return True


def _unplayable(entry: HarExchange, documents: Sequence[float]) -> str:
    if not entry.site:
        return "a request without a readable address"
    request = f"{entry.method[:20]} {entry.parts.path[:100]}"
    if entry.is_socket:
        return ""
    if entry.is_upgrade:
        return f"{request}: it switched to another protocol, such as a WebSocket without recorded messages"
    if entry.is_stream:
        return f"{request}: a stream of events, which stays open as long as its page"
    if entry.response.status < FIRST_STATUS:
        return f"{request}: it got no response"
    if entry.method not in PLAYED_METHODS:
        return f"{request}: workloads do not support the method"
    if _is_long_poll(entry, documents):
        return f"{request}: a long poll, open for {entry.took_s:.0f} s"
    if entry.response.status >= 400 and entry.method == "GET" and not entry.is_html and not entry.is_background:
        return f"{request}: answered {entry.response.status}"
    return ""


def _is_long_poll(entry: HarExchange, documents: Sequence[float]) -> bool:
    """Whether a page's program waited for news: longer than users wait, or while the next page was opened."""
    is_asked_for = entry.is_background or (not entry.kind and _is_bare_text(entry))
    if entry.method != "GET" or not is_asked_for or entry.took_s < LONG_EXCHANGE_S:
        return False
    goes_on = any(entry.start_s + BACKGROUND_S < at_s < entry.end_s for at_s in documents)
    return goes_on or entry.took_s >= LONG_POLL_S


def _is_bare_text(entry: HarExchange) -> bool:
    """Whether it brought text that no page shows: some browsers do not record what asked for it."""
    return entry.response.content.mime_type.partition(";")[0].strip() in ("", "text/plain")


def _grouped(entries: Sequence[HarExchange], left_out: LeftOut, known: frozenset[str] | None) -> list[Page]:
    """Groups a site's exchanges: operations, and what each page among them loads. `known` are the addresses of another
    visit.
    """
    operations: list[Page] = []
    page: Page | None = None
    for candidate in _joined(entries):
        candidate.is_part = not _begins(candidate, page)
        if not candidate.is_part or (page is not None and _needs_more(candidate, page, known)):
            operations.append(candidate)
            page = candidate if page is None or candidate.last.is_html else page
        elif page is None:
            left_out.reasons[
                f"{candidate.first.method} {candidate.first.parts.path[:100]}: it came before the first page"
            ] += 1
        else:
            page.embedded.append(candidate.last)
    return operations


def _begins(candidate: Page, page: Page | None) -> bool:
    """Whether it is an operation of its own, and no part of the latest page."""
    if candidate.first.method != "GET":
        return True
    if candidate.last.is_html or (candidate.last.goal and _is_page(candidate.last)):
        pause_s = BACKGROUND_S if candidate.first.is_frame else LEAST_THINK_S
        return page is None or candidate.first.start_s - page.end_s >= pause_s
    is_asked_for = candidate.last.is_background or candidate.first.is_socket or candidate.last.kind == "document"
    return is_asked_for and (page is None or candidate.first.start_s - page.last.end_s >= BACKGROUND_S)


def _needs_more(candidate: Page, page: Page, known: frozenset[str] | None) -> bool:
    """Whether it is more than an embedded file, which is asked for as it is declared: a page or what a program asked
    for, with headers of its own, or at an address that is another in each visit. Interfaces have no files.
    """
    if candidate.first.is_socket:
        return True
    if not (candidate.last.is_html or candidate.last.is_background):
        return False
    if candidate.status >= 400 or not page.last.is_html:
        return True
    headers = [name for name, _ in candidate.list_own_headers() if name.lower() != "accept"]
    if headers or candidate.first.request.get_header("authorization"):
        return True
    if known is not None:
        return candidate.first.request.url not in known
    parts = candidate.first.parts
    leaves = [*parse_qsl(parts.query), *(("", segment) for segment in parts.path.split("/"))]
    return any(is_token(key, text) or find_moment(text, candidate.first.start_s)[0] for key, text in leaves)


def _joined(entries: Sequence[HarExchange]) -> list[Page]:
    """Each redirect with what it led to."""
    pages: list[Page] = []
    waiting: dict[str, Page] = {}
    for entry in entries:
        page = waiting.pop(entry.address, None)
        if page is None or entry.start_s - page.last.end_s >= BACKGROUND_S:
            page = Page(entry, entry)
            pages.append(page)
        else:
            page.passed.insert(0, page.last)
            page.last = entry
        if entry.goal:
            waiting[entry.goal] = page
    return pages


def read_title(answer: HarExchange) -> str:
    """The title of a page as a browser shows it; empty for what is no page, and where none can be compared."""
    if not answer.is_html:
        return ""
    head = answer.response.content.text[:TITLE_WITHIN].encode("utf-8", "replace")[:TITLE_WITHIN].decode(errors="ignore")
    begin = TITLE_BEGINS.search(head)
    end = TITLE_ENDS.search(head, begin.end()) if begin else None
    if begin is None or end is None:
        return ""
    title = " ".join(re.split(r"[ \t\n\f\r]+", html.unescape(head[begin.end() : end.start()]))).strip(" ")
    return title if title.isprintable() and "<" not in title else ""
