"""What is built or parsed once in a run: plans of rounds, lines of the driver."""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loadstone.model.load import Population
from loadstone.model.profile import PROFILES
from loadstone.model.records.events import EVENT, Event
from loadstone.model.records.result import PhaseLengths
from loadstone.model.system import Clock, Reference, Station, System
from loadstone.model.target import Target
from loadstone.model.workload.values import Unique
from loadstone.run import driver_loads
from loadstone.run.executor import RecordWriter
from loadstone.run.manifest import declare_manifest
from loadstone.run.plan import Timing, WorkloadLoad, compile_plan, start_plan
from loadstone.run.runner import check
from loadstone.run.spec import RunSpec
from loadstone.store import records
from loadstone.store.folder import ResultFolder, RunFolder
from loadstone.store.records import read_records
from loadstone.testbed import Testbed
from loadstone.workloads import load
from tests.records import interval, operation_record, totals

BOTH_SIDES = Target.parse(["http://h:1", "https://h:2"])
PHASES = PhaseLengths(1.0, 1.0, 2.0, 0.0)
Counted = list[tuple[Any, ...]]


@pytest.fixture
def count_calls(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], Counted]:
    """Has a function of a module note its calls; returns them."""

    def install(module: Any, name: str) -> Counted:
        calls, function = Counted(), getattr(module, name)

        def counted(*arguments: Any) -> Any:
            calls.append(arguments)
            return function(*arguments)

        monkeypatch.setattr(module, name, counted)
        return calls

    return install


def prepared_plans(spec: RunSpec, targets: tuple[Target, ...]) -> list[dict[str, Any]]:
    """Checks a run and prepares all its rounds; returns the plans of their drivers."""
    deployment = check(spec)
    folder = ResultFolder.create(spec.results, declare_manifest(spec))
    rounds = [load.prepare(Testbed(targets, "fake"), folder) for load in deployment.plan_rounds()]
    folder.release()
    return [dict(job.plan) for jobs in rounds for job in jobs.jobs]


@pytest.mark.parametrize(
    ("system", "clock"), [(Reference(1), Clock.REAL), (BOTH_SIDES, Clock.REAL), (Station(), Clock.VIRTUAL)]
)
def test_the_plan_of_a_round_is_compiled_once_for_its_check_and_all_iterations(
    tmp_path: Path, count_calls: Callable[[Any, str], Counted], system: System, clock: Clock
) -> None:
    compiled = count_calls(driver_loads, "compile_plan")
    parts = tuple(WorkloadLoad(load(name), Population(5)) for name in ("banking", "support"))
    profile = replace(PROFILES["demo"], iterations=3)
    spec = RunSpec("x", parts, profile, 1, 1, system, tmp_path, clock=clock)
    plans = prepared_plans(spec, () if clock is Clock.VIRTUAL else (BOTH_SIDES,))
    assert len(compiled) == 2
    assert [plan["name"] for plan in plans] == ["banking"] * 3 + ["support"] * 3
    assert len({plan["seed"] for plan in plans}) == 3


def test_unique_texts_of_two_iterations_differ() -> None:
    workload = load("support")
    marked = replace(workload, values={**workload.values, "mark": Unique(kind="unique")})
    compiled = compile_plan([WorkloadLoad(marked, Population(5))], Timing(PROFILES["demo"].phases))
    plans = [start_plan(compiled, seed) for seed in (1, 2)]
    salts = {value["salt"] for plan in plans for value in plan["parts"][0]["workload"]["values"] if "salt" in value}
    assert len(salts) == 2


def write_events(folder: Path, events: list[Event]) -> RecordWriter:
    """Writes events as the executor does when the driver's lines come; returns what wrote them."""
    folder.mkdir(parents=True)
    with contextlib.ExitStack() as files:
        writer = RecordWriter({"banking": RunFolder(folder)}, files)
        for event in events:
            writer.write_event(EVENT.dump_json(event, by_alias=True).decode() + "\n", event)
    return writer


def test_events_that_were_parsed_live_are_not_parsed_for_the_judge(
    tmp_path: Path, count_calls: Callable[[Any, str], Counted]
) -> None:
    parsed = count_calls(records, "read_event")
    folder = tmp_path / "runs" / "banking-1"
    events: list[Event] = [interval(1), interval(2), totals(operation_record())]
    write_events(folder, events).keep_parsed()
    read = read_records(folder, PHASES)
    assert ([*read.intervals, read.totals], parsed) == (events, [])
    (folder / records.EVENTS).write_bytes((folder / records.EVENTS).read_bytes().splitlines(keepends=True)[0])
    assert len(read_records(folder, PHASES).intervals) == len(parsed) == 1, "a file that was changed is parsed"


def test_events_whose_file_changed_before_the_judge_came_are_parsed_again(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "banking-1"
    write_events(folder, [interval(1)]).keep_parsed()
    with (folder / records.EVENTS).open("a") as file:
        file.write((EVENT.dump_json(interval(2), by_alias=True)).decode() + "\n")
    assert [second.at_s for second in read_records(folder, PHASES).intervals] == [interval(1).at_s, interval(2).at_s]
