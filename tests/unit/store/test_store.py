"""A result folder is readable whatever happened to its run, and says when it was changed."""

import base64
import json
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from loadstone.model.errors import StoreError
from loadstone.model.records.manifest import Status
from loadstone.store.folder import ResultFolder, Seal, SealState, seal_of
from loadstone.store.histograms import distribution, merged
from loadstone.store.published import read_published
from loadstone.store.read import catalogue, read_manifest, read_result
from loadstone.store.study import StudyFolder, read_study_manifest, unfinished
from tests.records import encoded, interval, manifest, result_folder, study_manifest


def test_a_run_whose_driver_died_keeps_its_seconds(tmp_path: Path) -> None:
    path = result_folder(tmp_path, [interval(1), interval(2)], Status.FAILED)
    figures = read_result(path).workloads[0].iterations[0].figures
    assert (figures.completed, figures.steady_s, figures.response.count) == (False, 2.0, 2)
    assert "died" in figures.trouble


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    path = result_folder(tmp_path, [interval(1)], Status.FAILED)
    events = path / "runs" / "banking-1" / "events.jsonl"
    events.write_text(events.read_text() + '{"event": "interv')
    assert len(read_result(path).workloads[0].iterations[0].intervals) == 1


def test_a_changed_measurement_breaks_the_seal_and_a_new_judgement_does_not(tmp_path: Path) -> None:
    path = result_folder(tmp_path, [interval(1)])
    (path / "rejudged.json").write_text("{}")
    assert seal_of(path).state is SealState.INTACT
    (path / "runs" / "banking-1" / "events.jsonl").write_text("")
    assert seal_of(path) == Seal(SealState.BROKEN, ("runs/banking-1/events.jsonl",))


def test_two_results_of_one_second_do_not_meet(tmp_path: Path) -> None:
    first, second = (ResultFolder.create(tmp_path, manifest()) for _ in range(2))
    assert first.path != second.path
    assert [found.status for _, found in catalogue(tmp_path)] == [Status.RUNNING, Status.RUNNING]


def test_workloads_whose_names_begin_alike_keep_their_iterations_apart(tmp_path: Path) -> None:
    path = result_folder(tmp_path, [interval(1)])
    (path / "runs" / "banking-own-1").mkdir()
    assert len(read_result(path).workloads[0].iterations) == 1


def test_a_folder_that_is_not_ours_hides_no_result(tmp_path: Path) -> None:
    path = result_folder(tmp_path, [interval(1)])
    (tmp_path / "zzz").mkdir()
    (tmp_path / "zzz" / "manifest.json").write_text('{"schema": 99}')
    assert [found for found, _ in catalogue(tmp_path)] == [path]


def test_what_is_no_result_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no result folder"):
        read_result(tmp_path)
    (tmp_path / "manifest.json").write_text(json.dumps({"schema": 99}))
    with pytest.raises(StoreError, match="schema 99"):
        read_result(tmp_path)


@given(st.lists(st.integers(1, 600_000_000), min_size=1, max_size=200))
def test_percentiles_are_those_of_the_histogram(values: list[int]) -> None:
    read = distribution(encoded(*values))
    histogram = HdrHistogram.decode(encoded(*values).hdr)
    assert read.count == len(values)
    for percentile in (50.0, 99.0, 100.0):
        assert read.percentiles_s[percentile] == pytest.approx(histogram.get_value_at_percentile(percentile) / 1e6)


@given(st.lists(st.lists(st.integers(1, 10**8), min_size=1, max_size=30), min_size=1, max_size=5))
def test_merging_is_the_same_as_recording_together(parts: list[list[int]]) -> None:
    together = distribution(encoded(*(value for part in parts for value in part)))
    apart = merged([encoded(*part) for part in parts])
    assert apart.count == together.count
    assert apart.percentiles_s == together.percentiles_s
    assert apart.mean_s == pytest.approx(together.mean_s)


def test_the_exchange_form_is_the_standard_one() -> None:
    header = base64.b64decode(encoded(5).hdr)[:4]
    assert header == b"\x1c\x84\x93\x14"  # HdrHistogram V2, compressed


def test_a_run_whose_maker_was_killed_reads_as_interrupted(tmp_path: Path) -> None:
    folder = ResultFolder.create(tmp_path, manifest())
    assert read_manifest(folder.path).status is Status.RUNNING
    folder.release()  # what the end of its process does
    found = read_manifest(folder.path)
    assert found.status is Status.INTERRUPTED
    assert "killed" in found.reason
    assert json.loads((folder.path / "manifest.json").read_text())["status"] == "running", "nothing was written"


def test_only_one_program_works_on_a_study(tmp_path: Path) -> None:
    study = StudyFolder.create(tmp_path, study_manifest(identity="x"))
    with study.locked(), pytest.raises(StoreError, match="another"), study.locked():
        raise AssertionError("unreachable")
    assert read_study_manifest(study.path).status is Status.INTERRUPTED
    found = unfinished(tmp_path, "x")
    assert found is not None
    assert found.path == study.path
    assert unfinished(tmp_path, "y") is None
    study.mark(Status.COMPLETE)
    assert unfinished(tmp_path, "x") is None


HEADING = "workload,table,page,column,value\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "columns"),
        ("workload,table,page,column,value\nbanking,other,login,V1,3\n", "no table"),
        (f"{HEADING}banking,requests counted in 60 s,login,V1,3\n", "lacks the figure"),
        (f"{HEADING}banking,requests counted in 60 s,login,V1,many\n", "is wrong: could not convert"),
        (f"{HEADING}banking,requests counted in 60 s,login,V1,1e999\n", "is wrong: `1e999`"),
        (f"{HEADING}banking,requests counted in 60 s,login,V1,{'9' * 5000}\n", "is wrong"),
        (f"{HEADING}banking,requests counted in 60 s,login,V1,-1\n", "is wrong: `-1`"),
        (f"{HEADING}banking,requests counted in 60 s,login,V1,0.5\n", "is wrong: `0.5` is not a whole number"),
        (f"{HEADING}banking,requests counted in {'9' * 400} s,Total,V1,3\n", "is wrong"),
        (f"{HEADING}banking,requests counted in 0 s,Total,V1,3\n", "needs more than 0"),
        (f"{HEADING}banking,requests counted in 60 s,Total,V1,3\n", "needs more than 0"),
        (f"{HEADING}banking,requests,login,V1,3\n", "does not say for how long"),
        (f"{HEADING}banking,requests counted in 60 s,login\n", "needs 5 cells"),
        (f"{HEADING}banking,requests counted in 60 s,login,V1,3,4\n", "needs 5 cells"),
        (f"{HEADING}banking,requests counted in 60 s,lo\0gin,V1,3\n", "lacks the figure|line contains NUL"),
    ],
)
def test_published_tables_that_are_none_are_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "published.csv"
    file.write_text(text)
    with pytest.raises(StoreError, match=said):
        read_published(file)
