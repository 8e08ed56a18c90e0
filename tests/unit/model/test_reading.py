"""Messages of a file's sections: place, reason and remedy, in the words of TOML."""

from pathlib import Path
from typing import Self

import pytest
from pydantic import Field, model_validator

from loadstone.model.errors import UsageError
from loadstone.model.reading import Document, Section, from_settings


class Limits(Section):
    at_least: float | None = Field(default=None, description="a number, 0 or more", ge=0)
    at_most: float | None = None
    names: tuple[str, ...] = Field(default=(), description="a list of names")

    @model_validator(mode="after")
    def _has_an_end(self) -> Self:
        if self.at_least is None and self.at_most is None:
            raise ValueError("needs `at_least`, `at_most` or both")
        return self


def problem_of(tmp_path: Path, text: str) -> str:
    """Returns the only problem of a file with a section `[limits]`."""
    file = tmp_path / "limits.toml"
    file.write_text(f"[limits]\n{text}\n")
    document = Document.read(file)
    assert document.take(("limits",), Limits, document.content["limits"]) is None
    (problem,) = document.problems
    return f"{problem.line}: {problem.message}. {problem.remedy}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("names = []", "1: needs `at_least`, `at_most` or both. Correct the value."),
        ("at_least = -1", "2: input should be greater than or equal to 0, not -1. Expected: a number, 0 or more."),
        ("at_most = 1\nnames = 3", "3: input should be a list, not 3. Expected: a list of names."),
        ("at_most = 1\nat_lest = 2", "3: unknown key. Did you mean `at_least`?"),
    ],
)
def test_a_problem_has_its_line_its_reason_and_its_remedy(tmp_path: Path, text: str, problem: str) -> None:
    assert problem_of(tmp_path, text) == problem


def test_settings_that_contradict_each_other_are_refused_by_a_sentence() -> None:
    with pytest.raises(UsageError, match=r"^Needs `at_least`, `at_most` or both\.$"):
        from_settings(Limits, "limit", {})
