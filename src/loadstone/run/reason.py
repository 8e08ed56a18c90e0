"""The reason that an answer gives for an error, as a person reads it: a page without its markup. Pure."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

UNREAD_ELEMENTS = frozenset(
    {"script", "style", "head", "noscript", "template", "svg", "nav", "header", "footer", "select"}
)
"""Elements whose text gives no reason."""
BLOCKS = frozenset({"p", "div", "li", "h1", "h2", "h3", "h4", "td", "tr", "br", "section", "article", "pre", "label"})
"""Elements after which a sentence ends."""
VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "source", "wbr"})
"""Elements without an end."""
KEYS = ("message", "error_description", "detail", "details", "title", "error", "errors", "reason", "code", "msg")
"""Members of a JSON document that tell why."""
LONGEST_REASON = 300
MOST_DEPTH = 4


def read_reason(body: str) -> str:
    """The reason that a body gives, in one line; empty where it holds no text."""
    if body.lstrip()[:1] in ("{", "["):
        reasons = " ".join(dict.fromkeys(_reasons(_json(body), 0)))
        if reasons:
            return _cut(reasons)
    if re.search(r"<[a-zA-Z!/]", body):
        return _cut(_page(body))
    return _cut(" ".join(body.split()))


def _json(body: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _reasons(value: Any, depth: int) -> Iterator[str]:
    """Texts of members that tell why, the outer ones first."""
    if depth > MOST_DEPTH:
        return
    if isinstance(value, dict):
        for key in KEYS:
            member = value.get(key)
            if isinstance(member, str | int) and not isinstance(member, bool):
                yield str(member)
            else:
                yield from _reasons(member, depth + 1)
    elif isinstance(value, list):
        for entry in value:
            if isinstance(entry, str):
                yield entry
            else:
                yield from _reasons(entry, depth + 1)


class _Text(HTMLParser):
    """Collects the title and the visible text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.title = ""
        self.text = ""
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes what is open."""
        if tag not in VOID:
            self._open.append(tag)
        if tag in BLOCKS:
            self.text += "\n"

    def handle_endtag(self, tag: str) -> None:
        """Closes it with all that was left open within."""
        if tag in self._open:
            while self._open.pop() != tag:
                pass
        if tag in BLOCKS:
            self.text += "\n"

    def handle_data(self, data: str) -> None:
        """Takes text that is shown."""
        if self._open[-1:] == ["title"] and "svg" not in self._open:
            self.title += data
        elif UNREAD_ELEMENTS.isdisjoint(self._open):
            self.text += data


def _page(body: str) -> str:
    parser = _Text()
    parser.feed(body)
    title = " ".join(parser.title.split())
    lines = [" ".join(line.split()) for line in parser.text.splitlines()]
    text = " ".join(line for line in dict.fromkeys(lines) if line and line != title)
    return f"{title}: {text}" if title and text else title or text


def _cut(text: str) -> str:
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    return shown if len(shown) <= LONGEST_REASON else f"{shown[:LONGEST_REASON]}..."
