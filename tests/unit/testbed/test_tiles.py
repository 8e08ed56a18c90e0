"""Tiles on machines that only record: six roles each, in order, and nothing of any tile left when one fails."""

import asyncio
from pathlib import Path

import pytest

from loadstone.model.choices import ServiceChoices
from loadstone.model.errors import PlatformError
from loadstone.model.machine import MINIMAL, MachineSpec
from loadstone.model.system import Reference
from loadstone.model.tile import Role, read_tile
from loadstone.platforms.registry import read_machine
from loadstone.testbed.system import prepare_machines
from loadstone.testbed.tiles import TilesSystem, plan_tile, tiles_testbed
from loadstone.testbed.up import Testbed
from tests.places import DATA
from tests.unit.testbed.recorder import RECORDED, Recorder

TILE = read_tile(DATA / "tiny-tile.toml")
MACHINE = MachineSpec(platform=RECORDED)
NAMES = [f"tile{number}-{role}" for number in (1, 2) for role in ("web", "infra", "app", "db", "mail", "idle")]


def put_up(folder: Path, system: TilesSystem) -> Testbed:
    async def play() -> Testbed:
        async with tiles_testbed(system, folder) as up:
            return up

    return asyncio.run(play())


def test_every_tile_has_its_six_machines_and_asks_only_its_own(tmp_path: Path, recorder: Recorder) -> None:
    up = put_up(tmp_path, TilesSystem(TILE, 2, MACHINE))
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
    (tile,) = put_up(tmp_path, TilesSystem(TILE, 1, MACHINE, heartbeats=True)).tiles
    assert set(tile.heartbeats) == set(NAMES[:6])
    assert len({target.http for target in tile.heartbeats.values()}) == 6


@pytest.mark.parametrize("failure", ["up tile2-mail", "start tile2-app"])
def test_a_tile_that_fails_takes_down_the_tiles_before_it(tmp_path: Path, recorder: Recorder, failure: str) -> None:
    recorder.failures.add(failure)
    with pytest.raises(Exception, match=f"planned: {failure}"):
        put_up(tmp_path, TilesSystem(TILE, 2, MACHINE))
    assert recorder.machines[:6] == NAMES[:6]
    downs = [event.removeprefix("down ") for event in recorder.events if event.startswith("down")]
    assert downs == recorder.machines[::-1]


def test_a_tile_for_a_host_needs_a_fleet(tmp_path: Path, recorder: Recorder) -> None:
    with pytest.raises(PlatformError, match=r"tile1-web is assigned to the host s1, but there is no fleet"):
        put_up(tmp_path, TilesSystem(TILE, 1, MACHINE, hosts=("s1", "s2")))
    assert recorder.events == []


def test_tiles_go_to_the_named_hosts_in_turn() -> None:
    system = TilesSystem(TILE, 3, MachineSpec(), hosts=("s1", "s2"))
    assert [system.machine_of(number, Role.WEB).host for number in (1, 2, 3)] == ["s1", "s2", "s1"]


def test_machines_with_memory_of_their_own_have_the_size_of_their_role(recorder: Recorder) -> None:
    system = TilesSystem(TILE, 1, MACHINE)
    assert [system.machine_of(1, role).memory for role in Role] == [TILE.size(role).memory for role in Role]
    shared = TilesSystem(TILE, 1, MachineSpec())
    assert {shared.machine_of(1, role).memory for role in Role} == {MachineSpec().memory}


def test_names_say_tile_and_role() -> None:
    assert [str(machine.name) for machine in TilesSystem(TILE, 2, MachineSpec()).plan_machines()] == NAMES


def test_a_tiles_machines_have_the_programs_of_all_services_that_run_on_them() -> None:
    machine = read_machine("platform=vm")
    tiles = TilesSystem(TILE, 1, machine, Reference(1, ServiceChoices(database="postgresql", store="nfs")))
    specs = {Role(name.role): spec for name, spec in prepare_machines(plan_tile(tiles, 1)).items()}
    images = {role: spec.image for role, spec in specs.items()}
    assert "postgresql" in images[Role.DB]
    assert "nfs-ganesha" in images[Role.INFRA]
    assert "nfs" in images[Role.WEB]
    assert {images[role] for role in (Role.APP, Role.MAIL, Role.IDLE)} == {MINIMAL}
    assert specs[Role.DB].memory == TILE.size(Role.DB).memory
