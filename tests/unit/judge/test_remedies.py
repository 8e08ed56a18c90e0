"""Every rule of a verdict is explained, in the program and in the documentation alike."""

import re

import pytest

from loadstone.judge.check import CHECK_TITLES
from loadstone.judge.remedies import REMEDIES, render_markdown_page
from loadstone.model.records.check import CheckId
from tests.places import PROJECT

MOST_WORDS = 25


def test_every_rule_is_explained() -> None:
    assert set(REMEDIES) == set(CheckId) - {CheckId.UNKNOWN}
    assert set(CHECK_TITLES) <= set(REMEDIES)


@pytest.mark.parametrize("rule", REMEDIES)
def test_each_sentence_of_an_explanation_is_short(rule: CheckId) -> None:
    remedy = REMEDIES[rule]
    for text in (remedy.meaning, remedy.cause, remedy.remedy):
        assert text.endswith(".")
        assert all(len(sentence.split()) <= MOST_WORDS for sentence in re.split(r"[.?:] ", text)), text


def test_the_page_of_the_documentation_is_what_the_program_prints() -> None:
    assert (PROJECT / "docs" / "troubleshooting.md").read_text() == render_markdown_page()
