"""The index of a results folder saves reading, and never shows what is not there any more."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from loadstone.model.records.listed import ListedResult
from loadstone.model.records.status import Status
from loadstone.store import index
from loadstone.store import listed as listed_documents
from loadstone.store.folder import ResultFolder
from loadstone.store.index import ResultIndex
from loadstone.store.study import StudyFolder
from tests.records import interval, manifest, result_folder, study_manifest


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own; documents count as settled at once."""
    monkeypatch.setenv("LOADSTONE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(index, "SETTLED_NS", -1)
    return tmp_path / "cache"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the folders whose documents were read."""
    names: list[str] = []
    genuine = listed_documents.read_listed

    def noted(path: Path) -> ListedResult:
        names.append(path.name)
        return genuine(path)

    monkeypatch.setattr(listed_documents, "read_listed", noted)
    return names


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two results and a study."""
    folder = tmp_path / "results"
    for name in ("first", "second"):
        ResultFolder.create(folder, manifest(name=name)).mark(Status.COMPLETE)
    StudyFolder.create(folder, study_manifest())
    return folder


def listed(results: Path) -> Sequence[tuple[Path, ListedResult]]:
    """What a command lists, as a process of its own would."""
    command = ResultIndex.load(results)
    rows = command.find_newest(None)
    command.save()
    return rows


def test_the_next_command_reads_nothing_that_has_not_changed(results: Path, read: list[str]) -> None:
    before = listed(results)
    assert len(read) == len(before) == 3
    assert [path.name for path, _ in before] == sorted((path.name for path, _ in before), reverse=True)
    assert listed(results) == before
    assert len(read) == 3


def test_the_newest_alone_are_read(results: Path, read: list[str]) -> None:
    assert len(ResultIndex(results).find_newest(1)) == len(read) == 1


def test_a_document_that_was_replaced_by_another_of_the_same_size_and_time_is_read_again(
    results: Path, read: list[str]
) -> None:
    (path,) = results.glob("*first")
    file = path / "manifest.json"
    state = file.stat()
    listed(results)
    file.write_text(file.read_text().replace('"status": "complete"', '"status":   "failed"'))
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (state.st_size, state.st_mtime_ns)
    assert dict(listed(results))[path].status is Status.FAILED
    assert read[3:] == [path.name]


def test_a_removed_result_is_not_listed(results: Path, cache: Path) -> None:
    before = listed(results)
    (before[0][0]).rename(results / ".gone")
    assert [path for path, _ in listed(results) if path.name != ".gone"] == [path for path, _ in before[1:]]


def test_a_result_whose_maker_was_killed_is_interrupted_although_its_documents_are_the_same(
    tmp_path: Path, read: list[str]
) -> None:
    folder = ResultFolder.create(tmp_path / "results", manifest())
    assert [row.status for _, row in listed(tmp_path / "results")] == [Status.RUNNING]
    folder.release()  # what the end of its process does
    assert [row.status for _, row in listed(tmp_path / "results")] == [Status.INTERRUPTED]
    assert len(read) == 1


def test_a_document_that_was_just_written_is_not_kept(
    results: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "SETTLED_NS", 3_600_000_000_000)
    assert listed(results) == listed(results)
    assert len(read) == 6


@pytest.mark.parametrize("content", ["", "[]", '{"entries": {}, "version": "0", "schema": 1}', "x" * 100])
def test_an_index_that_is_none_is_made_anew(results: Path, cache: Path, content: str) -> None:
    before = listed(results)
    (file,) = cache.glob("results-*.json")
    file.write_text(content)
    assert listed(results) == before


def test_an_unreadable_verdict_is_said_each_time(tmp_path: Path) -> None:
    path = result_folder(tmp_path / "results", [interval(1)])
    (path / "verdict.json").write_text("[]")
    for _ in range(2):
        unreadable: list[str] = []
        command = ResultIndex.load(tmp_path / "results")
        ((_, row),) = command.find_newest(None, unreadable)
        command.save()
        assert row.problem and unreadable == [row.problem]


def test_few_indexes_are_kept(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "MOST_INDEXES", 2)
    for number in range(4):
        result_folder(tmp_path / f"results-{number}", [interval(1)])
        listed(tmp_path / f"results-{number}")
    assert len(list(cache.glob("results-*.json"))) == 2
