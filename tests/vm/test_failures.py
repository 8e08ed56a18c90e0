"""What goes wrong with machines: every failure is a clear error within its deadline, and leaves nothing behind."""

import asyncio
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from loadstone.host import runtime
from loadstone.model.errors import PlatformError
from loadstone.model.machine import PUBLIC
from loadstone.model.records.status import Status
from loadstone.model.records.verdict import Verdict
from loadstone.platforms import journal
from loadstone.platforms.fabric import TapOptions
from loadstone.platforms.registry import read_machine
from loadstone.platforms.vm import command as commands
from loadstone.platforms.vm import machine as machines
from loadstone.platforms.vm.settings import Accelerator
from loadstone.services import reference
from loadstone.store.folder import SealState, seal_of
from loadstone.store.layout import LOGS
from loadstone.store.read import read_manifest, read_result, read_verdict
from loadstone.testbed.context import open_testbed
from tests.contract.conftest import nothing_is_left  # noqa: F401
from tests.integration.conftest import LoadstoneRunner, command, loadstone, newest  # noqa: F401
from tests.processes import is_running, list_processes_below, read_command
from tests.waiting import LONGEST_S, WAIT_S

pytestmark = [
    pytest.mark.integration,
    pytest.mark.own_network,
    pytest.mark.skipif(os.geteuid() != 0, reason="networks and mounts of their own need root"),
    pytest.mark.slow("virtual machines start, and QEMU emulates them"),
]


def boot(folder: Path, **settings: object) -> None:
    """Puts one machine up and takes it down."""

    async def play() -> None:
        async with open_testbed(folder) as base:
            machine = read_machine({"platform": "vm", "memory": 192, **settings})
            await base.start_machine("one", machine, (PUBLIC,))

    asyncio.run(play())


def test_a_guest_that_hangs_at_boot_ends_in_an_error_with_its_console(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        commands, "AGENT_PORT_NAME", "org.loadstone.other"
    )  # the agent waits for a port that never comes
    monkeypatch.setattr(machines, "VM_BOOT_TIMEOUT_S", 3.0)
    started = time.monotonic()
    with pytest.raises(PlatformError, match="did not boot within 3 s") as raised:
        boot(tmp_path)
    assert time.monotonic() - started < 60
    assert str(tmp_path / "one-console.log") in str(raised.value)


def test_a_guest_that_panics_ends_in_an_error_that_shows_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "build_kernel_line", lambda layout: "console=ttyS0 panic=-1 rdinit=/modules/order")
    with pytest.raises(PlatformError, match=r"ended with code 0 instead of coming up(?s:.*)Kernel panic"):
        boot(tmp_path)
    assert "Kernel panic" in (tmp_path / "one-console.log").read_text()


@pytest.mark.parametrize("memory", [64, 72])
def test_a_machine_that_is_too_small_is_told_so(memory: int, tmp_path: Path) -> None:
    """The smaller one ends before its kernel says a word; the kernel of the other has no room for its files."""
    with pytest.raises(PlatformError, match="too little memory: give it more"):
        boot(tmp_path, memory=memory)


