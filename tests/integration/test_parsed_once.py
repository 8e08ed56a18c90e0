"""From the driver to the verdict, each event is parsed once."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from loadstone.model.load import Population
from loadstone.model.profile import PROFILES
from loadstone.model.system import Clock, Station
from loadstone.run import driver
from loadstone.run.runner import run
from loadstone.run.spec import RunSpec, WorkloadLoad
from loadstone.store import records
from loadstone.store.read import read_result
from loadstone.workloads import load

pytestmark = pytest.mark.integration


def ignore(anything: object) -> None:
    return None


def test_a_run_parses_each_event_once_and_as_it_is_in_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[bytes] = []
    parse_event = records.parse_event

    def counting(line: bytes, place: str) -> Any:
        parsed.append(line)
        return parse_event(line, place)

    monkeypatch.setattr(driver, "parse_event", counting)
    monkeypatch.setattr(records, "parse_event", counting)
    parts = (WorkloadLoad(load("static"), Population(20)),)
    spec = RunSpec("x", parts, PROFILES["demo"], 1, 1, Station(workers=4), tmp_path, clock=Clock.VIRTUAL)
    path = asyncio.run(run(spec, ignore, ignore))
    (workload,) = read_result(path).workloads
    judged = workload.iterations[0].records
    (file,) = path.glob(f"runs/*/{records.EVENTS}")
    assert judged.totals is not None
    assert b"".join(parsed) == file.read_bytes()
    records._latest.cache_clear()
    assert read_result(path).workloads[0].iterations[0].records == judged
    assert len(parsed) == 2 * len(file.read_bytes().splitlines()), "the second time from the file"
