"""What a recorded exchange over a WebSocket becomes: what is sent, and which of the answers are waited for. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from loadstone.workloads.importers.answers import list_json_leaves
from loadstone.workloads.importers.har import BYTES, TEXT, HarMessage

SOCKET_ANSWER_S = 5.0
"""The first message so long after the hands were shaken, or after one was sent, comes of itself and answers nothing."""
BURST_S = 1.0
"""Messages closer together than this answer together."""
MOST_LETTERS = 4096
"""Letters of a message in which a text is looked for that tells it."""
LONGEST_SIGN, SHORTEST_SIGN = 80, 3
"""Letters of such a text."""
SOCKET_TOKEN = re.compile(r"[A-Za-z0-9/+=_~-]{16,}")
"""With a digit, such a word is likely to be another in each visit."""
NOT_LETTERS = re.compile(r"[0-9]+|[^ -~]+")
"""So are numbers; what is not plain text is passed over with them."""
FRAME_ROOM = re.compile(r"[0-9]*(?:/[^,\[{]*,)?")
"""Before a message's JSON: Socket.IO's digits and the name of a room."""
ENDS = "".join(map(chr, range(33)))
"""Behind it: SignalR ends its messages with U+001E, STOMP with U+0000."""


@dataclass(frozen=True)
class Turn:
    """What was sent, and the messages that answered it, the last of which is waited for."""

    sent: HarMessage | None
    """None before anything was sent: what the server says first."""
    heard: tuple[HarMessage, ...] = ()

    @property
    def text(self) -> str:
        """What was sent, if it is text."""
        return self.sent.data if self.sent is not None and self.sent.is_text else ""

    @property
    def last(self) -> str:
        """The message that is waited for, if it is text."""
        return self.heard[-1].data if self.heard and self.heard[-1].is_text else ""

    @property
    def shape(self) -> str:
        """What was sent, but for what may be another in each visit."""
        return "" if self.sent is None else _lasting(self.text) or "bytes"


def split_turns(messages: Sequence[HarMessage], started_s: float) -> list[Turn]:
    """An exchange by what was sent, after what the server says first; a server's messages that answer nothing, such as
    heartbeats, are passed over.
    """
    turns: list[tuple[HarMessage | None, list[HarMessage]]] = [(None, [])]
    until_s = started_s + SOCKET_ANSWER_S
    for message in (message for message in messages if message.opcode in (TEXT, BYTES)):
        if message.is_sent:
            turns.append((message, []))
            until_s = message.at_s + SOCKET_ANSWER_S
        elif message.at_s <= until_s:
            turns[-1][1].append(message)
            until_s = message.at_s + BURST_S
    return [Turn(sent, tuple(heard)) for sent, heard in turns]


def plan_waits(talks: Sequence[Sequence[Turn]], number: int) -> Iterator[dict[str, str]]:
    """Steps that wait for what answered a turn; `talks` are the same exchange in one or more visits. Where no text
    tells the last message, one message is waited for, whatever it holds: a server may join several, or send fewer.
    """
    turn = talks[0][number]
    alike = [talk[number] for talk in talks if len(talk) == len(talks[0])]
    texts = tuple(twin.last for twin in alike if twin.last) if turn.last else ()
    passed = tuple(message.data for twin in alike for message in twin.heard[:-1] if message.is_text)
    text = sign(texts, passed)
    if text:
        yield {"await": text}
    else:
        yield from ({"expect": ""} for _ in turn.heard[:1])


@lru_cache(4096)
def sign(texts: tuple[str, ...], passed: tuple[str, ...] = ()) -> str:
    """A text that all of these hold and none of those that are passed over before; empty where there is none.

    What looks like one visit's alone is no part of it.
    """
    if not texts:
        return ""
    common, *others = (text[:MOST_LETTERS] for text in texts)
    for second in others:
        common = _shared(common, second)
    pieces = sorted(_lasting(common).split("\0"), key=len, reverse=True)
    fitting = (piece.strip()[:LONGEST_SIGN] for piece in pieces)
    return next((piece for piece in fitting if _tells(piece) and not any(piece in text for text in passed)), "")


def _shared(text: str, second: str) -> str:
    """The longest text that both hold, without the parts of tokens at its ends that are alike by chance."""
    match = SequenceMatcher(None, text, second, autojunk=False).find_longest_match()
    begin, end = match.a, match.a + match.size
    for source, begins in ((text, match.a), (second, match.b)):
        for token in _tokens(source):
            first, last = (place - begins + match.a for place in token.span())
            if first < match.a < last:
                begin = max(begin, min(last, end))
            if first < match.a + match.size < last:
                end = min(end, max(first, begin))
    return text[begin:end]


def _tokens(text: str) -> Iterator[re.Match[str]]:
    """Words that are likely to be others in each visit."""
    return (match for match in SOCKET_TOKEN.finditer(text) if re.search("[0-9]", match[0]))


def _lasting(text: str) -> str:
    """What is likely to be the same in each visit, with U+0000 in place of all else."""
    for token in reversed([*_tokens(text)]):
        text = f"{text[: token.start()]}\0{text[token.end() :]}"
    return NOT_LETTERS.sub("\0", text)


def _tells(piece: str) -> bool:
    return len(piece) >= SHORTEST_SIGN and re.search("[A-Za-z]", piece) is not None


def list_leaves(text: str) -> Iterator[tuple[str, str]]:
    """Values of a message by their pointers, where it is JSON; else the message itself, with the empty pointer."""
    leaves = list(list_json_leaves(split_frame(text)[1]))
    yield from leaves or [("", text)]


def split_frame(text: str) -> tuple[str, str, str]:
    """Returns the text before a message's JSON, the JSON, and the text behind it."""
    packet = text.rstrip(ENDS)
    matched = FRAME_ROOM.match(packet)
    begin = matched.end() if matched else 0
    begin += len(packet[begin:]) - len(packet[begin:].lstrip("0123456789"))  # the number of an acknowledgement
    return packet[:begin], packet[begin:], text[len(packet) :]
