"""The commands of pairs: one keeps a pair, the others look at it and change it."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from benches.failovers import Writer

from loadstone.cli.main import main
from loadstone.model.errors import PlatformError
from loadstone.platforms.pair import control
from tests.contract.conftest import nothing_is_left  # noqa: F401
from tests.integration.conftest import command
from tests.processes import is_running
from tests.vm.conftest import MORE
from tests.vm.test_failures import wait_for
from tests.waiting import LONGEST_S, PATIENT_MS, WAIT_S

pytestmark = [
    pytest.mark.integration,
    pytest.mark.own_network,
    pytest.mark.skipif(os.geteuid() != 0, reason="networks and mounts of their own need root"),
    pytest.mark.slow("virtual machines start, and QEMU emulates them"),
]
NAME = f"test{os.getpid()}"


Keeping = tuple["subprocess.Popen[str]", list[str]]


@contextmanager
def keeping(folder: Path, name: str, *words: str) -> Iterator[Keeping]:
    """A process that keeps a new pair, and what it wrote until the pair served."""
    argv = command("pair", "create", name, "--silence-ms", str(PATIENT_MS), *words)
    with subprocess.Popen(argv, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if "serves" in line:
                break
        try:
            assert any("one virtual processor" in line for line in said), said
            yield process, said
        finally:
            process.send_signal(signal.SIGINT)
            said += process.communicate(timeout=LONGEST_S)[:1]


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[str]:
    """A pair that another process keeps."""
    with keeping(tmp_path, NAME) as (process, said):
        yield NAME
    assert process.returncode == 0, said


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
    before = status()
    assert pair("move", kept, "--side", "primary").code == 0
    assert is_whole_elsewhere(status(), before)
    assert pair("unprotect", kept).code == 0
    assert status()["secondary"] is None
    refused = pair("fail", kept, "kill-secondary")
    assert refused.code == 2
    assert "is not protected" in refused.stderr
    events = [json.loads(line)["event"] for line in pair("events", kept).stdout.splitlines()]
    assert {"protected", "live", "saved", "alone"} <= set(events)
    assert kept in pair("status").stdout
    with pytest.raises(PlatformError, match=f"A pair `{kept}` already"), control.lock_keeper(kept):
        pass


def is_whole_elsewhere(now: dict[str, Any], before: dict[str, Any]) -> bool:
    """Whether a pair is protected, and another side serves than before."""
    return now["status"] == "protected" and now["serving"]["name"] != before["serving"]["name"]


@pytest.mark.slow("boots a pair, kills its keeper and its primary")
def test_a_killed_keeper_costs_no_answer_and_the_next_command_takes_over(pair: PairCommand, tmp_path: Path) -> None:
    name = f"{NAME}k"
    with (
        keeping(tmp_path, name, "--serve", "database", "--lease", "10") as (keeper, said),
        ThreadPoolExecutor() as pool,
    ):
        host, port = re.findall(r"at ([0-9.]+):([0-9]+)", said[-1])[0]
        writer = Writer(host, int(port), WAIT_S)
        writing = pool.submit(writer.ask)
        try:
            answered(writer)
            keeper.kill()
            keeper.wait()
            answered(writer)
            assert pair("list").stdout.split() == [name, "no", "keeper"]
            first = json.loads(pair("status", name, "--json").stdout)
            assert first["status"] == "protected"
            assert pair("list").stdout.split() == [name, "kept"]
            assert pair("fail", name, "kill-primary").code == 0
            answered(writer)
            wait_for(lambda: is_whole_elsewhere(json.loads(pair("status", name, "--json").stdout), first))
            assert "stood still" in "".join(astuple(pair("move", name))[1:])
            answered(writer)
            whole = json.loads(pair("status", name, "--json").stdout)
            processes = [psutil.Process(side["pid"]) for side in sides_of(whole)]
        finally:
            writer.end()
            writing.result(WAIT_S)
            ended = pair("end", name)
        assert (writer.errors, writer.lost, writer.repeated) == ([], 0, 0)
        assert ended.code == 0
        assert not any(map(is_running, processes)), "it had not ended when the command said so"
        assert pair("list").stdout == ""
        assert pair("status", name).code == 2


def answered(writer: Writer) -> None:
    """Waits until a client has had more answers."""
    wanted = len(writer.answers) + MORE
    wait_for(lambda: len(writer.answers) >= wanted or bool(writer.errors))
    assert not writer.errors


@pytest.mark.slow("boots a pair and kills its keeper")
def test_a_pair_without_a_lease_ends_with_its_keeper_and_its_files_are_cleaned(
    pair: PairCommand, tmp_path: Path
) -> None:
    name = f"{NAME}n"
    with keeping(tmp_path, name, "--lease", "0") as (keeper, _):
        processes = [side["pid"] for side in sides_of(json.loads(pair("status", name, "--json").stdout))]
        keeper.kill()
        keeper.wait()
        wait_for(lambda: not any(map(psutil.pid_exists, processes)))
    assert pair("list").stdout.split() == [name, "ended"]
    refused = pair("status", name)
    assert refused.code == 2
    assert "has ended" in refused.stderr
    assert pair("clean").code == 0
    assert pair("list").stdout == ""


def sides_of(status: dict[str, Any]) -> list[dict[str, Any]]:
    """Both sides, as a status has them."""
    return [status["serving"], status["secondary"]]


def test_a_pair_that_nobody_keeps_is_named_with_the_remedy(pair: PairCommand) -> None:
    done = pair("status", "nowhere")
    assert done.code == 2
    assert "loadstone pair create nowhere" in done.stderr
