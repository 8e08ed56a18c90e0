"""Where the parts of a kind of study are: the same file names in each, none of them long."""

from pathlib import Path

import pytest

from loadstone import study
from loadstone.study import kinds

PARTS = {"section.py", "question.py", "answer.py", "page.py"}
LONGEST_FILE = 400
LONGEST_MODULE = 250
"""Lines up to which a kind may be a single module."""
KINDS = [path for path in sorted(Path(kinds.__path__[0]).iterdir()) if path.name[0] != "_"]


def length(path: Path) -> int:
    return len(path.read_text().splitlines())


@pytest.mark.parametrize("kind", KINDS, ids=lambda path: path.stem)
def test_a_kind_is_a_short_module_or_a_package_of_four_parts(kind: Path) -> None:
    if kind.is_dir():
        assert {path.name for path in kind.glob("*.py")} >= PARTS
    else:
        assert length(kind) <= LONGEST_MODULE


def test_no_file_of_studies_is_long() -> None:
    files = Path(study.__path__[0]).rglob("*.py")
    assert [str(path) for path in files if length(path) > LONGEST_FILE] == []
