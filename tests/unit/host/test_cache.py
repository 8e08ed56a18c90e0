"""Where what is made once is kept, for users with and without a home."""

import os
import tempfile
from pathlib import Path

import pytest

from loadstone.host.cache import fill_cached, find_cache_folder
from loadstone.model.errors import PlatformError


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOADSTONE_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))


def test_the_named_folder_goes_before_that_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_cache_folder() == tmp_path / ".cache/loadstone"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert find_cache_folder() == tmp_path / "xdg/loadstone"
    monkeypatch.setenv("LOADSTONE_CACHE_DIR", "/anywhere")
    assert find_cache_folder() == Path("/anywhere")


def test_a_user_without_a_home_has_a_private_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nameless)
    folder = find_cache_folder()
    assert folder == tmp_path / f"loadstone-cache-{os.getuid()}"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert find_cache_folder() == folder
    folder.chmod(0o777)
    with pytest.raises(PlatformError, match="only this user may write to"):
        find_cache_folder()


def test_a_home_that_cannot_be_written_to_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert find_cache_folder() == tmp_path / f"loadstone-cache-{os.getuid()}"
    monkeypatch.setenv("HOME", "/dev/null/home")
    assert find_cache_folder() == tmp_path / f"loadstone-cache-{os.getuid()}"


@pytest.mark.timeout(60)
def test_a_folder_that_is_there_does_not_wait_for_another_of_its_kind(tmp_path: Path) -> None:
    ready = fill_cached("image", "first", lambda into: (into / "disk").touch())

    def fill(into: Path) -> None:
        assert fill_cached("image", "first", refuse) == ready
        (into / "disk").touch()

    def refuse(into: Path) -> None:
        raise AssertionError("it is there")

    assert (fill_cached("image", "second", fill) / "disk").is_file()
