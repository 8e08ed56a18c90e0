"""Which values of a recorded visit a server gave out for this visit alone, and how to take them from its answers. Pure.

A request is a set of leaves: segments of its path, fields of its query and form, headers, values of its JSON and of
messages over a WebSocket. A leaf
that differs between two recordings of the same steps, or looks like a token, is looked up in the latest earlier answer
that holds it; the plainest rule that finds it there, in both recordings where there are two, is what the workload
declares.
"""

import base64
import binascii
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from html.parser import HTMLParser
from itertools import islice
from typing import Any, Literal
from urllib.parse import quote, unquote

from loadstone.workloads.importers.har import Exchange
from loadstone.workloads.importers.recorded_request import LEAST_PASSWORD, is_password
from loadstone.workloads.writing import literal, name_of

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

PLAIN = re.compile(r"[A-Za-z0-9_-]*[A-Za-z_][A-Za-z0-9_-]*")
"""A text that JSON and HTML write as it is, and no number."""
DECODER = json.JSONDecoder()
BLANKS = (" ", "\t", "\n", "\r")
"""Between parts of a JSON document (RFC 8259, section 2)."""
MOST_NAMED = 3
"""Operations that are named of many."""
LEAST_PART = 8
"""Letters of a value that is looked for within others."""
WITHIN = re.compile(r"[A-Za-z0-9+/_.~-]{16,}={0,2}")
"""A text within others that may be a token: LEAST_TOKEN letters at least."""
KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)[\"']?\s*[=:>]\s*[\"']?$")
"""The name before such a text: of a field, of a value of JSON, or of an element."""
ORIGIN = re.compile(r"^(?:[A-Za-z][A-Za-z0-9+.-]*:)?//[^/?#]*")
"""Scheme and host of an address, whatever stands there."""
MOST_WITHIN = 50
"""Tokens within one text that are looked up."""
ENTITIES = {"&": "amp", '"': "quot", "'": "apos", "<": "lt", ">": "gt", "/": "sol", "+": "plus", "=": "equals"}
"""Names of character references."""
WORDS = (re.compile(r"([A-Za-z0-9_.~-]+)"), re.compile(r"([A-Za-z0-9]+)"))
"""Words of a text, long ones first: two recordings show which of them is a value, however short it is."""


