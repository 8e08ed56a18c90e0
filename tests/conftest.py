"""What all tests have in common: they hold beside other load, so other load does not make their runs invalid; and those
that run beside each other do not clear up after each other.
"""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("always", derandomize=True, deadline=None)  # libraries load when they are first used
settings.load_profile("always")
"""The same examples for everybody; `make fuzz` looks for others, until somebody ends it."""
settings.register_profile("fuzz", max_examples=1_000_000_000, deadline=None)
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
"""Of tests that run in parallel: which of them this process does."""

os.environ["LOADSTONE_FOREIGN_CPU"] = "100"
if WORKER:
    os.environ["LOADSTONE_RUNTIME_DIR"] = f"{tempfile.gettempdir()}/loadstone-test-{WORKER}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Notes what was skipped and why, for the end of `make test`, which runs more than once."""
    noted, skipped = os.environ.get("LOADSTONE_TEST_SKIPPED"), terminalreporter.stats.get("skipped", [])
    if noted and not WORKER:
        lines = [f"{report.nodeid}: {report.longrepr[-1]}\n" for report in skipped]
        with Path(noted).open("a", encoding="utf-8") as file:
            file.writelines(lines)
