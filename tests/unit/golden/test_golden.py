"""What people are shown, held against files that are reviewed as code is: pages of reports, and the terminal.

What a page says is held as text, once for all forms; one result and one study are held in the forms themselves, and the
documents for other programs by their keys.

After a change that is meant, `pytest tests/unit/golden --snapshot-update` writes them anew; the difference is then part
of the change. Pictures are left out: their places and captions are there.
"""

import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from loadstone.cli import screen
from loadstone.cli.main import main
from loadstone.report.build import Format, check_trust, render_folder
from loadstone.report.section import ReportContext, list_shipped_sections, render_result_blocks
from loadstone.report.study import render_study, render_study_blocks
from loadstone.store.folder import seal_of
from loadstone.store.read import read_result
from loadstone.store.study import read_answer, read_study_manifest
from loadstone.study.registry import get_kind
from tests.places import DATA
from tests.unit.golden.text import text_of

RESULTS, STUDIES = ("rate", "tile"), ("search", "compare", "platforms")
SVG = re.compile(r"<svg.*?</svg>", re.DOTALL)
NAMED = frozenset({"metrics", "monitors"})
"""Tables of a document whose keys are names of figures, all with values alike."""
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


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_told_as_it_was(results: Path, name: str, snapshot: SnapshotAssertion) -> None:
    seal = seal_of(results / name)
    result, note = check_trust(read_result(results / name), seal)
    blocks = render_result_blocks(ReportContext(result, seal, True, note), list_shipped_sections())
    held(snapshot, text_of(list(blocks)), "txt")


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_is_told_as_it_was(results: Path, name: str, snapshot: SnapshotAssertion) -> None:
    manifest = read_study_manifest(results / name)
    kind = get_kind(manifest.kind)
    blocks = render_study_blocks(manifest, kind, read_answer(results / name, kind.adapter), has_pictures=True)
    held(snapshot, text_of(list(blocks)), "txt")


@pytest.mark.parametrize("form", [Format.HTML, Format.MARKDOWN])
def test_a_results_report_is_as_it_was(results: Path, form: Format, snapshot: SnapshotAssertion) -> None:
    held(snapshot, render_folder(results / "rate", form), form.value)


@pytest.mark.parametrize("form", [Format.HTML, Format.MARKDOWN])
def test_a_studys_report_is_as_it_was(results: Path, form: Format, snapshot: SnapshotAssertion) -> None:
    held(snapshot, render_study(results / "compare", form), form.value)


def test_a_results_document_has_the_keys_that_it_had(results: Path, snapshot: SnapshotAssertion) -> None:
    document = json.loads(render_folder(results / "rate", Format.JSON))
    held(snapshot, "".join(f"{line}\n" for line in sorted(set(keys_of(document)))), "txt")


def test_a_studys_document_has_the_keys_that_it_had(results: Path, snapshot: SnapshotAssertion) -> None:
    document = json.loads(render_study(results / "compare", Format.JSON))
    held(snapshot, "".join(f"{line}\n" for line in sorted(set(keys_of(document)))), "txt")


def keys_of(document: object, place: str = "") -> Iterator[str]:
    """Where values of a document are, and of what type each is; items of a list are alike."""
    match document:
        case dict():
            for key, value in document.items():
                name = "NAME" if place.rpartition(".")[2] in NAMED else key
                yield from keys_of(value, f"{place}.{name}".lstrip("."))
        case list():
            for value in document:
                yield from keys_of(value, f"{place}[]")
        case _:
            yield f"{place}: {'number' if type(document) in (int, float) else type(document).__name__}"


def test_a_results_document_has_its_figures(results: Path) -> None:
    (workload,) = json.loads(render_folder(results / "rate", Format.JSON))["workloads"]
    figures = read_result(results / "rate").workloads[0].iterations[0].figures
    (iteration,) = workload["iterations"]
    rows = {row["name"]: row for row in iteration["operations"]}
    assert workload["verdict"]["verdict"] == "invalid"  # by the rules of today, so few operations are no pass
    assert iteration["steady_s"] == figures.steady_s
    assert rows["Total"]["requests"] == sum(operation.requests for operation in figures.operations) > 0
    for operation in figures.operations:
        row = rows[operation.name]
        assert (row["requests"], row["good"]) == (operation.requests, operation.good)
        assert row["mean_s"] == pytest.approx(operation.response.mean_s)


def test_a_studys_document_has_its_figures(results: Path) -> None:
    document = json.loads(render_study(results / "compare", Format.JSON))
    answer = read_answer(results / "compare", get_kind("compare").adapter)
    runs = document["answer"]["runs"]
    assert [run["request"]["key"] for run in runs] == [run.request.key for run in answer.runs]
    assert [run["metrics"] for run in runs] == [dict(run.metrics) for run in answer.runs]
    (part,) = document["answer"]["parts"]
    difference = part["loads"][0]["metrics"]["response_mean"]["difference"]
    assert (round(difference["ratio"], 3), round(difference["p"], 3), difference["is_found"]) == (1.293, 0.031, True)


@pytest.mark.parametrize(
    "words",
    (["results", "--results", "RESULTS"], ["--help"], ["run", "--help"], ["compare", "--help"], ["doctr"]),
    ids=lambda words: "-".join(words).replace("--", ""),
)
def test_the_terminal_says_what_it_said(
    results: Path,
    words: list[str],
    snapshot: SnapshotAssertion,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    # Nothing is there to clear up, whatever a killed test may have left.
    given = {"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb", "LOADSTONE_RUNTIME_DIR": str(tmp_path / "runtime")}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("LOADSTONE_RESULTS", raising=False)
    for console in (screen.out, screen.errors):
        monkeypatch.setattr(console, "_width", 120)
        monkeypatch.setattr(console, "_height", 25)
    with pytest.raises(SystemExit) as end:
        main([word.replace("RESULTS", str(results)) for word in words])
    out, err = capsys.readouterr()
    held(snapshot, f"{out}{err}exit code {end.value.code}\n".replace(str(results), "RESULTS"), "txt")
