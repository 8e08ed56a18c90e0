"""Names of recorded requests: of their paths, and where several share one, of what tells them apart. Pure."""

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice

from loadstone.workloads.importers.answers import list_json_leaves
from loadstone.workloads.importers.recorded_request import (
    index_fields,
    is_password,
    pair_list,
    read_body_text,
    read_form_text,
)
from loadstone.workloads.importers.tokens import is_token
from loadstone.workloads.importers.visit import Page
from loadstone.workloads.writing import name_of

ACTIONS = (
    "operationName",
    "action",
    "act",
    "method",
    "cmd",
    "command",
    "op",
    "operation",
    "do",
    "task",
    "route",
    "page",
)
"""Fields by which one address does many things, with GraphQL's and JSON-RPC's."""
METHOD_NAMES = {"POST": "submit", "GET": "page"}
"""Second part of a name, where a path is asked for by several methods; other methods in small letters."""
LONGEST_LABEL = 30
MOST_NAMED_LEAVES = 50
"""Values of a JSON body in which a label is looked for."""
GRAPHQL = re.compile(r"\b(?:query|mutation|subscription)\s+(\w+)|\{\s*(\w+)")
"""The name of a query, or its first field."""


def give_names(pages: Sequence[Page], identities: Sequence[Hashable]) -> None:
    """Names pages: those with the same identity have the same name."""
    bases: dict[str, dict[Hashable, Page]] = {}
    for page, identity in zip(pages, identities, strict=True):
        bases.setdefault(_base(page), {}).setdefault(identity, page)
    taken = _TakenNames(bases.keys())
    names: dict[tuple[str, Hashable], str] = {}
    for base, distinct in bases.items():
        for identity, name in zip(distinct, _names(base, list(distinct.values())), strict=True):
            names[base, identity] = taken.take(name, base)
    for page, identity in zip(pages, identities, strict=True):
        page.name = names[_base(page), identity]


@dataclass
class _TakenNames:
    """Names of operations so far."""

    bases: AbstractSet[str]
    """Reserved, each for the requests whose names begin with it."""
    used: set[str] = field(default_factory=set)
    numbers: Counter[str] = field(default_factory=Counter)
    """The last number behind each name."""

    def take(self, name: str, base: str) -> str:
        """Takes the name of a request, or the name with the next number, from 2 on."""
        candidate = name
        while candidate in self.used or (candidate in self.bases and candidate != base):
            self.numbers[name] += 1
            candidate = f"{name}_{self.numbers[name] + 1}"
        self.used.add(candidate)
        return candidate


def _base(page: Page) -> str:
    path = page.first.parts.path
    plain = "/".join(segment for segment in path.split("/") if not is_token("", segment)) or path
    return name_of(plain, "home", "page")


def _names(base: str, pages: Sequence[Page]) -> Iterator[str]:
    by_method = Counter(page.first.method for page in pages)
    siblings = {method: [page for page in pages if page.first.method == method] for method in by_method}
    differing = {method: _differing(several) for method, several in siblings.items() if len(several) > 1}
    for page in pages:
        method = page.first.method
        label = _label(page, differing[method]) if method in differing else ""
        if not label and method != pages[0].first.method:
            label = METHOD_NAMES.get(method, method.lower())
        yield f"{base}_{label}" if label else base


def _differing(pages: Sequence[Page]) -> set[str]:
    """Fields that are not the same in all of these requests."""
    values: dict[str, set[str]] = {}
    for page in pages:
        for key, text in _fields(page).items():
            values.setdefault(key, set()).add(text)
    return {key for key, texts in values.items() if len(texts) > 1}


def _label(page: Page, differing: set[str]) -> str:
    """What tells a request from the others of its path: what it does, or a value; empty where nothing short does."""
    fields = _fields(page)
    actions = (fields[key] for key in ACTIONS if key in fields and key in differing)
    header = page.first.request.get_header("soapaction").strip('"').rpartition("/")[2]
    query = GRAPHQL.search(fields.get("query", "")) if "query" in differing else None
    named = (query[1] or query[2]) if query else ""
    values = (_worded(key, text) for key, text in fields.items() if key in differing and not is_password(key))
    for label in (*actions, header, named, *values):
        if label and len(label) <= LONGEST_LABEL and not is_token("", label) and re.search(r"[A-Za-z0-9]", label):
            return re.sub(r"[^A-Za-z0-9]+", "_", label).strip("_")
    return ""


def _worded(key: str, text: str) -> str:
    """A value that is no word says less than its name with it."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", key).strip("_")
    return text if re.match(r"[A-Za-z]", text) or is_token(key, text) else f"{plain}_{text}"


def _fields(page: Page) -> dict[str, str]:
    """What a request sends by names, of its query, its form and its JSON."""
    request = page.first.request
    form = read_form_text(request)
    leaves = {} if form else dict(islice(list_json_leaves(read_body_text(request)), MOST_NAMED_LEAVES))
    json = {pointer.rpartition("/")[2]: text for pointer, text in leaves.items()}
    return {**index_fields(pair_list(page.first.parts.query)), **index_fields(pair_list(form)), **json}
