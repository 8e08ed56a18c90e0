"""What the options of `tiles` become: the same tags, faults and machines as those of `run`."""

from pathlib import Path
from typing import Any

import pytest

from loadstone.cli import tiles
from loadstone.cli.exits import Exit
from loadstone.cli.main import main
from loadstone.model.choices import ServiceChoices
from loadstone.model.fault import FaultKind, PlannedFault
from loadstone.model.system import Reference
from loadstone.run.spec import RunSpec
from loadstone.run.tiles.spec import get_tiles
from tests.places import DATA


@pytest.fixture
def specs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[RunSpec]:
    """Specifications of the runs that commands would have made."""
    kept: list[RunSpec] = []

    def keep(spec: RunSpec, *_: object) -> tuple[Path, Exit]:
        kept.append(spec)
        return tmp_path, Exit.PASS

    monkeypatch.setattr(tiles, "carry_out", keep)
    return kept


def call(*words: str) -> Any:
    """Calls the command; returns its exit code."""
    with pytest.raises(SystemExit) as end:
        main(["tiles", *words])
    return end.value.code


def test_tags_faults_machines_and_services_are_part_of_what_is_run(specs: list[RunSpec]) -> None:
    options = ("--tiles", "2", "--tag", "a=b", "--fault", "2.db:kill-primary@3", "--machine", "app.cpus=4,2.web.pin=0")
    assert call(*options, "--database", "postgresql", "--imap", "dovecot", "--store", "nfs") == 0
    (spec,) = specs
    assert spec.notes == {"a": "b"}
    assert spec.fault == PlannedFault(FaultKind.KILL_PRIMARY, 3, "2.db")
    assert spec.placement.roles == {"app": {"cpus": "4"}, "2.web": {"pin": "0"}}
    assert get_tiles(spec).services == Reference(1, ServiceChoices(database="postgresql", store="nfs", imap="dovecot"))
    assert get_tiles(spec).software == {"database": "postgresql", "imap": "dovecot", "store": "nfs"}


def test_services_and_settings_of_a_tiles_file_are_replaced_singly_by_options(
    specs: list[RunSpec], tmp_path: Path
) -> None:
    file = tmp_path / "tile.toml"
    tables = '[services]\nservice = "nginx-php"\nstore = "nfs"\n[set.php]\nchildren = 50\nwaiting = 9\n'
    file.write_text(f"{(DATA / 'tiny-tile.toml').read_text()}\n{tables}")
    assert call("--tile", str(file), "--service", "apache-mod-php", "--set", "php.children=7") == 0
    (spec,) = specs
    assert get_tiles(spec).services.services == ServiceChoices(service="apache-mod-php", store="nfs")
    assert get_tiles(spec).services.settings == {"php": {"children": "7", "waiting": 9}}
    assert get_tiles(spec).software["set"] == "php.children=7, php.waiting=9"
    assert get_tiles(spec).software["service"] == "apache-mod-php"


def test_a_tiles_file_with_a_setting_outside_a_program_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tile.toml"
    file.write_text(f"{(DATA / 'tiny-tile.toml').read_text()}\n[set]\nchildren = 50\n")
    assert call("--tile", str(file)) == 2


def test_notes_of_a_tiles_file_stand_next_to_tags_which_replace_them(specs: list[RunSpec], tmp_path: Path) -> None:
    file = tmp_path / "tile.toml"
    file.write_text((DATA / "tiny-tile.toml").read_text() + '\n[notes]\nswitch = "old"\nport = 4\n')
    assert call("--tile", str(file), "--tag", "switch=new") == 0
    assert specs[0].notes == {"switch": "new", "port": "4"}
    file.write_text((DATA / "tiny-tile.toml").read_text() + "\n[notes]\nports = [1, 2]\n")
    assert call("--tile", str(file)) == 2


def test_without_options_a_tile_has_the_reference_servers_and_no_fault(specs: list[RunSpec]) -> None:
    assert call() == 0
    (spec,) = specs
    assert (spec.notes, spec.fault, spec.placement.roles) == ({}, None, {})
    assert set(get_tiles(spec).software.values()) == {"embedded"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--tag", "release"), "`release` is not NAME=TEXT"),
        (("--fault", "kill@3"), "`kill@3` is not a valid fault"),
        (("--database", "oracle"), "oracle"),
    ],
)
def test_values_that_are_not_valid_are_refused(
    specs: list[RunSpec], options: tuple[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*options) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert specs == []