def test_an_accelerator_that_is_not_there_is_said_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from loadstone.platforms.vm import accelerator

    monkeypatch.setenv("LOADSTONE_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setattr(accelerator, "DEVICE", Path("/dev/no-kvm"))
    with pytest.raises(PlatformError, match=r"no working KVM: /dev/no-kvm: it is not there"):
        boot(tmp_path, accelerator=Accelerator.KVM)


def test_qemu_that_refuses_says_what_it_does_not_like(tmp_path: Path) -> None:
    with pytest.raises(PlatformError, match=r"instead of coming up; QEMU says"):
        boot(tmp_path, pages="huge", memory=1 << 20)


def test_a_full_disk_is_said_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with small_disk(tmp_path / "cache") as folder:
        monkeypatch.setenv("LOADSTONE_CACHE_DIR", str(folder))
        with pytest.raises(PlatformError, match=r"space|LOADSTONE_CACHE_DIR"):
            boot(tmp_path)
        assert not [path for path in folder.iterdir() if path.is_dir()], "a part of an image was left"


@pytest.mark.slow("its records fill a file system of 300 KiB")
def test_a_disk_that_fills_up_during_a_run_keeps_what_was_measured(
    tmp_path: Path,
    loadstone: LoadstoneRunner,  # noqa: F811
) -> None:
    with small_disk(tmp_path / "disk", "300k") as folder:
        words = ("run", "static", "--rate", "50", "--profile", "demo", "--results", str(folder / "results"))
        done = loadstone(*words, has_report=True)
        assert done.returncode == 3, done.stdout + done.stderr
        assert "Records can no longer be written" in " ".join(done.stdout.split())
        (result,) = (folder / "results").iterdir()
        assert read_manifest(result).status is Status.FAILED
        assert "No space left" in read_manifest(result).reason
        assert read_result(result).workloads[0].iterations[0].records.intervals
        assert seal_of(result).state is SealState.INTACT
        assert (result / "report.html").read_text().rstrip().endswith("</html>")


@contextmanager
def small_disk(folder: Path, size: str = "2m") -> Iterator[Path]:
    """A file system of two megabytes, or as much as is said."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def is_under_way(results: Path) -> bool:
    """Whether sessions have started."""
    return any('"interval"' in events.read_text() for events in results.glob("*/runs/*/events.jsonl"))


def test_a_killed_hypervisor_makes_the_run_invalid_with_time_and_console(
    tmp_path: Path,
    loadstone: LoadstoneRunner,  # noqa: F811
) -> None:
    words = ("run", "static", "--rate", "5", "--platform", "vm", "--profile", "quick", "--steady", "600", "--no-report")
    running = subprocess.Popen(command(*words), cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.PIPE)
    qemu = wait_for(lambda: hypervisor(running.pid))
    wait_for(lambda: is_under_way(tmp_path / "results"))
    os.kill(qemu.pid, signal.SIGKILL)
    running.communicate(timeout=5 * WAIT_S)  # the run would take ten minutes
    result = newest(tmp_path)
    assert "web (signal KILL" in read_manifest(result).reason.replace("SIGKILL", "KILL")
    assert "after the first start" in read_manifest(result).reason
    verdict = read_verdict(result)
    assert verdict and verdict.whole is Verdict.INVALID
    assert (result / LOGS / "web-console.log").is_file()
    assert running.returncode == 3


def test_the_next_command_clears_up_after_a_killed_laboratory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADSTONE_RUNTIME_DIR", str(tmp_path / "r"))
    words = ("run", "static", "--rate", "5", "--machine", "platform=vm", "--profile", "quick")
    running = subprocess.Popen(command(*words), cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    qemu = wait_for(lambda: hypervisor(running.pid))
    (folder,) = (tmp_path / "r").glob("ls*")
    wait_for(lambda: list((tmp_path / "results").glob("*/runs/*/monitor.jsonl")))
    running.kill()
    running.wait()
    assert Path(f"/run/netns/{folder.name}").exists()
    done = subprocess.run(
        command("workloads", "list"), cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert "cleaned up after a `loadstone` process that was killed: virtual machine web" in " ".join(
        done.stderr.split()
    )
    assert f"network namespace {folder.name}" in " ".join(done.stderr.split())
    assert not is_running(qemu)
    assert not folder.exists()
    assert not Path(f"/run/netns/{folder.name}").exists()
    monkeypatch.setattr(runtime, "RUNTIME_PREFIX", folder.name[:2])
    assert journal.reap() == []


def test_a_signal_while_a_machine_boots_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADSTONE_RUNTIME_DIR", str(tmp_path / "r"))
    words = ("run", "static", "--rate", "5", "--machine", "platform=vm", "--profile", "brief")
    running = subprocess.Popen(command(*words), cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    qemu = wait_for(lambda: hypervisor(running.pid))
    running.terminate()
    assert running.wait(timeout=LONGEST_S) == 130
    assert not qemu.is_running()
    assert not list((tmp_path / "r").glob("ls*"))
    assert read_manifest(newest(tmp_path)).status is Status.INTERRUPTED


def hypervisor(of: int) -> psutil.Process | None:
    """The machine `web` that a laboratory runs; not the one that looks whether there is KVM."""
    below = list_processes_below(of)
    return next((process for process in below if read_command(process)[1:3] == ["-name", "web"]), None)


def wait_for(look: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Returns what is there at last; raises AssertionError where nothing is within so many seconds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := look():
            return found
        time.sleep(0.1)
    raise AssertionError(f"nothing within {seconds:g} s")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this process and those that it starts have their temporary files, and nobody else has."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


STARTS = 2
"""The rate `machine-starts` tries more."""


@pytest.mark.slow("boots two machines in turn")
def test_starts_and_stops_leave_nothing(tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = tmp_path / "r"
    monkeypatch.setenv("LOADSTONE_RUNTIME_DIR", str(runtime))
    for number in range(STARTS):
        asyncio.run(serve_from_a_machine(tmp_path / f"machine-{number}"))
    assert list(temporary.iterdir()) == []
    assert [path for path in runtime.iterdir() if path.is_dir()] == []


async def serve_from_a_machine(folder: Path) -> None:
    """Boots a machine, has it serve, and takes it down."""
    folder.mkdir()
    async with open_testbed(folder) as base:
        machine = await base.start_machine("one", read_machine("platform=vm,memory=192"), (PUBLIC,))
        started = await machine.start("backend", reference.build_backend_command(machine.listen, 1))
        assert reference.read_ready(started.first_line).http
        assert machine.facts["boot_s"] > 0


def test_making_networks_is_heard_by_nobody_as_a_signal(tmp_path: Path) -> None:
    heard: list[int] = []

    async def play() -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: heard.append(1))
        for _ in range(5):
            async with open_testbed(tmp_path) as base:
                await base.local.fabric.create_tap(PUBLIC, TapOptions())
        await asyncio.sleep(0.1)

    asyncio.run(play())
    assert not heard
