"""Tiles on machines that only record: six roles each, in order, and nothing of any tile left when one fails."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from loadstone.model.choices import ServiceChoices
from loadstone.model.errors import PlatformError, UsageError
from loadstone.model.machine import MINIMAL, MachineSpec
from loadstone.model.service import Tuning
from loadstone.model.system import Reference
from loadstone.model.tile import Role, read_tile
from loadstone.model.tiles import HOST_GROUP
from loadstone.platforms.registry import read_machine
from loadstone.testbed.system import prepare_machines
from loadstone.testbed.testbed import Testbed
from loadstone.testbed.tiles import PlacedTiles, plan_tile, start_tiles
from tests.places import DATA
from tests.tiles import place_tiles
from tests.unit.testbed.recorder import RECORDED, Recorder

TILE = read_tile(DATA / "tiny-tile.toml")
MACHINE = MachineSpec(platform=RECORDED)
NAMES = [f"tile{number}-{role}" for number in (1, 2) for role in ("web", "infra", "app", "db", "mail", "idle")]


def put_up(folder: Path, system: PlacedTiles) -> Testbed:
    async def play() -> Testbed:
        async with start_tiles(system, folder) as up:
            return up

    return asyncio.run(play())


def test_every_tile_has_its_six_machines_and_asks_only_its_own(tmp_path: Path, recorder: Recorder) -> None:
    up = put_up(tmp_path, place_tiles(TILE, 2, MACHINE))
    assert recorder.machines == NAMES
    assert [event for event in recorder.events if event.startswith("down")] == [f"down {name}" for name in NAMES[::-1]]
    backends = [recorder.commands[f"tile{at}-web"] for at in (1, 2)]
    first, second = (words[words.index("--backend") + 1] for words in backends)
    assert first != second
    for tile in up.tiles:
        assert set(tile.targets) == {Role.WEB, Role.APP, Role.MAIL, Role.IDLE}
        assert list(tile.heartbeats) == [f"tile{tile.number}-idle"]
        assert tile.roles == {name for name in NAMES if name.startswith(f"tile{tile.number}-")}


def test_with_heartbeats_every_machine_answers_them(tmp_path: Path, recorder: Recorder) -> None:
    (tile,) = put_up(tmp_path, place_tiles(TILE, 1, MACHINE, has_heartbeats=True)).tiles
    assert set(tile.heartbeats) == set(NAMES[:6])
    assert len({target.http for target in tile.heartbeats.values()}) == 6


@pytest.mark.parametrize("failure", ["up tile2-mail", "start tile2-app"])
def test_a_tile_that_fails_takes_down_the_tiles_before_it(tmp_path: Path, recorder: Recorder, failure: str) -> None:
    recorder.failures.add(failure)
    with pytest.raises(Exception, match=f"planned: {failure}"):
        put_up(tmp_path, place_tiles(TILE, 2, MACHINE))
    assert recorder.machines[:6] == NAMES[:6]
    downs = [event.removeprefix("down ") for event in recorder.events if event.startswith("down")]
    assert downs == recorder.machines[::-1]


def test_a_tile_for_a_host_needs_a_fleet(tmp_path: Path, recorder: Recorder) -> None:
    with pytest.raises(PlatformError, match=r"tile1-web is assigned to the host s1, but there is no fleet"):
        put_up(tmp_path, place_tiles(TILE, 1, MACHINE, groups={HOST_GROUP: ("s1", "s2")}))
    assert recorder.events == []


def test_tiles_go_to_the_named_hosts_in_turn() -> None:
    system = place_tiles(TILE, 3, MachineSpec(), groups={HOST_GROUP: ("s1", "s2")})
    assert [system.get_machine(number, Role.WEB).host for number in (1, 2, 3)] == ["s1", "s2", "s1"]


def test_machines_with_memory_of_their_own_have_the_size_of_their_role(recorder: Recorder) -> None:
    system = place_tiles(TILE, 1, MACHINE)
    assert [system.get_machine(1, role).memory for role in Role] == [TILE.get_size(role).memory for role in Role]
    shared = place_tiles(TILE, 1, MachineSpec())
    assert {shared.get_machine(1, role).memory for role in Role} == {MachineSpec().memory}


def test_names_say_tile_and_role() -> None:
    assert [str(machine.name) for machine in place_tiles(TILE, 2, MachineSpec()).plan_machines()] == NAMES


def test_a_tiles_machines_have_the_programs_of_all_services_that_run_on_them() -> None:
    machine = read_machine("platform=vm")
    tiles = place_tiles(TILE, 1, machine, Reference(1, ServiceChoices(database="postgresql", store="nfs")))
    specs = {Role(name.role): spec for name, spec in prepare_machines(plan_tile(tiles, 1)).items()}
    images = {role: spec.image for role, spec in specs.items()}
    assert "postgresql" in images[Role.DB]
    assert "nfs-ganesha" in images[Role.INFRA]
    assert "nfs" in images[Role.WEB]
    assert {images[role] for role in (Role.APP, Role.MAIL, Role.IDLE)} == {MINIMAL}
    assert specs[Role.DB].memory == 512, "a distribution takes more than the tile's size for the reference server"
    assert specs[Role.APP].memory == TILE.get_size(Role.APP).memory


REAL = Reference(
    1,
    ServiceChoices(
        service="nginx-php",
        backend_service="nginx-responder",
        database="postgresql",
        store="nfs",
        imap="dovecot",
    ),
    {"php": {"children": "7"}, "tomcat": {"heap_mib": "300"}, "postgresql": {"shared_buffers": "64MB"}},
    "tomcat",
)
"""Real software in all roles but idle, with three settings."""


def test_a_tile_of_real_software_has_machines_with_all_its_programs_and_their_memory() -> None:
    specs = prepare_machines(plan_tile(place_tiles(TILE, 1, read_machine("platform=vm"), REAL), 1))
    images = {name.role: set(spec.image.split("+")[1:]) for name, spec in specs.items()}
    assert {"nginx-light", "php-fpm", "nfs-common"} <= images["web"]
    assert {"nginx-light", "nfs-ganesha"} <= images["infra"], "both services of the role are in its image"
    assert {"tomcat10-common", "libpostgresql-jdbc-java"} <= images["app"]
    assert {name.role: spec.memory for name, spec in specs.items()}["app"] == 1024
    assert {name.role: spec.memory for name, spec in specs.items()}["mail"] == 512
    disks = {name.role: spec.disk for name, spec in specs.items()}
    assert (disks["web"], disks["app"], disks["db"], disks["mail"]) == (0, 5120, 5120, 5120), "root and data"
    tile_app = place_tiles(TILE, 1, read_machine("platform=vm"), REAL, roles={"app": {"memory": "700"}})
    assert tile_app.get_machine(1, Role.APP).memory == 700


def test_settings_of_programs_reach_the_services_that_have_them() -> None:
    system = place_tiles(TILE, 1, MachineSpec(), REAL)
    for application in system.applications:
        assert system.build_choices(1, application).settings == {
            "php": {"children": 7},
            "tomcat": {"heap_mib": 300},
            "postgresql": {"shared_buffers": "64MB"},
        }


def test_the_store_and_the_mail_server_of_virtual_machines_have_settings_too() -> None:
    changes = {"nfs": {"threads": "8"}, "dovecot": {"mail_fsync": "optimized"}}
    system = place_tiles(TILE, 1, read_machine("platform=vm"), replace(REAL, settings=changes))
    system.check_services()
    for application in system.applications:
        assert system.build_choices(1, application).settings == {
            "nfs": {"threads": 8},
            "dovecot": {"mail_fsync": "optimized"},
        }


@pytest.mark.parametrize("platform", ["vm", "container"])
def test_a_machine_has_the_memory_that_its_programs_need_or_is_refused(platform: str) -> None:
    machine = read_machine(f"platform={platform}")
    assert place_tiles(TILE, 1, machine, REAL).get_machine(1, Role.APP).memory == 1024
    large = replace(REAL, settings={"tomcat": {"heap_mib": "2048"}})
    assert place_tiles(TILE, 1, machine, large).get_machine(1, Role.APP).memory == 2048 + 256
    small = place_tiles(TILE, 1, machine, REAL, roles={"app": {"memory": "500"}})
    with pytest.raises(UsageError, match=r"role app need 556 MiB.* tile 1 has 500 MiB.*--machine app.memory=556"):
        small.check_services()


@pytest.mark.parametrize(
    ("machine", "services", "error", "reason"),
    [
        ("platform=vm,image=minimal", REAL, PlatformError, "virtual machines of the image `minimal`"),
        ("platform=vm", Reference(1, ServiceChoices(service="nginx-php")), UsageError, "Add --store nfs"),
        ("platform=vm", Reference(1, ServiceChoices(backend_service="nginx-responder")), UsageError, "--store nfs"),
        ("platform=vm", Reference(1, app="tomcat"), UsageError, "`tomcat` needs a separate database"),
        ("platform=vm", Reference(1, settings={"php": {"children": "7"}}), UsageError, "none of the chosen services"),
        ("platform=vm", replace(REAL, settings={"php": {"children": "0"}}), UsageError, "`children=0` is not valid"),
        ("platform=container", replace(REAL, settings={"nfs": {"threads": "8"}}), UsageError, "`nfs` cannot be set"),
        ("platform=vm", replace(REAL, settings={"dovecot": {"processes": "0"}}), UsageError, "`processes=0` is not"),
        ("platform=vm", Reference(1, ServiceChoices(tuning=Tuning.TUNED)), UsageError, "has tuned settings"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(
    machine: str, services: Reference, error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        place_tiles(TILE, 1, read_machine(machine), services).check_services()
