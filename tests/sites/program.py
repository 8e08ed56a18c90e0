"""Programs of stock applications: started on a free port, with a log, and ended."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.waiting import LONGEST_S

UP_S = 300.0
"""Within which an application listens: a Java program beside other load takes ten."""


@contextmanager
def running(
    words: Sequence[str | Path], port: int, log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[None]:
    """A program that listens at `port`; what it says goes to `log`. It and its children are ended."""
    with log.open("ab") as out:
        process = subprocess.Popen(
            words,
            cwd=log.parent,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        _wait_for(port, process, log)
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait(timeout=LONGEST_S)


def done(words: Sequence[str | Path], folder: Path, environment: Mapping[str, str] | None = None) -> None:
    """Runs a step of an installation; raises AssertionError with what it said when it fails."""
    made = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert made.returncode == 0, f"{words[0]}: {made.stdout[-2000:]}{made.stderr[-2000:]}"


def _wait_for(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + UP_S
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=0.2).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"nothing listens at port {port} within {UP_S:g} s: {log.read_text()[-2000:]}")
