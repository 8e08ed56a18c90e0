"""The container image: built by podman out of the repository, and a site measured from within it."""

import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.platforms.kinds.podman import MOST, podman
from tests.integration.conftest import report, rows
from tests.integration.test_own_site import nginx  # noqa: F401  the example's server
from tests.places import PROJECT

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

BASE, TAG = (f"localhost/loadstone-test-{os.getpid()}:{name}" for name in ("base", "made"))
PACKAGES = "python3,python3-venv"


def ask(*words: str | Path, well: tuple[int, ...] = (0,), **environment: str) -> str:
    """What a command prints that must end well."""
    done = subprocess.run(words, cwd=PROJECT, env=os.environ | environment, capture_output=True, text=True)
    assert done.returncode in well, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def image(tmp_path: Path) -> Iterator[str]:
    """Its name; the base is made of Debian's packages, since tests fetch no images."""
    root = tmp_path / "base.tar"
    ask("mmdebstrap", "--quiet", "--variant=minbase", f"--include={PACKAGES}", "bookworm", root)
    ask(*podman(), "import", root, BASE)
    root.unlink()
    try:
        ask(PROJECT / "scripts" / "make-image", ".venv/bin", BASE=BASE, TAG=TAG, PODMAN=shlex.join(podman()))
        yield TAG
    finally:
        subprocess.run([*podman(), "rmi", "--force", TAG, BASE], capture_output=True)


def test_a_site_is_measured_from_the_image_that_is_built_here(image: str, nginx: str, tmp_path: Path) -> None:  # noqa: F811
    limits = [f"--ulimit=nofile={MOST}:{MOST}", f"--ulimit=nproc={MOST}:{MOST}"]
    run = [*podman(), "run", "--rm", "--network=host", *limits, f"--volume={tmp_path}:/work", image]
    assert ask(*run, "--version").startswith("loadstone ")
    words = ["--sessions", "3", "--seconds", "3", "--warm-up", "1"]
    ask(*run, "run", f"{nginx}/", *words, well=(0, 1, 3))  # as fast as the machine is
    total = rows(report(tmp_path))["Total"]
    assert total["requests"] > 3
    assert total["errors"] == 0
