"""The project's sentences keep the rules of `tests/prose`, and the rules notice what they are for."""

from pathlib import Path

import pytest

from tests.prose import texts
from tests.prose.check import (
    Allowance,
    Place,
    Rule,
    allowances,
    findings,
    sentences,
    without,
    words,
)
from tests.prose.texts import Sentence


def test_sentences_are_plain_and_every_exception_is_needed() -> None:
    open_findings, idle = without(findings(sentences(), words()), allowances())
    assert not idle, "Remove these lines of tests/prose/exceptions.csv."
    assert [str(finding) for finding in open_findings] == []


def test_every_exception_has_a_reason() -> None:
    assert all(allowance.reason.strip() for allowance in allowances())


def broken(place: Place, text: str) -> list[Rule]:
    return [finding.rule for finding in findings([(place, Sentence("page.md", 1, text))], words())]


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("`abc` is not a valid rate.", []),
        ("`abc` is no rate.", [Rule.WORDS]),
        ("There is no machine `db`.", []),
        ("It is no longer active.", []),
        ("The search is under way.", [Rule.WORDS]),
        ("Run `mend anew` first.", []),
        ("What a machine sends is delayed.", [Rule.BEGINNING]),
        ("What is the largest load that passes?", []),
        ("Where results are stored", [Rule.BEGINNING]),
        ("Where no interval is known, none is shown.", []),
        ("Often the driver waits.", []),
        (f"It has {'many ' * 24}words.", [Rule.LENGTH]),
        (f"It has `{'many ' * 24}` words.", []),
    ],
)
def test_rules_notice_what_they_are_for(text: str, rules: list[Rule]) -> None:
    assert broken(Place.MESSAGES, text) == rules


def test_a_paragraph_is_read_over_its_lines_without_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "PROJECT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("# The page\n\nThe first sentence\nends here. The second\none too.\n\n```sh\nrun it anew\n```\n")
    assert [(one.line, one.text) for one in texts.page_sentences(page)] == [
        (1, "The page"),
        (3, "The first sentence ends here."),
        (3, "The second one too."),
    ]


def test_messages_are_read_and_docstrings_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "PROJECT", tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "module.py").write_text(
        '"""A docstring."""\n\nraise Wrong(f"`{x}` is wrong. Give {y} more.")\n'
    )
    folder = tmp_path / "crates" / "driver" / "src"
    folder.mkdir(parents=True)
    (folder / "main.rs").write_text('// "a comment here"\nbail!("no such \\\n    plan");\n')
    assert [one.text for one in texts.source_sentences()] == ["`{}` is wrong.", "Give {} more.", "no such plan"]


def test_an_exception_that_nothing_needs_is_noticed() -> None:
    found = findings([(Place.PAGES, Sentence("page.md", 1, "Run it anew."))], words())
    needed, idle = Allowance("page.md", "it anew", "a title"), Allowance("page.md", "mend it", "a title")
    assert without(found, [needed, idle]) == ([], [idle])
