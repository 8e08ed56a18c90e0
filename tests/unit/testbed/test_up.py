"""What is placed where when a system is put up, and what is left when a part of it fails: nothing."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loadstone.model.choices import ServiceChoices
from loadstone.model.errors import LoadstoneError, PlatformError, ServiceError, UsageError
from loadstone.model.machine import HERE, MachineSpec, Placement
from loadstone.model.service import ServiceRole
from loadstone.model.system import Clock, Reference, Station
from loadstone.model.target import Endpoint, Target
from loadstone.model.workload import WEB_NEEDS, ServerNeeds
from loadstone.platforms.contract import Attachment
from loadstone.platforms.registry import read_machine
from loadstone.platforms.roles import split_role_settings
from loadstone.services.kind import ServiceKind
from loadstone.testbed import system
from loadstone.testbed.context import list_front_networks, open_testbed, refuse_unreachable
from loadstone.testbed.machines import list_machines
from loadstone.testbed.testbed import Testbed
from loadstone.testbed.up import start_reference, start_station, start_testbed, use_external
from tests.unit.testbed.recorder import RECORDED, Recorder

MACHINE = MachineSpec(platform=RECORDED)
PLACED = Placement(MACHINE, MACHINE)
THREE = Placement(MachineSpec(platform=RECORDED, count=3), MACHINE)
DEALERSHIP = ServerNeeds("application", injection_rate=3)


WEB_ROLES = {"web": {"memory": 900}, "2.web": {"pin": "0"}, "backend": {"platform": "vm", "memory": 128}}


def put_up(
    folder: Path,
    placement: Placement = PLACED,
    needs: ServerNeeds = WEB_NEEDS,
    look: Callable[[Testbed], object] = lambda testbed: None,
) -> Testbed:
    """Puts the reference servers up and takes them down; looks at them in between."""

    async def play() -> Testbed:
        async with start_reference(Reference(2), folder, placement, needs) as testbed:
            look(testbed)
        return testbed

    return asyncio.run(play())


def option(command: list[str], name: str) -> str:
    """The value of a command's option."""
    return command[command.index(name) + 1]


def test_web_sites_start_after_their_back_end_and_go_down_in_reverse_order(tmp_path: Path, recorder: Recorder) -> None:
    testbed = put_up(tmp_path)
    assert recorder.events == [
        *("up web", "up backend", "start backend", "start web"),
        *("stop backend", "down backend", "stop web", "down web"),
    ]
    assert option(recorder.commands["web"], "--backend") == "127.0.0.1:4001"
    assert testbed.targets == (Target(Endpoint("127.0.0.1", 4002), None),)
    assert list(testbed.machines) == ["web", "backend"]


def test_several_machines_share_one_back_end_and_have_a_target_each(tmp_path: Path, recorder: Recorder) -> None:
    testbed = put_up(tmp_path, THREE)
    assert recorder.machines == ["web-1", "web-2", "web-3", "backend"]
    webs = [recorder.commands[f"web-{at}"] for at in (1, 2, 3)]
    assert [option(web, "--backend") for web in webs] == ["127.0.0.1:4001"] * 3
    assert [target.http.port for target in testbed.targets if target.http] == [4002, 4003, 4004]


def test_the_dealership_gets_its_database_and_the_rate_to_fill_it_for(tmp_path: Path, recorder: Recorder) -> None:
    put_up(tmp_path, needs=DEALERSHIP)
    assert recorder.machines == ["app", "database"]
    app = recorder.commands["app"]
    assert (option(app, "--database"), option(app, "--injection-rate")) == ("role://127.0.0.1:4001", "3")


@pytest.mark.parametrize(("need", "name"), [("mail", "mail"), ("idle", "idle")])
def test_roles_without_anything_behind_them_are_alone(tmp_path: Path, recorder: Recorder, need: str, name: str) -> None:
    testbed = put_up(tmp_path, needs=ServerNeeds(need))
    assert recorder.machines == [name]
    assert len(testbed.targets) == 1


