"""What people are shown, held against files that are reviewed as code is: reports in all forms, and the terminal.

After a change that is meant, `pytest tests/unit/golden --snapshot-update` writes them anew; the difference is then part
of the change. Pictures are left out: their places and captions are there.
"""

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from loadstone.report.build import Format, write_report
from loadstone.report.study import write_study_report
from tests.places import DATA

FORMS = [(name, form) for name in ("rate", "tile") for form in Format if name == "rate" or form is not Format.JSON]
STUDY_FORMS = [("compare", Format.JSON), *((name, Format.HTML) for name in ("search", "compare", "platforms"))]
STUDY_FORMS += [(name, Format.MARKDOWN) for name in ("search", "compare", "platforms")]
SVG = re.compile(r"<svg.*?</svg>", re.DOTALL)
STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
VERSION = re.compile(r"loadstone \d+\.\d+\.\d+\S*")


class GoldenFile(SingleFileSnapshotExtension):
    """One readable file a snapshot."""

    _write_mode = WriteMode.TEXT


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of before, as they were kept."""
    folder = tmp_path_factory.mktemp("golden")
    with tarfile.open(DATA / "schema-1.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def held(snapshot: SnapshotAssertion, text: str, ending: str) -> None:
    """Holds a text against its file; raises AssertionError with the difference."""

    class Kind(GoldenFile):
        file_extension = ending

    text = VERSION.sub("loadstone VERSION", STYLE.sub("<style></style>", SVG.sub("<svg></svg>", text)))
    assert text == snapshot(extension_class=Kind)


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_a_report_is_as_it_was(
    results: Path, tmp_path: Path, name: str, form: Format, snapshot: SnapshotAssertion
) -> None:
    held(snapshot, write_report(results / name, form, tmp_path / "report").read_text(), form.value)


@pytest.mark.parametrize(("name", "form"), STUDY_FORMS)
def test_a_studys_report_is_as_it_was(
    results: Path, tmp_path: Path, name: str, form: Format, snapshot: SnapshotAssertion
) -> None:
    held(snapshot, write_study_report(results / name, form, tmp_path / "report").read_text(), form.value)


@pytest.mark.parametrize(
    "words",
    (["results", "--results", "RESULTS"], ["--help"], ["run", "--help"], ["compare", "--help"], ["doctr"]),
    ids=lambda words: "-".join(words).replace("--", ""),
)
def test_the_terminal_says_what_it_said(results: Path, words: list[str], snapshot: SnapshotAssertion) -> None:
    given = [word.replace("RESULTS", str(results)) for word in words]
    environment = {**os.environ, "COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"}
    environment.pop("LOADSTONE_RESULTS", None)
    done = subprocess.run([sys.executable, "-m", "loadstone", *given], capture_output=True, text=True, env=environment)
    said = f"{done.stdout}{done.stderr}exit code {done.returncode}\n"
    held(snapshot, said.replace(str(results), "RESULTS"), "txt")
