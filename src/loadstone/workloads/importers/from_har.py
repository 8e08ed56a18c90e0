"""Importing a HAR file (a browser's record of a visit) as a workload of one's own, to be edited.

Pages become operations, and so does everything that changes something, with the redirects that followed; what pages
load from the same site becomes their embedded files, the order of the visit a sequence, the gaps between operations the
think time. What a workload cannot repeat is left out, and said to be; what only this visit could send is taken from the
answers that it came with (`correlation`), or pointed at.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import tomlkit

from loadstone.model.errors import UsageError
from loadstone.workloads.check import ACCEPTED, CODINGS_KNOWN
from loadstone.workloads.importers.accounts import describe_accounts
from loadstone.workloads.importers.correlated import Correlation, group_places
from loadstone.workloads.importers.correlation import correlate
from loadstone.workloads.importers.har import HarExchange
from loadstone.workloads.importers.har_file import read
from loadstone.workloads.importers.imported import Imported
from loadstone.workloads.importers.leaves import AUTHORIZATION, list_sent_cookies, list_set_cookies, list_steps
from loadstone.workloads.importers.naming import give_names
from loadstone.workloads.importers.recorded_operation import is_checked, write_message, write_operation, write_request
from loadstone.workloads.importers.recorded_request import (
    find_token,
    list_latin_headers,
    list_unsendable_files,
    read_body_text,
)
from loadstone.workloads.importers.sockets import SOCKET_ANSWER_S
from loadstone.workloads.importers.steps import Leaf, Step, align_steps
from loadstone.workloads.importers.visit import Page, choose_site, collect_visit
from loadstone.workloads.writing import build_table, escape_braces, write_table

LONGEST_PREFIX = 40
"""Letters of a workload's name in that of a variable."""
KEPT_HEADERS = ("Accept-Language", "User-Agent")
"""What browsers say of themselves and sites answer by."""
MOST_COOKIES = 5
"""Cookies that are named."""
MOST_FILES_NAMED = 5
"""Files of a form that are named."""
MOST_SITES = 3
"""Other sites that are named."""
PARALLEL = 6
"""Connections a browser opens to one site over HTTP/1.1."""


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

    def name_variables(self, name: str) -> dict[str, str]:
        """Variables of the environment that the workload of this name reads passwords from, by value."""
        return {value: _variable(name, value) for value in self.correlation.passwords.values()}

    def list_secrets(self, name: str) -> dict[str, str]:
        """Returns the values of these variables in the recording."""
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

    def build_workload(self, name: str, as_recorded: frozenset[str] = frozenset()) -> Imported:
        """The workload of this name; values of the names `as_recorded` are sent as they were recorded."""
        values = self.correlation.without(as_recorded)
        variables = self.name_variables(name)
        text = _document(name, self.site, self.pages, self.operations, (values, variables))
        escaped = (
            f"{variables[value]} must contain the password in JSON notation, with escaped quotes"
            for value in self._escaped
        )
        doubts = (*escaped, *self.doubts, *_doubts(self.operations), *describe_accounts(self.steps, values))
        correlated = tuple(value for value in values.values if not value.is_password)
        where = {value: "a body" for value in variables if f"{{{value}}}" in text}
        where |= {
            place.correlated.value: str(place)
            for place in group_places([place for place in values.values if place.is_password])
        }
        passwords = tuple((variables[value], place) for value, place in where.items())
        by_status = sum(not is_checked(page) for page in self.operations.values())
        return Imported(
            text, self.site, len(self.operations), tuple(self.left_out), doubts, correlated, passwords, by_status
        )


def read_recording(file: Path, second: Path | None = None, *, site: str = "") -> Recording:
    """Reads a HAR file, and a second recording of the same steps where there is one; of the `site` that is asked for,
    or the one that the visit is about. Raises UsageError when the file is no HAR file or holds nothing to play.
    """
    first = read(file)
    entries, twins = first.entries, [] if second is None else read(second).entries
    site = choose_site(file, entries, site)
    pages, left_out = collect_visit(entries, site, twins)
    reasons = (*first.unreadable, *left_out.describe_lines())
    if not pages:
        raise UsageError(f"{file} contains no request to {site} that can be played. Left out: {'; '.join(reasons)}.")
    others = [] if second is None else collect_visit(twins, site, entries, is_compared=True)[0]
    steps, correlation, pairs = _correlated(pages, others)
    if once := _of_first_alone(steps, correlation, pairs):
        reasons = (*reasons, *dict.fromkeys(once.values()))
        pages = [page for page in pages if page.name not in once]
        steps, correlation, pairs = _correlated(pages, others)
    operations: dict[str, Page] = {}
    for page in pages:
        operations.setdefault(page.name, page).take_answer(page)
    for place, twin in pairs.items():
        operations[pages[place].name].take_answer(others[twin])
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
    again = list_steps(others)
    steps = list_steps(pages)
    pairs = align_steps(steps, again)
    correlation = correlate(steps, again, pairs)
    names = [page.name for page in pages]
    played_as = [_identity(page, correlation) for page in pages]
    if len(set(played_as)) < len(set(recorded_as)):
        give_names(pages, played_as)
        merged_steps = list_steps(pages)
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
    sent = "" if read_body_text(page.first.request) else unwritable
    turns = ((number, turn.sent) for number, turn in enumerate(page.talk) if turn.sent)
    messages = [write_message(page, number, message, correlation) for number, message in turns]
    requested = repr(_without_random_headers(page, correlation))
    answered = page.redirects, page.status, files
    return requested, _sent_token(page, correlation), sent, *answered, repr(messages)


