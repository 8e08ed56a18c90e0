"""Which values of a recorded visit a server gave out for this visit alone, and how to take them from its answers. Pure.

A request is a set of leaves: segments of its path, fields of its query and form, headers, values of its JSON. A leaf
that differs between two recordings of the same steps, or looks like a token, is looked up in the latest earlier answer
that holds it; the plainest rule that finds it there, in both recordings where there are two, is what the workload
declares.
"""

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from html.parser import HTMLParser
from typing import Any, Literal
from urllib.parse import quote, unquote

from loadstone.workloads.har import Exchange
from loadstone.workloads.writing import name_of

ONCE = ("csrf", "xsrf", "token", "nonce", "viewstate", "eventvalidation", "signature", "requestid")
"""Parts of names whose values servers give out for one use."""
LEAST_TOKEN = 16
"""Letters of a value that is taken for a token by its looks alone."""
LEAST_VALUE = 3
"""Letters of a value that can be looked up: a shorter one stands anywhere."""
MOST_ANSWER = 1 << 20
"""Characters of an answer that are looked at: as many bytes as the driver keeps of it."""
MOST_LEAVES = 100_000
"""Values of one JSON document that are looked at."""
CONTEXTS = (8, 16, 24, 40)
"""Letters before a value by which it is found, the fewest that are enough."""
MOST_PLACES = 20
"""Places of one answer that are tried."""

DECODERS: Mapping[str, Callable[[str], str]] = {"html": html.unescape, "url": unquote}

Kind = Literal["path", "query", "field", "header", "JSON"]
Why = Literal["one use", "client-made", "unknown"]


@dataclass(frozen=True)
class Leaf:
    """A place of a request."""

    kind: Kind
    key: str

    def __str__(self) -> str:
        return f"{self.kind} {self.key[:80]}"


@dataclass(frozen=True)
class Step:
    """A request of a visit, by its operation, and the answer that it ended with."""

    operation: str
    method: str
    path: str
    leaves: Mapping[Leaf, str]
    answer: Exchange
    cookies: Mapping[str, str] = field(default_factory=dict)
    """Those that the browser sent, and that an answer had set."""

    @property
    def route(self) -> tuple[str, str, tuple[str, ...]]:
        """What it has in common with the same step of another recording."""
        masked = re.sub(r"/[^/]*[0-9][^/]*", "/#", self.path)
        return self.method, masked, tuple(sorted(map(str, self.leaves)))


@dataclass(frozen=True)
class Rule:
    """A way to take a value out of an answer, as workloads declare it."""

    how: tuple[tuple[str, str], ...]

    def taken(self, answer: Exchange) -> str | None:
        """What it finds, as the driver would."""
        how = dict(self.how)
        if "header" in how:
            told = (one.value for one in answer.response.headers if one.name.lower() == how["header"].lower())
            return next(told, None)
        text = text_of(answer)
        if "json" in how:
            return next((value for pointer, value in json_leaves(text) if pointer == how["json"]), None)
        if "field" in how:
            return next((value for name, value in fields_of(text) if name == how["field"]), None)
        at = text.find(how["after"])
        begin = at + len(how["after"])
        end = text.find(how["before"], begin) if at >= 0 else -1
        if end < 0:
            return None
        found = text[begin:end]
        return DECODERS[how["decode"]](found) if "decode" in how else found

    def __str__(self) -> str:
        how = dict(self.how)
        if "after" in how:
            return f"the text behind `{how['after']}`"
        ((place, key), *_) = self.how
        told = {"json": f"`{key}` of the JSON", "header": f"the header {key}", "field": f"the field {key}"}
        return told.get(place, f"the cookie {key}")


@dataclass(frozen=True)
class Correlated:
    """A value that is of its visit alone, and what became of it."""

    operation: str
    leaf: Leaf
    value: str = ""
    """Name of the value that stands in its place; empty where none was found."""
    source: str = ""
    """The operation whose answer it is taken from."""
    rule: Rule | None = None
    recordings: int = 1
    """In how many the rule finds it."""
    why: Why = "unknown"
    """What it is held for, where no rule was found."""

    @property
    def missed(self) -> str:
        """That no rule was found, for people."""
        return f"{self.leaf} of {self.operation} stands in no earlier answer ({self.why}): give it a value of your own"


