"""How long each test took and what it took of the processors: `target/test-durations.txt`; and a failure for a long
test that is not marked as such.
"""

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places import PROJECT

DURATIONS = PROJECT / "target" / "test-durations.txt"
LONGEST_S = 10.0
"""Longest time for a test without the mark `slow`, on processors or waiting. Its fixtures are not counted, for others
may use them too, nor is the time in which some process of a busy machine waited for a processor, a disk or memory.
"""
HEAD = "seconds\tset-up\ttest\ttear-down\tprocessor seconds\tname\twhy it is slow\n"
PRESSURE = Path("/proc/pressure")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Fails a test that took long without the mark `slow`, and notes the reason of one that has it."""
    report = yield
    if call.when == "setup":
        _stalled_at_start[item.nodeid] = stalled_s()
    marker = item.get_closest_marker("slow")
    reason = str(marker.args[0]) if marker is not None and marker.args else ""
    report.user_properties.append(("slow", reason))  # type: ignore[attr-defined]
    cpu_s = _cpu.since_last_s()
    report.user_properties.append(("cpu_s", cpu_s))  # type: ignore[attr-defined]
    if call.when != "call":
        return report
    took_s = call.duration - (stalled_s() - _stalled_at_start.pop(item.nodeid, stalled_s()))
    if call.excinfo is None and own_s(took_s, cpu_s) > LONGEST_S and not reason:
        report.outcome = "failed"  # type: ignore[attr-defined]
        report.longrepr = (  # type: ignore[attr-defined]
            f"The test took {took_s:.1f} s, more than {LONGEST_S:g} s. Make it shorter, or mark it with "
            '`@pytest.mark.slow("why it takes long")`.'
        )
    return report


def own_s(took_s: float, cpu_s: float) -> float:
    """Returns what a test took of the processors or spent waiting, whichever is longer, in seconds: a machine whose
    processors serve others as well stretches neither.
    """
    busy_s = min(took_s, cpu_s)
    return max(busy_s, took_s - busy_s)


class Cpu:
    """Processor time of this process and of its children that have ended and were waited for."""

    def __init__(self) -> None:
        self.last_s = sum(os.times()[:4])

    def since_last_s(self) -> float:
        """Returns the seconds since it was asked before."""
        before, self.last_s = self.last_s, sum(os.times()[:4])
        return self.last_s - before


_cpu = Cpu()
_stalled_at_start: dict[str, float] = {}


def stalled_s(pressure: Path = PRESSURE) -> float:
    """Returns for how many seconds since its start some process of this machine waited for a processor, a disk or
    memory; 0 where the kernel does not say so. Waits for two of them at once count twice.
    """
    waits = (pressure / resource for resource in ("cpu", "io", "memory"))
    # The first line of each: "some avg10=0.00 avg60=0.00 avg300=0.00 total=MICROSECONDS".
    lines = (wait.read_text().splitlines()[0] for wait in waits if wait.is_file())
    return sum(int(line.rpartition("total=")[2]) for line in lines) / 1e6


class Durations:
    """Adds up the time of each test, with its fixtures."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, dict[str, float]] = defaultdict(dict)
        self.reasons: dict[str, str] = {}
        self.cpu_s: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes one phase of a test."""
        name = plain(report.nodeid)
        self.seconds[name][report.when] = report.duration
        properties = dict(report.user_properties)
        self.reasons[name] = properties.get("slow", "") or self.reasons.get(name, "")
        self.cpu_s[name] += float(properties.get("cpu_s", 0))

    def pytest_sessionfinish(self) -> None:
        """Writes all durations, the longest first."""
        if not self.seconds:
            return
        DURATIONS.parent.mkdir(exist_ok=True)
        rows = sorted(((sum(phases.values()), name, phases) for name, phases in self.seconds.items()), reverse=True)
        DURATIONS.write_text(HEAD + "".join(map(self._row, rows)))

    def _row(self, row: tuple[float, str, dict[str, float]]) -> str:
        total, name, phases = row
        times = "\t".join(f"{phases.get(when, 0):.2f}" for when in ("setup", "call", "teardown"))
        return f"{total:.2f}\t{times}\t{self.cpu_s[name]:.2f}\t{name}\t{self.reasons[name]}\n"


def plain(nodeid: str) -> str:
    """The name of a test without its group."""
    name, _, group = nodeid.rpartition("@")
    return name if name and "]" not in group and "::" not in group else nodeid


def skipped_file() -> Path:
    """Where skipped tests are noted with their reasons."""
    return PROJECT / "target" / "test-skipped.txt"