@pytest.mark.parametrize(
    ("failure", "error", "up"),
    [
        ("up web-1", PlatformError, []),
        ("up web-3", PlatformError, ["web-1", "web-2"]),
        ("up backend", PlatformError, ["web-1", "web-2", "web-3"]),
        ("start backend", ServiceError, ["web-1", "web-2", "web-3", "backend"]),
        ("start web-2", ServiceError, ["web-1", "web-2", "web-3", "backend"]),
    ],
)
def test_a_part_that_fails_takes_down_all_before_it_in_reverse_order(
    tmp_path: Path, recorder: Recorder, failure: str, error: type[LoadstoneError], up: list[str]
) -> None:
    recorder.failures.add(failure)
    with pytest.raises(error, match=f"planned: {failure}"):
        put_up(tmp_path, THREE)
    assert recorder.machines == up
    assert [event for event in recorder.events if event.startswith("down")] == [f"down {name}" for name in up[::-1]]


def test_an_error_of_whoever_uses_a_system_takes_it_down_and_is_raised(tmp_path: Path, recorder: Recorder) -> None:
    def fail(_: Testbed) -> None:
        raise RuntimeError("the driver died")

    with pytest.raises(RuntimeError, match="the driver died"):
        put_up(tmp_path, look=fail)
    assert recorder.machines == ["web", "backend"] and not recorder.left


def test_a_machine_that_does_not_go_down_keeps_no_other_one_up(tmp_path: Path, recorder: Recorder) -> None:
    recorder.failures.add("down backend")
    with pytest.raises(PlatformError, match="planned: down backend"):
        put_up(tmp_path)
    assert recorder.left == ["backend"]


def test_a_machine_that_is_not_reached_is_named_with_the_remedy(tmp_path: Path, recorder: Recorder) -> None:
    recorder.unreachable.add("backend")
    with pytest.raises(PlatformError, match=r"web does not reach backend\..*network=bridge"):
        put_up(tmp_path)
    assert "start web" not in recorder.events and not recorder.left


@pytest.mark.parametrize("silent", ["idle", "station"])
def test_a_server_that_does_not_say_where_it_answers_is_refused(
    tmp_path: Path, recorder: Recorder, silent: str
) -> None:
    recorder.silent.add(silent)
    needs = ServerNeeds("idle")
    system = Station() if silent == "station" else Reference(1)

    async def play() -> None:
        async with start_testbed(system, Clock.REAL, tmp_path, PLACED, needs):
            raise AssertionError("it is up")

    with pytest.raises(ServiceError, match="reported no address"):
        asyncio.run(play())
    assert recorder.machines == [silent] and not recorder.left


def test_services_and_machines_that_ended_are_named_with_how(tmp_path: Path, recorder: Recorder) -> None:
    def look(testbed: Testbed) -> None:
        assert testbed.dead() == ""
        recorder.exit_codes["backend"] = "signal 9"
        recorder.machine_ends["web"] = "code 1"
        assert testbed.dead() == "backend (signal 9), web (code 1)"

    put_up(tmp_path, look=look)
    assert "down web" in recorder.events


def test_a_service_that_has_no_process_counts_as_its_machines(tmp_path: Path, recorder: Recorder) -> None:
    def look(testbed: Testbed) -> None:
        assert testbed.processes() == {}
        machine = testbed.machines["web"]
        machine.__class__ = type("Charged", (type(machine),), {"pid": 77, "companions": {"virtiofsd": 78}})
        assert testbed.processes() == {"web": 77, "web, virtiofsd": 78}

    put_up(tmp_path, look=look)
    assert "down web" in recorder.events


