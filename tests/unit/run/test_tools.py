"""A tool in the driver's place: its events read as the driver's, and what it printed is kept however it ends."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from loadstone.model.errors import DriverError, ServiceError, StoreError, UsageError
from loadstone.model.figures import NOT_MEASURED
from loadstone.model.load import Arrivals, Population
from loadstone.model.profile import PROFILES
from loadstone.model.reading import Section
from loadstone.model.records.events import Event
from loadstone.model.records.result import Iteration
from loadstone.model.system import Clock, Reference
from loadstone.model.target import Endpoint, Target
from loadstone.model.workload import ToolUse
from loadstone.model.workload.operation import TimeLimit
from loadstone.report.sections.endings import list_ending_rows
from loadstone.run.criteria import make_criteria
from loadstone.run.spec import RunSpec, WorkloadLoad
from loadstone.run.tool import OUTPUT, start_tool
from loadstone.run.tool_events import ToolJob, ToolOperation, build_events
from loadstone.run.tool_job import read_tool_settings, refuse_unfit_tool
from loadstone.store.figures import TOOL_CLOCK, compute_figures, derive_figures
from loadstone.store.folder import RunFolder
from loadstone.store.read import PLAN
from loadstone.store.records import group_events
from loadstone.testbed import software
from loadstone.tools.kind import Amount, ToolEnding, ToolFigures, ToolInterval, ToolKind, ToolOutput, ToolTask
from loadstone.tools.registry import find_tool
from loadstone.workloads import list_shipped, load, load_with_users

LIMIT = TimeLimit(good_s=0.01, tolerable_s=0.1)


class NoSettings(Section):
    """None."""


def read_numbers(task: ToolTask, output: ToolOutput) -> ToolFigures:
    """A line is a time in microseconds."""
    amount = Amount.count_times([int(line.text) for line in output.lines], bytes_each=10)
    return ToolFigures("tool 1", task.steady_s, [ToolInterval(0.0, task.steady_s, amount)])


def job(folder: Path, script: str) -> ToolJob:
    """A shell script as the tool, for a second after none."""
    kind = ToolKind("tool", NoSettings, lambda _: ["sh", "-c", script], read_numbers, {})
    task = ToolTask("do", NoSettings(), 2, 0.0, 1.0, Endpoint("127.0.0.1", 1), folder)
    return ToolJob(kind, task, "work", (ToolOperation("do", "do", LIMIT),))


def played(folder: Path, script: str) -> list[Event]:
    return play_job(job(folder, script))


def play_job(job: ToolJob) -> list[Event]:
    folder = job.task.folder
    RunFolder(folder).write(PLAN, {"seed": 7, "phases": {}})

    async def play() -> list[Event]:
        async with start_tool(job, folder / "driver.log", "driver") as driving:
            return [event async for _, event in driving.read_events()]

    return asyncio.run(play())


def test_events_of_a_tool_read_as_those_of_a_driver(tmp_path: Path) -> None:
    figures = derive_figures(group_events(played(tmp_path, "echo 5000; echo 50000; echo 5000000")))
    (operation,) = figures.operations
    assert figures.completed and figures.steady_s == 1.0
    assert (operation.good, operation.tolerable, operation.fail, operation.bytes) == (1, 1, 1, 30)
    assert figures.throughput_per_s == 3.0
    assert figures.response.mean_s == pytest.approx(5.055 / 3)


def test_a_tools_phases_are_written_into_the_plan_as_they_were(tmp_path: Path) -> None:
    played(tmp_path, "echo 1")
    text = (tmp_path / PLAN).read_text()
    assert '"steady_ns": 1000000000' in text and '"seed": 7' in text


@pytest.mark.parametrize("drift_pct", [None, 70.5])
def test_the_drift_of_a_tools_clock_stays_with_the_iteration(drift_pct: float | None, tmp_path: Path) -> None:
    def read_drifted(task: ToolTask, output: ToolOutput) -> ToolFigures:
        return replace(read_numbers(task, output), clock_drift_pct=drift_pct)

    given = job(tmp_path, "echo 1")
    events = play_job(replace(given, kind=replace(given.kind, figures=read_drifted)))
    iteration = Iteration(1, NOT_MEASURED, read_records=lambda: group_events(events))
    figures = compute_figures(tmp_path, iteration)
    assert figures.tool_drift_pct == drift_pct
    for times in (figures.response, figures.service, *(operation.response for operation in figures.operations)):
        assert (times.count, times.mean_s) == (1, pytest.approx(1e-6))
        assert bool(times.percentiles_s) == (drift_pct is None)
    (tmp_path / TOOL_CLOCK).write_text('{"drift_pct": "much"}')
    with pytest.raises(StoreError, match=f"{TOOL_CLOCK} is not valid"):
        compute_figures(tmp_path, iteration)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo before; echo 'no such disk' >&2; exit 3", "ended with code 3.*no such disk.*before"),
        ("echo nonsense", "could not be read.*invalid literal"),
        ("kill -9 $$", "ended with code -9"),
    ],
)
def test_a_tool_that_fails_or_prints_something_else_is_a_failure_with_its_output_kept(
    script: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(DriverError, match=f"(?s){reason}"):
        played(tmp_path, script)
    assert (tmp_path / OUTPUT).is_file()


def test_short_intervals_are_joined_to_seconds(tmp_path: Path) -> None:
    tenths = [ToolInterval(place / 10, (place + 1) / 10, Amount(1, 10, 0, 0.1, {100_000: 1})) for place in range(25)]
    events = list(build_events(job(tmp_path, ""), ToolFigures("tool 1", 2.5, tenths)))
    figures = derive_figures(group_events(events))
    assert [round(second.length_s, 3) for second in figures.seconds] == [1.0, 1.0, 0.5]
    assert [second.answered for second in figures.seconds] == [10, 10, 5]


def test_a_mix_has_its_operations_its_pauses_and_their_endings_in_the_record(tmp_path: Path) -> None:
    buy, look = (Amount.count_times(times_us) for times_us in ([5_000, 50_000], [1_000] * 6))
    intervals = [
        ToolInterval.build_mix(0.0, 1.0, {"buy.sql": buy}),
        ToolInterval.build_mix(1.0, 2.0, {"buy.sql": Amount.count_times([], errors=1), "look.sql": look}),
    ]
    endings = (ToolEnding("buy.sql", "bought", 9, 2), ToolEnding("buy.sql", "rolled_back", 1, 0))
    figures = ToolFigures("tool 1", 2.0, intervals, pauses=Amount.count_times([200_000, 400_000]), endings=endings)
    operations = (ToolOperation("look", "look.sql", LIMIT), ToolOperation("buy", "buy.sql", LIMIT))
    records = group_events(list(build_events(replace(job(tmp_path, ""), operations=operations), figures)))
    figures = derive_figures(records)
    by_name = {operation.name: operation for operation in figures.operations}
    assert (by_name["look"].requests, by_name["look"].good) == (6, 6)
    assert (by_name["buy"].requests, by_name["buy"].good, by_name["buy"].tolerable, by_name["buy"].fail) == (3, 1, 1, 1)
    assert [second.answered for second in figures.seconds] == [2, 6]
    assert figures.pauses == 2
    assert figures.pause_actual_s == pytest.approx(0.6)
    assert [(row.operation, row.ending, row.steady, row.whole) for row in list_ending_rows(records.ledger)] == [
        ("buy", "bought", 2, 9),
        ("buy", "rolled_back", 0, 1),
    ]


def test_the_files_of_a_tool_are_there_before_it_starts_and_stay(tmp_path: Path) -> None:
    given = job(tmp_path, f"cat {tmp_path}/times.txt")
    kind = replace(
        given.kind, files=lambda _: {"times.txt": "7000\n"}, prepare=lambda _: [["cat", f"{tmp_path}/times.txt"]]
    )
    RunFolder(tmp_path).write(PLAN, {"seed": 7, "phases": {}})

    async def play() -> list[Event]:
        async with start_tool(replace(given, kind=kind), tmp_path / "driver.log", "driver") as driving:
            return [event async for _, event in driving.read_events()]

    assert derive_figures(group_events(asyncio.run(play()))).requests == 1
    assert (tmp_path / "times.txt").read_text() == "7000\n"


def spec(**changes: object) -> RunSpec:
    part = WorkloadLoad(load("iperf3"), Population(1))
    given = RunSpec("x", (part,), PROFILES["brief"], 1, 1, Reference(1), Path())
    return replace(given, **changes)  # type: ignore[arg-type]


def mixed(name: str, path: str) -> WorkloadLoad:
    """A workload of a tool with a second operation in its mix."""
    shipped = load(name)
    (first, operation), *_ = shipped.operations.items()
    operations = {**shipped.operations, "second": operation.model_copy(update={"path": path})}
    mix = shipped.mix.model_copy(update={"shares": {first: 1.0, "second": 1.0}})
    return WorkloadLoad(replace(shipped, operations=operations, mix=mix), Population(1))


@pytest.mark.parametrize(
    ("name", "path", "remedy"),
    [
        ("iperf3", "send", "one at a time"),
        ("order-entry", "dance", "`dance`, which the tool order-entry does not play. Use `browse`"),
    ],
)
def test_operations_that_a_tool_cannot_play_are_refused(name: str, path: str, remedy: str) -> None:
    with pytest.raises(UsageError, match=remedy):
        refuse_unfit_tool(spec(parts=(mixed(name, path),)))


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        ({"system": Target(Endpoint("127.0.0.1", 80), None)}, "--target"),
        ({"clock": Clock.VIRTUAL}, "--virtual"),
        ({"parts": (WorkloadLoad(load("iperf3"), Arrivals((5.0,))),)}, "--sessions"),
        ({"profile": PROFILES["brief"].with_phases(steady_s=2.5)}, "whole seconds"),
    ],
)
def test_runs_that_a_tool_cannot_make_are_refused_with_the_remedy(changes: dict[str, object], remedy: str) -> None:
    with pytest.raises(UsageError, match=remedy):
        refuse_unfit_tool(spec(**changes))


@pytest.mark.parametrize(("profile", "operations"), [("full", 5), ("quick", 5), ("demo", 1), ("brief", 1)])
def test_a_counted_tool_is_whole_after_the_operations_of_the_profile(profile: str, operations: int) -> None:
    criteria = make_criteria(load("compile"), PROFILES[profile], Population(1), shipped=True)
    assert (criteria.tool, criteria.tool_operations) == ("compile", operations)


@pytest.mark.parametrize("name", [name for name in list_shipped() if load(name).tool is not None])
def test_a_missing_tool_is_named_with_its_package(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use = load(name).tool
    assert use is not None
    monkeypatch.setattr(software, "has_file", lambda _: False)
    with pytest.raises(ServiceError) as refused:
        refuse_unfit_tool(spec(parts=(WorkloadLoad(load(name), Population(1)),)))
    packages = set(find_tool(use.name).needs.values())
    assert packages and all(package in str(refused.value) for package in packages)
    assert "apt-get install" in str(refused.value)


@pytest.mark.parametrize("name", ["fio", "iperf3:send"])
def test_a_load_without_users_is_neither_simulated_nor_tried(name: str) -> None:
    with pytest.raises(UsageError, match=f"not of our driver. Use `loadstone run {name}`"):
        load_with_users(name)
    assert load_with_users("support").name == "support"


def test_an_unknown_tool_or_setting_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"`iperf` is not a known tool.*iperf3"):
        read_tool_settings(ToolUse(name="iperf"))
    with pytest.raises(UsageError, match=r"message_size.*message_bytes"):
        read_tool_settings(ToolUse(name="iperf3", settings={"message_size": 1}))
    with pytest.raises(UsageError, match="message_bytes=0"):
        read_tool_settings(ToolUse(name="iperf3", settings={"message_bytes": 0}))
