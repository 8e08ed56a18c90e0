"""The commands of pairs: one keeps a pair, the others look at it and change it."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.conftest import nothing_is_left  # noqa: F401
from tests.integration.conftest import LoadstoneRunner, command, loadstone  # noqa: F401

pytestmark = [
    pytest.mark.integration,
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="networks and mounts of their own need root"),
]
NAME = f"test{os.getpid()}"


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[str]:
    """A pair that somebody keeps."""
    words = command("pair", "create", NAME)
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as keeping:
        assert keeping.stdout is not None
        said = []
        for line in keeping.stdout:
            said.append(line)
            if "serves" in line:
                break
        assert any("one virtual processor" in line for line in said), "what a pair does not do is said"
        try:
            yield NAME
        finally:
            keeping.send_signal(signal.SIGINT)
            keeping.communicate(timeout=30)
    assert keeping.returncode == 0


def test_a_pair_is_looked_at_broken_made_whole_and_left_alone(kept: str, loadstone: LoadstoneRunner) -> None:  # noqa: F811
    def status() -> dict[str, object]:
        found: dict[str, object] = json.loads(loadstone("pair", "status", kept, "--json").stdout)
        return found

    first = status()
    assert first["status"] == "protected"
    assert loadstone("pair", "fail", kept, "kill-primary").returncode == 0
    late = time.monotonic() + 30
    while status()["status"] != "protected" and time.monotonic() < late:
        time.sleep(0.5)
    assert status()["serving"] != first["serving"]
    moved = loadstone("pair", "move", kept)
    assert "stood still" in moved.stderr + moved.stdout
    assert loadstone("pair", "unprotect", kept).returncode == 0
    assert status()["secondary"] is None
    refused = loadstone("pair", "fail", kept, "kill-secondary")
    assert refused.returncode == 2
    assert "not whole" in refused.stderr
    events = [json.loads(line)["event"] for line in loadstone("pair", "events", kept).stdout.splitlines()]
    assert {"protected", "live", "saved", "alone"} <= set(events)
    assert kept in loadstone("pair", "status").stdout
    assert loadstone("pair", "create", kept).returncode == 2


def test_a_pair_that_nobody_keeps_is_named_with_the_remedy(loadstone: LoadstoneRunner) -> None:  # noqa: F811
    done = loadstone("pair", "status", "nowhere")
    assert done.returncode == 2
    assert "loadstone pair create nowhere" in done.stderr
