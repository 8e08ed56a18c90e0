"""fio: random reads and writes of a disk, past the page cache (https://fio.readthedocs.io).

fio runs in the system under test and prints its counters each second as JSON, with all completion times as histogram.
Rates follow this host's clock, since the clock of a virtual machine may lag; completion times follow fio's.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from loadstone.model.reading import Section
from loadstone.tools.kind import Amount, ToolFigures, ToolInterval, ToolKind, ToolOutput, ToolOutputError, ToolTask
from loadstone.tools.served import CLIENT_NEEDS, connect, read_served

DIRECTIONS = {"randread": "read", "randwrite": "write"}
"""Counters of fio by its mode."""
EDGE_S = 4
"""Seconds that fio runs longer than the steady state, which begins with the first report after the ramp. A busy machine
prints it late."""


class FioSettings(Section):
    """fio has no settings here: the operation names mode and block size."""


@dataclass(frozen=True)
class FioReport:
    """Counters of one direction, from their last reset."""

    at_s: float
    version: str
    error: int
    count: int
    """Requests whose completion was timed: none during the ramp."""
    bytes: int
    total_s: float
    """Sum of all completion times."""
    times_us: Counter[int]

    @classmethod
    def read(cls, at_s: float, document: Mapping[str, Any], direction: str) -> "FioReport":
        """Reads one JSON document. Raises LookupError for another document."""
        (job,) = document["jobs"]
        counted = job[direction]
        times_us: Counter[int] = Counter()
        for time_ns, number in counted["clat_ns"].get("bins", {}).items():
            times_us[max(1, round(int(time_ns) / 1000))] += number
        total_s = counted["clat_ns"]["mean"] * counted["clat_ns"]["N"] / 1e9
        version, error = str(document["fio version"]), int(job["error"])
        return cls(at_s, version, error, times_us.total(), counted["io_bytes"], total_s, times_us)


def build_request(task: ToolTask) -> str:
    """Mode and block size, then threads and seconds."""
    return f"{task.operation} {task.clients} {task.lead_s:.0f} {task.steady_s + EDGE_S:.0f}"


def read_figures(task: ToolTask, output: ToolOutput) -> ToolFigures:
    """The reports after the ramp, each less the one before it."""
    direction = DIRECTIONS[task.operation.split()[0]]
    every = (FioReport.read(*document, direction) for document in _documents(read_served(output)))
    reports = [report for report in every if report.count]
    if len(reports) < 2:
        raise ToolOutputError(f"{len(reports)} reports after the ramp")
    if reports[-1].error:
        raise ToolOutputError(f"fio reports error {reports[-1].error}")
    begin_s, end_s = reports[0].at_s, reports[-1].at_s
    intervals = [_between(before, after, begin_s) for before, after in pairwise(reports)]
    return ToolFigures(reports[-1].version, end_s - begin_s, intervals, begin_s)


def _documents(output: ToolOutput) -> Iterator[tuple[float, Mapping[str, Any]]]:
    """JSON documents one after another, each with the time of its last line; other lines are left out."""
    lines: list[str] = []
    for line in output.lines:
        if lines or line.text.startswith("{"):
            lines.append(line.text)
        if line.text.startswith("}"):
            yield line.at_s, json.loads("".join(lines))
            lines = []


def _between(before: FioReport, after: FioReport, begin_s: float) -> ToolInterval:
    count, transferred = after.count - before.count, after.bytes - before.bytes
    amount = Amount(count, transferred, 0, after.total_s - before.total_s, after.times_us - before.times_us)
    return ToolInterval(before.at_s - begin_s, after.at_s - begin_s, amount)


KIND = ToolKind("fio", FioSettings, connect, read_figures, CLIENT_NEEDS, build_request, is_timed_inside=True)
