"""Figures are computed from the records once, kept where the seal covers them, and believed only then."""

import json
from pathlib import Path
from typing import Any

import pytest

from loadstone.model.records.pair_status import GUEST_LAG_MS
from loadstone.model.records.sample import Sample, ServiceSample
from loadstone.model.records.status import Status
from loadstone.report.build import Format, render_folder
from loadstone.run.judging import judge
from loadstone.store import records
from loadstone.store.figures import FIGURES, compute_guest_drift_pct
from loadstone.store.folder import ResultFolder, seal_of
from loadstone.store.layout import SEAL
from loadstone.store.read import read_manifest, read_result
from tests.records import encoded, interval, operation_record, result_folder, totals


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """A result of one operation that took 2 ms, judged and sealed as a run is."""
    page = operation_record(response=encoded(2000), answered=encoded(2000), service=encoded(1500))
    path = result_folder(tmp_path, [interval(1), interval(2), totals(page)])
    (path / SEAL).unlink()
    judge(path)
    ResultFolder(path, read_manifest(path)).seal()
    return path


def file_of(path: Path) -> Path:
    return path / "runs" / "banking-1" / FIGURES


def change(path: Path, **changes: Any) -> None:
    """Changes what a file of figures holds."""
    document = json.loads(file_of(path).read_text())
    file_of(path).write_text(json.dumps({**document, **changes}))


def reported_mean_s(path: Path) -> float:
    document = json.loads(render_folder(path, Format.JSON))
    mean_s: float = document["workloads"][0]["iterations"][0]["operations"][0]["mean_s"]
    return mean_s


def test_figures_that_are_kept_are_those_of_the_records(judged: Path) -> None:
    kept, computed = (read_result(judged, has_figures).workloads[0].iterations[0] for has_figures in (True, False))
    assert kept.figures == computed.figures
    assert kept.figures.operations[0].response.mean_s == pytest.approx(0.002, rel=0.001)
    assert str(file_of(judged).relative_to(judged)) in json.loads((judged / SEAL).read_text())["sha256"]


def test_figures_are_read_without_the_records(judged: Path) -> None:
    (judged / "runs" / "banking-1" / records.EVENTS).write_text("no event\n")
    assert read_result(judged).workloads[0].iterations[0].figures.operations[0].response.count == 1


def test_figures_that_the_seal_does_not_cover_are_computed_again(judged: Path) -> None:
    figures = json.loads(file_of(judged).read_text())["figures"]
    figures["operations"][0]["response"]["mean_s"] = 0.5
    assert reported_mean_s(judged) == pytest.approx(0.002, rel=0.001)
    change(judged, figures=figures)
    assert seal_of(judged).changed == (str(file_of(judged).relative_to(judged)),)
    assert reported_mean_s(judged) == pytest.approx(0.002, rel=0.001)


@pytest.mark.parametrize("changes", ({"schema": 1}, {"figures": {}}), ids=("older", "incomplete"))
def test_figures_of_another_version_are_computed_again(judged: Path, changes: dict[str, Any]) -> None:
    change(judged, **changes)
    assert read_result(judged).workloads[0].iterations[0].figures.operations[0].response.count == 1


def test_each_line_of_the_driver_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[bytes] = []
    read_event = records.read_event

    def counting(line: bytes, place: str) -> Any:
        read.append(line)
        return read_event(line, place)

    monkeypatch.setattr(records, "read_event", counting)
    path = result_folder(tmp_path, [interval(1), totals(operation_record())], Status.COMPLETE)
    judge(path)
    render_folder(path, Format.HTML)
    assert len(read) == 2
    with (path / "runs" / "banking-1" / records.EVENTS).open("ab") as events:
        events.write(read[0])
    assert len(read_result(path, has_figures=False).workloads[0].iterations[0].records.intervals) == 2
    assert len(read) == 2 + 3, "lines that were added are read"


def reading(unix_s: float, **lags_ms: float | None) -> Sample:
    """A sample with the lags of machines' clocks, as far as they were read."""
    status = {
        f"{name}: pair": ServiceSample({} if lag_ms is None else {GUEST_LAG_MS: lag_ms}, {})
        for name, lag_ms in lags_ms.items()
    }
    return Sample(unix_s, 1.0, {}, {}, {}, {}, {}, {}, status=status)


def test_the_drift_of_a_pairs_clock_is_that_between_its_first_and_last_reading_in_the_window() -> None:
    read = [None, 5.0, 5.0, 25.0, 25.0, 25.0, 65.0]
    samples = [reading(100.0 + second, web=lag_ms) for second, lag_ms in enumerate(read)]
    assert compute_guest_drift_pct(samples) == pytest.approx(100 * 0.040 / 3)
    assert compute_guest_drift_pct(samples[:5]) is None, "it was read once"
    both = [reading(100.0 + second, web=lag_ms, db=-100.0 * second) for second, lag_ms in enumerate(read)]
    assert compute_guest_drift_pct(both) == pytest.approx(10.0), "the largest, ahead or behind"
