"""The index of answers names every answer that holds a text, and no other."""

from hypothesis import given
from hypothesis import strategies as st

from loadstone.workloads.importers.answer_index import LEAST_TEXT, AnswerIndex


def test_a_text_is_found_wherever_it_stands_in_a_word() -> None:
    index = AnswerIndex([f"<a {'x' * before}session-1234{'y' * behind}>" for before in range(6) for behind in range(6)])
    assert index.find_holding("session-1234") == set(range(36))
    assert index.find_holding("session-1235") == set()
    assert index.find_holding("xsession") == set(range(6, 36))


def test_what_is_short_or_more_than_a_word_is_not_known() -> None:
    index = AnswerIndex(["short text, and more"])
    assert index.find_holding("x" * (LEAST_TEXT - 1)) is None
    assert index.find_holding("two words of it") is None


@given(st.lists(st.text("ab <", max_size=40), max_size=5), st.text("ab", min_size=LEAST_TEXT, max_size=12))
def test_exactly_the_texts_that_hold_it_are_named(texts: list[str], text: str) -> None:
    texts = [*texts, f"a{text}b", text]
    assert AnswerIndex(texts).find_holding(text) == {number for number, each in enumerate(texts) if text in each}
