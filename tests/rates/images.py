"""The container image: built by podman out of the repository, and a site measured from within it."""

import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from loadstone.platforms.kinds.podman import MOST, build_podman_command
from tests.integration.conftest import newest, report, rows
from tests.places import PROJECT
from tests.rates.contract import Rate
from tests.verdicts import broken_rules

BASE, TAG = (f"localhost/loadstone-test-{os.getpid()}:{name}" for name in ("base", "image"))
PACKAGES = "python3,python3-venv"
SITE = PROJECT / "examples" / "nginx-site" / "site"


def measure_from_the_image(trial: int, folder: Path) -> None:
    """Builds the image and measures a site from within it."""
    with image(folder) as tag, site() as address:
        limits = [f"--ulimit=nofile={MOST}:{MOST}", f"--ulimit=nproc={MOST}:{MOST}"]
        run = [*build_podman_command(), "run", "--rm", "--network=host", *limits, f"--volume={folder}:/work", tag]
        assert carry_out(*run, "--version").startswith("loadstone ")
        words = ("--sessions", "3", "--seconds", "3", "--warm-up", "1")
        carry_out(*run, "run", f"{address}/", *words, codes=(0, 1, 3))
    assert broken_rules(newest(folder)) == []
    total = rows(report(folder))["Total"]
    assert (total["requests"] > 3, total["errors"]) == (True, 0)


@contextmanager
def image(folder: Path) -> Iterator[str]:
    """The image's name; its base is made of Debian's packages, since nothing fetches images."""
    root = folder / "base.tar"
    carry_out("mmdebstrap", "--quiet", "--variant=minbase", f"--include={PACKAGES}", "bookworm", root)
    carry_out(*build_podman_command(), "import", root, BASE)
    root.unlink()
    programs = Path(sys.executable).parent
    try:
        carry_out(
            PROJECT / "scripts" / "make-image", programs, BASE=BASE, TAG=TAG, PODMAN=shlex.join(build_podman_command())
        )
        yield TAG
    finally:
        subprocess.run([*build_podman_command(), "rmi", "--force", TAG, BASE], capture_output=True)


@contextmanager
def site() -> Iterator[str]:
    """The address of the example's site."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Says nothing."""


def carry_out(*words: str | Path, codes: tuple[int, ...] = (0,), **environment: str) -> str:
    """Returns what a command prints; raises AssertionError where it ends with another code."""
    done = subprocess.run(words, cwd=PROJECT, env=os.environ | environment, capture_output=True, text=True)
    assert done.returncode in codes, done.stdout + done.stderr
    return done.stdout


RATES = (Rate("container-image", "A site is measured from the image that is built here", 1, measure_from_the_image),)
