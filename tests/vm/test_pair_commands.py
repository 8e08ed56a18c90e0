"""The commands of pairs: one keeps a pair, the others look at it and change it."""

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from loadstone.cli.main import main
from loadstone.model.errors import PlatformError
from loadstone.platforms.pair import control
from tests.contract.conftest import nothing_is_left  # noqa: F401
from tests.integration.conftest import command
from tests.vm.test_failures import wait_for

pytestmark = [
    pytest.mark.integration,
    pytest.mark.own_network,
    pytest.mark.skipif(os.geteuid() != 0, reason="networks and mounts of their own need root"),
    pytest.mark.slow("virtual machines start, and QEMU emulates them"),
]
NAME = f"test{os.getpid()}"


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[str]:
    """A pair that another process keeps."""
    words = command("pair", "create", NAME)
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as keeping:
        assert keeping.stdout is not None
        said = []
        for line in keeping.stdout:
            said.append(line)
            if "serves" in line:
                break
        try:
            assert any("one virtual processor" in line for line in said), said
            yield NAME
        finally:
            keeping.send_signal(signal.SIGINT)
            keeping.communicate(timeout=60)
    assert keeping.returncode == 0


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str


PairCommand = Callable[..., Ended]


@pytest.fixture
def pair(capsys: pytest.CaptureFixture[str]) -> PairCommand:
    """Runs `loadstone pair` in this process: a program of its own takes two seconds to start."""

    def run(*words: str) -> Ended:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main(["pair", *words])
        return Ended(int(end.value.code or 0), *capsys.readouterr())

    return run


@pytest.mark.slow("boots a pair and replaces its sides")
def test_a_pair_is_looked_at_broken_made_whole_and_left_alone(kept: str, pair: PairCommand) -> None:
    def status() -> dict[str, Any]:
        looked: dict[str, Any] = json.loads(pair("status", kept, "--json").stdout)
        return looked

    first = status()
    assert first["status"] == "protected"
    assert pair("fail", kept, "kill-primary").code == 0
    wait_for(lambda: is_whole_elsewhere(status(), first))
    moved = pair("move", kept)
    assert "stood still" in moved.stderr + moved.stdout
    assert pair("unprotect", kept).code == 0
    assert status()["secondary"] is None
    refused = pair("fail", kept, "kill-secondary")
    assert refused.code == 2
    assert "is not protected" in refused.stderr
    events = [json.loads(line)["event"] for line in pair("events", kept).stdout.splitlines()]
    assert {"protected", "live", "saved", "alone"} <= set(events)
    assert kept in pair("status").stdout
    with pytest.raises(PlatformError, match=f"A pair `{kept}` already"):
        asyncio.run(keep_another(kept))


def is_whole_elsewhere(now: dict[str, Any], before: dict[str, Any]) -> bool:
    """Whether a pair is protected, and another side serves than before."""
    return now["status"] == "protected" and now["serving"]["name"] != before["serving"]["name"]


async def keep_another(name: str) -> None:
    """Keeps a pair of this name as well."""

    async def obey(do: str, what: dict[str, Any]) -> None:
        raise AssertionError(do)

    async with control.listening(name, obey):
        pass


def test_a_pair_that_nobody_keeps_is_named_with_the_remedy(pair: PairCommand) -> None:
    done = pair("status", "nowhere")
    assert done.code == 2
    assert "loadstone pair create nowhere" in done.stderr