@dataclass
class Correlation:
    """All of a visit."""

    found: list[Correlated] = field(default_factory=list)

    def without(self, values: frozenset[str]) -> "Correlation":
        """The same without the values of these names."""
        return Correlation([one for one in self.found if one.value not in values])

    def value(self, operation: str, leaf: Leaf) -> str | None:
        """Name of the value that stands there instead of what was recorded."""
        same = (one for one in self.found if one.operation == operation and one.leaf == leaf and one.value)
        return next((one.value for one in same), None)

    def extracts(self, operation: str) -> list[dict[str, str]]:
        """What is taken from an operation's answer, as workloads declare it."""
        rules = {one.value: one.rule for one in self.found if one.source == operation and one.rule is not None}
        return [{"value": name, **dict(rule.how)} for name, rule in rules.items()]


def correlate(steps: Sequence[Step], other: Sequence[Step] = ()) -> Correlation:
    """Looks all leaves of a visit up, with a second recording of the same steps where there is one."""
    return Correlation(list(_Search(steps, other).found()))


@dataclass
class _Search:
    """For the sources of a visit's values."""

    steps: Sequence[Step]
    other: Sequence[Step]
    names: dict[tuple[str, Rule], str] = field(default_factory=dict)
    """Of the values so far, by where they are taken from."""

    def __post_init__(self) -> None:
        self.pairs = _aligned(self.steps, self.other)

    def found(self) -> Iterator[Correlated]:
        """Each place of a request that may be of the visit alone, once."""
        seen: set[tuple[str, Leaf]] = set()
        for number, step in enumerate(self.steps):
            for leaf, value in step.leaves.items():
                place = step.operation, leaf
                if place not in seen and _is_of_the_visit(leaf, value, self._again(number, leaf)):
                    seen.add(place)
                    yield self._looked_up(number, leaf)

    def _twin(self, number: int) -> Step | None:
        """The same step of the second recording."""
        return self.other[self.pairs[number]] if number in self.pairs else None

    def _again(self, number: int, leaf: Leaf) -> str | None:
        twin = self._twin(number)
        return twin.leaves.get(leaf) if twin is not None else None

    def _looked_up(self, number: int, leaf: Leaf) -> Correlated:
        step, value, again = self.steps[number], self.steps[number].leaves[leaf], self._again(number, leaf)
        for source, rule, is_proven in self._ways(number, value, again) if len(value) >= LEAST_VALUE else ():
            if is_proven or again is None:
                name = self.names.setdefault((source, rule), _new_name(leaf, self.names.values()))
                return Correlated(step.operation, leaf, name, source, rule, 2 if is_proven else 1)
        return Correlated(step.operation, leaf, why=_kind_of(leaf, value))

    def _ways(self, number: int, value: str, again: str | None) -> Iterator[tuple[str, Rule, bool]]:
        """Operation, rule, and whether the second recording has the value there too; the plainest way first."""
        twin = self._twin(number)
        for rule in _cookie_rules(self.steps[number], value) if number else ():
            is_proven = again is not None and twin is not None and rule in _cookie_rules(twin, again)
            yield self.steps[number - 1].operation, rule, is_proven
        for earlier in range(number - 1, -1, -1):
            source, twin = self.steps[earlier], self._twin(earlier)
            visits = [one.answer for one in self.steps if one.operation == source.operation]
            for rule in _rules(source.answer, value):
                if all(rule.taken(answer) is not None for answer in visits):  # else another visit were an error
                    is_proven = again is not None and twin is not None and rule.taken(twin.answer) == again
                    yield source.operation, rule, is_proven


def _new_name(leaf: Leaf, known: Any) -> str:
    base = name_of(leaf.key.rpartition("/")[2], "value", "segment").lower()
    taken, number = set(known), 1
    while (name := base if number == 1 else f"{base}_{number}") in taken:
        number += 1
    return name


def _is_of_the_visit(leaf: Leaf, value: str, again: str | None) -> bool:
    """Whether a value may be of its visit alone."""
    return is_token(leaf.key, value) or (again is not None and again != value)


def is_token(key: str, value: str) -> bool:
    """Whether a value looks like one that a server gave out, by its name or by its letters."""
    plain = re.sub(r"[^a-z]", "", key.lower())
    if any(word in plain for word in ONCE):
        return True
    is_random = len(value) >= LEAST_TOKEN and re.fullmatch(r"[A-Za-z0-9+/=_.~-]+", value) is not None
    return is_random and any(letter.isdigit() for letter in value) and any(letter.isalpha() for letter in value)


