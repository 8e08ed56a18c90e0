"""Which answers of a visit may hold a text: looked up in time that does not grow with their number. Pure."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property

STRIDE, KEY_LENGTH = 4, 5
"""A token is found by pieces of five letters, of which it has one every four letters."""
LEAST_TEXT = STRIDE + KEY_LENGTH - 1
"""Letters of a text that can be looked up: wherever it stands in a token, it holds a whole piece of it."""
SEARCHED = re.compile(rf"[A-Za-z0-9+/_-]{{{LEAST_TEXT},}}")


class AnswerIndex:
    """The tokens of texts, by the numbers of the texts that hold them."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts

    @cached_property
    def _numbers(self) -> Mapping[str, Sequence[int]]:
        """Numbers of texts by token."""
        numbers: dict[str, list[int]] = {}
        for number, text in enumerate(self.texts):
            for token in set(SEARCHED.findall(text)):
                numbers.setdefault(token, []).append(number)
        return numbers

    @cached_property
    def _tokens(self) -> Mapping[str, Sequence[str]]:
        """Words by their pieces."""
        tokens: dict[str, list[str]] = {}
        for token in self._numbers:
            for begin in range(0, len(token) - KEY_LENGTH + 1, STRIDE):
                tokens.setdefault(token[begin : begin + KEY_LENGTH], []).append(token)
        return tokens

    def find_holding(self, text: str) -> set[int] | None:
        """Numbers of the texts that hold a text; None where they are not known, since it is short or more than one."""
        if SEARCHED.fullmatch(text) is None:
            return None
        pieces = {text[begin : begin + KEY_LENGTH] for begin in range(STRIDE)}
        tokens = {token for piece in pieces for token in self._tokens.get(piece, ()) if text in token}
        return {number for token in tokens for number in self._numbers[token]}
