"""What every engine of a fleet promises, on hosts that are all here; Ray's are in `tests/fleet`."""

import asyncio
import urllib.request
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from loadstone.fleet import supervisor
from loadstone.fleet.contract import FleetError, HostLostError
from loadstone.fleet.fake import FakeFleet
from loadstone.fleet.local import LocalFleet
from loadstone.fleet.messages import write_message
from loadstone.fleet.open import OpenFleet, open_fleet
from loadstone.fleet.requests import (
    AskMachine,
    Beat,
    CollectLogs,
    MakeMachine,
    StartService,
    TakeHost,
    WriteFile,
)
from loadstone.host import runtime
from loadstone.host.process import Readiness
from loadstone.model.errors import PlatformError
from loadstone.model.fleet import FleetSpec
from loadstone.model.machine import PUBLIC
from loadstone.platforms.registry import read_machine
from loadstone.services import reference
from loadstone.testbed.context import open_testbed

pytestmark = pytest.mark.integration

WAIT_S = 60.0
HERE = {"public": "127.0.0.1"}
SPEC = FleetSpec.model_validate(
    {
        "back_end": "local",
        "silence_s": 60,  # a busy machine may be silent for seconds
        "hosts": {
            "d1": {"roles": ["driver"], "addresses": HERE},
            "s1": {"roles": ["system"], "addresses": HERE},
            "s2": {"roles": ["system"], "addresses": HERE},
        },
    }
)
Engine = LocalFleet | FakeFleet


