"""Programs see a short list of variables; one module starts them all."""

import ast
import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

import loadstone
from loadstone.host import launch
from loadstone.host.process import begin
from loadstone.host.secrets import JOIN_TOKEN, SECRETS, join_token
from loadstone.measure.power import PowerCommand
from tests.processes import is_running, list_processes_below

HIDDEN = (*SECRETS, "AWS_SECRET_ACCESS_KEY", "SITE_PW", "PGSSLMODE", "PGHOST", "MYSQL_PWD", "PATHS")
TELL = "tr '\\0' ' ' < /proc/self/environ"
SOURCE = Path(loadstone.__file__).parent
STARTERS = {
    "asyncio": ("create_subprocess_exec", "create_subprocess_shell"),
    "subprocess": ("run", "Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput"),
    "os": ("system", "popen", "posix_spawn", "posix_spawnp", "fork", "forkpty"),
}


@pytest.fixture(autouse=True)
def hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in HIDDEN:
        monkeypatch.setenv(name, "hidden-value")
    monkeypatch.setenv("LC_NUMERIC", "C")


def test_a_program_sees_listed_variables_and_no_token() -> None:
    seen = launch.build_environment()
    assert not set(HIDDEN) & set(seen) and "hidden-value" not in seen.values()
    assert seen["PATH"] == os.environ["PATH"] and seen["LC_NUMERIC"] == "C"


def test_no_list_lets_a_token_pass_unless_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "here")
    assert launch.build_environment(launch.OF_ENGINE)["RAY_ADDRESS"] == "here"
    for also in (launch.OF_ENGINE, SECRETS, ("*",)):
        assert not set(SECRETS) & set(launch.build_environment(also))
    assert launch.build_environment(extra={JOIN_TOKEN: "given"})[JOIN_TOKEN] == "given"


def test_a_token_made_for_drivers_stays_out_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(JOIN_TOKEN)
    assert join_token() == join_token() and join_token() not in launch.build_environment().values()
    assert JOIN_TOKEN not in os.environ


def test_what_is_started_has_none_of_them_in_its_environment(tmp_path: Path) -> None:
    script = tmp_path / "meter"
    script.write_text(f"#!/bin/sh\n{TELL} > {tmp_path}/seen\necho 1.5\n")
    script.chmod(0o700)

    async def told() -> list[str]:
        process = await launch.start("sh", "-c", TELL, stdout=subprocess.PIPE)
        started = (await process.communicate())[0].decode()
        service = await begin(["sh", "-c", f"{TELL}; echo; cat"], tmp_path / "log", ["service"])
        await service.stop()
        await PowerCommand(str(script)).read_watts(0.0)
        return [started, service.first_line, (tmp_path / "seen").read_text(), launch.run(["sh", "-c", TELL]).stdout]

    for text in asyncio.run(told()):
        assert "PATH=" in text and "hidden-value" not in text


def test_no_other_module_starts_programs() -> None:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        if path == SOURCE / "host/launch.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                name, module = node.attr, node.value.id
                if name in STARTERS.get(module, ()) or (module == "os" and name.startswith(("exec", "spawn"))):
                    found.append(f"{path.relative_to(SOURCE)}:{node.lineno} {module}.{name}")
            if isinstance(node, ast.ImportFrom) and node.module in STARTERS:
                names = {one.name for one in node.names} & set(STARTERS[node.module])
                found += [f"{path.relative_to(SOURCE)}:{node.lineno} {name}" for name in names]
    assert not found, f"use loadstone.host.launch instead: {found}"


def test_a_program_ends_with_the_lab_that_started_it_also_when_that_is_killed() -> None:
    script = """if True:
        import asyncio
        from loadstone.host import launch
        async def main():
            process = await launch.start_guarded("sleep", "600", start_new_session=True)
            print(process.pid, flush=True)
            await asyncio.sleep(600)
        asyncio.run(main())
    """
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as lab:
        assert lab.stdout is not None
        sleeping = psutil.Process(int(lab.stdout.readline()))
        until = time.monotonic() + 100
        lab.send_signal(signal.SIGKILL)
        lab.wait()
    while is_running(sleeping):
        assert time.monotonic() < until
        time.sleep(0.01)


def list_guards() -> list[psutil.Process]:
    """Guards that this process started; not what they start, which looks like its guard until it runs its program."""
    return list_processes_below(os.getpid(), "guard", recursive=False)


def test_a_guard_goes_with_the_program_that_it_guards() -> None:
    async def run() -> list[psutil.Process]:
        others = list_guards()  # of earlier tests
        process = await launch.start_guarded("sleep", "600")
        guards = [guard for guard in list_guards() if guard not in others]
        process.terminate()
        await process.wait()
        while launch._tasks:
            await asyncio.sleep(0.01)
        return guards

    guards = asyncio.run(run())
    assert len(guards) == 1 and not guards[0].is_running()


def test_a_program_whose_start_is_cancelled_does_not_run_on() -> None:
    async def run() -> None:
        for turns in range(8):
            starting = asyncio.create_task(launch.start_guarded("sleep", "599", start_new_session=True))
            for _ in range(turns):
                await asyncio.sleep(0)
            starting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                process = await starting
                process.kill()
                await process.wait()
        until = time.monotonic() + 100
        while any(list_processes_below(os.getpid(), argument) for argument in ("599", "guard")):
            assert time.monotonic() < until
            await asyncio.sleep(0.02)

    asyncio.run(run())


def test_a_held_program_ends_with_the_one_that_holds_it_and_not_with_the_lab() -> None:
    async def run() -> None:
        pipe = os.pipe()
        holder = await launch.start("sleep", "598", pass_fds=(pipe[1],))
        held = await launch.start_held("sleep", "597", pipe=pipe)
        with pytest.raises(OSError):
            os.fstat(pipe[1])  # this process holds it no more
        assert held.returncode is None
        holder.kill()
        await holder.wait()
        assert await asyncio.wait_for(held.wait(), 100) == -signal.SIGKILL
        while launch._tasks:
            await asyncio.sleep(0.01)

    asyncio.run(run())


def test_a_detached_program_continues_after_the_end_of_its_starter(tmp_path: Path) -> None:
    script = """if True:
        import sys
        from pathlib import Path
        from loadstone.host import launch
        launch.start_detached(["sh", "-c", "echo $$; exec sleep 596"], Path(sys.argv[1]))
    """
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "log")], check=True)
    until = time.monotonic() + 100
    while not (tmp_path / "log").read_text().strip():
        assert time.monotonic() < until
        time.sleep(0.01)
    process = psutil.Process(int((tmp_path / "log").read_text()))
    assert process.is_running()
    process.kill()
