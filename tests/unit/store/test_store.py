"""A result folder is readable whatever happened to its run, and says when it was changed."""

import base64
import json
import os
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from loadstone.model.errors import StoreError
from loadstone.model.records.status import Status
from loadstone.store.folder import ResultFolder, Seal, SealState, seal_of
from loadstone.store.histograms import (
    DIGITS,
    HIGHEST_US,
    LOWEST_US,
    _bounds_us,
    count_crowd,
    merge_histograms,
    read_distribution,
)
from loadstone.store.published import read_published
from loadstone.store.read import list_results, read_manifest, read_result
from loadstone.store.study import StudyFolder, find_unfinished, read_study_manifest
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
    assert len(read_result(path).workloads[0].iterations[0].records.intervals) == 1


def test_a_changed_measurement_breaks_the_seal_and_a_new_judgement_does_not(tmp_path: Path) -> None:
    path = result_folder(tmp_path, [interval(1)])
    (path / "rejudged.json").write_text("{}")
    assert seal_of(path).state is SealState.INTACT
    (path / "runs" / "banking-1" / "events.jsonl").write_text("")
    assert seal_of(path) == Seal(SealState.BROKEN, ("runs/banking-1/events.jsonl",))


def test_two_results_of_one_second_do_not_meet(tmp_path: Path) -> None:
    first, second = (ResultFolder.create(tmp_path, manifest()) for _ in range(2))
    assert first.path != second.path
    assert [found.status for _, found in list_results(tmp_path)] == [Status.RUNNING, Status.RUNNING]


def test_workloads_whose_names_begin_alike_keep_their_iterations_apart(tmp_path: Path) -> None:
    path = result_folder(tmp_path, [interval(1)])
    (path / "runs" / "banking-own-1").mkdir()
    assert len(read_result(path).workloads[0].iterations) == 1


def test_a_folder_that_is_not_ours_hides_no_result(tmp_path: Path) -> None:
    path = result_folder(tmp_path, [interval(1)])
    (tmp_path / "zzz").mkdir()
    (tmp_path / "zzz" / "manifest.json").write_text('{"schema": 99}')
    assert [found for found, _ in list_results(tmp_path)] == [path]


def test_what_is_no_result_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not a result folder"):
        read_result(tmp_path)
    (tmp_path / "manifest.json").write_text(json.dumps({"schema": 99}))
    with pytest.raises(StoreError, match="schema 99"):
        read_result(tmp_path)


@given(st.lists(st.integers(1, 600_000_000), min_size=1, max_size=200))
def test_percentiles_are_those_of_the_histogram(values: list[int]) -> None:
    read = read_distribution(encoded(*values))
    histogram = HdrHistogram.decode(encoded(*values).hdr)
    assert read.count == len(values)
    for percentile in (50.0, 99.0, 100.0):
        assert read.percentiles_s[percentile] == pytest.approx(histogram.get_value_at_percentile(percentile) / 1e6)


@given(st.lists(st.lists(st.integers(1, 10**8), min_size=1, max_size=30), min_size=1, max_size=5))
def test_merging_is_the_same_as_recording_together(parts: list[list[int]]) -> None:
    together = read_distribution(encoded(*(value for part in parts for value in part)))
    apart = merge_histograms([encoded(*part) for part in parts])
    assert apart.count == together.count
    assert apart.percentiles_s == together.percentiles_s
    assert apart.mean_s == pytest.approx(together.mean_s)


def test_places_of_a_histogram_end_where_the_library_says() -> None:
    histogram = HdrHistogram(LOWEST_US, HIGHEST_US, DIGITS)
    values = map(histogram.get_value_from_index, range(histogram.counts_len))
    assert _bounds_us().tolist() == [histogram.get_highest_equivalent_value(value) for value in values]


def test_a_crowd_counts_every_value_of_several_histograms_once() -> None:
    steps = count_crowd([encoded(1, 1, 150), encoded(), encoded(160, 600_000_000)])
    assert [count for _, _, count in steps] == [2, 2, 1]
    assert [(low <= 150e-6 < high) for low, high, _ in steps] == [False, True, False]
    assert count_crowd([]) == count_crowd([encoded()]) == []


@given(st.lists(st.lists(st.integers(1, 600_000_000), max_size=30), min_size=1, max_size=4))
def test_a_crowds_steps_hold_their_values(parts: list[list[int]]) -> None:
    steps = count_crowd([encoded(*part) for part in parts])
    values = [value / 1e6 for part in parts for value in part]
    for low, high, count in steps:
        # A histogram rounds up by 0.1 % at most.
        assert sum(low < value * 1.001 and value < high for value in values) >= count
    assert sum(count for _, _, count in steps) == len(values)


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
    with study.hold_lock(), pytest.raises(StoreError, match="another"), study.hold_lock():
        raise AssertionError("unreachable")
    assert read_study_manifest(study.path).status is Status.INTERRUPTED
    found = find_unfinished(tmp_path, "x")
    assert found is not None
    assert found.path == study.path
    assert find_unfinished(tmp_path, "y") is None
    study.mark(Status.COMPLETE)
    assert find_unfinished(tmp_path, "x") is None


