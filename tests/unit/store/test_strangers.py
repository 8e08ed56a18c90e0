"""A result folder from a stranger: whatever stands in it is read within bounds or refused with its place."""

import base64
import contextlib
import copy
import json
import os
import random
import shutil
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from loadstone.model.errors import LoadstoneError, StoreError
from loadstone.model.records.events import EncodedHistogram
from loadstone.report.build import Format, write_report
from loadstone.report.study import write_study_report
from loadstone.run.judging import judge
from loadstone.store.histograms import read_distribution
from loadstone.store.read import list_results, read_manifest, read_result
from loadstone.store.records import read_event
from loadstone.store.study import list_studies
from tests.records import encoded, interval, result_folder
from tests.unit.store.test_migrate import before as before  # the fixture

SAMPLED = 30
"""Of the thousands of places of a document so many are tried."""
DOCUMENTS = ("manifest.json", "verdict.json", "seal.json")
ANSWERS = ("search", "sweep", "repeat", "compare", "peaks", "platforms", "predict")
HARM: tuple[Any, ...] = (None, [], {}, -1, 10**400, 1e308, "", "x\0y", "[/b]\ud800", [[[[]]]], True)
"""What stands where something else is expected."""


def spoiled(document: Any, most: int = SAMPLED, seed: int = 1) -> Iterator[Any]:
    """The document with so many of its places spoiled by one harm after another, and with each key gone."""
    places = list(_places(document, ()))
    for number, place in enumerate(random.Random(seed).sample(places, min(most, len(places)))):
        changed = copy.deepcopy(document)
        _put(changed, place, HARM[number % len(HARM)])
        yield changed
        if isinstance(place[-1], str):
            changed = copy.deepcopy(document)
            _at(changed, place[:-1]).pop(place[-1])
            yield changed
    yield from HARM


