"""A command `loadstone` for scripts that call it often: each call is a fork of a process that has loaded everything.

`python -m tests.preloaded SOCKET` is that process. A call passes its streams, folder, arguments and environment, and
ends as its fork does. A call cannot be sent signals: they would reach its client alone.
"""

import json
import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from loadstone.cli.main import build_program, main

STREAMS = (0, 1, 2)
LARGEST_CALL = 1 << 20
"""Bytes of arguments and environment."""
CLIENT = """
import json, os, socket, sys
call = json.dumps([os.getcwd(), sys.argv[2:], dict(os.environ)]).encode()
with socket.socket(socket.AF_UNIX) as line:
    line.connect(sys.argv[1])
    socket.send_fds(line, [len(call).to_bytes(8, "big")], [0, 1, 2])
    line.sendall(call)
    sys.exit(int(line.recv(16) or b"99"))
"""
UP_S = 60.0
"""Longest time in which it loads everything."""


@contextmanager
def preloaded_command(folder: Path) -> Iterator[Path]:
    """A script in a folder that does what `loadstone` does, as long as the block runs."""
    address, script, client = folder / "socket", folder / "loadstone", folder / "client.py"
    client.write_text(CLIENT)
    script.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, "-IS", str(client), str(address)])} "$@"\n')
    script.chmod(0o755)
    with subprocess.Popen([sys.executable, "-m", "tests.preloaded", str(address)]) as process:
        until = time.monotonic() + UP_S
        while not address.exists():
            assert process.poll() is None, "it ended"
            assert time.monotonic() < until, f"not up within {UP_S:g} s"
            time.sleep(0.02)
        try:
            yield script
        finally:
            process.terminate()


def serve(address: Path) -> NoReturn:
    """Loads everything, then takes calls."""
    build_program()
    listener = socket.socket(socket.AF_UNIX)
    waiting = address.with_suffix(".new")
    listener.bind(str(waiting))
    listener.listen()
    waiting.rename(address)
    while True:
        line, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _answer(line)
        line.close()
        _reap()


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _answer(line: socket.socket) -> NoReturn:
    """Carries out a call in a process of its own, and says how that ended."""
    size, streams, _, _ = socket.recv_fds(line, 8, len(STREAMS))
    length, call = int.from_bytes(size, "big"), b""
    assert length <= LARGEST_CALL, length
    while len(call) < length:
        call += line.recv(length - len(call))
    child = os.fork()
    if child == 0:
        line.close()
        _perform(streams, *json.loads(call))
    line.sendall(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())
    os._exit(0)


def _perform(streams: list[int], folder: str, arguments: list[str], environment: dict[str, str]) -> NoReturn:
    for stream, given in zip(STREAMS, streams, strict=True):
        os.dup2(given, stream)
        os.close(given)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["loadstone", *arguments]
    main()
    sys.exit()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
