"""A fleet while a run uses it, on hosts that are only written down: reserved, placed on, lost, and given back."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from loadstone.fleet import open as opening
from loadstone.fleet import reserved
from loadstone.fleet.contract import FleetError, FoundHost, HostLostError, Json
from loadstone.fleet.dealing import Room
from loadstone.fleet.open import OpenFleet, compute_size, open_fleet
from loadstone.fleet.requests import MakeMachine
from loadstone.host.secrets import join_token
from loadstone.model.fleet import FleetSpec
from loadstone.model.machine import PRIVATE, PUBLIC, MachineSpec
from loadstone.platforms.registry import read_machine
from loadstone.testbed.context import open_testbed
from tests.waiting import until

ROLES = {"d1": "driver", "d2": "driver", "s1": "system", "s2": "system"}
DRIVERS_ALONE = {"d1": "driver", "d2": "driver"}
STATE: Json = {"end": "", "facts": {}, "services": {}, "recovery": {}}
MACHINE: Json = {
    "about": "process",
    "listen": "10.0.0.4",
    "address": "10.0.0.4",
    "files": "/files",
    "comes_back": False,
    "state": STATE,
}


@dataclass
class PaperEngine:
    """An engine that only writes down what hosts are asked, and answers as it was arranged."""

    asked: list[tuple[str, str]] = field(default_factory=list)
    """Host and question, in order; the engine's own have no host."""
    words: dict[tuple[str, str], Json] = field(default_factory=dict)
    """What was said with each of them, the last time."""
    answers: dict[str, Any] = field(default_factory=dict)
    """Answers other than usual, by question."""
    failures: dict[tuple[str, str], str] = field(default_factory=dict)
    """Questions to hosts that get no answer, and why."""
    broken: str = ""
    """Why the engine itself no longer works."""

    async def list_hosts(self) -> Mapping[str, FoundHost]:
        """Nobody asks."""
        return {}

    async def reserve(self, names: Sequence[str]) -> None:
        """Has them all, unless that is to fail."""
        self.asked.append(("", "reserve"))
        if ("", "reserve") in self.failures:
            raise FleetError(self.failures["", "reserve"])

    async def ask(self, name: str, document: Json, timeout_s: float) -> Any:
        """As it was arranged."""
        words = dict(document)
        question = words.pop("kind")
        self.words[name, question] = words
        if question != "beat":
            self.asked.append((name, question))
        if (name, question) in self.failures:
            raise HostLostError(self.failures[name, question])
        usual = {
            "take": {"version": version("loadstone"), "cores": 4, "memory_mib": 4096},
            "beat": {"drivers": {}, "machines": {}},
            "make_machine": MACHINE,
            "stop_driver": f"the log of {words.get('name')}",
            "read_logs": {},
        }
        return {**usual, **self.answers}.get(question)

    async def describe_failure(self) -> str:
        """As it was arranged."""
        return self.broken

    async def release(self) -> None:
        """Writes it down."""
        self.asked.append(("", "release"))

    def asked_of(self, question: str) -> list[str]:
        """Hosts that were asked this, in order."""
        return [name for name, what in self.asked if what == question]


Use = Callable[[OpenFleet], Awaitable[object]]


async def _nothing(fleet: OpenFleet) -> None:
    """The fleet is only opened and closed."""


def spec_of(roles: Mapping[str, str] = ROLES, **settings: Any) -> FleetSpec:
    """A fleet whose hosts have addresses from 10.0.0.2 on."""
    hosts = {
        name: {"roles": role.split("+"), "addresses": {"public": f"10.0.0.{number}"}}
        for number, (name, role) in enumerate(roles.items(), 2)
    }
    return FleetSpec.model_validate({"hosts": hosts, **settings})


def use(engine: PaperEngine, folder: Path, use_it: Use = _nothing, spec: FleetSpec | None = None) -> None:
    """Opens a fleet, uses it, and closes it."""

    async def play() -> None:
        async with open_fleet(spec or spec_of(), engine, folder) as fleet:
            await use_it(fleet)

    asyncio.run(play())