def _places(document: Any, at: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in items:
        yield (*at, key)
        if isinstance(value, dict | list):
            yield from _places(value, (*at, key))


def _at(document: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        document = document[key]
    return document


def _put(document: Any, place: tuple[Any, ...], value: Any) -> None:
    _at(document, place[:-1])[place[-1]] = value


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    return judged_result(tmp_path)


def judged_result(folder: Path) -> Path:
    """A result with its verdict, as a stranger may send it."""
    path = result_folder(folder, [interval(1), interval(2)])
    judge(path)
    (path / "verdict.json").write_bytes((path / "rejudged.json").read_bytes())
    (path / "rejudged.json").unlink()
    return path


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_spoiled_document_is_read_or_refused(stranger: Path, name: str) -> None:
    assert refusals(stranger, name), "some of it cannot be read"


def refusals(stranger: Path, name: str, most: int = SAMPLED, seed: int = 1) -> int:
    """How often a result is refused with some reason where one document is spoiled; else it is reported."""
    document = json.loads((stranger / name).read_text())
    refused = 0
    for number, changed in enumerate(spoiled(document, most, seed)):
        (stranger / name).write_text(json.dumps(changed))
        try:
            write_report(stranger, list(Format)[number % len(Format)])
        except LoadstoneError as error:
            refused += 1
            assert str(error), "an error says something"
        list(list_results(stranger.parent))
    return refused


def test_a_spoiled_plan_is_read_or_refused(stranger: Path) -> None:
    file = stranger / "runs" / "banking-1" / "plan.json"
    document = json.loads(file.read_text())
    refused = 0
    for changed in spoiled({"schema": document["schema"], "phases": document["phases"]}):
        file.write_text(json.dumps(changed))
        try:
            read_result(stranger)
        except LoadstoneError as error:
            refused += 1
            assert str(error), "an error says something"
    assert refused, "some of it cannot be read"


@pytest.mark.parametrize("name", ANSWERS)
def test_a_spoiled_answer_is_read_or_refused(before: Path, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    shutil.copytree(before / name, path)
    assert refused_answers(path), "some of it cannot be read"


def test_an_answer_whose_parts_do_not_fit_together_is_refused_with_a_reason(before: Path, tmp_path: Path) -> None:
    """Each part is valid by itself; a point lacks the parameter that the study went over."""
    path = tmp_path / "sweep"
    shutil.copytree(before / "sweep", path)
    document = json.loads((path / "answer.json").read_text())
    for part in document["parts"]:
        for point in part["points"]:
            point["at"] = {"unknown": "1"}
    (path / "answer.json").write_text(json.dumps(document))
    with pytest.raises(StoreError, match=r"answer\.json is inconsistent \(KeyError"):
        write_study_report(path, Format.MARKDOWN)


def refused_answers(path: Path, most: int = SAMPLED, seed: int = 1) -> int:
    """How often a study is refused with some reason where its answer is spoiled; else it is reported."""
    document = json.loads((path / "answer.json").read_text())
    refused = 0
    for changed in spoiled(document, most, seed):
        (path / "answer.json").write_text(json.dumps(changed))
        try:
            write_study_report(path, Format.MARKDOWN)
        except LoadstoneError as error:
            refused += 1
            assert str(error), "an error says something"
    list(list_studies(path.parent))
    return refused


@pytest.mark.parametrize("line", [b"[]", b"{", b"\xff\xfe", b'{"event": "interval"}', b"[" * 100_000, b"9" * 100_000])
def test_lines_that_are_no_events_are_refused_with_their_place(stranger: Path, line: bytes) -> None:
    events = stranger / "runs" / "banking-1" / "events.jsonl"
    events.write_bytes(events.read_bytes() + line + b"\n")
    with pytest.raises(LoadstoneError, match=r"events\.jsonl:3"):
        read_result(stranger)


def test_a_figure_that_is_no_number_is_refused_where_it_stands() -> None:
    texts = b'{"event": "trouble", "figure": %s, "text": "NaN is only a word here"}'
    with pytest.raises(LoadstoneError, match=r"events\.jsonl:7 contains a figure that is not a number"):
        read_event(texts % b"NaN", "events.jsonl:7")
    with pytest.raises(LoadstoneError, match="is not a valid event"):
        read_event(texts % b"1", "events.jsonl:7")


def test_an_immense_number_is_refused_where_it_stands(stranger: Path) -> None:
    line = b'{"event": "trouble", "figure": %d}'
    with pytest.raises(LoadstoneError, match=r"events\.jsonl:7 contains a whole number of more than 64 bits"):
        read_event(line % 10**400, "events.jsonl:7")
    with pytest.raises(LoadstoneError, match="is not a valid event"):
        read_event(line % (2**64 - 1), "events.jsonl:7")
    document = json.loads((stranger / "manifest.json").read_text())
    document["seed"] = 10**400
    (stranger / "manifest.json").write_text(json.dumps(document))
    with pytest.raises(LoadstoneError, match=r"manifest\.json contains a whole number of more than 64 bits"):
        read_manifest(stranger)


def test_a_pipe_in_place_of_a_document_is_refused_at_once(stranger: Path) -> None:
    (stranger / "manifest.json").unlink()
    os.mkfifo(stranger / "manifest.json")
    with pytest.raises(LoadstoneError, match="not an ordinary file"):
        read_manifest(stranger)
    assert list(list_results(stranger.parent)) == []


@pytest.mark.parametrize(
    ("name", "is_read"),
    [("report.html", False), ("rejudged.json", True), (".report.html.part", False), ("verdict.json", True)],
)
def test_a_link_in_a_result_is_not_followed(stranger: Path, name: str, is_read: bool, tmp_path: Path) -> None:
    decoy = tmp_path / "decoy"
    decoy.write_text("precious")
    (stranger / name).unlink(missing_ok=True)
    (stranger / name).symlink_to(decoy)
    refused = [refusal(work, stranger) for work in (judge, write_report)]
    assert [name in why for why in refused] == [is_read] * 2, refused
    assert is_read or not any(refused)
    assert decoy.read_text() == "precious"
    assert not [path for path in tmp_path.rglob("*.part") if not path.is_symlink()]


def refusal(work: Callable[[Path], object], path: Path) -> str:
    """Why it refuses to work on a result; empty where it does not."""
    try:
        work(path)
    except LoadstoneError as error:
        return str(error)
    return ""


def test_a_folder_that_is_a_link_is_no_result(stranger: Path, tmp_path: Path) -> None:
    results = tmp_path / "others"
    results.mkdir()
    (results / "linked").symlink_to(stranger)
    assert list(list_results(results)) == []


def test_a_histogram_that_claims_gigabytes_is_refused() -> None:
    header = struct.pack(">iiiiqqd", 0x1C849303, 1 << 30, 0, 3, 1, 1 << 60, 1.0)
    packed = zlib.compress(header + bytes(1 << 22))
    bomb = base64.b64encode(struct.pack(">ii", 0x1C849304, len(packed)) + packed).decode()
    with pytest.raises(LoadstoneError, match="stored histogram is not valid"):
        read_distribution(EncodedHistogram(1, 1.0, 1, 1, 1, 0, bomb))
    cut = encoded(5).hdr[:-9]
    with pytest.raises(LoadstoneError, match="histogram"):
        read_distribution(EncodedHistogram(1, 1.0, 1, 1, 1, 0, cut))


def test_a_verdict_written_by_hand_is_not_believed(tmp_path: Path) -> None:
    path = result_folder(tmp_path, [interval(1)])  # sealed without a verdict: this one comes to invalid
    judge(path)
    text = (path / "rejudged.json").read_text().replace('"verdict": "invalid"', '"verdict": "pass"')
    (path / "verdict.json").write_text(text)
    (path / "rejudged.json").unlink()
    content = json.loads(write_report(path, Format.JSON).read_text())
    assert content["workloads"][0]["verdict"]["verdict"] == "invalid"
    assert content["verdict_note"]


def test_names_are_text_whatever_stands_in_them(stranger: Path) -> None:
    manifest = json.loads((stranger / "manifest.json").read_text())
    manifest["target"] = "<script>x</script> [/b] \x1b[31m | `a`\n# heading"
    (stranger / "manifest.json").write_text(json.dumps(manifest))
    assert "<script>" not in write_report(stranger).read_text()
    text = write_report(stranger, Format.MARKDOWN).read_text()
    assert "\x1b" not in text
    assert "\n# heading" not in text
    assert "<script>" not in text


@pytest.mark.parametrize("count", [0, 1, 10**6])
def test_counts_that_contradict_each_other_are_refused(before: Path, count: int) -> None:
    events = before / "rate/runs/static-1/events.jsonl"
    *others, totals, end = events.read_text().splitlines()
    operation = json.loads(totals)["operations"][0]
    histograms = [name for name, one in operation.items() if isinstance(one, dict) and one.get("hdr")]
    assert "response" in histograms
    for name in histograms:
        for field in ("count", "clamped"):
            changed = json.loads(totals)
            changed["operations"][0][name][field] = count
            events.write_text("\n".join([*others, json.dumps(changed), end]) + "\n")
            with contextlib.suppress(StoreError):
                judge(before / "rate")
    changed = json.loads(totals)
    changed["operations"][0]["response"]["count"] = 10**6
    events.write_text("\n".join([*others, json.dumps(changed), end]) + "\n")
    with pytest.raises(StoreError, match=r"has 1000000 times .* its histogram holds 89"):
        judge(before / "rate")