HEAD = "workload,table,page,column,value\n"
WHOLE = {"requests counted in 60 s": "3", "average response time": "0.5", "average bytes": "10", "QoS counts": "2/1/0"}


def published(**changed: str) -> str:
    """A table of one page with some of its figures changed; `requests` names the first table otherwise."""
    rows = {changed.get("table", name) if "in 60 s" in name else name: value for name, value in WHOLE.items()}
    for word, value in changed.items():
        rows = {name: value if name.startswith(word) else held for name, held in rows.items()}
    return HEAD + "".join(f"banking,{name},login,V1,{value}\n" for name, value in rows.items())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (published(requests="9" * 5000), "is not between 0 and"),
        (published(requests="1e999"), "is not between 0 and"),
        (published(average="nan"), "is not between 0 and"),
        (published(requests="-3"), "is not between 0 and"),
        (published(QoS="2/1"), "`login` in the column `V1`: `2/1` is not of the form GOOD / TOLERABLE / FAIL"),
        (published(QoS="2/1/x"), "`x` is not a number"),
        (published(requests=""), "`login` in the column `V1`: the cell is empty"),
        (published(requests="2.5"), "`2.5` is not a whole number, as a count is"),
        (published(requests='"1,234"'), "`1,234` has a comma or another separator. Write digits"),
        (published(requests="1_234"), "`1_234` has a comma or another separator"),
        (published(average='"0,5"'), "`0,5` has a comma or another separator"),
        (published(requests="1234,5"), "line 2 of .* has 6 values.* Put a value with a comma in quotes"),
        (
            published() + "banking,QoS counts,login,V1,1/1/1\n",
            "csv:6: banking: `login` .* occurs twice in the table `QoS",
        ),
        (
            published() + "banking,QoS counts,logni,V1,1/1/1\n",
            "has `logni` .* which the table of requests does not have",
        ),
        (published() + "banking,validation errors,login,V2,1\n", "in the column `V2`, which the table of requests"),
        (published() + "support,QoS counts,home,V1,1/1/1\n", "no table `requests counted in N s` of `support`"),
        (published(requests="0"), "there is no request"),
        (published(table="requests"), "is not called `requests counted in N s`"),
        (published(table="requests counted in many s"), "is not called"),
        (published(table="requests counted in 0 s"), "N above 0"),
        (HEAD + "banking,requests counted in 60 s,login\n", "line 2 of .* has 3 values"),
        (HEAD + "banking,requests counted in 60 s,login,V1,3,4\n", "line 2 of .* has 6 values"),
        (HEAD + "banking,requests counted in 60 s,login,V1,\0\n", "lacks a figure|cannot be read"),
        (HEAD + '"' + "x" * 200_000 + '"\n', "cannot be read"),
        ("", "has the columns"),
    ],
)
def test_published_tables_with_odd_figures_are_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "published.csv"
    file.write_text(text)
    with pytest.raises(StoreError, match=said):
        read_published(file)


def test_a_published_table_of_one_page_is_read(tmp_path: Path) -> None:
    (tmp_path / "published.csv").write_text(published())
    figures = read_published(tmp_path / "published.csv")["banking"]["V1"]
    assert (figures.steady_s, figures.requests, figures.is_disclosed) == (60, 3, False)


@pytest.mark.parametrize(
    ("rows", "errors"),
    [
        ("", None),
        ("banking,validation errors,Total,V1,0\n", {}),
        ("banking,validation errors,login,V1,0\n", {}),
        ("banking,validation errors,login,V1,2\nbanking,validation errors,Total,V1,2\n", {"content": 2}),
    ],
)
def test_printed_validation_errors_are_those_of_their_page(
    tmp_path: Path, rows: str, errors: dict[str, int] | None
) -> None:
    (tmp_path / "published.csv").write_text(published() + rows)
    figures = read_published(tmp_path / "published.csv")["banking"]["V1"]
    assert figures.has_printed_errors is (errors is not None)
    assert figures.operations[0].errors == (errors or {})


def test_a_printed_total_of_validation_errors_needs_its_pages(tmp_path: Path) -> None:
    (tmp_path / "published.csv").write_text(published() + "banking,validation errors,Total,V1,2\n")
    with pytest.raises(StoreError, match="are a total, and the pages are missing"):
        read_published(tmp_path / "published.csv")


def test_a_pipe_of_published_tables_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="not an ordinary file"):
        read_published(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "columns"),
        ("workload,table,page,column,value\nbanking,other,login,V1,3\n", "no table"),
        ("workload,table,page,column,value\nbanking,requests counted in 60 s,login,V1,3\n", "lacks a figure"),
        ("workload,table,page,column,value\nbanking,requests counted in 60 s,login,V1,many\n", "lacks a figure"),
    ],
)
def test_published_tables_that_are_none_are_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "published.csv"
    file.write_text(text)
    with pytest.raises(StoreError, match=said):
        read_published(file)
