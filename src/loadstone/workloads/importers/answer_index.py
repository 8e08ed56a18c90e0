"""Which answers of a visit may hold a text: looked up in time that does not grow with their number. Pure."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property

STRIDE, KEY_LENGTH = 4, 5
"""A word is found by pieces of five letters, of which it has one every four letters."""
LEAST_TEXT = STRIDE + KEY_LENGTH - 1
"""Letters of a text that can be looked up: wherever it stands in a word, it holds a whole piece of it."""
WORD = re.compile(rf"[A-Za-z0-9+/_-]{{{LEAST_TEXT},}}")


class AnswerIndex:
    """The words of texts, by the numbers of the texts that hold them."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts

    @cached_property
    def _numbers(self) -> Mapping[str, Sequence[int]]:
        """Numbers of texts by word."""
        numbers: dict[str, list[int]] = {}
        for number, text in enumerate(self.texts):
            for word in set(WORD.findall(text)):
                numbers.setdefault(word, []).append(number)
        return numbers

    @cached_property
    def _words(self) -> Mapping[str, Sequence[str]]:
        """Words by their pieces."""
        words: dict[str, list[str]] = {}
        for word in self._numbers:
            for begin in range(0, len(word) - KEY_LENGTH + 1, STRIDE):
                words.setdefault(word[begin : begin + KEY_LENGTH], []).append(word)
        return words

    def find_holding(self, text: str) -> set[int] | None:
        """Numbers of the texts that hold a text; None where they are not known, for it is short or more than a word."""
        if WORD.fullmatch(text) is None:
            return None
        pieces = {text[begin : begin + KEY_LENGTH] for begin in range(STRIDE)}
        words = {word for piece in pieces for word in self._words.get(piece, ()) if text in word}
        return {number for word in words for number in self._numbers[word]}