def test_every_station_has_a_target_and_a_meter_of_its_own(tmp_path: Path, recorder: Recorder) -> None:
    async def play() -> Testbed:
        async with start_station(Station(workers=3), tmp_path, THREE) as testbed:
            return testbed

    testbed = asyncio.run(play())
    assert recorder.machines == list(testbed.meters) == ["station-1", "station-2", "station-3"]
    assert len(set(testbed.targets)) == 3
    assert option(recorder.commands["station-2"], "--workers") == "3"


def test_a_station_in_virtual_time_starts_nothing(tmp_path: Path, recorder: Recorder) -> None:
    async def play() -> Testbed:
        async with start_testbed(Station(), Clock.VIRTUAL, tmp_path, PLACED) as testbed:
            return testbed

    testbed = asyncio.run(play())
    assert (testbed.simulated, testbed.targets, recorder.events) == (Station(), (), [])


@pytest.mark.parametrize(("address", "is_unseen"), [("127.0.0.1", True), ("192.0.2.7", False)])
def test_a_system_of_others_is_unseen_where_it_is_on_this_host(address: str, is_unseen: bool) -> None:
    async def play() -> Testbed:
        async with use_external(Target(Endpoint(address, 80), Endpoint(address, 443))) as testbed:
            return testbed

    testbed = asyncio.run(play())
    assert testbed.is_unseen is is_unseen
    assert testbed.unseen_ports == ((80, 443) if is_unseen else ())
    assert testbed.about == f"http://{address}:80 and https://{address}:443, managed elsewhere"


def test_two_machines_of_one_name_are_refused(tmp_path: Path, recorder: Recorder) -> None:
    async def play() -> None:
        async with open_testbed(tmp_path) as base:
            await base.start_machine("web", MACHINE, ())
            with pytest.raises(PlatformError, match="A machine `web` already exists"):
                await base.start_machine("web", MACHINE, ())

    asyncio.run(play())
    assert recorder.events == ["up web", "down web"]


def test_users_machines_have_a_private_line_where_what_they_ask_has_lines_of_its_own(recorder: Recorder) -> None:
    assert list_front_networks([MACHINE]) == ("public",)
    recorder.attachment = Attachment.VETH
    assert list_front_networks([MACHINE]) == ("public", "private")


def test_machines_are_set_by_role_and_by_copy() -> None:
    common, single = split_role_settings({"cpus": "2", "web.memory": "900", "2.web.pin": "0", "db.disk": "64"})
    assert (common, set(single)) == ({"cpus": "2"}, {"web", "2.web", "db"})
    placement = Placement(read_machine({"platform": "vm", "cpus": 2, "count": 2}), read_machine({}), WEB_ROLES)
    machines = list_machines(Reference(1), placement, WEB_NEEDS)
    assert {name: (spec.platform, spec.memory, spec.pin) for name, spec in machines.items()} == {
        "web-1": ("vm", 900, None),
        "web-2": ("vm", 900, "0"),
        "backend": ("vm", 128, None),
    }
    events = list_machines(
        Reference(1, ServiceChoices(cache="memcached", balancer="haproxy")),
        Placement(roles={"db": {"cpus": 1}, "cache": {"pin": "1"}}),
        replace(WEB_NEEDS, need="events"),
    )
    assert list(events) == ["app", "database", "geocoder", "store", "cache", "balancer"]
    assert (events["database"].cpus, events["cache"].pin, events["app"].cpus) == (1, "1", None)


