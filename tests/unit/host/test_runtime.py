"""Temporary folders: gone when their block ends, and with the next command where their process was killed."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from loadstone.host.runtime import make_private_folder, make_temporary_folder
from loadstone.model.errors import PlatformError
from loadstone.platforms.journal import reap


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("LOADSTONE_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def test_a_folder_is_there_for_its_block_alone(runtime: Path) -> None:
    with make_temporary_folder("try") as folder:
        (folder / "file").touch()
        assert reap() == [] and (folder / "file").exists(), "its process lives"
        assert folder.stat().st_mode & 0o077 == 0 or folder.parent.stat().st_mode & 0o077 == 0
    assert not list(runtime.iterdir())


def test_a_machine_without_a_folder_for_temporary_files_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.delenv("LOADSTONE_RUNTIME_DIR")
    monkeypatch.setattr(tempfile, "gettempdir", refuse)
    with pytest.raises(PlatformError, match=r"No usable temporary directory .* Mount a writable folder at /tmp"):
        make_private_folder()


def test_a_folder_that_cannot_be_made_is_explained(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (runtime / "file").touch()
    monkeypatch.setenv("LOADSTONE_RUNTIME_DIR", str(runtime / "file" / "labs"))
    with pytest.raises(PlatformError, match=r"cannot be created: Not a directory\. Name a writable folder"):
        make_private_folder()


def test_the_folder_of_a_killed_process_is_cleared_up(runtime: Path) -> None:
    script = """if True:
        import os, signal
        from loadstone.host.runtime import make_temporary_folder
        with make_temporary_folder("try") as folder:
            (folder / "driver.log").touch()
            os.kill(os.getpid(), signal.SIGKILL)
    """
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode < 0
    assert list(runtime.glob("*/try/driver.log"))
    reap()
    assert not list(runtime.iterdir())
