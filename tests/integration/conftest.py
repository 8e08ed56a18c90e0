"""Real programs on loopback for the integration tests; what a test started is gone when it ends."""

import asyncio
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, chdir, redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
import pytest
from playwright.sync_api import Browser, sync_playwright

from loadstone.cli.exits import Exit
from loadstone.cli.main import main
from loadstone.model.records.result import WorkloadResult
from loadstone.model.system import Reference
from loadstone.report.build import Format, write_report
from loadstone.store.read import read_result
from loadstone.testbed.testbed import Testbed
from loadstone.testbed.up import start_reference
from tests.quick_java import unoptimized_java  # noqa: F401
from tests.waiting import LONGEST_S

Json = dict[str, Any]
CHROMIUM = "/usr/bin/chromium"
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]
LoadstoneRunner = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Every test leaves the processes as they were; what a browser of several tests starts is the browser's."""
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    yield
    new = [process for process in psutil.Process().children(recursive=True) if process.pid not in before]
    _, alive = psutil.wait_procs([process for process in new if not _is_below(process, before)], timeout=30)
    assert not alive, f"left running: {alive}"


def _is_below(process: psutil.Process, others: set[int]) -> bool:
    try:
        return any(parent.pid in others for parent in process.parents())
    except psutil.Error:
        return False  # it is gone


COMMANDS = (
    *("RUN", "TILES", "TILES_SEARCH", "COMPARE", "FAILOVER", "PEAKS", "PREDICT", "PROTECTION", "REPEAT", "SEARCH"),
    "SWEEP",
)
NO_REPORT = {f"LOADSTONE_{name}_REPORT": "false" for name in COMMANDS}
"""Environment of commands whose report a test does not look at: a report takes as long as a short run."""


@pytest.fixture
def loadstone(tmp_path: Path) -> LoadstoneRunner:
    """Runs the program in an empty folder, with results in `results`; writes reports only with `has_report=True`."""

    def run(*words: str, timeout: float = LONGEST_S, has_report: bool = False) -> subprocess.CompletedProcess[str]:
        environment = dict(os.environ) if has_report else NO_REPORT | os.environ
        return subprocess.run(
            command(*words), cwd=tmp_path, capture_output=True, text=True, timeout=timeout, check=False, env=environment
        )

    return run


@pytest.fixture
def loadstone_here(tmp_path: Path) -> LoadstoneRunner:
    """Runs a command like `loadstone`, but within the test's process, which takes two seconds less.

    Not beside a browser: playwright has the event loop of this thread.
    """
    return partial(run_command, tmp_path)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Headless Chromium, the distribution's."""
    assert Path(CHROMIUM).exists(), "Chromium is not installed; scripts/system-packages chromium does it"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """The reference web server with its back end, up for all tests of a module."""
    logs = tmp_path_factory.mktemp("logs")
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        up = runner.run(stack.enter_async_context(start_reference(Reference(1), logs)))
        yield up
        runner.run(stack.aclose())


def run_command(
    folder: Path, *words: str, timeout: float = LONGEST_S, has_report: bool = False
) -> subprocess.CompletedProcess[str]:
    """Runs a command within this process, in a folder, and returns how it ended; the test's own timeout ends it."""
    environment = {} if has_report else {name: value for name, value in NO_REPORT.items() if name not in os.environ}
    written = io.BytesIO(), io.BytesIO()
    out, errors = (io.TextIOWrapper(stream, "utf-8", write_through=True) for stream in written)
    with chdir(folder), patch.dict(os.environ, environment), redirect_stdout(out), redirect_stderr(errors):
        try:
            main(words)
        except SystemExit as end:
            code = int(end.code or 0)
    return subprocess.CompletedProcess(words, code, *(stream.getvalue().decode() for stream in written))


def command(*words: str) -> list[str]:
    """The program's command line."""
    return [str(Path(sys.executable).parent / "loadstone"), *words]


def wait_until(condition: Callable[[], object], about: str, limit_s: float = 60.0) -> None:
    """Waits until a condition holds; raises AssertionError where it does not within a minute."""
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, f"not within {limit_s:g} s: {about}"
        time.sleep(0.05)


LONGER_S = (15, 60)
"""Steady states of further runs in seconds, where a busy host performed too little in the first."""


def run_until(
    loadstone: LoadstoneRunner, folder: Path, has_enough: Callable[[Path], object], *words: str, **settings: Any
) -> subprocess.CompletedProcess[str]:
    """Runs a command; where a busy host performs too little in its window, runs it again with longer ones.

    `has_enough` tells whether a result folder has as much as the test needs. Raises AssertionError where that of the
    longest window has not.
    """
    for window in ((), *(("--steady", str(seconds)) for seconds in LONGER_S)):
        done = loadstone(*words, *window, **settings)
        assert done.returncode != Exit.WRONG_INPUT, done.stdout + done.stderr
        if has_enough(newest(folder)):
            return done
    raise AssertionError(f"too little in {LONGER_S[-1]} s: {done.stdout + done.stderr}")


def require_requests(least: int, *names: str) -> Callable[[Path], bool]:
    """Returns a condition for `run_until`: each workload has so many operations, or so many of each of these names."""

    def has_enough(result: Path) -> bool:
        return all(
            _count_requests(workload, name) >= least
            for workload in read_result(result).workloads
            for name in names or [""]
        )

    return has_enough


def _count_requests(workload: WorkloadResult, name: str) -> int:
    """Counts operations of the steady state, of one name or of all."""
    counted = [each for iteration in workload.iterations for each in iteration.figures.operations]
    return sum(each.requests for each in counted if name in ("", each.name))


def read_samples(result: Path) -> list[Json]:
    """Reads what was seen of machines and services during the first workload of a run, a sample a second."""
    return [json.loads(line) for line in next(result.glob("runs/*/monitor.jsonl")).open()]


def read_audit(result: Path) -> Json:
    """Reads what the server of a run of one workload held at its end."""
    (file,) = result.glob("runs/*/audit.json")
    audit: Json = json.loads(file.read_text())
    return audit


def has_worked(tree: str, samples: Sequence[Json]) -> bool:
    """Whether a process, or one below it, took processor time between two samples."""
    return any((sample["trees"][tree] or {}).get("user_cores", 0) > 0 for sample in samples)


def newest(folder: Path) -> Path:
    """The newest result folder below a test's folder."""
    return max((folder / "results").iterdir())


def report(folder: Path) -> Json:
    """The JSON report of the newest result."""
    content: Json = json.loads(write_report(newest(folder), Format.JSON).read_text())
    return content


def page(folder: Path) -> str:
    """The HTML report of the newest result."""
    return write_report(newest(folder)).read_text()


def rows(content: Json) -> dict[str, Json]:
    """The operations of a one-workload, one-iteration report, by name."""
    return {row["name"]: row for row in content["workloads"][0]["iterations"][0]["operations"]}


def is_alive(pid: int) -> bool:
    """Whether a process is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
