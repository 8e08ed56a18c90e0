"""What a recorded exchange over a WebSocket becomes: what is sent, and which of the answers are waited for. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from loadstone.workloads.importers.correlation import json_leaves
from loadstone.workloads.importers.har import BYTES, TEXT, Message

ANSWER_S = 5.0
"""The first message so long after the hands were shaken, or after one was sent, comes of itself and answers nothing."""
BURST_S = 1.0
"""Messages closer together than this answer together."""
MOST_LETTERS = 4096
"""Letters of a message in which a text is looked for that tells it."""
LONGEST_SIGN, SHORTEST_SIGN = 80, 3
"""Letters of such a text."""
OF_ONE_VISIT = re.compile(r"[A-Za-z0-9+/=_~-]{16,}|[0-9]+|[^ -~]+")
"""What is likely to be another in each visit: numbers, and long words such as tokens; what is not plain text is passed
over with them.
"""
FRAMING = re.compile(r"[0-9]*")
"""Digits before a message's JSON, by which Engine.IO and its kind tell what it is."""


@dataclass(frozen=True)
class Turn:
    """What was sent, and the latest message of those that answered it."""

    sent: Message | None
    """None before anything was sent: what the server says first."""
    heard: Message | None


def turns(messages: Sequence[Message], started_s: float) -> list[Turn]:
    """An exchange by what was sent; a server's messages that answer nothing, such as heartbeats, are passed over."""
    made: list[Turn] = []
    sent, heard, until_s = None, None, started_s + ANSWER_S
    for message in (one for one in messages if one.opcode in (TEXT, BYTES)):
        if message.is_sent:
            made.append(Turn(sent, heard))
            sent, heard, until_s = message, None, message.at_s + ANSWER_S
        elif message.at_s <= until_s:
            heard, until_s = message, message.at_s + BURST_S
    made.append(Turn(sent, heard))
    return [turn for turn in made if turn.sent or turn.heard]


def sign(texts: Sequence[str]) -> str:
    """A text by which a message is known in every visit; empty where there is none. With one visit to go by, what looks
    like that visit's alone is no part of it.
    """
    first, *others = (text[:MOST_LETTERS] for text in texts)
    for other in others:
        match = SequenceMatcher(None, first, other, autojunk=False).find_longest_match()
        first = first[match.a : match.a + match.size]
    pieces = (piece.strip() for piece in OF_ONE_VISIT.split(first))
    longest = max(pieces, key=len)[:LONGEST_SIGN]
    return longest if len(longest) >= SHORTEST_SIGN and re.search("[A-Za-z]", longest) else ""


def leaves_of(text: str) -> Iterator[tuple[str, str]]:
    """Values of a message by their pointers, where it is JSON; else the message itself, with the empty pointer."""
    found = list(json_leaves(text[len(framing(text)) :]))
    yield from found or [("", text)]


def framing(text: str) -> str:
    """What stands before a message's JSON."""
    matched = FRAMING.match(text)
    return matched.group() if matched else ""
