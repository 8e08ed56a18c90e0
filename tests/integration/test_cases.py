"""Situations that users of other load generators reported: each case exits with 1 while the behaviour is wrong."""

import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import loadstone
from tests.integration.conftest import NO_REPORT
from tests.places import PROJECT
from tests.preloaded import preloaded_command
from tests.waiting import LONGEST_S

CASES = PROJECT / "tests" / "cases"
STRANGER = 54321
"""A user id without a name."""

QUICK = (
    "03-headers-twice",
    "06-cookies",
    "08-mtls",
    "18-http2-not-spoken",
    "20-har-bom",
    "21-har-http-to-https",
    "24-har-event-stream",
    "32-har-page-and-api-apart",
    "43-openapi-examples",
    "51-csv-in-headers",
)
"""Cases that take less than 5 s."""
SLOW = {
    "01-loopback-sources": "a run",
    "04-early-413": "sends uploads to three servers",
    "09-several-addresses": "a run in a sandbox",
    "12-methods-over-redirects": "imports and visits of several servers",
    "14-bytes-behind-the-end": "a run",
    "15-http2-goaway": "several servers and visits",
    "16-heads-as-servers-write-them": "sixteen heads, each a visit",
    "22-har-title": "seven titles, each an import and a visit",
    "23-har-embedded-status": "several imports and visits",
    "26-har-form-arrays": "several imports and visits",
    "27-har-odd-fields": "22 recordings",
    "34-har-same-address-other-body": "several imports and visits",
    "40-openapi-servers": "starts twelve commands",
    "64-container-user": "runs four times as another user",
    "66-masked-proc": "runs in a sandbox, with the doctor",
    "71-server-dies": "waits for a server to die and for a run to be terminated",
    "91-baseline-blind-to-failures": "twelve runs",
    "92-refusing-b-is-not-better": "a comparison",
    "93-same-size-other-text": "four runs",
}
"""Cases that take longer, with the reason."""
IN_PROCESSES = {"09-several-addresses", "64-container-user", "66-masked-proc", "71-server-dies"}
"""Cases that need a process of their own for each command: they end it, or start it elsewhere."""
AS_ROOT = {"09-several-addresses", "64-container-user", "66-masked-proc"}
"""Cases that mount over system folders or become another user."""


@pytest.mark.parametrize(
    "case", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow(why)) for name, why in SLOW.items())]
)
def test_what_users_of_other_tools_reported_goes_well_here(
    case: str, tmp_path: Path, public_folder: Path, preloaded: Path
) -> None:
    if case in AS_ROOT and os.geteuid() != 0:
        pytest.skip("mounts and other users need root")
    if case == "64-container-user":
        command = _command_for_strangers(public_folder)
    else:
        command = _command(tmp_path, sys.executable) if case in IN_PROCESSES else preloaded
    environment = NO_REPORT | os.environ | {"LOADSTONE": str(command), "PYTHON": sys.executable, "LC_ALL": "C.UTF-8"}
    words = ["bash", str(CASES / case / "run.sh")]
    with subprocess.Popen(
        words,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said, _ = process.communicate()
            pytest.fail(f"{case} did not end within {LONGEST_S} s:\n{said}")
    assert process.returncode == 0, said


def test_every_case_has_a_script_and_says_what_is_expected() -> None:
    folders = [path for path in CASES.iterdir() if path.is_dir() and path.name != "lib"]
    assert all((path / "README.md").read_text().strip() and (path / "run.sh").is_file() for path in folders)
    assert {*QUICK, *SLOW} <= {path.name for path in folders}


def _command(folder: Path, interpreter: str, *settings: str) -> Path:
    """A script that starts this `loadstone`, whatever the environment says."""
    command = folder / "loadstone"
    program = shlex.join([interpreter, "-c", "from loadstone.cli.main import main; main()"])
    command.write_text("\n".join(["#!/bin/sh", *settings, f'exec {program} "$@"']) + "\n")
    command.chmod(0o755)
    return command


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """This `loadstone`, which starts in no time."""
    with preloaded_command(tmp_path_factory.mktemp("preloaded")) as command:
        yield command


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that every user may enter."""
    with tempfile.TemporaryDirectory(prefix="loadstone-case-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def _command_for_strangers(folder: Path) -> Path:
    """The same for a user who may not enter the home of the one who runs the tests; skips where there is no interpreter
    that such a user can start.
    """
    paths = [Path(loadstone.__file__).parents[1], *(path for path in sys.path if "site-packages" in path)]
    bin_dir = os.environ.get("LOADSTONE_BIN_DIR", str(Path(sys.executable).parent))
    settings = (
        f"export PYTHONPATH={shlex.quote(':'.join(map(str, paths)))} PYTHONDONTWRITEBYTECODE=1",
        f"export LOADSTONE_BIN_DIR={shlex.quote(bin_dir)}",
        "unset LOADSTONE_RUNTIME_DIR LOADSTONE_CACHE_DIR",
    )
    for interpreter in (sys.executable, "/usr/bin/python3"):
        command = _command(folder, interpreter, *settings)
        words = ["setpriv", "--reuid", str(STRANGER), "--clear-groups", str(command), "--version"]
        version = [interpreter, "-c", "import sys; print(sys.version_info[:2])"]
        is_same = subprocess.run(version, capture_output=True, text=True).stdout.strip() == str(sys.version_info[:2])
        if is_same and subprocess.run(words, capture_output=True, cwd="/").returncode == 0:
            return command
    pytest.skip("no interpreter that another user can start")
