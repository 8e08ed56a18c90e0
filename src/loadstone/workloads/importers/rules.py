"""Rules by which a value is taken out of an answer, and the search for those that find it. Pure."""

import base64
import binascii
import html
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, unquote

from loadstone.workloads.importers.answers import list_fields, list_json_leaves, read_answer_text
from loadstone.workloads.importers.har import HarExchange
from loadstone.workloads.importers.tokens import LEAST_TOKEN_LETTERS

LEAST_VALUE = 3
"""Letters of a value that can be looked up: a shorter one stands anywhere."""
CONTEXTS = (8, 16, 24, 40)
"""Letters before a value by which it is found, the fewest that are enough."""
MOST_RULE_PLACES = 20
"""Places of one answer that are tried."""
PLAIN_TEXT = re.compile(r"[A-Za-z0-9_-]*[A-Za-z_][A-Za-z0-9_-]*")
"""A text that JSON and HTML write as it is, and no number."""
ORIGIN = re.compile(r"^(?:[A-Za-z][A-Za-z0-9+.-]*:)?//[^/?#]*")
"""Scheme and host of an address, whatever stands there."""
ENTITIES = {"&": "amp", '"': "quot", "'": "apos", "<": "lt", ">": "gt", "/": "sol", "+": "plus", "=": "equals"}
"""Names of character references."""


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


def list_word_forms(value: str) -> tuple[str, ...]:
    """Texts one of which stands in every answer that a rule finds a value in; none where that is not known."""
    return (value, _to_base64(value)) if PLAIN_TEXT.fullmatch(value) else ()


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


@dataclass(frozen=True)
class Rule:
    """A way to take a value out of an answer, as workloads declare it."""

    how: tuple[tuple[str, str], ...]

    def extract_value(self, answer: HarExchange) -> str | None:
        """Returns the value that the rule extracts, as the driver would. Returns None without a match."""
        how = dict(self.how)
        if "header" in how:
            of_name = (sent.value for sent in answer.response.headers if sent.name.lower() == how["header"].lower())
            parts = (_part_of(text, how.get("after", ""), how.get("before", "")) for text in of_name)
            return next((part for part in parts if part is not None), None)
        text = read_answer_text(answer)
        if "json" in how:
            return next((value for pointer, value in list_json_leaves(text) if pointer == how["json"]), None)
        if "field" in how:
            return next((value for name, value in list_fields(text) if name == how["field"]), None)
        part = _part_of(text, how["after"], how["before"])
        return DECODERS[how["decode"]](part) if "decode" in how and part is not None else part

    def __str__(self) -> str:
        how = dict(self.how)
        if "after" in how:
            within = f" in the header {how['header']}" if "header" in how else ""
            return f"the text behind `{how['after']}`{within}"
        ((place, key), *_) = self.how
        places = {"json": f"`{key}` of the JSON", "header": f"the header {key}", "field": f"the field {key}"}
        return places.get(place, f"the cookie {key}")


def _part_of(text: str, after: str, before: str) -> str | None:
    """What stands first between two texts, the second of which may be empty: up to the end then; None where nothing
    does.
    """
    place = text.find(after)
    begin = place + len(after)
    end = -1 if place < 0 else text.find(before, begin) if before else len(text)
    return None if end < 0 else text[begin:end]


def list_cookie_rules(cookies: Mapping[str, str], value: str) -> list[Rule]:
    """Returns the rules for cookies of a request whose text a value of it repeats, as scripts of pages copy them."""
    plain = [Rule((("cookie", name),)) for name, text in cookies.items() if text == value]
    coded = [
        Rule((("cookie", name), ("decode", "url")))
        for name, text in cookies.items()
        if text != value and unquote(text) == value
    ]
    return plain + coded


def find_rules(answer: HarExchange, value: str, *, is_short: bool = False) -> Iterator[Rule]:
    """Ways in which a value can be found in an answer, the plainest first; where it `is_short`, by its place alone."""
    if len(value) < LEAST_VALUE and not (is_short and value):
        return
    yield from _in_answer(answer, value)
    yield from _in_location(answer, value)


def _in_location(answer: HarExchange, value: str) -> Iterator[Rule]:
    """Ways to cut a value out of where an answer leads, a segment of its path or a value of its query: often nothing
    else tells the number of what was made.
    """
    for header in answer.response.headers:
        if header.name.lower() != "location":
            continue
        match = re.search(rf"([^/?&=]+[/=]){re.escape(value)}([/?&#]|$)", ORIGIN.sub("", header.value))
        if match is not None:
            rule = Rule((("header", header.name), ("after", match[1]), *((("before", match[2]),) if match[2] else ())))
            if rule.extract_value(answer) == value:
                yield rule


def _in_answer(answer: HarExchange, value: str) -> Iterator[Rule]:
    """In its head and its body."""
    for header in answer.response.headers:
        if header.value == value and header.name.lower() not in ("set-cookie", "location"):
            yield Rule((("header", header.name),))
    text, forms = read_answer_text(answer), _forms(value)
    forms = {**forms, **_escaped_forms(text, value)}
    is_there = any(form in text for form in set(forms.values()))
    if not is_there and PLAIN_TEXT.fullmatch(value):
        return  # such a text is written one way
    for pointer, leaf in list_json_leaves(text):
        if leaf == value:
            yield Rule((("json", pointer),))
    if not is_there:
        return
    named = list(list_fields(text))
    firsts = dict(reversed(named))
    yield from (Rule((("field", name),)) for name, content in firsts.items() if content == value and name)
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
    pattern = _escapes(value) if len(value) >= LEAST_TOKEN_LETTERS else None
    match = pattern.search(text) if pattern is not None and value not in text else None
    return {} if match is None else {how: match[0] for how in ESCAPES if DECODERS[how](match[0]) == value}


def _between(text: str, value: str) -> Iterator[tuple[tuple[str, str], ...]]:
    """Texts before and behind a value by which it is found first."""
    place = -1
    for _ in range(MOST_RULE_PLACES):
        place = text.find(value, place + 1)
        if place < 0:
            return
        before = text[place + len(value) : place + len(value) + 1]
        if not before.isprintable() or not before or before in value:
            continue
        for letters in CONTEXTS:
            after = text[max(0, place - letters) : place].rpartition("\n")[2]
            if after.strip() and after.isprintable() and text.find(after) == place - len(after):
                yield (("after", after), ("before", before))
                break