def _of_json(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text


def _of_base64(text: str) -> str:
    padded = text.translate(str.maketrans("-_", "+/")) + "=" * (-len(text) % 4)
    try:
        return base64.b64decode(padded).decode()
    except (ValueError, binascii.Error):
        return text


def _to_base64(value: str) -> str:
    return base64.b64encode(value.encode()).decode().rstrip("=")


DECODERS: Mapping[str, Callable[[str], str]] = {
    "html": html.unescape,
    "url": unquote,
    "json": _of_json,
    "base64": _of_base64,
}
"""How a value may be written in an answer, as the driver decodes it."""
ESCAPES = ("html", "url", "json")
"""Ways that write single signs otherwise."""

Kind = Literal["path", "query", "field", "part", "header", "JSON", "body", "message"]
Why = Literal[
    "one use", "client-made", "chosen from a list", "typed data", "unknown", "told in passing", "first recording alone"
]
TIMES = (
    r"1[0-9]{9}([0-9]{3})?(\.[0-9]+)?",
    r"20[0-9]{2}[01][0-9][0-3][0-9]([0-2][0-9][0-5][0-9][0-5][0-9]([0-9]{3})?)?",
    r"20[0-9]{2}-[01][0-9]-[0-3][0-9]([T ][0-9:.]+(Z|[+-][0-9:]+)?)?",
)
"""A moment in seconds or milliseconds since 1970, in digits alone, and by ISO 8601."""
MS_DIGITS = 13
"""Digits of a moment in milliseconds since 1970."""
SENDING_S = 10.0
"""A moment that is so close to that of its request is that of its request."""
UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
PASSWORD_INPUT = re.compile(r"<input\b[^<>]*\btype\s*=\s*[\"']?password\b[^<>]*>", re.IGNORECASE)
INPUT_NAME = re.compile(r"\bname\s*=\s*[\"']?([^\"'\s<>]+)", re.IGNORECASE)
XML_PASSWORD = re.compile(r"<(?:\w+:)?(?:password|passwd|pwd|pass)\b[^<>]*>([^<>]+)</", re.IGNORECASE)
"""A password in a body of XML."""
SIMPLE = re.compile(r"[A-Za-z]*|[0-9]*")
"""Such a password may stand in other fields by chance."""
CREDENTIALS = "basic_credentials"
"""Value that holds name and password as HTTP Basic sends them: `name:password` by base64."""
LONG_PASSWORD = 8
"""Letters of a password that stands nowhere by chance."""


@dataclass(frozen=True)
class Leaf:
    """A place of a request."""

    kind: Kind
    key: str

    @property
    def name(self) -> str:
        """The name of its field: the last of a pointer, without its number where there are several."""
        return re.sub(r" \([0-9]+\)$", "", self.key).rpartition("/")[2]

    def __str__(self) -> str:
        return f"{self.kind} {self.key[:80]}".rstrip()


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
    passed: str = ""
    """What else was heard over a WebSocket, of which the last message alone can be used."""
    body: str = ""
    """What was sent, as text."""
    credentials: str = ""
    """Name and password in its header, as HTTP Basic sends them."""

    @property
    def is_lost(self) -> bool:
        """Whether the browser did not keep the answer, as of pages that were left at once."""
        return not self.answer.response.content.text

    @cached_property
    def route(self) -> tuple[str, str, tuple[str, ...]]:
        """What it has in common with the same step of another recording."""
        masked = re.sub(r"/[^/]*[0-9][^/]*", "/#", self.path)
        return self.method, masked, tuple(sorted(str(leaf) for leaf in self.leaves if leaf.kind != "message"))


@dataclass(frozen=True)
class Rule:
    """A way to take a value out of an answer, as workloads declare it."""

    how: tuple[tuple[str, str], ...]

    def taken(self, answer: Exchange) -> str | None:
        """What it finds, as the driver would."""
        how = dict(self.how)
        if "header" in how:
            of_name = (one.value for one in answer.response.headers if one.name.lower() == how["header"].lower())
            parts = (_part_of(text, how.get("after", ""), how.get("before", "")) for text in of_name)
            return next((part for part in parts if part is not None), None)
        text = text_of(answer)
        if "json" in how:
            return next((value for pointer, value in json_leaves(text) if pointer == how["json"]), None)
        if "field" in how:
            return next((value for name, value in fields_of(text) if name == how["field"]), None)
        found = _part_of(text, how["after"], how["before"])
        return DECODERS[how["decode"]](found) if "decode" in how and found is not None else found

    def __str__(self) -> str:
        how = dict(self.how)
        if "after" in how:
            within = f" in the header {how['header']}" if "header" in how else ""
            return f"the text behind `{how['after']}`{within}"
        ((place, key), *_) = self.how
        told = {"json": f"`{key}` of the JSON", "header": f"the header {key}", "field": f"the field {key}"}
        return told.get(place, f"the cookie {key}")


def _part_of(text: str, after: str, before: str) -> str | None:
    """What stands first between two texts, the second of which may be empty: up to the end then; None where nothing
    does.
    """
    at = text.find(after)
    begin = at + len(after)
    end = -1 if at < 0 else text.find(before, begin) if before else len(text)
    return None if end < 0 else text[begin:end]


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
    differs: bool = False
    """Whether it is another in the second recording."""
    text: str = ""
    """What stands there instead, values as `{name}`: a value alone, or one within other letters."""
    generator: tuple[tuple[str, str], ...] = ()
    """How the workload draws the value, which no answer tells, as [values] declares it. A password has none here: the
    name of its variable follows the name of the workload.
    """

    @property
    def is_time(self) -> bool:
        """Whether it is the moment of sending."""
        return ("kind", "now") in self.generator

    @property
    def is_password(self) -> bool:
        """Whether it is taken from the environment."""
        return bool(self.value) and self.rule is None and not self.generator


@dataclass(frozen=True)
class Place:
    """The same leaf of several operations, and what became of it in all of them."""

    found: Correlated
    """Of the first."""
    operations: tuple[str, ...]

    def __str__(self) -> str:
        """For people: the first few of many are enough."""
        more = len(self.operations) - MOST_NAMED
        names = ", ".join(self.operations[: MOST_NAMED if more > 1 else None])
        return f"{self.found.leaf} of {names}{f' and {more} more' if more > 1 else ''}"

    @property
    def missed(self) -> str:
        """That no rule was found, for people."""
        if self.found.why == "told in passing":
            remedy = "of a WebSocket's messages the last alone can be used: split the exchange"
            return f"{self} is told by a message before the last ({remedy}, or give it a value of your own)"
        return f"{self} stands in no earlier answer ({self.found.why}): give it a value of your own"


def places(found: Sequence[Correlated]) -> list[Place]:
    """Values of a visit, those together that stand in the same leaf and are found the same way."""
    operations: dict[Correlated, list[str]] = {}
    for one in found:
        operations.setdefault(replace(one, operation=""), []).append(one.operation)
    return [Place(one, tuple(names)) for one, names in operations.items()]


@dataclass
class Correlation:
    """All of a visit."""

    found: list[Correlated] = field(default_factory=list)
    passwords: Mapping[str, str] = field(default_factory=dict)
    """Recorded passwords with the names of the values that stand in their place."""

    @cached_property
    def _texts(self) -> Mapping[tuple[str, Leaf], str]:
        return {(one.operation, one.leaf): one.text for one in reversed(self.found) if one.value}

    @cached_property
    def _missing(self) -> frozenset[tuple[str, Leaf]]:
        return frozenset((one.operation, one.leaf) for one in self.found if not one.value)

    def is_made_anew(self, operation: str, leaf: Leaf, value: str) -> bool:
        """Whether a header holds a random text that no answer tells, as the number by which a request is traced."""
        return (operation, leaf) in self._missing and leaf.kind == "header" and is_token(leaf.key, value)

    def generators(self) -> dict[str, dict[str, str]]:
        """Values that are drawn, by name, as workloads declare them."""
        return {one.value: dict(one.generator) for one in self.found if one.generator}

    def without(self, values: frozenset[str]) -> "Correlation":
        """The same without the values of these names."""
        return Correlation([one for one in self.found if one.value not in values], self.passwords)

    def text(self, operation: str, leaf: Leaf) -> str | None:
        """What stands there instead of what was recorded, with values as `{name}`."""
        return self._texts.get((operation, leaf))

    def extracts(self, operation: str) -> list[dict[str, str]]:
        """What is taken from an operation's answer, as workloads declare it."""
        rules = {one.value: one.rule for one in self.found if one.source == operation and one.rule is not None}
        return [{"value": name, **dict(rule.how)} for name, rule in rules.items()]


def correlate(steps: Sequence[Step], other: Sequence[Step], pairs: Mapping[int, int]) -> Correlation:
    """Looks all leaves of a visit up, with a second recording of the same steps where there is one; `pairs` are those
    that are the same (`aligned`).
    """
    search = _Search(steps, other, pairs)
    return Correlation(list(search.found()), search.passwords)


@dataclass
class _Search:
    """For the sources of a visit's values."""

    steps: Sequence[Step]
    other: Sequence[Step]
    pairs: Mapping[int, int]
    names: dict[tuple[str, Rule], str] = field(default_factory=dict)
    """Of the values so far, by where they are taken from."""
    uuids: dict[str, str] = field(default_factory=dict)
    """Names of those that the page's program has made."""
    known: dict[str, tuple[str | None, Correlated]] = field(default_factory=dict)
    """What was recorded of them, in the second recording too, and what was found of each."""

    @cached_property
    def visits(self) -> Mapping[str, list[Exchange]]:
        """Answers by operation, as far as the browser kept them."""
        answers: dict[str, list[Exchange]] = {}
        for step in self.steps:
            if not step.is_lost:
                answers.setdefault(step.operation, []).append(step.answer)
        return answers

    @cached_property
    def inputs(self) -> frozenset[str]:
        """Names of fields in which browsers hide what is typed."""
        found = (one for step in self.steps for one in PASSWORD_INPUT.findall(text_of(step.answer)))
        return frozenset(named[1] for one in found if (named := INPUT_NAME.search(one)))

    def _holds_password(self, leaf: Leaf) -> bool:
        return leaf.kind not in ("path", "header") and (leaf.key in self.inputs or is_password(leaf.name))

    @cached_property
    def passwords(self) -> Mapping[str, str]:
        """Texts that were sent as passwords, with names of values."""
        sent: dict[str, None] = {}
        for step in self.steps:
            for leaf, text in step.leaves.items():
                if self._holds_password(leaf):
                    sent.setdefault(text)
            sent |= dict.fromkeys(html.unescape(text) for text in XML_PASSWORD.findall(step.body))
        passwords = [text for text in sent if len(text) >= LEAST_PASSWORD]
        basic = dict.fromkeys(step.credentials for step in self.steps if step.credentials)
        return {**dict(_numbered("password", passwords)), **dict(_numbered(CREDENTIALS, basic))}

    def _is_password(self, leaf: Leaf, value: str) -> bool:
        """Whether a leaf holds a password, by its name or by its text."""
        if value not in self.passwords:
            return False
        if leaf.kind == "header" and self.passwords[value].startswith(CREDENTIALS):
            return True
        return self._holds_password(leaf) or len(value) >= LONG_PASSWORD or SIMPLE.fullmatch(value) is None

    def found(self) -> Iterator[Correlated]:
        """Each place of a request that may be of the visit alone, once."""
        seen: set[tuple[str, Leaf]] = set()
        for number, step in enumerate(self.steps):
            for leaf, value in step.leaves.items():
                place, again = (step.operation, leaf), self._again(number, leaf)
                if place in seen:
                    continue
                generated = self._generated(step, leaf, value, again)
                if generated is None and not _is_of_the_visit(leaf, value, again):
                    yield from self._within(number, leaf)
                    continue
                seen.add(place)
                if generated is None:
                    looked_up = self._looked_up(number, leaf)
                    yield from [looked_up] if looked_up.value else self._within(number, leaf) or [looked_up]
                elif generated.is_time and self._is_in_earlier_answer(number, value):
                    looked_up = self._looked_up(number, leaf)
                    yield generated if looked_up.rule is None else looked_up
                else:
                    yield generated

    def _generated(self, step: Step, leaf: Leaf, value: str, again: str | None) -> Correlated | None:
        """A value that no answer tells and that is not sent as it was: a password, the moment of sending, or a UUID
        that the page's program has made, which is another in each recording.
        """
        if self._is_password(leaf, value):
            name = self.passwords[value]
            return Correlated(step.operation, leaf, name, text=f"{{{name}}}")
        form, rest = _moment(value, step.answer.start_s)
        if form:
            moment = self._drawn(step, leaf, f"now_{form}", (("kind", "now"), ("form", form)))
            return replace(moment, text=moment.text + literal(rest))
        is_made = again is not None and again != value and UUID.fullmatch(value) and UUID.fullmatch(again)
        if is_made and value not in self.known and not any(value in text_of(one.answer) for one in self.steps):
            name = self.uuids.setdefault(value, f"uuid_{len(self.uuids) + 1}" if self.uuids else "uuid")
            redraw = "session" if self._times(value) > 1 else "operation"
            return self._drawn(step, leaf, name, (("kind", "uuid"), ("redraw", redraw)))
        return None

    def _drawn(self, step: Step, leaf: Leaf, name: str, generator: tuple[tuple[str, str], ...]) -> Correlated:
        return Correlated(step.operation, leaf, name, text=f"{{{name}}}", generator=generator)

    def _is_in_earlier_answer(self, number: int, value: str) -> bool:
        """Whether an earlier answer holds a text: a moment that a server gave out is sent back as it was."""
        return any(value in text_of(step.answer) for step in self.steps[:number])

    def _times(self, value: str) -> int:
        return sum(text == value for step in self.steps for text in step.leaves.values())

    def _twin(self, number: int) -> Step | None:
        """The same step of the second recording."""
        return self.other[self.pairs[number]] if number in self.pairs else None

    def _again(self, number: int, leaf: Leaf) -> str | None:
        twin = self._twin(number)
        return twin.leaves.get(leaf) if twin is not None else None

    def _looked_up(self, number: int, leaf: Leaf) -> Correlated:
        step, again = self.steps[number], self._again(number, leaf)
        value = step.leaves[leaf]
        return (
            self._taken(number, leaf, value, again)
            or self._composed(step.operation, leaf, value, again)
            or self._with_word_taken(number, leaf, value, again)
            or Correlated(step.operation, leaf, why=self._kind_of(number, leaf, value))
        )

    def _taken(self, number: int, leaf: Leaf, value: str, again: str | None) -> Correlated | None:
        """A value, of a leaf or within it, that an earlier answer holds. None where no rule finds it."""
        step = self.steps[number]
        if value in self.known and self.known[value][0] == again:
            return replace(self.known[value][1], operation=step.operation, leaf=leaf)
        way = next(self._ways(number, value, again), None)
        if way is None:
            return None
        source, rule, recordings = way
        name = self.names.setdefault((source, rule), _new_name(leaf, step.path, self.names.values()))
        differs = again is not None and again != value
        found = Correlated(step.operation, leaf, name, source, rule, recordings, differs=differs, text=f"{{{name}}}")
        self.known[value] = again, found
        return found

    def _within(self, number: int, leaf: Leaf) -> list[Correlated]:
        """Tokens within a longer text, such as XML or JSON in a field, that earlier answers tell: all have the text of
        the leaf with values in their places. Empty where there are none.
        """
        value, again = self.steps[number].leaves[leaf], self._again(number, leaf)
        tokens = _tokens_within(value)
        others = tokens if again is None else _tokens_within(again)
        if leaf.kind in ("path", "header") or _between_tokens(value, tokens) != _between_tokens(again or value, others):
            return []
        found, text, at = [], "", 0
        for token, other in zip(tokens, others, strict=True):
            second = None if again is None else other[0]
            before = KEY.search(value, 0, token.start())
            named = Leaf(leaf.kind, before[1] if before else leaf.key)
            taken = None if second == token[0] else self._taken(number, named, token[0], second)
            if taken is not None:
                text += literal(value[at : token.start()]) + taken.text
                at = token.end()
                found.append(taken)
        text += literal(value[at:])
        return [replace(one, leaf=leaf, text=text) for one in dict.fromkeys(found)]

    def _composed(self, operation: str, leaf: Leaf, value: str, again: str | None) -> Correlated | None:
        """A leaf that holds a value found before, such as the address of the page before: the longest there is."""
        for part in sorted(self.known, key=len, reverse=True):
            told_again, found = self.known[part]
            before, is_there, behind = value.partition(part)
            is_same = again is None or (told_again is not None and value.replace(part, told_again) == again)
            if is_there and len(part) >= LEAST_PART and is_same:
                text = literal(before) + found.text + literal(behind).replace(literal(part), found.text)
                return replace(found, operation=operation, leaf=leaf, text=text)
        return None

    def _with_word_taken(self, number: int, leaf: Leaf, value: str, again: str | None) -> Correlated | None:
        """A leaf of which one word alone differs between the recordings, such as the number of an article in an
        address, when an earlier answer holds that word. None where more differs, and for dates and times of day.
        """
        if again is None or again == value or any(re.fullmatch(pattern, value) for pattern in TIMES):
            return None
        for pattern in WORDS:
            parts, others = pattern.split(value), pattern.split(again)
            pairs = set(zip(parts, others, strict=False)) - set(zip(parts, parts, strict=True))
            if len(parts) != len(others) or len(pairs) != 1 or parts[::2] != others[::2] or value in parts:
                continue
            found = self._taken(number, leaf, *pairs.pop())
            if found is not None:
                differs = (part != other for part, other in zip(parts, others, strict=True))
                words = zip(parts, differs, strict=True)
                return replace(found, text="".join(found.text if is_it else literal(part) for part, is_it in words))
        return None

    def _kind_of(self, number: int, leaf: Leaf, value: str) -> Why:
        """What a value is held for that stands in no earlier answer."""
        if value and any(value in step.passed for step in self.steps[: number + 1]):
            return "told in passing"
        if is_token(leaf.key, value) and self._is_of_first_alone(number, value):
            return "first recording alone"
        is_time = any(re.fullmatch(pattern, value) for pattern in TIMES)
        is_uuid = UUID.fullmatch(value)
        if is_time or is_uuid:
            return "client-made"
        if is_token(leaf.key, value):
            return "one use"
        option = re.compile(rf"""<option[^>]*value=["']?{re.escape(html.escape(value))}["' >]""", re.IGNORECASE)
        is_option = any(option.search(text_of(step.answer)) for step in self.steps[:number])
        if is_option:
            return "chosen from a list"
        is_worded = leaf.kind in ("field", "part", "JSON", "message") and re.search(r"[^\W\d_]{2}", value)
        return "typed data" if is_worded else "unknown"

    def _is_of_first_alone(self, number: int, value: str) -> bool:
        """Whether the second recording has no such request, although an earlier answer of the first holds its value."""
        return bool(self.pairs) and number not in self.pairs and self._is_in_earlier_answer(number, value)

    def _ways(self, number: int, value: str, again: str | None) -> Iterator[tuple[str, Rule, int]]:
        """Operations, rules, and in how many recordings each finds the value; the plainest way first. A rule that the
        second recording contradicts is none.
        """
        twin = self._twin(number)
        for rule in _cookie_rules(self.steps[number], value) if number else ():
            is_proven = again is not None and twin is not None and rule in _cookie_rules(twin, again)
            if is_proven or again is None:
                yield self.steps[number - 1].operation, rule, 2 if is_proven else 1
        for earlier in range(number - 1, -1, -1):
            source, its_twin = self.steps[earlier], self._twin(earlier)
            visits = list(self.visits.get(source.operation, ()))
            if again is None and its_twin is not None and not its_twin.is_lost:
                visits.append(its_twin.answer)
            for rule, recordings in _rules_of_both(source, value, its_twin, again):
                if all(rule.taken(answer) is not None for answer in visits):  # else another visit were an error
                    yield source.operation, rule, recordings


def _tokens_within(text: str) -> list[re.Match[str]]:
    """Tokens in a longer text, which have no path, no name of a host and no sentence in them."""
    found = (match for match in WITHIN.finditer(text) if match[0] != text and is_token("", match[0]))
    return list(islice((match for match in found if _is_random(match[0])), MOST_WITHIN))


def _is_random(text: str) -> bool:
    if "/" not in text and "." not in text:
        return True
    is_base64 = "." not in text and "//" not in text and ("+" in text or text.endswith("="))
    return is_base64 or (text.startswith("eyJ") and "/" not in text)


def _between_tokens(text: str, tokens: Sequence[re.Match[str]]) -> list[str]:
    begins, ends = [0, *(token.end() for token in tokens)], [*(token.start() for token in tokens), len(text)]
    return [text[begin:end] for begin, end in zip(begins, ends, strict=True)]


def _rules_of_both(source: Step, value: str, twin: Step | None, again: str | None) -> Iterator[tuple[Rule, int]]:
    """Rules by which a value is found in an answer, and in how many recordings: the same in both, or in the only one of
    which the browser kept the answer.
    """
    if again is None:
        yield from ((rule, 1) for rule in _rules(source.answer, value))
    elif twin is None:
        return
    else:
        found = _rules(source.answer, value, is_short=again != value)
        yield from ((rule, 2) for rule in found if rule.taken(twin.answer) == again)
        if source.is_lost or twin.is_lost:
            kept = (twin.answer, again) if source.is_lost else (source.answer, value)
            yield from ((rule, 1) for rule in _rules(*kept))


def _numbered(name: str, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Texts with a name each, numbered from the second on."""
    for number, text in enumerate(texts, 1):
        yield text, name if number == 1 else f"{name}_{number}"


def _time_form(value: str, sent_s: float) -> str:
    """How the moment of its request stands in a value: `s`, `ms` or `iso`; empty where it does not."""
    if re.fullmatch(r"1[0-9]{9}([0-9]{3})?", value):
        form = "ms" if len(value) > len("1700000000") else "s"
        at_s = int(value) / (1000 if form == "ms" else 1)
    elif re.fullmatch(r"20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]\.[0-9]{3}Z", value):
        try:
            form, at_s = "iso", datetime.fromisoformat(value).timestamp()
        except ValueError:
            return ""
    else:
        return ""
    return form if abs(at_s - sent_s) <= SENDING_S else ""


def _moment(value: str, sent_s: float) -> tuple[str, str]:
    """Form of the moment of its request, as `_time_form`, and the text behind it: programs that make an address unique
    write further digits behind milliseconds.
    """
    if form := _time_form(value, sent_s):
        return form, ""
    moment, rest = value[:MS_DIGITS], value[MS_DIGITS:]
    return ("ms", rest) if rest and _time_form(moment, sent_s) == "ms" else ("", "")


def _new_name(leaf: Leaf, path: str, known: Any) -> str:
    base = name_of(leaf.name or "value", "value", "value").lower()
    if leaf.kind == "path":  # what a segment is, the one before it says
        before = [
            one for one in path.split("/")[: int(leaf.key)] if re.search("[A-Za-z]", one) and not is_token("", one)
        ]
        base = name_of(f"{before[-1]}_id" if before else "path_value", "value", "value").lower()
    taken, number = set(known), 1
    while (name := base if number == 1 else f"{base}_{number}") in taken:
        number += 1
    return name


def _is_of_the_visit(leaf: Leaf, value: str, again: str | None) -> bool:
    """Whether a value is of its visit alone: another in the second recording, or without one by its looks."""
    return is_token(leaf.key, value) if again is None else again != value


def is_token(key: str, value: str) -> bool:
    """Whether a value looks like one that a server gave out, by its name or by its letters."""
    plain = re.sub(r"[^a-z]", "", key.lower())
    if any(word in plain for word in ONCE):
        return True
    if value.startswith("/"):
        return any(is_token("", segment) for segment in value.split("/"))
    is_random = len(value) >= LEAST_TOKEN and re.fullmatch(r"[A-Za-z0-9+/=_.~-]+", value) is not None
    return is_random and any(letter.isdigit() for letter in value) and any(letter.isalpha() for letter in value)


def aligned(steps: Sequence[Step], other: Sequence[Step]) -> dict[int, int]:
    """Which step of the second recording each of the first is: first those that also send the same texts, wherever
    pages ask for them at once and their order differs, then those that are alike but for what they send.
    """
    keys, other_keys = _texts_in_both(steps, other), _texts_in_both(other, steps)
    pairs = _in_order(keys, other_keys)
    waiting: dict[tuple[object, ...], list[int]] = {}
    for at in sorted(set(range(len(other))) - set(pairs.values()), reverse=True):
        waiting.setdefault(other_keys[at], []).append(at)
    for number, key in enumerate(keys):
        if number not in pairs and waiting.get(key):
            pairs[number] = waiting[key].pop()
    left = [number for number in range(len(steps)) if number not in pairs]
    left_of_other = sorted(set(range(len(other))) - set(pairs.values()))
    alike = _in_order([steps[number].route for number in left], [other[number].route for number in left_of_other])
    return pairs | {left[number]: left_of_other[at] for number, at in alike.items()}


def _in_order(keys: Sequence[tuple[object, ...]], others: Sequence[tuple[object, ...]]) -> dict[int, int]:
    """Places of equal keys in two lists, in the order of both."""
    matcher = SequenceMatcher(None, keys, others, autojunk=False)
    blocks = matcher.get_matching_blocks()
    return {block.a + at: block.b + at for block in blocks for at in range(block.size)}


def _texts_in_both(steps: Sequence[Step], other: Sequence[Step]) -> list[tuple[object, ...]]:
    """Of each step, its route and the texts that the other recording also sends in the same place. Numbers may be of
    one visit, and are left out.
    """
    sent = {(step.route, leaf, text) for step in other for leaf, text in step.leaves.items()}
    return [
        (step.route, *((leaf, text) for leaf, text in step.leaves.items() if _is_in_both(step, leaf, text, sent)))
        for step in steps
    ]


def _is_in_both(step: Step, leaf: Leaf, text: str, sent: AbstractSet[tuple[object, Leaf, str]]) -> bool:
    return leaf.kind not in ("message", "header") and not text.isdigit() and (step.route, leaf, text) in sent


def _cookie_rules(step: Step, value: str) -> list[Rule]:
    """Cookies of a request that a value of it repeats, as programs of pages copy them."""
    plain = [Rule((("cookie", name),)) for name, text in step.cookies.items() if text == value]
    coded = [
        Rule((("cookie", name), ("decode", "url")))
        for name, text in step.cookies.items()
        if text != value and unquote(text) == value
    ]
    return plain + coded


def _rules(answer: Exchange, value: str, *, is_short: bool = False) -> Iterator[Rule]:
    """Ways in which a value can be found in an answer, the plainest first; where it `is_short`, by its place alone."""
    if len(value) < LEAST_VALUE and not (is_short and value):
        return
    yield from _in_answer(answer, value)
    yield from _in_location(answer, value)


def _in_location(answer: Exchange, value: str) -> Iterator[Rule]:
    """Ways to cut a value out of where an answer leads, a segment of its path or a value of its query: often nothing
    else tells the number of what was made.
    """
    for one in answer.response.headers:
        if one.name.lower() != "location":
            continue
        match = re.search(rf"([^/?&=]+[/=]){re.escape(value)}([/?&#]|$)", ORIGIN.sub("", one.value))
        if match is not None:
            rule = Rule((("header", one.name), ("after", match[1]), *((("before", match[2]),) if match[2] else ())))
            if rule.taken(answer) == value:
                yield rule


def _in_answer(answer: Exchange, value: str) -> Iterator[Rule]:
    """In its head and its body."""
    for one in answer.response.headers:
        if one.value == value and one.name.lower() not in ("set-cookie", "location"):
            yield Rule((("header", one.name),))
    text, forms = text_of(answer), _forms(value)
    forms = {**forms, **_escaped_forms(text, value)}
    is_there = any(form in text for form in forms.values())
    if not is_there and PLAIN.fullmatch(value):
        return  # such a text is written one way
    for pointer, found in json_leaves(text):
        if found == value:
            yield Rule((("json", pointer),))
    if not is_there:
        return
    named = list(fields_of(text))
    firsts = dict(reversed(named))
    yield from (Rule((("field", name),)) for name, found in firsts.items() if found == value and name)
    for how, form in forms.items() if len(value) >= LEAST_VALUE else ():
        if how and form == value:
            continue
        yield from (Rule((*rule, *((("decode", how),) if how else ()))) for rule in _between(text, form))


@lru_cache(1024)
def _forms(value: str) -> Mapping[str, str]:
    """A value as answers may write it, by how it is decoded."""
    forms = {"": value, "html": html.escape(value), "url": quote(value, safe="")}
    return forms | {"json": json.dumps(value)[1:-1], "base64": _to_base64(value)}


@lru_cache(1024)
def _escapes(value: str) -> re.Pattern[str] | None:
    """A value with each of its signs as it is or escaped in any way; None where it has none."""
    if not re.search(r"[^A-Za-z0-9_-]", value):
        return None
    return re.compile("".join(letter if re.match(r"[A-Za-z0-9_-]", letter) else _escape(letter) for letter in value))


def _escape(sign: str) -> str:
    code = ord(sign)
    ways = [rf"\\?{re.escape(sign)}", rf"&#0*{code};", rf"&#[xX]0*(?i:{code:x});", rf"\\u(?i:{code:04x})"]
    ways += [f"&{ENTITIES[sign]};"] if sign in ENTITIES else []
    ways += [f"%(?i:{code:02x})"] if sign.isascii() else []
    return f"(?:{'|'.join(ways)})"


def _escaped_forms(text: str, value: str) -> dict[str, str]:
    """A value as an answer writes it with other escapes than usual, by how it is decoded."""
    pattern = _escapes(value) if len(value) >= LEAST_TOKEN and value not in text else None
    match = pattern.search(text) if pattern else None
    return {} if match is None else {how: match[0] for how in ESCAPES if DECODERS[how](match[0]) == value}


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


def json_places(text: str) -> dict[str, tuple[int, int]]:
    """Where texts and numbers of a JSON document begin and end, by their pointers, in their order; none of what is no
    JSON.
    """
    found: dict[str, tuple[int, int]] = {}
    if not any(True for _ in json_leaves(text)):
        return found
    try:
        _walk(text, _beyond_blanks(text, 0), "", found)
    except (ValueError, RecursionError, IndexError):
        return {}
    return found


def _walk(text: str, at: int, pointer: str, found: dict[str, tuple[int, int]]) -> int:
    """Notes what begins at a place, and all below it; returns where it ends."""
    closes = {"{": "}", "[": "]"}.get(text[at])
    if closes is None:
        _, end = DECODER.raw_decode(text, at)
        found[pointer] = at, end
        return end
    number, at = 0, _beyond_blanks(text, at + 1)
    while text[at] != closes:
        key = str(number)
        if closes == "}":
            told, at = DECODER.raw_decode(text, at)
            key = str(told).replace("~", "~0").replace("/", "~1")
            at = _beyond_blanks(text, _beyond_blanks(text, at) + 1)
        at = _beyond_blanks(text, _walk(text, at, f"{pointer}/{key}", found))
        at = _beyond_blanks(text, at + 1) if text[at] == "," else at
        number += 1
    return at + 1


def _beyond_blanks(text: str, at: int) -> int:
    while text[at : at + 1] in BLANKS and at < len(text):
        at += 1
    return at


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
