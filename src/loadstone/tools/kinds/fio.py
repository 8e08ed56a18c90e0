"""fio: random reads and writes of a disk, past the page cache (https://fio.readthedocs.io).

fio runs in the system under test and prints its counters once, when it ends, with all completion times as a histogram.
Reports while it runs would stop it: each takes an answer of every thread, and threads that end give up after 5 s of
waiting for one ("stuck grabbing stat_sem", EDEADLK). Its line of progress costs nothing and shows how the rate changes.

Rates follow this host's clock, since the clock of a virtual machine may lag. Completion times follow fio's, unless it
drifted: then only their means are known, since all threads always wait for a request (Little's law).
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from loadstone.model.reading import Section
from loadstone.tools.kind import (
    Amount,
    ClockSpan,
    ToolFigures,
    ToolInterval,
    ToolKind,
    ToolLine,
    ToolOutput,
    ToolOutputError,
    ToolTask,
)
from loadstone.tools.served import CLIENT_NEEDS, connect, read_served

DIRECTIONS = {"randread": "read", "randwrite": "write"}
"""Counters of fio by its mode."""
EDGE_S = 2
"""Seconds that fio runs longer, since a machine's clock that lagged may catch up by a second."""
UPTIME = "uptime"
"""Beginning of the lines with the machine's clock, in seconds: one before fio starts, one after it ended."""
PROGRESS = re.compile(r"\[[rw]=([\d.]+)([kM]?) IOPS\]")
"""Requests per second in fio's line of progress."""
MULTIPLES = {"": 1.0, "k": 1e3, "M": 1e6}


class FioSettings(Section):
    """fio has no settings here: the operation names mode and block size."""


@dataclass(frozen=True)
class FioReport:
    """Counters of one direction, without those of the ramp."""

    version: str
    error: int
    runtime_s: float
    """By the machine's clock."""
    amount: Amount

    @classmethod
    def read(cls, document: Mapping[str, Any], direction: str) -> "FioReport":
        """Reads fio's JSON. Raises LookupError for another document."""
        (job,) = document["jobs"]
        counted = job[direction]
        times_us: Counter[int] = Counter()
        for time_ns, number in counted["clat_ns"].get("bins", {}).items():
            times_us[max(1, round(int(time_ns) / 1000))] += number
        total_s = counted["clat_ns"]["mean"] * counted["clat_ns"]["N"] / 1e9
        amount = Amount(times_us.total(), counted["io_bytes"], 0, total_s, times_us)
        return cls(str(document["fio version"]), int(job["error"]), counted["runtime"] / 1000, amount)


def read_span(lines: Sequence[ToolLine]) -> ClockSpan:
    """Reads the time from fio's start to its end from the lines with the machine's clock. Raises ToolOutputError where
    they are missing.
    """
    marks = [(line.at_s, float(line.text.split()[1])) for line in lines if line.text.startswith(f"{UPTIME} ")]
    if len(marks) != 2 or marks[1][1] <= marks[0][1]:
        raise ToolOutputError(f"{len(marks)} lines with the machine's clock")
    (begin_s, began_s), (end_s, ended_s) = marks
    return ClockSpan(end_s, end_s - begin_s, ended_s - began_s)


def build_request(task: ToolTask) -> str:
    """Mode and block size, then threads and seconds."""
    return f"{task.operation} {task.clients} {task.lead_s:.0f} {task.steady_s + EDGE_S:.0f}"


def read_figures(task: ToolTask, output: ToolOutput) -> ToolFigures:
    """The report, over the seconds before fio's end; its rates give each second its share."""
    served = read_served(output)
    report = FioReport.read(_document(served), DIRECTIONS[task.operation.split()[0]])
    if report.error:
        raise ToolOutputError(f"fio reports error {report.error}")
    if not report.amount.count:
        raise ToolOutputError("no request ended after the ramp")
    clock = read_span(served.lines)
    steady_s = clock.convert(report.runtime_s)
    begin_s = clock.end_s - steady_s
    intervals = _share_out(task, report.amount, _rates(served.lines, begin_s, clock.end_s), steady_s)
    drift_pct = clock.drift_pct
    measured = report.amount if drift_pct is None else None
    return ToolFigures(report.version, steady_s, list(intervals), begin_s, measured, clock_drift_pct=drift_pct)


def _document(output: ToolOutput) -> Mapping[str, Any]:
    """The JSON document. Raises ToolOutputError where there is none."""
    _, brace, rest = output.text.partition("\n{")
    if not brace:
        raise ToolOutputError("no report in JSON")
    document: Mapping[str, Any] = json.JSONDecoder().raw_decode(f"{{{rest}")[0]
    return document


def _rates(lines: Sequence[ToolLine], begin_s: float, end_s: float) -> list[tuple[float, float]]:
    """Ends of seconds, from the beginning of the steady state, with their rates by the machine's clock."""
    rates = [(line.at_s - begin_s, PROGRESS.findall(line.text)) for line in lines if begin_s < line.at_s < end_s]
    return [(at_s, float(rate[-1][0]) * MULTIPLES[rate[-1][1]]) for at_s, rate in rates if rate]


def _share_out(
    task: ToolTask, total: Amount, rates: Sequence[tuple[float, float]], steady_s: float
) -> Iterator[ToolInterval]:
    """Splits the total in proportion to the rates; the last second of the run has the rate of the one before."""
    rated = [(at_s, rate) for at_s, rate in rates if rate > 0] or [(steady_s, 1.0)]
    ends_s = [0.0, *(at_s for at_s, _ in rated[:-1]), steady_s]
    parts = [rate * (end_s - from_s) for (_, rate), (from_s, end_s) in zip(rated, pairwise(ends_s), strict=True)]
    counts = [round(total.count * part / sum(parts)) for part in accumulate(parts, initial=0.0)]
    for (from_s, end_s), (before, after) in zip(pairwise(ends_s), pairwise(counts), strict=True):
        count = after - before
        mean_s = task.clients * (end_s - from_s) / count if count else 0.0
        yield ToolInterval(from_s, end_s, Amount.estimate(count, total.bytes // total.count, mean_s))


KIND = ToolKind("fio", FioSettings, connect, read_figures, CLIENT_NEEDS, build_request, is_timed_inside=True)