@pytest.mark.parametrize(
    ("roles", "said"),
    [
        ({"mail": {"cpus": 1}}, "There is no machine `mail` in this system. There are: web, backend."),
        ({"2.web": {"cpus": 1}}, "There is no copy 2 of `web`. It has one machine."),
        ({"x.web": {"cpus": 1}}, "There is no copy x of `web`"),
        ({"backend": {"memory": 900}}, "A process has no `memory`. Use --machine backend.platform="),
        ({"backend": {"count": 2}}, "`backend.count` cannot be set: it selects one machine. Only `web` has several"),
    ],
)
def test_settings_of_a_machine_that_is_not_there_are_refused(roles: dict[str, dict[str, Any]], said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        list_machines(Reference(1), Placement(roles=roles), WEB_NEEDS)


@pytest.mark.parametrize(
    ("roles", "about"),
    [
        ({}, "2 recorded machines of 2 CPUs and 512 MiB; backend on recorded machine of 1 CPU and 512 MiB"),
        (
            {"web": {"cpus": 1}, "1.backend": {"memory": 128}},
            "2 recorded machines of 1 CPU and 512 MiB; backend on recorded machine of 1 CPU and 128 MiB",
        ),
        (
            {"2.web": {"cpus": 4}},
            "recorded machine of 2 CPUs and 512 MiB; web-2 on recorded machine of 4 CPUs and 512 MiB; "
            "backend on recorded machine of 1 CPU and 512 MiB",
        ),
    ],
)
def test_a_system_is_headed_by_the_sizes_that_its_machines_have(
    tmp_path: Path, recorder: Recorder, roles: dict[str, dict[str, Any]], about: str
) -> None:
    placement = Placement(MACHINE.model_copy(update={"cpus": 2, "count": 2}), MACHINE, roles)
    testbed = put_up(tmp_path, placement)
    assert testbed.about == f"web server, 2 threads, on {about}"


async def threads_of_copy(folder: Path, threads: int, placement: Placement) -> str:
    async with start_reference(Reference(threads), folder, placement) as testbed:
        return testbed.about


def test_a_copy_has_as_many_threads_as_cpus_where_the_others_have(tmp_path: Path, recorder: Recorder) -> None:
    placement = Placement(MACHINE.model_copy(update={"cpus": 2, "count": 2}), MACHINE, {"2.web": {"cpus": 4}})
    put_up(tmp_path, placement)
    assert [option(recorder.commands[f"web-{at}"], "--threads") for at in (1, 2)] == ["2", "4"]
    usual = Placement(MACHINE.model_copy(update={"count": 2}), MACHINE, {"2.web": {"cpus": 4}})
    for threads, of_copy in ((1, "4"), (2, "2")):  # a machine without a number of CPUs has one
        placed = asyncio.run(threads_of_copy(tmp_path, threads, usual))
        assert option(recorder.commands["web-2"], "--threads") == of_copy, placed
    other = Placement(placement.machine.model_copy(update={"cpus": 3}), MACHINE, {"2.web": {"cpus": 4}})
    put_up(tmp_path, other)
    assert option(recorder.commands["web-2"], "--threads") == "2"


def test_a_database_has_as_many_threads_as_the_cpus_that_are_set_for_it(tmp_path: Path, recorder: Recorder) -> None:
    put_up(tmp_path, Placement(MACHINE, MACHINE, {"db": {"cpus": 3}}), DEALERSHIP)
    assert option(recorder.commands["database"], "--threads") == "3"


def test_the_heading_names_the_memory_that_services_take(
    tmp_path: Path, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def with_more(spec: MachineSpec, kind: ServiceKind, *_: object) -> MachineSpec:
        return spec.model_copy(update={"memory": 1300}) if kind.role == ServiceRole.WEB else spec

    monkeypatch.setattr(system, "with_software", with_more)
    copies = Placement(MACHINE.model_copy(update={"cpus": 2, "count": 2}), MACHINE, {"2.web": {"cpus": 1}})
    assert put_up(tmp_path, copies).about == (
        "web server, 2 threads, on recorded machine of 2 CPUs and 1300 MiB; "
        "web-2 on recorded machine of 1 CPU and 1300 MiB; backend on recorded machine of 1 CPU and 512 MiB"
    )


def test_a_machine_of_a_fleet_has_one_public_network() -> None:
    refuse_unreachable([read_machine("platform=container"), HERE])
    with pytest.raises(PlatformError, match=r"Remove `public_networks`, or run without --fleet"):
        refuse_unreachable([HERE, read_machine("platform=container,public_networks=2")])
