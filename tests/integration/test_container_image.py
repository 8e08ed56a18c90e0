"""How the container image is built, without podman: `make test-all` builds it and measures a site from within it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import PROJECT

pytestmark = pytest.mark.integration
NOTE = """#!/bin/sh
echo "$(basename "$0") $*" >> commands
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A folder with the script, the image's recipe, and programs that only note how they are called."""
    for name in ("scripts/make-image", "Containerfile"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(PROJECT / name, tmp_path / name)
    (tmp_path / "bin").mkdir()
    for name in ("bin/pip", "bin/podman", "scripts/make-wheel"):
        (tmp_path / name).write_text(NOTE)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    return tmp_path


def commands_of(repository: Path, **environment: str) -> list[str]:
    """Returns what the script calls, in order."""
    variables = {name: value for name, value in os.environ.items() if name not in ("BASE", "TAG")}
    words = ["scripts/make-image", "bin"]
    variables |= {"PODMAN": "bin/podman --root here", **environment}
    subprocess.run(words, cwd=repository, env=variables, check=True, capture_output=True, timeout=60)
    return (repository / "commands").read_text().splitlines()


def test_an_image_is_built_of_the_wheel_and_its_packages_on_python_s_own_base(repository: Path) -> None:
    wheel, packages, build = commands_of(repository)
    version = ".".join(map(str, sys.version_info[:2]))
    assert wheel == "make-wheel bin"
    assert packages.startswith("pip wheel ")
    assert "--constraint constraints.txt --wheel-dir dist/wheels" in packages
    assert build == (
        f"podman --root here build --quiet --build-arg BASE=python:{version}-slim-bookworm --tag loadstone ."
    )


def test_base_and_name_of_an_image_can_be_given(repository: Path) -> None:
    build = commands_of(repository, BASE="localhost/base", TAG="localhost/mine")[-1]
    assert build.endswith("build --quiet --build-arg BASE=localhost/base --tag localhost/mine .")


def test_an_image_is_installed_from_the_folder_that_the_script_fills() -> None:
    recipe = (PROJECT / "Containerfile").read_text()
    assert "source=dist/wheels,target=/wheels" in recipe
    assert "--no-index --find-links /wheels loadstone" in recipe
    assert 'ENTRYPOINT ["loadstone"]' in recipe
