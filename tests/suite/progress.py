"""What the suite says while it runs: how many tests have ended, how many failed, and which tests it waits for."""

import sys
import threading
import time
from collections import Counter
from typing import Any

import pytest

from tests.suite.durations import plain, skipped_file

TERMINAL_INTERVAL_S, LOG_INTERVAL_S = 0.5, 20.0
"""Between two lines on a terminal, where each replaces the last, and in a log."""
SHOWN_TESTS = 3
LONGEST_NAME = 70
LONGEST_REASON = 300
"""Characters of names and of the reason why a test failed; pytest shows the whole at the end."""


class Progress:
    """Counts tests as they end, and knows those that are under way."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.terminal = sys.__stderr__ if sys.__stderr__ is not None and sys.__stderr__.isatty() else None
        self.total = 0
        self.outcomes: Counter[str] = Counter()
        self.skipped: list[str] = []
        self.running: dict[str, float] = {}
        self.began = time.monotonic()
        self.ended = threading.Event()

    def pytest_sessionstart(self) -> None:
        """Begins to say how far the suite is."""
        threading.Thread(target=self._tell, daemon=True).start()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Knows how many tests there are, where this process collects them."""
        self.total = max(self.total, len(session.items))

    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        """Knows how many tests there are, where workers collect them."""
        self.total = len(ids)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Knows a test that is under way."""
        self.running[nodeid] = time.monotonic()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Knows that a test has ended."""
        self.running.pop(nodeid, None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Counts a test, and names one that failed at once."""
        if report.skipped:
            reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
            self.skipped.append(f"{plain(report.nodeid)}: {reason}\n")
        if report.failed or report.skipped or report.when == "call":
            self.outcomes[report.outcome] += 1
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            reason = crash.message.partition("\n")[0] if crash is not None else str(report.longrepr)
            self._print(f"FAILED ({report.when}) {plain(report.nodeid)}: {reason[:LONGEST_REASON]}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Has pytest print no letter for a test."""
        if report.when == "call" or not report.passed:
            return (report.outcome, "", "")
        return None

    def pytest_sessionfinish(self) -> None:
        """Ends the line, and notes what was skipped and why."""
        self.ended.set()
        self._print(self._line())
        skipped_file().parent.mkdir(exist_ok=True)
        skipped_file().write_text("".join(sorted(self.skipped)))

    def _tell(self) -> None:
        while not self.ended.wait(TERMINAL_INTERVAL_S if self.terminal else LOG_INTERVAL_S):
            if self.terminal is not None:
                self.terminal.write(f"\r\x1b[K{self._line()}")
                self.terminal.flush()
            else:
                self._print(self._line())

    def _print(self, text: str) -> None:
        stream = self.terminal or sys.__stdout__
        if stream is not None:
            stream.write(f"\r\x1b[K{text}\n" if self.terminal else f"{text}\n")
            stream.flush()

    def _line(self) -> str:
        now = time.monotonic()
        counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(self.outcomes.items())) or "collecting"
        text = f"[{sum(self.outcomes.values())}/{self.total}] {counts}; {(now - self.began) / 60:.1f} min"
        waiting = sorted((begun, name) for name, begun in list(self.running.items()))[:SHOWN_TESTS]
        if waiting and not self.ended.is_set():
            names = ", ".join(f"{_short(name)} ({now - begun:.0f} s)" for begun, name in waiting)
            text += f"; waits for {names}"
        return text


def _short(nodeid: str) -> str:
    name = plain(nodeid).rpartition("::")[2]
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 3]}..."