@pytest.fixture(autouse=True)
def quick_beats(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Beats follow each other at once."""
    monkeypatch.setattr(reserved, "BEAT_S", 0.001)
    monkeypatch.setattr(opening, "BEAT_S", 0.001)
    monkeypatch.setenv("LOADSTONE_RUNTIME_DIR", str(tmp_path / "runtime"))


def test_hosts_are_reserved_taken_with_addresses_of_their_own_and_given_back(tmp_path: Path) -> None:
    engine = PaperEngine()

    async def check(fleet: OpenFleet) -> None:
        assert (fleet.driver_hosts, list(fleet.dealer.rooms), fleet.describe_dead()) == (("d1", "d2"), ["s1", "s2"], "")

    use(engine, tmp_path, check)
    order = [what for _, what in engine.asked]
    assert order == ["reserve", *["take"] * 4, *["read_logs"] * 4, *["release"] * 5]
    assert engine.asked[-1] == ("", "release"), "the engine last"
    assert len({engine.words[name, "take"]["block"] for name in ROLES}) == 4


def test_hosts_that_cannot_be_had_are_not_asked_for_anything(tmp_path: Path) -> None:
    engine = PaperEngine(failures={("", "reserve"): "s1 is in use by ada"})
    with pytest.raises(FleetError, match="s1 is in use by ada"):
        use(engine, tmp_path)
    assert engine.asked == [("", "reserve"), ("", "release")]


def test_a_host_of_another_version_is_named_with_the_remedy(tmp_path: Path) -> None:
    engine = PaperEngine(answers={"take": {"version": "0.0.9", "cores": 4, "memory_mib": 4096}})
    with pytest.raises(FleetError, match=r"d1 has Loadstone 0\.0\.9, this is .*`loadstone fleet up`"):
        use(engine, tmp_path)
    assert engine.asked[-1] == ("", "release")


def test_more_hosts_than_there_are_addresses_for_are_refused(tmp_path: Path) -> None:
    engine = PaperEngine()
    with pytest.raises(FleetError, match="A fleet has 31 hosts at most"):
        use(engine, tmp_path, spec=spec_of({f"h{number}": "driver" for number in range(32)}))
    assert engine.asked[-1] == ("", "release")


def test_an_error_of_the_run_gives_all_hosts_back(tmp_path: Path) -> None:
    engine = PaperEngine()

    async def fail(fleet: OpenFleet) -> None:
        raise RuntimeError("the run failed")

    with pytest.raises(RuntimeError, match="the run failed"):
        use(engine, tmp_path, fail)
    assert engine.asked_of("release") == [*ROLES, ""]


def test_a_host_that_falls_silent_is_lost_and_asked_nothing_more(tmp_path: Path) -> None:
    engine = PaperEngine()

    async def check(fleet: OpenFleet) -> None:
        engine.failures["s1", "beat"] = "no answer"
        await until(fleet.describe_dead)
        assert fleet.describe_dead().startswith("the host s1 was lost at ") and fleet.describe_dead().endswith(
            ": no answer"
        )
        before = list(engine.asked)
        with pytest.raises(HostLostError, match="the host s1 was lost"):
            await fleet.hosts["s1"].ask(MakeMachine("web", {}, []), 1)
        assert engine.asked == before

    use(engine, tmp_path, check)
    assert engine.asked_of("release") == ["d1", "d2", "s2", ""]


def test_an_engine_that_fails_loses_all_hosts_for_one_reason(tmp_path: Path) -> None:
    engine = PaperEngine()

    async def check(fleet: OpenFleet) -> None:
        engine.broken = "the head is gone"
        await until(fleet.describe_dead)
        assert fleet.describe_dead() == "the hosts d1, d2, s1, s2 were lost: the head is gone"

    use(engine, tmp_path, check)
    assert engine.asked_of("release") == [""]


def test_a_driver_that_ends_badly_is_named_and_one_that_is_done_is_not(tmp_path: Path) -> None:
    drivers = {"run-d": {"end": "code 1", "is_well": False}, "old": {"end": "code 0", "is_well": True}}
    engine = PaperEngine(answers={"beat": {"drivers": drivers, "machines": {}}})

    async def check(fleet: OpenFleet) -> None:
        await until(lambda: fleet.describe_dead().count("run-d") == 4)
        assert "the driver run-d on d1 (code 1)" in fleet.describe_dead()
        assert "old" not in fleet.describe_dead()

    use(engine, tmp_path, check)


def test_drivers_join_on_their_hosts_and_their_logs_are_kept_when_the_run_fails(tmp_path: Path) -> None:
    engine = PaperEngine()

    async def drive(fleet: OpenFleet) -> None:
        with pytest.raises(RuntimeError):
            async with fleet.start_drivers("job", "10.0.0.2:7000", ("d1", "d2")):
                assert engine.asked_of("start_driver") == ["d1", "d2"] and not engine.asked_of("stop_driver")
                raise RuntimeError

    use(engine, tmp_path, drive)
    asked = engine.words["d2", "start_driver"]
    assert asked == {"name": "job-d2", "leader": "10.0.0.2:7000", "token": join_token()}
    assert engine.asked_of("stop_driver") == ["d1", "d2"]
    assert (tmp_path / "d2" / "job-d2.log").read_text() == "the log of job-d2"


def test_a_driver_that_does_not_start_stops_the_others(tmp_path: Path) -> None:
    engine = PaperEngine(failures={("d2", "start_driver"): "no such program"})

    async def drive(fleet: OpenFleet) -> None:
        with pytest.raises(FleetError, match="no such program"):
            async with fleet.start_drivers("job", "10.0.0.2:7000", ("d1", "d2")):
                raise AssertionError("all drive")

    use(engine, tmp_path, drive)
    assert engine.asked_of("stop_driver") == ["d1", "d2"]


def test_drivers_are_called_by_their_hosts(tmp_path: Path) -> None:
    async def check(fleet: OpenFleet) -> None:
        said = "the driver at 10.0.0.3:41000 left; the driver at 10.0.0.4:41000 did not; the driver at 10.0.0.33:1"
        assert fleet.name_hosts_in(said) == said.replace("at 10.0.0.3:41000", "on d2")

    use(PaperEngine(), tmp_path, check)


def test_logs_come_from_hosts_that_are_there_and_stay_in_their_folder(tmp_path: Path) -> None:
    engine = PaperEngine(answers={"read_logs": {"../../web.log": "started"}})

    async def lose(fleet: OpenFleet) -> None:
        fleet.hosts["s2"].lose("cut")

    use(engine, tmp_path / "logs", lose)
    written = [path.relative_to(tmp_path).as_posix() for path in sorted((tmp_path / "logs").rglob("*.log"))]
    assert written == ["logs/d1/web.log", "logs/d2/web.log", "logs/s1/web.log"]
    assert not list(tmp_path.glob("*.log"))


def placed(fleet: OpenFleet, machine: str, together: str = "") -> str | None:
    """The host that a machine would be made on; None for here."""
    place = fleet.place_of(read_machine(machine), together)
    return place and place.host.name  # type: ignore[union-attr]


def test_machines_that_name_no_host_are_dealt_in_turn_and_those_of_a_tile_together(tmp_path: Path) -> None:
    async def check(fleet: OpenFleet) -> None:
        assert [placed(fleet, "platform=process") for _ in range(3)] == ["s1", "s2", "s1"]
        assert [placed(fleet, "platform=process", "tile1") for _ in range(3)] == ["s2"] * 3
        fleet.settle("tile2", [MachineSpec()] * 6)
        assert placed(fleet, "platform=process", "tile2") == "s1"
        assert placed(fleet, "host=s1", "tile1") == "s1"

    use(PaperEngine(), tmp_path, check)


@pytest.mark.parametrize("host", ["d1", "s9"])
def test_a_machine_is_refused_by_a_host_that_is_not_for_systems(tmp_path: Path, host: str) -> None:
    async def check(fleet: OpenFleet) -> None:
        with pytest.raises(
            FleetError, match=f"`{host}` is not a host of role `system` in this fleet. Hosts of that role: s1, s2"
        ):
            placed(fleet, f"host={host}")

    use(PaperEngine(), tmp_path, check)


def test_a_fleet_without_hosts_for_systems_leaves_machines_here(tmp_path: Path) -> None:
    async def check(fleet: OpenFleet) -> None:
        assert placed(fleet, "platform=process") is None
        with pytest.raises(FleetError, match="Hosts of that role: none"):
            placed(fleet, "host=d1")

    use(PaperEngine(), tmp_path, check, spec_of(DRIVERS_ALONE))


def test_packed_machines_fill_the_room_that_a_host_told_of_or_was_declared_with(tmp_path: Path) -> None:
    hosts = spec_of(dealing="pack").model_dump(mode="json")
    hosts["hosts"]["s1"]["memory"] = 1000

    async def check(fleet: OpenFleet) -> None:
        vms = [placed(fleet, "platform=vm,cpus=2,memory=900") for _ in range(3)]
        assert vms == ["s1", "s2", "s2"]
        with pytest.raises(FleetError, match="s1 has 2 cores and 100 MiB; s2 has 0 cores and 2296 MiB"):
            placed(fleet, "platform=vm,cpus=2,memory=900")

    use(PaperEngine(), tmp_path, check, FleetSpec.model_validate(hosts))


def test_a_process_takes_no_memory_of_its_host_and_only_the_cores_it_keeps_to() -> None:
    assert compute_size(read_machine("platform=process")) == Room(0, 0)
    assert compute_size(read_machine("platform=process,cpus=2")) == Room(2, 0)
    assert compute_size(read_machine("platform=vm,memory=900")) == Room(1, 900)


def test_a_machine_is_made_by_its_host_and_heard_of_with_each_beat(tmp_path: Path) -> None:
    engine = PaperEngine()

    async def check(fleet: OpenFleet) -> None:
        async with open_testbed(tmp_path, fleet) as base:
            made = await base.start_machine("web", read_machine("host=s2,cpus=2"), (PRIVATE, PUBLIC))
            assert engine.asked_of("make_machine") == ["s2"]
            asked = engine.words["s2", "make_machine"]
            assert asked == {"name": "web", "machine": {"cpus": 2}, "networks": [PUBLIC, PRIVATE]}
            assert (made.about, made.facts["host"], made.address) == ("process on s2", "s2", "10.0.0.4")
            machines = {"web": {**STATE, "facts": {"kernel": "6.1"}}, "db": STATE}
            engine.answers["beat"] = {"drivers": {}, "machines": machines}
            await until(lambda: made.facts.get("kernel") == "6.1")

    use(engine, tmp_path, check)


def test_other_hosts_are_shown_the_way_to_a_hosts_machines_once(tmp_path: Path) -> None:
    engine = PaperEngine()

    async def check(fleet: OpenFleet) -> None:
        fleet.own_address = fleet.hosts["s1"].spec.address  # this machine is that host: it knows the way
        for _ in range(2):
            await fleet.add_routes(fleet.hosts["s1"], None)  # type: ignore[arg-type]

    use(engine, tmp_path, check)
    assert engine.asked_of("add_route") == ["d1", "d2", "s2"]
    assert engine.words["d1", "add_route"] == {"block": engine.words["s1", "take"]["block"], "gateway": "10.0.0.4"}


@dataclass
class FlickeringEngine:
    """An engine that is looked at, and of which each look says something else."""

    said: list[str]

    async def describe_failure(self) -> str:
        return self.said.pop(0)


def test_one_look_at_the_engine_that_fails_loses_no_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "BEAT_S", 0.001)
    lost: list[str] = []
    engine: Any = FlickeringEngine(["", "late", "", "late", "gone"])
    hosts: Any = {"s1": SimpleNamespace(lose=lost.append)}
    asyncio.run(opening._watch(engine, hosts))
    assert (lost, engine.said) == (["gone"], [])
