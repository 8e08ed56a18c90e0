"""A program that is missing, or not fit for a machine, is named with the reason and what to do."""

import shutil
import sys
from pathlib import Path

import pytest

from loadstone.host import programs
from loadstone.model.errors import PlatformError

REMEDY = "`make demo` builds only what the demo needs. Run `make setup`"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder with programs, as after `make demo`: it has those of a tile."""
    for name in ("loadstone-driver", "loadstone-server"):
        shutil.copy(shutil.which("true") or "", tmp_path / name)
    monkeypatch.delenv(programs.FOLDER_VARIABLE, raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    return tmp_path


def test_the_programs_of_the_demo_are_found(folder: Path) -> None:
    assert programs.find_driver() == str(folder / "loadstone-driver")
    assert programs.find_server() == str(folder / "loadstone-server")


def test_the_machinery_of_pairs_that_the_demo_left_out_says_how_to_get_it(folder: Path) -> None:
    with pytest.raises(PlatformError, match=f"loadstone-pair is not installed. {REMEDY}"):
        programs.pair()


def test_the_library_of_pairs_is_found_beside_the_programs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(PlatformError, match=f"library for pairs is not installed. {REMEDY}"):
        programs.find_preload()
    (folder / programs.PRELOAD).touch()
    assert programs.find_preload() == str(folder / programs.PRELOAD)


def test_a_server_that_needs_libraries_is_refused_for_machines_without_them(folder: Path) -> None:
    with pytest.raises(PlatformError, match=f"loadstone-server is linked dynamically .* {REMEDY}"):
        programs.find_standalone_server()
