"""The one runner: rounds of any deployment, one after the other; faults, tags and windows of all of them."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest

from loadstone.model.errors import NotProtectedError, PlatformError, UsageError
from loadstone.model.fault import FaultKind, PlannedFault, read_fault
from loadstone.model.load import Population
from loadstone.model.machine import MachineSpec, Placement
from loadstone.model.profile import PROFILES, Phases
from loadstone.model.records.manifest import TroubleRecord
from loadstone.model.records.status import Status
from loadstone.model.system import Clock, Reference, Station
from loadstone.model.target import Target
from loadstone.model.tiles import Tiles
from loadstone.platforms.contract import Machine
from loadstone.run import faults, runner
from loadstone.run.deployment import Deployment, find_faulty_machine
from loadstone.run.executor import DriverJob, Executor
from loadstone.run.faults import Injector
from loadstone.run.manifest import declare_manifest
from loadstone.run.rounds import Round, RoundJobs
from loadstone.run.runner import run
from loadstone.run.spec import Beginning, RunSpec, WorkloadLoad
from loadstone.run.tiles.spec import build_tiles_spec, find_tile, list_tile_loads
from loadstone.store.folder import ResultFolder
from loadstone.store.read import read_manifest
from loadstone.testbed import Testbed
from loadstone.workloads import load

PHASES = Phases(1, 2, 3, 1)
LONG = replace(PHASES, steady_s=1000)
SITE = Target.parse(["http://h:1"])
BOOKSTORE = WorkloadLoad(load("bookstore"), Population(4))


def spec_of(results: Path, **changes: Any) -> RunSpec:
    spec = RunSpec("x", (BOOKSTORE,), PROFILES["demo"], 1, 1, Reference(1), results)
    return replace(spec, **changes)


def tiles_of(results: Path, count: int, **changes: Any) -> RunSpec:
    tiles = Tiles(find_tile("laptop"), list_tile_loads(count, None), has_heartbeats="power" in changes)
    return replace(build_tiles_spec("x", tiles, results), **changes)


@dataclass
class FakeMachine:
    """A machine that only notes its faults."""

    name: str
    faults: list[FaultKind] = field(default_factory=list)
    recovery: dict[str, float] = field(default_factory=dict)

    async def fail(self, fault: FaultKind) -> None:
        if fault is FaultKind.CUT_CHANNEL:
            raise PlatformError("Only pairs can have it.")
        self.faults.append(fault)


@dataclass(frozen=True)
class FakeRun(Deployment):
    """A run without a driver: its rounds only note that they were prepared."""

    prepared: list[str] = field(default_factory=list)
    names: Sequence[str] = ("first", "second")

    @asynccontextmanager
    async def open(self, logs: Path, fleet: object) -> AsyncIterator[Testbed]:  # type: ignore[override]
        machines = {str(machine.name): cast(Machine, _WithFacts(str(machine.name))) for machine in self.plan_machines()}
        yield Testbed((), "fake", machines=machines, simulated=Station())

    def plan_rounds(self) -> Sequence[Round]:
        return [Round(PHASES, self._prepare(name), _announced(name)) for name in self.names] + [
            Round(PHASES, self._prepare("unannounced"))
        ]

    def _prepare(self, name: str) -> Any:
        def prepare(testbed: Testbed, folder: ResultFolder) -> RoundJobs:
            self.prepared.append(name)
            return RoundJobs([])

        return prepare


@dataclass
class _WithFacts(FakeMachine):
    about: str = "fake machine"
    facts: dict[str, Any] = field(default_factory=dict)


def _announced(name: str) -> Beginning:
    return Beginning(name, "", 1, 1, 1.0)


def carried_out(monkeypatch: pytest.MonkeyPatch, fake: FakeRun) -> tuple[Path, list[str]]:
    """Carries a fake run out; its result folder, and the rounds that were announced."""
    announced: list[str] = []
    monkeypatch.setattr(runner, "Deployment", lambda spec: fake)
    path = asyncio.run(run(fake.spec, lambda event: None, lambda beginning: announced.append(beginning.workload)))
    return path, announced


def test_rounds_are_played_in_order_and_only_those_with_a_beginning_are_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeRun(spec_of(tmp_path, notes={"release": "1.4"}))
    path, announced = carried_out(monkeypatch, fake)
    assert (fake.prepared, announced) == (["first", "second", "unannounced"], ["first", "second"])
    manifest = read_manifest(path)
    assert (manifest.status, manifest.target, manifest.notes) == (Status.COMPLETE, "fake", {"release": "1.4"})
    assert manifest.faults == ()


def test_each_announced_round_has_its_fault_and_the_result_states_what_became_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeRun(spec_of(tmp_path, fault=read_fault("db:kill-primary@2")))
    path, _ = carried_out(monkeypatch, fake)
    said = "kill-primary of database at 2 s of the steady state: not injected, since the load ended before"
    assert read_manifest(path).faults == (said, said)


def test_the_cause_of_an_early_end_is_kept_although_the_end_fails_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = TroubleRecord("host d1", "was lost", 2.0)

    async def play(executor: Executor, jobs: Sequence[DriverJob]) -> None:
        executor.troubles.append(lost)
        raise PlatformError("The machine does not end.")

    monkeypatch.setattr(Executor, "execute", play)
    with pytest.raises(PlatformError, match="does not end"):
        carried_out(monkeypatch, FakeRun(spec_of(tmp_path)))
    (path,) = tmp_path.iterdir()
    assert read_manifest(path).troubles == (lost,)


@pytest.mark.parametrize(
    ("kind", "recovery_s", "outcome"),
    [
        (FaultKind.KILL_PRIMARY, None, "injected"),
        (FaultKind.KILL_PRIMARY, 2e9, "injected; active again after "),
        (FaultKind.KILL_PRIMARY, 0.0, "injected"),
        (FaultKind.CUT_CHANNEL, None, "not injected. Only pairs can have it."),
    ],
)
def test_a_fault_is_injected_into_its_machine_and_recorded(
    kind: FaultKind, recovery_s: float | None, outcome: str
) -> None:
    machine = FakeMachine("tile1-db", recovery={} if recovery_s is None else {"live": recovery_s})
    injector = Injector(cast(Machine, machine), PlannedFault(kind, 0.5), LONG)
    asyncio.run(injector.run(time.monotonic() - PHASES.lead_s))
    record = injector.conclude()
    assert record is not None
    assert (record.machine, record.kind, bool(record.refused)) == ("tile1-db", kind, kind is FaultKind.CUT_CHANNEL)
    assert machine.faults == ([kind] if kind is FaultKind.KILL_PRIMARY else [])
    said = injector.describe()
    assert said.startswith(f"{kind} of tile1-db at 0.5 s of the steady state: {outcome}")
    assert ("active again" in said) == (recovery_s == 2e9)


@dataclass
class PartedMachine(FakeMachine):
    """A pair whose sides a busy host has parted for some attempts."""

    unprotected: int = 3

    async def fail(self, fault: FaultKind) -> None:
        if self.unprotected:
            self.unprotected -= 1
            raise NotProtectedError("It is not protected.")
        await super().fail(fault)


def test_a_fault_waits_until_a_pair_is_protected_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "FAULT_POLL_INTERVAL_S", 0.001)
    machine = PartedMachine("tile1-db")
    injector = Injector(cast(Machine, machine), PlannedFault(FaultKind.KILL_PRIMARY, 0.5), LONG)
    asyncio.run(injector.run(time.monotonic() - PHASES.lead_s))
    record = injector.conclude()
    assert record is not None and not record.refused
    assert machine.faults == [FaultKind.KILL_PRIMARY]
    assert "injected" in injector.describe() and " s late, since the pair was not protected" in injector.describe()


@pytest.mark.parametrize(("limit_s", "steady_s"), [(0.0, 1000.0), (1000.0, 0.5)])
def test_a_fault_waits_neither_for_ever_nor_beyond_half_of_what_is_left(
    limit_s: float, steady_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "FAULT_DELAY_LIMIT_S", limit_s)
    machine = PartedMachine("tile1-db")
    injector = Injector(
        cast(Machine, machine), PlannedFault(FaultKind.KILL_PRIMARY, 0.5), replace(PHASES, steady_s=steady_s)
    )
    asyncio.run(injector.run(time.monotonic() - PHASES.lead_s))
    record = injector.conclude()
    assert record is not None and record.refused == "It is not protected."
    assert machine.faults == []


@pytest.mark.parametrize(
    ("fault", "tiles", "machine"),
    [
        ("kill-primary@1", 0, "app"),
        ("database:kill-primary@1", 0, "database"),
        ("2.app:kill-primary@1", 0, "app-2"),
        ("kill-primary@1", 2, "tile1-web"),
        ("db:kill-primary@1", 2, "tile1-db"),
        ("2.db:kill-primary@1", 2, "tile2-db"),
    ],
)
def test_a_fault_is_of_the_machine_that_it_names(tmp_path: Path, fault: str, tiles: int, machine: str) -> None:
    several = Placement(MachineSpec(count=2)) if fault.startswith("2") else Placement()
    run_of = spec_of(tmp_path, placement=several, fault=read_fault(fault))
    spec = tiles_of(tmp_path, tiles, fault=read_fault(fault)) if tiles else run_of
    faulty = find_faulty_machine(Deployment(spec))
    assert faulty is not None
    assert str(faulty.name) == machine


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"fault": read_fault("3.app:kill-primary@1")}, "There is no copy 3 of `app`"),
        ({"fault": read_fault("mail:kill-primary@1")}, "no machine `mail` in this system"),
        ({"fault": read_fault("kill-primary@1"), "system": SITE}, "machine that Loadstone starts"),
        (
            {"fault": read_fault("kill-primary@1"), "system": Station(), "clock": Clock.VIRTUAL},
            "machine that Loadstone starts",
        ),
    ],
)
def test_a_fault_of_a_machine_that_is_not_there_is_refused(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        find_faulty_machine(Deployment(spec_of(tmp_path, **changes)))


@pytest.mark.parametrize("text", ["kill-primary", "kill@3", "kill-primary@-1", "kill-primary@inf", "db:kill-primary@x"])
def test_what_is_no_fault_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a valid fault"):
        read_fault(text)


def test_a_fault_is_written_as_it_is_read() -> None:
    for text in ("kill-primary@12.5", "db:kill-primary@3", "2.web:freeze-primary@0"):
        assert str(read_fault(text)) == text


def test_tiles_with_a_meter_have_a_round_of_active_idle_that_is_not_announced(tmp_path: Path) -> None:
    loaded, idle = Deployment(tiles_of(tmp_path, 2, power=("server=rapl",))).plan_rounds()
    assert loaded.beginning is not None
    assert loaded.beginning.workload == "2 laptop tiles"
    assert (idle.beginning, idle.phases.steady_s) == (None, 60)
    assert len(Deployment(tiles_of(tmp_path, 2)).plan_rounds()) == 1


def test_the_manifest_of_tiles_has_their_notes(tmp_path: Path) -> None:
    manifest = declare_manifest(tiles_of(tmp_path, 1, notes={"switch": "old"}))
    assert manifest.notes == {"switch": "old"}
