"""Requests of a recorded visit as steps, and which steps of two recordings are the same. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from typing import Literal

from loadstone.workloads.importers.har import HarExchange

Kind = Literal["path", "query", "field", "part", "header", "JSON", "body", "message"]


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
    answer: HarExchange
    cookies: Mapping[str, str] = field(default_factory=dict)
    """Those that the browser sent, and that an answer had set."""
    passed: str = ""
    """What else was heard over a WebSocket, of which the last message alone can be used."""
    body: str = ""
    """What was sent, as text."""
    credentials: str = ""
    """Name and password in its header, as HTTP Basic sends them."""
    has_lasting_token: bool = False
    """Whether the token that allows it is good for other requests."""

    @property
    def is_lost(self) -> bool:
        """Whether the browser did not keep the answer, as of pages that were left at once."""
        return not self.answer.response.content.text

    @cached_property
    def route(self) -> tuple[str, str, tuple[str, ...]]:
        """What it has in common with the same step of another recording."""
        masked = re.sub(r"/[^/]*[0-9][^/]*", "/#", self.path)
        return self.method, masked, tuple(sorted(str(leaf) for leaf in self.leaves if leaf.kind != "message"))


def align_steps(steps: Sequence[Step], twins: Sequence[Step]) -> dict[int, int]:
    """Which step of the second recording each of the first is: first those that also send the same texts, wherever
    pages ask for them at once and their order differs, then those that are alike but for what they send.
    """
    keys, other_keys = _texts_in_both(steps, twins), _texts_in_both(twins, steps)
    pairs = _in_order(keys, other_keys)
    waiting: dict[tuple[object, ...], list[int]] = {}
    for place in sorted(set(range(len(twins))) - set(pairs.values()), reverse=True):
        waiting.setdefault(other_keys[place], []).append(place)
    for number, key in enumerate(keys):
        if number not in pairs and waiting.get(key):
            pairs[number] = waiting[key].pop()
    left = [number for number in range(len(steps)) if number not in pairs]
    left_of_other = sorted(set(range(len(twins))) - set(pairs.values()))
    alike = _in_order([steps[number].route for number in left], [twins[number].route for number in left_of_other])
    return pairs | {left[number]: left_of_other[place] for number, place in alike.items()}


def _in_order(keys: Sequence[tuple[object, ...]], others: Sequence[tuple[object, ...]]) -> dict[int, int]:
    """Places of equal keys in two lists, in the order of both."""
    matcher = SequenceMatcher(None, keys, others, autojunk=False)
    blocks = matcher.get_matching_blocks()
    return {block.a + offset: block.b + offset for block in blocks for offset in range(block.size)}


def _texts_in_both(steps: Sequence[Step], twins: Sequence[Step]) -> list[tuple[object, ...]]:
    """Of each step, its route and the texts that the other recording also sends in the same place. Numbers may be of
    one visit, and are left out.
    """
    sent: dict[tuple[object, ...], set[tuple[Leaf, str]]] = {}
    for step in twins:
        sent.setdefault(step.route, set()).update(step.leaves.items())
    return [(step.route, *_in_both(step, sent.get(step.route, set()))) for step in steps]


def _in_both(step: Step, sent: AbstractSet[tuple[Leaf, str]]) -> Iterator[tuple[Leaf, str]]:
    for leaf, text in step.leaves.items():
        if leaf.kind not in ("message", "header") and not text.isdigit() and (leaf, text) in sent:
            yield leaf, text