def _kind_of(leaf: Leaf, value: str) -> Why:
    is_time = re.fullmatch(r"1[0-9]{9}([0-9]{3})?(\.[0-9]+)?", value)
    is_uuid = re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", value)
    if is_time or is_uuid:
        return "client-made"
    return "one use" if is_token(leaf.key, value) else "unknown"


def _aligned(steps: Sequence[Step], other: Sequence[Step]) -> dict[int, int]:
    """Which step of the second recording each of the first is."""
    matcher = SequenceMatcher(None, [one.route for one in steps], [one.route for one in other], autojunk=False)
    pairs = {}
    for block in matcher.get_matching_blocks():
        pairs.update({block.a + at: block.b + at for at in range(block.size)})
    return pairs


def _cookie_rules(step: Step, value: str) -> list[Rule]:
    """Cookies of a request that a value of it repeats, as programs of pages copy them."""
    plain = [Rule((("cookie", name),)) for name, text in step.cookies.items() if text == value]
    coded = [
        Rule((("cookie", name), ("decode", "url")))
        for name, text in step.cookies.items()
        if text != value and unquote(text) == value
    ]
    return plain + coded


def _rules(answer: Exchange, value: str) -> Iterator[Rule]:
    """Ways in which a value can be found in an answer, the plainest first."""
    for one in answer.response.headers:
        if one.value == value and one.name.lower() not in ("set-cookie", "location"):
            yield Rule((("header", one.name),))
    text = text_of(answer)
    for pointer, found in json_leaves(text):
        if found == value:
            yield Rule((("json", pointer),))
    forms = {"": value, "html": html.escape(value), "url": quote(value, safe="")}
    if not any(form in text for form in forms.values()):
        return
    named = list(fields_of(text))
    firsts = dict(reversed(named))
    yield from (Rule((("field", name),)) for name, found in firsts.items() if found == value and name)
    for how, form in forms.items():
        if how and form == value:
            continue
        yield from (Rule((*rule, *((("decode", how),) if how else ()))) for rule in _between(text, form))


def _between(text: str, value: str) -> Iterator[tuple[tuple[str, str], ...]]:
    """Texts before and behind a value by which it is found first."""
    at = -1
    for _ in range(MOST_PLACES):
        at = text.find(value, at + 1)
        if at < 0:
            return
        before = text[at + len(value) : at + len(value) + 1]
        if not before.isprintable() or not before or before in value:
            continue
        for letters in CONTEXTS:
            after = text[max(0, at - letters) : at].rpartition("\n")[2]
            if after.strip() and after.isprintable() and text.find(after) == at - len(after):
                yield (("after", after), ("before", before))
                break


def text_of(answer: Exchange) -> str:
    """As much of an answer as the driver looks at."""
    return answer.response.content.text[:MOST_ANSWER]


def json_leaves(text: str) -> Iterator[tuple[str, str]]:
    """Texts and numbers of a JSON document by their pointers (RFC 6901); none of what is no JSON."""
    if text.lstrip()[:1] not in ("{", "["):
        return
    try:
        waiting: list[tuple[str, Any]] = [("", json.loads(text))]
    except (ValueError, RecursionError):
        return
    for _ in range(MOST_LEAVES):
        if not waiting:
            return
        pointer, value = waiting.pop()
        if isinstance(value, dict):
            steps = [(key.replace("~", "~0").replace("/", "~1"), below) for key, below in value.items()]
            waiting += [(f"{pointer}/{key}", below) for key, below in reversed(steps)]
        elif isinstance(value, list):
            waiting += [(f"{pointer}/{at}", below) for at, below in reversed(list(enumerate(value)))]
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            yield pointer, value if isinstance(value, str) else json.dumps(value)


class _Fields(HTMLParser):
    """Collects values of form fields and contents of meta elements by their names."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Takes one element."""
        told = {key: text or "" for key, text in attrs}
        value = told.get("content" if tag == "meta" else "value")
        if value is not None:
            self.found += [(told[key], value) for key in ("name", "id", "property") if told.get(key)]


def fields_of(text: str) -> Iterator[tuple[str, str]]:
    """Form fields and meta elements of a page, as (name, value), in their order."""
    if "<" not in text:
        return
    parser = _Fields()
    parser.feed(text)
    yield from parser.found
