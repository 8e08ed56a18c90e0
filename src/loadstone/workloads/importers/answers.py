"""Reading recorded answers as the driver does: their text, values of JSON, fields of pages. Pure."""

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

from loadstone.workloads.importers.har import HarExchange

MOST_ANSWER = 1 << 20
"""Characters of an answer that are looked at: as many bytes as the driver keeps of it."""
MOST_ANSWER_LEAVES = 100_000
"""Values of one JSON document that are looked at."""
DECODER = json.JSONDecoder()
BLANKS = (" ", "\t", "\n", "\r")
"""Between parts of a JSON document (RFC 8259, section 2)."""


def read_answer_text(answer: HarExchange) -> str:
    """Returns the part of an answer that the driver searches."""
    return answer.response.content.text[:MOST_ANSWER]


def list_json_leaves(text: str) -> Iterator[tuple[str, str]]:
    """Texts and numbers of a JSON document by their pointers (RFC 6901); none of what is no JSON."""
    if text.lstrip()[:1] not in ("{", "["):
        return
    try:
        waiting: list[tuple[str, Any]] = [("", json.loads(text))]
    except (ValueError, RecursionError):
        return
    for _ in range(MOST_ANSWER_LEAVES):
        if not waiting:
            return
        pointer, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(f"{pointer}/{_pointer_token(key)}", below) for key, below in reversed(value.items())]
        elif isinstance(value, list):
            waiting += [(f"{pointer}/{index}", below) for index, below in reversed(list(enumerate(value)))]
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            yield pointer, value if isinstance(value, str) else json.dumps(value)


def _pointer_token(key: str) -> str:
    """A key as pointers write it (RFC 6901, section 3)."""
    return key.replace("~", "~0").replace("/", "~1")


def find_json_places(text: str) -> dict[str, tuple[int, int]]:
    """Returns the spans of texts and numbers of a JSON document by their pointers, in their order. Returns nothing for
    other texts.
    """
    places: dict[str, tuple[int, int]] = {}
    if not any(True for _ in list_json_leaves(text)):
        return places
    try:
        _walk(text, _beyond_blanks(text, 0), "", places)
    except (ValueError, RecursionError, IndexError):
        return {}
    return places


def _walk(text: str, begin: int, pointer: str, places: dict[str, tuple[int, int]]) -> int:
    """Notes what begins at a place, and all below it; returns where it ends."""
    closes = {"{": "}", "[": "]"}.get(text[begin])
    if closes is None:
        _, end = DECODER.raw_decode(text, begin)
        places[pointer] = begin, end
        return end
    number, begin = 0, _beyond_blanks(text, begin + 1)
    while text[begin] != closes:
        key = str(number)
        if closes == "}":
            name, begin = DECODER.raw_decode(text, begin)
            key = _pointer_token(str(name))
            begin = _beyond_blanks(text, _beyond_blanks(text, begin) + 1)
        begin = _beyond_blanks(text, _walk(text, begin, f"{pointer}/{key}", places))
        begin = _beyond_blanks(text, begin + 1) if text[begin] == "," else begin
        number += 1
    return begin + 1


def _beyond_blanks(text: str, begin: int) -> int:
    while text[begin : begin + 1] in BLANKS and begin < len(text):
        begin += 1
    return begin


class _Fields(HTMLParser):
    """Collects values of form fields and contents of meta elements by their names."""

    def __init__(self) -> None:
        super().__init__()
        self.fields: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Takes one element."""
        attributes = {key: text or "" for key, text in attrs}
        value = attributes.get("content" if tag == "meta" else "value")
        if value is not None:
            self.fields += [(attributes[key], value) for key in ("name", "id", "property") if attributes.get(key)]


def list_fields(text: str) -> Iterator[tuple[str, str]]:
    """Form fields and meta elements of a page, as (name, value), in their order."""
    if "<" not in text:
        return
    parser = _Fields()
    parser.feed(text)
    yield from parser.fields