@pytest.fixture(params=[LocalFleet, FakeFleet])
def engine(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    monkeypatch.setenv("LOADSTONE_RUNTIME_DIR", str(tmp_path / "runtime"))  # or tests would have each other's host
    made: Engine = request.param(SPEC, "the test")
    return made


def on(engine: Engine, folder: Path, what: Callable[[OpenFleet], Awaitable[None]]) -> None:
    async def play() -> None:
        async with open_fleet(engine.spec, engine, folder) as fleet:
            await what(fleet)

    asyncio.run(play())


def test_hosts_are_found_taken_and_given_back(engine: Engine, tmp_path: Path) -> None:
    async def check(fleet: OpenFleet) -> None:
        assert set(await engine.list_hosts()) == {"d1", "s1", "s2"}
        assert all(host.facts["cores"] >= 1 for host in fleet.hosts.values())
        assert await engine.describe_failure() == fleet.describe_dead() == ""

    on(engine, tmp_path, check)
    on(engine, tmp_path, check)
    with pytest.raises(HostLostError, match="not reserved"):
        asyncio.run(engine.ask("s1", write_message(Beat()), 1))


def test_two_coordinators_cannot_have_the_same_host(engine: Engine, tmp_path: Path) -> None:
    async def check(fleet: OpenFleet) -> None:
        with pytest.raises(FleetError, match="in use by the test since"):
            await LocalFleet(SPEC, "another").reserve(["s1"])

    on(engine, tmp_path, check)


def test_a_machine_is_made_on_its_host_and_answers(engine: Engine, tmp_path: Path) -> None:
    async def check(fleet: OpenFleet) -> None:
        async with open_testbed(tmp_path, fleet) as base:
            machine = await base.start_machine("web", read_machine("host=s2"), (PUBLIC,))
            assert (machine.facts["host"], machine.pid, machine.folder) == ("s2", 0, None)
            service = await machine.start("web", reference.build_backend_command(machine.listen, 1))
            ready = reference.read_ready(service.first_line)
            assert ready.http is not None
            at = await machine.find_endpoint(ready.http.port)
            await asyncio.to_thread(urllib.request.urlopen, f"http://{at}/", None, WAIT_S)
            assert machine.end() == service.end() == ""
            assert (await machine.read_outside() or {})["cpu"]["processes"] >= 0
            await machine.write("a/note", "text")
            await service.stop()
            await _until(lambda: bool(service.end()))
            files.append(Path(machine.files))
            assert (files[0] / "a" / "note").read_text() == "text" and _journals(tmp_path)

    files: list[Path] = []
    on(engine, tmp_path, check)
    assert not files[0].exists()
    assert not _journals(tmp_path)


def test_machines_without_a_host_are_dealt_in_turn(engine: Engine, tmp_path: Path) -> None:
    async def check(fleet: OpenFleet) -> None:
        async with open_testbed(tmp_path, fleet) as base:
            made = [await base.start_machine(name, read_machine({}), (PUBLIC,)) for name in ("a", "b", "c")]
            assert [machine.facts["host"] for machine in made] == ["s1", "s2", "s1"]
            with pytest.raises(FleetError, match="`d1` is not a host of role `system` in this fleet"):
                await base.start_machine("e", read_machine("host=d1"), (PUBLIC,))

    on(engine, tmp_path, check)


def test_errors_of_a_host_are_raised_here_in_its_words(engine: Engine, tmp_path: Path) -> None:
    async def check(fleet: OpenFleet) -> None:
        with pytest.raises(FleetError, match="s1 does not know `sing`"):
            await engine.ask("s1", {"kind": "sing"}, 5)
        with pytest.raises(FleetError, match="has no machine `web`"):
            await fleet.hosts["s1"].ask(AskMachine("web", WriteFile("a", "text")), 5)
        async with open_testbed(tmp_path, fleet) as base:
            with pytest.raises(Exception, match="There is no core 9999 here"):
                await base.start_machine("a", read_machine("pin=9999"), (PUBLIC,))

    on(engine, tmp_path, check)


def test_without_a_fleet_no_machine_is_elsewhere(tmp_path: Path) -> None:
    async def check() -> None:
        async with open_testbed(tmp_path) as base:
            with pytest.raises(PlatformError, match="but there is no fleet"):
                await base.start_machine("a", read_machine("host=s1"), (PUBLIC,))

    asyncio.run(check())


def test_a_host_of_another_version_is_refused(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "version", lambda name: "0.0.9")

    async def check(fleet: OpenFleet) -> None:
        raise AssertionError

    with pytest.raises(FleetError, match=r"has Loadstone 0\.0\.9, this is"):
        on(engine, tmp_path, check)
    assert not _journals(tmp_path)


def test_what_a_silent_coordinator_had_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADSTONE_RUNTIME_DIR", str(tmp_path / "runtime"))
    ended = asyncio.Event()

    async def check() -> None:
        one = supervisor.Supervisor("s1", "127.0.0.1", ended=ended.set)
        assert "value" in await one.answer(write_message(TakeHost("a lab", IPv4Network("10.200.0.0/18"), WAIT_S)))
        made = await one.answer(write_message(MakeMachine("web", {}, [])))
        assert made["value"]["state"]["end"] == ""
        command = reference.build_backend_command("127.0.0.1", 1)
        started = await one.answer(write_message(AskMachine("web", StartService("web", command, Readiness.LINE))))
        assert reference.read_ready(started["value"])
        assert _journals(tmp_path)
        one.silence_s = 0.5
        await asyncio.wait_for(ended.wait(), WAIT_S)
        assert "or was released" in (await one.answer(write_message(CollectLogs())))["text"]

    asyncio.run(check())
    assert not _journals(tmp_path)


def test_a_lost_host_is_named_with_all_that_was_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADSTONE_RUNTIME_DIR", str(tmp_path / "runtime"))
    engine = FakeFleet(SPEC.model_copy(update={"silence_s": 2.0}), "the test")

    async def check(fleet: OpenFleet) -> None:
        async with open_testbed(tmp_path, fleet) as base:
            near, far = [
                await base.start_machine(name, read_machine(f"host={name}"), (PUBLIC,)) for name in ("s1", "s2")
            ]
            engine.silent.add("s1")
            await _until(lambda: bool(near.end()))
            assert fleet.describe_dead().startswith("the host s1 was lost at ")
            assert "did not answer within" in near.end() and far.end() == ""
            with pytest.raises(HostLostError, match="s1 was lost"):
                await near.write("a", "b")
            engine.deaths["s2"] = "its supervisor was killed"
            await _until(lambda: bool(far.end()))
            assert "killed" in far.end()

    on(engine, tmp_path, check)
    assert not _journals(tmp_path)


def test_when_the_engine_fails_all_hosts_are_lost_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADSTONE_RUNTIME_DIR", str(tmp_path / "runtime"))
    engine = FakeFleet(SPEC, "the test")

    async def check(fleet: OpenFleet) -> None:
        engine.deaths[""] = "its head is gone"
        await _until(lambda: bool(fleet.describe_dead()))
        assert fleet.describe_dead() == "the hosts d1, s1, s2 were lost: its head is gone"

    on(engine, tmp_path, check)


def test_drivers_on_hosts_are_started_watched_and_ended(engine: Engine, tmp_path: Path) -> None:
    async def check(fleet: OpenFleet) -> None:
        async with fleet.start_drivers("driver", "127.0.0.1:1", ["d1"]):
            await _until(lambda: "driver-d1" in fleet.hosts["d1"].drivers)
            assert fleet.describe_dead() == ""  # it looks for its leader
        assert (tmp_path / "d1" / "driver-d1.log").is_file()

    on(engine, tmp_path, check)


async def _until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not is_so():
            await asyncio.sleep(0.05)


def _journals(folder: Path) -> list[str]:
    """What is left of journals of resources."""
    return [path.name for path in (folder / "runtime").glob(f"*{runtime.RUNTIME_PREFIX}*")]
