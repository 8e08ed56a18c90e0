"""The business kernel in Java: operations on warehouses in memory, without any input or output.

The kernel runs in the system under test and prints a line each second. Rates follow this host's clock. Times follow the
kernel's, unless it drifted: then only their means are known, since all threads are always busy (Little's law).
"""

from collections import Counter
from itertools import pairwise

from loadstone.model.reading import Section
from loadstone.tools.kind import (
    Amount,
    ClockSpan,
    ToolFigures,
    ToolInterval,
    ToolKind,
    ToolOutput,
    ToolOutputError,
    ToolTask,
)
from loadstone.tools.served import CLIENT_NEEDS, connect, read_served


class WarehousesSettings(Section):
    """The kernel has no settings here: its clients are its warehouses."""


def build_request(task: ToolTask) -> str:
    """Warehouses, then the seconds of the uncounted and of the counted round."""
    return f"{task.clients} {task.lead_s:.0f} {task.steady_s:.0f}"


def read_figures(task: ToolTask, output: ToolOutput) -> ToolFigures:
    """Operations from the first line with a count to the last one."""
    printed = read_served(output)
    counted = [(line.at_s, int(line.text.split()[1])) for line in printed.lines if line.text.startswith("count ")]
    if len(counted) < 2:
        raise ToolOutputError(f"{len(counted)} lines with a count")
    begin_s, end_s = counted[0][0], counted[-1][0]
    intervals = []
    for (from_s, before), (to_s, after) in pairwise(counted):
        count = after - before
        amount = Amount.estimate(count, 0, task.clients * (to_s - from_s) / count if count else 0.0)
        intervals.append(ToolInterval(from_s - begin_s, to_s - begin_s, amount))
    version = f"Java kernel on {task.clients} warehouses"
    drift_pct = ClockSpan(end_s, end_s - begin_s, float(len(intervals))).drift_pct
    measured = _measured(printed) if drift_pct is None else None
    return ToolFigures(version, end_s - begin_s, intervals, begin_s, measured, clock_drift_pct=drift_pct)


def _measured(printed: ToolOutput) -> Amount:
    """Times of all counted operations."""
    times_us: Counter[int] = Counter()
    total_ns = 0
    for kind, *numbers in (line.text.split() for line in printed.lines):
        if kind == "total":
            total_ns = int(numbers[0])
        elif kind == "time":
            times_us[max(1, round(int(numbers[0]) / 1000))] += int(numbers[1])
    return Amount(times_us.total(), 0, 0, total_ns / 1e9, times_us)


KIND = ToolKind(
    "warehouses", WarehousesSettings, connect, read_figures, CLIENT_NEEDS, build_request, is_timed_inside=True
)