def _sent_token(page: Page, correlation: Correlation) -> str:
    """The token that allows a request, as it is played; as it was recorded where nothing is looked up yet."""
    token = correlation.fill_leaf(page.name, AUTHORIZATION) or ""
    return token if correlation.values else find_token(page.first.request)[1]


def _without_random_headers(page: Page, correlation: Correlation) -> dict[str, object]:
    """What an operation sends, less the texts of headers that the page's program makes anew for each request."""
    request = write_request(page, correlation)
    headers = request.get("headers")
    if isinstance(headers, dict):
        random = [key for key, text in page.list_own_headers() if _is_random(page, correlation, key, text)]
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
        missing |= dict.fromkeys(name for name in list_sent_cookies(entry) if name and name not in known)
        known |= list_set_cookies(entry)
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
    document["workload"] = build_table(header)
    pacing = {"kind": "think", "distribution": "exponential", "mean_s": think_s, "cap_s": round(15 * think_s, 2)}
    document["pacing"] = build_table(pacing | ({"no_pause_before": at_once} if at_once else {}))
    document["connections"] = build_table({"parallel": PARALLEL})
    document["headers"] = build_table(
        {"Accept-Encoding": _codings(pages)} | _kept_open(pages) | _told_of_browser(pages)
    )
    limits = build_table({"good_s": 2.0, "tolerable_s": 4.0})
    limits.comment("what is good enough for you?")
    document["limits"] = limits
    sequence = {"kind": "sequence", "sequence": [page.name for page in pages]}
    mix = write_table("mix", sequence, "or a matrix with chances, or flat shares")
    tables = [
        write_table(f"operations.{name}", write_operation(page, correlation)) for name, page in operations.items()
    ]
    text = "\n".join([tomlkit.dumps(document), mix, *tables])
    secrets = {value: {"kind": "environment", "variable": variable} for value, variable in variables.items()}
    used = {value: secret for value, secret in secrets.items() if f"{{{value}}}" in text}
    generators = {**correlation.declare_generators(), **used}
    return f"{text}\n{write_table('values', generators)}" if generators else text


def _codings(pages: Sequence[Page]) -> str:
    """Content codings that the browser asked for, as far as a driver decodes them."""
    headers = [header for page in pages for header in page.first.request.headers]
    accepted = next((header.value for header in headers if header.name.lower() == "accept-encoding"), ACCEPTED)
    return (
        ", ".join(coding for coding in (part.strip() for part in accepted.split(",")) if coding in CODINGS_KNOWN)
        or "identity"
    )


def _kept_open(pages: Sequence[Page]) -> dict[str, str]:
    """What browsers say of connections by HTTP/1.1: there are servers that close them otherwise, without a word."""
    is_kept = pages[0].first.request.get_header("connection").lower() == "keep-alive"
    return {"Connection": "keep-alive"} if is_kept else {}


def _told_of_browser(pages: Sequence[Page]) -> dict[str, str]:
    """What the recording browser said of itself."""
    table = {name: pages[0].first.request.get_header(name.lower()) for name in KEPT_HEADERS}
    return {name: escape_braces(text) for name, text in table.items() if text and text.isprintable() and text.isascii()}


def _doubts(operations: Mapping[str, Page]) -> Iterator[str]:
    """What was not recorded, or is played otherwise."""
    for name, page in operations.items():
        body = page.first.request.body
        if files := list_unsendable_files(page.first.request):
            sent = ", ".join(f"`{part.name[:80]}`" for part in files[:MOST_FILES_NAMED])
            yield f"files of {name} ({sent}) are sent as fillers of the recorded length: their content was not text"
        elif body is not None and page.first.request.has_body and not read_body_text(page.first.request):
            yield f"the body of {name} ({body.mime_type[:80] or 'of an unknown type'}) was not recorded as text"
        for header in list_latin_headers(page.first):
            yield f"header {header} of {name} is sent as UTF-8; the browser sent it as Latin-1"
        sent_s = [turn.sent.at_s for turn in page.talk if turn.sent]
        if sent_s and (took_s := sent_s[-1] - sent_s[0]) > SOCKET_ANSWER_S:
            yield f"{name} sends its {len(sent_s)} messages one after another; the recorded visit took {took_s:.0f} s"
