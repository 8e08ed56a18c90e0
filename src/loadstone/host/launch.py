"""Starting programs, and what they are told of this process's environment. Nothing else in the lab starts one.

A program sees the variables of a short list. All others stay here: tokens and passwords, and settings of the user's own
tools, such as PGSSLMODE, which would change what is measured.
"""

import asyncio
import contextlib
import os
import subprocess
from collections.abc import Coroutine, Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from loadstone.host.identity import start_of
from loadstone.host.secrets import SECRETS

PASSED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "LANG", "LANGUAGE", "LC_*", "TMPDIR", "TEMP", "TMP"),
    *("XDG_*", "LD_LIBRARY_PATH", "JAVA_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR", "RUST_BACKTRACE"),
    *("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "VIRTUAL_ENV"),
    *("LOADSTONE_BIN_DIR", "LOADSTONE_CACHE_DIR", "LOADSTONE_RUNTIME_DIR", "LOADSTONE_SSH"),
)
"""Variables that every program sees; `*` at the end stands for any letters."""
OF_SSH = ("SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "DISPLAY", "WAYLAND_DISPLAY")
OF_PODMAN = ("CONTAINERS_*", "CONTAINER_HOST", "STORAGE_DRIVER", "STORAGE_OPTS", "DBUS_SESSION_BUS_ADDRESS")
OF_PROXIES = tuple(
    name for proxy in ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy") for name in (proxy, proxy.upper())
)
OF_ENGINE = ("RAY_*", "CUDA_VISIBLE_DEVICES")
"""Variables of a fleet's engine, whose cluster may be one that others started."""

GUARD = r"""
read -r process boot start || exit 0
cat > /dev/null
ticks=$(sed "s/.*) //" "/proc/$process/stat" 2> /dev/null | cut -d " " -f 20)
[ "$(cat /proc/sys/kernel/random/boot_id) $ticks" = "$boot $start" ] && kill -s KILL "$process"
"""
"""Is told a process, waits for the end of its input, then ends it, if its number is not another's by then."""
Process = asyncio.subprocess.Process


def build_environment(also: Iterable[str] = (), extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Returns the environment of a program: variables of PASSED, of `also` and of `extra`. Tokens pass
    only in `extra`.
    """
    names = (*PASSED, *also)
    inherited = {name: value for name, value in os.environ.items() if name not in SECRETS and _is_of(name, names)}
    return {**inherited, **(extra or {})}


def _is_of(name: str, names: Iterable[str]) -> bool:
    return any(name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern for pattern in names)


async def start(
    *argv: str, also: Iterable[str] = (), extra: Mapping[str, str] | None = None, **options: Any
) -> Process:
    """Starts a program; `options` are those of `asyncio.create_subprocess_exec`. Raises OSError."""
    return await asyncio.create_subprocess_exec(*argv, env=build_environment(also, extra), **options)


def run(
    argv: list[str],
    *,
    also: Iterable[str] = (),
    extra: Mapping[str, str] | None = None,
    text: bool = True,
    stdout: int | IO[Any] | None = subprocess.PIPE,
    stderr: int | IO[Any] | None = subprocess.PIPE,
    **options: Any,
) -> "subprocess.CompletedProcess[str]":
    """Runs a program to its end and keeps what it writes; `options` are those of `subprocess.run`. Raises OSError and
    subprocess.SubprocessError.
    """
    variables = build_environment(also, extra)
    return subprocess.run(argv, env=variables, text=text, stdout=stdout, stderr=stderr, **{"check": False, **options})


def start_detached(argv: list[str], log: Path) -> None:
    """Starts a program that continues after the end of this process; what it writes goes to `log`. Raises OSError."""
    with log.open("ab") as output:
        subprocess.Popen(  # asyncio would kill it when its loop ends
            argv,
            env=build_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


async def start_held(*argv: str, pipe: tuple[int, int], **options: Any) -> Process:
    """Starts a program that ends with another one, which holds the writing end of `pipe`: a guard at the reading end
    kills it then. Both ends are closed here. Raises OSError.
    """
    reading, writing = pipe
    try:
        nowhere = asyncio.subprocess.DEVNULL
        shell = ("sh", "-c", GUARD, "guard")
        guard = await start(*shell, stdin=reading, stdout=nowhere, stderr=nowhere, start_new_session=True)
        process = await start(*argv, **options)
        with contextlib.suppress(ProcessLookupError):  # it has ended already
            os.write(writing, f"{process.pid} {start_of(process.pid)}\n".encode())
    finally:
        os.close(reading)
        os.close(writing)
    _keep_task(guard.wait())
    return process


async def start_guarded(*argv: str, **options: Any) -> Process:
    """Starts a program that ends with the lab, also where that is killed: a guard kills it when the lab's end of a
    pipe is gone. The kernel's own signal of a parent's death is lost where a program changes its user, as QEMU does.
    """
    pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    # The guard comes first: nothing is waited for, and so nothing can be interrupted, once the program runs.
    guard = await start("sh", "-c", GUARD, "guard", stdin=pipe, stdout=nowhere, stderr=nowhere, start_new_session=True)
    assert guard.stdin is not None
    try:
        process = await start(*argv, **options)
    except BaseException:
        guard.stdin.close()
        raise
    with contextlib.suppress(ProcessLookupError):  # it has ended already
        guard.stdin.write(f"{process.pid} {start_of(process.pid)}\n".encode())
    _keep_task(_release(process, guard))
    return process


_tasks: set["asyncio.Task[Any]"] = set()
"""Tasks are kept here, since the loop alone does not keep them."""


def _keep_task(work: Coroutine[Any, Any, Any]) -> None:
    task = asyncio.create_task(work)
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


async def _release(process: Process, guard: Process) -> None:
    """Lets the guard go once its process has ended."""
    try:
        await process.wait()
    finally:
        assert guard.stdin is not None
        guard.stdin.close()
    await guard.wait()
