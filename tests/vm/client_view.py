"""What clients may see of a pair whose machine numbers its frames, whichever side sends them. Pure.

A frame leaves the primary after the secondary holds the log up to it. A secondary that takes over first replays all
that it holds, and sends again what it does not know to have left. What it sends after that is its own. So whatever
befalls the pair, this holds at any instant and for any client:

1. A number that is new is the one after the highest so far. Nothing is lost, and nothing new comes out of order.
2. Each side sends its numbers in order, each once, with none left out.
3. A number comes twice only from both sides, and only where the secondary has it from the log. What the secondary's
   machine does by itself comes from nobody else: a primary that was replaced adds nothing.
4. A side that did not take over sends nothing.
"""

from collections.abc import Sequence
from itertools import pairwise

FIRST, SECOND = "a", "b"
"""The side that serves first, and the one that may take over."""
STEP = 2
"""Between two numbers."""
Frame = tuple[str, int]
"""Side, and number."""


def find_violations(frames: Sequence[Frame], own_from: int | None) -> list[str]:
    """Returns what breaks these rules, in words; nothing where they hold. `own_from` is the first number of the second
    side that the log did not bring, None where that side did not take over.
    """
    return [
        *_find_gaps(frames),
        *_find_disorder(frames),
        *_find_own_repeats(frames, own_from),
    ]


def _find_gaps(frames: Sequence[Frame]) -> list[str]:
    expected, wrong = 0, []
    for side, number in frames:
        if number > expected:
            wrong.append(f"{side} sent {number} where {expected} was next")
        expected = max(expected, number + STEP)
    return wrong


def _find_disorder(frames: Sequence[Frame]) -> list[str]:
    wrong = []
    for side in (FIRST, SECOND):
        numbers = [number for sender, number in frames if sender == side]
        steps = pairwise(numbers)
        wrong += [f"{side} sent {after} after {before}" for before, after in steps if after != before + STEP]
    return wrong


def _find_own_repeats(frames: Sequence[Frame], own_from: int | None) -> list[str]:
    second = [number for side, number in frames if side == SECOND]
    if own_from is None:
        return [f"{SECOND} sent {number} and did not take over" for number in second[:1]]
    return [
        f"{FIRST} sent {number}, but {SECOND} serves alone from {own_from}"
        for side, number in frames
        if side == FIRST and number >= own_from
    ]
