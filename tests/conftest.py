"""What all tests have in common: load beside them does not make their runs invalid, and workers that run beside each
other do not clear up after each other.
"""

import os
import signal
import tempfile
import zlib

import pytest
from hypothesis import settings

from loadstone.platforms.journal import reap
from tests.places import PROJECT
from tests.suite import durations, names, order
from tests.suite.progress import Progress

settings.register_profile("always", derandomize=True, deadline=None)  # libraries load when they are first used
settings.load_profile("always")
"""The same examples for everybody; `make fuzz` looks for others, until somebody ends it."""
settings.register_profile("fuzz", max_examples=1_000_000_000, deadline=None)
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
"""Name of the worker that this process is, where tests run in parallel."""

os.environ["LOADSTONE_FOREIGN_CPU"] = "100"
RUNTIME = f"loadstone-test-{zlib.crc32(str(PROJECT).encode()) & 0xFFF:03x}-{WORKER or 'main'}"
"""Name of this process's runtime folder: tests of another copy of the project may run at the same time."""
os.environ["LOADSTONE_RUNTIME_DIR"] = f"{tempfile.gettempdir()}/{RUNTIME}"


def pytest_configure(config: pytest.Config) -> None:
    """Clears up after a killed run of tests; orders the tests everywhere; counts and times them where all reports
    arrive.
    """
    reap()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background; children would inherit that
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.pluginmanager.register(names, "suite-names")
    config.pluginmanager.register(order, "suite-order")
    config.pluginmanager.register(durations, "suite-durations")
    if not WORKER:
        config.pluginmanager.register(durations.Durations(), "suite-duration-file")
        config.pluginmanager.register(Progress(config), "suite-progress")
